//! Language servers without I/O: the catalogue of languages and servers, and one server's session
//! as a state machine. Messages and times come in, messages and verdicts go out.

pub mod edits;
pub mod faults;
pub mod framing;
mod freshness;
mod glob;
pub mod impact;
pub mod jsonrpc;
pub mod latency;
pub mod messages;
pub mod probe;
pub mod registry;
pub mod session;
pub mod switched_off;
mod word_set;
