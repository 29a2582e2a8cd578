//! `mcp`: an MCP server on stdio.

use std::path::PathBuf;
use std::sync::Arc;

use super::door;
use crate::mcp;
use crate::wire::control::Reply;

/// Serves until the client closes its end.
pub(super) fn run(root: Option<PathBuf>) -> Reply {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Reply::failed(1, &format!("moai-ralph: {error}")),
    };
    let ask: mcp::Ask = Arc::new(move |request| door::ask_for_tool(root.as_deref(), request));
    let served = runtime.block_on(mcp::serve(ask));
    // What a client no longer waits for must not keep the process.
    runtime.shutdown_background();
    match served {
        Ok(()) => Reply::default(),
        Err(error) => Reply::failed(1, &format!("moai-ralph: {error}")),
    }
}
