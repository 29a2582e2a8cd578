//! Differences of two texts as hunks of lines with context. Unlike in [`moai_base::lines`], a
//! changed indentation is a change, because it can change what code does.

use moai_base::limits::JUDGE_CONTEXT_LINES;
use moai_base::lines::{LineHashes, LineMap, LineMapping};

/// State of a line in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineMark {
    /// In both texts.
    Same,
    /// Only in the text before; numbered by that text.
    Removed,
    /// Only in the text after.
    Added,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkLine<'t> {
    /// State of the line.
    pub mark: LineMark,
    /// 1-based line number.
    pub number: usize,
    /// Text without the line break.
    pub text: &'t str,
}

/// A group of changed lines with context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffHunk<'t> {
    /// The enclosing line above, such as that of a function or class.
    pub heading: Option<HunkLine<'t>>,
    /// Changed lines and their context.
    pub lines: Vec<HunkLine<'t>>,
}

/// Lines of a text, as [`LineHashes`] counts them; an empty text has none.
#[must_use]
pub fn lines_of(text: &str) -> Vec<&str> {
    if text.is_empty() {
        return Vec::new();
    }
    let split = text.split('\n');
    let mut lines: Vec<&str> =
        split.flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')).collect();
    if lines.last() == Some(&"") {
        lines.pop();
    }
    lines
}

/// Hunks between two texts, in the order of the later text.
#[must_use]
pub fn hunks<'t>(before: &'t str, after: &'t str) -> Vec<DiffHunk<'t>> {
    let all = diff_lines(before, after);
    let changed: Vec<usize> = all
        .iter()
        .enumerate()
        .filter(|(_, line)| line.mark != LineMark::Same)
        .map(|it| it.0)
        .collect();
    let mut hunks: Vec<DiffHunk<'t>> = Vec::new();
    let mut shown_to = 0;
    for at in changed {
        let from = at.saturating_sub(JUDGE_CONTEXT_LINES).max(shown_to);
        let to = (at + JUDGE_CONTEXT_LINES + 1).min(all.len());
        match hunks.last_mut() {
            Some(last) if from <= shown_to => {
                last.lines.extend_from_slice(&all[shown_to..to.max(shown_to)]);
            }
            _ => {
                let lines = all[from..to].to_vec();
                hunks.push(DiffHunk { heading: heading(&all, from), lines });
            }
        }
        shown_to = shown_to.max(to);
    }
    hunks
}

/// Lines of both texts in diff order; unchanged lines once.
fn diff_lines<'t>(before: &'t str, after: &'t str) -> Vec<HunkLine<'t>> {
    let map = LineMap::between(&LineHashes::from_text(before), &LineHashes::from_text(after));
    let (old, new) = (lines_of(before), lines_of(after));
    let (mut from, mut to) = (0, 0);
    let mut all = Vec::with_capacity(old.len().max(new.len()));
    let line = |mark, at: usize, text| HunkLine { mark, number: at + 1, text };
    while from < old.len() || to < new.len() {
        let kept = u32::try_from(from).ok().and_then(|at| map.map_old_line(at));
        match kept {
            Some(LineMapping::Kept(at))
                if at as usize == to && from < old.len() && to < new.len() =>
            {
                if old[from] == new[to] {
                    all.push(line(LineMark::Same, to, new[to]));
                } else {
                    all.push(line(LineMark::Removed, from, old[from]));
                    all.push(line(LineMark::Added, to, new[to]));
                }
                (from, to) = (from + 1, to + 1);
            }
            Some(LineMapping::Kept(at)) if to < new.len() && to < at as usize => {
                all.push(line(LineMark::Added, to, new[to]));
                to += 1;
            }
            _ if from < old.len() => {
                all.push(line(LineMark::Removed, from, old[from]));
                from += 1;
            }
            _ => {
                all.push(line(LineMark::Added, to, new[to]));
                to += 1;
            }
        }
    }
    all
}

/// The nearest line above with less indentation than the hunk's first line.
fn heading<'t>(all: &[HunkLine<'t>], from: usize) -> Option<HunkLine<'t>> {
    let first = all[from..].iter().find(|line| !line.text.trim().is_empty())?;
    let inner = indent(first.text);
    let above = all[..from].iter().rev().filter(|line| line.mark != LineMark::Removed);
    let mut outer = above.filter(|line| !line.text.trim().is_empty() && indent(line.text) < inner);
    outer.next().cloned()
}

/// Bytes of leading white space.
fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &[&str]) {
        let mut shown = Vec::new();
        for hunk in hunks(before, after) {
            shown.push(format!("@@ {}", hunk.heading.map_or("", |line| line.text)));
            for line in hunk.lines.iter().filter(|line| line.mark != LineMark::Same) {
                let mark = if line.mark == LineMark::Added { '+' } else { '-' };
                shown.push(format!("{mark}{} {}", line.number, line.text));
            }
        }
        assert_eq!(shown, expected);
    }

    #[test]
    fn added_removed_and_changed_lines_are_distinguished() {
        check("a\nb\nc\n", "a\nB\nc\n", &["@@ ", "-2 b", "+2 B"]);
        check("", "a\nb", &["@@ ", "+1 a", "+2 b"]);
        check("a\nb\n", "", &["@@ ", "-1 a", "-2 b"]);
        check("a\nb\n", "b\nc\n", &["@@ ", "-1 a", "+2 c"]);
        check("a\r\nb\r\n", "a\nb\n", &[]);
    }

    proptest::proptest! {
        #[test]
        fn both_texts_can_be_reconstructed_from_the_diff(
            before in "([ab} ]{0,3}\n){0,12}[ab]{0,2}", after in "([ab} ]{0,3}\n){0,12}[ab]{0,2}",
        ) {
            let all = diff_lines(&before, &after);
            let side_without = |excluded: LineMark| -> Vec<&str> {
                all.iter().filter(|line| line.mark != excluded).map(|line| line.text).collect()
            };
            proptest::prop_assert_eq!(side_without(LineMark::Added), lines_of(&before));
            proptest::prop_assert_eq!(side_without(LineMark::Removed), lines_of(&after));
        }
    }

    #[test]
    fn a_changed_indentation_is_a_change() {
        check("if x:\n    f()\n", "if x:\n    f()\n  ", &["@@ ", "+3   "]);
        check(
            "if x:\n    f()\n    g()\n",
            "if x:\n    f()\ng()\n",
            &["@@ ", "-3     g()", "+3 g()"],
        );
    }

    #[test]
    fn distant_changes_are_separate_hunks_with_their_heading() {
        let body = (0..60).map(|at| format!("    line {at}")).collect::<Vec<_>>().join("\n");
        let before = format!("def f():\n{body}");
        let after = before.replace("line 3\n", "line x\n").replace("line 50\n", "line y\n");
        check(
            &before,
            &after,
            &[
                "@@ ",
                "-5     line 3",
                "+5     line x",
                "@@ def f():",
                "-52     line 50",
                "+52     line y",
            ],
        );
        let lines: usize = hunks(&before, &after).iter().map(|hunk| hunk.lines.len()).sum();
        assert_eq!(lines, 5 + 1 + JUDGE_CONTEXT_LINES + (2 * JUDGE_CONTEXT_LINES + 2));
    }
}
