//! Documents of `server list`, `server start`, `stop`, `restart`, `server logs`, `doctor` and
//! `daemon status`.

use std::path::PathBuf;

use serde::Serialize;

/// `moai-ralph/servers@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/servers@1")]
pub struct ServersDocument<'a> {
    pub servers: &'a [ServerRow],
}

/// One language server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerRow {
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
    pub restarts: u64,
    /// Reason of its last failure.
    pub last_gap: Option<String>,
}

/// `moai-ralph/server-acts@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/server-acts@1")]
pub struct ServerActsDocument {
    pub servers: Vec<ServerActEntry>,
}

/// The action taken on one server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerActEntry {
    pub id: String,
    /// Absolute path of the root.
    pub root: String,
    /// `started`, `stopped` or `restarted`.
    pub act: &'static str,
    /// True if it succeeded.
    pub done: bool,
    pub reason: Option<String>,
}

/// `moai-ralph/server-logs@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/server-logs@1")]
pub struct ServerLogsDocument {
    pub servers: Vec<ServerLogEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ServerLogEntry {
    pub id: String,
    /// Absolute path of the root.
    pub root: String,
    /// The lines, oldest first.
    pub lines: Vec<LogLineEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LogLineEntry {
    /// Time in UTC, RFC 3339.
    pub at: String,
    /// `stderr`, a message type, or `engine`.
    pub source: &'static str,
    pub text: String,
}

/// `moai-ralph/doctor@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/doctor@1")]
pub struct DoctorDocument<'s> {
    /// The project's languages.
    pub languages: Vec<LanguageEntry<'s>>,
    /// Results of the conformance probes.
    pub probes: Vec<ProbeEntry<'s>>,
    /// The daemon that answers; not with probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<DaemonHealthEntry>,
    /// The databases; empty with probes.
    pub stores: Vec<StoreHealthEntry>,
    /// The memory of a team, if one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_memory: Option<TeamMemoryEntry>,
}

/// The process that answers.
#[derive(Clone, Debug, Serialize)]
pub struct DaemonHealthEntry {
    pub pid: u32,
    pub version: &'static str,
    /// Seconds since its start.
    pub uptime_secs: u64,
    /// Absolute path of its socket.
    pub socket: PathBuf,
    /// Absolute path of the folder of its log.
    pub log: PathBuf,
}

/// The health of a database.
#[derive(Clone, Debug, Serialize)]
pub struct StoreHealthEntry {
    /// `memory` or `loops`.
    pub name: &'static str,
    /// Absolute path of the database.
    pub path: PathBuf,
    /// `ok`, `none`, `missing`, `locked` (read-only), `damaged`, `newer` or `unreadable`.
    pub state: &'static str,
    pub reason: Option<String>,
    pub remedy: Option<String>,
    /// Bytes of the database and its log.
    pub bytes: u64,
    /// Observations, or loops.
    pub rows: Option<u64>,
    /// Schema of the database.
    pub schema: Option<usize>,
    /// The newest schema that this program knows.
    pub schema_known: usize,
    /// Time of its last check for damage; the present if it could be checked now.
    pub checked_at: Option<String>,
    /// Time of the newest backup.
    pub backup_at: Option<String>,
    /// For the memory: observations waiting to be stored.
    pub waiting: Option<u64>,
    /// Damaged databases that were moved away.
    pub damaged_copies: Vec<PathBuf>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TeamMemoryEntry {
    /// Database and host.
    pub place: String,
    /// True if it answers.
    pub reachable: bool,
    /// Reason of a failed connection.
    pub reason: Option<String>,
}

/// One language of a project and its server.
#[derive(Clone, Debug, Serialize)]
pub struct LanguageEntry<'s> {
    pub language: &'s str,
    pub files: usize,
    /// Server id, or the sensor's name without a server.
    pub server: &'s str,
    /// Absolute path of the server's program.
    pub program: Option<&'s str>,
    pub version: Option<&'s str>,
    /// Reason for a missing server.
    pub reason: Option<String>,
}

/// The probe of one server.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeEntry<'s> {
    pub server: &'s str,
    pub version: Option<&'s str>,
    pub language: &'s str,
    /// The acts, in order.
    pub acts: Vec<ProbeActEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ProbeActEntry {
    pub name: &'static str,
    /// `right`, `false clean`, `stale` or `unmeasured`.
    pub outcome: &'static str,
    pub reason: Option<String>,
    pub elapsed_ms: u64,
}

/// `moai-ralph/daemon@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/daemon@1")]
pub struct DaemonDocument {
    pub running: bool,
    #[serde(flatten)]
    pub daemon: Option<RunningDaemon>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RunningDaemon {
    pub pid: u32,
    pub version: &'static str,
    /// Seconds since its start.
    pub uptime_secs: u64,
    /// Absolute path of its socket.
    pub socket: PathBuf,
    /// The language servers it runs.
    pub servers: Vec<DaemonServerEntry>,
}

/// A language server of the daemon.
#[derive(Clone, Debug, Serialize)]
pub struct DaemonServerEntry {
    pub name: String,
    /// Absolute path of the root.
    pub root: PathBuf,
    /// Process id, if it is running.
    pub pid: Option<u32>,
    /// `starting`, `loading`, `ready`, `busy` or `down`.
    pub state: &'static str,
}
