//! Steps of a Stop: when a judge and a merge are requested, and the effect of their outcomes.

use super::*;

/// The steps of a Stop with a claim until it is decided; the judge gives `judgement`.
pub(super) fn steps_of(
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
            StopStep::NeedsClosingLook => {
                steps.push("look");
                facts.closing_look = None.into();
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
        assert!(steps.len() <= 4, "a step is taken once: {steps:?}");
    }
}

#[test]
fn a_loop_that_pauses_for_the_user_runs_no_judge_and_no_merge() {
    let doubted = ManualOverride { at_ms: 5, finding: None, is_confirmed: false };
    let confirmed = ManualOverride { is_confirmed: true, ..doubted.clone() };
    let all = ["judge", "look", "merge", "checkpoint"].as_slice();
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
fn judge_and_merge_run_only_if_nothing_else_is_missing() {
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
                    let is_done = is_open && cause.is_none() && !has_objection;
                    if is_done {
                        expected.push("look");
                    }
                    if is_done && has_branch && !is_forced {
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
fn a_judge_decides_only_on_clean_evidence_and_a_missing_judgement_is_no_approval() {
    let clean = evidence(false, None);
    let missing = evidence(false, Some(Cause::NotInstalled));
    let approved = judge(JudgeOutcome::Approved);
    let without_reason = judge(JudgeOutcome::Rejected { reasons: Vec::new() });
    let rows = [
        (&clean, &approved, "completed"),
        (&clean, &rejected(), "rejected"),
        (&clean, &without_reason, "rejected"),
        (&clean, &facts(), "completed_unverified"),
        (&evidence(true, None), &approved, "dirty"),
        (&missing, &approved, "completed_unverified"),
        (&missing, &rejected(), "rejected"),
    ];
    for (evidence, facts, expected) in rows {
        assert_eq!(decide(&judged(), evidence, facts).1, expected, "{facts:?}");
    }
}

#[test]
fn an_outage_of_the_judge_is_waited_for_and_then_named() {
    let clean = evidence(false, None);
    let timed_out = judge(JudgeOutcome::Unmeasured(Gap::new(Cause::TimedOut, "no answer")));
    let (first, word) = decide(&judged(), &clean, &timed_out);
    assert_eq!((word.as_str(), first.counters.consecutive_rejections), ("waits", 0));
    let (second, _) = decide(&first, &clean, &timed_out);
    let (third, word) = decide(&second, &clean, &timed_out);
    assert_eq!(word, "completed_unverified");
    assert_eq!(third.note.as_deref(), Some("judge (no answer)"));
    assert_eq!(third.basis.gaps, ["judge (no answer)"]);
    let missing = judge(JudgeOutcome::Unmeasured(Gap::new(Cause::NotInstalled, "no judge")));
    let (_, word) = decide(&judged(), &clean, &missing);
    assert_eq!(word, "completed_unverified");
}

#[test]
fn consecutive_rejections_pause_for_a_review_or_ask_for_another_strategy() {
    let clean = evidence(false, None);
    let mut now = judged();
    for _ in 0..4 {
        let (next, word) = decide(&now, &clean, &rejected());
        assert_eq!(word, "rejected");
        // Errors in between neither count as a rejection nor reset the count.
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

/// Loops that differ in everything that the steps of a Stop depend on.
fn all_loops() -> Vec<LoopState> {
    let mut loops = vec![LoopState { max_iterations: 2, ..judged() }];
    loops = with_each(&loops, &[Mode::Basic, Mode::Judge, Mode::Autonomous], |run, mode| {
        run.mode = mode;
    });
    loops = with_each(&loops, &[None, Some("auto")], |run, branch| {
        run.branch = branch.map(str::to_owned);
    });
    loops = with_each(&loops, &[0, 1], |run, iteration| run.iteration = iteration);
    loops = with_each(&loops, &[0, 1], |run, holds| run.counters.idle_holds = holds);
    loops = with_each(&loops, &[0, 2], |run, blocks| run.counters.unmeasured_blocks = blocks);
    loops = with_each(&loops, &[false, true], |run, is_forced| run.options.force_max = is_forced);
    loops = with_each(&loops, &[None, Some("DONE"), Some("OTHER")], |run, promise| {
        run.promise = promise.map(str::to_owned);
    });
    with_each(&loops, &[None, Some(true), Some(false)], |run, is_confirmed| {
        let overrides = is_confirmed.map(|is_confirmed| ManualOverride {
            at_ms: 5,
            finding: None,
            is_confirmed,
        });
        run.overrides = overrides.into_iter().collect();
    })
}

fn with_each<T: Clone, V: Copy>(items: &[T], values: &[V], set: impl Fn(&mut T, V)) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        for value in values {
            let mut changed = item.clone();
            set(&mut changed, *value);
            all.push(changed);
        }
    }
    all
}

fn all_facts() -> Vec<StopFacts> {
    let works =
        [WorkChange::Changed, WorkChange::Unchanged, WorkChange::Unknown("no checkpoint".into())];
    let all: Vec<StopFacts> = works.into_iter().map(|work| StopFacts { work, ..facts() }).collect();
    let all = with_each(&all, &[false, true], |facts, is_required| {
        facts.lsp_required = is_required;
    });
    with_each(&all, &[None, Some("tests/test_a.py")], |facts, exam_changed| {
        facts.exam_changed = exam_changed.into_iter().map(str::to_owned).collect();
    })
}

fn all_evidence() -> Vec<Evidence> {
    let mut all = vec![Evidence::default()];
    for cause in [None, Some(Cause::NotInstalled), Some(Cause::Loading), Some(Cause::Nothing)] {
        all.extend([evidence(false, cause), evidence(true, cause)]);
    }
    all
}

/// The decision if the judge gives this outcome and nothing is merged.
fn if_judged(
    state: &LoopState,
    evidence: &Evidence,
    facts: &StopFacts,
    outcome: JudgeOutcome,
) -> (String, Option<String>) {
    let (judge, merge) = (Consultation::Done(outcome), Consultation::Empty);
    let (next, word) = decide(state, evidence, &StopFacts { judge, merge, ..facts.clone() });
    (word, next.note)
}

#[test]
fn the_judge_runs_exactly_if_its_outcome_changes_the_decision() {
    let rejected = JudgeOutcome::Rejected { reasons: vec!["no tests".into()] };
    let (mut asked, mut not_asked) = (0, 0);
    for (evidence, facts) in all_evidence()
        .iter()
        .flat_map(|evidence| all_facts().into_iter().map(move |facts| (evidence, facts)))
    {
        for run in all_loops() {
            let step = next_step(&run, &input("s"), evidence, &facts);
            let is_asked = step == StopStep::NeedsJudge;
            let changes_decision = if_judged(&run, evidence, &facts, JudgeOutcome::Approved)
                != if_judged(&run, evidence, &facts, rejected.clone());
            let is_expected = run.mode != Mode::Basic && changes_decision;
            assert_eq!(is_asked, is_expected, "{run:?} {evidence:?} {facts:?}");
            *(if is_asked { &mut asked } else { &mut not_asked }) += 1;
        }
    }
    assert!(asked > 1_000 && not_asked > 1_000, "{asked} {not_asked}");
}

#[test]
fn a_branch_is_merged_exactly_if_nothing_else_keeps_the_loop_from_completing() {
    let rejected = JudgeOutcome::Rejected { reasons: vec!["no tests".into()] };
    let outage = JudgeOutcome::Unmeasured(Gap::new(Cause::NotInstalled, "no judge"));
    let outcomes = [None, Some(JudgeOutcome::Approved), Some(rejected), Some(outage)];
    let (mut wanted, mut not_wanted) = (0, 0);
    for (evidence, facts) in all_evidence()
        .iter()
        .flat_map(|evidence| all_facts().into_iter().map(move |facts| (evidence, facts)))
    {
        for judge in &outcomes {
            let facts = StopFacts {
                judge: judge.clone().into(),
                closing_look: Consultation::Empty,
                ..facts.clone()
            };
            for run in all_loops() {
                let is_wanted =
                    next_step(&run, &input("s"), evidence, &facts) == StopStep::NeedsMerge;
                let merge = Consultation::Done(MergeOutcome::Merged);
                let (_, word) = decide(&run, evidence, &StopFacts { merge, ..facts.clone() });
                let ends = word.starts_with("completed");
                let has_objection = !matches!(judge, None | Some(JudgeOutcome::Approved));
                let is_proven = match evidence.verdict() {
                    Verdict::Clean => !has_objection,
                    // The approval of a change that no sensor covers is all that can be had.
                    Verdict::Unmeasured(gap) => {
                        let is_uncovered = gap.cause == Cause::Nothing;
                        let is_approved = *judge == Some(JudgeOutcome::Approved);
                        is_uncovered && is_approved && evidence.readings.len() == 1
                    }
                    Verdict::Dirty => false,
                };
                let is_expected = run.branch.is_some() && is_proven && ends;
                assert_eq!(is_wanted, is_expected, "{run:?} {evidence:?} {facts:?}");
                *(if is_wanted { &mut wanted } else { &mut not_wanted }) += 1;
            }
        }
    }
    assert!(wanted > 1_000 && not_wanted > 1_000, "{wanted} {not_wanted}");
}

fn merge(outcome: MergeOutcome) -> StopFacts {
    StopFacts { merge: Consultation::Done(outcome), ..facts() }
}

#[test]
fn a_loop_on_a_branch_completes_when_it_is_merged() {
    let branch = Some("auto".to_owned());
    let alone = LoopState { mode: Mode::Autonomous, branch, ..judged() };
    let clean = evidence(false, None);
    assert_eq!(decide(&alone, &clean, &merge(MergeOutcome::Merged)).1, "completed");
    assert_eq!(
        decide(&alone, &clean, &merge(MergeOutcome::Conflict("merge a.py".into()))).1,
        "conflict"
    );
    let (unmerged, word) = decide(&alone, &clean, &facts());
    assert_eq!(word, "completed_unverified");
    assert_eq!(unmerged.note.as_deref(), Some("merge (auto is not merged)"));
    let unavailable = JudgeOutcome::Unmeasured(Gap::new(Cause::NoTool, "no judge"));
    let (unjudged, word) = decide(&alone, &clean, &judge(unavailable));
    assert_eq!(word, "completed_unverified");
    assert_eq!(unjudged.note.as_deref(), Some("judge (no judge); merge (auto is not merged)"));
    let busy = merge(MergeOutcome::Unmeasured(Gap::new(Cause::TimedOut, "another merge")));
    assert_eq!(decide(&alone, &clean, &busy).1, "waits");
    let waited = LoopCounters { unmeasured_blocks: 2, ..LoopCounters::default() };
    let waited = LoopState { counters: waited, ..alone.clone() };
    assert_eq!(decide(&waited, &clean, &busy).1, "failed");
    assert_eq!(
        decide(&alone, &clean, &merge(MergeOutcome::Impossible("no such branch".into()))).1,
        "failed"
    );
}

#[test]
fn work_that_changed_after_it_was_measured_is_measured_again_and_never_completed() {
    let gap = Gap::new(Cause::Superseded, "a.py changed");
    let changed = |facts: StopFacts| StopFacts { closing_look: Some(gap.clone()).into(), ..facts };
    let clean = evidence(false, None);
    let (first, word) = decide(&judged(), &clean, &changed(judge(JudgeOutcome::Approved)));
    assert_eq!(word, "waits");
    let waited = LoopCounters { unmeasured_blocks: UNMEASURED_BLOCKS_MAX, ..first.counters };
    let waited = LoopState { counters: waited, ..first };
    let (last, word) = decide(&waited, &clean, &changed(judge(JudgeOutcome::Approved)));
    assert_eq!(
        (word.as_str(), last.note.as_deref()),
        ("completed_unverified", Some("a.py changed"))
    );
    let on_branch = LoopState { branch: Some("auto".into()), ..judged() };
    let facts = changed(judge(JudgeOutcome::Approved));
    let step = next_step(&on_branch, &input("s"), &clean, &facts);
    assert_eq!(step, StopStep::NeedsCheckpoint, "such work is not merged");
}

#[test]
fn only_a_judge_that_ran_is_listed_among_the_sensors() {
    for judge_files in [Some(2), None] {
        let facts = StopFacts { judge_files, ..judge(JudgeOutcome::Approved) };
        let (next, _) = decide(&state(), &evidence(false, None), &facts);
        let reading = next.basis.sensors.iter().find(|reading| reading.sensor == "judge");
        assert_eq!(reading.map(|reading| reading.files), judge_files);
    }
}

#[test]
fn if_no_sensor_applies_only_the_judge_completes_the_loop() {
    let gap = Gap::new(Cause::Nothing, "no changed file is covered by a sensor");
    let silent =
        SensorReading { gap: Some(gap), ..SensorReading::clean("files", SensorKind::Scan, 0) };
    let silent = Evidence { readings: vec![silent], ..Evidence::default() };
    assert_eq!(decide(&state(), &silent, &facts()).1, "completed_unverified");
    assert_eq!(decide(&state(), &silent, &judge(JudgeOutcome::Approved)).1, "completed");
    let branch = LoopState { branch: Some("auto".into()), ..judged() };
    let approved = JudgeOutcome::Approved;
    let steps = steps_of(&branch, &silent, &facts(), Some(&approved));
    assert_eq!(steps, ["judge", "look", "merge", "checkpoint"], "approved work is merged");
    let merged = StopFacts { merge: Consultation::Done(MergeOutcome::Merged), ..judge(approved) };
    assert_eq!(decide(&branch, &silent, &merged).1, "completed");
}
