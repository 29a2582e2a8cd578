//! Arguments of the commands about loops. Words stay words: what they mean is decided behind the
//! door.

use serde::{Deserialize, Serialize};

/// Arguments of `loop start`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopStartRequest {
    /// The session that owns the loop; without one the next session of the root claims it.
    pub session: Option<String>,
    /// The task, byte for byte.
    pub prompt: String,
    /// How it decides: `basic`, `judge` or `autonomous`.
    pub mode: Option<String>,
    /// Upper bound of iterations; `None` takes the configured one.
    pub max_iterations: Option<u32>,
    /// The tag text that claims completion.
    pub completion_promise: Option<String>,
    /// What ends the loop: `clean`, `diagnostics`, `checks` or `promise`.
    pub until: Option<String>,
    /// Pause after every so many iterations.
    pub milestone_every: Option<u32>,
    /// Rejections in a row after which a person is asked.
    pub hitl_threshold: Option<u32>,
    /// Upper bound of its running time.
    pub max_minutes: Option<u32>,
    /// Upper bound of the tokens it uses.
    pub max_tokens: Option<u64>,
    /// Go on to the bound of iterations although everything is done.
    pub force_max: bool,
    /// Whether the research phase holds the first Stop; `None`: as the mode does.
    pub research: Option<bool>,
    /// Keep notes as a small wiki.
    pub structured_memory: bool,
    /// The branch an autonomous loop starts from and is merged into.
    pub base_branch: Option<String>,
    /// Worktrees with a loop each.
    pub workers: Option<u32>,
    /// Which findings are older than the task: `base` or `none`.
    pub baseline: Option<String>,
    /// JSON instead of text.
    pub json: bool,
    /// Tells this call apart from every other but itself, made again; empty: it does not say.
    pub call: String,
}

/// Which loop is meant; none given: the active or latest one of the root.
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
    /// Which loop, and the session that takes it.
    pub select: LoopSelector,
    /// Whether an agent's shell asks for it.
    pub is_agent: bool,
}

/// Arguments of `loop resume`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopResumeRequest {
    /// Which loop.
    pub select: LoopSelector,
    /// A new bound of iterations.
    pub max_iterations: Option<u32>,
    /// A new bound of minutes.
    pub max_minutes: Option<u32>,
    /// A new bound of tokens.
    pub max_tokens: Option<u64>,
}

/// Arguments of `loop history`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopHistoryRequest {
    /// Which loop.
    pub select: LoopSelector,
    /// All loops of the project instead of the iterations of one.
    pub all: bool,
}

/// Arguments of `loop restore`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopRestoreRequest {
    /// The loop's id.
    pub id: String,
    /// The number of an iteration, another name of a checkpoint, or `best`.
    pub to: String,
    /// Write it; otherwise only show it.
    pub apply: bool,
    /// JSON instead of text.
    pub json: bool,
}
