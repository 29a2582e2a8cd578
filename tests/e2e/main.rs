//! The whole way with the real Claude Code program: it loads this checkout as a plugin, runs our
//! hooks, and talks to a scripted model on loopback. Nothing leaves the machine.

#[path = "../../benches/edits/download.rs"]
#[expect(dead_code, reason = "shared with the benches, which use the rest")]
mod download;
mod engine;
mod full_pipeline;
mod honesty;
mod host;
mod http;
mod judge;
mod loops;
mod memory;
mod model;
mod parallel_pipeline;
mod pipelines;
mod plugin;
#[path = "../../benches/edits/past/requests.rs"]
mod requests;
#[path = "../real/servers.rs"]
#[expect(dead_code, reason = "shared with the other test target, which uses the rest")]
mod servers;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other test targets, which use the rest")]
mod support;
mod tools;
mod validity;
