//! `server logs`: what a language server wrote lately, as far as the daemon remembers it.

use super::replies::REFUSED;
use super::server_restart::selection;
use crate::daemon::engine::Engine;
use crate::report::servers::{self, Log, Said};
use crate::servers::ServerLog;
use crate::wire::control::{Caller, Reply, ServerSelect};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: ServerSelect) -> Reply {
    let logs = engine.servers.log(selection(caller, &select)).await;
    if logs.is_empty() {
        let id = select.ids.first().map(String::as_str).unwrap_or_default();
        return Reply::failed(REFUSED, &format!("moai-ralph: no language server {id} runs"));
    }
    let log = |log: ServerLog| {
        let said = log.lines.into_iter().map(|line| Said {
            at_ms: line.at_ms,
            source: line.source,
            text: line.text,
        });
        Log { id: log.id, root: log.root.display().to_string(), said: said.collect() }
    };
    let logs: Vec<Log> = logs.into_iter().map(log).collect();
    if select.json {
        return Reply::done(format!("{:#}\n", servers::logs_json(&logs)));
    }
    Reply::done(servers::logs(&logs))
}
