//! The whole way with the real Claude Code program: it loads this checkout as a plugin, runs our
//! hooks, and talks to a scripted model on loopback. Nothing leaves the machine.

mod engine;
mod host;
mod http;
mod judge;
mod loops;
mod model;
mod plugin;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other test targets, which use the rest")]
mod support;
mod tools;
mod validity;
