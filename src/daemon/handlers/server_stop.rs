//! `server stop`: ends language servers; the next question starts them again.

use super::server_restart::{reply, selection};
use crate::daemon::engine::Engine;
use crate::wire::control::{Caller, Reply, ServerSelect};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: ServerSelect) -> Reply {
    let done = engine.servers.stop_some(selection(caller, &select)).await;
    reply("stopped", &select, done)
}
