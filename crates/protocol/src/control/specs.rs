//! Requests of `spec …`.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpecRequest {
    pub action: SpecOperation,
    pub json: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpecOperation {
    /// Creates the three documents of a specification.
    New {
        title: String,
        /// Its id; `None` for the first free one.
        id: Option<String>,
    },
    /// Lists the specifications.
    List,
    /// Checks specifications.
    Check {
        /// Their ids; empty for all.
        ids: Vec<String>,
    },
    /// Lists the pivot points.
    PivotList,
    /// Adds a pivot point.
    PivotAdd(PivotAddition),
    /// Confirms a provisional pivot point.
    PivotConfirm { id: String },
    /// Checks a proposal against the pivot points.
    PivotCheck {
        /// The proposed change.
        proposal: String,
        /// Files that it would change, relative to the root.
        files: Vec<String>,
    },
}

/// Arguments of `spec pivot add`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PivotAddition {
    pub text: String,
    /// True if the user has confirmed it.
    pub is_confirmed: bool,
    /// The reason for it.
    pub reason: Option<String>,
    /// Patterns of files that must not be changed.
    pub protects: Vec<String>,
    /// Words that no proposal may have.
    pub forbids: Vec<String>,
}
