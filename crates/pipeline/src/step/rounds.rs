//! Rounds of fixes: the strategy that follows from the failures of one plan.

use super::PipelineDecision;
use crate::convergence::{FixRound, FixStrategy, fix_strategy};
use crate::ending::EndReason;
use crate::objection::PlanObjection;
use crate::state::{PipelinePhase, PipelineState};
use moai_base::foreign_text::one_line;
use moai_base::limits::{REPLANS_MAX, TODO_FAILURE_CHARS_MAX, TRIED_KEPT_MAX};

/// Begins a round of fixes with the strategy that the rounds of this plan suggest.
pub(super) fn begin_round(next: &mut PipelineState, problems: Option<String>) -> FixStrategy {
    let (passed, total) = (next.passed_todos(), next.todos.len());
    next.fix_rounds.push(FixRound { passed, total, problems });
    let round = next.fix_rounds.len();
    let failing = next.todos.iter().filter(|(_, progress)| !progress.has_passed);
    let failing: Vec<String> = failing
        .map(|(id, progress)| format!("round {round}: {id}: {}", progress.failure))
        .collect();
    for line in failing {
        note_tried(next, &line);
    }
    let strategy = fix_strategy(&next.fix_rounds[next.earlier_rounds.min(round - 1)..]);
    match strategy {
        FixStrategy::FixNow => {}
        FixStrategy::FreshContext => next.retired_workers = next.known_workers.clone(),
        FixStrategy::Replan if next.replans >= REPLANS_MAX => {}
        FixStrategy::Replan => {
            next.replans += 1;
            next.is_replanning = true;
            next.earlier_rounds = round;
            next.phase = PipelinePhase::Plan;
            next.plan_holds = 0;
        }
    }
    strategy
}

/// The instruction to the agent after a failed gate.
pub(super) fn gate_failed(next: &PipelineState, strategy: FixStrategy) -> PlanObjection {
    let round = next.fix_rounds.len();
    let is_first = strategy == FixStrategy::FixNow;
    let tried = if is_first { Vec::new() } else { next.tried.clone() };
    PlanObjection::GateFailed { round, strategy, tried }
}

/// Further decisions by the strategy of a round.
pub(super) fn what_follows(next: &PipelineState, strategy: FixStrategy) -> Vec<PipelineDecision> {
    match strategy {
        FixStrategy::FixNow => Vec::new(),
        FixStrategy::FreshContext => vec![PipelineDecision::BeginAnew],
        FixStrategy::Replan if next.is_replanning => vec![PipelineDecision::BeginAnew],
        // The plan was extended often enough.
        FixStrategy::Replan => {
            vec![PipelineDecision::EndWithFailures(EndReason::ReplansUsedUp)]
        }
    }
}

/// The end after the last round of fixes.
pub(super) fn out_of_rounds() -> PipelineDecision {
    PipelineDecision::EndWithFailures(EndReason::RoundsUsedUp)
}

pub(super) fn note_tried(next: &mut PipelineState, line: &str) {
    let line = one_line(line, TODO_FAILURE_CHARS_MAX);
    if !next.tried.contains(&line) {
        next.tried.push(line);
    }
    let surplus = next.tried.len().saturating_sub(TRIED_KEPT_MAX);
    next.tried.drain(..surplus);
}

/// Failed TODOs are tried again.
pub(super) fn forget_attempts(next: &mut PipelineState) {
    for progress in next.todos.values_mut() {
        progress.attempts = 0;
        progress.was_given_up |= progress.is_given_up;
        progress.is_given_up = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ending::LoopEnding;
    use crate::plan::PlanDocument;
    use crate::samples::{PLAN, approved_plan};
    use crate::state::{PipelineKind, PipelineOutcome, PlanApprover};
    use crate::step::{CommandReading, PipelineEvent, WorkReading, approval_objections, step};

    /// A full pipeline with the plan of the samples.
    fn full() -> PipelineState {
        PipelineState { kind: PipelineKind::Full, ..approved_plan(PLAN) }
    }

    /// A Stop at which these commands pass.
    fn stop(
        state: &PipelineState,
        passing: &[&str],
        problems: &str,
    ) -> (PipelineState, Vec<PipelineDecision>) {
        let approved = state.approved.as_ref().expect("approved").text().to_owned();
        let reading = |name: &str| {
            if passing.contains(&name) {
                CommandReading::Passed
            } else {
                CommandReading::Failed(format!("{name} is broken"))
            }
        };
        let argv = |name: &str| vec!["check".to_owned(), name.to_owned()];
        let names = ["one", "two", "three"];
        let commands = names.into_iter().map(|name| (argv(name), reading(name))).collect();
        let problems = Some(problems.to_owned()).filter(|it| !it.is_empty());
        let reading = WorkReading {
            plan: Some(approved),
            commands,
            problems,
            has_work: true,
            ..WorkReading::default()
        };
        step(state, PipelineEvent::WorkMeasured(reading), 5)
    }

    fn approve(state: &PipelineState, text: &str) -> PipelineState {
        let (text, by) = (text.to_owned(), PlanApprover::Person);
        step(state, PipelineEvent::PlanApproved { text, by }, 6).0
    }

    #[test]
    fn the_same_failure_three_times_retires_the_workers_that_tried() {
        let (mut state, _) = stop(&full(), &["one", "two"], "lint");
        state.known_workers.insert("a1".to_owned());
        for _ in 0..2 {
            state = stop(&state, &["one", "two"], "lint").0;
        }
        assert_eq!(state.retired_workers.iter().collect::<Vec<_>>(), ["a1"]);
        assert!(!state.is_replanning);
        let (other, _) = stop(&state, &["one", "two"], "other");
        assert_eq!(other.phase, PipelinePhase::Fix, "and the work goes on");
    }

    #[test]
    fn work_that_mostly_fails_goes_back_to_a_plan_that_must_grow() {
        let (gated, _) = stop(&full(), &["one", "two"], "lint");
        let (state, decisions) = stop(&gated, &[], "broken");
        assert_eq!((state.phase, state.is_replanning), (PipelinePhase::Plan, true));
        assert!(state.needs_approval() && !state.tried.is_empty());
        assert!(decisions.contains(&PipelineDecision::BeginAnew), "{decisions:?}");
        let same = approval_objections(&state, Some(PLAN));
        assert_eq!(same.len(), 1, "{same:?}");
        let more = format!("{PLAN}\n### [ ] TODO 3: another way\n- [A] `check three`\n");
        assert_eq!(approval_objections(&state, Some(&more)), []);
        assert!(PlanDocument::parse(&more).has_grown_since(&PlanDocument::parse(PLAN)));
        let state = approve(&state, &more);
        assert_eq!((state.phase, state.is_replanning), (PipelinePhase::Sprint, false));
        // Earlier failures do not count against the new plan.
        let (state, _) = stop(&state, &["one", "two", "three"], "lint");
        assert_eq!(state.phase, PipelinePhase::Fix);
    }

    #[test]
    fn a_plan_that_was_extended_often_enough_ends_the_pipeline_and_says_what_is_missing() {
        let mut state = full();
        state.replans = REPLANS_MAX;
        let (gated, _) = stop(&state, &["one", "two"], "lint");
        let (state, decisions) = stop(&gated, &[], "broken");
        assert!(
            decisions.iter().any(|it| matches!(it, PipelineDecision::EndWithFailures(_))),
            "{decisions:?}"
        );
        assert!(!state.is_replanning);
        let failed = LoopEnding::Failed(None);
        let (ended, _) = step(&state, PipelineEvent::LoopEnded(failed), 7);
        assert_eq!(ended.outcome, Some(PipelineOutcome::Partial));
        let open = EndReason::NotPassing(vec!["TODO-1".to_owned(), "TODO-2".to_owned()]);
        assert_eq!(ended.end_reasons(), [EndReason::ReplansUsedUp, open]);
    }
}
