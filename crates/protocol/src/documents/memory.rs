//! Documents of `memory …`.

use serde::Serialize;

/// The result of a search.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/memory@1")]
pub struct MemoryDocument {
    /// Time of the search in the store.
    pub elapsed_ms: f64,
    /// Estimated tokens of the output without `--json`.
    pub token_estimate: usize,
    /// Estimated tokens of the next layer for the same hits; `None` for the last layer.
    pub next_layer_tokens: Option<usize>,
    /// The hits, the best first.
    pub hits: Vec<MemoryHitEntry>,
    /// Explanation for a search without hits.
    pub why_empty: Option<String>,
    /// The parsed query and its stages, with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<MemoryExplanation>,
}

/// A hit of a search.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryHitEntry {
    pub id: String,
    /// Comparable within one document only.
    pub score: f64,
    /// Time of the last occurrence.
    pub at: String,
    /// The same in milliseconds since 1970.
    #[serde(skip)]
    pub at_ms: i64,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// One line.
    pub title: String,
    /// The first file that it is about.
    pub path: Option<String>,
    pub project: String,
    /// Estimated tokens of its whole text.
    pub tokens: usize,
    /// The timeline around it, in layer 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<MemoryRowEntry>>,
    /// The whole observation, in layer 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observation: Option<ObservationEntry>,
    /// The parts of the score, with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<ScoreEntry>,
}

/// An observation in one line.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryRowEntry {
    pub id: String,
    /// Time of the last occurrence.
    pub at: String,
    /// The same in milliseconds since 1970.
    #[serde(skip)]
    pub at_ms: i64,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// One line.
    pub title: String,
    /// The first file that it is about.
    pub path: Option<String>,
    /// Estimated tokens of its whole text.
    pub tokens: usize,
    /// `before`, `anchor`, `after` in its session, or `later` with one of its files or codes;
    /// `selected` for a row to forget.
    pub place: &'static str,
}

/// The parts of a score, before they are weighted.
#[derive(Clone, Debug, Serialize)]
pub struct ScoreEntry {
    /// The strictest stage that found it.
    pub stage: &'static str,
    /// How exactly it matches the query.
    pub exactness: f64,
    /// Its recency relative to its kind.
    pub recency: f64,
    /// Its proximity to the current work.
    pub proximity: f64,
    pub importance: f64,
}

/// The interpretation of a query.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryExplanation {
    /// The search terms.
    pub units: Vec<QueryUnitEntry>,
    /// The index queries, in order.
    pub stages: Vec<QueryStageEntry>,
}

/// One search term.
#[derive(Clone, Debug, Serialize)]
pub struct QueryUnitEntry {
    /// As written.
    pub text: String,
    /// Approximate number of observations with any form of it.
    pub rows: u64,
    /// Weight in the query.
    pub weight: f64,
}

/// One index query.
#[derive(Clone, Debug, Serialize)]
pub struct QueryStageEntry {
    /// Its name: `exact`, `loose`, `translated`, `named`, `all-but-one` or `any`.
    pub stage: &'static str,
    /// Rows that it chose for ranking.
    pub rows: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct ObservationEntry {
    pub id: String,
    pub project: String,
    /// Id of the host's session; empty if unknown.
    pub session: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Time of the last occurrence.
    pub at: String,
    /// One line.
    pub title: String,
    /// Everything else.
    pub body: String,
    /// Files that it is about.
    pub files: Vec<String>,
    pub codes: Vec<String>,
    /// Source of the text: `tool`, `agent`, `user` or `measured`.
    pub provenance: &'static str,
    /// For a fix: `held` or `undone`, once known.
    pub outcome: Option<&'static str>,
    /// Number of repetitions.
    pub repeats: u32,
    /// True if a later observation replaces it.
    pub superseded: bool,
    /// True if its text was cut for this answer.
    pub cut: bool,
}

/// `memory get`: observations and unknown ids.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/observations@1")]
pub struct ObservationsDocument {
    /// In the order of the ids.
    pub observations: Vec<ObservationEntry>,
    /// Ids without an observation.
    pub unknown: Vec<String>,
}

/// `memory timeline`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/timeline@1")]
pub struct TimelineDocument {
    /// The oldest first; those of other sessions last.
    pub rows: Vec<MemoryRowEntry>,
}

/// `memory add`, `forget`, `import`, `backup` and `restore`.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/memory-change@1")]
pub struct MemoryChangeDocument {
    /// The command: `forget`.
    pub command: &'static str,
    /// `done` or `preview`.
    pub status: &'static str,
    /// Observations that were stored, forgotten or restored, or would be.
    pub observations: u64,
    /// Stored observations that were already known.
    pub repeated: u64,
    /// Ids of the first of them.
    pub ids: Vec<String>,
    /// For a preview of `forget`: the first of them.
    pub rows: Vec<MemoryRowEntry>,
    /// For `forget`: true if a backup had some of them.
    pub in_backups: bool,
    /// For `forget`: backups and damaged copies that cannot be read and were removed, because they
    /// may hold forgotten observations.
    pub removed_copies: Vec<String>,
    /// For `forget` without a match: copies that could not be read and searched.
    pub unread_copies: Vec<String>,
    /// Rejected lines of an import, or unknown ids, with reasons.
    pub rejected: Vec<RejectedLine>,
    /// Total number of rejected items.
    pub rejected_total: u64,
    /// The file that was written or read.
    pub file: Option<String>,
}

/// A line of an import that cannot be used, or an unknown id.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct RejectedLine {
    /// Number of the line, counted from 1; 0 for an id.
    pub line: u64,
    pub reason: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/memory-status@1")]
pub struct MemoryStatusDocument {
    /// The database.
    pub file: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Observations of the selected projects.
    pub observations: u64,
    /// The same by kind.
    pub by_type: Vec<KindCountEntry>,
    /// Sessions of all projects.
    pub sessions: u64,
    pub projects: u64,
    /// Number of observations shown to agents unrequested.
    pub injections: u64,
    /// Of these, the ones used later.
    pub injections_used: u64,
    /// Their estimated tokens.
    pub injected_tokens: u64,
    /// Explicit searches.
    pub searches: u64,
    /// Explicit searches with hits.
    pub searches_with_hits: u64,
    /// Bytes of text in the largest selected project.
    pub project_bytes: u64,
    /// Bytes of text that a project may have (`memory.max_mb`).
    pub project_bytes_max: u64,
    /// Observations folded into others.
    pub folded: u64,
    /// Observations dropped because their project was too large.
    pub dropped: u64,
}

/// Observations of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct KindCountEntry {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub observations: u64,
}

/// A line of `memory export`, which `memory import` reads.
#[derive(Clone, Debug, Serialize)]
pub struct ExportedObservation {
    pub id: String,
    pub project: String,
    /// Id of the host's session.
    pub session: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Milliseconds since 1970.
    pub ts: i64,
    /// One line.
    pub title: String,
    /// Everything else.
    pub body: String,
    /// Files that it is about.
    pub files: Vec<String>,
    pub codes: Vec<String>,
    /// Ids of the shapes of findings, of a fix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<String>,
    /// The outcome of a fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    pub project_key: String,
    /// From 0 to 1.
    pub importance: f64,
    /// Source of the text.
    pub provenance: &'static str,
    /// Number of repetitions.
    #[serde(skip_serializing_if = "is_zero")]
    pub repeats: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
