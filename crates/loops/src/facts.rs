//! The facts that a Stop is decided on in addition to its evidence.

use moai_base::verdict::Gap;

/// The facts at one Stop. By default nothing is known and no step has been taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopFacts {
    pub judge: Consultation<JudgeOutcome>,
    /// Files that a judge was shown; `None` if no judge was asked.
    pub judge_files: Option<usize>,
    /// Observations of the judge and of the search for injections, one line each.
    pub observations: Vec<String>,
    pub merge: Consultation<MergeOutcome>,
    /// Requirements of the research phase that are not met, one line each.
    pub research_missing: Vec<String>,
    /// Claims of the agent that the measurements contradict, one line each.
    pub contradictions: Vec<String>,
    /// Names of the criteria that the project has commands for but does not require.
    pub unrequested_criteria: Vec<String>,
    /// Changes of the exam that were not made by the loop's session, one line each.
    pub exam_changed: Vec<String>,
    /// The open points of the plan of the loop's pipeline, one line each.
    pub plan_open: Vec<String>,
    /// The agent's next tasks for that pipeline, one line each, shown verbatim. Like open points of
    /// its plan, they hold the Stop.
    pub plan_tasks: Vec<String>,
    /// The reasons why that plan cannot be used and the user is asked, one line each.
    pub plan_unusable: Vec<String>,
    /// The reason why that pipeline cannot be finished, as a fragment; this Stop is then the loop's
    /// last.
    pub plan_failure: Option<String>,
    /// Open questions that a person must answer before that pipeline can end, one line each.
    pub person_questions: Vec<String>,
    /// Number of problems that the failing checks report: failed tests, else error lines of
    /// compilers, else one for each check; `None` if unknown.
    pub check_problems: Option<u64>,
    /// The loop's changes of files so far.
    pub work: WorkChange,
    /// Hash of the measured working tree; `None` if unknown.
    pub tree: Option<String>,
    /// The last look at the files before the work counts as done; the gap if some of them changed
    /// after they were measured.
    pub closing_look: Consultation<Gap>,
    /// The checkpoint of the work tree.
    pub checkpoint: Consultation<String>,
    /// Tokens used since the loop started; `None` if unknown.
    pub tokens: Option<u64>,
    /// Use of the context; `None` without a budget for it, or if unknown.
    pub context: Option<ContextUse>,
    /// True if a lasting gap of a language server pauses the loop instead of ending it as
    /// unverified.
    pub lsp_required: bool,
    /// Now, in milliseconds since the epoch.
    pub now_ms: u64,
}

/// The state of a step of a Stop that is taken only if its outcome matters, because it may take
/// minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Consultation<T> {
    /// Not taken yet.
    #[default]
    Open,
    /// Taken, without an outcome: there was nothing to do.
    Empty,
    /// Taken.
    Done(T),
}

impl<T> Consultation<T> {
    /// The outcome, if there is one.
    pub fn outcome(&self) -> Option<&T> {
        match self {
            Self::Done(outcome) => Some(outcome),
            Self::Open | Self::Empty => None,
        }
    }
}

impl<T> From<Option<T>> for Consultation<T> {
    /// The result of a step that was taken.
    fn from(outcome: Option<T>) -> Self {
        outcome.map_or(Self::Empty, Self::Done)
    }
}

/// The difference of the working tree from the start of the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkChange {
    /// A file of the project differs.
    Changed,
    /// No file differs, apart from notes of the loop and output of tools.
    Unchanged,
    /// Unknown, for this reason.
    Unknown(String),
}

impl Default for WorkChange {
    fn default() -> Self {
        Self::Unknown("not measured".to_owned())
    }
}

/// Use of the model's context window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextUse {
    pub tokens: u64,
    /// Size of the context in tokens.
    pub window: u64,
    /// Thousandths of the window that may be filled.
    pub budget_permille: u64,
    /// The same as one line.
    pub line: String,
}

impl ContextUse {
    /// True if the budget is used up.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        let used = u128::from(self.tokens) * 1_000;
        used >= u128::from(self.window) * u128::from(self.budget_permille)
    }
}

/// The judge's review of work whose evidence is clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeOutcome {
    /// Every criterion is met.
    Approved,
    /// Some criteria are not met.
    Rejected {
        /// The reasons, one line each, built only from the enumerated fields of the judge's answer.
        reasons: Vec<String>,
    },
    /// It gave no usable verdict, which is neither approval nor rejection.
    Unmeasured(Gap),
}

/// The outcome of merging a finished branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// It is in the base branch, or there was nothing to merge.
    Merged,
    /// It conflicts with the base branch; the text is the task of the next iteration.
    Conflict(String),
    /// Not yet: another merge is running, or a remote had newer commits or did not answer.
    Unmeasured(Gap),
    /// It is merged, but only the user can move the base branch, because it is checked out in the
    /// user's work tree; the text says how.
    Held(String),
    /// Nothing the agent changes can make it mergeable; the reason.
    Impossible(String),
}
