//! Documents of `loop` and its subcommands.

use serde::Serialize;

use super::reports::{FindingEntry, SensorEntry};

/// `moai-ralph/loop@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/loop@1")]
pub struct LoopDocument<'s> {
    pub id: &'s str,
    /// The session that owns the loop.
    pub session_id: Option<&'s str>,
    /// The command that started the loop: `loop`, `fix`, `gulf`, …
    pub mode: &'static str,
    /// `running`, `paused`, or how the loop ended.
    pub status: &'static str,
    /// The condition that the loop must reach.
    pub until: &'static str,
    pub iteration: u32,
    /// Upper bound of the iterations.
    pub max_iterations: u32,
    /// First line of the task.
    pub goal: &'s str,
    /// The task.
    pub prompt: &'s str,
    /// The text that the agent must promise.
    pub completion_promise: Option<&'s str>,
    /// The project's checks, as text.
    pub checks: &'s [String],
    pub options: LoopOptionsEntry<'s>,
    /// Tokens used since the start.
    pub tokens: Option<u64>,
    /// Consecutive rejections by the judges.
    pub consecutive_rejections: u32,
    /// The remaining problems.
    pub remaining: RemainingEntry<'s>,
    pub best: Option<u32>,
    /// Estimated number of iterations, from the trend of the errors.
    pub forecast_iterations: Option<usize>,
    /// Reason of a pause.
    pub pause_reason: Option<&'static str>,
    /// Explanation of the status.
    pub note: Option<&'s str>,
    pub branch: Option<&'s str>,
    pub history: Vec<IterationEntry<'s>>,
    /// End of the loop; `None` for an active loop.
    pub terminal: Option<LoopEndEntry<'s>>,
    /// The workers of the project, if requested and there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<Vec<WorkerEntry<'s>>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LoopOptionsEntry<'s> {
    /// Iterations between two pauses for the user.
    pub milestone_every: Option<u32>,
    /// Rejections by the judges after which the loop pauses for the user.
    pub hitl_threshold: u32,
    /// Upper bound of the time, in minutes.
    pub max_minutes: Option<u32>,
    /// Upper bound of the tokens.
    pub max_tokens: Option<u64>,
    /// True if the loop continues to its last iteration.
    pub force_max: bool,
    /// True if the loop begins with research.
    pub research: bool,
    /// True if the loop keeps notes in files.
    pub structured_memory: bool,
    /// The branch that the loop's branch is merged into.
    pub base_branch: Option<&'s str>,
    pub workers: u32,
    /// `base` or `none`.
    pub baseline: &'static str,
    /// The paths that the loop is limited to.
    pub paths: &'s [String],
}

/// The remaining problems of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct RemainingEntry<'s> {
    pub error: usize,
    pub warning: usize,
    pub checks_failed: &'s [String],
}

/// One iteration of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct IterationEntry<'s> {
    /// Number of the iteration, from 1.
    pub n: u32,
    /// Time in UTC, RFC 3339.
    pub at: String,
    pub errors: usize,
    pub warnings: usize,
    /// `clean`, `dirty`, `unmeasured` or `none`.
    pub checks: &'s str,
    /// `continue` or the resulting status.
    pub verdict: &'s str,
    /// The checkpoint of the working tree.
    pub checkpoint: Option<&'s str>,
    /// Total weight of the problems; `None`: not measured.
    pub weight: Option<u64>,
    /// Codes of the guard's blocking findings.
    pub guard: &'s [String],
    /// Tokens used since the start of the loop; `None`: not measured.
    pub tokens: Option<u64>,
}

/// The end of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct LoopEndEntry<'s> {
    /// The final status.
    pub status: &'static str,
    /// Time in UTC, RFC 3339.
    pub at: String,
    pub not_measured: Option<&'s str>,
    pub report: LoopReportDocument<'s>,
}

/// `moai-ralph/loop-report@1`. Each line of a list is one sentence.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/loop-report@1")]
pub struct LoopReportDocument<'s> {
    pub id: &'s str,
    pub status: &'static str,
    /// One line for the user.
    pub summary: String,
    pub best: Option<u32>,
    /// The agent's claims.
    pub claim: Vec<String>,
    pub evidence: Vec<String>,
    /// Problems that existed before the loop.
    pub before: Vec<String>,
    pub gaps: Vec<String>,
    /// Problems that the evidence cannot exclude.
    pub residual_risk: Vec<String>,
}

/// `moai-ralph/loop-history@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/loop-history@1")]
pub struct LoopHistoryDocument<'s> {
    pub id: &'s str,
    pub status: &'static str,
    pub best: Option<u32>,
    pub history: Vec<IterationEntry<'s>>,
}

/// `moai-ralph/loops@1`: all loops of a project.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/loops@1")]
pub struct LoopListDocument<'s> {
    /// The loops, the newest first.
    pub loops: Vec<LoopListEntry<'s>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LoopListEntry<'s> {
    pub id: &'s str,
    /// The session that owns the loop.
    pub session_id: Option<&'s str>,
    /// The command that started the loop.
    pub mode: &'static str,
    pub status: &'static str,
    pub iteration: u32,
    /// Upper bound of the iterations.
    pub max_iterations: u32,
    /// First line of the task.
    pub goal: &'s str,
    /// Time in UTC, RFC 3339.
    pub created_at: String,
    /// Time in UTC, RFC 3339.
    pub updated_at: String,
}

/// `moai-ralph/workers@1`: the workers created by a start, or those of a project.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/workers@1")]
pub struct WorkersDocument<'s> {
    pub workers: Vec<WorkerEntry<'s>>,
}

/// One worker: a worktree with its own loop.
#[derive(Clone, Debug, Serialize)]
pub struct WorkerEntry<'s> {
    /// Absolute path of the worktree.
    pub root: String,
    pub branch: Option<&'s str>,
    /// Id of its loop.
    pub id: Option<&'s str>,
    /// Status of its loop.
    pub status: Option<&'static str>,
    /// Finished iterations of its loop.
    pub iteration: Option<u32>,
}

/// `moai-ralph/forgotten@1`: the data removed by `loop forget`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/forgotten@1")]
pub struct ForgottenDocument<'s> {
    /// Id of the loop.
    pub id: &'s str,
    /// Number of removed checkpoints.
    pub checkpoints: usize,
}

/// `moai-ralph/restore@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/restore@1")]
pub struct RestoreDocument<'s> {
    /// The loop of the checkpoint.
    #[serde(rename = "loop")]
    pub owner: &'s str,
    pub checkpoint: &'s str,
    /// `preview` or `applied`.
    pub status: &'static str,
    /// The files to change.
    pub files: Vec<RestoreFileEntry<'s>>,
    /// Newer files that are kept.
    pub kept: Vec<&'s str>,
    /// Files that cannot be restored.
    pub left: Vec<RestoreGapEntry<'s>>,
    /// The checkpoint of the replaced files; `None` for a preview.
    pub saved: Option<&'s str>,
}

/// One file that a restore changes.
#[derive(Clone, Debug, Serialize)]
pub struct RestoreFileEntry<'s> {
    pub path: &'s str,
    pub action: &'static str,
}

/// One file that a restore does not change.
#[derive(Clone, Debug, Serialize)]
pub struct RestoreGapEntry<'s> {
    pub path: &'s str,
    pub reason: &'s str,
}

/// `moai-ralph/checks@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/checks@1")]
pub struct ChecksDocument<'s> {
    /// The loop whose exam is shown; `None` for the project's present checks.
    #[serde(rename = "loop")]
    pub loop_id: Option<&'s str>,
    /// Time of freezing the exam: UTC, RFC 3339.
    pub frozen_at: Option<String>,
    pub commands: Vec<CheckCommandEntry<'s>>,
    /// Required criteria without a command.
    pub unanswered: Vec<UnansweredEntry<'s>>,
    /// True if `.claude/autochecks.sh` is run as well.
    pub autochecks: bool,
    /// Differences from the exam.
    pub differences: Vec<DifferenceEntry<'s>>,
    /// Verdict of the runs; `None` if the checks were only listed.
    pub verdict: Option<&'static str>,
    /// Results of the runs.
    pub sensors: Option<Vec<SensorEntry>>,
    /// Findings of the runs.
    pub findings: Option<Vec<FindingEntry>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CheckCommandEntry<'s> {
    pub name: &'s str,
    /// The criterion it answers.
    pub kind: &'static str,
    /// Program and arguments.
    pub argv: &'s [String],
    /// The folder it runs in.
    pub folder: &'s str,
    /// Upper bound of its time.
    pub timeout_secs: Option<u64>,
    /// The file it comes from.
    pub source: &'s str,
    /// Reason for choosing it.
    pub why: &'s str,
}

/// A required criterion without a command.
#[derive(Clone, Debug, Serialize)]
pub struct UnansweredEntry<'s> {
    /// The criterion.
    pub name: &'s str,
    pub reason: String,
}

/// One difference from a loop's exam.
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceEntry<'s> {
    pub path: &'s str,
    /// Its role in the exam.
    pub role: &'static str,
    pub change: &'static str,
}

/// `moai-ralph/refreeze@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/refreeze@1")]
pub struct RefreezeDocument<'s> {
    #[serde(rename = "loop")]
    pub loop_id: &'s str,
    /// Accepted differences from the exam.
    pub taken_over: Vec<DifferenceEntry<'s>>,
    /// Allowed findings of the guard.
    pub allowed: Vec<FindingEntry>,
}
