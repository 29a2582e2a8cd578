//! The answer to a Stop is kept with its decision. When the daemon ends before the answer arrives,
//! the front door asks the next daemon the same, and that one must not decide again: the agent has
//! done nothing in between. It must not know how answers are worded.

use crate::daemon::handlers::hook::HookCall;
use crate::looping::state::{Answer, LoopState, Status};
use crate::store::loops::Which;
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

/// The loop whose decision was this call's, and the answer it was given. `active` is the session's loop; one that has ended
/// meanwhile is looked up.
pub(super) async fn given(
    call: &HookCall<'_>,
    active: Option<&LoopState>,
) -> Option<(LoopState, HookOutput)> {
    let (project, session) = (&call.project, &call.input.session_id);
    let state = match active {
        Some(state) => state.clone(),
        None if session.is_empty() => return None,
        None => {
            let which = Which::LatestOf(session.clone());
            let found = call.engine.store.find_loop(&project.key, &project.root, which).await;
            found.ok().flatten()?
        }
    };
    let given = state.answer.as_ref().filter(|answer| answer.call == call.id);
    let Answer { text, is_held, .. } = given?.clone();
    match is_held {
        true if state.status == Status::Running => Some((state, HookOutput::Block(text))),
        // Cancelled or paused meanwhile.
        true => None,
        false => Some((state, HookOutput::Notice(text))),
    }
}
