//! Changes of a loop between two Stops by users and sessions: claim, adopt, pause, resume, cancel.
//! Each is idempotent.

use super::start::{LoopStartError, bounded_iterations, bounded_minutes, bounded_tokens};
use super::state::{ForeignEvent, LoopState, ManualOverride, PauseReason, Status};
use moai_base::limits::{CHANGED_FILES_NAMED_MAX, LOOP_FOREIGN_EVENTS_MAX, LOOP_OVERRIDES_MAX};

/// The loop, claimed by a session. Its time counts from now, because it may have waited for long.
#[must_use]
pub fn claim_loop(state: &LoopState, session_id: &str, now_ms: u64) -> LoopState {
    let session_id = Some(session_id.to_owned());
    LoopState { session_id, clock_ms: now_ms, updated_ms: now_ms, ..state.clone() }
}

/// An active loop with another session, or without one until it is claimed. The time since its last
/// change does not count, because its session had ended.
pub fn adopt_loop(
    state: &LoopState,
    session_id: Option<&str>,
    now_ms: u64,
) -> Result<LoopState, LoopControlError> {
    if !state.status.is_active() {
        return Err(LoopControlError::AlreadyEnded(state.id.clone(), state.status.as_str()));
    }
    if state.session_id.as_deref() == session_id {
        return Ok(state.clone());
    }
    let clock_ms = state.clock_ms + now_ms.saturating_sub(state.updated_ms);
    let mut next = LoopState { clock_ms, updated_ms: now_ms, answer: None, ..state.clone() };
    next.session_id = session_id.map(str::to_owned);
    // The host counts continuations within a turn of one session.
    next.counters.continuations = 0;
    Ok(next)
}

/// Cancels a loop; an ended loop is not changed.
#[must_use]
pub fn cancel_loop(state: &LoopState, now_ms: u64) -> LoopState {
    if !state.status.is_active() {
        return state.clone();
    }
    let over = LoopState { status: Status::Cancelled, updated_ms: now_ms, ..state.clone() };
    LoopState { pause_reason: None, note: None, ..over }
}

/// The note of a loop that its own agent cancelled.
const BY_AGENT: &str = "cancelled by the agent";

/// Cancels a loop for the agent that works on it.
#[must_use]
pub fn cancel_loop_by_agent(state: &LoopState, now_ms: u64) -> LoopState {
    let note =
        if state.status.is_active() { Some(BY_AGENT.to_owned()) } else { state.note.clone() };
    LoopState { note, ..cancel_loop(state, now_ms) }
}

/// True if the agent cancelled a loop or it ended as gaming, so that the agent's next one continues it.
#[must_use]
pub fn is_left_by_agent(state: &LoopState) -> bool {
    let is_cancelled_by_agent =
        state.status == Status::Cancelled && state.note.as_deref() == Some(BY_AGENT);
    is_cancelled_by_agent || state.status == Status::Gaming
}

/// A cancelled loop that continues in its worktree, with the next session that claims it; any other
/// loop is not changed. The time since its end does not count.
#[must_use]
pub fn reopen_loop(state: &LoopState, now_ms: u64) -> LoopState {
    if state.status != Status::Cancelled {
        return state.clone();
    }
    let clock_ms = state.clock_ms + now_ms.saturating_sub(state.updated_ms);
    let open = LoopState { clock_ms, updated_ms: now_ms, answer: None, ..state.clone() };
    LoopState { status: Status::Running, session_id: None, ..open }
}

/// Pauses a running loop for its user; a paused one keeps its reason.
pub fn pause_loop(state: &LoopState, now_ms: u64) -> Result<LoopState, LoopControlError> {
    pause_loop_for(state, PauseReason::User, None, now_ms)
}

/// Pauses a running loop for this reason; a paused one keeps its own.
pub fn pause_loop_for(
    state: &LoopState,
    reason: PauseReason,
    note: Option<String>,
    now_ms: u64,
) -> Result<LoopState, LoopControlError> {
    match state.status {
        Status::Paused => Ok(state.clone()),
        Status::Running => Ok(LoopState {
            status: Status::Paused,
            pause_reason: Some(reason),
            note,
            updated_ms: now_ms,
            ..state.clone()
        }),
        status => Err(LoopControlError::AlreadyEnded(state.id.clone(), status.as_str())),
    }
}

/// The loop with one more manual override. Its times stay, because the loop itself did not advance.
#[must_use]
pub fn with_override(state: &LoopState, by_hand: ManualOverride) -> LoopState {
    let mut next = state.clone();
    next.overrides.push(by_hand);
    let surplus = next.overrides.len().saturating_sub(LOOP_OVERRIDES_MAX);
    next.overrides.drain(..surplus);
    next
}

/// True if one more event that the session's host did not send is recorded. A script can send any
/// number, and those that are ignored must not take the room of those that are obeyed.
#[must_use]
pub fn has_room_for(state: &LoopState, event: &ForeignEvent) -> bool {
    let of_kind = state.foreign_events.iter().filter(|known| known.is_obeyed == event.is_obeyed);
    of_kind.count() < LOOP_FOREIGN_EVENTS_MAX
}

/// The loop with one more event that the session's host did not send, if there is room for it.
#[must_use]
pub fn with_foreign_event(state: &LoopState, event: ForeignEvent) -> LoopState {
    let mut next = state.clone();
    if has_room_for(state, &event) {
        next.foreign_events.push(event);
    }
    next
}

/// The ended loop with the files that changed in the turn after its last Stop, as many as a report
/// names.
#[must_use]
pub fn with_late_changes(state: &LoopState, files: &[String]) -> LoopState {
    let late_changes = files.iter().take(CHANGED_FILES_NAMED_MAX).cloned().collect();
    LoopState { late_changes, ..state.clone() }
}

/// The loop after a tool call that began at `since_ms`: overrides made since then may be the
/// agent's own.
#[must_use]
pub fn with_doubt(state: &LoopState, since_ms: u64) -> LoopState {
    let mut next = state.clone();
    for by_hand in next.overrides.iter_mut().filter(|it| it.at_ms >= since_ms) {
        by_hand.is_confirmed = false;
    }
    next
}

/// New limits of a resumed loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewLimits {
    pub max_iterations: Option<u32>,
    pub max_minutes: Option<u32>,
    pub max_tokens: Option<u64>,
}

/// The reason why a loop cannot be paused or resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopControlError {
    /// Its end is final.
    #[error("loop {0} is over ({1}); start a new one")]
    AlreadyEnded(String, &'static str),
    /// A limit is used up and must be raised first.
    #[error("loop {0} is at its limit; resume it with a higher {1}")]
    AtLimit(String, &'static str),
    /// The new limit is invalid.
    #[error(transparent)]
    Bound(#[from] LoopStartError),
}

/// Resumes a paused loop, or one that ended at a stall, for gaming, or at a limit that is raised now. A running
/// loop only gets the new limits.
pub fn resume_loop(
    state: &LoopState,
    raise: NewLimits,
    now_ms: u64,
) -> Result<LoopState, LoopControlError> {
    let mut next = state.clone();
    for by_hand in &mut next.overrides {
        by_hand.is_confirmed = true;
    }
    if let Some(max) = raise.max_iterations {
        next.max_iterations = bounded_iterations(max)?;
    }
    next.options.max_minutes = bounded_minutes(raise.max_minutes)?.or(next.options.max_minutes);
    next.options.max_tokens = bounded_tokens(raise.max_tokens)?.or(next.options.max_tokens);
    match state.status {
        Status::Running
        | Status::Paused
        | Status::MaxIterations
        | Status::TimedOut
        | Status::Budget => {}
        // A user may know more than the numbers show, and may have allowed the findings.
        Status::Stalled | Status::Oscillating | Status::Gaming => {
            next.counted_from = state.iteration;
        }
        status => return Err(LoopControlError::AlreadyEnded(state.id.clone(), status.as_str())),
    }
    if state.status != Status::Running {
        // The time of the pause does not count.
        next.clock_ms += now_ms.saturating_sub(state.updated_ms);
    }
    if let Some(option) = exhausted(&next, now_ms) {
        return Err(LoopControlError::AtLimit(state.id.clone(), option));
    }
    if state.status == Status::Running {
        next.updated_ms = if next == *state { state.updated_ms } else { now_ms };
        return Ok(next);
    }
    next.status = Status::Running;
    (next.pause_reason, next.note) = (None, None);
    // After the user's review, the counts that led to it start again.
    next.counters.consecutive_rejections = 0;
    next.counters.unmeasured_blocks = 0;
    next.counters.continuations = 0;
    next.updated_ms = now_ms;
    Ok(next)
}

/// The option of the limit at which the next Stop would end the loop at once.
fn exhausted(state: &LoopState, now_ms: u64) -> Option<&'static str> {
    if state.iteration >= state.max_iterations {
        return Some("--max-iterations");
    }
    if state.is_out_of_time(now_ms) {
        return Some("--max-minutes");
    }
    state.is_out_of_tokens().then_some("--max-tokens")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::state;

    fn paused() -> LoopState {
        pause_loop(&LoopState { updated_ms: 100, ..state() }, 100).expect("it ran")
    }

    #[test]
    fn a_cancelled_loop_that_goes_on_waits_for_a_session_and_loses_no_time() {
        let before = LoopState { clock_ms: 10, updated_ms: 20, ..state() };
        let reopened = reopen_loop(&cancel_loop(&before, 30), 90);
        assert_eq!((reopened.status, &reopened.session_id), (Status::Running, &None));
        assert_eq!((reopened.clock_ms, reopened.updated_ms), (70, 90));
        assert_eq!(reopened.iteration, before.iteration);
        let completed = LoopState { status: Status::Completed, ..before };
        assert_eq!(reopen_loop(&completed, 90), completed, "another end is final");
    }

    #[test]
    fn cancelling_is_idempotent_and_never_rewrites_an_end() {
        let cancelled = cancel_loop(&state(), 5);
        assert_eq!(cancelled.status, Status::Cancelled);
        assert_eq!(cancel_loop(&cancelled, 9), cancelled);
        assert_eq!(cancel_loop(&paused(), 5).status, Status::Cancelled);
        for (status, _) in Status::NAMES.into_iter().filter(|(status, _)| !status.is_active()) {
            let over = LoopState { status, ..state() };
            assert_eq!(cancel_loop(&over, 9), over);
            assert!(pause_loop(&over, 9).is_err(), "{status:?}");
        }
    }

    #[test]
    fn ignored_events_leave_room_for_those_of_a_second_host() {
        let event = |is_obeyed| ForeignEvent { event: "Stop".to_owned(), at_ms: 1, is_obeyed };
        let mut full = state();
        for _ in 0..2 * LOOP_FOREIGN_EVENTS_MAX {
            full = with_foreign_event(&full, event(false));
        }
        assert_eq!(full.foreign_events.len(), LOOP_FOREIGN_EVENTS_MAX);
        let next = with_foreign_event(&full, event(true));
        assert_eq!(next.foreign_events.last(), Some(&event(true)));
    }

    #[test]
    fn an_override_is_doubted_by_a_later_command_confirmed_by_resume_and_bounded() {
        let by_hand = |at_ms| ManualOverride { at_ms, is_confirmed: true, ..Default::default() };
        let both = with_override(&with_override(&state(), by_hand(10)), by_hand(20));
        let confirmed = |state: &LoopState| {
            state.overrides.iter().map(|one| one.is_confirmed).collect::<Vec<_>>()
        };
        let doubted = with_doubt(&both, 20);
        assert_eq!((confirmed(&both), confirmed(&doubted)), (vec![true, true], vec![true, false]));
        for before in [&doubted, &pause_loop(&doubted, 30).expect("it runs")] {
            let resumed = resume_loop(before, NewLimits::default(), 40).expect("it goes on");
            assert_eq!(confirmed(&resumed), [true, true]);
        }
        let most = u64::try_from(LOOP_OVERRIDES_MAX).expect("small");
        let many = (0..=most).fold(state(), |state, at_ms| with_override(&state, by_hand(at_ms)));
        assert_eq!((many.overrides.len(), many.overrides[0].at_ms), (LOOP_OVERRIDES_MAX, 1));
    }

    #[test]
    fn adoption_changes_the_session_and_excludes_the_time_without_one() {
        let mut old = LoopState { iteration: 2, updated_ms: 100, clock_ms: 10, ..state() };
        old.session_id = Some("old".into());
        old.counters.continuations = 3;
        let new = adopt_loop(&old, Some("new"), 1_100).expect("it is active");
        assert_eq!(
            (new.session_id.as_deref(), new.clock_ms, new.iteration),
            (Some("new"), 1_010, 2)
        );
        assert_eq!((new.status, new.counters.continuations), (Status::Running, 0));
        assert_eq!(adopt_loop(&new, Some("new"), 9_000), Ok(new.clone()));
        assert_eq!(adopt_loop(&new, None, 9_000).map(|it| it.session_id), Ok(None));
        assert_eq!(adopt_loop(&paused(), Some("new"), 200).map(|it| it.status), Ok(Status::Paused));
        let over = LoopState { status: Status::Completed, ..state() };
        assert!(matches!(
            adopt_loop(&over, Some("new"), 9),
            Err(LoopControlError::AlreadyEnded(..))
        ));
    }

    #[test]
    fn a_resumed_loop_does_not_count_its_pause() {
        let first = paused();
        assert_eq!(first.pause_reason, Some(PauseReason::User));
        assert_eq!(pause_loop(&first, 500), Ok(first.clone()));
        let resumed = resume_loop(&first, NewLimits::default(), 1_100).expect("it was paused");
        assert_eq!((resumed.status, resumed.pause_reason), (Status::Running, None));
        assert_eq!(resumed.clock_ms, first.clock_ms + 1_000);
        assert_eq!(resume_loop(&resumed, NewLimits::default(), 2_000), Ok(resumed.clone()));
        let raise = NewLimits { max_iterations: Some(7), ..NewLimits::default() };
        let raised = resume_loop(&resumed, raise, 2_000).expect("a running loop takes a bound");
        assert_eq!((raised.max_iterations, raised.status), (7, Status::Running));
    }

    #[test]
    fn raising_the_limit_resumes_a_loop_that_reached_it_and_other_ends_are_final() {
        let over = LoopState { status: Status::MaxIterations, iteration: 3, ..state() };
        let to =
            |max| resume_loop(&over, NewLimits { max_iterations: max, ..NewLimits::default() }, 9);
        assert!(matches!(to(None), Err(LoopControlError::AtLimit(..))));
        assert!(matches!(to(Some(3)), Err(LoopControlError::AtLimit(..))));
        assert_eq!(to(Some(0)), Err(LoopControlError::Bound(LoopStartError::Unbounded)));
        assert_eq!(to(Some(5)).map(|it| (it.status, it.max_iterations)), Ok((Status::Running, 5)));
        for status in [Status::Stalled, Status::Oscillating, Status::Gaming] {
            let over = LoopState { status, iteration: 2, ..state() };
            let resumed = resume_loop(&over, NewLimits::default(), 9).expect("a person decides");
            assert_eq!((resumed.status, resumed.counted_from), (Status::Running, 2));
        }
        let for_good =
            [Status::Completed, Status::CompletedUnverified, Status::Cancelled, Status::Failed];
        for status in for_good {
            let over = LoopState { status, ..state() };
            let raise = NewLimits { max_iterations: Some(99), ..NewLimits::default() };
            assert!(
                matches!(resume_loop(&over, raise, 9), Err(LoopControlError::AlreadyEnded(..))),
                "{status:?}"
            );
        }
    }
}
