//! Which tools the project's options offer to agents.

use serde_json::json;

use super::replies::load;
use crate::daemon::engine::Engine;
use crate::wire::control::{Caller, Reply};

/// The document is the list of their names.
pub(super) fn handle(engine: &Engine, caller: &Caller) -> Reply {
    match load(engine, caller) {
        Ok(project) => {
            Reply { document: Some(json!(project.config.mcp_tools()).into()), ..Reply::default() }
        }
        Err(reply) => reply,
    }
}
