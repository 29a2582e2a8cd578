//! Edits as pairs of texts in which every line with `!` is wrong.

use proptest::prelude::*;

use super::*;
use crate::finding::{FindingPlace, assign_fingerprints};
use crate::samples::finding;

fn set(of: &[(u32, &str)]) -> Vec<Finding> {
    let mut findings = of.iter().map(|(line, code)| finding("a.py", *line, code)).collect();
    assign_fingerprints(&mut findings);
    findings
}

/// Introduced, fixed, remaining.
fn counts(delta: &Delta) -> (usize, usize, usize) {
    let introduced = delta.in_state(FindingState::Introduced).count();
    (introduced, delta.fixed, delta.in_state(FindingState::Existing).count())
}

fn check_ids(before: Option<&[(u32, &str)]>, now: &[(u32, &str)], expected: (usize, usize, usize)) {
    let before = before.map(set);
    assert_eq!(counts(&Delta::by_fingerprint(before.as_deref(), set(now))), expected);
}

/// The word after each `!` is the code of a finding on its line.
fn wrong(text: &str) -> Vec<Finding> {
    let mut all = Vec::new();
    for (number, line) in (0..).zip(text.lines()) {
        for rest in line.split('!').skip(1) {
            let code = rest.split(|it: char| !it.is_alphanumeric()).next().unwrap_or_default();
            all.push((number, code));
        }
    }
    set(&all)
}

fn mapped(before: &str, after: &str) -> Delta {
    let (old, new) = (LineHashes::from_text(before), LineHashes::from_text(after));
    Delta::by_line_map(&old, &wrong(before), &new, wrong(after))
}

fn check(before: &str, after: &str, expected: (usize, usize, usize)) {
    assert_eq!(counts(&mapped(before, after)), expected, "{before:?} -> {after:?}");
}

#[test]
fn replacing_an_error_by_another_is_one_introduced_and_one_fixed() {
    check_ids(Some(&[(1, "x")]), &[(1, "y")], (1, 1, 0));
    check_ids(Some(&[(1, "x"), (5, "y")]), &[(9, "x")], (0, 1, 1));
    check_ids(Some(&[(1, "x")]), &[(1, "x"), (2, "x")], (1, 0, 1));
    check_ids(Some(&[]), &[(1, "x")], (1, 0, 0));
    check("a !x", "a !y", (1, 1, 0));
}

#[test]
fn without_an_earlier_set_edited_lines_and_touched_names_are_introduced() {
    let (before, after) = ("a !old\nb\nc !named", "a !old\nb !new\nc !named\nd !added");
    let (old, new) = (LineHashes::from_text(before), LineHashes::from_text(after));
    let delta = Delta::by_edited_lines(&old, &new, wrong(after), |finding| finding.code == "named");
    assert_eq!(codes(&delta, FindingState::Introduced), ["new", "named", "added"]);
    assert_eq!(codes(&delta, FindingState::Unknown), ["old"]);
}

fn codes(delta: &Delta, state: FindingState) -> Vec<&str> {
    delta.in_state(state).map(|finding| finding.code.as_str()).collect()
}

#[test]
fn a_first_measurement_introduces_nothing() {
    check_ids(None, &[(1, "x")], (0, 0, 0));
}

#[test]
fn a_moved_error_remains() {
    check("a\nb !x\nc", "new\na\nnew\nb !x\nc", (0, 0, 1));
    // A block that was cut here and pasted there.
    check("f !x\nb\nc\nd", "b\nc\nd\nf !x", (0, 0, 1));
    // Indented by a new block around it.
    check("a !x\nb !y", "if c:\n    a !x\n    b !y", (0, 0, 2));
}

#[test]
fn an_edited_line_with_the_same_error_remains() {
    check("a\nb !x\nc", "a\nb2 !x\nc", (0, 0, 1));
    check("a\nb !x\nc", "a\nb2(\n  more !x\n)\nc", (0, 0, 1));
}

#[test]
fn equal_errors_are_paired_by_line() {
    // The same text twice: the first is fixed, a third appears at the end.
    let delta = mapped("a !x\nk1\nb !x\nk2", "a\nk1\nb !x\nk2\nc !x");
    assert_eq!(counts(&delta), (1, 1, 1));
    let introduced: Vec<u32> =
        delta.in_state(FindingState::Introduced).map(|finding| finding.range.start.line).collect();
    assert_eq!(introduced, [4]);
    // A second one before it does not make the old one new.
    let delta = mapped("k1\nb !x\nk2", "c !x\nk1\nb !x\nk2");
    let introduced: Vec<u32> =
        delta.in_state(FindingState::Introduced).map(|finding| finding.range.start.line).collect();
    assert_eq!(introduced, [0]);
    check("k\na !x\nb !x", "k\nc !x", (0, 1, 1));
}

#[test]
fn an_error_that_only_gained_a_line_number_remains() {
    let (old, new) = (LineHashes::from_text("a\nb\nc"), LineHashes::from_text("new\na\nb\nc"));
    let delta = Delta::by_line_map(&old, &obscured(1, 3), &new, obscured(2, 4));
    assert_eq!(counts(&delta), (0, 0, 1));
}

/// A finding on `line` whose message mentions another line.
fn obscured(line: u32, other_line: u32) -> Vec<Finding> {
    let Finding { path, range, content_hash, .. } = finding("a.py", line, "x");
    let place = FindingPlace { path, range, content_hash };
    let message = format!("obscured by a declaration on line {other_line}");
    let mut set = vec![Finding::new("s", "c", Severity::Error, place, &message)];
    assign_fingerprints(&mut set);
    set
}

#[test]
fn a_reworded_error_on_a_kept_line_remains() {
    let old = LineHashes::from_text("a\nb");
    let before = reworded(1, "2339", "no `handle` on `A | B`");
    for (text, now, expected) in [
        ("new\na\nb", reworded(2, "2339", "no `handle` on `B | A`"), (0, 0, 1)),
        // Another code is another finding.
        ("new\na\nb", reworded(2, "2345", "not assignable"), (1, 1, 0)),
        // On an edited line, the message counts.
        ("a\nbb", reworded(1, "2339", "no `handle` on `B | A`"), (1, 1, 0)),
    ] {
        let delta = Delta::by_line_map(&old, &before, &LineHashes::from_text(text), now);
        assert_eq!(counts(&delta), expected, "{text}");
    }
}

fn reworded(line: u32, code: &str, message: &str) -> Vec<Finding> {
    let mut finding = finding("a.py", line, code);
    message.clone_into(&mut finding.message);
    message.clone_into(&mut finding.anchor);
    vec![finding]
}

#[test]
fn a_finding_about_the_whole_file_remains() {
    let (old, new) = (LineHashes::from_text("a\nb"), LineHashes::from_text("new\na\nb"));
    let delta = Delta::by_line_map(&old, &set(&[(0, "x")]), &new, set(&[(0, "x")]));
    assert_eq!(counts(&delta), (0, 0, 1));
}

#[test]
fn a_hint_that_disappears_does_not_count_as_fixed() {
    let mut hints = set(&[(0, "x")]);
    hints[0].severity = Severity::Hint;
    assert_eq!(Delta::by_fingerprint(Some(&hints), Vec::new()).fixed, 0);
}

#[test]
fn a_finding_after_the_last_line_does_not_affect_others() {
    let lines = LineHashes::from_text("a");
    let delta = Delta::by_line_map(&lines, &set(&[(7, "x")]), &lines, set(&[(7, "x"), (0, "y")]));
    assert_eq!(counts(&delta), (2, 1, 0));
}

prop_compose! {
    /// Lines, some of them wrong; no two are equal.
    fn text()(marks in prop::collection::vec(0..4_u8, 1..25)) -> Vec<String> {
        let marks = marks.iter().enumerate();
        marks
            .map(|(at, mark)| match mark {
                0 => format!("line{at} !x"),
                1 => format!("line{at} !y"),
                _ => format!("line{at}"),
            })
            .collect()
    }
}

proptest! {
    #[test]
    fn every_finding_is_accounted_for_once(before in text(), after in text()) {
        let (before, after) = (before.join("\n"), after.join("\n"));
        let (introduced, fixed, remaining) = counts(&mapped(&before, &after));
        prop_assert_eq!(remaining + fixed, wrong(&before).len());
        prop_assert_eq!(remaining + introduced, wrong(&after).len());
    }

    #[test]
    fn adding_and_removing_correct_lines_changes_no_delta(
        before in text(),
        at in prop::collection::vec((0..30_usize, any::<bool>()), 0..10),
    ) {
        let mut after = before.clone();
        for (number, (at, adds)) in at.into_iter().enumerate() {
            let at = at % (after.len() + 1);
            if adds {
                after.insert(at, format!("added{number}"));
            } else if after.get(at).is_some_and(|line| !line.contains('!')) {
                after.remove(at);
            }
        }
        let count = before.iter().filter(|line| line.contains('!')).count();
        let delta = mapped(&before.join("\n"), &after.join("\n"));
        prop_assert_eq!(counts(&delta), (0, 0, count));
    }

    #[test]
    fn only_the_new_wrong_line_is_introduced(before in text(), at in 0..30_usize) {
        let mut after = before.clone();
        let at = at % (after.len() + 1);
        after.insert(at, "added !x".to_owned());
        let delta = mapped(&before.join("\n"), &after.join("\n"));
        let introduced: Vec<usize> =
            delta.in_state(FindingState::Introduced).map(|one| one.range.start.line as usize).collect();
        prop_assert_eq!((introduced, delta.fixed), (vec![at], 0));
    }

    #[test]
    fn moving_a_block_changes_no_delta(before in text(), cut in 0..30_usize) {
        let mut after = before.clone();
        after.rotate_left(cut % before.len());
        let count = before.iter().filter(|line| line.contains('!')).count();
        let delta = mapped(&before.join("\n"), &after.join("\n"));
        prop_assert_eq!(counts(&delta), (0, 0, count));
    }
}

/// Like [`counts`], with the number of unknown origin. The set is from `measured`, the edit began
/// with `before`, and findings with the code `x` mention a touched symbol.
fn check_origin(
    measured: &str,
    before: &str,
    after: &str,
    expected: ((usize, usize, usize), usize),
) -> Delta {
    let (from, to) = (LineHashes::from_text(measured), LineHashes::from_text(before));
    let known = carry_findings(&wrong(measured), &from, &to);
    let after_lines = LineHashes::from_text(after);
    let delta = mapped(measured, after)
        .attribute_to_edit(&to, &known, &after_lines, |finding| finding.code == "x");
    let unknown = delta.in_state(FindingState::Unknown).count();
    assert_eq!((counts(&delta), unknown), expected, "{measured:?} -> {before:?} -> {after:?}");
    delta
}

#[test]
fn an_error_that_an_edit_wrote_is_introduced_even_if_another_writer_had_fixed_it() {
    check_origin("a\nb !y\nc", "a\nc", "a\nb !y\nc", ((1, 0, 0), 0));
    // No other writer in between.
    check_origin("a\nb !y\nc", "a\nb !y\nc", "a\nb2 !y\nc", ((0, 0, 1), 0));
    // Another line was written between.
    check_origin("a\nb !y\nc", "a\nb !y\nd\nc", "a\nb2 !y\nd\nc", ((0, 0, 1), 0));
    check_origin("a\nb !y\nc", "d\nb !y\nc", "d\nb !y\nc\ne !y", ((1, 0, 1), 0));
}

#[test]
fn an_older_error_on_a_line_that_is_edited_back_may_be_older() {
    // The text in between was not measured, so the line may have been wrong there as well.
    let delta = check_origin("a\nb !y\nc", "a\nb2\nc", "a\nb !y\nc", ((0, 0, 0), 1));
    assert!(delta.written_back.contains(&delta.findings[0].id));
    // Another error is the edit's; the older one was fixed by another writer.
    check_origin("a\nb !y\nc", "a\nb2\nc", "a\nb !x\nc", ((1, 0, 0), 0));
}

#[test]
fn an_error_that_disappears_from_a_line_that_the_edit_kept_is_fixed_by_another() {
    let (lines, after) = (LineHashes::from_text("a\nb !y\nc"), LineHashes::from_text("a\nb !y\nd"));
    for (code, fixed) in [("x", 1), ("y", 0)] {
        let earlier = set(&[(1, code)]);
        let delta = Delta::by_line_map(&lines, &earlier, &after, Vec::new());
        let delta = delta.attribute_to_edit(&lines, &earlier, &after, |it| it.code == "x");
        assert_eq!((delta.fixed, delta.disappeared.len()), (fixed, fixed), "{code}");
    }
}

/// A compiler's findings: errors on lines with `!`; warnings on lines with `?`, if there are no errors.
fn compiled(text: &str) -> Vec<Finding> {
    let errors = wrong(text);
    if !errors.is_empty() {
        return errors;
    }
    let mut warnings = wrong(&text.replace('?', "!"));
    for warning in &mut warnings {
        warning.severity = Severity::Warning;
    }
    warnings
}

fn check_hidden(before: &str, after: &str, expected: ((usize, usize, usize), usize)) {
    let (old, new) = (LineHashes::from_text(before), LineHashes::from_text(after));
    let (earlier, now) = (compiled(before), compiled(after));
    let had_errors = has_errors(&earlier);
    let delta = Delta::by_line_map(&old, &earlier, &new, now);
    let delta = delta.with_hidden_warnings(&old, had_errors, &new);
    let unknown = delta.in_state(FindingState::Unknown).count();
    assert_eq!((counts(&delta), unknown), expected, "{before:?} -> {after:?}");
}

#[test]
fn a_warning_that_an_error_hides_is_neither_fixed_nor_introduced() {
    check_hidden("a ?x\nb", "a ?x\nb !y", ((1, 0, 0), 0));
    check_hidden("a ?x\nb !y", "a ?x\nb", ((0, 1, 0), 1));
    check_hidden("a ?x\nb", "a\nb", ((0, 1, 0), 0));
    check_hidden("a\nb", "a ?x\nb", ((1, 0, 0), 0));
    // The edit that corrected the error wrote this line.
    check_hidden("a\nb !y", "a\nb ?x", ((1, 1, 0), 0));
}

#[test]
fn an_error_on_a_kept_line_is_introduced_only_if_it_names_a_touched_symbol() {
    check_origin("a\nb", "a\nb !y", "c\na\nb !y", ((0, 0, 0), 1));
    check_origin("a\nb", "a\nb !x", "c\na\nb !x", ((1, 0, 0), 0));
    check_origin("a !y\nb !x", "a !y\nb !x", "c\na !y\nb !x", ((0, 0, 2), 0));
}
