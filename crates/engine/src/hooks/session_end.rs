//! End of a session: drops the memory for it alone. Its loop stays, because the session may be
//! resumed.

use crate::hooks::hook_call::HookCall;
use moai_protocol::hook::HookOutput;

pub(crate) fn handle(call: &HookCall<'_>) -> HookOutput {
    call.engine.ledger().forget_session(&call.input.session_id);
    HookOutput::Silent
}
