//! The user sent a prompt: a loop that waits for a session finds its owner, late verdicts are told.

use super::hook::{HookCall, Told, with_late};
use super::loop_of_session;
use crate::report::loops;

pub(super) async fn handle(call: HookCall<'_>) -> Told {
    let claimed = loop_of_session(call.engine, &call.project, &call.input.session_id).await;
    let texts = match claimed {
        Ok((Some(state), true)) => vec![loops::started(&state)],
        Ok(_) => Vec::new(),
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be looked up");
            Vec::new()
        }
    };
    with_late(&call, texts).await
}
