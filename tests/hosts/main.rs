//! The whole way with the real Codex CLI, GitHub Copilot CLI and OpenCode in pinned versions: each
//! installs this checkout as its plugin, runs our hooks, and talks to a scripted model on loopback.

mod client;
mod codex;
mod copilot;
#[path = "../e2e/http.rs"]
mod http;
mod model;
mod opencode;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other test targets, which use the rest")]
mod support;
mod two_hosts;
