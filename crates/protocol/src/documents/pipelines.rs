//! Document of `pipeline` and its subcommands.

use serde::Serialize;

/// `moai-ralph/pipeline@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/pipeline@1")]
pub struct PipelineDocument<'s> {
    pub id: &'s str,
    /// `full`, `small` or `bugfix`.
    pub kind: &'static str,
    /// `plan`, `sprint`, `gate`, `fix`, `finalize` or `ended`.
    pub phase: &'static str,
    /// The outcome; `None` while the pipeline is active.
    pub outcome: Option<&'static str>,
    pub goal: &'s str,
    /// The plan, relative to the root.
    pub plan: String,
    /// Approver of the plan: `person` or `agent`; `None` until then.
    pub approved_by: Option<&'static str>,
    pub loop_id: &'s str,
    /// The TODOs of the approved plan.
    pub todos: PipelineTodoCounts,
    pub gates: PipelineGateEntries,
    /// Rounds of fixes after a gate failed.
    pub fix_loops: usize,
    /// Tokens used since the start; `None` if unknown.
    pub tokens: Option<u64>,
    /// TODOs that passed, at each measured Stop.
    pub convergence: Vec<usize>,
    /// Commits since it began, oldest first, if requested.
    pub commits: Vec<PipelineCommitEntry<'s>>,
    /// Explanation of the outcome.
    pub note: Option<String>,
    /// Worktrees of TODOs, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<TodoWorktreeEntry<'s>>,
}

/// `moai-ralph/pipeline-report@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/pipeline-report@1")]
pub struct PipelineReportDocument<'s> {
    pub id: &'s str,
    pub goal: &'s str,
    /// The outcome; `None` while the pipeline is active.
    pub outcome: Option<&'static str>,
    /// Explanation of the outcome.
    pub note: Option<String>,
    pub gates: PipelineGateEntries,
    /// The evidence for each requirement.
    pub requirements: Vec<RequirementEntry>,
    /// Commits since it began, oldest first, if requested.
    pub commits: Vec<PipelineCommitEntry<'s>>,
    /// Claims that the engine's own runs did not confirm, oldest first.
    pub claims: Vec<ClaimEntry<'s>>,
    /// Source files that shell commands changed against the rules, oldest first.
    pub shell_writes: Vec<ShellWriteEntry<'s>>,
    /// Proposals of workers.
    pub proposals: Vec<ProposalEntry<'s>>,
}

/// A claim that a run did not confirm.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimEntry<'s> {
    pub todo: &'s str,
    pub reason: &'s str,
}

/// A source file that a shell command changed against the rules.
#[derive(Clone, Debug, Serialize)]
pub struct ShellWriteEntry<'s> {
    pub path: &'s str,
    /// `main` or `worker`.
    pub by: &'static str,
    /// `named`, `taken_back` or `left`.
    pub outcome: &'static str,
}

/// A proposal of a worker, checked against the pivot points.
#[derive(Clone, Debug, Serialize)]
pub struct ProposalEntry<'s> {
    pub todo: &'s str,
    pub summary: &'s str,
    /// `accepted`, `ask the user` or `rejected`.
    pub verdict: &'s str,
    /// The user's decision; `None` without one.
    pub allowed: Option<bool>,
    /// Pivot points that it conflicts with, with reasons.
    pub conflicts: &'s [String],
}

/// `moai-ralph/pull-request@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/pull-request@1")]
pub struct PullRequestDocument<'s> {
    /// The pipeline.
    pub id: &'s str,
    pub title: &'s str,
    /// Markdown.
    pub body: &'s str,
}

/// `moai-ralph/plan@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/plan@1")]
pub struct ApprovedPlanDocument<'s> {
    /// The pipeline.
    pub id: &'s str,
    /// The plan, relative to the root.
    pub path: String,
    /// Its text as it was approved, with the boxes of the engine's last runs.
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct TodoWorktreeEntry<'s> {
    pub todo: &'s str,
    pub root: String,
    pub branch: &'s str,
    pub loop_id: &'s str,
    /// `working`, `merged`, `unmerged` or `closed`.
    pub stage: &'static str,
}

/// The evidence for a requirement.
#[derive(Clone, Debug, Serialize)]
pub struct RequirementEntry {
    /// Its id; empty for TODOs without a requirement.
    pub id: String,
    /// Its title; empty if the specification does not have it.
    pub title: String,
    /// The TODOs that refer to it.
    pub todos: Vec<TodoEvidenceEntry>,
}

/// The evidence for a TODO.
#[derive(Clone, Debug, Serialize)]
pub struct TodoEvidenceEntry {
    pub todo: String,
    /// `done`, `failed` or `open`.
    pub status: &'static str,
    /// True if all its commands passed in the engine's last run.
    pub passed: bool,
    /// The failure on one line; empty if it passed or was not run.
    pub failure: String,
    pub items: Vec<AcceptanceEntry>,
    /// Ids of the commits that change its files, oldest first.
    pub commits: Vec<String>,
}

/// One acceptance item.
#[derive(Clone, Debug, Serialize)]
pub struct AcceptanceEntry {
    /// Its id: `AC-1`.
    pub id: String,
    /// `A`, `S` or `H`.
    pub kind: &'static str,
    /// Its command, or its text.
    pub text: String,
    /// `passed`, `failed`, `undecided` or `not_run` for a command; `met`, `not_met` or `unanswered` for a
    /// person's item; `gate` for a scenario, which its gate decides.
    pub result: &'static str,
}

/// Numbers of TODOs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PipelineTodoCounts {
    pub total: usize,
    /// TODOs that passed in the engine's last run.
    pub done: usize,
    /// TODOs that failed.
    pub failed: usize,
    /// TODOs in progress.
    pub in_progress: usize,
}

/// The gates: `open`, `passed`, `failed`, `skipped`, `degraded` or `none`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PipelineGateEntries {
    /// Acceptance commands.
    pub tests: &'static str,
    pub review: &'static str,
    pub scenarios: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct PipelineCommitEntry<'s> {
    /// Its id in hex.
    pub id: &'s str,
    /// The first line of its message.
    pub subject: &'s str,
    /// True if the commands were run in a checkout of it.
    pub checked: bool,
    /// Commands that fail there. An acceptance command may fail before the commit that makes it pass.
    pub failing: Vec<&'s str>,
}
