//! All tool calls of one message ended: what others wrote meanwhile and late verdicts are told,
//! exactly once.

use super::changed_on_disk;
use super::hook_call::{HookCall, HookTexts, with_deferred_reports};

pub(super) async fn handle(call: &HookCall<'_>) -> HookTexts {
    let texts = changed_on_disk::disk_change_texts(call).await;
    with_deferred_reports(call, texts).await
}
