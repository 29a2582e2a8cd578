//! Fast integration tests: the real executable and a scripted language server, both as processes.

mod align;
mod baselines;
mod catalogue;
mod changes;
mod check;
mod criteria;
mod daemon;
mod deltas;
mod docs;
mod doctor;
mod fake_server;
mod faults;
mod guard;
mod hooks;
mod judge;
mod loops;
mod mcp;
mod mcp_client;
mod mcp_questions;
mod options;
mod patterns;
mod payload_files;
mod plugin;
mod queries;
mod rename;
mod rules;
mod sandbox;
mod scan;
mod servers;
#[expect(dead_code, reason = "shared with the other test targets, which use the rest")]
mod support;
mod surroundings;
mod synchronization;
mod terminal;
mod tidy;
mod writers;
