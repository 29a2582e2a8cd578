//! What a loop is started with, and what it does when the user does not say.

use super::state::Mode;
use crate::named_enum::named_variants;

/// Rejections in a row after which a person is asked.
const HITL_THRESHOLD: u32 = 5;
/// The same without a person: the strategy is given up.
const HITL_THRESHOLD_AUTONOMOUS: u32 = 10;

/// What a finding must be newer than to hold a Stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaselineMode {
    /// What the files already had at the loop's base is older and holds nothing.
    #[default]
    Base,
    /// There is no baseline: older findings are the task.
    None,
}

named_variants!(BaselineMode { Base: "base", None: "none" });

/// The options of one loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopOptions {
    /// Pause after every so many iterations.
    pub milestone_every: Option<u32>,
    /// Rejections in a row after which the loop pauses; an autonomous one changes its strategy.
    pub hitl_threshold: u32,
    /// Bound of its running time.
    pub max_minutes: Option<u32>,
    /// Bound of the tokens it uses.
    pub max_tokens: Option<u64>,
    /// Go on to the bound of iterations although everything is done.
    pub force_max: bool,
    /// Hold the first Stop until the research phase is written down.
    pub research: bool,
    /// Keep notes as a small wiki.
    pub structured_memory: bool,
    /// The branch that an autonomous loop starts from and is merged into; `None`: the present one.
    pub base_branch: Option<String>,
    /// Worktrees with a loop each; 0: this work tree alone.
    pub workers: u32,
    /// Which findings are older than the task.
    pub baseline: BaselineMode,
    /// Files and folders below the root that the loop is narrowed to; empty: everything.
    pub paths: Vec<String>,
}

impl LoopOptions {
    /// What a mode does unless it is told otherwise.
    #[must_use]
    pub fn defaults_for(mode: Mode) -> Self {
        Self {
            milestone_every: None,
            hitl_threshold: match mode {
                Mode::Basic | Mode::Judge => HITL_THRESHOLD,
                Mode::Autonomous => HITL_THRESHOLD_AUTONOMOUS,
            },
            max_minutes: None,
            max_tokens: None,
            force_max: false,
            research: mode != Mode::Basic,
            structured_memory: false,
            base_branch: None,
            workers: 0,
            baseline: BaselineMode::default(),
            paths: Vec::new(),
        }
    }
}
