//! Requests of `pipeline …`.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PipelineRequest {
    pub action: PipelineOperation,
    pub json: bool,
}

/// What `pipeline` does. An id selects a pipeline; without one, the root's active or last one is
/// meant.
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
        /// TODOs that may be worked on in worktrees at the same time.
        workers: Option<u32>,
        /// Tokens that it may use.
        max_tokens: Option<u64>,
    },
    /// Accepts its plan.
    Approve {
        id: Option<String>,
        /// What shows that a person runs the command.
        proof: TerminalProof,
    },
    /// Answers one of its questions.
    Answer {
        id: Option<String>,
        /// The name of the question: `TODO-2/AC-2`.
        name: String,
        /// True if the person agrees.
        is_yes: bool,
        /// What shows that a person runs the command.
        proof: TerminalProof,
    },
    /// Shows it.
    Status { id: Option<String> },
    /// Ends it without touching a file.
    Cancel { id: Option<String> },
    /// Continues one that has ended.
    Resume {
        id: Option<String>,
        /// The session that continues it; `None`: the next session of the root claims it.
        session: Option<String>,
        /// Tokens that it may use from now on; `None`: as many as before.
        max_tokens: Option<u64>,
    },
    /// Reports what was claimed and what was measured.
    Report { id: Option<String> },
    /// Shows the text of a pull request.
    PullRequest {
        id: Option<String>,
        /// True if `gh` opens it.
        create: bool,
    },
}

/// What shows that a person at a terminal runs a command.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TerminalProof {
    /// True if the input of the command is a terminal.
    pub is_at_terminal: bool,
    /// The code that was shown there, as it was typed.
    pub code: Option<String>,
}
