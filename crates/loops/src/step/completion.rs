//! Decides whether a Stop completes the loop: clean and measured, approved if a judge is asked,
//! merged if there is a branch. Unmeasured work never counts as completed.

use super::{EvidenceOutlook, HoldReasons, may_close, may_wait, record};
use crate::facts::{JudgeOutcome, MergeOutcome, StopFacts, WorkChange};
use crate::state::{LoopState, Mode, PauseReason, Status};
use moai_base::evidence::Evidence;
use moai_base::verdict::{Cause, Gap};

/// The note of a loop that ends without any work.
pub const NOTHING_CHANGED: &str = "nothing was changed";

/// True if only the merge is missing: the evidence is clean, the judge has approved if it was
/// asked, and the loop does not continue to its last iteration anyway.
pub(super) fn wants_merge(
    state: &LoopState,
    outlook: &EvidenceOutlook,
    evidence: &Evidence,
    facts: &StopFacts,
) -> bool {
    let is_last = state.iteration + 1 >= state.max_iterations;
    state.branch.is_some()
        && is_done(outlook, evidence, facts)
        && (is_last || !state.options.force_max)
}

/// True if the evidence is clean, and the judge has approved if it was asked.
pub(super) fn is_done(outlook: &EvidenceOutlook, evidence: &Evidence, facts: &StopFacts) -> bool {
    match outlook {
        EvidenceOutlook::Clean => {
            matches!(facts.judge.outcome(), None | Some(JudgeOutcome::Approved))
        }
        EvidenceOutlook::Unverified(gap) => is_settled_by_judge(gap, evidence, facts),
        _ => false,
    }
}

/// True if the judge's approval is the only possible evidence, because no sensor applies to the
/// work.
fn is_settled_by_judge(gap: &Gap, evidence: &Evidence, facts: &StopFacts) -> bool {
    gap.cause == Cause::Nothing
        && evidence.has_one_gap()
        && facts.judge.outcome() == Some(&JudgeOutcome::Approved)
}

/// Writes the result of evidence and facts into the next state or into the reasons for going on.
/// `next` counts this Stop already, except in its unmeasured blocks.
pub(super) fn complete(
    next: &mut LoopState,
    reasons: &mut HoldReasons,
    outlook: EvidenceOutlook,
    evidence: &Evidence,
    facts: &StopFacts,
) {
    match outlook {
        // The loop is paused before its completion is decided; the reasons name an open plan already.
        EvidenceOutlook::PausesForUser(_) | EvidenceOutlook::PlanOpen => {}
        EvidenceOutlook::Dirty => reasons.is_dirty = true,
        EvidenceOutlook::WaitingFor(gap) => reasons.waiting_gap = Some(gap),
        EvidenceOutlook::Unclaimed => reasons.lacks_promise = true,
        EvidenceOutlook::Idle => reasons.is_idle = true,
        EvidenceOutlook::RequiredGap(gap) => {
            next.status = Status::Paused;
            next.pause_reason = Some(PauseReason::LspRequired);
            next.note = Some(record::gaps(evidence).unwrap_or_else(|| gap.to_string()));
        }
        EvidenceOutlook::Unverified(gap) if !is_settled_by_judge(&gap, evidence, facts) => {
            let gaps = record::gaps(evidence).unwrap_or_else(|| gap.to_string());
            let missing = match unproven_work(next, facts) {
                Some(work) => format!("{work}; {gaps}"),
                None => gaps,
            };
            apply_judgement(next, reasons, facts, Some(missing));
        }
        EvidenceOutlook::Clean | EvidenceOutlook::Unverified(_) => {
            let missing = unproven_work(next, facts);
            apply_judgement(next, reasons, facts, missing);
        }
    }
}

/// The reason why it is unproven that the loop has done any work.
fn unproven_work(next: &mut LoopState, facts: &StopFacts) -> Option<String> {
    let why = match &facts.work {
        WorkChange::Changed => return None,
        WorkChange::Unchanged => NOTHING_CHANGED.to_owned(),
        WorkChange::Unknown(reason) => format!("whether anything was changed ({reason})"),
    };
    next.basis.gaps.push(why.clone());
    Some(why)
}

/// Applies the judge's outcome; `missing` names the gaps of the evidence.
fn apply_judgement(
    next: &mut LoopState,
    reasons: &mut HoldReasons,
    facts: &StopFacts,
    missing: Option<String>,
) {
    let gap = match facts.judge.outcome() {
        Some(JudgeOutcome::Rejected { reasons: why }) => {
            next.counters.consecutive_rejections += 1;
            reasons.rejected.clone_from(why);
            if why.is_empty() {
                reasons.rejected.push("the judge gave no reason".to_owned());
            }
            return;
        }
        Some(JudgeOutcome::Unmeasured(gap)) => Some(gap.clone()),
        Some(JudgeOutcome::Approved) => {
            next.counters.consecutive_rejections = 0;
            None
        }
        // A judge that was not asked has not approved.
        None => (next.mode == Mode::Judge).then(|| Gap::new(Cause::NoTool, "it was not called")),
    };
    match gap {
        Some(gap) if may_close(&gap) && may_wait(next) => reasons.waiting_gap = Some(gap),
        Some(gap) => {
            let mut missing = with_missing(next, missing, format!("judge ({gap})"));
            if let Some(branch) = next.branch.clone() {
                missing = unmerged(next, Some(missing), &branch);
            }
            end(next, reasons, Some(missing));
        }
        None => apply_merge(next, reasons, facts, missing),
    }
}

/// Applies the outcome of the merge, if the loop has a branch.
fn apply_merge(
    next: &mut LoopState,
    reasons: &mut HoldReasons,
    facts: &StopFacts,
    missing: Option<String>,
) {
    let Some(branch) = next.branch.clone() else { return end(next, reasons, missing) };
    let has_more_iterations = next.options.force_max && next.iteration < next.max_iterations;
    match facts.merge.outcome() {
        _ if has_more_iterations => end(next, reasons, missing),
        Some(MergeOutcome::Merged) => end(next, reasons, missing),
        Some(MergeOutcome::Conflict(task)) => reasons.conflict = Some(task.clone()),
        Some(MergeOutcome::Unmeasured(gap)) if may_close(gap) && may_wait(next) => {
            reasons.waiting_gap = Some(gap.clone());
        }
        Some(MergeOutcome::Unmeasured(gap)) => fail(next, &branch, &gap.to_string()),
        Some(MergeOutcome::Held(why)) => {
            next.status = Status::Paused;
            next.pause_reason = Some(PauseReason::BaseInUse);
            next.note = Some(why.clone());
        }
        Some(MergeOutcome::Impossible(why)) => fail(next, &branch, why),
        None => {
            let missing = unmerged(next, missing, &branch);
            end(next, reasons, Some(missing));
        }
    }
}

fn end(next: &mut LoopState, reasons: &mut HoldReasons, missing: Option<String>) {
    next.note = missing;
    if next.options.force_max && next.iteration < next.max_iterations {
        reasons.is_acknowledged = true;
    } else {
        next.status = end_status(next);
    }
}

/// The status of work without errors; the note lists the missing parts.
pub(super) fn end_status(next: &LoopState) -> Status {
    if next.note.is_none() { Status::Completed } else { Status::CompletedUnverified }
}

fn fail(next: &mut LoopState, branch: &str, why: &str) {
    next.status = Status::Failed;
    next.note = Some(format!("{branch} could not be merged: {why}"));
}

/// Adds one more missing thing to those of the evidence.
fn with_missing(next: &mut LoopState, missing: Option<String>, more: String) -> String {
    let all = missing.map_or_else(|| more.clone(), |missing| format!("{missing}; {more}"));
    next.basis.gaps.push(more);
    all
}

/// Adds the branch, because it is not merged.
fn unmerged(next: &mut LoopState, missing: Option<String>, branch: &str) -> String {
    with_missing(next, missing, format!("merge ({branch} is not merged)"))
}
