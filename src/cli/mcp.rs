//! `mcp`: an MCP server on stdio.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{INVALID, client};
use crate::mcp;
use moai_host::callers::folder_of_parent;
use moai_protocol::control::CommandReply;

/// A file of the plugin's folder that only hosts other than Claude Code read.
const HOST_MANIFEST: &str = ".codex-plugin/plugin.json";

/// Refusal to answer for the plugin's own folder.
const NO_PROJECT: &str = "moai-ralph: the client started the server in the folder of the plugin and \
                          does not name the project; register it with `mcp --root DIR`";

/// Serves until the client closes the connection.
pub(super) fn run(root: Option<PathBuf>) -> CommandReply {
    if root.is_none()
        && Path::new(HOST_MANIFEST).is_file()
        && let Err(error) = enter_project_of_client()
    {
        return CommandReply::failure(INVALID, &error);
    }
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

/// Some hosts start servers in the folder of the plugin: the project is where the host works.
fn enter_project_of_client() -> Result<(), String> {
    let folder = folder_of_parent().ok_or_else(|| NO_PROJECT.to_owned())?;
    std::env::set_current_dir(folder).map_err(|error| format!("{NO_PROJECT}: {error}"))
}
