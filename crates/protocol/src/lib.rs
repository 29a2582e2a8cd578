//! Requests and results that cross a process boundary: hook payloads, the messages between the
//! front doors and the daemon, the host's transcripts. Parsing and formatting only.

pub mod baseline;
pub mod control;
pub mod documents;
pub mod hook;
pub mod hosts;
pub mod lone_surrogates;
pub mod observation_lines;
pub mod transcript;
