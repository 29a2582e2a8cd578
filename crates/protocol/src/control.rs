//! The control protocol between front doors and the daemon: one JSON line in each direction. The
//! handshake is part of the request, so a call costs one round trip.

mod loops;
mod memory;
mod pipelines;
mod specs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use loops::{
    LoopAdoptRequest, LoopHistoryRequest, LoopRefreezeRequest, LoopRestoreRequest,
    LoopResumeRequest, LoopSelector, LoopStartRequest,
};

pub use memory::{MemoryAddition, MemoryOperation, MemoryRequest, MemoryScope};
pub use pipelines::{PipelineOperation, PipelineRequest, TerminalProof};
pub use specs::{PivotAddition, SpecOperation, SpecRequest};

/// Protocol version; part of the socket's name. Raised when a field changes its meaning.
pub const PROTOCOL_VERSION: u32 = 1;

/// A call from a front door.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonCall {
    /// [`PROTOCOL_VERSION`] of the front door.
    pub protocol: u32,
    pub caller: CallerContext,
    pub request: DaemonRequest,
}

/// The caller's working directory and environment. The daemon never uses its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallerContext {
    /// Working directory, absolute.
    pub cwd: PathBuf,
    /// `--root`, absolute.
    pub root: Option<PathBuf>,
    /// Environment; never logged.
    pub env: BTreeMap<String, String>,
    /// Process id of the front door. Set by the daemon from kernel data, never from the call.
    #[serde(skip)]
    pub process: Option<i32>,
    /// Process id of the creator of the socket that a hook's input comes from, if it is a socket.
    /// The daemon trusts only its own program.
    #[serde(default)]
    pub input_maker: Option<i32>,
    /// Name of the calling tool, if an agent's tool calls. The daemon refuses a tool that the
    /// project's options disable, and its replies have a document in addition to the text.
    #[serde(default)]
    pub tool: Option<String>,
}

impl CallerContext {
    /// True if an agent's tool calls.
    #[must_use]
    pub fn is_tool(&self) -> bool {
        self.tool.is_some()
    }
}

/// Requests of front doors; each has its own handler file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum DaemonRequest {
    /// A hook event of the host.
    Hook {
        /// `post-tool-use` and so on.
        event: String,
        /// The host's name, if the hook's registration passes it.
        #[serde(default)]
        host: Option<String>,
        /// The JSON payload, unparsed.
        input: String,
        /// Unique per call; kept when the call is repeated because the daemon ended during it.
        id: String,
        /// Start of the hook process, in milliseconds since the epoch, rounded up; `None` where the
        /// system does not report it.
        #[serde(default)]
        begun_ms: Option<u64>,
    },
    Check(CheckRequest),
    Scan(ScanRequest),
    ScanTest(ScanTestRequest),
    Guard(GuardRequest),
    GuardAllow(GuardAllowRequest),
    References(LookupRequest),
    Definition(LookupRequest),
    Hover(LookupRequest),
    Symbols(SymbolsRequest),
    Rename(RenameRequest),
    Search(SearchRequest),
    Rewrite(RewriteRequest),
    Judge(JudgeChangeRequest),
    LoopStart(LoopStartRequest),
    LoopStatus(LoopSelector),
    LoopCancel(LoopSelector),
    LoopPause(LoopSelector),
    LoopResume(LoopResumeRequest),
    LoopHistory(LoopHistoryRequest),
    LoopReport(LoopSelector),
    LoopChecks {
        /// The loop that owns the frozen checks.
        select: LoopSelector,
        /// List them without running them.
        list: bool,
    },
    /// `loop adopt`; the session is the new owner.
    LoopAdopt(LoopAdoptRequest),
    LoopForget(LoopSelector),
    LoopRefreeze(LoopRefreezeRequest),
    LoopRestore(LoopRestoreRequest),
    /// `memory …`.
    Memory(MemoryRequest),
    /// `spec …`.
    Spec(SpecRequest),
    /// `pipeline …`.
    Pipeline(PipelineRequest),
    Doctor(DoctorRequest),
    Trust(TrustRequest),
    Config(ConfigRequest),
    /// The tools that the project's options offer to agents.
    McpTools,
    ServerList {
        json: bool,
    },
    ServerStart {
        /// Language id or server id.
        what: String,
        json: bool,
    },
    ServerStop(ServersRequest),
    ServerRestart(ServersRequest),
    ServerLogs(ServersRequest),
    DaemonStatus {
        json: bool,
    },
    /// `daemon stop`, also sent by a newer program that replaces the daemon.
    DaemonStop,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    /// Human-readable.
    #[default]
    Text,
    /// One document, `moai-ralph/report@1`.
    Json,
    /// One finding per line.
    Jsonl,
    /// SARIF 2.1.0.
    Sarif,
    /// Workflow commands of GitHub.
    Github,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConfigRequest {
    pub action: ConfigAction,
    pub json: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigAction {
    /// Shows options with their origins.
    Show {
        /// An option, or a section of options; empty for all.
        key: String,
    },
    /// Sets an option in the project's file.
    Set {
        key: String,
        /// A YAML value on one line.
        value: String,
    },
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TrustRequest {
    pub action: TrustAction,
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustAction {
    /// Records that the user trusts the project.
    Grant,
    /// Records that the user declined to trust the project.
    Decline,
    /// Removes the record.
    Revoke,
    /// Only shows the programs that a trusted project runs.
    Show,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CheckRequest {
    /// Files and folders, as typed.
    pub paths: Vec<PathBuf>,
    pub all: bool,
    /// Revision whose findings do not count.
    #[serde(default)]
    pub base: Option<String>,
    #[serde(default)]
    pub format: ReportFormat,
    /// True if the text is colored.
    pub color: bool,
    /// True if the text includes hints.
    pub verbose: bool,
    /// Lowest severity that fails: `error`, `warning` or `never`.
    pub fail_on: String,
    /// True if gaps do not fail.
    pub allow_unmeasured: bool,
    /// Without language servers.
    pub no_lsp: bool,
    /// Without the scan.
    pub no_scan: bool,
    pub timeout_secs: u64,
    /// Baseline file, relative to the working directory.
    #[serde(default)]
    pub baseline: Option<PathBuf>,
    /// Baseline file to write.
    #[serde(default)]
    pub write_baseline: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScanRequest {
    /// Files and folders, as typed; empty for the whole project.
    pub paths: Vec<PathBuf>,
    /// Only files that differ from HEAD.
    pub changed: bool,
    /// Text to scan instead of files.
    pub stdin: Option<StdinText>,
    /// Additional rule folders, as typed.
    pub rules: Vec<PathBuf>,
    /// Rule folders that replace all others, as typed.
    pub only_rules: Vec<PathBuf>,
    /// Scan files that usually hold secrets.
    pub include_sensitive: bool,
    /// Show the rules' fixes as a diff instead of a report.
    pub fix: bool,
    /// Write the fixes.
    pub apply: bool,
    /// Include fixes that are not marked as safe.
    pub unsafe_fixes: bool,
    pub format: ReportFormat,
    /// True if the text is colored.
    pub color: bool,
    /// True if the text includes hints.
    pub verbose: bool,
    /// Lowest severity that fails: `error`, `warning` or `never`.
    pub fail_on: String,
    /// True if gaps do not fail.
    pub allow_unmeasured: bool,
    /// Baseline file, relative to the working directory.
    #[serde(default)]
    pub baseline: Option<PathBuf>,
    /// Baseline file to write.
    #[serde(default)]
    pub write_baseline: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScanTestRequest {
    /// Rule folders, as typed; empty for the project's and the built-in ones.
    pub folders: Vec<PathBuf>,
    pub json: bool,
    /// List rules without tests.
    pub verbose: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GuardRequest {
    /// Revision to compare with; `None`: HEAD.
    pub base: Option<String>,
    /// Purpose of the change, in the user's words.
    pub goal: String,
    pub format: ReportFormat,
    /// True if the text is colored.
    pub color: bool,
    /// True if the text includes hints.
    pub verbose: bool,
    /// Lowest severity that fails: `error`, `warning` or `never`.
    pub fail_on: String,
    /// True if gaps do not fail.
    pub allow_unmeasured: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GuardAllowRequest {
    /// The finding's fingerprint.
    pub id: String,
    /// The user's justification.
    pub reason: String,
    /// Revision to compare with; `None`: HEAD.
    pub base: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StdinText {
    /// Truncated one byte after the size limit of files.
    pub bytes: Vec<u8>,
    /// Language, as in rule files.
    pub language: Option<String>,
    /// Path of the text's file, relative to the root.
    pub path: Option<PathBuf>,
}

/// A position in a file: 1-based line and column, columns in UTF-16 units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedPosition {
    /// The file, as typed.
    pub file: PathBuf,
    pub line: u32,
    /// Column; `None` if a symbol is given.
    pub column: Option<u32>,
    /// A name that occurs once on the line, instead of a column.
    pub symbol: Option<String>,
}

/// Arguments of `references`, `definition` and `hover`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LookupRequest {
    pub at: RequestedPosition,
    pub json: bool,
    pub timeout_secs: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SymbolsRequest {
    /// A file, or part of a name to search for in the project.
    pub subject: String,
    pub json: bool,
    pub timeout_secs: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RenameRequest {
    /// Position of the symbol.
    pub at: RequestedPosition,
    pub new_name: String,
    /// Write the changes; otherwise only show them.
    pub apply: bool,
    pub json: bool,
    pub timeout_secs: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchRequest {
    pub pattern: String,
    /// Languages of the pattern, as in rule files.
    pub languages: Vec<String>,
    /// Files and folders, as typed; empty for the whole project.
    pub paths: Vec<PathBuf>,
    /// Largest number of listed matches; the rest are counted.
    pub results_max: usize,
    pub json: bool,
    pub timeout_secs: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RewriteRequest {
    pub pattern: String,
    /// Replacement for the matches.
    pub replacement: String,
    /// Languages of the pattern, as in rule files.
    pub languages: Vec<String>,
    /// Files and folders, as typed; empty for the whole project.
    pub paths: Vec<PathBuf>,
    /// Write the changes; otherwise only show them.
    pub apply: bool,
    pub json: bool,
    pub timeout_secs: u64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DoctorRequest {
    /// Run the conformance probes.
    pub probe: bool,
    /// Languages whose servers are probed; empty for all.
    pub languages: Vec<String>,
    /// Show the agent clients instead.
    #[serde(default)]
    pub hosts: bool,
    pub json: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JudgeChangeRequest {
    /// Rubric file, as typed; `None`: the project's.
    pub rubric: Option<PathBuf>,
    /// First revision of the change; `None`: HEAD.
    pub base: Option<String>,
    /// Write the judgement files of a loop.
    pub record: bool,
    pub json: bool,
}

/// Language servers to act on; with the caller's `--root`, only those of that root.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServersRequest {
    /// Server ids; empty for all.
    pub ids: Vec<String>,
    pub json: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonReply {
    /// [`PROTOCOL_VERSION`] of the daemon.
    pub protocol: u32,
    pub pid: u32,
    /// The daemon cannot serve this call, because its program file was replaced or it is draining;
    /// the front door starts a new daemon.
    pub stale: bool,
    /// The output and exit code of the front door.
    pub reply: CommandReply,
}

/// Output and exit code; front doors decide nothing themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandReply {
    /// Complete output on stdout.
    pub stdout: String,
    /// For a tool: the structured answer (`report::tools`); `None` for a refusal or a failure.
    #[serde(default)]
    pub document: Option<Box<serde_json::Value>>,
    /// True if the call must be repeated with the code that the daemon has shown at the caller's
    /// terminal.
    #[serde(default)]
    pub needs_code: bool,
    /// The reason why a tool call was not handled.
    #[serde(default)]
    pub tool_refusal: Option<ToolRefusal>,
    /// Complete output on stderr.
    pub stderr: String,
    /// Exit code (contract section 1).
    pub code: u8,
}

/// The reason why the daemon does not handle a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRefusal {
    /// The project's options do not offer the tool.
    SwitchedOff,
    /// The project's options cannot be read; stderr has the reason.
    UnusableOptions,
}

impl CommandReply {
    /// Output with exit code 0.
    #[must_use]
    pub fn success(stdout: String) -> Self {
        Self { stdout, ..Self::default() }
    }

    /// A message on stderr and an exit code.
    #[must_use]
    pub fn failure(code: u8, message: &str) -> Self {
        Self { stderr: format!("{message}\n"), code, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_sent_unchanged_on_one_line() {
        let prompt = "fix \"all\" $(touch x) `id`\r\n---\n한글\u{2028}";
        let call = DaemonCall {
            protocol: PROTOCOL_VERSION,
            caller: CallerContext::default(),
            request: DaemonRequest::LoopStart(LoopStartRequest {
                prompt: prompt.into(),
                ..LoopStartRequest::default()
            }),
        };
        let line = serde_json::to_string(&call).expect("serialisable");
        assert!(!line.contains('\n'));
        let back: DaemonCall = serde_json::from_str(&line).expect("readable");
        assert!(matches!(back.request, DaemonRequest::LoopStart(start) if start.prompt == prompt));
    }
}
