//! End of a session: drops the state kept for it alone, and closes it in the memory. Its loop stays,
//! because the session may be resumed.

use crate::hooks::hook_call::HookCall;
use crate::pipeline::worktree_end::remove_after_session;
use crate::recall::note::note;
use crate::recall::recorder::NotedEventKind;
use moai_protocol::hook::HookOutput;

pub(crate) fn handle(call: &HookCall<'_>) -> HookOutput {
    if !call.input.session_id.is_empty() {
        note(call.engine, &call.project, &call.input.session_id, NotedEventKind::SessionEnd);
    }
    remove_after_session(call);
    call.engine.ledger().forget_session(&call.input.session_id);
    HookOutput::Silent
}
