//! Steps of the gates and of the commits.

use super::super::{PipelineEvent, step};
use super::*;
use crate::commits::PipelineCommit;
use crate::ending::{EndReason, LoopEnding};
use crate::plan::PlanDocument;
use crate::samples::approved;
use crate::state::{PipelineOutcome, PlanApprover};
use moai_loops::state::Status;

fn passing(kind: PipelineKind) -> PipelineState {
    let mut state = PipelineState { kind, ..approved(PlanApprover::Person) };
    state.phase = PipelinePhase::Gate;
    for progress in state.todos.values_mut() {
        progress.has_passed = true;
    }
    state
}

fn is_held(decisions: &[PipelineDecision]) -> bool {
    decisions.iter().any(|decision| matches!(decision, PipelineDecision::Hold(_)))
}

fn unfinished() -> CommitsReading {
    let commits = vec![PipelineCommit::new("1".to_owned(), "a: b", Vec::new())];
    let faults = vec![CommitFault::Unfinished { checked: 0, total: 1 }];
    CommitsReading::Surveyed { commits, faults, gap: None }
}

#[test]
fn checks_of_commits_that_never_end_become_a_gap() {
    let mut state = passing(PipelineKind::Small);
    for _ in 0..COMMIT_CHECK_STOPS_MAX {
        let (next, decisions) = step(&state, PipelineEvent::CommitsMeasured(unfinished()), 3);
        assert!(is_held(&decisions));
        state = next;
    }
    let (state, decisions) = step(&state, PipelineEvent::CommitsMeasured(unfinished()), 3);
    assert!(!is_held(&decisions), "the user is not held for ever");
    let (ended, _) = step(&state, PipelineEvent::LoopEnded(LoopEnding::Completed), 4);
    assert_eq!(ended.outcome, Some(PipelineOutcome::Unverified));
    let reasons = ended.end_reasons();
    assert!(matches!(&reasons[..], [EndReason::CommitGap(_)]), "{reasons:?}");
}

#[test]
fn an_end_with_faults_of_the_commits_is_partial_and_says_so() {
    let faults = vec![CommitFault::Message("commit 1 has no subject".to_owned())];
    let reading = CommitsReading::Surveyed { commits: Vec::new(), faults, gap: None };
    let state = passing(PipelineKind::Small);
    let (state, decisions) = step(&state, PipelineEvent::CommitsMeasured(reading), 3);
    assert!(is_held(&decisions));
    let limit = LoopEnding::Limit(Status::MaxIterations);
    let (ended, _) = step(&state, PipelineEvent::LoopEnded(limit), 4);
    assert_eq!(ended.outcome, Some(PipelineOutcome::Partial));
    assert!(ended.end_reasons().contains(&EndReason::CommitFaults(1)), "{ended:#?}");
}

#[test]
fn scenarios_hold_a_few_times_unless_nobody_can_play_them() {
    let scenario = FrozenScenario {
        key: "SC-1".to_owned(),
        todo: "TODO-1".to_owned(),
        title: "a user".to_owned(),
        steps: Vec::new(),
    };
    let mut state = passing(PipelineKind::Full);
    state.scenarios = vec![scenario];
    let solo = PipelineState { is_solo: true, ..state.clone() };
    let (solo, decisions) = step(&solo, PipelineEvent::ScenariosReviewed(None), 3);
    assert_eq!((is_held(&decisions), solo.gates.scenarios), (false, GateStatus::Skipped));
    for _ in 0..SCENARIO_HOLDS_MAX {
        let (next, decisions) = step(&state, PipelineEvent::ScenariosReviewed(None), 3);
        assert_eq!((is_held(&decisions), next.gates.scenarios), (true, GateStatus::Open));
        state = next;
    }
    let (state, decisions) = step(&state, PipelineEvent::ScenariosReviewed(None), 3);
    assert_eq!((is_held(&decisions), state.gates.scenarios), (false, GateStatus::Skipped));
}

#[test]
fn more_runs_than_count_are_refused_and_unknown_scenarios_as_well() {
    let mut state = passing(PipelineKind::Full);
    let plan = PlanDocument::parse("### [ ] TODO 1: a\n- [A] `b`\n- [S] SC-1\n");
    state.scenarios = frozen_scenarios(&plan, None);
    let run = ScenarioRun {
        agent: String::new(),
        work: None,
        has_passed: true,
        commands_run: 1,
        failure: String::new(),
    };
    let plays = |state: &PipelineState, agent: &str, scenario: &str| {
        let (agent, scenario) = (agent.to_owned(), scenario.to_owned());
        let run = run.clone();
        step(state, PipelineEvent::ScenarioPlayed { agent, scenario, run, is_claimed: true }, 3)
    };
    for number in 0..SCENARIO_RUNS_MAX {
        let agent = format!("a{number}");
        let (next, decisions) = plays(&state, &agent, "SC-1");
        assert_eq!(decisions, []);
        state = next;
        let (again, decisions) = plays(&state, &agent, "SC-1");
        assert!(is_held(&decisions) && again.scenario_runs == state.scenario_runs, "one run each");
    }
    assert!(is_held(&plays(&state, "b", "SC-1").1));
    assert!(is_held(&plays(&state, "c", "SC-2").1));
}

#[test]
fn a_container_that_is_not_there_leaves_the_gate_to_the_host() {
    let mut state = passing(PipelineKind::Full);
    state.gates.tests = GateStatus::Passed;
    let on_host = SandboxReading::OnHost("gone".to_owned());
    let (next, decisions) = step(&state, PipelineEvent::SandboxMeasured(on_host), 3);
    assert_eq!((decisions.len(), next.gates.tests), (0, GateStatus::Passed));
    let failed = vec![SandboxFailure { command: "one".into(), output: "1 failed".into() }];
    let gap = Some("`one` no answer".to_owned());
    let silent = SandboxReading::InContainer { image: "i".into(), failed: Vec::new(), gap };
    let (next, decisions) = step(&state, PipelineEvent::SandboxMeasured(silent), 3);
    assert_eq!((decisions.len(), next.gates.tests), (0, GateStatus::Degraded), "not passed");
    let reading = SandboxReading::InContainer { image: "i".into(), failed, gap: None };
    let (next, decisions) = step(&state, PipelineEvent::SandboxMeasured(reading), 3);
    assert!(is_held(&decisions));
    assert_eq!((next.gates.tests, next.phase), (GateStatus::Failed, PipelinePhase::Fix));
}
