//! The host is about to compact the session: pending notes are written, because the session's next start
//! reads them, and observations may be shown again.

use std::time::Duration;

use crate::hooks::hook_call::HookCall;
use moai_base::limits::RECALL_MS_MAX;
use moai_protocol::hook::HookOutput;

pub(crate) async fn handle(call: &HookCall<'_>) -> HookOutput {
    if call.project.config.memory_enabled {
        call.engine.ledger().session(&call.input.session_id).recall.forget_shown();
        call.engine.recorder.flush(Duration::from_millis(RECALL_MS_MAX)).await;
    }
    HookOutput::Silent
}
