//! The terms of a run that is examined.

use super::state::{LoopState, Mode, UntilCondition};

/// The terms that the examiners of a run need: exam, checks, guard, judge, base state, checkpoints. They
/// know no counters or history, so that they examine any kind of run, not only a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charter {
    /// Id of the run.
    pub id: String,
    /// The session that does the work; `None` until one claims it.
    pub session: Option<String>,
    /// The commit from which the run started, as `host::git` names it.
    pub base: Option<String>,
    /// The task, byte for byte.
    pub goal: String,
    /// The run's own branch.
    pub branch: Option<String>,
    /// The branch that its own branch is merged into.
    pub base_branch: Option<String>,
    /// Decides if a judge reviews the change.
    pub mode: Mode,
    /// The completion condition, in addition to clean evidence.
    pub until: UntilCondition,
}

impl LoopState {
    /// The loop's terms for its examiners.
    #[must_use]
    pub fn charter(&self) -> Charter {
        Charter {
            id: self.id.clone(),
            session: self.session_id.clone(),
            base: self.base.clone(),
            goal: self.prompt.clone(),
            branch: self.branch.clone(),
            base_branch: self.options.base_branch.clone(),
            mode: self.mode,
            until: self.until,
        }
    }
}
