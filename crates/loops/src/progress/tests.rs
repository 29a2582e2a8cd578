//! Progress over made-up histories.

use super::*;
use moai_base::samples::finding;
use moai_base::verdict::{Cause, Gap};

/// An iteration in which these letters are wrong, an error each; a capital letter is a finding of
/// the guard. A dot stands for a measurement that is missing.
fn iteration(number: u32, wrong: &str, tree: Option<&str>) -> Iteration {
    let ids: Vec<String> = wrong.chars().filter(|it| *it != '.').map(String::from).collect();
    let codes = ids.iter().filter(|id| id.chars().all(char::is_uppercase)).cloned().collect();
    Iteration {
        number,
        weight: (!wrong.contains('.')).then_some(ids.len() as u64 * ERROR),
        wrong: (!ids.is_empty()).then(|| wrong.to_owned()),
        errors_seen: ids,
        guard_codes: codes,
        tree: tree.map(str::to_owned),
        ..Iteration::default()
    }
}

/// Plays a loop; returns the signals at its last iteration and the history with it.
fn play(rows: &[(&str, Option<&str>)]) -> (ProgressSignals, Vec<Iteration>) {
    let (mut history, mut last) = (Vec::new(), ProgressSignals::default());
    for (number, (wrong, tree)) in (1..).zip(rows) {
        let mut now = iteration(number, wrong, *tree);
        last = signals(&history, 0, &now);
        now.is_better = last.is_better;
        now.oscillation_was_reported = last.oscillates.is_some();
        history.push(now);
    }
    (last, history)
}

fn without_trees(rows: &[&str]) -> ProgressSignals {
    play(&rows.iter().map(|row| (*row, None)).collect::<Vec<_>>()).0
}

#[test]
fn a_stall_is_three_iterations_without_a_better_one() {
    let stalled = |rows: &[&str]| without_trees(rows).is_stalled();
    assert!(!stalled(&["ab", "ab", "ab"]));
    assert!(stalled(&["ab", "ab", "ab", "ab"]));
    assert!(
        stalled(&["ab", "abc", "abc", "ad"]),
        "other errors of the same weight are no progress"
    );
    assert!(!stalled(&["abcd", "abc", "ab", "a"]));
    assert!(!stalled(&["abcd", "abcd", "abcd", "abc"]), "the last one is better");
    assert!(!stalled(&["ab", "", "", "", ""]), "a clean iteration cannot improve");
    assert!(!stalled(&["ab", "", "abcdef", "abcde", "abcd"]), "counted again after a clean state");
    assert!(!stalled(&["ab", "a.", "a.", "a."]), "incomplete measurements are no stall");
}

#[test]
fn a_trifle_is_no_progress_and_trifles_add_up() {
    let many: String = ('a'..='z').chain('α'..='ω').chain('а'..='я').collect();
    let cut = |count: usize| many.chars().skip(count).collect::<String>();
    let first = many.chars().count() as u64 * ERROR;
    assert!(first * 3 / 100 > ERROR, "one error of so many is a trifle");
    let better = |rows: &[String]| {
        without_trees(&rows.iter().map(String::as_str).collect::<Vec<_>>()).is_better
    };
    assert!(!better(&[cut(0), cut(1)]));
    assert!(better(&[cut(0), cut(1), cut(2), cut(3)]));
}

#[test]
fn an_oscillation_is_reported_once_and_then_repeats() {
    let first = without_trees(&["a", "b", "a"]);
    assert_eq!((first.oscillates, first.oscillates_again), (Some((1, 2)), false));
    let again = without_trees(&["a", "b", "a", "b"]);
    assert!(again.oscillates_again);
    assert_eq!(without_trees(&["a", "a", "a"]).oscillates, None, "no change is not an oscillation");
    assert_eq!(
        without_trees(&["a", "", "b", ""]).oscillates,
        None,
        "returning to clean is not an oscillation"
    );
    let partly = without_trees(&["ab", "a.", "ab"]);
    assert_eq!(partly.oscillates, None, "an unmeasured error is not fixed");
    let improved = without_trees(&["abc", "abd", "abc", "a", "ad", "a"]);
    assert_eq!((improved.oscillates, improved.oscillates_again), (Some((4, 5)), false));
}

#[test]
fn the_tree_distinguishes_a_revert_from_a_flaky_sensor() {
    let flaky = play(&[("a", Some("t1")), ("b", Some("t1")), ("a", Some("t1"))]).0;
    assert_eq!(flaky.oscillates, None, "no file changed");
    let exact = play(&[("a", Some("t1")), ("b", Some("t2")), ("c", Some("t1"))]).0;
    assert_eq!(exact.oscillates, Some((1, 2)), "the tree is the same");
    let moved = play(&[("a", Some("t1")), ("b", Some("t2")), ("a", Some("t3"))]).0;
    assert_eq!(moved.oscillates, Some((1, 2)));
}

#[test]
fn unchanged_trees_are_a_no_op_only_while_problems_remain() {
    let row = |wrong| (wrong, Some("t1"));
    assert!(!play(&[row("a"), row("a")]).0.is_no_op);
    assert!(play(&[row("a"), row("a"), row("a")]).0.is_no_op);
    assert!(!play(&[row(""), row(""), row("")]).0.is_no_op);
    assert!(!without_trees(&["a", "a", "a"]).is_no_op, "the tree is unknown");
}

#[test]
fn an_error_that_comes_back_twice_is_named() {
    assert_eq!(without_trees(&["ax", "a", "ax"]).flips, [""; 0]);
    assert_eq!(without_trees(&["ax", "a", "ax", "a", "ax"]).flips, ["x"]);
    assert_eq!(without_trees(&["ax", "a.", "ax", "a.", "ax"]).flips, [""; 0], "not measured");
}

#[test]
fn worse_and_diverging_iterations_are_detected() {
    assert_eq!(without_trees(&["ab", "a", "abc"]).worse_than, Some(2));
    assert_eq!(without_trees(&["ab", "ab"]).worse_than, None);
    assert!(without_trees(&["ab", "acd", "efgh"]).is_diverging);
    assert!(!without_trees(&["ab", "acd", "ac"]).is_diverging);
}

#[test]
fn gaming_is_not_progress_and_a_repetition_is_detected() {
    let first = without_trees(&["abc", "G"]);
    assert!(!first.is_better && first.gamed_again.is_empty(), "reported, not ended");
    assert_eq!(without_trees(&["abc", "G", "aG"]).gamed_again, ["G"]);
    assert_eq!(without_trees(&["abc", "G", "aH"]).gamed_again, [""; 0]);
    let (_, history) = play(&[("abc", None), ("ab", None), ("G", None)]);
    assert_eq!(
        best(&history).map(|one| one.number),
        Some(2),
        "a gamed iteration is never the best"
    );
}

#[test]
fn of_equal_iterations_the_latest_is_the_best() {
    let number = |rows: &[(&str, Option<&str>)]| best(&play(rows).1).map(|one| one.number);
    assert_eq!(number(&[("ab", None), ("c", None), ("d", None), ("ef", None)]), Some(3));
    assert_eq!(number(&[("a.", None)]), None);
    assert_eq!(number(&[]), None);
}

#[test]
fn weight_and_hash_depend_on_the_problems_and_not_on_their_lines() {
    let clean = SensorReading::clean("pyright", SensorKind::Lsp, 1);
    let with = |findings: Vec<Finding>, check: Option<&str>| {
        let mut findings = findings;
        moai_base::finding::assign_fingerprints(&mut findings);
        let failed = check.map(|output| SensorReading {
            dirty: true,
            output: Some(output.to_owned()),
            ..SensorReading::clean("npm test", SensorKind::Check, 0)
        });
        let readings = [clean.clone()].into_iter().chain(failed).collect();
        Evidence { readings, findings, ..Evidence::default() }
    };
    let weakness = Finding {
        severity: Severity::Warning,
        cwe: vec!["CWE-89".into()],
        ..finding("a.py", 1, "w")
    };
    let warning = Finding { severity: Severity::Warning, ..finding("a.py", 1, "v") };
    let mixed = with(vec![finding("a.py", 1, "x"), weakness, warning], Some("1 failed"));
    assert_eq!(weigh(&mixed, None).weight, Some(8 + 6 + 2 + 8));
    assert_eq!(weigh(&mixed, Some(3)).weight, Some(8 + 6 + 2 + 24));
    let at = |line, output| weigh(&with(vec![finding("a.py", line, "x")], Some(output)), None).hash;
    assert_eq!(at(1, "1 failed in 0.12s"), at(9, "1 failed in 3.45s"));
    assert_ne!(at(1, "test_a failed"), at(1, "test_b failed"));
    assert_eq!(
        weigh(&with(Vec::new(), None), Some(0)),
        ProblemDigest { weight: Some(0), ..ProblemDigest::default() }
    );
    let mut open = with(Vec::new(), None);
    open.readings[0].gap = Some(Gap::new(Cause::TimedOut, "why"));
    assert_eq!(weigh(&open, None).weight, None);
    open.readings[0].gap = Some(Gap::new(Cause::NotInstalled, "why"));
    assert_eq!(weigh(&open, None).weight, Some(0), "it cannot be measured later");
}
