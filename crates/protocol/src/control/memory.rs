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
        /// The question in a person's words.
        query: String,
        /// How much is shown of each: 1 a line, 2 its surroundings, 3 all of it.
        layer: u8,
        /// Which observations are meant.
        scope: MemoryScope,
        /// Most hits.
        hits_max: usize,
        /// Whether to show the parts of the scores.
        explain: bool,
    },
    /// Shows what happened around an observation.
    Timeline { id: String },
    /// Shows observations completely.
    Get { ids: Vec<String> },
    /// Stores what a person wants remembered.
    Add(MemoryAddition),
    /// Forgets observations, in backups too.
    Forget {
        ids: Vec<String>,
        /// Those that say all of this.
        query: Option<String>,
        /// Which observations are meant.
        scope: MemoryScope,
        /// Forget; otherwise only show what would be forgotten.
        apply: bool,
    },
    /// Shows sizes and counts.
    Status {
        /// Which observations are counted by kind.
        scope: MemoryScope,
    },
    /// Reads observations from a file.
    Import {
        /// The file, as typed: one JSON object a line.
        file: PathBuf,
    },
    /// Writes observations, one JSON object a line.
    Export {
        /// Which observations are meant.
        scope: MemoryScope,
    },
    /// Copies the database.
    Backup {
        /// The new file, as typed; `None` for today's backup.
        file: Option<PathBuf>,
    },
    /// Replaces the database by a backup.
    Restore {
        /// The backup, as typed; `None` for the newest.
        file: Option<PathBuf>,
        /// Replace it; otherwise only show what would be done.
        apply: bool,
    },
}

/// Which observations are meant.
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
    /// What is to be remembered; the first line is the title.
    pub text: String,
    /// Its kind, such as `decision`.
    pub kind: String,
    /// Files that it is about, relative to the root.
    pub files: Vec<String>,
    pub codes: Vec<String>,
    /// True if everyone who shares the memory may see it.
    pub is_for_team: bool,
}
