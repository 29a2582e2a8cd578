//! `server stop`: stops language servers; the next request starts them again.

use crate::engine::Engine;
use crate::servers::server_restart::{selection, server_action_reply};
use moai_protocol::control::{CallerContext, CommandReply, ServersRequest};

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    select: ServersRequest,
) -> CommandReply {
    let done = engine.servers.stop_selected(selection(caller, &select)).await;
    server_action_reply("stopped", &select, done)
}
