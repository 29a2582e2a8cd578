//! `server list`: the language servers that run, start or failed.

use crate::engine::Engine;
use moai_protocol::control::CommandReply;
use moai_protocol::documents::json_text;
use moai_protocol::documents::servers::{ServerRow, ServersDocument};
use moai_report::servers;

pub(crate) async fn handle(engine: &Engine, as_json: bool) -> CommandReply {
    let row = |server: moai_host::servers::ServerStatus| ServerRow {
        id: server.id,
        languages: server.languages,
        root: server.root.display().to_string(),
        state: server.state.as_str(),
        pid: server.process_id,
        memory_bytes: server.memory_bytes,
        uptime_secs: server.uptime.map(|uptime| uptime.as_secs()),
        answered: server.answered,
        restarts: server.restarts,
        last_gap: server.last_gap.map(|gap| gap.to_string()),
    };
    let rows: Vec<ServerRow> = engine.servers.list().await.into_iter().map(row).collect();
    if as_json {
        return CommandReply::success(json_text(&ServersDocument { servers: &rows }));
    }
    CommandReply::success(servers::list(&rows))
}
