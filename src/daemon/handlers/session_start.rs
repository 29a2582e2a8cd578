//! Start, resumption or compaction of a session: repeats the active loop's instructions and offers a
//! loop whose session ended.

use super::hook_call::HookCall;
use super::lost_loops;
use super::session_loop::checks_of_loop;
use crate::report::loops;
use crate::store::loops::LoopQuery;
use crate::wire::hook::HookOutput;

pub(super) async fn handle(call: HookCall<'_>) -> HookOutput {
    let (session, project) = (&call.input.session_id, &call.project);
    if session.is_empty() {
        return HookOutput::Silent;
    }
    let which = LoopQuery::ActiveOf(session.clone());
    match call.engine.store.find_loop(&project.key, &project.root, which).await {
        Ok(Some(state)) => {
            let checks = checks_of_loop(call.engine, project, &state).await;
            HookOutput::Context(loops::resume_instructions(&state, &checks))
        }
        Ok(None) => match lost_loops::offer(&call, &call.input.source).await {
            Some(offer) => HookOutput::Context(offer.text).with_notice(offer.notice),
            None => HookOutput::Silent,
        },
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be looked up");
            HookOutput::Silent
        }
    }
}
