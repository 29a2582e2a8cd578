//! The end of a pipeline with its loop: the outcome, and a note on what it lacks.

use super::{LoopEnding, PipelineDecision};
use crate::gate::GateStatus;
use crate::person_question::missing_answers;
use crate::state::{PipelineKind, PipelineOutcome, PipelinePhase, PipelineState};
use moai_base::foreign_text::one_line;
use moai_base::limits::{PLAN_TEXT_CHARS_MAX, REASON_LINE_CHARS_MAX};
use moai_loops::state::Status;

/// The gates and their states: `review skipped, scenarios skipped`.
fn gate_words(gates: &[(&str, GateStatus)]) -> String {
    let words = gates.iter().map(|(name, status)| format!("{name} {}", status.as_str()));
    words.collect::<Vec<_>>().join(", ")
}

/// Ends the pipeline.
pub(super) fn end(next: &mut PipelineState, ending: LoopEnding) -> Vec<PipelineDecision> {
    let (passed, total) = (next.passed_todos(), next.todos.len());
    let unanswered = missing_answers(next);
    let is_whole = !next.needs_approval() && passed == total && unanswered.is_empty();
    let unproven = if next.kind == PipelineKind::Full { next.gates.unproven() } else { Vec::new() };
    let unproven = (!unproven.is_empty()).then(|| gate_words(&unproven));
    let faults = next.commit_faults;
    // The daemon may end between the loop's end and the pipeline's, which has the older look then.
    let stale = (faults > 0).then(|| "their faults were not looked at again".to_owned());
    let commits = next.commit_gap.clone().or(stale).map(|gap| format!("commits: {gap}"));
    let late = (!next.late_scripts.is_empty()).then(|| {
        let named = one_line(&next.late_scripts.join(", "), REASON_LINE_CHARS_MAX);
        format!("written after the approval, and not examined by anyone: {named}")
    });
    let missing: Vec<String> = unproven.into_iter().chain(commits).chain(late).collect();
    let (outcome, note) = match ending {
        LoopEnding::Completed if is_whole && !missing.is_empty() => {
            (PipelineOutcome::Unverified, Some(missing.join("; ")))
        }
        LoopEnding::Completed if is_whole => (PipelineOutcome::Completed, None),
        LoopEnding::Cancelled => (PipelineOutcome::Cancelled, None),
        LoopEnding::Unverified(unmeasured) if is_whole => {
            let note: Vec<String> = missing.into_iter().chain(unmeasured).collect();
            (PipelineOutcome::Unverified, (!note.is_empty()).then(|| note.join("; ")))
        }
        // A limit of time or tokens says nothing about the fault.
        LoopEnding::Limit(status) if !next.kind.has_plan() && !is_of_means(&status) => {
            (PipelineOutcome::Escalated, Some(status))
        }
        LoopEnding::Limit(status) => {
            let failed = next.failed_todos();
            let reason = if failed > 0 {
                workers_failed(next)
            } else if faults > 0 {
                format!("{status}; {faults} faults of the commits are left")
            } else {
                status
            };
            (PipelineOutcome::Partial, Some(with_missing(next, reason, &unanswered)))
        }
        LoopEnding::Completed | LoopEnding::Unverified(_) => {
            let reason = format!("{passed} of {total} TODOs pass");
            (PipelineOutcome::Partial, Some(with_missing(next, reason, &unanswered)))
        }
    };
    next.close_worktrees();
    next.phase = PipelinePhase::Ended;
    next.outcome = Some(outcome);
    next.note = note;
    Vec::new()
}

/// Why a pipeline ends that has nothing left but TODOs that failed.
pub(super) fn workers_failed(state: &PipelineState) -> String {
    format!("workers failed at {} of {} TODOs", state.failed_todos(), state.todos.len())
}

/// Whether a loop ended because its time or tokens were used up.
fn is_of_means(status: &str) -> bool {
    [Status::Budget, Status::TimedOut].iter().any(|limit| limit.as_str() == status)
}

/// Why a pipeline is partial, and everything that it lacks.
fn with_missing(next: &PipelineState, reason: String, unanswered: &[String]) -> String {
    let mut parts = vec![reason];
    let open = next.todos.iter().filter(|(_, progress)| !progress.has_passed);
    let open: Vec<&str> = open.map(|(id, _)| id.as_str()).collect();
    match (next.approved.is_some(), open.is_empty()) {
        (false, _) if !next.kind.has_plan() => {}
        (false, _) => parts.push("the plan is not approved".to_owned()),
        (true, false) => parts.push(format!("not passing: {}", open.join(", "))),
        (true, true) => {}
    }
    if next.is_replanning {
        parts.push("the plan was to be extended".to_owned());
    }
    if !unanswered.is_empty() {
        parts.push(format!("no person has agreed to {}", unanswered.join(", ")));
    }
    let unproven = next.gates.unproven();
    if next.kind == PipelineKind::Full && next.approved.is_some() && !unproven.is_empty() {
        parts.push(format!("gates: {}", gate_words(&unproven)));
    }
    one_line(&parts.join("; "), PLAN_TEXT_CHARS_MAX)
}
