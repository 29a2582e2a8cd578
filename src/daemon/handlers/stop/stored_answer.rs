//! The answer to a Stop is kept with its decision. When the daemon ends before the answer arrives,
//! the front door asks the next daemon the same, and when two hook processes deliver one Stop, the
//! second may come after the answer. Neither is decided again: the agent has done nothing in
//! between. It must not know how answers are worded.

use crate::daemon::engine::now_ms;
use crate::looping::state::{LoopState, Status, StopAnswer};
use crate::looping::stop_table::StopDelivery;
use crate::wire::hook::HookOutput;

/// What is kept of an answer; nothing of silence.
pub(super) fn stored_answer(delivery: &StopDelivery, output: &HookOutput) -> Option<StopAnswer> {
    let (text, is_held) = match output {
        HookOutput::Block(text) => (text, true),
        HookOutput::Notice(text) => (text, false),
        _ => return None,
    };
    let (call, content) = (delivery.call.clone(), delivery.content.clone());
    Some(StopAnswer { call, content, at_ms: now_ms(), text: text.clone(), is_held })
}

/// The loop that decided this Stop already, and the answer it was given. `last` is the session's
/// loop, which may be over by now.
pub(super) fn replayed_answer(
    delivery: &StopDelivery,
    last: Option<&LoopState>,
) -> Option<(LoopState, HookOutput)> {
    let state = last?;
    let answer = state.answer.as_ref().filter(|answer| delivery.is_answered_by(answer))?;
    let text = answer.text.clone();
    match answer.is_held {
        true if state.status == Status::Running => Some((state.clone(), HookOutput::Block(text))),
        // Cancelled or paused meanwhile.
        true => None,
        false => Some((state.clone(), HookOutput::Notice(text))),
    }
}
