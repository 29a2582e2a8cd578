//! MoAI Ralph Engine: makes a coding agent's work verifiable while it works.
//!
//! The layers, from the words at the bottom to the front doors at the top, are described in
//! `ARCHITECTURE.md` and held by the tidy test (`tests/it/tidy.rs`): a module imports only from
//! lower layers. The library sets nothing global and never prints.

pub mod base;
pub mod checks;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod files;
pub mod git;
pub mod guard;
pub mod ipc;
pub mod judge;
pub mod looping;
pub mod lsp;
pub mod mcp;
pub mod models;
mod processes;
pub mod report;
pub mod scan;
pub mod servers;
pub mod store;
pub mod wire;
