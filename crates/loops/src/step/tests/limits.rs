//! Limits and pauses of a loop that is not done.

use super::*;
use crate::control::{self, NewLimits};

const FULL: PauseReason = PauseReason::ContextBudget;

/// The loop after Stops at which checks reported so many problems.
fn after_failing_checks(state: &LoopState, problem_counts: &[u64]) -> LoopState {
    let mut now = state.clone();
    for count in problem_counts {
        let facts = StopFacts { check_problems: Some(*count), ..facts() };
        now = decide(&now, &checked(true, None), &facts).0;
    }
    now
}

#[test]
fn fewer_failing_tests_are_progress_and_a_user_resumes_a_stalled_loop() {
    let long = LoopState { max_iterations: 99, ..state() };
    assert_eq!(after_failing_checks(&long, &[20, 16, 12, 8]).status, Status::Running);
    let stalled = after_failing_checks(&long, &[20, 20, 20, 20]);
    assert_eq!(stalled.status, Status::Stalled);
    let resumed = control::resume_loop(&stalled, NewLimits::default(), 9).expect("it is stalled");
    let again = after_failing_checks(&resumed, &[20, 20, 20]);
    assert_eq!((again.status, again.iteration), (Status::Running, 7));
    assert_eq!(after_failing_checks(&again, &[20]).status, Status::Stalled);
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

/// Facts with this many of 1,000 tokens of the context in use and a budget of 600.
fn with_context(tokens: u64) -> StopFacts {
    let line = "the context is full".into();
    let context = Some(ContextUse { tokens, window: 1_000, budget_permille: 600, line });
    StopFacts { context, ..facts() }
}

#[test]
fn a_full_context_pauses_a_loop_that_would_continue_and_an_unknown_context_does_not() {
    let dirty = evidence(true, None);
    for mode in Mode::NAMES.map(|row| row.0) {
        let running = LoopState { mode, ..state() };
        assert_eq!(decide(&running, &dirty, &with_context(599)).1, "dirty");
        let (paused, word) = decide(&running, &dirty, &with_context(600));
        assert_eq!((word.as_str(), paused.pause_reason), ("paused", Some(FULL)), "{mode:?}");
        assert_eq!(paused.note.as_deref(), Some("the context is full"));
        assert_eq!(decide(&running, &dirty, &facts()).1, "dirty", "the use is unknown");
    }
    // Completion and limits come first.
    assert_eq!(decide(&state(), &evidence(false, None), &with_context(999)).1, "completed");
    let last = LoopState { iteration: 2, ..state() };
    assert_eq!(decide(&last, &dirty, &with_context(999)).1, "max_iterations");
    // A review by the user comes first, then the context, then the milestone.
    let options = LoopOptions { hitl_threshold: 1, milestone_every: Some(1), ..judged().options };
    let watched = LoopState { options, ..judged() };
    let rejected = StopFacts { context: with_context(999).context, ..rejected() };
    let (paused, _) = decide(&watched, &evidence(false, None), &rejected);
    assert_eq!(paused.pause_reason, Some(PauseReason::Hitl));
    let (paused, _) = decide(&watched, &dirty, &with_context(999));
    assert_eq!(paused.pause_reason, Some(FULL));
    // After a resume the context is measured again.
    let resumed = control::resume_loop(&paused, NewLimits::default(), 9).expect("it was paused");
    assert_eq!((resumed.pause_reason, resumed.note.as_deref()), (None, None));
    let options = LoopOptions { milestone_every: None, ..resumed.options.clone() };
    let resumed = LoopState { options, ..resumed };
    assert_eq!(decide(&resumed, &dirty, &with_context(100)).1, "dirty");
    assert_eq!(decide(&resumed, &dirty, &with_context(700)).0.pause_reason, Some(FULL));
}

#[test]
fn time_and_tokens_are_limits_and_unknown_tokens_are_not_counted() {
    let dirty = evidence(true, None);
    let options = LoopOptions { max_minutes: Some(2), ..state().options };
    let timed = LoopState { options, clock_ms: 1_000, ..state() };
    for (now_ms, is_dirty, expected) in
        [(120_999, true, "dirty"), (121_000, true, "timed_out"), (999_999, false, "completed")]
    {
        let facts = StopFacts { now_ms, ..facts() };
        assert_eq!(decide(&timed, &evidence(is_dirty, None), &facts).1, expected, "{now_ms}");
    }
    let options = LoopOptions { max_tokens: Some(100), ..state().options };
    let priced = LoopState { options, clock_ms: 1_000, ..state() };
    for (tokens, expected) in [(None, "dirty"), (Some(99), "dirty"), (Some(100), "budget")] {
        let facts = StopFacts { tokens, ..facts() };
        let (next, word) = decide(&priced, &dirty, &facts);
        assert_eq!((word.as_str(), next.counters.tokens), (expected, tokens));
        // The last known count is not forgotten.
        let unknown = StopFacts { tokens: None, ..facts };
        assert_eq!(decide(&next, &dirty, &unknown).0.counters.tokens, tokens);
    }
}

/// The words of consecutive Stops; each letter is the code of one error, and `G` is the guard's.
fn words_of_stops(codes_of_stops: &[&str]) -> Vec<String> {
    let (mut now, mut words) = (LoopState { max_iterations: 99, ..state() }, Vec::new());
    for codes in codes_of_stops {
        let mut evidence = evidence(!codes.is_empty(), None);
        evidence.findings =
            codes.chars().map(|code| finding("a.py", 1, &code.to_string())).collect();
        for guarded in evidence.findings.iter_mut().filter(|finding| finding.code == "G") {
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
fn stalls_oscillations_and_gaming_end_the_loop_by_name() {
    assert_eq!(words_of_stops(&["ab", "ab", "ab", "ab"])[2..], ["dirty", "stalled"]);
    assert_eq!(words_of_stops(&["a", "b", "a", "b"])[2..], ["dirty", "oscillating"]);
    assert_eq!(words_of_stops(&["abc", "abcd", "abc", "abcd"])[2..], ["dirty", "oscillating"]);
    assert_eq!(words_of_stops(&["abc", "aG", "bG"])[1..], ["dirty", "gaming"]);
    assert_eq!(words_of_stops(&["abcd", "abc", "ab", "a", "a", "a"])[5..], ["dirty"]);
    assert_eq!(words_of_stops(&["", "", "", "", "", ""])[5..], ["promise"]);
}

#[test]
fn forced_iterations_acknowledge_completion_and_end_completed() {
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
fn the_research_gate_holds_the_first_stop_three_times_without_counting_iterations() {
    let options = LoopOptions { research: true, ..state().options };
    let mut now = LoopState { options, max_iterations: 2, ..state() };
    let unwritten = StopFacts { research_missing: vec!["APPROACH".into()], ..facts() };
    let dirty = evidence(true, None);
    let start = now.clone();
    for tries in 1..=3 {
        let (next, word) = decide(&now, &dirty, &unwritten);
        assert_eq!((word.as_str(), next.iteration), ("dirty+research", 0));
        assert_eq!((next.counters.research_tries, next.history.len()), (tries, 0));
        now = next;
    }
    let (next, word) = decide(&now, &dirty, &unwritten);
    assert_eq!((word.as_str(), next.iteration), ("dirty", 1));
    assert_eq!(decide(&start, &dirty, &facts()).1, "dirty", "the phase is documented");
    assert_eq!(decide(&start, &evidence(false, None), &unwritten).1, "completed");
    let only = LoopState { max_iterations: 1, ..start };
    assert_eq!(decide(&only, &dirty, &unwritten).1, "max_iterations");
}

/// A Stop without a claim, with a host that allows eight continuations.
fn decide_continuation(
    state: &LoopState,
    is_continuation: bool,
    has_acted: bool,
) -> (LoopState, String) {
    let continuations_max = Some(8);
    let input = StopInput {
        last_message: "hm",
        is_continuation,
        has_acted,
        continuations_max,
        ..input("s")
    };
    let (next, decision) = decide_stop(state, &input, &evidence(false, None), &facts());
    let word = word(&next, &decision);
    (next, word)
}

#[test]
fn before_the_host_would_end_the_turn_the_loop_yields_and_stays_running() {
    let mut now = LoopState { max_iterations: 99, ..state() };
    for number in 0..8 {
        let (next, word) = decide_continuation(&now, number > 0, false);
        assert_eq!(word, "promise", "{number}");
        now = next;
    }
    assert_eq!(decide_continuation(&now, true, true).1, "promise", "a tool call resets the count");
    assert_eq!(decide_continuation(&now, false, false).1, "promise", "so does a new turn");
    let (next, word) = decide_continuation(&now, true, false);
    assert_eq!((word.as_str(), next.status, next.iteration), ("yield", Status::Running, 9));
    assert_eq!(next.counters.continuations, 0);
}
