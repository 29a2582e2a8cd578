//! What retention asks of a store, and what it has a store do.

use crate::observation::{NewObservation, StoredObservation};
use crate::ranking::ObservationKind;

/// A place among the observations of a project in the order of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimePosition {
    /// In milliseconds since 1970.
    pub at_ms: i64,
    /// Number of the row, which decides between equal times.
    pub row: i64,
}

impl TimePosition {
    /// Before all observations.
    pub const START: Self = Self { at_ms: i64::MIN, row: i64::MIN };

    /// The place of an observation.
    #[must_use]
    pub fn of(observation: &StoredObservation) -> Self {
        Self { at_ms: observation.at_ms, row: observation.row }
    }
}

/// The next rows of a project, in the order of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionScan {
    pub project: String,
    /// They follow this one.
    pub after: TimePosition,
    /// Rows that are looked at, whether they may be folded or not.
    pub rows_max: usize,
}

/// The rows of a scan that may be folded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScannedRows {
    /// Of the caller, not imported, and as [`crate::near_duplicates::is_foldable`] says.
    pub foldable: Vec<StoredObservation>,
    /// The last row that was looked at; `None` if there are no more.
    pub end: Option<TimePosition>,
}

/// What replaces folded rows.
#[derive(Clone, Debug, PartialEq)]
pub enum FoldTarget {
    /// A row that says the same. It counts them as its repetitions, and their ids lead to it.
    Row(i64),
    /// A new observation, which counts them.
    Summary(Box<NewObservation>),
}

/// Rows that become one.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFold {
    /// The rows that are gone afterwards.
    pub rows: Vec<i64>,
    /// What is there instead.
    pub into: FoldTarget,
}

/// Rows of a project that may be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropChoice {
    pub project: String,
    pub kinds: Vec<ObservationKind>,
    /// True if they came with an import.
    pub is_imported: bool,
    /// True if an agent used them after they had been shown to it.
    pub is_used: bool,
    /// They are older than this, in milliseconds since 1970.
    pub before_ms: i64,
}

/// A row that may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppableRow {
    pub row: i64,
    /// Bytes of its title and body.
    pub bytes: u64,
}

/// The size of the next rows in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextSizes {
    /// Bytes of titles and bodies by key of the project.
    pub projects: Vec<(String, u64)>,
    /// The last row that was looked at; `None` if there are no more.
    pub last: Option<i64>,
}
