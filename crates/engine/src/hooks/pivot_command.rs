//! `/moai-pivot`: shows the pivot points and asks the agent to interview the user, or adds the
//! constraint that the user typed.

use crate::hooks::hook_call::HookCall;
use crate::specs::SpecRefusal;
use crate::specs::pivot_points::{add_point, current_points};
use moai_protocol::control::PivotAddition;
use moai_protocol::hook::HookOutput;
use moai_report::{agent, specs};

/// The answer to the command.
pub(crate) async fn handle(call: &HookCall<'_>) -> HookOutput {
    let typed = call.input.command_args.trim();
    let text = match answer(call, typed).await {
        Ok(text) => text,
        Err(refusal) => return HookOutput::Block(format!("[moai-ralph] {}", refusal.reason())),
    };
    HookOutput::Context(agent::join_contexts(&[text]))
}

async fn answer(call: &HookCall<'_>, typed: &str) -> Result<String, SpecRefusal> {
    if typed.is_empty() {
        return Ok(specs::pivot_interview(&current_points(&call.project).await?));
    }
    // A point that the user types needs no confirmation.
    let addition =
        PivotAddition { text: typed.to_owned(), is_confirmed: true, ..PivotAddition::default() };
    let added = add_point(call.engine, &call.project, &addition).await?;
    Ok(specs::pivot_added(&added.id, &added.document))
}
