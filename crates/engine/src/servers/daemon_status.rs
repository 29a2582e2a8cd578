//! `daemon status`: the daemon and the processes and loops in it.

use std::fmt::Write as _;

use crate::engine::Engine;
use moai_protocol::control::CommandReply;
use moai_protocol::documents::json_text;
use moai_protocol::documents::servers::{DaemonDocument, DaemonServerEntry, RunningDaemon};

pub(crate) async fn handle(engine: &Engine, as_json: bool) -> CommandReply {
    let servers = engine.servers.list().await;
    let daemon = RunningDaemon {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION"),
        uptime_secs: engine.started.elapsed().as_secs(),
        socket: engine.dirs.socket_path(),
        servers: servers
            .into_iter()
            .map(|server| DaemonServerEntry {
                name: server.id,
                root: server.root,
                pid: server.process_id,
                state: server.state.as_str(),
            })
            .collect(),
    };
    CommandReply::success(if as_json {
        json_text(&DaemonDocument { running: true, daemon: Some(daemon) })
    } else {
        daemon_text(&daemon)
    })
}

fn daemon_text(daemon: &RunningDaemon) -> String {
    let RunningDaemon { pid, version, uptime_secs, socket, servers } = daemon;
    let socket = socket.display();
    let mut text =
        format!("daemon {version} runs: pid {pid}, up {uptime_secs} s, socket {socket}\n");
    for server in servers {
        let pid = server.pid.map(|pid| format!(" pid {pid}")).unwrap_or_default();
        let _ = writeln!(text, "  {} {}{pid} {}", server.name, server.state, server.root.display());
    }
    text
}
