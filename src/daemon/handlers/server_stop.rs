//! `server stop`: stops language servers; the next request starts them again.

use super::server_restart::{selection, server_action_reply};
use crate::daemon::engine::Engine;
use crate::wire::control::{CallerContext, CommandReply, ServersRequest};

pub(super) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    select: ServersRequest,
) -> CommandReply {
    let done = engine.servers.stop_selected(selection(caller, &select)).await;
    server_action_reply("stopped", &select, done)
}
