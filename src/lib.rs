//! MoAI Ralph Engine: makes a coding agent's work verifiable while it works. This package holds the
//! front doors; the engine is below `crates/`, as described in `ARCHITECTURE.md`.

pub mod cli;
pub mod mcp;
