//! Documents of queries about code and of changes made by them: locations, hover texts, symbols,
//! rename, search and rewrite. Positions are 0-based LSP positions.

use serde::Serialize;
use serde_json::{Map, Value};

use super::reports::FindingEntry;
use moai_base::evidence::SkippedFile;
use moai_base::text::{Position, TextRange};

/// A document about a query. A query that failed has no result.
#[derive(Clone, Debug, Serialize)]
pub struct QueryDocument<T> {
    /// [`QueryResult::SCHEMA`] of the result.
    pub schema: &'static str,
    /// The command: `references`.
    pub command: &'static str,
    /// Absolute path of the root.
    pub root: String,
    /// The outcome, such as `done`, `preview`, `refused` or `unmeasured`.
    pub status: &'static str,
    /// Kind of a refusal, for programs.
    pub kind: Option<&'static str>,
    /// Reason for a missing or incomplete result.
    pub reason: Option<String>,
    /// The server that answered, or should have.
    pub server: Option<String>,
    /// The position the query is about.
    pub at: Option<QueryPosition>,
    /// Time from request to answer.
    pub elapsed_ms: u64,
    #[serde(flatten)]
    pub result: Option<T>,
}

/// The fields that one kind of query adds to its document.
pub trait QueryResult {
    /// Schema of the document.
    const SCHEMA: &'static str;
}

/// The position a query is about.
#[derive(Clone, Debug, Serialize)]
pub struct QueryPosition {
    pub path: String,
    /// The position; `None` for a whole file.
    pub position: Option<Position>,
}

/// Result of `references` and `definition`.
#[derive(Clone, Debug, Serialize)]
pub struct LocationsResult {
    /// If false, `reason` explains what may be missing.
    pub complete: bool,
    pub locations: Vec<LocationEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LocationEntry {
    /// Relative to the root, or absolute outside of it.
    pub path: String,
    pub range: TextRange,
    /// The source line at its start.
    pub text: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct HoverResult {
    /// Markdown as the server wrote it.
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct SymbolsResult {
    /// If false, `reason` explains what may be missing.
    pub complete: bool,
    pub symbols: Vec<SymbolEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SymbolEntry {
    #[serde(flatten)]
    pub location: LocationEntry,
    pub name: String,
    /// `function`, `class` and so on.
    pub kind: &'static str,
    /// The symbol that contains it.
    pub container: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RenameResult {
    /// Name before the rename, if known.
    pub old_name: Option<String>,
    /// Name after the rename.
    pub new_name: String,
    /// Number of replacements.
    pub edits: usize,
    /// The changed files, sorted by path.
    pub files: Vec<ChangedFileEntry>,
    /// Measurement after the files were written.
    pub check: Option<WriteCheckEntry>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ChangedFileEntry {
    /// Path after the change.
    pub path: String,
    /// `edit`, `create`, `delete` or `move`.
    pub action: &'static str,
    /// Path before a move.
    pub moved_from: Option<String>,
    /// Unified diff; empty for a move without changes.
    pub diff: String,
}

/// Measurement after files were written.
#[derive(Clone, Debug, Serialize)]
pub struct WriteCheckEntry {
    /// New findings.
    pub introduced: Vec<FindingEntry>,
    /// Findings that may be older: there is no earlier measurement.
    pub unknown: Vec<FindingEntry>,
    /// Number of fixed findings.
    pub fixed: usize,
    /// Number of older findings.
    pub remaining: usize,
    /// Sensors without a result.
    pub not_measured: Vec<SensorGap>,
    /// Changed files that were not measured.
    pub files_skipped: Vec<SkippedFile>,
}

/// A sensor without a result.
#[derive(Clone, Debug, Serialize)]
pub struct SensorGap {
    pub sensor: String,
    /// Reason for the missing result.
    pub reason: String,
}

/// The files in which a pattern was searched.
#[derive(Clone, Debug, Serialize)]
pub struct CoverageEntry {
    /// The grammars' interpretation of the pattern.
    pub read_as: Vec<String>,
    /// Files of the pattern's languages.
    pub files_total: usize,
    /// Files searched.
    pub files_checked: usize,
    /// Files that were not searched.
    pub files_skipped: Vec<SkippedFile>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SearchResult {
    /// The files that were searched.
    #[serde(flatten)]
    pub coverage: CoverageEntry,
    pub files_with_matches: usize,
    /// The first matches, by path and position.
    pub matches: Vec<MatchEntry>,
    /// Matches that are not listed.
    pub matches_omitted: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct MatchEntry {
    pub path: String,
    /// The range of the matching code.
    pub range: TextRange,
    /// The matching code.
    pub text: String,
    /// The source line at its start.
    pub line: String,
    /// A [`CapturedEntry`] per metavariable, in the order of the pattern.
    pub variables: Map<String, Value>,
}

/// The code that a metavariable matches.
#[derive(Clone, Debug, Serialize)]
pub struct CapturedEntry {
    /// True if the metavariable stands for any number of nodes.
    pub list: bool,
    /// The range; `None` if it matches no node.
    pub range: Option<TextRange>,
    pub text: String,
}

/// Result of `rewrite` and `scan --fix`.
#[derive(Clone, Debug, Serialize)]
pub struct RewriteResult {
    /// The files that were searched.
    #[serde(flatten)]
    pub coverage: CoverageEntry,
    /// Number of replacements.
    pub edits: usize,
    /// Matches that contain other, replaced matches.
    pub left: usize,
    /// Fixes that are not made because they are not marked safe.
    pub held: usize,
    /// The changed files, sorted by path.
    pub files: Vec<ChangedFileEntry>,
    /// Measurement after the files were written.
    pub check: Option<WriteCheckEntry>,
}

impl QueryResult for LocationsResult {
    const SCHEMA: &'static str = "moai-ralph/locations@1";
}

impl QueryResult for HoverResult {
    const SCHEMA: &'static str = "moai-ralph/hover@1";
}

impl QueryResult for SymbolsResult {
    const SCHEMA: &'static str = "moai-ralph/symbols@1";
}

impl QueryResult for RenameResult {
    const SCHEMA: &'static str = "moai-ralph/rename@1";
}

impl QueryResult for SearchResult {
    const SCHEMA: &'static str = "moai-ralph/search@1";
}

impl QueryResult for RewriteResult {
    const SCHEMA: &'static str = "moai-ralph/rewrite@1";
}
