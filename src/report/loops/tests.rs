//! The words of a loop.

use super::*;
use crate::base::evidence::Reading;
use crate::base::finding::tests::finding;
use crate::base::verdict::{Cause, Gap};
use crate::looping::step::tests::state;

#[test]
fn a_blocked_stop_says_what_is_wrong_what_failed_and_what_is_unknown() {
    let gap = Gap::new(Cause::Loading, "it is still loading the project");
    let evidence = Evidence {
        findings: vec![finding("a.py", 2, "x")],
        readings: vec![
            Reading { gap: Some(gap), ..Reading::clean("pyright", SensorKind::Lsp, 1) },
            Reading {
                dirty: true,
                output: Some("FAIL test_a\nexpected 1\n(exit status 1)".into()),
                ..Reading::clean(".claude/autochecks.sh", SensorKind::Check, 0)
            },
        ],
        ..Evidence::default()
    };
    let reasons = Reasons { is_dirty: true, ..Reasons::default() };
    let text = goes_on(&LoopState { iteration: 1, ..state() }, &evidence, &reasons);
    insta::assert_snapshot!(text, @r"
    [moai-ralph] loop loop-1: not done yet. Iteration 2 of 3 begins.
    Still wrong: 1 error
      error a.py:3:1 pyright(x): x is wrong
    Check failed: .claude/autochecks.sh. Its output:
      | FAIL test_a
      | expected 1
      | (exit status 1)
    Not measured: pyright (it is still loading the project)
    Task:
    fix it
    Only when all of it is really done, end your last message with this line alone:
    <promise>DONE</promise>
    ");
}

#[test]
fn each_end_has_its_own_honest_words() {
    let words = |status, note: Option<&str>| {
        ended(&LoopState { status, iteration: 3, note: note.map(str::to_owned), ..state() })
    };
    assert!(words(Status::Completed, None).contains("completed after 3 iterations"));
    let unverified = words(Status::CompletedUnverified, Some("pyright (not installed)"));
    assert!(unverified.contains("not measured: pyright (not installed)"), "{unverified}");
    assert!(!unverified.contains("completed"), "{unverified}");
    assert!(words(Status::MaxIterations, None).contains("not completed"));
}
