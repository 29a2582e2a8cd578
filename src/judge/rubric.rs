//! `RUBRIC.md`: what the user wants of a change. Read tolerantly, because people write it; what
//! cannot be read is a gap, because what is not asked is not met. It must not know who judges.

use crate::base::limits::{RUBRIC_CRITERIA_MAX, RUBRIC_LINE_CHARS_MAX};
use crate::base::text::one_line;
use crate::base::verdict::{Cause, Gap};

/// What a rubric asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rubric {
    /// The model that judges; `None` leaves it to the options.
    pub model: Option<String>,
    /// Rejections in a row after which a person is asked.
    pub hitl_threshold: Option<u32>,
    /// Commands that must succeed first, as they are written.
    pub checks: Vec<String>,
    /// What the judge is asked about.
    pub criteria: Vec<Criterion>,
    /// What could not be read.
    pub gap: Option<Gap>,
}

/// One criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// `C1`, `C2`, … in the order of the rubric.
    pub id: String,
    /// The user's words, on one line.
    pub text: String,
}

impl Criterion {
    /// Whether comments and documents are what it is about. Only then are comments shown: they
    /// sway judges of correctness.
    #[must_use]
    pub fn is_about_words(&self) -> bool {
        const WORDS: [&str; 9] = [
            "comment",
            "docstring",
            "document",
            "readme",
            "changelog",
            "licen",
            "주석",
            "문서",
            "설명",
        ];
        let text = self.text.to_lowercase();
        WORDS.iter().any(|word| text.contains(word))
    }
}

/// The part of a rubric that a line is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Checks,
    Criteria,
    Other,
}

impl Rubric {
    /// Reads a rubric: front matter with `model` and `hitl_threshold`, list items below the
    /// headings `Checks` and `Judge criteria`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rubric = Self::default();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let body = rubric.read_front_matter(&lines);
        rubric.read_sections(&lines[body..]);
        rubric
    }

    /// Whether there is nothing to judge by: neither a check nor a criterion.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.criteria.is_empty()
    }

    /// Returns the number of the first line behind the front matter.
    fn read_front_matter(&mut self, lines: &[&str]) -> usize {
        let Some(first) = lines.iter().position(|line| !line.is_empty()) else { return 0 };
        if lines[first] != "---" {
            return 0;
        }
        let Some(length) = lines[first + 1..].iter().position(|line| *line == "---") else {
            return 0;
        };
        for line in &lines[first + 1..first + 1 + length] {
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.split(" #").next().unwrap_or_default();
            let value = value.trim().trim_matches(['"', '\'']);
            match key.trim() {
                "model" if !value.is_empty() => self.model = Some(one_line(value, 100)),
                "hitl_threshold" => match value.parse() {
                    Ok(threshold) if threshold > 0 => self.hitl_threshold = Some(threshold),
                    _ => self.lacks(&format!("hitl_threshold is no positive number: {value}")),
                },
                _ => {}
            }
        }
        first + length + 2
    }

    fn read_sections(&mut self, lines: &[&str]) {
        let mut section = Section::Other;
        let (mut is_fenced, mut is_remark) = (false, false);
        for line in lines {
            let trimmed = line.trim_start();
            if trimmed.starts_with("<!--") || is_remark {
                is_remark = !line.contains("-->");
                continue;
            }
            if trimmed.starts_with("```") {
                is_fenced = !is_fenced;
                continue;
            }
            if let Some(next) = heading(line).filter(|_| !is_fenced) {
                section = next;
                continue;
            }
            self.read_line(section, line, is_fenced);
        }
        if self.criteria.len() > RUBRIC_CRITERIA_MAX {
            self.lacks(&format!("it has more than {RUBRIC_CRITERIA_MAX} judge criteria"));
            self.criteria.truncate(RUBRIC_CRITERIA_MAX);
        }
    }

    fn read_line(&mut self, section: Section, line: &str, is_fenced: bool) {
        // The format's own remarks: `# …` among the items.
        if section == Section::Other || line.trim().is_empty() || line.starts_with('#') {
            return;
        }
        let is_nested = line.starts_with([' ', '\t']);
        match (item(line), section) {
            (Some(text), Section::Criteria) => self.add_criterion(text),
            (Some(text), _) => self.checks.push(command(text)),
            (None, Section::Criteria) if is_nested => self.go_on(line.trim()),
            (None, Section::Criteria) => self.add_criterion(line.trim()),
            // A command in a fence needs no bullet; prose among the checks is no command.
            (None, _) if is_fenced => self.checks.push(command(line.trim())),
            (None, _) => {}
        }
    }

    fn add_criterion(&mut self, text: &str) {
        if text.chars().count() > RUBRIC_LINE_CHARS_MAX {
            let reason = format!("a criterion has more than {RUBRIC_LINE_CHARS_MAX} characters");
            self.lacks(&reason);
        }
        let id = format!("C{}", self.criteria.len() + 1);
        self.criteria.push(Criterion { id, text: one_line(text, RUBRIC_LINE_CHARS_MAX) });
    }

    /// A line that is indented below an item belongs to it.
    fn go_on(&mut self, more: &str) {
        match self.criteria.last_mut() {
            Some(last) => {
                last.text = one_line(&format!("{} {more}", last.text), RUBRIC_LINE_CHARS_MAX);
            }
            None => self.add_criterion(more),
        }
    }

    fn lacks(&mut self, reason: &str) {
        self.gap
            .get_or_insert_with(|| Gap::new(Cause::ProjectFault, format!("RUBRIC.md: {reason}")));
    }
}

/// The section that a heading begins; one `#` is a remark inside a section.
fn heading(line: &str) -> Option<Section> {
    let name = line.trim_start_matches('#');
    let depth = line.len() - name.len();
    if !(2..=6).contains(&depth) || !name.starts_with(' ') {
        return None;
    }
    let name = name.trim().trim_end_matches([':', '#']).trim().to_lowercase();
    match name.as_str() {
        "checks" | "check" | "검사" | "체크" => Some(Section::Checks),
        "judge criteria" | "criteria" | "심사 기준" | "판정 기준" => {
            Some(Section::Criteria)
        }
        // A deeper heading groups the items of its section.
        _ if depth > 2 => None,
        _ => Some(Section::Other),
    }
}

/// The text of a list item.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None if digits.len() < line.len() => digits.strip_prefix(['.', ')'])?,
        None => return None,
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let boxes = ["[ ] ", "[x] ", "[X] "];
    let rest = boxes.iter().find_map(|it| rest.strip_prefix(it)).unwrap_or(rest).trim();
    (!rest.is_empty()).then_some(rest)
}

fn command(text: &str) -> String {
    let bare = text.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
    bare.filter(|it| !it.contains('`')).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = "---\nmodel: claude-opus-4-6\nhitl_threshold: 3\n---\n\n## Checks\n\
        # Dual role: fast gate.\n- npm test\n- `npx tsc --noEmit`\n\
        - node -e \"const {v} = require('./v'); process.exit(v(null) === false ? 0 : 1)\"\n\n\
        ## Judge criteria\n- Every function has a single responsibility.\n\
        - Error handling is explicit:\n  no empty catch blocks.\n\n## Notes\n- not a criterion\n";

    #[test]
    fn the_format_of_the_rubric_is_read() {
        let rubric = Rubric::parse(SEED);
        assert_eq!(rubric.model.as_deref(), Some("claude-opus-4-6"));
        assert_eq!((rubric.hitl_threshold, &rubric.gap), (Some(3), &None));
        assert_eq!(rubric.checks.len(), 3);
        assert_eq!(rubric.checks[1], "npx tsc --noEmit");
        let criteria: Vec<_> =
            rubric.criteria.iter().map(|it| (it.id.as_str(), it.text.as_str())).collect();
        let expected = [
            ("C1", "Every function has a single responsibility."),
            ("C2", "Error handling is explicit: no empty catch blocks."),
        ];
        assert_eq!(criteria, expected);
        assert_eq!(Rubric::parse(&format!("\u{feff}{}", SEED.replace('\n', "\r\n"))), rubric);
    }

    #[test]
    fn people_write_it_in_many_ways() {
        let text = "## judge criteria:\n1. one\n2) two\n* [ ] three\nfour\n### Errors\n- five\n\
                    <!-- - six\n- seven -->\n## CHECKS\n```sh\ncargo test\n# not this\n```\nprose\n";
        let rubric = Rubric::parse(text);
        let texts: Vec<_> = rubric.criteria.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["one", "two", "three", "four", "five"]);
        assert_eq!(rubric.checks, ["cargo test"]);
    }

    #[test]
    fn what_asks_for_nothing_is_empty_and_what_cannot_be_read_is_a_gap() {
        for text in ["", "---\nmodel: x\n---\n", "## Checks\n\n## Judge criteria\n", "just prose"] {
            assert!(Rubric::parse(text).is_empty(), "{text:?}");
        }
        let gap = |text: &str| Rubric::parse(text).gap.map(|gap| gap.cause);
        assert_eq!(gap("---\nhitl_threshold: soon\n---\n"), Some(Cause::ProjectFault));
        let many = "- be good\n".repeat(RUBRIC_CRITERIA_MAX + 1);
        assert_eq!(gap(&format!("## Judge criteria\n{many}")), Some(Cause::ProjectFault));
        let long = "x".repeat(RUBRIC_LINE_CHARS_MAX + 1);
        assert_eq!(gap(&format!("## Judge criteria\n- {long}\n")), Some(Cause::ProjectFault));
    }

    #[test]
    fn comments_are_shown_only_to_criteria_about_words() {
        let about = |text: &str| {
            Rubric::parse(&format!("## Criteria\n- {text}\n")).criteria[0].is_about_words()
        };
        assert!(about("Public functions have docstrings") && about("주석은 이유를 말한다"));
        assert!(!about("No silent failures"));
    }
}
