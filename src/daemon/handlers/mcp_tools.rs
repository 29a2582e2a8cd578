//! The tools that the project's options offer to agents.

use serde_json::json;

use super::replies::load_project;
use crate::daemon::engine::Engine;
use crate::wire::control::{CallerContext, CommandReply};

/// The document is the list of their names.
pub(super) fn handle(engine: &Engine, caller: &CallerContext) -> CommandReply {
    match load_project(engine, caller) {
        Ok(project) => CommandReply {
            document: Some(json!(project.config.mcp_tools()).into()),
            ..CommandReply::default()
        },
        Err(reply) => reply,
    }
}
