//! A Stop that a second registration delivers behind its answer: the host waits for all of its hooks, so
//! that the agent has said nothing in between.

use crate::engine::now_ms;
use crate::hooks::hook_call::HookCall;
use crate::ledger::AnsweredStop;
use crate::stop::schedule::StopSchedule;
use crate::stop::{StopRun, stop_input};
use moai_loops::state::LoopState;
use moai_protocol::hook::{HookInput, HookOutput};

/// Answers a Stop, or repeats the answer to the last one if it is the same.
pub(super) async fn answer_once(
    mut call: HookCall<'_>,
    state: Option<LoopState>,
    schedule: StopSchedule,
) -> HookOutput {
    let (engine, session) = (call.engine, call.input.session_id.clone());
    let transcript_bytes = transcript_bytes(&call.input);
    let answer = state.as_ref().and_then(|state| state.answer.as_ref().map(|it| (state, it)));
    let is_unchanged = answer.is_some_and(|(state, answer)| state.updated_ms <= answer.at_ms);
    let is_repeated = is_unchanged
        && engine
            .ledger()
            .known_session(&session)
            .is_some_and(|known| known.has_answered(&call.delivery, transcript_bytes));
    call.delivery.is_unique |= is_repeated;
    let mut run = StopRun { call: &call, input: stop_input(&call), schedule };
    let output = run.answer(state).await;
    if !is_repeated {
        let content = call.delivery.content.clone();
        let answered = AnsweredStop { content, answered_ms: now_ms(), transcript_bytes };
        engine.ledger().session(&session).answered_stop = Some(answered);
    }
    output
}

/// The length of the session's transcript, to which each answer of the model is added; an empty one shows
/// nothing.
fn transcript_bytes(input: &HookInput) -> Option<u64> {
    let path = input.transcript_path.as_ref()?;
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(metadata.len()).filter(|length| *length > 0)
}
