//! The decision at a Stop: [`admit_stop`] decides what needs no evidence (the owner of the loop, its
//! status, background tasks), [`next_step`] everything else. Completion is decided before the limits,
//! so that the last iteration counts.

mod completion;
mod losses;
mod record;

use super::facts::{Consultation, JudgeOutcome, StopFacts, WorkChange};
use super::progress::{self, ProgressSignals};
use super::promise;
use super::state::{LoopState, Mode, PauseReason, Status};
pub use completion::NOTHING_CHANGED;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::limits::{BACKGROUND_STOPS_MAX, RESEARCH_TRIES_MAX, UNMEASURED_BLOCKS_MAX};
use moai_base::verdict::{Gap, Verdict};

/// The host's input at a Stop.
#[derive(Clone, Copy, Debug, Default)]
pub struct StopInput<'a> {
    /// The session that wants to stop.
    pub session_id: &'a str,
    /// The agent's last message.
    pub last_message: &'a str,
    /// True if the turn must end: it was interrupted, or its context is full.
    pub must_end: bool,
    /// True if the turn continues only because a hook held an earlier Stop.
    pub is_continuation: bool,
    /// True if the agent called a tool since its last Stop; the host then starts counting again.
    pub has_acted: bool,
    /// Number of consecutive Stops, including this one, at which background tasks were
    /// running; 0 without tasks.
    pub waiting_stops: u32,
    /// Now, in milliseconds since the epoch.
    pub now_ms: u64,
    /// Consecutive continuations that the host allows; `None` for any number.
    pub continuations_max: Option<u32>,
}

/// The admission of a Stop to a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopAdmission {
    /// Let the turn end; nothing is measured or counted.
    Allow,
    /// Let the turn end and tell the user that the loop is paused.
    AllowPaused,
    /// Let the turn end, because the agent waits for its background tasks.
    AllowWaiting,
    /// Gather evidence and call [`next_step`].
    Measure,
}

/// Decides what needs no evidence.
#[must_use]
pub fn admit_stop(state: Option<&LoopState>, input: &StopInput<'_>) -> StopAdmission {
    let Some(state) = state else { return StopAdmission::Allow };
    // An empty id never matches, so a host that forgets the id cannot trap anyone.
    let is_owner =
        !input.session_id.is_empty() && state.session_id.as_deref() == Some(input.session_id);
    match state.status {
        _ if !is_owner || input.must_end => StopAdmission::Allow,
        Status::Running if is_waiting(state, input) => StopAdmission::AllowWaiting,
        Status::Running => StopAdmission::Measure,
        Status::Paused => StopAdmission::AllowPaused,
        _ => StopAdmission::Allow,
    }
}

/// True if the agent may wait for its background tasks: a few times, and not beyond the loop's
/// time.
fn is_waiting(state: &LoopState, input: &StopInput<'_>) -> bool {
    (1..=BACKGROUND_STOPS_MAX).contains(&input.waiting_stops) && !state.is_out_of_time(input.now_ms)
}

/// The result of the evidence alone.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EvidenceOutlook {
    /// The loop pauses for the user regardless of the evidence.
    PausesForUser(PauseReason),
    /// There are errors.
    Dirty,
    /// A measurement is missing, for a reason that is temporary or that the agent can fix.
    WaitingFor(Gap),
    /// There are no errors, but the plan lacks something.
    PlanOpen,
    /// There are no errors, but the agent does not claim to be done.
    Unclaimed,
    /// There are no errors, but no file was changed, and the agent was not asked about that yet.
    Idle,
    /// A required language server could not measure.
    RequiredGap(Gap),
    /// There are no errors, but a measurement is missing, and waiting will not help.
    Unverified(Gap),
    /// Everything was measured, and there are no errors.
    Clean,
}

impl EvidenceOutlook {
    /// True if only a judge could still object.
    fn is_open_to_judge(&self) -> bool {
        matches!(self, Self::Clean | Self::Unverified(_))
    }
}

/// The next step of an admitted Stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopStep {
    /// Only a judge could still object: ask it and set [`StopFacts::judge`].
    NeedsJudge,
    /// Everything is done if the files are still those that were measured: compare them and set
    /// [`StopFacts::closing_look`].
    NeedsClosingLook,
    /// Only the merge is missing: merge and set [`StopFacts::merge`].
    NeedsMerge,
    /// Save the measured work tree as a checkpoint and set [`StopFacts::checkpoint`].
    NeedsCheckpoint,
    Decided(Box<StopOutcome>),
}

/// A decided Stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopOutcome {
    pub next: LoopState,
    /// The answer to the host.
    pub decision: StopDecision,
}

/// The next step of a Stop that [`admit_stop`] let through. Call it again with the outcome of each
/// step among the facts, until the Stop is decided; each step is taken at most once.
#[must_use]
pub fn next_step(
    state: &LoopState,
    input: &StopInput<'_>,
    evidence: &Evidence,
    facts: &StopFacts,
) -> StopStep {
    let outlook = evidence_outlook(state, input, evidence, facts);
    let is_judged = state.mode != Mode::Basic && outlook.is_open_to_judge();
    if is_judged && facts.judge == Consultation::Open {
        return StopStep::NeedsJudge;
    }
    if facts.closing_look == Consultation::Open && completion::is_done(&outlook, evidence, facts) {
        return StopStep::NeedsClosingLook;
    }
    if facts.merge == Consultation::Open
        && completion::wants_merge(state, &outlook, evidence, facts)
    {
        return StopStep::NeedsMerge;
    }
    if facts.checkpoint == Consultation::Open {
        return StopStep::NeedsCheckpoint;
    }
    let (next, decision) = decide_stop(state, input, evidence, facts);
    StopStep::Decided(Box::new(StopOutcome { next, decision }))
}

fn evidence_outlook(
    state: &LoopState,
    input: &StopInput<'_>,
    evidence: &Evidence,
    facts: &StopFacts,
) -> EvidenceOutlook {
    if !facts.exam_changed.is_empty() {
        return EvidenceOutlook::PausesForUser(PauseReason::ExamChanged);
    }
    if has_unconfirmed_override(state) {
        return EvidenceOutlook::PausesForUser(PauseReason::Overridden);
    }
    if !facts.plan_unusable.is_empty() {
        return EvidenceOutlook::PausesForUser(PauseReason::PlanUnusable);
    }
    if !facts.person_questions.is_empty() {
        return EvidenceOutlook::PausesForUser(PauseReason::AwaitsPerson);
    }
    let evidence = &losses::count_losses_as_failures(state, evidence);
    let verdict = match (evidence.verdict(), facts.closing_look.outcome()) {
        (Verdict::Dirty, _) => Verdict::Dirty,
        (_, Some(gap)) => Verdict::Unmeasured(gap.clone()),
        (verdict, None) => verdict,
    };
    match verdict {
        Verdict::Dirty => EvidenceOutlook::Dirty,
        _ if !facts.plan_open.is_empty() || !facts.plan_tasks.is_empty() => {
            EvidenceOutlook::PlanOpen
        }
        Verdict::Unmeasured(gap) if may_close(&gap) && may_wait(state) => {
            EvidenceOutlook::WaitingFor(gap)
        }
        _ if is_claimed(state, input) == Some(false) => EvidenceOutlook::Unclaimed,
        _ if is_idle(state, facts) => EvidenceOutlook::Idle,
        Verdict::Clean => EvidenceOutlook::Clean,
        Verdict::Unmeasured(gap) if facts.lsp_required && may_be_of_servers(evidence) => {
            EvidenceOutlook::RequiredGap(gap)
        }
        Verdict::Unmeasured(gap) => EvidenceOutlook::Unverified(gap),
    }
}

/// True if an override of the loop was possibly not made by the user.
fn has_unconfirmed_override(state: &LoopState) -> bool {
    state.overrides.iter().any(|entry| !entry.is_confirmed)
}

/// True if the agent claims the promise; `None` if the loop requires none.
fn is_claimed(state: &LoopState, input: &StopInput<'_>) -> Option<bool> {
    state.promise.as_ref().map(|promise| promise::is_claimed(input.last_message, promise))
}

/// True if no file was changed and the agent has not been asked why. After the last iteration it
/// could not answer.
fn is_idle(state: &LoopState, facts: &StopFacts) -> bool {
    facts.work == WorkChange::Unchanged
        && state.counters.idle_holds == 0
        && state.iteration + 1 < state.max_iterations
}

fn may_close(gap: &Gap) -> bool {
    gap.cause.is_transient() || gap.cause.is_fixable_by_agent()
}

fn may_wait(state: &LoopState) -> bool {
    state.counters.unmeasured_blocks < UNMEASURED_BLOCKS_MAX
}

/// True if the gap may be a language server's: one of them has a gap, or no reading has one.
fn may_be_of_servers(evidence: &Evidence) -> bool {
    let mut gaps = evidence.readings.iter().filter(|reading| reading.gap.is_some()).peekable();
    gaps.peek().is_none() || gaps.any(|reading| reading.kind == SensorKind::Lsp)
}

/// The decision at a measured Stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopDecision {
    /// The turn ends; the loop has reached the status in its state, or is paused.
    End,
    /// The turn continues, with these reasons.
    Continue(HoldReasons),
    /// The loop is not done, but the host will not hold the turn again; the user must continue it.
    Yield(HoldReasons),
}

/// The reasons why a loop continues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldReasons {
    /// There are errors.
    pub is_dirty: bool,
    /// A measurement is missing, for a reason that is temporary or that the agent can fix.
    pub waiting_gap: Option<Gap>,
    /// Sensors and checks that measured earlier in this loop but not now, as failed readings.
    pub lost_sensors: Vec<SensorReading>,
    /// The evidence is clean, but the agent has not claimed completion.
    pub lacks_promise: bool,
    /// No file was changed since the loop began.
    pub is_idle: bool,
    /// The judge's reasons for its rejection; empty if it did not reject.
    pub rejected: Vec<String>,
    /// The judge rejected so often that the agent should try another approach.
    pub needs_new_strategy: bool,
    /// The finished branch conflicts with the base branch: the task for the agent.
    pub conflict: Option<String>,
    /// Everything is done, but the user wants all iterations.
    pub is_acknowledged: bool,
    /// Requirements of the research phase that are not met; the Stop was not counted.
    pub research_missing: Vec<String>,
    /// The open points of the plan of the loop's pipeline.
    pub plan_open: Vec<String>,
    /// The agent's next tasks for that pipeline.
    pub plan_tasks: Vec<String>,
    /// Claims of the agent that the measurements contradict.
    pub contradictions: Vec<String>,
    /// Comparison with the iterations before.
    pub signals: ProgressSignals,
}

/// Decides a Stop by the facts as they are, whatever steps were taken.
fn decide_stop(
    state: &LoopState,
    input: &StopInput<'_>,
    evidence: &Evidence,
    facts: &StopFacts,
) -> (LoopState, StopDecision) {
    let outlook = evidence_outlook(state, input, evidence, facts);
    if let EvidenceOutlook::PausesForUser(reason) = outlook {
        return (record::pause_for_user(state, reason, facts), StopDecision::End);
    }
    let lost = losses::lost_readings(state, evidence);
    let evidence = &losses::count_losses_as_failures(state, evidence);
    let mut next = record::record_measured_stop(state, input, evidence, facts);
    let now = record::iteration(&next, evidence, facts);
    let signals = progress::signals(&state.history, state.counted_from, &now);
    let mut reasons = HoldReasons {
        lost_sensors: lost,
        plan_open: facts.plan_open.clone(),
        plan_tasks: facts.plan_tasks.clone(),
        contradictions: facts.contradictions.clone(),
        signals,
        ..HoldReasons::default()
    };
    completion::complete(&mut next, &mut reasons, outlook, evidence, facts);
    next.counters.unmeasured_blocks =
        if reasons.waiting_gap.is_some() { state.counters.unmeasured_blocks + 1 } else { 0 };
    next.counters.idle_holds += u32::from(reasons.is_idle);
    if next.status == Status::Running {
        apply_limits(&mut next, &reasons, evidence, facts);
    }
    let is_held_by_research = is_held_by_research(state, facts);
    if next.status == Status::Running {
        apply_pause(&mut next, &mut reasons, facts, is_held_by_research);
    }
    let goes_on = next.status == Status::Running;
    if goes_on && is_held_by_research {
        next.iteration = state.iteration;
        next.counters.research_tries += 1;
        reasons.research_missing.clone_from(&facts.research_missing);
    } else {
        record::push(&mut next, now, &reasons);
    }
    let decision = if goes_on {
        continue_or_yield(state, input, &mut next, reasons)
    } else {
        StopDecision::End
    };
    (next, decision)
}

/// Ends the loop at the first limit that is reached, unless its work is done already.
fn apply_limits(
    next: &mut LoopState,
    reasons: &HoldReasons,
    evidence: &Evidence,
    facts: &StopFacts,
) {
    if let Some(reason) = &facts.plan_failure {
        next.status = Status::Failed;
        next.note = Some(reason.clone());
        return;
    }
    let signals = &reasons.signals;
    let status = if next.iteration >= next.max_iterations {
        Status::MaxIterations
    } else if next.is_out_of_time(facts.now_ms) {
        Status::TimedOut
    } else if next.is_out_of_tokens() {
        Status::Budget
    // The more specific end comes first, because a loop that oscillates is stalled, too.
    } else if !signals.gamed_again.is_empty() {
        Status::Gaming
    } else if signals.oscillates_again {
        Status::Oscillating
    } else if signals.is_stalled() {
        Status::Stalled
    } else {
        return;
    };
    // Work on a branch that is not merged is not done.
    if reasons.is_acknowledged && next.branch.is_none() {
        next.status = completion::end_status(next);
        return;
    }
    next.status = status;
    next.note = match status {
        Status::Gaming => Some(signals.gamed_again.join(", ")),
        _ => record::gaps(evidence),
    };
}

/// Pauses the loop for a review by the user, a full context or a milestone; in autonomous mode the
/// agent must try another approach instead of waiting for a review. A Stop that the research phase holds does not
/// count, so it reaches no milestone.
fn apply_pause(
    next: &mut LoopState,
    reasons: &mut HoldReasons,
    facts: &StopFacts,
    is_held_by_research: bool,
) {
    if let Some(JudgeOutcome::Rejected { .. }) = facts.judge.outcome()
        && next.counters.consecutive_rejections >= next.options.hitl_threshold
    {
        if next.mode != Mode::Autonomous {
            next.status = Status::Paused;
            next.pause_reason = Some(PauseReason::Hitl);
            next.note = Some(reasons.rejected.join("; "));
            return;
        }
        next.counters.consecutive_rejections = 0;
        reasons.needs_new_strategy = true;
    }
    // Before the milestone, because a resumed milestone would continue with a full context.
    if let Some(full) = facts.context.as_ref().filter(|context| context.is_used_up()) {
        next.status = Status::Paused;
        next.pause_reason = Some(PauseReason::ContextBudget);
        next.note = Some(full.line.clone());
        return;
    }
    let is_milestone = |every: u32| next.iteration.is_multiple_of(every);
    if !is_held_by_research && next.options.milestone_every.is_some_and(is_milestone) {
        next.status = Status::Paused;
        next.pause_reason = Some(PauseReason::Milestone);
    }
}

/// True if the first Stop still waits for the research phase.
fn is_held_by_research(state: &LoopState, facts: &StopFacts) -> bool {
    state.options.research
        && state.iteration == 0
        && state.counters.research_tries < RESEARCH_TRIES_MAX
        && !facts.research_missing.is_empty()
}

/// Holds the turn, unless the host would end it anyway and call that a success.
fn continue_or_yield(
    state: &LoopState,
    input: &StopInput<'_>,
    next: &mut LoopState,
    reasons: HoldReasons,
) -> StopDecision {
    let is_in_row = input.is_continuation && !input.has_acted;
    let in_row = if is_in_row { state.counters.continuations } else { 0 };
    if input.continuations_max.is_some_and(|most| in_row >= most) {
        next.counters.continuations = 0;
        return StopDecision::Yield(reasons);
    }
    next.counters.continuations = in_row + 1;
    StopDecision::Continue(reasons)
}

#[cfg(test)]
mod tests;
