//! Requests of `pipeline …`.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PipelineRequest {
    pub action: PipelineOperation,
    pub json: bool,
}

/// Operations of `pipeline`. An id selects a pipeline; the default is the root's active or last
/// one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineOperation {
    Start {
        /// Its kind: `small`.
        kind: String,
        goal: String,
        /// The owning session; `None`: the next session of the root claims it.
        session: Option<String>,
        /// True if the main agent may write source files itself.
        solo: bool,
        /// Maximum number of TODOs worked on in worktrees at the same time.
        workers: Option<u32>,
        /// Token limit.
        max_tokens: Option<u64>,
    },
    /// Approves its plan.
    Approve {
        id: Option<String>,
        /// Proof that a user runs the command.
        proof: TerminalProof,
    },
    /// Answers one of its questions.
    Answer {
        id: Option<String>,
        /// Name of the question: `TODO-2/AC-2`.
        name: String,
        /// True if the user agrees.
        is_yes: bool,
        /// Proof that a user runs the command.
        proof: TerminalProof,
    },
    /// Shows it.
    Status { id: Option<String> },
    /// Prints its plan as it was approved.
    Plan { id: Option<String> },
    /// Ends it without touching a file.
    Cancel { id: Option<String> },
    /// Continues one that has ended.
    Resume {
        id: Option<String>,
        /// The session that continues it; `None`: the next session of the root claims it.
        session: Option<String>,
        /// New token limit; `None`: the previous one.
        max_tokens: Option<u64>,
    },
    /// Reports claims and measurements.
    Report { id: Option<String> },
    /// Shows the text of a pull request.
    PullRequest {
        id: Option<String>,
        /// True if `gh` opens it.
        create: bool,
    },
}

/// Proof that a user at a terminal runs a command.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TerminalProof {
    /// True if the input of the command is a terminal.
    pub is_at_terminal: bool,
    /// The code shown there, as typed.
    pub code: Option<String>,
}
