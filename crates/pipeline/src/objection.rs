//! Objections to the approval of a plan, or to the end of a pipeline.

use crate::commits::CommitFault;
use crate::convergence::FixStrategy;
use crate::document::DocumentFault;
use crate::person_question::PersonQuestion;
use crate::plan::{PlanChange, TodoId, TodoStatus};
use crate::review::ReviewFinding;

impl PlanObjection {
    /// True for an instruction to the agent, which must not be cut.
    #[must_use]
    pub fn is_task(&self) -> bool {
        match self {
            Self::GateFailed { .. }
            | Self::NeedsPerson(_)
            | Self::PlayScenarios(_)
            | Self::Unapproved(_)
            | Self::Declined(_)
            | Self::DocumentChanged { .. }
            | Self::GivenUp { .. }
            | Self::Ready { .. } => true,
            Self::Commits(fault) => fault.is_task(),
            _ => false,
        }
    }
}

/// A TODO, or an acceptance item of an approved TODO, that no person has approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnapprovedPart {
    /// Its name: `TODO-3`, `TODO-1 AC-2`.
    pub name: String,
    /// Its 1-based line.
    pub line: usize,
}

/// A scenario without enough runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenScenario {
    pub key: String,
    pub title: String,
    /// Its runs with the present files.
    pub runs: usize,
    /// Those that passed.
    pub passed: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanObjection {
    /// The file does not exist or cannot be read.
    Missing,
    /// The file cannot be read.
    Unreadable {
        /// The reason, as a fragment.
        reason: String,
    },
    /// The commands of these TODOs pass without any change.
    PassesAlready {
        /// The TODOs, in the order of the plan.
        todos: Vec<TodoId>,
    },
    /// An invalid line.
    Fault(DocumentFault),
    /// The approved plan has no TODO any more.
    NoTodo,
    /// The engine cannot check this TODO.
    NoCommand {
        todo: TodoId,
        /// 1-based line of the TODO.
        line: usize,
    },
    /// A command cannot run without a shell.
    ShellCommand {
        todo: TodoId,
        /// 1-based line of the item.
        line: usize,
        /// The command as it is written, or the text of the item.
        command: String,
    },
    /// An approved part was changed.
    Changed(PlanChange),
    /// A document of the specification differs from its approved version.
    DocumentChanged {
        /// The document, relative to the root.
        path: String,
    },
    /// These parts of the plan were added after the approval.
    Unapproved(Vec<UnapprovedPart>),
    /// These parts were added after the approval, and the user does not approve them as they are.
    Declined(Vec<UnapprovedPart>),
    /// A TODO passed at the last Stop and fails now.
    FailsAgain {
        todo: TodoId,
        /// The failure, on one line.
        failure: String,
    },
    /// A worker ended without a usable report.
    NoReport {
        /// The reason, as a fragment.
        reason: String,
    },
    /// A worker's report is about a TODO that the plan does not have.
    UnknownTodo {
        todo: TodoId,
    },
    /// A worker's report contradicts itself or its task.
    Contradiction {
        /// The contradiction, as a fragment.
        what: String,
    },
    /// Workers failed too often at these TODOs; another one may still turn them around.
    GivenUp {
        /// The TODOs, in the order of the plan.
        todos: Vec<String>,
    },
    /// The commands of a worker's TODO do not pass.
    WorkFails {
        todo: TodoId,
        /// The failure, on one line.
        failure: String,
        /// Number of the attempt, from 1.
        attempt: u32,
    },
    /// A gate failed; holds the strategy of the next round.
    GateFailed {
        /// Number of the round, from 1.
        round: usize,
        strategy: FixStrategy,
        /// Earlier approaches and their failures, one line each; empty during the first approach.
        tried: Vec<String>,
    },
    /// The plan must be extended, but has no new parts.
    NothingNew {
        /// Earlier approaches and their failures, one line each.
        tried: Vec<String>,
    },
    /// A command of this TODO has no result, because its program is not installed.
    NotInstalled {
        /// The TODO's id.
        todo: String,
        /// The command and the reason, on one line.
        failure: String,
    },
    /// An agent set a checkbox, but the engine's own run does not agree.
    BoxTakenBack {
        todo: TodoId,
        /// The state that the box showed.
        status: TodoStatus,
        /// The failure, on one line.
        failure: String,
    },
    Commits(CommitFault),
    /// The answer of a helper is unusable.
    Answer {
        /// The reason, as a fragment.
        what: String,
    },
    /// These scenarios must still be played.
    PlayScenarios(Vec<OpenScenario>),
    /// Too few runs of a scenario passed.
    ScenarioFails {
        /// Key and title.
        scenario: String,
        /// The last failure, on one line.
        failure: String,
    },
    Reviewed(ReviewFinding),
    /// A command passes on the host but not in the container.
    SandboxFails {
        command: String,
        /// The end of its output.
        output: String,
    },
    /// A fault of a document of the specification, or of the links between them.
    Document {
        /// The document, relative to the root.
        path: String,
        /// 1-based line.
        line: usize,
        /// The fault, as a fragment.
        reason: String,
    },
    /// These TODOs can be worked on now, at the same time.
    Ready {
        /// The TODOs, in the order of the plan.
        todos: Vec<TodoId>,
    },
    /// Only a person can answer this.
    NeedsPerson(PersonQuestion),
}
