//! The decision table of a Stop.

use super::*;
use crate::control::{self, NewLimits};
use crate::facts::{Consultation, ContextUse, MergeOutcome, WorkChange};
use crate::options::LoopOptions;
use crate::samples::state;
use crate::state::{LoopCounters, ManualOverride, UntilCondition};
use moai_base::evidence::SensorReading;
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

/// Status or reasons in one word.
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

const CLAIM: &str = "<promise>DONE</promise>";

/// The steps of a Stop with a claim until it is decided; the judge gives `judgement`.
fn steps_of(
    state: &LoopState,
    evidence: &Evidence,
    facts: &StopFacts,
    judgement: Option<&JudgeOutcome>,
) -> Vec<&'static str> {
    let (mut facts, mut steps) = (facts.clone(), Vec::new());
    loop {
        match next_step(state, &input("s"), evidence, &facts) {
            StopStep::NeedsJudge => {
                steps.push("judge");
                facts.judge = judgement.cloned().into();
            }
            StopStep::NeedsMerge => {
                steps.push("merge");
                facts.merge = None.into();
            }
            StopStep::NeedsCheckpoint => {
                steps.push("checkpoint");
                facts.checkpoint = None.into();
            }
            StopStep::Decided(outcome) => {
                let (next, decision) = decide_stop(state, &input("s"), evidence, &facts);
                assert_eq!(*outcome, StopOutcome { next, decision }, "by all facts");
                return steps;
            }
        }
        assert!(steps.len() <= 3, "a step is taken once: {steps:?}");
    }
}

#[test]
fn a_loop_that_pauses_for_the_user_asks_no_judge_and_merges_nothing() {
    let doubted = ManualOverride { at_ms: 5, finding: None, is_confirmed: false };
    let confirmed = ManualOverride { is_confirmed: true, ..doubted.clone() };
    let all = ["judge", "merge", "checkpoint"].as_slice();
    let rows = [
        (Vec::new(), None, all),
        (vec![confirmed.clone()], None, all),
        (vec![confirmed, doubted], None, &["checkpoint"]),
        (Vec::new(), Some("tests/test_a.py"), &["checkpoint"]),
    ];
    for (overrides, exam_changed, expected) in rows {
        let paused = LoopState { overrides, branch: Some("fix".into()), ..judged() };
        let exam_changed = exam_changed.into_iter().map(str::to_owned).collect();
        let facts = StopFacts { exam_changed, ..facts() };
        let approved = JudgeOutcome::Approved;
        assert_eq!(steps_of(&paused, &evidence(false, None), &facts, Some(&approved)), expected);
    }
}

#[test]
fn a_judge_and_a_merge_are_asked_for_only_if_nothing_else_is_missing() {
    let branch = Some("auto".to_owned());
    let rejected = JudgeOutcome::Rejected { reasons: Vec::new() };
    let outage = JudgeOutcome::Unmeasured(Gap::new(Cause::TimedOut, "no answer"));
    let outcomes = [None, Some(JudgeOutcome::Approved), Some(rejected), Some(outage)];
    let sensors = [None, Some(Cause::NotInstalled), Some(Cause::Loading)];
    let modes = [Mode::Basic, Mode::Judge, Mode::Autonomous];
    for mode in modes {
        for (cause, is_dirty) in sensors.iter().flat_map(|cause| [(*cause, false), (*cause, true)])
        {
            for (outcome, has_branch) in
                outcomes.iter().flat_map(|outcome| [(outcome, false), (outcome, true)])
            {
                for is_forced in [false, true] {
                    let mut run = LoopState { mode, ..judged() };
                    run.branch = branch.clone().filter(|_| has_branch);
                    run.options.force_max = is_forced;
                    let evidence = evidence(is_dirty, cause);
                    let is_open = !is_dirty && cause != Some(Cause::Loading);
                    let mut expected = Vec::new();
                    if is_open && mode != Mode::Basic {
                        expected.push("judge");
                    }
                    let has_objection = mode != Mode::Basic
                        && !matches!(outcome, None | Some(JudgeOutcome::Approved));
                    if is_open && cause.is_none() && has_branch && !has_objection && !is_forced {
                        expected.push("merge");
                    }
                    expected.push("checkpoint");
                    let steps = steps_of(&run, &evidence, &facts(), outcome.as_ref());
                    let case = format!("{mode:?} {is_dirty} {cause:?} {outcome:?} {is_forced}");
                    assert_eq!(steps, expected, "{case}");
                }
            }
        }
    }
}

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
fn a_waiting_agent_and_a_loop_that_is_over_are_let_go() {
    let waiting = StopInput { must_end: true, ..input("s") };
    assert_eq!(admit_stop(Some(&state()), &waiting), StopAdmission::Allow);
    for (status, _) in Status::NAMES {
        let expected = match status {
            Status::Running => StopAdmission::Measure,
            Status::Paused => StopAdmission::AllowPaused,
            _ => StopAdmission::Allow,
        };
        let over = LoopState { status, ..state() };
        assert_eq!(admit_stop(Some(&over), &input("s")), expected, "{status:?}");
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
fn a_passing_gap_is_waited_for_twice_and_nothing_unmeasured_is_completed() {
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
fn a_missing_tool_traps_nobody_and_is_named() {
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

/// One check of the project, as it went.
fn checked(dirty: bool, cause: Option<Cause>) -> Evidence {
    let gap = cause.map(|cause| Gap::new(cause, "why"));
    let output = Some("boom".to_owned()).filter(|_| gap.is_some());
    let clean = SensorReading::clean("unit", SensorKind::Check, 0);
    let readings = vec![SensorReading { dirty, gap, output, ..clean }];
    Evidence { readings, ..Evidence::default() }
}

#[test]
fn what_was_measured_and_is_not_any_more_is_a_failure_once_waiting_is_used_up() {
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
        // A reason that passes is waited for first.
        let hangs = checked(false, Some(Cause::TimedOut));
        let first = check(&before, CLAIM, &hangs, "waits");
        let second = check(&first, CLAIM, &hangs, "waits");
        let third = check(&second, CLAIM, &hangs, "dirty+lost");
        check(&third, CLAIM, &hangs, "waits");
        for fine in [Cause::Nothing, Cause::SwitchedOff, Cause::Silent] {
            check(&before, CLAIM, &checked(false, Some(fine)), "completed_unverified");
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
fn a_loop_without_any_change_is_asked_once_and_never_completed() {
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
    // Nobody could answer any more.
    let only = LoopState { max_iterations: 1, ..state() };
    assert_eq!(decide(&only, &clean, &idle).1, "completed_unverified");
    let unknown = StopFacts { work: WorkChange::Unknown("no checkpoint".into()), ..facts() };
    let (ended, word) = decide(&long, &clean, &unknown);
    assert_eq!(word, "completed_unverified");
    assert_eq!(ended.note.as_deref(), Some("whether anything was changed (no checkpoint)"));
    let judged = LoopState { max_iterations: 9, ..judged() };
    assert_eq!(steps_of(&judged, &clean, &idle, None), ["checkpoint"], "nothing to judge");
}

#[test]
fn fewer_failing_tests_are_progress_and_a_person_resumes_a_stall() {
    let failing = checked(true, None);
    let long = LoopState { max_iterations: 99, ..state() };
    let play = |begun: &LoopState, counts: &[u64]| {
        let mut now = begun.clone();
        for count in counts {
            let facts = StopFacts { check_problems: Some(*count), ..facts() };
            now = decide(&now, &failing, &facts).0;
        }
        now
    };
    assert_eq!(play(&long, &[20, 16, 12, 8]).status, Status::Running);
    let stalled = play(&long, &[20, 20, 20, 20]);
    assert_eq!(stalled.status, Status::Stalled);
    let resumed = control::resume_loop(&stalled, NewLimits::default(), 9).expect("a person looked");
    let again = play(&resumed, &[20, 20, 20]);
    assert_eq!((again.status, again.iteration), (Status::Running, 7));
    assert_eq!(play(&again, &[20]).status, Status::Stalled);
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

#[test]
fn a_judge_decides_only_when_all_else_is_clean_and_its_silence_is_no_approval() {
    let clean = evidence(false, None);
    let of = |evidence: &Evidence, facts: &StopFacts| decide(&judged(), evidence, facts).1;
    assert_eq!(of(&clean, &judge(JudgeOutcome::Approved)), "completed");
    assert_eq!(of(&clean, &rejected()), "rejected");
    assert_eq!(of(&clean, &facts()), "completed_unverified");
    assert_eq!(of(&evidence(true, None), &judge(JudgeOutcome::Approved)), "dirty");
    let missing = evidence(false, Some(Cause::NotInstalled));
    assert_eq!(of(&missing, &judge(JudgeOutcome::Approved)), "completed_unverified");
    assert_eq!(of(&missing, &rejected()), "rejected");
    let silent = judge(JudgeOutcome::Rejected { reasons: Vec::new() });
    assert_eq!(of(&clean, &silent), "rejected");
}

#[test]
fn an_outage_of_the_judge_is_waited_for_and_then_named() {
    let clean = evidence(false, None);
    let outage = |cause| judge(JudgeOutcome::Unmeasured(Gap::new(cause, "no answer")));
    let (first, word) = decide(&judged(), &clean, &outage(Cause::TimedOut));
    assert_eq!((word.as_str(), first.counters.consecutive_rejections), ("waits", 0));
    let (second, _) = decide(&first, &clean, &outage(Cause::TimedOut));
    let (third, word) = decide(&second, &clean, &outage(Cause::TimedOut));
    assert_eq!(word, "completed_unverified");
    assert_eq!(third.note.as_deref(), Some("judge (no answer)"));
    assert_eq!(third.basis.gaps, ["judge (no answer)"]);
    let (_, word) = decide(&judged(), &clean, &outage(Cause::NotInstalled));
    assert_eq!(word, "completed_unverified");
}

#[test]
fn rejections_in_a_row_call_a_person_or_for_another_strategy() {
    let clean = evidence(false, None);
    let mut now = judged();
    for _ in 0..4 {
        let (next, word) = decide(&now, &clean, &rejected());
        assert_eq!(word, "rejected");
        // What is wrong in between neither counts nor forgives.
        now = decide(&next, &evidence(true, None), &facts()).0;
        now.history.clear();
    }
    let (paused, word) = decide(&now, &clean, &rejected());
    assert_eq!((word.as_str(), paused.pause_reason), ("paused", Some(PauseReason::Hitl)));
    assert_eq!(paused.note.as_deref(), Some("no tests"));

    let options = LoopOptions { hitl_threshold: 2, ..judged().options };
    let alone = LoopState { mode: Mode::Autonomous, options, ..judged() };
    let (next, word) = decide(&alone, &clean, &rejected());
    assert_eq!(word, "rejected");
    let (next, word) = decide(&next, &clean, &rejected());
    assert_eq!((word.as_str(), next.counters.consecutive_rejections), ("rejected+strategy", 0));
}

#[test]
fn a_milestone_pauses_but_never_hides_an_end() {
    let options = LoopOptions { milestone_every: Some(2), ..state().options };
    let watched = LoopState { options, iteration: 1, ..state() };
    let (paused, word) = decide(&watched, &evidence(true, None), &facts());
    assert_eq!((word.as_str(), paused.pause_reason), ("paused", Some(PauseReason::Milestone)));
    check(&watched, CLAIM, &evidence(false, None), "completed");
    let last = LoopState { max_iterations: 2, ..watched };
    check(&last, CLAIM, &evidence(true, None), "max_iterations");
}

#[test]
fn a_full_context_pauses_what_would_go_on_and_an_unknown_one_holds_nothing_up() {
    let with = |tokens| {
        let line = "the context is full".into();
        let context = Some(ContextUse { tokens, window: 1_000, budget_permille: 600, line });
        StopFacts { context, ..facts() }
    };
    let dirty = evidence(true, None);
    for mode in Mode::NAMES.map(|row| row.0) {
        let running = LoopState { mode, ..state() };
        assert_eq!(decide(&running, &dirty, &with(599)).1, "dirty");
        let (paused, word) = decide(&running, &dirty, &with(600));
        assert_eq!((word.as_str(), paused.pause_reason), ("paused", Some(FULL)), "{mode:?}");
        assert_eq!(paused.note.as_deref(), Some("the context is full"));
        assert_eq!(decide(&running, &dirty, &facts()).1, "dirty", "nobody knows");
    }
    // Completion and limits come first.
    assert_eq!(decide(&state(), &evidence(false, None), &with(999)).1, "completed");
    let last = LoopState { iteration: 2, ..state() };
    assert_eq!(decide(&last, &dirty, &with(999)).1, "max_iterations");
    // A person who looks is told why; the advice for the context comes before a mere milestone.
    let options = LoopOptions { hitl_threshold: 1, milestone_every: Some(1), ..judged().options };
    let watched = LoopState { options, ..judged() };
    let rejected = StopFacts { context: with(999).context, ..rejected() };
    let (paused, _) = decide(&watched, &evidence(false, None), &rejected);
    assert_eq!(paused.pause_reason, Some(PauseReason::Hitl));
    let (paused, _) = decide(&watched, &dirty, &with(999));
    assert_eq!(paused.pause_reason, Some(FULL));
    // Resumed, it is looked at afresh.
    let resumed = control::resume_loop(&paused, NewLimits::default(), 9).expect("it was paused");
    assert_eq!((resumed.pause_reason, resumed.note.as_deref()), (None, None));
    let options = LoopOptions { milestone_every: None, ..resumed.options.clone() };
    let resumed = LoopState { options, ..resumed };
    assert_eq!(decide(&resumed, &dirty, &with(100)).1, "dirty");
    assert_eq!(decide(&resumed, &dirty, &with(700)).0.pause_reason, Some(FULL));
}

const FULL: PauseReason = PauseReason::ContextBudget;

#[test]
fn time_and_tokens_are_bounds_and_unknown_tokens_are_none() {
    let dirty = evidence(true, None);
    let with = |options| LoopState { options, clock_ms: 1_000, ..state() };
    let timed = with(LoopOptions { max_minutes: Some(2), ..state().options });
    let at = |now_ms| StopFacts { now_ms, ..facts() };
    assert_eq!(decide(&timed, &dirty, &at(120_999)).1, "dirty");
    assert_eq!(decide(&timed, &dirty, &at(121_000)).1, "timed_out");
    assert_eq!(decide(&timed, &evidence(false, None), &at(999_999)).1, "completed");
    let priced = with(LoopOptions { max_tokens: Some(100), ..state().options });
    let used = |tokens| StopFacts { tokens, ..facts() };
    let (next, word) = decide(&priced, &dirty, &used(Some(99)));
    assert_eq!((word.as_str(), next.counters.tokens), ("dirty", Some(99)));
    assert_eq!(decide(&next, &dirty, &used(None)).0.counters.tokens, Some(99));
    assert_eq!(decide(&priced, &dirty, &used(Some(100))).1, "budget");
    assert_eq!(decide(&priced, &dirty, &used(None)).1, "dirty");
}

/// Plays Stops of a long loop; returns the words of all.
fn play(letters: &[&str]) -> Vec<String> {
    let (mut now, mut words) = (LoopState { max_iterations: 99, ..state() }, Vec::new());
    for codes in letters {
        let mut evidence = evidence(!codes.is_empty(), None);
        evidence.findings =
            codes.chars().map(|code| finding("a.py", 1, &code.to_string())).collect();
        for guarded in evidence.findings.iter_mut().filter(|one| one.code == "G") {
            guarded.sensor = "guard".into();
        }
        moai_base::finding::assign_fingerprints(&mut evidence.findings);
        let input = StopInput { last_message: "on it", ..input("s") };
        let (next, decision) = decide_stop(&now, &input, &evidence, &facts());
        words.push(word(&next, &decision));
        now = next;
    }
    words
}

#[test]
fn no_progress_going_back_and_forth_and_gaming_end_by_their_names() {
    assert_eq!(play(&["ab", "ab", "ab", "ab"])[2..], ["dirty", "stalled"]);
    assert_eq!(play(&["a", "b", "a", "b"])[2..], ["dirty", "oscillating"]);
    assert_eq!(play(&["abc", "abcd", "abc", "abcd"])[2..], ["dirty", "oscillating"]);
    assert_eq!(play(&["abc", "aG", "bG"])[1..], ["dirty", "gaming"]);
    assert_eq!(play(&["abcd", "abc", "ab", "a", "a", "a"])[5..], ["dirty"]);
    assert_eq!(play(&["", "", "", "", "", ""])[5..], ["promise"]);
}

#[test]
fn forced_iterations_acknowledge_what_is_done_and_end_as_done() {
    let options = LoopOptions { force_max: true, ..state().options };
    let forced = LoopState { options, ..state() };
    let clean = evidence(false, None);
    let (next, word) = decide(&forced, &clean, &facts());
    assert_eq!(word, "acknowledged");
    let (next, word) = decide(&next, &clean, &facts());
    assert_eq!(word, "acknowledged");
    assert_eq!(decide(&next, &clean, &facts()).1, "completed");
    assert_eq!(decide(&next, &evidence(true, None), &facts()).1, "max_iterations");
    let missing = evidence(false, Some(Cause::NotInstalled));
    assert_eq!(decide(&next, &missing, &facts()).1, "max_iterations", "it was measured before");
    let never = LoopState { measured_sensors: Vec::new(), ..next };
    assert_eq!(decide(&never, &missing, &facts()).1, "completed_unverified");
    let options = LoopOptions { max_minutes: Some(1), ..forced.options.clone() };
    let late = StopFacts { now_ms: 60_000, ..facts() };
    assert_eq!(decide(&LoopState { options, ..forced }, &clean, &late).1, "completed");
}

#[test]
fn the_research_gate_holds_the_first_stop_three_times_and_counts_none_of_them() {
    let options = LoopOptions { research: true, ..state().options };
    let mut now = LoopState { options, max_iterations: 2, ..state() };
    let unwritten = StopFacts { research_missing: vec!["APPROACH".into()], ..facts() };
    let dirty = evidence(true, None);
    let begun = now.clone();
    for tries in 1..=3 {
        let (next, word) = decide(&now, &dirty, &unwritten);
        assert_eq!((word.as_str(), next.iteration), ("dirty+research", 0));
        assert_eq!((next.counters.research_tries, next.history.len()), (tries, 0));
        now = next;
    }
    let (next, word) = decide(&now, &dirty, &unwritten);
    assert_eq!((word.as_str(), next.iteration), ("dirty", 1));
    assert_eq!(decide(&begun, &dirty, &facts()).1, "dirty", "the phase is written down");
    assert_eq!(decide(&begun, &evidence(false, None), &unwritten).1, "completed");
    let only = LoopState { max_iterations: 1, ..begun };
    assert_eq!(decide(&only, &dirty, &unwritten).1, "max_iterations");
}

#[test]
fn a_branch_is_done_when_it_is_merged() {
    let branch = Some("auto".to_owned());
    let alone = LoopState { mode: Mode::Autonomous, branch, ..judged() };
    let clean = evidence(false, None);
    let merge = |outcome| StopFacts { merge: Consultation::Done(outcome), ..facts() };
    let of = |facts: &StopFacts| decide(&alone, &clean, facts);
    assert_eq!(of(&merge(MergeOutcome::Merged)).1, "completed");
    assert_eq!(of(&merge(MergeOutcome::Conflict("mend a.py".into()))).1, "conflict");
    let (unmerged, word) = of(&facts());
    assert_eq!(word, "completed_unverified");
    assert_eq!(unmerged.note.as_deref(), Some("merge (auto is not merged)"));
    let away = JudgeOutcome::Unmeasured(Gap::new(Cause::NoTool, "no judge"));
    let (unjudged, word) = of(&judge(away));
    assert_eq!(word, "completed_unverified");
    assert_eq!(unjudged.note.as_deref(), Some("judge (no judge); merge (auto is not merged)"));
    let busy = merge(MergeOutcome::Unmeasured(Gap::new(Cause::TimedOut, "another merge")));
    assert_eq!(of(&busy).1, "waits");
    let waited = LoopCounters { unmeasured_blocks: 2, ..LoopCounters::default() };
    let waited = LoopState { counters: waited, ..alone.clone() };
    assert_eq!(decide(&waited, &clean, &busy).1, "failed");
    assert_eq!(of(&merge(MergeOutcome::Impossible("no such branch".into()))).1, "failed");
}

#[test]
fn before_the_host_would_end_the_turn_the_loop_yields_and_stays_running() {
    let mut now = LoopState { max_iterations: 99, ..state() };
    let stop = |state: &LoopState, is_continuation, has_acted| {
        let input = StopInput {
            last_message: "hm",
            is_continuation,
            has_acted,
            continuations_max: Some(8),
            ..input("s")
        };
        let (next, decision) = decide_stop(state, &input, &evidence(false, None), &facts());
        let word = word(&next, &decision);
        (next, word)
    };
    for number in 0..8 {
        let (next, word) = stop(&now, number > 0, false);
        assert_eq!(word, "promise", "{number}");
        now = next;
    }
    assert_eq!(stop(&now, true, true).1, "promise", "a tool call lets the host count anew");
    assert_eq!(stop(&now, false, false).1, "promise", "so does a new turn");
    let (next, word) = stop(&now, true, false);
    assert_eq!((word.as_str(), next.status, next.iteration), ("yield", Status::Running, 9));
    assert_eq!(next.counters.continuations, 0);
}

#[test]
fn only_a_judge_that_was_asked_stands_among_the_sensors() {
    let judged = |judge_files| {
        let judge = Some(JudgeOutcome::Approved);
        let facts = StopFacts { judge: judge.into(), judge_files, ..facts() };
        let (next, _) = decide_stop(&state(), &input("s"), &evidence(false, None), &facts);
        let sensors = next.basis.sensors.into_iter();
        sensors.filter(|one| one.sensor == "judge").map(|one| one.files).collect::<Vec<_>>()
    };
    assert_eq!(judged(Some(2)), [2]);
    assert_eq!(judged(None), [0; 0]);
}

#[test]
fn where_no_sensor_speaks_only_the_judge_completes() {
    let gap = Gap::new(Cause::Nothing, "no changed file is covered by a sensor");
    let silent =
        SensorReading { gap: Some(gap), ..SensorReading::clean("files", SensorKind::Scan, 0) };
    let silent = Evidence { readings: vec![silent], ..Evidence::default() };
    let ends = |judge| {
        let facts = StopFacts { judge, judge_files: Some(1), ..facts() };
        decide_stop(&state(), &input("s"), &silent, &facts).0.status
    };
    assert_eq!(ends(Consultation::Open), Status::CompletedUnverified);
    assert_eq!(ends(Consultation::Done(JudgeOutcome::Approved)), Status::Completed);
}
