//! What a Stop is decided on beside the evidence: what others found out for it, as plain values.

use moai_base::verdict::Gap;

/// What is known at one Stop. The default knows nothing: nobody was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopFacts {
    /// The judge's outcome; `None` when it was not asked.
    pub judge: Option<JudgeOutcome>,
    /// Files that a judge was shown; `None` when nobody was.
    pub judge_files: Option<usize>,
    /// What judge and its search noticed beside the criteria, one line each.
    pub observations: Vec<String>,
    /// What became of merging; `None` when it was not tried.
    pub merge: Option<MergeOutcome>,
    /// What the research phase still lacks, one line each; empty when it is complete.
    pub research_missing: Vec<String>,
    /// What the agent said and the measurements deny, one line each.
    pub contradictions: Vec<String>,
    /// Criteria that the project has commands for and that were not asked, by their words.
    pub unrequested_criteria: Vec<String>,
    /// What changed in the exam and was not written by the loop's session, one line each.
    pub exam_changed: Vec<String>,
    /// What the failing checks count: failed tests, else error lines of compilers, else one for
    /// each check; `None` when nobody looked.
    pub check_problems: Option<u64>,
    /// Whether the loop has changed any file yet.
    pub work: WorkChange,
    /// Hash of the work tree as it was measured; `None` when nobody knows.
    pub tree: Option<String>,
    /// Where the work tree is kept.
    pub checkpoint: Option<String>,
    /// Tokens used since the loop started; `None` when nobody knows.
    pub tokens: Option<u64>,
    /// How full the context is, where a share of it is the budget; `None` where none is, or when
    /// nobody knows.
    pub context: Option<ContextUse>,
    /// A gap that nobody closes by waiting pauses the loop instead of ending it as unverified.
    pub lsp_required: bool,
    /// Now, in milliseconds since the epoch.
    pub now_ms: u64,
}

/// Whether the work tree differs from what it was when the loop began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkChange {
    /// Some file of the project differs.
    Changed,
    /// Every file is as it was, notes of the loop and output of tools apart.
    Unchanged,
    /// Nobody can tell, for this reason.
    Unknown(String),
}

impl Default for WorkChange {
    fn default() -> Self {
        Self::Unknown("nobody looked".to_owned())
    }
}

/// How full the model's context window is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextUse {
    /// Tokens in it.
    pub tokens: u64,
    /// Tokens it holds.
    pub window: u64,
    /// Thousandths of it that may be filled.
    pub budget_permille: u64,
    /// The same as one line.
    pub line: String,
}

impl ContextUse {
    /// Whether as much is filled as may be.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        let used = u128::from(self.tokens) * 1_000;
        used >= u128::from(self.window) * u128::from(self.budget_permille)
    }
}

/// What a judge made of work whose evidence is clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeOutcome {
    /// Every criterion is met.
    Approved,
    /// Some are not.
    Rejected {
        /// Why, one line each; only enumerated fields of the judge's words.
        reasons: Vec<String>,
    },
    /// It gave no usable verdict, which is neither approval nor rejection.
    Unmeasured(Gap),
}

/// What became of merging a finished branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// It is in the base branch, or there was nothing to merge.
    Merged,
    /// It does not fit; the text is the task of the next iteration.
    Conflict(String),
    /// Not yet: another merge is under way, or a remote was quicker or did not answer.
    Unmeasured(Gap),
    /// It is merged, but the base branch is checked out where the user works; only the user can move
    /// it, and the text says how.
    Held(String),
    /// It cannot be merged, and no work of the agent would change that.
    Impossible(String),
}
