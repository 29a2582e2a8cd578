//! `server restart`: stops language servers and starts them again.

use crate::engine::Engine;
use crate::project;
use crate::replies::REFUSED;
use moai_host::servers::{PoolFilter, ServerActionResult};
use moai_protocol::control::{CallerContext, CommandReply, ServersRequest};
use moai_protocol::documents::json_text;
use moai_report::servers::{self, ServerAction};

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    select: ServersRequest,
) -> CommandReply {
    let done = engine.servers.restart(selection(caller, &select)).await;
    server_action_reply("restarted", &select, done)
}

/// The servers that a command selects: of every project, unless it has a root.
pub(crate) fn selection(caller: &CallerContext, select: &ServersRequest) -> PoolFilter {
    let root = caller.root.as_ref().map(|_| project::project_root(caller));
    PoolFilter { ids: select.ids.clone(), root }
}

/// The reply about each server, and each requested one that does not run.
pub(crate) fn server_action_reply(
    act: &'static str,
    select: &ServersRequest,
    done: Vec<ServerActionResult>,
) -> CommandReply {
    let missing: Vec<&String> =
        select.ids.iter().filter(|id| !done.iter().any(|one| one.id == **id)).collect();
    let acted = |one: ServerActionResult| ServerAction {
        id: one.id,
        root: one.root.display().to_string(),
        action: act,
        reason: one.outcome.err().map(|gap| gap.to_string()),
    };
    let acted: Vec<ServerAction> = done.into_iter().map(acted).collect();
    let has_failed = !missing.is_empty() || acted.iter().any(|one| one.reason.is_some());
    let stdout = if select.json {
        json_text(&servers::actions_document(&acted))
    } else if acted.is_empty() && !missing.is_empty() {
        // Other servers may run; the requested ones are listed below.
        String::new()
    } else {
        servers::actions_text(&acted)
    };
    let stderr = missing.iter().map(|id| format!("moai-ralph: no language server {id} runs\n"));
    let code = if has_failed { REFUSED } else { 0 };
    CommandReply { stdout, stderr: stderr.collect(), code, ..CommandReply::default() }
}
