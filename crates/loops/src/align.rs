//! `.claude/gulf-align.md`: the agreement of user and agent before a loop, in four parts, and its
//! questions that the user has not answered yet. Pure; the caller reads the file.

use std::fmt::Write as _;

use super::fences::FenceTracker;
use super::fields::{BYTE_ORDER_MARK, bullet, is_empty_placeholder};

/// The parts of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignmentPart {
    Specification,
    /// The approach.
    Process,
    /// The evaluation of the result.
    Evaluation,
    /// Open questions and assumptions.
    GapCheck,
}

impl AlignmentPart {
    /// Its heading as written, and the lower-case words by which a heading is recognized.
    const HEADINGS: [(Self, &'static str, [&'static str; 2]); 4] = [
        (Self::Specification, "Specification Alignment", ["specification alignment", "명세 정렬"]),
        (Self::Process, "Process Alignment", ["process alignment", "과정 정렬"]),
        (Self::Evaluation, "Evaluation Alignment", ["evaluation alignment", "평가 정렬"]),
        (Self::GapCheck, "Gulf of Envisioning — Gap Check", ["gap check", "간극 점검"]),
    ];

    fn of_heading(heading: &str) -> Option<Self> {
        let heading = heading.to_lowercase();
        let is_named = |words: &[&str; 2]| words.iter().any(|word| heading.contains(word));
        Self::HEADINGS.iter().find(|(_, _, words)| is_named(words)).map(|(part, ..)| *part)
    }
}

/// One labelled entry, such as `Goal` or `Blocking questions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlignmentEntry {
    /// Its label without Markdown; empty for a line without a label.
    pub label: String,
    /// Its values; a value may have several lines.
    pub values: Vec<String>,
}

/// The entries of the four parts; other headings and their text are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    /// Entries in the order of the file, each with its part.
    pub entries: Vec<(AlignmentPart, AlignmentEntry)>,
}

/// Placeholders for values in the blank form.
const FORM: [(AlignmentPart, &[(&str, &str)]); 4] = [
    (
        AlignmentPart::Specification,
        &[
            ("Goal", "[one sentence: the core deliverable]"),
            ("Deliverables", "[list of artifacts]"),
            ("Out of scope", "[what is not done]"),
        ],
    ),
    (
        AlignmentPart::Process,
        &[
            ("Approach", "[technical strategy in one sentence]"),
            ("Sequence", "[ordered phases, each with something that can be checked]"),
            ("Stack assumptions", "[languages, frameworks, test tools]"),
        ],
    ),
    (
        AlignmentPart::Evaluation,
        &[
            ("Machine checks", "[exact commands]"),
            ("Behavioral checks", "[what the running system must do]"),
            ("Edge cases", "[known boundaries]"),
        ],
    ),
    (
        AlignmentPart::GapCheck,
        &[
            ("Capability gaps", "[what may not be possible here]"),
            ("Instruction gaps", "[ambiguous or contradictory parts]"),
            ("Blocking questions", "[requires user clarification before starting]"),
        ],
    ),
];

/// The blank form, with the goal if it is known.
#[must_use]
pub fn blank_alignment(goal: &str) -> Alignment {
    let entry = |label: &str, hint: &str| {
        let is_goal = label == "Goal" && !goal.trim().is_empty();
        let value = if is_goal { goal.trim() } else { hint };
        AlignmentEntry { label: label.to_owned(), values: vec![value.to_owned()] }
    };
    Alignment {
        entries: FORM
            .iter()
            .flat_map(|(part, rows)| {
                rows.iter().map(|(label, hint)| (*part, entry(label, hint))).collect::<Vec<_>>()
            })
            .collect(),
    }
}

/// Parses the file, even if it was written by hand.
#[must_use]
pub fn parse_alignment(text: &str) -> Alignment {
    let mut alignment = Alignment::default();
    let mut part = None;
    let mut fences = FenceTracker::default();
    for line in text.trim_start_matches(BYTE_ORDER_MARK).lines() {
        if fences.is_code(line) {
            continue;
        }
        if let Some((level, heading)) = heading(line) {
            match (AlignmentPart::of_heading(heading), part) {
                (Some(named), _) => part = Some(named),
                // Open questions block the loop in every part.
                (None, _) if is_question_heading(heading) => {
                    part = Some(AlignmentPart::GapCheck);
                    let entry = AlignmentEntry { label: plain(heading), values: Vec::new() };
                    alignment.entries.push((AlignmentPart::GapCheck, entry));
                }
                // A smaller heading inside a part is a label.
                (None, Some(inside)) if level > 2 => {
                    let entry = AlignmentEntry { label: plain(heading), values: Vec::new() };
                    alignment.entries.push((inside, entry));
                }
                (None, _) => part = None,
            }
        } else if let Some(part) = part {
            alignment.take(part, line);
        }
    }
    alignment
}

/// The file of an alignment.
#[must_use]
pub fn render(alignment: &Alignment) -> String {
    let mut text = String::new();
    for (part, heading, _) in AlignmentPart::HEADINGS {
        let _ = writeln!(text, "{}## {heading}", if text.is_empty() { "" } else { "\n" });
        for (_, entry) in alignment.entries.iter().filter(|(of, _)| *of == part) {
            match entry.values.as_slice() {
                [one] if !one.contains('\n') => {
                    let _ = writeln!(text, "- **{}**: {one}", entry.label);
                }
                values => {
                    let _ = writeln!(text, "- **{}**:", entry.label);
                    for value in values {
                        let _ = writeln!(text, "  - {}", value.replace('\n', "\n    "));
                    }
                }
            }
        }
    }
    text
}

/// The blocking questions without an answer; with one a loop does not start, because it would work
/// on guesses. A question is answered if it is ticked (`[x]`), struck through, or followed by its
/// answer (`→ …`, `Answer: …`, `답: …`).
#[must_use]
pub fn blocking_questions(text: &str) -> Vec<String> {
    parse_alignment(text)
        .entries
        .into_iter()
        .filter(|(part, entry)| *part == AlignmentPart::GapCheck && is_blocking(&entry.label))
        .flat_map(|(_, entry)| entry.values)
        .filter_map(|value| open_question(&value))
        .collect()
}

fn is_blocking(label: &str) -> bool {
    let label = label.to_lowercase();
    ["blocking", "차단 질문", "블로킹", "선결 질문"].iter().any(|word| label.contains(word))
}

/// True if a heading introduces blocking questions.
fn is_question_heading(heading: &str) -> bool {
    let heading = heading.to_lowercase();
    let is_denied = ["non-blocking", "nonblocking", "not blocking"];
    ["question", "질문"].iter().any(|word| heading.contains(word))
        && is_blocking(&heading)
        && !is_denied.iter().any(|word| heading.contains(word))
}

impl Alignment {
    /// Adds one line of a part: a label at the margin, a value below it, or the continuation of a
    /// value.
    fn take(&mut self, part: AlignmentPart, line: &str) {
        let text = line.trim();
        if text.is_empty() || text.chars().all(|character| "-=*_".contains(character)) {
            return;
        }
        let indent = line.len() - line.trim_start().len();
        let last = self.entries.last_mut().filter(|(of, _)| *of == part);
        // A question that contains a colon is not a label.
        let is_asking = last.as_ref().is_some_and(|(_, entry)| is_blocking(&entry.label));
        let is_value = |item: &str| {
            let is_bold = item.starts_with("**");
            (indent >= 2 || is_asking && !is_known(item)) && !is_bold || !has_label(item)
        };
        match (bullet(line), last) {
            (Some(item), Some((_, entry))) if is_value(item) => {
                // Indented deeper than the values: belongs to the value above.
                match entry.values.last_mut().filter(|_| indent >= 4) {
                    Some(value) => push_line(value, item),
                    None => entry.values.push(item.to_owned()),
                }
            }
            (Some(item), _) => self.entries.push((part, entry_of(item))),
            (None, Some((_, entry))) => match entry.values.last_mut() {
                Some(value) => push_line(value, text),
                None => entry.values.push(text.to_owned()),
            },
            (None, None) => self.entries.push((part, entry_of(text))),
        }
    }
}

fn push_line(value: &mut String, line: &str) {
    value.push('\n');
    value.push_str(line);
}

/// True if a list entry begins with `**Label**` or with a short `Label:`.
fn has_label(item: &str) -> bool {
    item.starts_with("**") || item.split_once([':', '：']).is_some_and(|(label, _)| is_label(label))
}

/// True if a list entry begins with a label of the form.
fn is_known(item: &str) -> bool {
    let label = item.split([':', '：']).next().unwrap_or_default().trim();
    let mut labels = FORM.iter().flat_map(|(_, rows)| rows.iter());
    labels.any(|(known, _)| known.eq_ignore_ascii_case(label)) || is_blocking(label)
}

/// A label is a few plain words; a question, a tick or a sentence is not one.
fn is_label(text: &str) -> bool {
    text.split_whitespace().count() <= 4
        && text.chars().all(|character| character.is_alphabetic() || " -_/()".contains(character))
}

fn entry_of(item: &str) -> AlignmentEntry {
    let (label, value) = match item.split_once([':', '：']) {
        Some((label, value)) if has_label(item) => (plain(label), value),
        _ if item.starts_with("**") => (plain(item), ""),
        _ => (String::new(), item),
    };
    let value = value.trim_start_matches('*').trim();
    let values = if value.is_empty() { Vec::new() } else { vec![value.to_owned()] };
    AlignmentEntry { label, values }
}

fn plain(text: &str) -> String {
    text.trim_matches(|character: char| "*#:： ".contains(character)).to_owned()
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    (level > 0 && rest.starts_with(' ')).then(|| (level, rest.trim()))
}

/// The text as one line if it is an open question.
fn open_question(value: &str) -> Option<String> {
    let is_hint = FORM.iter().any(|(_, rows)| rows.iter().any(|(_, hint)| *hint == value.trim()));
    let text = value.trim();
    let is_ticked = ["[x]", "[X]"].iter().any(|tick| text.starts_with(tick));
    let is_struck = text.strip_prefix("~~").is_some_and(|rest| rest.contains("~~"));
    let text = text.strip_prefix("[ ]").unwrap_or(text).trim();
    let is_open =
        !(is_hint || is_ticked || is_struck || is_empty_placeholder(text) || is_answered(text));
    is_open.then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// True if an answer follows the question, on its line or on the next one.
fn is_answered(text: &str) -> bool {
    const MARKS: &[&str] =
        &["→", "answer:", "answered:", "decided:", "resolved:", "답:", "답변:", "결정:"];
    let text = text.to_lowercase().replace("**", "").replace("->", "→").replace("=>", "→");
    text.lines().enumerate().any(|(number, line)| {
        let mut after = line.split('?').skip(1);
        // `A:` may also begin a list of choices, which ends with a question mark.
        let last = line.rsplit_once('?').map_or("", |(_, last)| last);
        number > 0 && (starts_with_answer(line, MARKS) || starts_with_answer(line, &["a:"]))
            || after.any(|part| starts_with_answer(part, MARKS))
            || starts_with_answer(last, &["a:"])
    })
}

/// True if a lower-case text begins with a mark that is followed by text.
fn starts_with_answer(text: &str, marks: &[&str]) -> bool {
    const OPEN: [&str; 6] = ["?", "tbd", "unknown", "unclear", "미정", "모름"];
    let text = text.trim_start_matches(|character: char| "*_—– -".contains(character));
    marks.iter().find_map(|mark| text.strip_prefix(mark)).is_some_and(|rest| {
        let rest = rest.trim();
        !is_empty_placeholder(rest) && !OPEN.iter().any(|word| rest.starts_with(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(questions: &str, expected: &[&str]) {
        let text = format!(
            "# Alignment\n## Specification Alignment\n- **Goal**: x?\n\n\
             ## Gulf of Envisioning — Gap Check\n- **Capability gaps**: is it fast?\n{questions}"
        );
        assert_eq!(blocking_questions(&text), expected, "{questions}");
        assert_eq!(blocking_questions(&text.replace('\n', "\r\n")), expected, "{questions}");
    }

    #[test]
    fn open_questions_block_and_answered_ones_do_not() {
        check("- **Blocking questions**: Which database?", &["Which database?"]);
        check(
            "- **Blocking questions**:\n  - Which database?\n  - [ ] Who may log in,\n    and when?\n",
            &["Which database?", "Who may log in, and when?"],
        );
        check("- **Blocking questions**:\n- Which one?\n- [x] Why?\n", &["Which one?"]);
        check("### Blocking questions\n- Which one?\n", &["Which one?"]);
        check("- 차단 질문: 어느 데이터베이스?\n", &["어느 데이터베이스?"]);
        for answered in [
            "[x] Which?",
            "~~Which?~~",
            "Which? → Postgres",
            "Which? Answer: Postgres",
            "Which?\n    Answer: Postgres",
            "Which?\n    - 답: 포스트그레스",
            "Which? A: Postgres",
            "Which? -> Postgres",
        ] {
            check(&format!("- **Blocking questions**:\n  - {answered}\n"), &[]);
        }
        check(
            "- Blocking questions: Which one?\n- Database: A or B?\n- Instruction gaps: none\n",
            &["Which one?", "Database: A or B?"],
        );
        for open in [
            "Which? A: Postgres or B: MySQL?",
            "Which? → 미정",
            "Which? → ?",
            "Which? Answer: TBD",
            "Which? Answer:",
            "a -> b or a => b?",
        ] {
            check(&format!("- **Blocking questions**:\n  - {open}\n"), &[open]);
        }
    }

    #[test]
    fn open_questions_block_below_any_heading() {
        for text in [
            "## Blocking questions\n- [ ] which DB?\n",
            "# Notes\n## Gaps\ntext\n### Blocking questions\n- which DB?\n",
            "## Specification Alignment\n- **Goal**: x\n### Blocking questions\n- which DB?\n",
            "## 차단 질문\n- which DB?\n",
        ] {
            assert_eq!(blocking_questions(text), ["which DB?"], "{text}");
        }
        for text in [
            "## Non-blocking questions\n- which DB?\n",
            "## Blocking questions\n- [x] which DB?\n",
            "## Blocking questions\nnone\n\n## Blocking calls\n- which thread?\n",
        ] {
            assert_eq!(blocking_questions(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn empty_answers_and_the_blank_form_do_not_block() {
        for nothing in ["", " none", " (none)", " 없음", " N/A", "\n  - None.\n"] {
            check(&format!("- **Blocking questions**:{nothing}\n"), &[]);
        }
        assert_eq!(blocking_questions(&render(&blank_alignment("x"))), [""; 0]);
        assert_eq!(blocking_questions(""), [""; 0]);
        assert_eq!(blocking_questions("Blocking questions: really?"), [""; 0]);
    }

    #[test]
    fn quoted_text_and_other_sections_contain_no_questions() {
        let quoted = "```\n## Gap Check\n- **Blocking questions**: x?\n```\n";
        assert_eq!(blocking_questions(quoted), [""; 0]);
        check("- **Blocking questions**: none\n\n## Loop completed — x\n- y?\n", &[]);
    }

    #[test]
    fn a_rendered_alignment_parses_to_itself() {
        let mut alignment = blank_alignment("an API for users");
        let text = render(&alignment);
        assert!(
            text.starts_with("## Specification Alignment\n- **Goal**: an API for users\n"),
            "{text}"
        );
        assert_eq!(parse_alignment(&text), alignment);
        alignment.entries[1].1.values = vec!["a".into(), "b\nmore".into()];
        assert_eq!(parse_alignment(&render(&alignment)), alignment);
    }
}
