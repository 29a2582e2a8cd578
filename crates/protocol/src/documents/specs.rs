//! Documents of `spec …`.

use serde::Serialize;

/// The documents of a new specification.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/spec@1")]
pub struct NewSpecDocument {
    pub id: String,
    pub title: String,
    /// The files, relative to the root.
    pub files: Vec<String>,
}

/// The specifications of a project.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/specs@1")]
pub struct SpecListDocument {
    /// In the order of their ids.
    pub specs: Vec<SpecListEntry>,
    /// Folders whose name is not a valid id.
    pub skipped: Vec<String>,
}

/// A specification in one line.
#[derive(Clone, Debug, Serialize)]
pub struct SpecListEntry {
    pub id: String,
    /// Its title; `None` if it has none.
    pub title: Option<String>,
    pub requirements: usize,
    /// Its TODOs.
    pub todos: TodoCounts,
    /// Number of faults reported by `spec check`.
    pub faults: usize,
}

/// Numbers of TODOs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TodoCounts {
    pub total: usize,
    pub done: usize,
    pub failed: usize,
}

/// Result of a check of specifications.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/spec-check@1")]
pub struct SpecCheckDocument {
    /// `clean`, `dirty`, or `unmeasured` if a folder was skipped.
    pub verdict: &'static str,
    /// In the order of their ids.
    pub specs: Vec<SpecCheckEntry>,
    /// Folders whose name is not a valid id.
    pub skipped: Vec<String>,
}

/// Result of one specification.
#[derive(Clone, Debug, Serialize)]
pub struct SpecCheckEntry {
    pub id: String,
    /// Its faults; empty if it is valid.
    pub faults: Vec<SpecFaultEntry>,
}

/// A fault of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecFaultEntry {
    /// The file, relative to the root.
    pub path: String,
    /// 1-based line.
    pub line: usize,
    /// A text fragment for the user.
    pub reason: String,
}

/// The pivot points of a project.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/pivot-points@1")]
pub struct PivotPointsDocument {
    /// The file, relative to the root.
    pub path: String,
    /// In the order of the file.
    pub points: Vec<PivotPointEntry>,
    /// Faults that make the file unusable; empty if it is valid.
    pub faults: Vec<SpecFaultEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct PivotPointEntry {
    pub id: String,
    /// `CONFIRMED` or `PROVISIONAL`.
    pub status: &'static str,
    pub title: String,
    /// The reason for it; empty if unknown.
    pub reason: String,
    /// Patterns of files that must not be changed.
    pub protects: Vec<String>,
    /// Words that no proposal may have.
    pub forbids: Vec<String>,
}

/// Result of a check against the pivot points.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/pivot-check@1")]
pub struct PivotCheckDocument {
    /// `accepted`, `ask` (the user decides) or `rejected`.
    pub verdict: &'static str,
    /// The pivot points that the proposal conflicts with.
    pub conflicts: Vec<PivotConflictEntry>,
}

/// A conflict with a pivot point.
#[derive(Clone, Debug, Serialize)]
pub struct PivotConflictEntry {
    /// Id of the pivot point.
    pub id: String,
    pub title: String,
    /// A text fragment for the user.
    pub why: String,
}
