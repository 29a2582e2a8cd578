//! How a pipeline ended, and everything that its outcome rests on.

use serde::{Deserialize, Serialize};

use crate::gate::GateStatus;
use crate::person_question::missing_answers;
use crate::state::{PipelineKind, PipelineOutcome, PipelineState, TodoProgress};
use moai_base::limits::{GATE_ROUNDS_MAX, REPLANS_MAX};
use moai_loops::state::Status;

/// The end of a pipeline's loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopEnding {
    /// Complete and measured.
    Completed,
    /// Complete as far as measured; the unmeasured part, in the loop's words.
    Unverified(Option<String>),
    /// The user cancelled it.
    Cancelled,
    /// At a limit, without success.
    Limit(Status),
    /// It could not be finished, for this reason.
    Failed(Option<String>),
    /// The store has no record of it.
    Gone,
}

/// One thing that the outcome of a pipeline rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The loop reached a limit.
    Limit(Status),
    /// The loop could not be finished, for this reason.
    Failed(Option<String>),
    /// The store has no record of the loop.
    LoopGone,
    /// Too many attempts at these TODOs failed.
    AttemptsUsedUp(Vec<String>),
    /// Gates still fail after the last round of fixes.
    RoundsUsedUp,
    /// Gates still fail after the plan was extended for the last time.
    ReplansUsedUp,
    /// These TODOs do not pass.
    NotPassing(Vec<String>),
    /// Commands have no result, because these programs are not installed; each with the reason.
    NotInstalled(Vec<String>),
    /// No plan was approved.
    NotApproved,
    /// The plan was to be extended.
    NotExtended,
    /// No person has approved these additions to the plan.
    Additions(Vec<String>),
    /// No person has agreed to these.
    Unanswered(Vec<String>),
    /// A gate was not passed.
    Gate(&'static str, GateStatus),
    /// Number of faults of the commits that are left.
    CommitFaults(usize),
    /// Faults of the commits were not looked at again.
    CommitsNotChecked,
    /// The commits are not verified, for this reason.
    CommitGap(String),
    /// These scripts were written after the approval and are unexamined.
    LateScripts(Vec<String>),
    /// The loop could not measure everything; what was not, as it names it.
    NotMeasured(Option<String>),
}

impl PipelineState {
    /// The outcome of the end of its loop.
    pub(crate) fn outcome_of(&self, ending: &LoopEnding) -> PipelineOutcome {
        match ending {
            LoopEnding::Cancelled => PipelineOutcome::Cancelled,
            LoopEnding::Completed if self.is_whole() && self.unproven().is_empty() => {
                PipelineOutcome::Completed
            }
            LoopEnding::Completed | LoopEnding::Unverified(_) if self.is_whole() => {
                PipelineOutcome::Unverified
            }
            // A limit of time or tokens does not prove failed attempts.
            LoopEnding::Limit(Status::Budget | Status::TimedOut) | LoopEnding::Gone => {
                PipelineOutcome::Partial
            }
            LoopEnding::Limit(_) | LoopEnding::Failed(_) if !self.kind.has_plan() => {
                PipelineOutcome::Escalated
            }
            _ => PipelineOutcome::Partial,
        }
    }

    /// Why it ended as it did, the most important reason first; empty for one that is completed, cancelled
    /// or active.
    #[must_use]
    pub fn end_reasons(&self) -> Vec<EndReason> {
        match &self.ending {
            None | Some(LoopEnding::Cancelled) => Vec::new(),
            Some(LoopEnding::Completed) if self.is_whole() => self.unproven(),
            Some(LoopEnding::Unverified(gaps)) if self.is_whole() => {
                [self.unproven(), vec![EndReason::NotMeasured(gaps.clone())]].concat()
            }
            Some(ending) => [self.cause(ending), self.lacks()].concat(),
        }
    }

    /// True if the plan is done, and every person has agreed.
    fn is_whole(&self) -> bool {
        !self.needs_approval()
            && self.passed_todos() == self.todos.len()
            && missing_answers(self).is_empty()
    }

    /// The reasons why a finished plan is not verified.
    fn unproven(&self) -> Vec<EndReason> {
        let mut reasons = self.open_gates();
        if let Some(gap) = &self.commit_gap {
            reasons.push(EndReason::CommitGap(gap.clone()));
        } else if self.commit_faults > 0 {
            // The daemon may end between the loop's end and the pipeline's, which then has only the
            // older check.
            reasons.push(EndReason::CommitsNotChecked);
        }
        if !self.late_scripts.is_empty() {
            reasons.push(EndReason::LateScripts(self.late_scripts.clone()));
        }
        reasons
    }

    /// Why the loop ended without success.
    fn cause(&self, ending: &LoopEnding) -> Vec<EndReason> {
        let given_up = self.failed_todos();
        match ending {
            _ if !given_up.is_empty() => vec![EndReason::AttemptsUsedUp(given_up)],
            LoopEnding::Gone => vec![EndReason::LoopGone],
            LoopEnding::Limit(status) => vec![EndReason::Limit(*status)],
            LoopEnding::Failed(_) if self.fix_rounds.len() >= GATE_ROUNDS_MAX => {
                vec![EndReason::RoundsUsedUp]
            }
            LoopEnding::Failed(_) if self.replans >= REPLANS_MAX => vec![EndReason::ReplansUsedUp],
            LoopEnding::Failed(reason) => vec![EndReason::Failed(reason.clone())],
            LoopEnding::Completed | LoopEnding::Unverified(_) | LoopEnding::Cancelled => Vec::new(),
        }
    }

    /// Everything that the work lacks.
    fn lacks(&self) -> Vec<EndReason> {
        let mut reasons = Vec::new();
        if !self.kind.has_plan() {
            return reasons;
        }
        if self.approved.is_none() {
            return vec![EndReason::NotApproved];
        }
        let is_open = |it: &TodoProgress| !it.has_passed && !it.is_given_up;
        let open = self.todos.iter().filter(|(_, progress)| is_open(progress));
        let open: Vec<String> = open.map(|(id, _)| id.clone()).collect();
        if !open.is_empty() {
            reasons.push(EndReason::NotPassing(open));
        }
        let lacking = self.todos.values().filter(|progress| progress.lacks_program);
        let lacking: Vec<String> = lacking.map(|progress| progress.failure.clone()).collect();
        if !lacking.is_empty() {
            reasons.push(EndReason::NotInstalled(lacking));
        }
        if self.is_replanning {
            reasons.push(EndReason::NotExtended);
        }
        if !self.unapproved.is_empty() {
            reasons.push(EndReason::Additions(self.unapproved.clone()));
        }
        let unanswered = missing_answers(self);
        if !unanswered.is_empty() {
            reasons.push(EndReason::Unanswered(unanswered));
        }
        if self.passed_todos() == self.todos.len() {
            reasons.extend(self.open_gates());
        }
        if self.commit_faults > 0 {
            reasons.push(EndReason::CommitFaults(self.commit_faults));
        }
        reasons
    }

    /// The gates that are not passed.
    fn open_gates(&self) -> Vec<EndReason> {
        if self.kind != PipelineKind::Full {
            return Vec::new();
        }
        let open = self.gates.unproven().into_iter();
        open.map(|(name, status)| EndReason::Gate(name, status)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{PLAN, approved_plan, begun};
    use crate::step::{PipelineEvent, step};

    /// The same state with some TODOs passed.
    fn passed(state: &PipelineState, todos: &[&str]) -> PipelineState {
        let mut state = state.clone();
        for (id, progress) in &mut state.todos {
            progress.has_passed = todos.contains(&id.as_str());
        }
        state
    }

    fn check(
        state: &PipelineState,
        ending: LoopEnding,
        outcome: PipelineOutcome,
        reasons: &[EndReason],
    ) {
        let (ended, _) = step(state, PipelineEvent::LoopEnded(ending.clone()), 5);
        assert_eq!((ended.outcome, ended.ending.clone()), (Some(outcome), Some(ending)));
        assert_eq!(ended.end_reasons(), reasons, "{ended:#?}");
    }

    #[test]
    fn a_plan_that_is_done_is_completed_and_everything_unproven_is_a_reason() {
        let done = passed(&approved_plan(PLAN), &["TODO-1", "TODO-2"]);
        check(&done, LoopEnding::Completed, PipelineOutcome::Completed, &[]);
        check(
            &done,
            LoopEnding::Unverified(Some("pyright".to_owned())),
            PipelineOutcome::Unverified,
            &[EndReason::NotMeasured(Some("pyright".to_owned()))],
        );
        let mut full = PipelineState { kind: PipelineKind::Full, ..done.clone() };
        full.gates.tests = GateStatus::Passed;
        full.gates.review = GateStatus::Skipped;
        full.gates.scenarios = GateStatus::Absent;
        full.commit_faults = 2;
        full.late_scripts = vec!["t/new.sh".to_owned()];
        check(
            &full,
            LoopEnding::Completed,
            PipelineOutcome::Unverified,
            &[
                EndReason::Gate("review", GateStatus::Skipped),
                EndReason::CommitsNotChecked,
                EndReason::LateScripts(vec!["t/new.sh".to_owned()]),
            ],
        );
    }

    #[test]
    fn an_unfinished_plan_names_the_cause_and_then_what_it_lacks() {
        let half = passed(&approved_plan(PLAN), &["TODO-1"]);
        let open = EndReason::NotPassing(vec!["TODO-2".to_owned()]);
        for status in [
            Status::MaxIterations,
            Status::TimedOut,
            Status::Budget,
            Status::Stalled,
            Status::Oscillating,
            Status::Gaming,
        ] {
            let reasons = [EndReason::Limit(status), open.clone()];
            check(&half, LoopEnding::Limit(status), PipelineOutcome::Partial, &reasons);
        }
        let added = PipelineState { unapproved: vec!["TODO-3".to_owned()], ..half.clone() };
        let limit = Status::MaxIterations;
        let additions = EndReason::Additions(vec!["TODO-3".to_owned()]);
        let reasons = [EndReason::Limit(limit), open.clone(), additions];
        check(&added, LoopEnding::Limit(limit), PipelineOutcome::Partial, &reasons);
        let failure = "`check two` has no result: check was not found on PATH".to_owned();
        let mut lacking = half.clone();
        if let Some(progress) = lacking.todos.get_mut("TODO-2") {
            (progress.lacks_program, progress.failure) = (true, failure.clone());
        }
        let reasons = [open.clone(), EndReason::NotInstalled(vec![failure])];
        check(&lacking, LoopEnding::Unverified(None), PipelineOutcome::Partial, &reasons);
        let gone = [EndReason::LoopGone, open.clone()];
        check(&half, LoopEnding::Gone, PipelineOutcome::Partial, &gone);
        check(&half, LoopEnding::Completed, PipelineOutcome::Partial, std::slice::from_ref(&open));
        check(&half, LoopEnding::Cancelled, PipelineOutcome::Cancelled, &[]);
        let mut given_up = half.clone();
        if let Some(progress) = given_up.todos.get_mut("TODO-2") {
            progress.is_given_up = true;
        }
        let used_up = EndReason::AttemptsUsedUp(vec!["TODO-2".to_owned()]);
        let failed = LoopEnding::Failed(Some("why".to_owned()));
        check(&given_up, failed.clone(), PipelineOutcome::Partial, &[used_up]);
        let replanned = PipelineState { replans: REPLANS_MAX, ..half.clone() };
        let reasons = [EndReason::ReplansUsedUp, open.clone()];
        check(&replanned, failed.clone(), PipelineOutcome::Partial, &reasons);
        let reasons = [EndReason::Failed(Some("why".to_owned())), open];
        check(&half, failed, PipelineOutcome::Partial, &reasons);
        let stalled = LoopEnding::Limit(Status::Stalled);
        let reasons = [EndReason::Limit(Status::Stalled), EndReason::NotApproved];
        check(&begun(), stalled, PipelineOutcome::Partial, &reasons);
    }

    #[test]
    fn a_bugfix_escalates_unless_time_or_tokens_were_used_up() {
        let bugfix = PipelineState { kind: PipelineKind::Bugfix, ..begun() };
        check(&bugfix, LoopEnding::Completed, PipelineOutcome::Completed, &[]);
        for (status, outcome) in [
            (Status::MaxIterations, PipelineOutcome::Escalated),
            (Status::Stalled, PipelineOutcome::Escalated),
            (Status::Gaming, PipelineOutcome::Escalated),
            (Status::Budget, PipelineOutcome::Partial),
            (Status::TimedOut, PipelineOutcome::Partial),
        ] {
            check(&bugfix, LoopEnding::Limit(status), outcome, &[EndReason::Limit(status)]);
        }
    }
}
