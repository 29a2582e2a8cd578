//! Arguments of the commands about loops.

use serde::{Deserialize, Serialize};

use moai_loops::options::LoopStartOptions;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopStartRequest {
    /// The owning session; `None`: the next session of the root claims the loop.
    pub session: Option<String>,
    pub prompt: String,
    /// The options that the caller sets.
    #[serde(flatten)]
    pub options: LoopStartOptions,
    pub json: bool,
    /// Unique id of this call, kept when the call is repeated; empty if unknown.
    pub call: String,
}

/// Selects a loop; by default the active or latest one of the root.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopSelector {
    pub id: Option<String>,
    pub session: Option<String>,
    pub json: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopAdoptRequest {
    /// The loop, and the session that adopts it.
    pub select: LoopSelector,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopRefreezeRequest {
    pub select: LoopSelector,
    /// Accept although the session is active.
    pub now: bool,
    /// The code that the daemon has shown at the caller's terminal.
    pub code: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopResumeRequest {
    pub select: LoopSelector,
    /// New iteration limit.
    pub max_iterations: Option<u32>,
    /// New time limit in minutes.
    pub max_minutes: Option<u32>,
    /// New token limit.
    pub max_tokens: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopHistoryRequest {
    pub select: LoopSelector,
    /// List all loops of the project instead of the iterations of one.
    pub all: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoopRestoreRequest {
    pub id: String,
    /// Number of an iteration, another name of a checkpoint, or `best`.
    pub to: String,
    /// Restore; otherwise only show the changes.
    pub apply: bool,
    pub json: bool,
}
