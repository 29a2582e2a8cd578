//! A session starts, resumes or goes on after compaction: the active loop's instructions are given
//! again, and options that cannot be used are named once.

use super::hook::HookCall;
use crate::daemon::project::Project;
use crate::report::loops;
use crate::store::loops::Which;
use crate::wire::hook::HookOutput;

pub(super) async fn handle(call: HookCall<'_>) -> HookOutput {
    if let Err(error) = Project::load(call.engine, &call.caller) {
        return HookOutput::Notice(format!(
            "[moai-ralph] {error}. Default options are used until this is mended."
        ));
    }
    let (session, project) = (&call.input.session_id, &call.project);
    if session.is_empty() {
        return HookOutput::Silent;
    }
    let which = Which::ActiveOf(session.clone());
    match call.engine.store.find_loop(&project.key, &project.root, which).await {
        Ok(Some(state)) => HookOutput::Context(loops::started(&state)),
        Ok(None) => HookOutput::Silent,
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be looked up");
            HookOutput::Silent
        }
    }
}
