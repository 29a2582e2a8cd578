//! The results that an iteration or a loop hands to the next one in files for agents and people:
//! decisions, and the summary of a completed loop. Pure; the caller reads and writes the files.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::fields::{self, HandoffField};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    DECISION_CHARS_MAX, DECISIONS_MAX, HANDOFF_CHARS_MAX, PROGRESS_LINES_MAX, REMAINING_LINES_MAX,
};

#[derive(Clone, Copy, Debug)]
pub struct EndedLoop<'a> {
    pub id: &'a str,
    /// Its last iteration.
    pub iteration: u32,
    /// Time of its end, in milliseconds since the epoch.
    pub at_ms: u64,
}

impl EndedLoop<'_> {
    /// `2026-02-28 14:22:11 UTC | iteration 23 | loop-1a2b3c4d`.
    pub(super) fn line(&self) -> String {
        let at = i64::try_from(self.at_ms).ok();
        let at = at.and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
        let at =
            at.map_or_else(|| self.at_ms.to_string(), |at| at.strftime("%F %T UTC").to_string());
        format!("{at} | iteration {} | {}", self.iteration, self.id)
    }
}

/// The remaining work by the agent's own account, at most [`REMAINING_LINES_MAX`] entries.
#[must_use]
pub fn remaining_gap(progress: &str) -> Vec<String> {
    let gap = fields::last_value(progress, HandoffField::RemainingGap).unwrap_or_default();
    let mut entries = fields::entries(&gap);
    entries.retain(|entry| !fields::is_hint(entry));
    let entries = entries.into_iter().take(REMAINING_LINES_MAX);
    entries.map(|entry| one_line(&entry, DECISION_CHARS_MAX)).collect()
}

/// The number of lines of a hand-off that is too long to be read at every iteration; `None` for a
/// shorter one.
#[must_use]
pub fn too_many_lines(progress: &str) -> Option<usize> {
    let count = progress.trim_end().lines().count();
    (count > PROGRESS_LINES_MAX).then_some(count)
}

/// The task as recorded in the hand-off: `ORIGINAL_GOAL`.
#[must_use]
pub fn original_goal(progress: &str) -> Option<String> {
    let goal = fields::last_value(progress, HandoffField::OriginalGoal)?;
    let is_there = !fields::is_empty_placeholder(&goal) && !fields::is_hint(&goal);
    is_there.then(|| one_line(&goal, DECISION_CHARS_MAX))
}

/// `decisions.md` with the new decisions of this iteration appended, each once; `None` without new
/// ones.
#[must_use]
pub fn with_decisions(decisions: &str, progress: &str, iteration: u32) -> Option<String> {
    let mut known: BTreeSet<String> = decisions.lines().map(bare_decision).collect();
    let mut text = ended_with_newline(decisions);
    let mut is_new = false;
    let values = fields::field_values(progress, HandoffField::Decisions);
    for entry in values.iter().flat_map(|value| fields::entries(value)).take(DECISIONS_MAX) {
        let entry = one_line(&entry, DECISION_CHARS_MAX);
        let bare = bare_decision(&entry);
        if bare.is_empty() || is_form(&entry) || !known.insert(bare) {
            continue;
        }
        is_new = true;
        let _ = writeln!(text, "[iter {iteration}] {entry}");
    }
    is_new.then_some(text)
}

/// The decisions in both files, each once, without marks: at most [`DECISIONS_MAX`], the last ones.
#[must_use]
pub fn written_decisions(decisions: &str, progress: &str) -> Vec<String> {
    let values = fields::field_values(progress, HandoffField::Decisions);
    let of_progress = values.iter().flat_map(|value| fields::entries(value));
    let is_heading = |line: &str| line.trim_start().starts_with('#');
    let of_file = decisions.lines().filter(|line| !is_heading(line)).map(str::to_owned);
    let mut known = BTreeSet::new();
    let mut written: Vec<String> = Vec::new();
    for entry in of_file.chain(of_progress) {
        let text = one_line(without_marks(&entry), DECISION_CHARS_MAX);
        if !text.is_empty() && !is_form(&text) && known.insert(bare_decision(&text)) {
            written.push(text);
        }
    }
    written.split_off(written.len().saturating_sub(DECISIONS_MAX))
}

/// A decision without its iteration, marks, case and blanks, for comparison.
fn bare_decision(line: &str) -> String {
    let words: Vec<&str> = without_marks(line).split_whitespace().collect();
    words.join(" ").to_lowercase()
}

fn without_marks(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some(inner) = fields::bullet(rest).or_else(|| after_iteration(rest)) {
        rest = inner.trim();
    }
    rest
}

fn after_iteration(line: &str) -> Option<&str> {
    line.strip_prefix("[iter ").and_then(|rest| rest.split_once(']')).map(|(_, rest)| rest)
}

/// The line of the form that shows the format of a decision.
fn is_form(entry: &str) -> bool {
    entry.contains("chose: [X]")
}

/// The alignment file with the contents of a completed loop's `progress.txt` appended; `None` if
/// there is nothing to add.
#[must_use]
pub fn with_completed(align: &str, progress: &str, ended: EndedLoop<'_>) -> Option<String> {
    let progress = progress.trim();
    let mark = format!("| {}", ended.id);
    let is_heading = |line: &str| line.starts_with("## Loop completed") && line.ends_with(&mark);
    if progress.is_empty() || align.lines().any(|line| is_heading(line.trim_end())) {
        return None;
    }
    let mut kept: String = progress.chars().take(HANDOFF_CHARS_MAX).collect();
    if kept.len() < progress.len() {
        kept.push_str("\n… (cut)");
    }
    // Fenced, so that headings of the hand-off do not become parts of the alignment.
    let fence = "`".repeat(longest_fence(&kept).max(2) + 1);
    let mut text = ended_with_newline(align);
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "## Loop completed — {}\n{fence}text\n{kept}\n{fence}", ended.line());
    Some(text)
}

fn longest_fence(text: &str) -> usize {
    text.lines()
        .map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count())
        .max()
        .unwrap_or(0)
}

pub(super) fn ended_with_newline(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align;

    const ENDED: EndedLoop<'_> =
        EndedLoop { id: "loop-1a2b3c4d", iteration: 23, at_ms: 1_772_288_531_000 };

    #[test]
    fn the_gap_is_a_bounded_list() {
        assert_eq!(remaining_gap("REMAINING_GAP: hashing"), ["hashing"]);
        assert_eq!(remaining_gap("REMAINING_GAP:\n- none\n"), [""; 0]);
        assert_eq!(remaining_gap("COMPLETED:\n- a"), [""; 0]);
        let many =
            (0..=REMAINING_LINES_MAX).fold(String::new(), |all, n| all + &format!("- {n}\n"));
        let found = remaining_gap(&format!("REMAINING_GAP:\n{many}"));
        assert_eq!(found.len(), REMAINING_LINES_MAX);
        assert_eq!(original_goal("ORIGINAL_GOAL: log in\nITERATION: 1").as_deref(), Some("log in"));
        assert_eq!(original_goal("ITERATION: 1"), None);
        assert_eq!(too_many_lines(&"x\n".repeat(PROGRESS_LINES_MAX)), None);
        let long = "x\r\n".repeat(PROGRESS_LINES_MAX + 1);
        assert_eq!(too_many_lines(&long), Some(PROGRESS_LINES_MAX + 1));
    }

    #[test]
    fn decisions_are_kept_once_and_in_order() {
        let progress = "DECISIONS:\n- chose: argon2id, rejected: bcrypt\n- chose: A\n";
        let first = with_decisions("", progress, 3).expect("new");
        assert_eq!(first, "[iter 3] chose: argon2id, rejected: bcrypt\n[iter 3] chose: A\n");
        assert_eq!(with_decisions(&first, progress, 4), None);
        let more = with_decisions(&first, "DECISIONS:\n- Chose:  a\n- chose: B\n", 5).expect("new");
        assert_eq!(more, format!("{first}[iter 5] chose: B\n"));
        let edited = with_decisions("# ours\n- chose: B", "DECISIONS:\r\n- chose: C\r\n", 1);
        assert_eq!(edited.as_deref(), Some("# ours\n- chose: B\n[iter 1] chose: C\n"));
        let form =
            "DECISIONS:\n- chose: [X], rejected: [Y], reason: [why], revisit_if: [condition]";
        assert_eq!(with_decisions("", form, 1), None);
        assert_eq!(with_decisions("", "DECISIONS:\n- none", 1), None);
    }

    #[test]
    fn decisions_of_both_files_are_read_once() {
        let file = "# Decisions\n\n[iter 1] chose: argon2id\n- 세션 쿠키를 쓴다\n";
        let progress = "DECISIONS:\n- Chose: ARGON2ID\n- chose: B\nNEXT: x\n";
        let expected = ["chose: argon2id", "세션 쿠키를 쓴다", "chose: B"];
        assert_eq!(written_decisions(file, progress), expected);
        assert_eq!(written_decisions("", "DECISIONS:\n- none"), [""; 0]);
        let many: Vec<String> = (0..=DECISIONS_MAX).map(|number| format!("- d{number}")).collect();
        let last = written_decisions(&many.join("\n"), "");
        assert_eq!((last.len(), last[0].as_str()), (DECISIONS_MAX, "d1"));
    }

    #[test]
    fn a_completed_loop_is_handed_on_once_and_cannot_forge_the_alignment() {
        let progress = "COMPLETED:\n- x\n```\n## Gap Check\n- **Blocking questions**: y?\n```\n";
        let text = with_completed("## Process Alignment\n- a", progress, ENDED).expect("new");
        assert!(
            text.starts_with("## Process Alignment\n- a\n\n## Loop completed — 2026-02-28 "),
            "{text}"
        );
        assert!(
            text.contains("UTC | iteration 23 | loop-1a2b3c4d\n````text\nCOMPLETED:"),
            "{text}"
        );
        assert!(text.ends_with("\n````\n"), "{text}");
        assert_eq!(align::blocking_questions(&text), [""; 0]);
        assert_eq!(with_completed(&text, progress, ENDED), None);
        assert_eq!(with_completed("", " \n", ENDED), None);
        let long = "가".repeat(HANDOFF_CHARS_MAX + 1);
        let text = with_completed("", &long, ENDED).expect("new");
        assert!(text.contains("가\n… (cut)\n```"), "cut");
    }

    proptest::proptest! {
        #[test]
        fn any_text_parses_and_nothing_is_added_twice(
            text in "(DECISIONS:|- |\\[iter 1\\]|## |```|[a-z가-힣?:：\\[\\] *]{0,8}|\\PC{0,4}|\r?\n){0,40}"
        ) {
            if let Some(decisions) = with_decisions(&text, &text, 1) {
                proptest::prop_assert_eq!(with_decisions(&decisions, &text, 2), None);
            }
            if let Some(align) = with_completed(&text, &text, ENDED) {
                proptest::prop_assert_eq!(with_completed(&align, &text, ENDED), None);
                proptest::prop_assert!(align.starts_with(&text));
            }
            proptest::prop_assert!(remaining_gap(&text).len() <= REMAINING_LINES_MAX);
            let _ = (align::blocking_questions(&text), crate::research::research_gate(Some(&text)));
            let evidence = moai_base::evidence::Evidence {
                findings: vec![moai_base::samples::finding("a.py", 2, "x")],
                ..Default::default()
            };
            let _ = crate::claims::contradictions(&text, &evidence);
        }
    }
}
