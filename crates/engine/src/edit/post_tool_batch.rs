//! End of all tool calls of one message: reports changes on disk and deferred reports, exactly
//! once, and notes failed commands.

use crate::edit::changed_on_disk;
use crate::hooks::hook_call::{HookAnswer, HookCall, with_deferred_reports};
use crate::pipeline::shell_undo::note_interruption;
use crate::recall::note::note;
use crate::recall::recorder::{NotedCommand, NotedEventKind};
use moai_report::contributions::ContributionOrigin;

pub(crate) async fn handle(call: &HookCall<'_>) -> HookAnswer {
    note_failed_commands(call);
    note_interruption(call);
    let texts = changed_on_disk::disk_change_texts(call).await;
    with_deferred_reports(call, ContributionOrigin::ToolCall, texts, None).await
}

/// The memory keeps the commands that ended with an error.
fn note_failed_commands(call: &HookCall<'_>) {
    for failed in call.input.failed_commands() {
        let kind = NotedEventKind::FailedCommand(NotedCommand {
            command: failed.command.to_owned(),
            description: failed.description.to_owned(),
            error: failed.error.to_owned(),
        });
        note(call.engine, &call.project, &call.input.session_id, kind);
    }
}
