//! The decision table of a Stop.

use super::*;
use crate::base::evidence::Reading;
use crate::base::finding::tests::finding;
use crate::base::verdict::Cause;
use crate::looping::options::Options;
use crate::looping::state::{Basis, Counts, Remaining, Until};

/// A running loop of session `s` for tests.
pub(crate) fn state() -> LoopState {
    LoopState {
        id: "loop-1".into(),
        session_id: Some("s".into()),
        mode: Mode::Basic,
        status: Status::Running,
        pause_reason: None,
        until: Until::Promise,
        prompt: "fix it".into(),
        promise: Some("DONE".into()),
        options: Options::of(Mode::Basic),
        base: None,
        branch: None,
        iteration: 0,
        max_iterations: 3,
        counts: Counts::default(),
        remaining: Remaining::default(),
        history: Vec::new(),
        basis: Basis::default(),
        note: None,
        created_ms: 0,
        clock_ms: 0,
        updated_ms: 0,
    }
}

fn input(session_id: &str) -> StopInput<'_> {
    StopInput { session_id, last_message: CLAIM, ..StopInput::default() }
}

fn evidence(dirty: bool, cause: Option<Cause>) -> Evidence {
    let gap = cause.map(|cause| Gap::new(cause, "why"));
    let reading = Reading { dirty, gap, ..Reading::clean("pyright", SensorKind::Lsp, 1) };
    let findings = if dirty { vec![finding("a.py", 1, "x")] } else { Vec::new() };
    Evidence { readings: vec![reading], findings, ..Evidence::default() }
}

fn check(state: &LoopState, message: &str, evidence: &Evidence, expected: &str) -> LoopState {
    let input = StopInput { last_message: message, ..input("s") };
    let (next, decision) = step(state, &input, evidence, &facts());
    assert_eq!(word(&next, &decision), expected);
    assert_eq!(next.iteration, state.iteration + 1);
    assert_eq!(next.history.len(), state.history.len() + 1);
    next
}

fn facts() -> Facts {
    Facts { now_ms: 7, ..Facts::default() }
}

/// Status or reasons in one word.
fn word(next: &LoopState, decision: &Decision) -> String {
    let reasons = match decision {
        Decision::End => return next.status.as_str().to_owned(),
        Decision::Yield(_) => return "yield".to_owned(),
        Decision::Continue(reasons) => reasons,
    };
    let words = [
        (reasons.is_dirty, "dirty"),
        (reasons.waits_for.is_some(), "waits"),
        (reasons.lacks_promise, "promise"),
        (!reasons.rejected.is_empty(), "rejected"),
        (reasons.needs_new_strategy, "strategy"),
        (reasons.conflict.is_some(), "conflict"),
        (reasons.is_acknowledged, "acknowledged"),
        (!reasons.research_missing.is_empty(), "research"),
    ];
    words.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect::<Vec<_>>().join("+")
}

const CLAIM: &str = "<promise>DONE</promise>";

#[test]
fn only_the_owner_is_ever_held() {
    let loop_state = state();
    assert_eq!(admit(Some(&loop_state), &input("s")), Admission::Measure);
    assert_eq!(admit(Some(&loop_state), &input("other")), Admission::Allow);
    assert_eq!(admit(Some(&loop_state), &input("")), Admission::Allow);
    assert_eq!(admit(None, &input("s")), Admission::Allow);
    let unclaimed = LoopState { session_id: None, ..state() };
    assert_eq!(admit(Some(&unclaimed), &input("")), Admission::Allow);
    let empty = LoopState { session_id: Some(String::new()), ..state() };
    assert_eq!(admit(Some(&empty), &input("")), Admission::Allow);
}

#[test]
fn a_waiting_agent_and_a_loop_that_is_over_are_let_go() {
    let waiting = StopInput { is_let_go: true, ..input("s") };
    assert_eq!(admit(Some(&state()), &waiting), Admission::Allow);
    for (status, _) in Status::NAMES {
        let expected = match status {
            Status::Running => Admission::Measure,
            Status::Paused => Admission::AllowPaused,
            _ => Admission::Allow,
        };
        let over = LoopState { status, ..state() };
        assert_eq!(admit(Some(&over), &input("s")), expected, "{status:?}");
    }
}

#[test]
fn the_claim_is_necessary_and_never_sufficient() {
    check(&state(), CLAIM, &evidence(false, None), "completed");
    check(&state(), "I am done", &evidence(false, None), "promise");
    check(&state(), CLAIM, &evidence(true, None), "dirty");
    let no_promise = LoopState { promise: None, until: Until::Diagnostics, ..state() };
    check(&no_promise, "bye", &evidence(false, None), "completed");
    check(&no_promise, "bye", &evidence(true, None), "dirty");
}

#[test]
fn the_last_iteration_counts() {
    let last = LoopState { iteration: 2, ..state() };
    check(&last, CLAIM, &evidence(false, None), "completed");
    check(&last, CLAIM, &evidence(true, None), "max_iterations");
    check(&last, "not yet", &evidence(false, None), "max_iterations");
    let only = LoopState { max_iterations: 1, ..state() };
    check(&only, CLAIM, &evidence(true, None), "max_iterations");
}

#[test]
fn a_passing_gap_is_waited_for_twice_and_nothing_unmeasured_is_completed() {
    let waits = evidence(false, Some(Cause::Loading));
    let long = LoopState { max_iterations: 9, ..state() };
    let first = check(&long, CLAIM, &waits, "waits");
    let second = check(&first, CLAIM, &waits, "waits");
    let third = check(&second, CLAIM, &waits, "completed_unverified");
    assert_eq!(third.note.as_deref(), Some("pyright (why)"));
    let measured = check(&first, "not yet", &evidence(false, None), "promise");
    assert_eq!(measured.counts.unmeasured_blocks, 0);
    check(&long, CLAIM, &evidence(false, Some(Cause::ProjectFault)), "waits");
}

#[test]
fn a_missing_tool_traps_nobody_and_is_named() {
    let missing = evidence(false, Some(Cause::NotInstalled));
    let end = check(&state(), CLAIM, &missing, "completed_unverified");
    assert_eq!(end.note.as_deref(), Some("pyright (why)"));
    check(&state(), "not yet", &missing, "promise");
    check(&state(), CLAIM, &evidence(true, Some(Cause::NotInstalled)), "dirty");
    check(&state(), CLAIM, &Evidence::default(), "completed_unverified");
    let required = Facts { lsp_required: true, ..facts() };
    let (paused, decision) = step(&state(), &input("s"), &missing, &required);
    assert_eq!((paused.status, decision), (Status::Paused, Decision::End));
    assert_eq!(paused.pause_reason, Some(PauseReason::LspRequired));
    let gap = Some(Gap::new(Cause::NotInstalled, "why"));
    let of_check = Reading { gap, ..Reading::clean("npm test", SensorKind::Check, 0) };
    let missing = Evidence { readings: vec![of_check], ..Evidence::default() };
    let (unverified, _) = step(&state(), &input("s"), &missing, &required);
    assert_eq!(unverified.status, Status::CompletedUnverified);
}

#[test]
fn failed_checks_are_named() {
    let check_reading =
        Reading { dirty: true, ..Reading::clean(".claude/autochecks.sh", SensorKind::Check, 0) };
    let failed = Evidence { readings: vec![check_reading], ..Evidence::default() };
    let next = check(&state(), CLAIM, &failed, "dirty");
    assert_eq!(next.remaining.checks_failed, [".claude/autochecks.sh"]);
    assert_eq!(next.history[0].checks, "dirty");
}

/// A judge's loop after one Stop that these facts decided, for tests.
pub(crate) fn measured_once(facts: &Facts) -> LoopState {
    let judged = LoopState { mode: Mode::Judge, ..state() };
    step(&judged, &input("s"), &evidence(false, None), facts).0
}
