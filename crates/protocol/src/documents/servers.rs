//! Documents of `server list`, `server start`, `stop`, `restart`, `server logs`, `doctor` and
//! `daemon status`.

use std::path::PathBuf;

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
    /// The databases; none with probes.
    pub stores: Vec<StoreHealthEntry>,
    /// The memory of a team, if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_memory: Option<TeamMemoryEntry>,
}

/// The process that answers.
#[derive(Clone, Debug, Serialize)]
pub struct DaemonHealthEntry {
    /// Process id.
    pub pid: u32,
    /// Version of the program.
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
    /// `ok`, `none`, `missing`, `locked` (nothing can be written), `damaged`, `newer` or `unreadable`.
    pub state: &'static str,
    /// What is wrong.
    pub reason: Option<String>,
    /// What to do about it.
    pub remedy: Option<String>,
    /// Bytes of the database and its log.
    pub bytes: u64,
    /// Observations, or loops.
    pub rows: Option<u64>,
    /// Schema of the database.
    pub schema: Option<usize>,
    /// The newest schema that this program knows.
    pub schema_known: usize,
    /// When it was checked for damage: now, if it could be.
    pub checked_at: Option<String>,
    /// When the newest backup was made.
    pub backup_at: Option<String>,
    /// Observations that wait until they can be stored; for the memory.
    pub waiting: Option<u64>,
    /// Databases that were damaged and moved aside.
    pub damaged_copies: Vec<PathBuf>,
}

/// The memory of a team.
#[derive(Clone, Debug, Serialize)]
pub struct TeamMemoryEntry {
    /// Database and host.
    pub place: String,
    /// Whether it answers.
    pub reachable: bool,
    /// Why it does not.
    pub reason: Option<String>,
}

/// One language of a project and its server.
#[derive(Clone, Debug, Serialize)]
pub struct LanguageEntry<'s> {
    /// The language's name.
    pub language: &'s str,
    /// Number of its files.
    pub files: usize,
    /// Server id, or the sensor's name without a server.
    pub server: &'s str,
    /// Absolute path of the server's program.
    pub program: Option<&'s str>,
    /// Version of the server.
    pub version: Option<&'s str>,
    /// Why there is no server.
    pub reason: Option<String>,
}

/// The probe of one server.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeEntry<'s> {
    /// Server id.
    pub server: &'s str,
    /// Version of the server.
    pub version: Option<&'s str>,
    /// The language of the probe.
    pub language: &'s str,
    /// The acts, in order.
    pub acts: Vec<ProbeActEntry>,
}

/// One act of a probe.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeActEntry {
    /// Name of the act.
    pub name: &'static str,
    /// `right`, `false clean`, `stale` or `unmeasured`.
    pub outcome: &'static str,
    /// Why it is unmeasured.
    pub reason: Option<String>,
    /// Time to the answer.
    pub elapsed_ms: u64,
}

/// `moai-ralph/daemon@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/daemon@1")]
pub struct DaemonDocument {
    /// Whether a daemon is running.
    pub running: bool,
    /// The running daemon.
    #[serde(flatten)]
    pub daemon: Option<RunningDaemon>,
}

/// A running daemon.
#[derive(Clone, Debug, Serialize)]
pub struct RunningDaemon {
    /// Process id.
    pub pid: u32,
    /// Version of the program.
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
    /// Server id.
    pub name: String,
    /// Absolute path of the root.
    pub root: PathBuf,
    /// Process id, if it is running.
    pub pid: Option<u32>,
    /// `starting`, `loading`, `ready`, `busy` or `down`.
    pub state: &'static str,
}
