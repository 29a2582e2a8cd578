//! What keeps a plan from being approved, or a pipeline from ending.

use crate::commits::CommitFault;
use crate::convergence::FixStrategy;
use crate::document::DocumentFault;
use crate::person_question::PersonQuestion;
use crate::plan::{PlanChange, TodoId, TodoStatus};
use crate::review::ReviewFinding;

impl PlanObjection {
    /// Whether it says what the agent must do next, in words that must reach it whole.
    #[must_use]
    pub fn is_task(&self) -> bool {
        match self {
            Self::GateFailed { .. }
            | Self::NeedsPerson(_)
            | Self::PlayScenarios(_)
            | Self::Unapproved(_)
            | Self::DocumentChanged { .. }
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

/// One objection to a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanObjection {
    /// The file does not exist or cannot be read.
    Missing,
    /// The file cannot be read.
    Unreadable {
        /// Why, as a fragment.
        reason: String,
    },
    /// The commands of these TODOs pass although nothing was changed.
    PassesAlready {
        /// The TODOs, in the order of the plan.
        todos: Vec<TodoId>,
    },
    /// A line cannot be understood.
    Fault(DocumentFault),
    /// There is nothing to do.
    NoTodo,
    /// The engine cannot check this TODO.
    NoCommand {
        /// The TODO.
        todo: TodoId,
        /// 1-based line of the TODO.
        line: usize,
    },
    /// A command cannot run without a shell.
    ShellCommand {
        /// The TODO.
        todo: TodoId,
        /// 1-based line of the item.
        line: usize,
        /// The command as it is written, or the text of the item.
        command: String,
    },
    /// What was approved was changed.
    Changed(PlanChange),
    /// A document of the specification is not as it was approved.
    DocumentChanged {
        /// The document, relative to the root.
        path: String,
    },
    /// These parts of the plan were added after the approval.
    Unapproved(Vec<UnapprovedPart>),
    /// A TODO passed at the last Stop and fails now.
    FailsAgain {
        /// The TODO.
        todo: TodoId,
        /// What the run showed, on one line.
        failure: String,
    },
    /// A worker ended without a usable report.
    NoReport {
        /// Why, as a fragment.
        reason: String,
    },
    /// A worker's report is about a TODO that the plan does not have.
    UnknownTodo {
        /// The TODO.
        todo: TodoId,
    },
    /// A worker's report contradicts itself or its task.
    Contradiction {
        /// How, as a fragment.
        what: String,
    },
    /// The commands of a worker's TODO do not pass.
    WorkFails {
        /// The TODO.
        todo: TodoId,
        /// What the run showed, on one line.
        failure: String,
        /// Number of the attempt, from 1.
        attempt: u32,
    },
    /// A gate failed: how to go on.
    GateFailed {
        /// Number of the round, from 1.
        round: usize,
        /// How.
        strategy: FixStrategy,
        /// What was tried and how it failed, one line each; empty while the first approach goes on.
        tried: Vec<String>,
    },
    /// The plan must be extended, but has nothing that was not approved before.
    NothingNew {
        /// What was tried and how it failed, one line each.
        tried: Vec<String>,
    },
    /// An agent set a checkbox, but the engine's own run does not agree.
    BoxTakenBack {
        /// The TODO.
        todo: TodoId,
        /// What the box said.
        status: TodoStatus,
        /// What the run showed, on one line.
        failure: String,
    },
    /// Something is wrong with the commits.
    Commits(CommitFault),
    /// The answer of an agent that helps the pipeline cannot be used.
    Answer {
        /// Why, as a fragment.
        what: String,
    },
    /// These scenarios must still be played: each with its title and the number of its runs.
    PlayScenarios(Vec<String>),
    /// Too few runs of a scenario passed.
    ScenarioFails {
        /// Key and title.
        scenario: String,
        /// What failed last, on one line.
        failure: String,
    },
    /// The review found something.
    Reviewed(ReviewFinding),
    /// A command passes on the host but not in the container.
    SandboxFails {
        /// The command.
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
        /// What is wrong, as a fragment.
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
