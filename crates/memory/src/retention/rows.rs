//! Requests of retention to a store, and their results.

use crate::observation::{NewObservation, StoredObservation};
use crate::ranking::ObservationKind;

/// A position among the observations of a project ordered by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimePosition {
    /// In milliseconds since 1970.
    pub at_ms: i64,
    /// Number of the row, which decides between equal times.
    pub row: i64,
}

impl TimePosition {
    pub const START: Self = Self { at_ms: i64::MIN, row: i64::MIN };

    #[must_use]
    pub fn of(observation: &StoredObservation) -> Self {
        Self { at_ms: observation.at_ms, row: observation.row }
    }
}

/// The next rows of a project, in the order of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionScan {
    pub project: String,
    /// The position before the first of them.
    pub after: TimePosition,
    /// Maximum number of rows to scan, foldable or not.
    pub rows_max: usize,
}

/// The rows of a scan that may be folded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScannedRows {
    /// Rows of the caller that are not imported and for which
    /// [`crate::near_duplicates::is_foldable`] is true.
    pub foldable: Vec<StoredObservation>,
    /// The last scanned row; `None` if there are no more.
    pub end: Option<TimePosition>,
}

/// The row that replaces folded ones.
#[derive(Clone, Debug, PartialEq)]
pub enum FoldTarget {
    /// A duplicate. It counts them as its repetitions, and their ids resolve to it.
    Row(i64),
    /// A new observation, which counts them.
    Summary(Box<NewObservation>),
}

/// Rows to fold into one.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFold {
    /// The rows to remove.
    pub rows: Vec<i64>,
    /// Their replacement.
    pub into: FoldTarget,
}

/// Rows of a project that may be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropChoice {
    pub project: String,
    pub kinds: Vec<ObservationKind>,
    /// True for imported rows.
    pub is_imported: bool,
    /// True for rows that an agent used after an injection.
    pub is_used: bool,
    /// Upper bound of their time, in milliseconds since 1970.
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
    /// The last scanned row; `None` if there are no more.
    pub last: Option<i64>,
}
