//! Stores the answer to a Stop with its decision and replays it for another delivery of the same Stop:
//! a request that the client repeats because the daemon ended, or a second hook process of the host.

use crate::engine::now_ms;
use moai_loops::state::{LoopState, Status, StopAnswer};
use moai_loops::stop_table::StopDelivery;
use moai_protocol::hook::HookOutput;

/// The stored form of an answer; `None` if it is silent.
pub(crate) fn stored_answer(delivery: &StopDelivery, output: &HookOutput) -> Option<StopAnswer> {
    let (text, is_held) = match output {
        HookOutput::Block(text) => (text, true),
        HookOutput::Notice(text) => (text, false),
        _ => return None,
    };
    let (call, content) = (delivery.call.clone(), delivery.content.clone());
    Some(StopAnswer { call, content, at_ms: now_ms(), text: text.clone(), is_held })
}

/// The loop and its stored answer if this Stop was already decided. `last` is the session's last
/// loop, which may have ended since.
pub(crate) fn replayed_answer(
    delivery: &StopDelivery,
    last: Option<&LoopState>,
) -> Option<(LoopState, HookOutput)> {
    let state = last?;
    let answer = state.answer.as_ref().filter(|answer| delivery.is_answered_by(answer))?;
    let text = answer.text.clone();
    // A loop that was cancelled or paused since the answer does not hold.
    let still_holds = state.status == Status::Running || state.updated_ms <= answer.at_ms;
    match answer.is_held {
        true if still_holds => Some((state.clone(), HookOutput::Block(text))),
        true => None,
        false => Some((state.clone(), HookOutput::Notice(text))),
    }
}
