//! All tool calls of one message ended: what others wrote meanwhile and late verdicts are told,
//! exactly once.

use super::changed_on_disk;
use super::hook_call::{HookCall, Told, with_late};

pub(super) async fn handle(call: &HookCall<'_>) -> Told {
    let texts = changed_on_disk::disk_change_texts(call).await;
    with_late(call, texts).await
}
