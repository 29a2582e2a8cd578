//! `server logs`: the latest log lines of a language server that the daemon holds.

use crate::engine::Engine;
use crate::replies::REFUSED;
use crate::servers::server_restart::selection;
use moai_host::servers::ServerLogTail;
use moai_protocol::control::{CallerContext, CommandReply, ServersRequest};
use moai_protocol::documents::json_text;
use moai_report::servers::{self, ServerLogLine, ServerLogReport};

pub(crate) async fn handle(
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
        return CommandReply::success(json_text(&servers::logs_document(&logs)));
    }
    CommandReply::success(servers::logs(&logs))
}
