//! Documents of `server list`, `server start`, `stop`, `restart` and `server logs`.

use serde::Serialize;

/// `moai-ralph/servers@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/servers@1")]
pub struct ServersDocument<'a> {
    /// The servers.
    pub servers: &'a [ServerRow],
}

/// One language server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerRow {
    /// Server id.
    pub id: String,
    /// Language ids.
    pub languages: Vec<String>,
    /// Absolute path of the root.
    pub root: String,
    /// `starting`, `loading`, `ready`, `busy` or `down`.
    pub state: &'static str,
    /// Process id, if it is running.
    pub pid: Option<u32>,
    /// Memory of its process tree; `None`: not measured.
    pub memory_bytes: Option<u64>,
    /// Seconds since its start, if it is running.
    pub uptime_secs: Option<u64>,
    /// Requests it answered.
    pub answered: u64,
    /// Number of restarts.
    pub restarts: u64,
    /// Reason of its last failure.
    pub last_gap: Option<String>,
}

/// `moai-ralph/server-acts@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/server-acts@1")]
pub struct ServerActsDocument {
    /// The servers acted on.
    pub servers: Vec<ServerActEntry>,
}

/// What was done to one server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerActEntry {
    /// Server id.
    pub id: String,
    /// Absolute path of the root.
    pub root: String,
    /// `started`, `stopped` or `restarted`.
    pub act: &'static str,
    /// Whether it succeeded.
    pub done: bool,
    /// Why it failed.
    pub reason: Option<String>,
}

/// `moai-ralph/server-logs@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/server-logs@1")]
pub struct ServerLogsDocument {
    /// The servers.
    pub servers: Vec<ServerLogEntry>,
}

/// Log of one server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerLogEntry {
    /// Server id.
    pub id: String,
    /// Absolute path of the root.
    pub root: String,
    /// The lines, oldest first.
    pub lines: Vec<LogLineEntry>,
}

/// One line of a log.
#[derive(Clone, Debug, Serialize)]
pub struct LogLineEntry {
    /// Time in UTC, RFC 3339.
    pub at: String,
    /// `stderr`, a message type, or `engine`.
    pub source: &'static str,
    /// The line.
    pub text: String,
}
