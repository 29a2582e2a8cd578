//! Towards language servers: which one serves what, and one server's session as a state machine.
//! Pure: messages and times come in, messages and verdicts go out. It must not know processes,
//! sockets or disks.

pub mod edits;
pub mod faults;
pub mod freshness;
mod glob;
pub mod impact;
pub mod latency;
pub mod probe;
pub mod registry;
pub mod session;
