//! The tools that the project's options offer to agents.

use serde_json::json;

use crate::engine::Engine;
use crate::replies::load_project;
use moai_protocol::control::{CallerContext, CommandReply};

/// The document is the list of their names.
pub(crate) fn handle(engine: &Engine, caller: &CallerContext) -> CommandReply {
    match load_project(engine, caller) {
        Ok(project) => CommandReply {
            document: Some(json!(project.config.mcp_tools()).into()),
            ..CommandReply::default()
        },
        Err(reply) => reply,
    }
}
