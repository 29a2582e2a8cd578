//! The tools that the project's options offer to agents, and the refusal of all others.

use serde_json::json;

use crate::engine::Engine;
use crate::replies::{REFUSED, load_project};
use moai_protocol::control::{CallerContext, CommandReply, ToolRefusal};

/// Replies with the list of their names.
pub(crate) fn handle(engine: &Engine, caller: &CallerContext) -> CommandReply {
    match load_project(engine, caller) {
        Ok(project) => CommandReply {
            document: Some(json!(project.config.mcp_tools()).into()),
            ..CommandReply::default()
        },
        Err(reply) => reply,
    }
}

/// The refusal of a tool call that must not be handled; the options are read for each call, because
/// changes take effect immediately.
pub(crate) fn refusal(engine: &Engine, caller: &CallerContext) -> Option<CommandReply> {
    let tool = caller.tool.as_deref()?;
    match load_project(engine, caller) {
        Ok(project) if project.config.mcp_tools().contains(&tool) => None,
        Ok(_) => Some(CommandReply {
            tool_refusal: Some(ToolRefusal::SwitchedOff),
            ..CommandReply::failure(REFUSED, &format!("the tool {tool} is switched off"))
        }),
        Err(reply) => {
            Some(CommandReply { tool_refusal: Some(ToolRefusal::UnusableOptions), ..reply })
        }
    }
}
