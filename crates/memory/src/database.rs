//! What a store of the memory can do. There are two: SQLite, and PostgreSQL for a team. Searching,
//! ranking and wording are the same for both, because they are built on this.

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

/// The observations that a question is about. Empty lists and `None` exclude nothing.
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

/// The observations to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetSelection {
    Rows(Vec<i64>),
    /// All that fulfil a filter; one that excludes nothing forgets everything.
    Filter(ObservationFilter),
}

/// Rows that fulfil a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchingRows {
    /// Numbers of rows, the last that was stored first.
    pub rows: Vec<i64>,
    pub is_complete: bool,
}

/// A row that fulfils a question, with what decides whether it is worth being loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatchedRow {
    pub row: i64,
    pub kind: ObservationKind,
    /// When it happened last, in milliseconds since 1970.
    pub at_ms: i64,
    /// From 0 to 1.
    pub importance: f64,
    /// Estimated tokens of title and body.
    pub tokens: usize,
}

/// About how many rows fulfil a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EstimatedRows {
    /// The estimate; 0 exactly if there is no such row.
    pub rows: u64,
    /// True if it was counted.
    pub is_exact: bool,
}

/// What became of an observation that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredAs {
    /// A new row.
    New(i64),
    /// The row that has the same text already, and was seen again.
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

/// An observation that was shown to an agent without being asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Id of the host's session.
    pub session: String,
    pub row: i64,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// On which occasion.
    pub event: InjectionEvent,
    /// Estimated tokens of its text.
    pub tokens: usize,
}

/// An injection whose use is not known yet, with what would prove it.
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
    /// Observations of each kind, those of the filter.
    pub by_kind: Vec<(ObservationKind, u64)>,
    pub sessions: u64,
    pub projects: u64,
    pub injections: u64,
    /// Injections that were used later.
    pub injections_used: u64,
    /// Sum of the tokens of all injections.
    pub injected_tokens: u64,
    /// Searches that were asked for.
    pub searches: u64,
    /// Of these, searches that found something.
    pub searches_with_hits: u64,
    /// Bytes of titles and bodies in the project of the filter that has most, those of the caller.
    pub largest_project_bytes: u64,
    /// Rows that retention made part of others.
    pub folded: u64,
    /// Rows that retention dropped.
    pub dropped: u64,
}

/// A store of the memory. All methods of one call run in one transaction of the implementation's
/// handle; an error rolls it back.
pub trait MemoryDatabase {
    /// Why something failed.
    type Error;

    /// Stores observations. One with the same kind, project and normalised text as a stored one
    /// counts as its repetition; an event of a session ([`ObservationKind::is_of_one_session`]) only in
    /// that session. Answers in the same order.
    fn add(&mut self, observations: &[NewObservation]) -> Result<Vec<StoredAs>, Self::Error>;

    fn count(&mut self, filter: &ObservationFilter) -> Result<u64, Self::Error>;

    /// For each expression, the last `rows_max` rows that fulfil it and a filter.
    fn matching(
        &mut self,
        filter: &ObservationFilter,
        expressions: &[Expression],
        rows_max: usize,
    ) -> Result<Vec<MatchingRows>, Self::Error>;

    /// What decides whether rows are worth being loaded, in any order; unknown ones are left out.
    fn describe(&mut self, rows: &[i64]) -> Result<Vec<MatchedRow>, Self::Error>;

    /// Observations by row, in the order of the rows; unknown ones are left out.
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

    /// Records what became of a fix.
    fn set_outcome(&mut self, row: i64, outcome: FixOutcome) -> Result<(), Self::Error>;

    /// Marks observations as replaced by a later one.
    fn supersede(&mut self, rows: &[i64], by: i64) -> Result<(), Self::Error>;

    /// Forgets observations, their index entries, what was recorded about them, and what repeats their
    /// text: goals of sessions that came from them, and digests of their sessions. Answers how many were
    /// selected.
    fn forget(&mut self, selection: &ForgetSelection) -> Result<u64, Self::Error>;

    /// Records a sign of life of a session, which is created if it is new. Goal and worktree are kept
    /// once they are known; a goal whose observation is gone is none.
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

    /// Projects whose key or name this is.
    fn projects_named(&mut self, name: &str) -> Result<Vec<MemoryProject>, Self::Error>;

    /// Records what was shown to an agent.
    fn record_injections(&mut self, injections: &[Injection]) -> Result<(), Self::Error>;

    /// Injections of a session that were not used yet.
    fn open_injections(&mut self, session: &str) -> Result<Vec<OpenInjection>, Self::Error>;

    fn mark_used(&mut self, injections: &[i64]) -> Result<(), Self::Error>;

    /// Records a search that was asked for, and whether it found something.
    fn record_search(&mut self, has_hits: bool) -> Result<(), Self::Error>;

    /// Sizes and counts.
    fn counts(&mut self, filter: &ObservationFilter) -> Result<MemoryCounts, Self::Error>;

    /// For retention: the keys of the caller's projects.
    fn own_projects(&mut self) -> Result<Vec<String>, Self::Error>;

    /// For retention: looks at the next rows of a project, those of the caller, and loads the ones that
    /// may be folded.
    fn scan_rows(&mut self, scan: &RetentionScan) -> Result<ScannedRows, Self::Error>;

    /// Makes rows of the caller one; see [`RowFold`]. What was shown of them counts as shown of the new
    /// one. Nothing is done if the target is gone, or if a row of a summary is gone or was seen again
    /// since. Answers how many rows are gone.
    fn fold(&mut self, fold: &RowFold) -> Result<u64, Self::Error>;

    /// For retention: rows that may be dropped, the oldest first. Never what a person wrote.
    fn droppable_rows(
        &mut self,
        choice: &DropChoice,
        rows_max: usize,
    ) -> Result<Vec<DroppableRow>, Self::Error>;

    /// Forgets rows of the caller and counts them as dropped. Answers how many.
    fn drop_rows(&mut self, rows: &[i64]) -> Result<u64, Self::Error>;

    /// For retention: the sizes of rows of the caller whose numbers are greater than `after`.
    fn text_sizes(&mut self, after: i64, rows_max: usize) -> Result<TextSizes, Self::Error>;

    /// Whether an older version of the tokenizer made entries of the index that are still to be made
    /// again by [`Self::refresh_index`].
    fn has_outdated_entries(&mut self) -> Result<bool, Self::Error>;

    /// Makes outdated entries of the index again, at most so many. Answers how many.
    fn refresh_index(&mut self, entries_max: usize) -> Result<u64, Self::Error>;

    /// When the last pass of retention ended, in milliseconds since 1970.
    fn last_retention_ms(&mut self) -> Result<Option<i64>, Self::Error>;

    /// Records that a pass of retention has ended.
    fn record_retention(&mut self, at_ms: i64) -> Result<(), Self::Error>;
}
