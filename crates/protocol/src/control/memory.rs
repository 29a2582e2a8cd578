//! Requests of `memory …`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemoryRequest {
    pub action: MemoryOperation,
    pub json: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryOperation {
    /// Finds observations.
    Search {
        /// The question in natural language.
        query: String,
        /// Detail of each hit: 1 a line, 2 its timeline, 3 the whole text.
        layer: u8,
        scope: MemoryScope,
        /// Maximum number of hits.
        hits_max: usize,
        /// Show the parts of the scores.
        explain: bool,
    },
    /// Shows the timeline around an observation.
    Timeline { id: String },
    /// Shows the whole text of observations.
    Get { ids: Vec<String> },
    /// Stores a text that the user asks to remember.
    Add(MemoryAddition),
    /// Forgets observations, including those in backups.
    Forget {
        ids: Vec<String>,
        /// Observations that match every term.
        query: Option<String>,
        scope: MemoryScope,
        /// Forget; otherwise only show the affected observations.
        apply: bool,
    },
    /// Shows sizes and counts.
    Status {
        /// The observations to count by kind.
        scope: MemoryScope,
    },
    /// Reads observations from a file.
    Import {
        /// The file, as typed: one JSON object a line.
        file: PathBuf,
    },
    /// Writes observations, one JSON object a line.
    Export { scope: MemoryScope },
    /// Copies the database.
    Backup {
        /// The new file, as typed; `None` for today's backup.
        file: Option<PathBuf>,
    },
    /// Replaces the database by a backup.
    Restore {
        /// The backup, as typed; `None` for the newest.
        file: Option<PathBuf>,
        /// Replace it; otherwise only show a preview.
        apply: bool,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryScope {
    /// Key, name or root of a project; `None` for the caller's.
    pub project: Option<String>,
    pub all_projects: bool,
    /// Kinds, such as `fix`.
    pub kinds: Vec<String>,
    /// The earliest time: a date, a time, or an age such as `7d`.
    pub since: Option<String>,
    /// The latest time.
    pub until: Option<String>,
    /// A file or folder, relative to the root.
    pub path: Option<String>,
    /// The code of a finding.
    pub code: Option<String>,
    /// Name or folder of a worktree, in which the sessions of the observations worked.
    #[serde(default)]
    pub worktree: Option<String>,
}

impl MemoryScope {
    /// True if it excludes anything besides other projects.
    #[must_use]
    pub fn is_narrowed(&self) -> bool {
        let Self { kinds, since, until, path, code, worktree, .. } = self;
        !kinds.is_empty() || [since, until, path, code, worktree].into_iter().any(Option::is_some)
    }
}

/// Arguments of `memory add`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MemoryAddition {
    /// The text to remember; its first line is the title.
    pub text: String,
    /// Its kind, such as `decision`.
    pub kind: String,
    /// Files that it is about, relative to the root.
    pub files: Vec<String>,
    pub codes: Vec<String>,
    /// True if everyone who shares the memory may see it.
    pub is_for_team: bool,
}
