//! The answer to a Stop is kept with its decision. When the daemon ends before the answer arrives,
//! the front door asks the next daemon the same, and that one must not decide again: the agent has
//! done nothing in between. It must not know how answers are worded.

use crate::daemon::handlers::hook::HookCall;
use crate::looping::state::{Answer, LoopState, Status};
use crate::wire::hook::HookOutput;

/// What is kept of an answer; nothing of silence.
pub(super) fn of(call: &HookCall<'_>, output: &HookOutput) -> Option<Answer> {
    let (text, is_held) = match output {
        HookOutput::Block(text) => (text, true),
        HookOutput::Notice(text) => (text, false),
        _ => return None,
    };
    Some(Answer { call: call.id.clone(), text: text.clone(), is_held })
}

/// The loop whose decision was this call's, and the answer it was given. `last` is the session's
/// loop, which may be over by now.
pub(super) fn given(call: &str, last: Option<&LoopState>) -> Option<(LoopState, HookOutput)> {
    let state = last?;
    let Answer { text, is_held, .. } =
        state.answer.as_ref().filter(|answer| answer.call == call)?.clone();
    match is_held {
        true if state.status == Status::Running => Some((state.clone(), HookOutput::Block(text))),
        // Cancelled or paused meanwhile.
        true => None,
        false => Some((state.clone(), HookOutput::Notice(text))),
    }
}
