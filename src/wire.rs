//! Bytes and JSON in, our types out. Sans-IO: nothing here reads, writes, waits or decides.
//! It must not know what any message is good for.

pub mod baseline;
pub mod control;
pub mod framing;
pub mod hook;
pub mod jsonrpc;
pub mod lsp;
pub mod transcript;
