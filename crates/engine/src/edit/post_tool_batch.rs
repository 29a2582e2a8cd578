//! End of all tool calls of one message: reports changes on disk and deferred reports, exactly once.

use crate::edit::changed_on_disk;
use crate::hooks::hook_call::{HookCall, HookTexts, with_deferred_reports};
use moai_report::contributions::ContributionOrigin;

pub(crate) async fn handle(call: &HookCall<'_>) -> HookTexts {
    let texts = changed_on_disk::disk_change_texts(call).await;
    with_deferred_reports(call, ContributionOrigin::ToolCall, texts).await
}
