//! Start, resumption or compaction of a session: repeats the active loop's instructions and offers a
//! loop whose session ended.

use crate::hooks::hook_call::HookCall;
use crate::loops::lost_loops;
use crate::loops::session_loop::checks_of_loop;
use moai_host::store::loops::LoopQuery;
use moai_protocol::hook::HookOutput;
use moai_report::loops;

pub(crate) async fn handle(call: HookCall<'_>) -> HookOutput {
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
