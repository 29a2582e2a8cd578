//! `daemon status`: the daemon and what it runs.

use std::fmt::Write as _;

use serde_json::json;

use crate::engine::Engine;
use moai_protocol::control::CommandReply;

pub(crate) async fn handle(engine: &Engine, as_json: bool) -> CommandReply {
    let servers = engine.servers.list().await;
    let pid = std::process::id();
    let uptime_secs = engine.started.elapsed().as_secs();
    let socket = engine.dirs.socket_path();
    if as_json {
        let servers: Vec<_> = servers
            .iter()
            .map(|server| {
                json!({"name": server.id, "root": server.root, "pid": server.process_id,
                    "state": server.state.as_str()})
            })
            .collect();
        let status = json!({
            "schema": "moai-ralph/daemon@1", "running": true, "pid": pid,
            "version": env!("CARGO_PKG_VERSION"), "uptime_secs": uptime_secs,
            "socket": socket, "servers": servers,
        });
        return CommandReply::success(format!("{status:#}\n"));
    }
    let mut text = format!(
        "daemon {} runs: pid {pid}, up {uptime_secs} s, socket {}\n",
        env!("CARGO_PKG_VERSION"),
        socket.display()
    );
    for server in servers {
        let pid = server.process_id.map(|pid| format!(" pid {pid}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "  {} {}{pid} {}",
            server.id,
            server.state.as_str(),
            server.root.display()
        );
    }
    CommandReply::success(text)
}
