//! The operations of a memory store, implemented for SQLite and, for a team, PostgreSQL. Searching,
//! ranking and wording are the same for both, because they are built on this trait.

use crate::budget::InjectionEvent;
use crate::clean::CleanText;
use crate::expression::Expression;
use crate::observation::{
    FixOutcome, MemoryProject, NewObservation, SessionGoal, StoredObservation, StoredSession,
};
use crate::ranking::ObservationKind;
use crate::retention::rows::{
    DropChoice, DroppableRow, RetentionScan, RowFold, ScannedRows, TextSizes,
};

/// A filter on observations. Empty lists and `None` exclude nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservationFilter {
    pub projects: Vec<String>,
    pub kinds: Vec<ObservationKind>,
    pub session: Option<String>,
    /// Name of the folder of a worktree, in which the sessions of the observations worked.
    pub worktree: Option<String>,
    /// The earliest time, in milliseconds since 1970.
    pub since_ms: Option<i64>,
    /// The latest time, in milliseconds since 1970.
    pub until_ms: Option<i64>,
    /// A file or a folder, relative to the root.
    pub path: Option<String>,
    /// The code of a finding.
    pub code: Option<String>,
}

/// The observations to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetSelection {
    Rows(Vec<i64>),
    /// All that match a filter; an empty filter matches everything.
    Filter(ObservationFilter),
}

/// The rows that match an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchingRows {
    /// Row numbers, the most recently stored first.
    pub rows: Vec<i64>,
    pub is_complete: bool,
}

/// A matching row, with the facts that decide if it is worth loading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchedRow {
    pub row: i64,
    pub kind: ObservationKind,
    /// Time of the last occurrence, in milliseconds since 1970.
    pub at_ms: i64,
    /// From 0 to 1.
    pub importance: f64,
    /// Estimated tokens of title and body.
    pub tokens: usize,
}

/// Approximate number of rows that match an expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EstimatedRows {
    /// The estimate; 0 only if there is no such row.
    pub rows: u64,
    /// True if the number is not an estimate.
    pub is_exact: bool,
}

/// The result of storing an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredAs {
    /// A new row.
    New(i64),
    /// The row that already has the same text; it counts a repetition.
    Repeated(i64),
}

impl StoredAs {
    /// The row that has the text.
    #[must_use]
    pub fn row(self) -> i64 {
        match self {
            Self::New(row) | Self::Repeated(row) => row,
        }
    }
}

/// An observation shown to an agent unrequested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Id of the host's session.
    pub session: String,
    pub row: i64,
    /// Time in milliseconds since 1970.
    pub at_ms: i64,
    /// The triggering event.
    pub event: InjectionEvent,
    /// Estimated tokens of its text.
    pub tokens: usize,
}

/// An injection not known to have been used, with the facts that would prove its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInjection {
    /// Identifies the injection.
    pub id: i64,
    pub observation: i64,
    /// Title and body of the observation.
    pub text: String,
    pub files: Vec<String>,
    pub codes: Vec<String>,
}

/// Sizes and counts for `memory status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Bytes that the store takes on disk.
    pub bytes: u64,
    /// Number of observations of each kind that match the filter.
    pub by_kind: Vec<(ObservationKind, u64)>,
    pub sessions: u64,
    pub projects: u64,
    pub injections: u64,
    /// Injections that were used later.
    pub injections_used: u64,
    /// Sum of the tokens of all injections.
    pub injected_tokens: u64,
    /// Explicit searches.
    pub searches: u64,
    /// Explicit searches with hits.
    pub searches_with_hits: u64,
    /// Bytes of the caller's titles and bodies in the largest project of the filter.
    pub largest_project_bytes: u64,
    /// Rows that retention folded into others.
    pub folded: u64,
    /// Rows that retention dropped.
    pub dropped: u64,
}

/// A store of the memory. All methods of one call run in one transaction of the implementation's
/// handle; an error rolls it back.
pub trait MemoryDatabase {
    type Error;

    /// Stores observations. One with the same kind, project and normalized text as a stored one
    /// counts as its repetition; an event of a session ([`ObservationKind::is_of_one_session`])
    /// only in that session. Returns the results in the same order.
    fn add(&mut self, observations: &[NewObservation]) -> Result<Vec<StoredAs>, Self::Error>;

    fn count(&mut self, filter: &ObservationFilter) -> Result<u64, Self::Error>;

    /// For each expression, the last `rows_max` rows that match it and the filter.
    fn matching(
        &mut self,
        filter: &ObservationFilter,
        expressions: &[Expression],
        rows_max: usize,
    ) -> Result<Vec<MatchingRows>, Self::Error>;

    /// The facts that decide if rows are worth loading, in any order; unknown rows are omitted.
    fn describe(&mut self, rows: &[i64]) -> Result<Vec<MatchedRow>, Self::Error>;

    /// Loads observations in the order of the rows; unknown rows are omitted.
    fn load(&mut self, rows: &[i64]) -> Result<Vec<StoredObservation>, Self::Error>;

    /// Rows of these ids ([`StoredObservation::id`]), `None` for an unknown one.
    fn rows_of_ids(&mut self, ids: &[String]) -> Result<Vec<Option<i64>>, Self::Error>;

    /// The newest observations, the newest first.
    fn newest(
        &mut self,
        filter: &ObservationFilter,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, Self::Error>;

    /// The oldest observations, the oldest first.
    fn oldest(
        &mut self,
        filter: &ObservationFilter,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, Self::Error>;

    /// Calls `visit` for every observation of a filter, the oldest first.
    fn export(
        &mut self,
        filter: &ObservationFilter,
        visit: &mut dyn FnMut(StoredObservation) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error>;

    /// Fixes of a shape in all projects, the newest first.
    fn fixes_of_shape(
        &mut self,
        shape: &str,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, Self::Error>;

    /// Records the outcome of a fix.
    fn set_outcome(&mut self, row: i64, outcome: FixOutcome) -> Result<(), Self::Error>;

    /// Marks observations as replaced by a later one.
    fn supersede(&mut self, rows: &[i64], by: i64) -> Result<(), Self::Error>;

    /// Forgets observations, their index entries and records, and copies of their text: session
    /// goals taken from them, and digests of their sessions. Returns the number of selected
    /// observations.
    fn forget(&mut self, selection: &ForgetSelection) -> Result<u64, Self::Error>;

    /// Records a sign of life of a session, which is created if it is new. Goal and worktree are
    /// kept once they are known, but a goal whose observation was deleted is empty.
    fn touch_session(
        &mut self,
        project: &MemoryProject,
        session: &str,
        at_ms: i64,
        goal: Option<&SessionGoal>,
        worktree: Option<&CleanText>,
    ) -> Result<(), Self::Error>;

    /// Records that the host ended a session.
    fn end_session(&mut self, session: &str, at_ms: i64) -> Result<(), Self::Error>;

    /// The latest sessions of a project that have observations, the newest first.
    fn sessions(
        &mut self,
        project: &str,
        sessions_max: usize,
    ) -> Result<Vec<StoredSession>, Self::Error>;

    /// Projects with this key or name.
    fn projects_named(&mut self, name: &str) -> Result<Vec<MemoryProject>, Self::Error>;

    fn record_injections(&mut self, injections: &[Injection]) -> Result<(), Self::Error>;

    /// Injections of a session not known to have been used.
    fn open_injections(&mut self, session: &str) -> Result<Vec<OpenInjection>, Self::Error>;

    fn mark_used(&mut self, injections: &[i64]) -> Result<(), Self::Error>;

    /// Records an explicit search.
    fn record_search(&mut self, has_hits: bool) -> Result<(), Self::Error>;

    /// Sizes and counts.
    fn counts(&mut self, filter: &ObservationFilter) -> Result<MemoryCounts, Self::Error>;

    /// For retention: the keys of the caller's projects.
    fn own_projects(&mut self) -> Result<Vec<String>, Self::Error>;

    /// For retention: scans the caller's next rows in a project, and loads those that may be
    /// folded.
    fn scan_rows(&mut self, scan: &RetentionScan) -> Result<ScannedRows, Self::Error>;

    /// Folds rows of the caller into one; see [`RowFold`]. Their injections move to the new row.
    /// Does nothing if the target no longer exists, or if a row of a summary was deleted or
    /// repeated in the meantime. Returns the number of removed rows.
    fn fold(&mut self, fold: &RowFold) -> Result<u64, Self::Error>;

    /// For retention: rows that may be dropped, the oldest first. Texts by a user are never among
    /// them.
    fn droppable_rows(
        &mut self,
        choice: &DropChoice,
        rows_max: usize,
    ) -> Result<Vec<DroppableRow>, Self::Error>;

    /// Forgets rows of the caller and counts them as dropped. Returns their number.
    fn drop_rows(&mut self, rows: &[i64]) -> Result<u64, Self::Error>;

    /// For retention: the sizes of rows of the caller whose numbers are greater than `after`.
    fn text_sizes(&mut self, after: i64, rows_max: usize) -> Result<TextSizes, Self::Error>;

    /// True if index entries of an older tokenizer version must be rebuilt by
    /// [`Self::refresh_index`].
    fn has_outdated_entries(&mut self) -> Result<bool, Self::Error>;

    /// Rebuilds outdated index entries, at most `entries_max`. Returns their number.
    fn refresh_index(&mut self, entries_max: usize) -> Result<u64, Self::Error>;

    /// End of the last retention pass, in milliseconds since 1970.
    fn last_retention_ms(&mut self) -> Result<Option<i64>, Self::Error>;

    /// Records the end of a retention pass.
    fn record_retention(&mut self, at_ms: i64) -> Result<(), Self::Error>;
}
