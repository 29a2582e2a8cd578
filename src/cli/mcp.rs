//! `mcp`: an MCP server on stdio.

use std::path::PathBuf;
use std::sync::Arc;

use super::client;
use crate::mcp;
use moai_protocol::control::CommandReply;

/// Serves until the client closes the connection.
pub(super) fn run(root: Option<PathBuf>) -> CommandReply {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return CommandReply::failure(1, &format!("moai-ralph: {error}")),
    };
    let handler: mcp::RequestHandler =
        Arc::new(move |request, tool| client::send_tool_request(root.as_deref(), request, tool));
    let served = runtime.block_on(mcp::serve(handler));
    // Cancelled calls must not keep the process alive.
    runtime.shutdown_background();
    match served {
        Ok(()) => CommandReply::default(),
        Err(error) => CommandReply::failure(1, &format!("moai-ralph: {error}")),
    }
}
