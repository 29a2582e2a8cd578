//! The decision at a Stop, in the order of the contract: whose loop is it, is the agent waiting,
//! is it over, what does the evidence say, and only then the limits. Completion is tested before
//! the limits, so the last iteration counts.

use super::promise;
use super::state::{Iteration, LoopState, Remaining, Status};
use crate::base::evidence::{Evidence, Reading, SensorKind};
use crate::base::finding::Severity;
use crate::base::limits::{GAP_CHARS_MAX, SKIPPED_NAMED_MAX, UNMEASURED_BLOCKS_MAX};
use crate::base::text::one_line;
use crate::base::verdict::{Gap, Verdict};

/// What the host says at a Stop.
#[derive(Clone, Copy, Debug, Default)]
pub struct StopInput<'a> {
    /// The session that wants to stop.
    pub session_id: &'a str,
    /// The agent's own last message.
    pub last_message: &'a str,
    /// The agent waits for work of its own that goes on.
    pub is_waiting: bool,
}

/// Whether a Stop must be measured at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Let the turn end; nothing is measured, nothing counts.
    Allow,
    /// Let the turn end and tell the user that the loop is paused.
    AllowPaused,
    /// Gather evidence and call [`step`].
    Measure,
}

/// The first four questions, which need no evidence.
#[must_use]
pub fn admit(state: Option<&LoopState>, input: &StopInput<'_>) -> Admission {
    let Some(state) = state else { return Admission::Allow };
    // An empty id never matches, so a host that forgets the id cannot trap anyone.
    let is_owner =
        !input.session_id.is_empty() && state.session_id.as_deref() == Some(input.session_id);
    match state.status {
        _ if !is_owner || input.is_waiting => Admission::Allow,
        Status::Running => Admission::Measure,
        Status::Paused => Admission::AllowPaused,
        _ => Admission::Allow,
    }
}

/// What becomes of a measured Stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The turn ends; the loop has reached the status in its state.
    End,
    /// The turn goes on, for these reasons.
    Continue(Reasons),
}

/// Why a loop goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// Something is wrong.
    pub is_dirty: bool,
    /// Something could not be measured, for a reason that passes or that the agent can mend.
    pub waits_for: Option<Gap>,
    /// The evidence is clean, but the agent has not claimed completion.
    pub lacks_promise: bool,
}

/// Decides a Stop that [`admit`] let through. `lsp_required`: a gap that nobody closes by waiting
/// pauses the loop instead of ending it as unverified.
#[must_use]
pub fn step(
    state: &LoopState,
    input: &StopInput<'_>,
    evidence: &Evidence,
    lsp_required: bool,
    now_ms: u64,
) -> (LoopState, Decision) {
    let mut next = state.clone();
    next.iteration += 1;
    next.updated_ms = now_ms;
    next.remaining = remaining(evidence);
    let verdict = evidence.verdict();
    let is_claimed = state
        .promise
        .as_ref()
        .is_none_or(|promise| promise::is_claimed(input.last_message, promise));
    let mut reasons = Reasons::default();
    match verdict {
        Verdict::Dirty => reasons.is_dirty = true,
        Verdict::Unmeasured(gap) if may_close(&gap) && may_wait(state) => {
            reasons.waits_for = Some(gap);
        }
        _ if !is_claimed => reasons.lacks_promise = true,
        Verdict::Clean => next.status = Status::Completed,
        Verdict::Unmeasured(gap) => {
            next.status = if lsp_required { Status::Paused } else { Status::CompletedUnverified };
            next.note = Some(gaps(evidence).unwrap_or_else(|| gap.to_string()));
        }
    }
    let waits_again = reasons.waits_for.is_some();
    next.unmeasured_blocks = if waits_again { state.unmeasured_blocks + 1 } else { 0 };
    if next.status == Status::Running && next.iteration >= next.max_iterations {
        next.status = Status::MaxIterations;
        next.note = gaps(evidence);
    }
    let goes_on = next.status == Status::Running;
    next.history.push(Iteration {
        number: next.iteration,
        at_ms: now_ms,
        errors: next.remaining.errors,
        warnings: next.remaining.warnings,
        checks: checks_word(evidence).to_owned(),
        verdict: if goes_on { "continue" } else { next.status.as_str() }.to_owned(),
    });
    let decision = if goes_on { Decision::Continue(reasons) } else { Decision::End };
    (next, decision)
}

/// Cancelling is idempotent: a loop that is over stays what it was.
#[must_use]
pub fn cancel(state: &LoopState, now_ms: u64) -> LoopState {
    if !state.status.is_active() {
        return state.clone();
    }
    LoopState { status: Status::Cancelled, updated_ms: now_ms, ..state.clone() }
}

fn may_close(gap: &Gap) -> bool {
    gap.cause.is_passing() || gap.cause.is_mendable()
}

fn may_wait(state: &LoopState) -> bool {
    state.unmeasured_blocks < UNMEASURED_BLOCKS_MAX
}

fn remaining(evidence: &Evidence) -> Remaining {
    let failed = evidence
        .readings
        .iter()
        .filter(|reading| reading.kind == SensorKind::Check && reading.dirty)
        .map(|reading| reading.sensor.clone());
    Remaining {
        errors: evidence.count(Severity::Error),
        warnings: evidence.count(Severity::Warning),
        older: evidence.older,
        checks_failed: failed.collect(),
    }
}

/// All gaps in one text, each with its sensor.
fn gaps(evidence: &Evidence) -> Option<String> {
    let gaps: Vec<String> = evidence
        .readings
        .iter()
        .filter_map(|reading| Some(format!("{} ({})", reading.sensor, reading.gap.as_ref()?)))
        .chain(skipped(evidence))
        .collect();
    (!gaps.is_empty()).then(|| gaps.join("; "))
}

/// The first skipped files by name, the rest as a number.
fn skipped(evidence: &Evidence) -> impl Iterator<Item = String> {
    let named = evidence.skipped.iter().take(SKIPPED_NAMED_MAX);
    let more = evidence.skipped.len().saturating_sub(SKIPPED_NAMED_MAX);
    named
        .map(|one| format!("{} ({})", one_line(&one.path, GAP_CHARS_MAX), one.reason))
        .chain((more > 0).then(|| format!("{more} more files")))
}

fn checks_word(evidence: &Evidence) -> &'static str {
    let checks = evidence.readings.iter().filter(|reading| reading.kind == SensorKind::Check);
    match checks.map(Reading::verdict).reduce(Verdict::worse) {
        None => "none",
        Some(Verdict::Clean) => "clean",
        Some(Verdict::Dirty) => "dirty",
        Some(Verdict::Unmeasured(_)) => "unmeasured",
    }
}

#[cfg(test)]
pub(crate) mod tests;
