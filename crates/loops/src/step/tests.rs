//! The decision table of a Stop.

use super::*;
use crate::facts::{Consultation, ContextUse, MergeOutcome, WorkChange};
use crate::options::LoopOptions;
use crate::samples::state;
use crate::state::{LoopCounters, ManualOverride, UntilCondition};
use moai_base::evidence::{SensorReading, SwitchedOffFile};
use moai_base::samples::finding;
use moai_base::verdict::Cause;

fn input(session_id: &str) -> StopInput<'_> {
    StopInput { session_id, last_message: CLAIM, ..StopInput::default() }
}

fn evidence(dirty: bool, cause: Option<Cause>) -> Evidence {
    let gap = cause.map(|cause| Gap::new(cause, "why"));
    let reading =
        SensorReading { dirty, gap, ..SensorReading::clean("pyright", SensorKind::Lsp, 1) };
    let findings = if dirty { vec![finding("a.py", 1, "x")] } else { Vec::new() };
    Evidence { readings: vec![reading], findings, ..Evidence::default() }
}

fn check(state: &LoopState, message: &str, evidence: &Evidence, expected: &str) -> LoopState {
    let input = StopInput { last_message: message, ..input("s") };
    let (next, decision) = decide_stop(state, &input, evidence, &facts());
    assert_eq!(word(&next, &decision), expected);
    assert_eq!(next.iteration, state.iteration + 1);
    assert_eq!(next.history.len(), state.history.len() + 1);
    next
}

fn facts() -> StopFacts {
    StopFacts { now_ms: 7, work: WorkChange::Changed, ..StopFacts::default() }
}

/// The status, or the reasons for going on joined by `+`.
fn word(next: &LoopState, decision: &StopDecision) -> String {
    let reasons = match decision {
        StopDecision::End => return next.status.as_str().to_owned(),
        StopDecision::Yield(_) => return "yield".to_owned(),
        StopDecision::Continue(reasons) => reasons,
    };
    let words = [
        (reasons.is_dirty, "dirty"),
        (!reasons.lost_sensors.is_empty(), "lost"),
        (reasons.is_idle, "idle"),
        (reasons.waiting_gap.is_some(), "waits"),
        (reasons.lacks_promise, "promise"),
        (!reasons.rejected.is_empty(), "rejected"),
        (reasons.needs_new_strategy, "strategy"),
        (reasons.conflict.is_some(), "conflict"),
        (reasons.is_acknowledged, "acknowledged"),
        (!reasons.research_missing.is_empty(), "research"),
    ];
    words.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect::<Vec<_>>().join("+")
}

mod consultations;
mod limits;

const CLAIM: &str = "<promise>DONE</promise>";

#[test]
fn only_the_owner_is_ever_held() {
    let loop_state = state();
    assert_eq!(admit_stop(Some(&loop_state), &input("s")), StopAdmission::Measure);
    assert_eq!(admit_stop(Some(&loop_state), &input("other")), StopAdmission::Allow);
    assert_eq!(admit_stop(Some(&loop_state), &input("")), StopAdmission::Allow);
    assert_eq!(admit_stop(None, &input("s")), StopAdmission::Allow);
    let unclaimed = LoopState { session_id: None, ..state() };
    assert_eq!(admit_stop(Some(&unclaimed), &input("")), StopAdmission::Allow);
    let empty = LoopState { session_id: Some(String::new()), ..state() };
    assert_eq!(admit_stop(Some(&empty), &input("")), StopAdmission::Allow);
}

#[test]
fn an_interrupted_turn_and_a_loop_that_is_not_running_are_not_held() {
    let interrupted = StopInput { must_end: true, ..input("s") };
    assert_eq!(admit_stop(Some(&state()), &interrupted), StopAdmission::Allow);
    for (status, _) in Status::NAMES {
        let expected = match status {
            Status::Running => StopAdmission::Measure,
            Status::Paused => StopAdmission::AllowPaused,
            _ => StopAdmission::Allow,
        };
        let ended = LoopState { status, ..state() };
        assert_eq!(admit_stop(Some(&ended), &input("s")), expected, "{status:?}");
    }
}

#[test]
fn the_claim_is_necessary_and_never_sufficient() {
    check(&state(), CLAIM, &evidence(false, None), "completed");
    check(&state(), "I am done", &evidence(false, None), "promise");
    check(&state(), CLAIM, &evidence(true, None), "dirty");
    let no_promise = LoopState { promise: None, until: UntilCondition::Diagnostics, ..state() };
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
fn a_temporary_gap_holds_twice_and_an_unmeasured_loop_never_completes() {
    let waits = evidence(false, Some(Cause::Loading));
    let long = LoopState { max_iterations: 9, ..state() };
    let first = check(&long, CLAIM, &waits, "waits");
    let second = check(&first, CLAIM, &waits, "waits");
    let third = check(&second, CLAIM, &waits, "completed_unverified");
    assert_eq!(third.note.as_deref(), Some("pyright (why)"));
    let measured = check(&first, "not yet", &evidence(false, None), "promise");
    assert_eq!(measured.counters.unmeasured_blocks, 0);
    check(&long, CLAIM, &evidence(false, Some(Cause::ProjectFault)), "waits");
}

#[test]
fn a_missing_tool_does_not_hold_the_loop_and_is_named() {
    let missing = evidence(false, Some(Cause::NotInstalled));
    let end = check(&state(), CLAIM, &missing, "completed_unverified");
    assert_eq!(end.note.as_deref(), Some("pyright (why)"));
    check(&state(), "not yet", &missing, "promise");
    check(&state(), CLAIM, &evidence(true, Some(Cause::NotInstalled)), "dirty");
    check(&state(), CLAIM, &Evidence::default(), "completed_unverified");
    let required = StopFacts { lsp_required: true, ..facts() };
    let (paused, decision) = decide_stop(&state(), &input("s"), &missing, &required);
    assert_eq!((paused.status, decision), (Status::Paused, StopDecision::End));
    assert_eq!(paused.pause_reason, Some(PauseReason::LspRequired));
    let gap = Some(Gap::new(Cause::NotInstalled, "why"));
    let of_check = SensorReading { gap, ..SensorReading::clean("npm test", SensorKind::Check, 0) };
    let missing = Evidence { readings: vec![of_check], ..Evidence::default() };
    let (unverified, _) = decide_stop(&state(), &input("s"), &missing, &required);
    assert_eq!(unverified.status, Status::CompletedUnverified);
}

/// Evidence of a changed file that the project's configuration takes out of checking.
fn switched_off() -> Evidence {
    let gap = Gap::new(Cause::SwitchedOff, "checkJs is off");
    let path = finding("a.js", 0, "x").path;
    let file = SwitchedOffFile { path, sensor: "pyright".into(), gap };
    let scan = SensorReading::clean("scan", SensorKind::Scan, 1);
    let mut evidence = evidence(false, Some(Cause::SwitchedOff));
    evidence.readings.push(scan);
    Evidence { switched_off: vec![file], is_switched_off: true, ..evidence }
}

#[test]
fn work_that_is_switched_off_does_not_hold_the_loop_and_never_completes_it_alone() {
    let end = check(&state(), CLAIM, &switched_off(), "completed_unverified");
    assert_eq!(end.note.as_deref(), Some("pyright (why)"));
    let mut tested = switched_off();
    tested.readings.extend(checked(false, None).readings);
    check(&state(), CLAIM, &tested, "completed");
    let server = SensorReading::clean("pyright", SensorKind::Lsp, 1);
    let readings = vec![server, SensorReading::clean("scan", SensorKind::Scan, 2)];
    let mixed = Evidence { is_switched_off: false, readings, ..switched_off() };
    let end = check(&state(), CLAIM, &mixed, "completed");
    assert_eq!(end.basis.gaps, ["pyright (checkJs is off; a.js)"]);
    let measured = Evidence { switched_off: Vec::new(), ..mixed };
    let before = check(&state(), "not yet", &measured, "promise");
    check(&before, CLAIM, &switched_off(), "completed_unverified");
}

/// Evidence of one check of the project.
fn checked(dirty: bool, cause: Option<Cause>) -> Evidence {
    let gap = cause.map(|cause| Gap::new(cause, "why"));
    let output = Some("boom".to_owned()).filter(|_| gap.is_some());
    let clean = SensorReading::clean("unit", SensorKind::Check, 0);
    let readings = vec![SensorReading { dirty, gap, output, ..clean }];
    Evidence { readings, ..Evidence::default() }
}

#[test]
fn a_check_that_no_longer_measures_is_a_failure_once_waiting_is_used_up() {
    let long = LoopState { max_iterations: 9, ..state() };
    let missing = checked(false, Some(Cause::NotInstalled));
    check(&long, CLAIM, &missing, "completed_unverified");
    for before in [checked(true, None), checked(false, None)] {
        let before =
            decide_stop(&long, &StopInput { last_message: "hm", ..input("s") }, &before, &facts())
                .0;
        let lost = check(&before, CLAIM, &missing, "dirty+lost");
        assert_eq!(lost.remaining.checks_failed, ["unit"]);
        assert_eq!(lost.history[1].checks, "dirty");
        check(&lost, CLAIM, &checked(false, None), "completed");
        // A temporary reason is waited for first.
        let hangs = checked(false, Some(Cause::TimedOut));
        let first = check(&before, CLAIM, &hangs, "waits");
        let second = check(&first, CLAIM, &hangs, "waits");
        let third = check(&second, CLAIM, &hangs, "dirty+lost");
        check(&third, CLAIM, &hangs, "waits");
        for cause in [Cause::Nothing, Cause::SwitchedOff, Cause::ExistingFault, Cause::Silent] {
            check(&before, CLAIM, &checked(false, Some(cause)), "completed_unverified");
        }
    }
    let before = check(&long, CLAIM, &checked(true, None), "dirty");
    let last = LoopState { max_iterations: 2, ..before.clone() };
    check(&last, CLAIM, &missing, "max_iterations");
    let input = StopInput { last_message: CLAIM, ..input("s") };
    let (_, decision) = decide_stop(&before, &input, &missing, &facts());
    let StopDecision::Continue(reasons) = decision else { panic!("{decision:?}") };
    let output = reasons.lost_sensors[0].output.as_deref().expect("what it printed");
    assert!(output.starts_with("boom") && output.contains("why"), "{output}");
}

#[test]
fn a_loop_without_changes_is_held_once_and_never_completes() {
    let clean = evidence(false, None);
    let long = LoopState { max_iterations: 9, ..state() };
    let idle = StopFacts { work: WorkChange::Unchanged, ..facts() };
    let (asked, word) = decide(&long, &clean, &idle);
    assert_eq!((word.as_str(), asked.counters.idle_holds), ("idle", 1));
    let (ended, word) = decide(&asked, &clean, &idle);
    assert_eq!(
        (word.as_str(), ended.note.as_deref()),
        ("completed_unverified", Some("nothing was changed"))
    );
    assert_eq!(decide(&asked, &clean, &facts()).1, "completed", "the task was done after all");
    assert_eq!(decide(&long, &evidence(true, None), &idle).1, "dirty");
    let missing = evidence(false, Some(Cause::NotInstalled));
    let (asked, word) = decide(&long, &missing, &idle);
    assert_eq!(word, "idle");
    let (ended, _) = decide(&asked, &missing, &idle);
    assert_eq!(ended.note.as_deref(), Some("nothing was changed; pyright (why)"));
    // After the last iteration the agent could not answer.
    let only = LoopState { max_iterations: 1, ..state() };
    assert_eq!(decide(&only, &clean, &idle).1, "completed_unverified");
    let unknown = StopFacts { work: WorkChange::Unknown("no checkpoint".into()), ..facts() };
    let (ended, word) = decide(&long, &clean, &unknown);
    assert_eq!(word, "completed_unverified");
    assert_eq!(ended.note.as_deref(), Some("whether anything was changed (no checkpoint)"));
    let judged = LoopState { max_iterations: 9, ..judged() };
    assert_eq!(
        consultations::steps_of(&judged, &clean, &idle, None),
        ["checkpoint"],
        "nothing to judge"
    );
}

#[test]
fn failed_checks_are_named() {
    let check_reading = SensorReading {
        dirty: true,
        ..SensorReading::clean(".claude/autochecks.sh", SensorKind::Check, 0)
    };
    let failed = Evidence { readings: vec![check_reading], ..Evidence::default() };
    let next = check(&state(), CLAIM, &failed, "dirty");
    assert_eq!(next.remaining.checks_failed, [".claude/autochecks.sh"]);
    assert_eq!(next.history[0].checks, "dirty");
}

fn judged() -> LoopState {
    let options = LoopOptions { research: false, ..LoopOptions::defaults_for(Mode::Judge) };
    LoopState { mode: Mode::Judge, options, max_iterations: 99, ..state() }
}

/// One Stop with a claim, decided on these facts.
fn decide(state: &LoopState, evidence: &Evidence, facts: &StopFacts) -> (LoopState, String) {
    let (next, decision) = decide_stop(state, &input("s"), evidence, facts);
    let word = word(&next, &decision);
    (next, word)
}

fn judge(outcome: JudgeOutcome) -> StopFacts {
    StopFacts { judge: Consultation::Done(outcome), ..facts() }
}

fn rejected() -> StopFacts {
    judge(JudgeOutcome::Rejected { reasons: vec!["no tests".into()] })
}
