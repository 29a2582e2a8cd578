//! `server logs`: the latest log lines of a language server that the daemon holds.

use super::replies::REFUSED;
use super::server_restart::selection;
use crate::daemon::engine::Engine;
use crate::report::servers::{self, ServerLogLine, ServerLogReport};
use crate::servers::ServerLogTail;
use crate::wire::control::{CallerContext, CommandReply, ServersRequest};

pub(super) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    select: ServersRequest,
) -> CommandReply {
    let logs = engine.servers.log(selection(caller, &select)).await;
    if logs.is_empty() {
        let id = select.ids.first().map(String::as_str).unwrap_or_default();
        return CommandReply::failure(
            REFUSED,
            &format!("moai-ralph: no language server {id} runs"),
        );
    }
    let log = |log: ServerLogTail| {
        let said = log.lines.into_iter().map(|line| ServerLogLine {
            at_ms: line.at_ms,
            source: line.source,
            text: line.text,
        });
        ServerLogReport { id: log.id, root: log.root.display().to_string(), lines: said.collect() }
    };
    let logs: Vec<ServerLogReport> = logs.into_iter().map(log).collect();
    if select.json {
        return CommandReply::success(format!("{:#}\n", servers::logs_json(&logs)));
    }
    CommandReply::success(servers::logs(&logs))
}
