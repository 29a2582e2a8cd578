//! The report of `scan` for a terminal: each finding with its underlined source line. In long lists
//! only the first findings have their lines, and the most frequent rules are counted at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use super::human::{AnsiPaint, ReportStyle, after_findings, color_of, is_known, is_listed};
use super::{count_noun, sanitized_name, sanitized_text};
use moai_base::evidence::Evidence;
use moai_base::finding::Finding;
use moai_base::foreign_text::one_line;
use moai_base::limits::{EXCERPT_CHARS_MAX, LINE_CHARS_MAX, SCAN_EXCERPTS_MAX};
use moai_base::path::RelPath;
use moai_base::text::{LineIndex, Position, PositionEncoding, TextRange};

/// Number of findings above which rules are counted at the end.
const COUNTED_FROM: usize = 20;
/// Number of rules in that count.
const RULES_COUNTED_MAX: usize = 10;

/// Source lines by the location of their finding.
#[derive(Clone, Debug, Default)]
pub struct SourceExcerpts(BTreeMap<(RelPath, TextRange), SourceExcerpt>);

/// The first line of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SourceExcerpt {
    /// The shown part of the line, without control characters.
    text: String,
    /// The underlined characters of the shown part.
    highlight: std::ops::Range<usize>,
    /// Number of further lines of the finding.
    more_lines: u32,
}

impl SourceExcerpts {
    /// Keeps the lines of findings in one text, up to the number of shown findings.
    pub fn add_findings<'f>(
        &mut self,
        findings: impl Iterator<Item = &'f Finding>,
        lines: &LineIndex<'_>,
    ) {
        for finding in findings {
            if self.0.len() >= SCAN_EXCERPTS_MAX {
                return;
            }
            let excerpt = SourceExcerpt::from_range(finding.range, lines);
            self.0.extend(excerpt.map(|it| ((finding.path.clone(), finding.range), it)));
        }
    }

    /// Adds the lines of another part of the work.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn of_finding(&self, finding: &Finding) -> Option<&SourceExcerpt> {
        self.0.get(&(finding.path.clone(), finding.range))
    }
}

impl SourceExcerpt {
    fn from_range(range: TextRange, lines: &LineIndex<'_>) -> Option<Self> {
        let line = lines.line(range.start.line)?;
        let column = |character: u32| {
            let at = Position { line: range.start.line, character };
            lines.convert_encoding(at, PositionEncoding::Utf16, PositionEncoding::Utf32).character
                as usize
        };
        let length = line.chars().count();
        let more_lines = range.end.line.saturating_sub(range.start.line);
        let start = column(range.start.character).min(length);
        let end = if more_lines > 0 { length } else { column(range.end.character).min(length) };
        // A long line is cut around the finding; a short one keeps its indentation.
        let first = if length <= EXCERPT_CHARS_MAX { 0 } else { start.saturating_sub(40) };
        let text: String = line.chars().skip(first).take(EXCERPT_CHARS_MAX).map(visible).collect();
        let width = text.chars().count();
        let (start, end) = ((start - first).min(width), end.saturating_sub(first).min(width));
        Some(Self { text, highlight: start..end.max(start + 1), more_lines })
    }

    fn write(&self, text: &mut String, line: u32, paint: AnsiPaint, code: &str) {
        let number = (line + 1).to_string();
        let gutter = paint.with("34", &format!("{number:>6} |"));
        let _ = writeln!(text, "{gutter} {}", sanitized_text(self.text.trim_end()));
        let blanks: String = self.text.chars().take(self.highlight.start).map(blanks).collect();
        let marked = self.text.chars().skip(self.highlight.start).take(self.highlight.len());
        let width: usize = marked.map(|character| character.width().unwrap_or(1)).sum();
        let carets = "^".repeat(width.max(1));
        let more = match self.more_lines {
            0 => String::new(),
            lines => format!(" … and {}", count_noun(lines as usize, "more line")),
        };
        let gutter = paint.with("34", &format!("{:>6} |", ""));
        let _ = writeln!(text, "{gutter} {blanks}{}{more}", paint.with(code, &carets));
    }
}

/// The report of a scan as text.
#[must_use]
pub fn scan_text(
    evidence: &Evidence,
    excerpts: &SourceExcerpts,
    elapsed_ms: u64,
    style: ReportStyle,
) -> String {
    let paint = AnsiPaint(style.has_color);
    let all = evidence.findings.iter();
    let listed: Vec<&Finding> = all.filter(|it| is_listed(evidence, it, style)).collect();
    let mut text = String::new();
    for (index, finding) in listed.iter().enumerate() {
        let excerpt = excerpts.of_finding(finding).filter(|_| index < SCAN_EXCERPTS_MAX);
        let known = if is_known(evidence, finding) { " [in the baseline]" } else { "" };
        write_finding(&mut text, finding, excerpt, known, paint);
    }
    if listed.len() > SCAN_EXCERPTS_MAX {
        let _ = writeln!(text, "only the first {SCAN_EXCERPTS_MAX} are shown with their lines");
    }
    if listed.len() > COUNTED_FROM {
        write_rules(&mut text, &listed, paint);
    }
    text + &after_findings(evidence, elapsed_ms, style)
}

fn write_finding(
    text: &mut String,
    finding: &Finding,
    excerpt: Option<&SourceExcerpt>,
    known: &str,
    paint: AnsiPaint,
) {
    let (start, code) = (finding.range.start, color_of(finding.severity));
    let place = format!(
        "{}:{}:{}",
        sanitized_name(finding.path.as_str()),
        start.line + 1,
        start.character + 1
    );
    let cwe = match finding.cwe.as_slice() {
        [] => String::new(),
        many => format!(" ({})", many.join(", ")),
    };
    let message = one_line(&finding.message, LINE_CHARS_MAX);
    let severity = paint.with(code, finding.severity.as_str());
    let (place, rule) = (paint.with("1", &place), sanitized_name(&finding.code));
    let _ = writeln!(text, "{place} {severity} {rule}{cwe}: {message}{known}");
    let Some(excerpt) = excerpt else { return };
    excerpt.write(text, start.line, paint, code);
    if let Some(fix) = &finding.fix {
        let gutter = paint.with("34", &format!("{:>6} =", ""));
        let _ = writeln!(text, "{gutter} {}", one_line(fix, LINE_CHARS_MAX));
    }
    text.push('\n');
}

/// Counts of the most frequent rules.
fn write_rules(text: &mut String, listed: &[&Finding], paint: AnsiPaint) {
    let mut rules: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in listed {
        *rules.entry(&finding.code).or_default() += 1;
    }
    let mut rules: Vec<(&str, usize)> = rules.into_iter().collect();
    rules.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let others = rules.len().saturating_sub(RULES_COUNTED_MAX);
    for (rule, number) in rules.iter().take(RULES_COUNTED_MAX) {
        let _ = writeln!(text, "{} {rule}", paint.with("1", &format!("{number:>6}")));
    }
    if others > 0 {
        let _ = writeln!(text, "       and {}", count_noun(others, "other rule"));
    }
}

/// A character as a terminal shows it; tabs keep the indentation.
fn visible(character: char) -> char {
    match character {
        '\t' => '\t',
        it if it.is_control() || is_invisible(it) => '\u{fffd}',
        it => it,
    }
}

/// Bidirectional control characters, which would make the shown text differ from the source.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
}

/// Blanks as wide as a character.
fn blanks(character: char) -> &'static str {
    match character.width() {
        _ if character == '\t' => "\t",
        Some(0) => "",
        Some(2) => "\u{3000}",
        _ => " ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::evidence::{SensorKind, SensorReading};
    use moai_base::samples::finding;
    use unicode_width::UnicodeWidthStr;

    fn scanned(text: &str, spans: &[(usize, usize)]) -> (Evidence, SourceExcerpts) {
        let lines = LineIndex::new(text);
        let found = spans.iter().map(|(start, end)| Finding {
            range: lines.range(*start, *end),
            cwe: vec!["CWE-95".to_owned()],
            fix: Some("use a table of functions".to_owned()),
            ..finding("a.py", 0, "py-eval")
        });
        let findings: Vec<Finding> = found.collect();
        let mut excerpts = SourceExcerpts::default();
        excerpts.add_findings(findings.iter(), &lines);
        let evidence = Evidence {
            files: vec![findings[0].path.clone()],
            findings,
            readings: vec![SensorReading {
                dirty: true,
                ..SensorReading::clean("scan", SensorKind::Scan, 1)
            }],
            ..Evidence::default()
        };
        (evidence, excerpts)
    }

    #[test]
    fn what_is_wrong_is_underlined_also_behind_wide_characters_and_tabs() {
        let text = "x = 1\n\tf('한글', eval(y))\nlist(\n  a,\n  b)\n";
        let at = text.find("eval").expect("it is there");
        let list = text.find("list").expect("it is there");
        let (evidence, excerpts) = scanned(text, &[(at, at + 7), (list, text.len() - 1)]);
        insta::assert_snapshot!(scan_text(&evidence, &excerpts, 3, ReportStyle::default()), @r"
        a.py:2:10 error py-eval (CWE-95): py-eval is wrong
             2 | 	f('한글', eval(y))
               | 	   　　   ^^^^^^^
               = use a table of functions

        a.py:3:1 error py-eval (CWE-95): py-eval is wrong
             3 | list(
               | ^^^^^ … and 2 more lines
               = use a table of functions

        dirty: 2 errors; 1 of 1 file checked in 3 ms [scan 1 file 0 ms]
        ");
    }

    #[test]
    fn carets_are_below_the_place_on_a_terminal() {
        // Precomposed and decomposed Hangul, a combining accent, pictures, full-width letters.
        for before in ["한글", "\u{1112}\u{1161}\u{11ab}", "e\u{301}", "🦀✅", "Ａ＝"] {
            let text = format!("f('{before}', 한e\u{301})\n");
            let at = text.find("한e").expect("it is there");
            let (evidence, excerpts) = scanned(&text, &[(at, text.len() - 2)]);
            let shown = scan_text(&evidence, &excerpts, 3, ReportStyle::default());
            let lines: Vec<&str> = shown.lines().collect();
            let source = lines[1].split_once("한e").expect("the place").0;
            let (blanks, carets) = lines[2].split_at(lines[2].find('^').expect("a caret"));
            assert_eq!(blanks.width(), source.width(), "{shown}");
            assert_eq!(carets, "^^^", "{shown}");
        }
    }

    #[test]
    fn a_minified_line_is_shown_around_the_place() {
        let text = format!("{}eval(y);{}", "a();".repeat(500), "b();".repeat(500));
        let (evidence, excerpts) = scanned(&text, &[(2_000, 2_007)]);
        let shown = scan_text(&evidence, &excerpts, 3, ReportStyle::default());
        let line = shown.lines().nth(1).expect("its line");
        assert!(line.contains("a();eval(y);b();") && line.chars().count() < 200, "{line}");
        let carets = shown.lines().nth(2).expect("the line below");
        assert_eq!(line.find("eval"), carets.find('^'), "{shown}");
    }

    #[test]
    fn what_would_steer_a_terminal_is_not_shown() {
        let (evidence, excerpts) = scanned("eval('\u{1b}[2J\u{202e}')\n", &[(0, 4)]);
        let shown = scan_text(&evidence, &excerpts, 3, ReportStyle::default());
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
        let colored = ReportStyle { has_color: true, ..ReportStyle::default() };
        assert!(scan_text(&evidence, &excerpts, 3, colored).contains("\u{1b}[31m^^^^\u{1b}[0m"));
    }

    #[test]
    fn ten_thousand_findings_have_a_line_each_and_a_count_by_rule() {
        let spans: Vec<(usize, usize)> = (0..10_000).map(|line| (line * 8, line * 8 + 7)).collect();
        let (evidence, excerpts) = scanned(&"eval(x)\n".repeat(10_000), &spans);
        let text = scan_text(&evidence, &excerpts, 3, ReportStyle::default());
        assert_eq!(text.lines().count(), 10_000 + 4 * SCAN_EXCERPTS_MAX + 3);
        assert!(text.contains("only the first 200 are shown with their lines"));
        assert!(text.contains("\n 10000 py-eval\n"), "{}", &text[text.len() - 300..]);
    }
}
