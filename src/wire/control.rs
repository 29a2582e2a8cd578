//! The control protocol between front doors and the daemon: one JSON line each way. The handshake
//! travels with the request, so a call costs one round trip.

mod loops;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use loops::{
    LoopAdoptRequest, LoopHistoryRequest, LoopRestoreRequest, LoopResumeRequest, LoopSelector,
    LoopStartRequest,
};

/// Version of the protocol; part of the socket's name. Raised when a field changes its meaning.
pub const PROTOCOL_VERSION: u32 = 1;

/// A front door's line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonCall {
    /// [`PROTOCOL_VERSION`] of the front door.
    pub protocol: u32,
    /// Who calls, from where.
    pub caller: CallerContext,
    /// What it wants.
    pub request: DaemonRequest,
}

/// The caller's surroundings. The daemon's own are never used in their place.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallerContext {
    /// Working directory, absolute.
    pub cwd: PathBuf,
    /// `--root`, absolute.
    pub root: Option<PathBuf>,
    /// Environment; never logged.
    pub env: BTreeMap<String, String>,
    /// Whether the answer is for a tool of an agent, which wants a document beside the text.
    #[serde(default)]
    pub is_tool: bool,
}

/// What a front door can ask for; one handler file each.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum DaemonRequest {
    /// A hook event of the host with its input as it came.
    Hook {
        /// `post-tool-use` and so on.
        event: String,
        /// The JSON document, unread.
        input: String,
        /// No other call has it. A call that is made again, because the daemon ended while it
        /// worked on it, keeps it.
        id: String,
        /// When the hook process began, in milliseconds since the epoch and rather too late than
        /// too early; `None` where the system does not tell.
        #[serde(default)]
        begun_ms: Option<u64>,
    },
    /// `check`.
    Check(CheckRequest),
    /// `scan`.
    Scan(ScanRequest),
    /// `scan test`.
    ScanTest(ScanTestRequest),
    /// `guard`.
    Guard(GuardRequest),
    /// `guard allow`.
    GuardAllow(GuardAllowRequest),
    /// `references`.
    References(LookupRequest),
    /// `definition`.
    Definition(LookupRequest),
    /// `hover`.
    Hover(LookupRequest),
    /// `symbols`.
    Symbols(SymbolsRequest),
    /// `rename`.
    Rename(RenameRequest),
    /// `search`.
    Search(SearchRequest),
    /// `rewrite`.
    Rewrite(RewriteRequest),
    /// `judge`.
    Judge(JudgeChangeRequest),
    /// `loop start`.
    LoopStart(LoopStartRequest),
    /// `loop status`.
    LoopStatus(LoopSelector),
    /// `loop cancel`.
    LoopCancel(LoopSelector),
    /// `loop pause`.
    LoopPause(LoopSelector),
    /// `loop resume`.
    LoopResume(LoopResumeRequest),
    /// `loop history`.
    LoopHistory(LoopHistoryRequest),
    /// `loop report`.
    LoopReport(LoopSelector),
    /// `loop checks`.
    LoopChecks {
        /// The loop whose frozen checks are meant.
        select: LoopSelector,
        /// Say which there are, and run none.
        list: bool,
    },
    /// `loop adopt`; the session is the new one.
    LoopAdopt(LoopAdoptRequest),
    /// `loop forget`.
    LoopForget(LoopSelector),
    /// `loop refreeze`.
    LoopRefreeze(LoopSelector),
    /// `loop restore`.
    LoopRestore(LoopRestoreRequest),
    /// `doctor`.
    Doctor(DoctorRequest),
    /// Which tools the project's options offer to agents.
    McpTools,
    /// `server list`.
    ServerList {
        /// JSON instead of text.
        json: bool,
    },
    /// `server start`.
    ServerStart {
        /// Language id or server id.
        what: String,
        /// JSON instead of text.
        json: bool,
    },
    /// `server stop`.
    ServerStop(ServersRequest),
    /// `server restart`.
    ServerRestart(ServersRequest),
    /// `server logs`.
    ServerLogs(ServersRequest),
    /// `daemon status`.
    DaemonStatus {
        /// JSON instead of text.
        json: bool,
    },
    /// `daemon stop`, or a newer program taking over.
    DaemonStop,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// One document, `moai-ralph/report@1`.
    Json,
    /// One finding a line.
    Jsonl,
    /// SARIF 2.1.0.
    Sarif,
    /// Workflow commands of GitHub.
    Github,
}

/// Arguments of `check`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CheckRequest {
    /// Files and folders, as typed.
    pub paths: Vec<PathBuf>,
    /// The whole project.
    pub all: bool,
    /// How the report is written.
    #[serde(default)]
    pub format: ReportFormat,
    /// Colours in the text.
    pub color: bool,
    /// Hints in the text.
    pub verbose: bool,
    /// Lowest severity that fails: `error`, `warning` or `never`.
    pub fail_on: String,
    /// A gap does not fail.
    pub allow_unmeasured: bool,
    /// Without language servers.
    pub no_lsp: bool,
    /// Without the scan.
    pub no_scan: bool,
    /// Overall deadline in seconds.
    pub timeout_secs: u64,
    /// Known findings, as a file named in the working directory.
    #[serde(default)]
    pub baseline: Option<PathBuf>,
    /// Where the findings are written as known.
    #[serde(default)]
    pub write_baseline: Option<PathBuf>,
}

/// Arguments of `scan`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScanRequest {
    /// Files and folders, as typed; none means the project.
    pub paths: Vec<PathBuf>,
    /// Only files that differ from HEAD.
    pub changed: bool,
    /// A text in place of files.
    pub stdin: Option<StdinText>,
    /// Folders of rules beside the others, as typed.
    pub rules: Vec<PathBuf>,
    /// Folders of rules in place of all others, as typed.
    pub only_rules: Vec<PathBuf>,
    /// Files that usually hold secrets, too.
    pub include_sensitive: bool,
    /// Show what the rules would put in place of what they find, instead of a report.
    pub fix: bool,
    /// Write it.
    pub apply: bool,
    /// Fixes that are not called safe, too.
    pub unsafe_fixes: bool,
    /// How the report is written.
    pub format: ReportFormat,
    /// Colours in the text.
    pub color: bool,
    /// Hints in the text.
    pub verbose: bool,
    /// Lowest severity that fails: `error`, `warning` or `never`.
    pub fail_on: String,
    /// A gap does not fail.
    pub allow_unmeasured: bool,
    /// Known findings, as a file named in the working directory.
    #[serde(default)]
    pub baseline: Option<PathBuf>,
    /// Where the findings are written as known.
    #[serde(default)]
    pub write_baseline: Option<PathBuf>,
}

/// Arguments of `scan test`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScanTestRequest {
    /// Folders of rules, as typed; none means the project's and the built-in ones.
    pub folders: Vec<PathBuf>,
    /// JSON instead of text.
    pub json: bool,
    /// Rules without tests are named.
    pub verbose: bool,
}

/// Arguments of `guard`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GuardRequest {
    /// The commit to compare with, as git names it; `None`: HEAD.
    pub base: Option<String>,
    /// What the change is for, in the user's words.
    pub goal: String,
    /// How the report is written.
    pub format: ReportFormat,
    /// Colours in the text.
    pub color: bool,
    /// Hints in the text.
    pub verbose: bool,
    /// Lowest severity that fails: `error`, `warning` or `never`.
    pub fail_on: String,
    /// A gap does not fail.
    pub allow_unmeasured: bool,
}

/// Arguments of `guard allow`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GuardAllowRequest {
    /// The finding's fingerprint.
    pub id: String,
    /// Why it is right.
    pub reason: String,
    /// The commit to compare with, as git names it; `None`: HEAD.
    pub base: Option<String>,
}

/// A text that is no file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StdinText {
    /// Its bytes; more than a file may have are cut behind the first one too many.
    pub bytes: Vec<u8>,
    /// Its language, as a rule file names it.
    pub language: Option<String>,
    /// The path it stands for, relative to the root.
    pub path: Option<PathBuf>,
}

/// A place in a file, as people count: lines and columns from 1, columns in UTF-16 units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedPosition {
    /// The file, as typed.
    pub file: PathBuf,
    /// Line.
    pub line: u32,
    /// Column; `None` with a symbol.
    pub column: Option<u32>,
    /// A name that stands once on the line, in place of a column.
    pub symbol: Option<String>,
}

/// Arguments of `references`, `definition` and `hover`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LookupRequest {
    /// Where.
    pub at: RequestedPosition,
    /// JSON instead of text.
    pub json: bool,
    /// Overall deadline in seconds.
    pub timeout_secs: u64,
}

/// Arguments of `symbols`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SymbolsRequest {
    /// A file, or part of a name to be looked for in the project.
    pub subject: String,
    /// JSON instead of text.
    pub json: bool,
    /// Overall deadline in seconds.
    pub timeout_secs: u64,
}

/// Arguments of `rename`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RenameRequest {
    /// Where the symbol stands.
    pub at: RequestedPosition,
    /// Its new name.
    pub new_name: String,
    /// Write it; otherwise only show it.
    pub apply: bool,
    /// JSON instead of text.
    pub json: bool,
    /// Overall deadline in seconds.
    pub timeout_secs: u64,
}

/// Arguments of `search`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SearchRequest {
    /// The pattern.
    pub pattern: String,
    /// Its languages, as rule files name them.
    pub languages: Vec<String>,
    /// Files and folders, as typed; none means the whole project.
    pub paths: Vec<PathBuf>,
    /// Matches that are named; the rest are counted.
    pub results_max: usize,
    /// JSON instead of text.
    pub json: bool,
    /// Overall deadline in seconds.
    pub timeout_secs: u64,
}

/// Arguments of `rewrite`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RewriteRequest {
    /// The pattern.
    pub pattern: String,
    /// What takes the place of its matches.
    pub replacement: String,
    /// Its languages, as rule files name them.
    pub languages: Vec<String>,
    /// Files and folders, as typed; none means the whole project.
    pub paths: Vec<PathBuf>,
    /// Write it; otherwise only show it.
    pub apply: bool,
    /// JSON instead of text.
    pub json: bool,
    /// Overall deadline in seconds.
    pub timeout_secs: u64,
}

/// Arguments of `doctor`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DoctorRequest {
    /// Whether the conformance probes are played.
    pub probe: bool,
    /// Languages whose servers are probed; none given: all.
    pub languages: Vec<String>,
    /// JSON instead of text.
    pub json: bool,
}

/// Arguments of `judge`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JudgeChangeRequest {
    /// The rubric, as typed; `None`: that of the project.
    pub rubric: Option<PathBuf>,
    /// Where the change begins, as git names it; `None`: at HEAD.
    pub base: Option<String>,
    /// Write the files that a loop keeps of its judgements.
    pub record: bool,
    /// JSON instead of text.
    pub json: bool,
}

/// Which language servers are meant; with the caller's `--root`, only those of that root.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServersRequest {
    /// Server ids; none means all.
    pub ids: Vec<String>,
    /// JSON instead of text.
    pub json: bool,
}

/// The daemon's line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonReply {
    /// [`PROTOCOL_VERSION`] of the daemon.
    pub protocol: u32,
    /// Its process id.
    pub pid: u32,
    /// The daemon cannot serve this call because another program has taken its place on disk, or
    /// it is draining; the front door starts a new one.
    pub stale: bool,
    /// What the front door prints and exits with.
    pub reply: CommandReply,
}

/// What a front door prints and exits with; front doors decide nothing themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandReply {
    /// For stdout, whole.
    pub stdout: String,
    /// For a tool: the answer as values (`report::tools`); `None` for a refusal or a failure.
    #[serde(default)]
    pub document: Option<Box<serde_json::Value>>,
    /// For stderr, whole.
    pub stderr: String,
    /// Exit code (contract section 1).
    pub code: u8,
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
    fn a_prompt_travels_byte_for_byte_on_one_line() {
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
