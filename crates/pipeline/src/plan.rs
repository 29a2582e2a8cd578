//! `plan.md`, the single source of truth about the work of a pipeline: TODOs with their state,
//! dependencies, risk, size and acceptance items.

mod dependencies;
mod edit;
mod fields;
mod ids;
mod read;
mod revision;
mod todo_heading;

use std::ops::Range;

pub use self::edit::PlanEditError;
pub use self::ids::TodoId;
pub(crate) use self::ids::named_todos;
pub use self::revision::PlanChange;
use crate::document::DocumentFault;
use crate::file_patterns::matches_pattern;
use moai_base::foreign_text::one_line;
use moai_base::limits::{GAP_CHARS_MAX, REASON_LINE_CHARS_MAX};
use moai_loops::named_variants;

/// A parsed plan, usable only without faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanDocument {
    /// The name of the feature, from the first heading.
    pub title: Option<String>,
    /// Risk of the whole change.
    pub overall_risk: Option<RiskLevel>,
    /// The TODOs in the order of the file.
    pub todos: Vec<Todo>,
    /// The reasons why the plan cannot be used, in the order of the lines.
    pub faults: Vec<DocumentFault>,
}

/// One piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// Its id: `TODO-1`.
    pub id: TodoId,
    /// 1-based line of its heading.
    pub line: usize,
    /// Its title, on one line.
    pub title: String,
    /// Its state.
    pub status: TodoStatus,
    /// Its description, on one line.
    pub description: String,
    /// TODOs that must be done first.
    pub dependencies: Vec<TodoId>,
    /// Ids of the requirements that it meets.
    pub requirements: Vec<String>,
    /// Patterns of the files that its worker may write, relative to the root.
    pub files: Vec<String>,
    pub risk: Option<RiskLevel>,
    pub size: Option<TodoSize>,
    /// Its acceptance items.
    pub items: Vec<AcceptanceItem>,
    /// Bytes between the brackets of its checkbox; `None` if it has none.
    checkbox: Option<Range<usize>>,
}

/// State of a TODO, from its checkbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoStatus {
    /// `[ ]`
    Open,
    /// `[x]`
    Done,
    /// `[FAILED]`
    Failed,
}

named_variants!(TodoStatus { Open: "open", Done: "done", Failed: "failed" });

/// Risk of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RiskLevel {
    /// Easily reverted, no user notices.
    Low,
    /// Needs care.
    Medium,
    /// Data, interfaces or security are at stake.
    High,
}

named_variants!(RiskLevel { Low: "LOW", Medium: "MED", High: "HIGH" });

/// Estimated complexity of a TODO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TodoSize {
    /// One file, known pattern.
    Small,
    /// Several files.
    Medium,
    /// Architecture.
    Large,
}

named_variants!(TodoSize { Small: "S", Medium: "M", Large: "L" });

/// One condition under which a TODO is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptanceItem {
    /// Unique in its TODO: `AC-1`.
    pub id: String,
    /// 1-based line.
    pub line: usize,
    pub kind: AcceptanceKind,
    /// The whole text, on one line.
    pub text: String,
    /// The command of an [`AcceptanceKind::Automatic`] item as written.
    pub command: Option<String>,
    /// Program and arguments of `command`; empty if it is not a single command.
    pub argv: Vec<String>,
}

impl AcceptanceItem {
    /// The name under which its command is a check of the exam; `None` if it is not a single command.
    #[must_use]
    pub fn check_name(&self) -> Option<String> {
        let command = self.command.clone().unwrap_or_else(|| self.argv.join(" "));
        (!self.argv.is_empty()).then(|| one_line(&command, GAP_CHARS_MAX))
    }

    /// Its command in the failure of its TODO.
    pub(crate) fn failure_name(&self) -> String {
        let command = self.command.clone().unwrap_or_else(|| self.argv.join(" "));
        one_line(&command, REASON_LINE_CHARS_MAX)
    }
}

/// The verification of an acceptance item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptanceKind {
    /// `[A]`: a command whose exit code decides.
    Automatic,
    /// `[S]`: an agent that acts as a user, along a scenario.
    Scenario,
    /// `[H]`: a person.
    Human,
}

named_variants!(AcceptanceKind { Automatic: "A", Scenario: "S", Human: "H" });

impl TodoStatus {
    /// The text between the brackets of the checkbox.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Self::Open => " ",
            Self::Done => "x",
            Self::Failed => "FAILED",
        }
    }

    fn of_mark(mark: &str) -> Option<Self> {
        match mark.trim().to_ascii_lowercase().as_str() {
            "" => Some(Self::Open),
            "x" => Some(Self::Done),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

impl PlanDocument {
    /// Parses a plan. Parsing never fails; unreadable parts become faults with their lines.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        read::read_plan(text)
    }

    #[must_use]
    pub fn todo(&self, id: &TodoId) -> Option<&Todo> {
        self.todos.iter().find(|todo| todo.id == *id)
    }

    /// Number of TODOs in a state.
    #[must_use]
    pub fn count(&self, status: TodoStatus) -> usize {
        self.todos.iter().filter(|todo| todo.status == status).count()
    }
}

impl Todo {
    /// Its items of a kind.
    pub fn items_of(&self, kind: AcceptanceKind) -> impl Iterator<Item = &AcceptanceItem> {
        self.items.iter().filter(move |item| item.kind == kind)
    }

    /// True if a file matches its patterns.
    #[must_use]
    pub fn names(&self, path: &str) -> bool {
        matches_pattern(&self.files, path)
    }

    /// True if its worker may write a file, which is any file if it has no patterns. `path` is
    /// relative to the root.
    #[must_use]
    pub fn allows(&self, path: &str) -> bool {
        self.files.is_empty() || self.names(path)
    }
}

#[cfg(test)]
mod tests;
