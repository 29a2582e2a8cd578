//! End of a session: drops the memory for it alone. Its loop stays, because the session may be
//! resumed.

use super::hook_call::HookCall;
use crate::wire::hook::HookOutput;

pub(super) fn handle(call: &HookCall<'_>) -> HookOutput {
    call.engine.ledger().forget(&call.input.session_id);
    HookOutput::Silent
}
