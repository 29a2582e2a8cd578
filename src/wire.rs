//! Parses and formats the messages of all protocols. Sans-IO: nothing here reads, writes, waits or
//! decides.

pub mod baseline;
pub mod control;
pub mod framing;
pub mod hook;
pub mod jsonrpc;
pub mod lsp;
pub mod transcript;
