//! Requests of `pipeline …`.

use serde::{Deserialize, Serialize};

/// Arguments of `pipeline`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PipelineRequest {
    /// What to do.
    pub action: PipelineOperation,
    /// JSON instead of text.
    pub json: bool,
}

/// What `pipeline` does. An id selects a pipeline; without one, the root's active or last one is
/// meant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineOperation {
    /// Starts one.
    Start {
        /// Its kind: `small`.
        kind: String,
        /// The goal, unchanged.
        goal: String,
        /// The owning session; `None`: the next session of the root claims it.
        session: Option<String>,
        /// Whether the main agent may write source files itself.
        solo: bool,
    },
    /// Accepts its plan.
    Approve {
        /// The pipeline.
        id: Option<String>,
    },
    /// Shows it.
    Status {
        /// The pipeline.
        id: Option<String>,
    },
    /// Ends it without touching a file.
    Cancel {
        /// The pipeline.
        id: Option<String>,
    },
    /// Continues one that has ended.
    Resume {
        /// The pipeline.
        id: Option<String>,
        /// The session that continues it; `None`: the next session of the root claims it.
        session: Option<String>,
    },
    /// Reports what was claimed and what was measured.
    Report {
        /// The pipeline.
        id: Option<String>,
    },
    /// Shows the text of a pull request.
    PullRequest {
        /// The pipeline.
        id: Option<String>,
        /// Whether `gh` opens it.
        create: bool,
    },
}
