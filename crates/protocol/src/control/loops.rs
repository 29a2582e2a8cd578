//! Arguments of the commands about loops. Words stay words: what they mean is decided behind the
//! door.

use serde::{Deserialize, Serialize};

/// Arguments of `loop start`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopStartRequest {
    /// The owning session; `None`: the next session of the root claims the loop.
    pub session: Option<String>,
    /// The task, unchanged.
    pub prompt: String,
    /// Mode: `basic`, `judge` or `autonomous`.
    pub mode: Option<String>,
    /// Iteration limit; `None` for the configured one.
    pub max_iterations: Option<u32>,
    /// Tag text that the agent writes to claim completion.
    pub completion_promise: Option<String>,
    /// Condition that ends the loop: `clean`, `diagnostics`, `checks` or `promise`.
    pub until: Option<String>,
    /// Number of iterations between pauses.
    pub milestone_every: Option<u32>,
    /// Consecutive rejections after which the loop pauses for a person.
    pub hitl_threshold: Option<u32>,
    /// Time limit.
    pub max_minutes: Option<u32>,
    /// Token limit.
    pub max_tokens: Option<u64>,
    /// Continue to the iteration limit even if everything is done.
    pub force_max: bool,
    /// Whether the research phase holds the first Stop; `None`: the mode's default.
    pub research: Option<bool>,
    /// Keep notes as a small wiki.
    pub structured_memory: bool,
    /// The branch an autonomous loop starts from and is merged into.
    pub base_branch: Option<String>,
    /// Number of worktrees, each with a loop.
    pub workers: Option<u32>,
    /// Baseline for older findings: `base` or `none`.
    pub baseline: Option<String>,
    /// JSON instead of text.
    pub json: bool,
    /// Unique id of this call, kept when the call is repeated; empty if unknown.
    pub call: String,
}

/// Selects a loop; by default the active or latest one of the root.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopSelector {
    /// By id.
    pub id: Option<String>,
    /// By session.
    pub session: Option<String>,
    /// JSON instead of text.
    pub json: bool,
}

/// Arguments of `loop adopt`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopAdoptRequest {
    /// The loop, and the session that adopts it.
    pub select: LoopSelector,
    /// Whether the request comes from an agent's shell.
    pub is_agent: bool,
}

/// Arguments of `loop resume`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopResumeRequest {
    /// The loop.
    pub select: LoopSelector,
    /// New iteration limit.
    pub max_iterations: Option<u32>,
    /// New time limit in minutes.
    pub max_minutes: Option<u32>,
    /// New token limit.
    pub max_tokens: Option<u64>,
}

/// Arguments of `loop history`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopHistoryRequest {
    /// The loop.
    pub select: LoopSelector,
    /// List all loops of the project instead of the iterations of one.
    pub all: bool,
}

/// Arguments of `loop restore`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopRestoreRequest {
    /// The loop's id.
    pub id: String,
    /// Number of an iteration, another name of a checkpoint, or `best`.
    pub to: String,
    /// Restore; otherwise only show the changes.
    pub apply: bool,
    /// JSON instead of text.
    pub json: bool,
}
