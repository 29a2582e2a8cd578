//! Matches of a structural search as text and as a document, and the files that a search or rewrite
//! skipped.

use std::fmt::Write as _;

use super::answers::{QueryContext, query_document};
use super::{count_noun, sanitized_line, sanitized_name};
use moai_base::evidence::SkippedFile;
use moai_base::foreign_text::one_line;
use moai_base::limits::{EXCERPT_CHARS_MAX, FEEDBACK_FINDINGS_MAX};
use moai_base::path::RelPath;
use moai_protocol::documents::json_value;
use moai_protocol::documents::queries::{
    CapturedEntry, CoverageEntry, MatchEntry, QueryDocument, SearchResult,
};
use moai_scan::search::{CapturedText, SearchMatch};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchCoverage {
    /// Number of searched files.
    pub files: usize,
    /// Skipped files and the reasons.
    pub skipped: Vec<SkippedFile>,
    /// How each grammar reads the pattern.
    pub kinds: Vec<String>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchReport {
    pub coverage: SearchCoverage,
    /// The first matches, by path and position.
    pub hits: Vec<(RelPath, SearchMatch)>,
    /// Number of further matches.
    pub omitted: usize,
    /// Number of files with a match.
    pub files_with_hits: usize,
}

impl SearchCoverage {
    fn total(&self) -> usize {
        self.files + self.skipped.len()
    }

    /// `what` ("no match") and possible reasons.
    pub(super) fn nothing(&self, what: &str) -> String {
        if self.total() == 0 {
            return format!("{what}: there are no files in this language");
        }
        let (kinds, files) = (self.kinds.join(", "), count_noun(self.files, "file"));
        if kinds.is_empty() {
            return format!("{what} in {files}");
        }
        format!("{what} in {files}; the pattern is read as {}", sanitized_line(&kinds))
    }

    /// The skipped files, one per line; those beyond the limit are counted.
    pub(super) fn skips(&self) -> String {
        let mut text = String::new();
        for SkippedFile { path, reason } in self.skipped.iter().take(FEEDBACK_FINDINGS_MAX) {
            let _ = writeln!(text, "skipped: {} ({reason})", sanitized_name(path));
        }
        let more = self.skipped.len().saturating_sub(FEEDBACK_FINDINGS_MAX);
        if more > 0 {
            let _ = writeln!(text, "skipped: {}", count_noun(more, "more file"));
        }
        text
    }

    /// The counts for a document.
    pub(super) fn entry(&self) -> CoverageEntry {
        CoverageEntry {
            read_as: self.kinds.clone(),
            files_total: self.total(),
            files_checked: self.files,
            files_skipped: self.skipped.clone(),
        }
    }
}

/// The text: one line per match, then the counts.
#[must_use]
pub fn search_text(query_context: &QueryContext, searched: &SearchReport) -> String {
    let mut text = String::new();
    for (path, hit) in &searched.hits {
        let start = hit.range.start;
        let (path, line) = (sanitized_name(path.as_str()), one_line(&hit.line, EXCERPT_CHARS_MAX));
        let _ = writeln!(text, "{path}:{}:{}: {line}", start.line + 1, start.character + 1);
    }
    text.push_str(&searched.coverage.skips());
    let total = searched.hits.len() + searched.omitted;
    if total == 0 {
        return text + &searched.coverage.nothing("no match") + "\n";
    }
    let (matches, files) = (matches(total), count_noun(searched.files_with_hits, "file"));
    let looked = &searched.coverage;
    let of = format!("{} of {} searched", looked.files, count_noun(looked.total(), "file"));
    let how = if query_context.is_tool { "max_results" } else { "--max-results" };
    let omitted = match searched.omitted {
        0 => String::new(),
        more => format!("; {more} more not shown: {how}"),
    };
    let _ =
        writeln!(text, "{matches} in {files}; {of} in {} ms{omitted}", query_context.elapsed_ms);
    text
}

/// `1 match`, `2 matches`.
fn matches(number: usize) -> String {
    format!("{number} match{}", if number == 1 { "" } else { "es" })
}

/// A search as a document.
#[must_use]
pub fn search_document(
    context: &QueryContext,
    searched: &SearchReport,
) -> QueryDocument<SearchResult> {
    let result = SearchResult {
        coverage: searched.coverage.entry(),
        files_with_matches: searched.files_with_hits,
        matches: searched.hits.iter().map(|(path, hit)| match_entry(path, hit)).collect(),
        matches_omitted: searched.omitted,
    };
    query_document(context, "answered", result)
}

fn match_entry(path: &RelPath, hit: &SearchMatch) -> MatchEntry {
    let variables = hit.variables.iter();
    MatchEntry {
        path: path.as_str().to_owned(),
        range: hit.range,
        text: hit.text.clone(),
        line: hit.line.clone(),
        variables: variables.map(|it| (it.name.clone(), json_value(&captured_entry(it)))).collect(),
    }
}

fn captured_entry(captured: &CapturedText) -> CapturedEntry {
    let place = captured.place.clone();
    let (range, text) = place.map_or((None, String::new()), |(range, text)| (Some(range), text));
    CapturedEntry { list: captured.is_list, range, text }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;
    use moai_base::text::{Position, TextRange};

    fn query_context(is_tool: bool) -> QueryContext {
        let root = PathBuf::from("/r");
        QueryContext {
            command: "search",
            root,
            is_tool,
            server: None,
            position: None,
            elapsed_ms: 3,
        }
    }

    fn searched() -> SearchReport {
        let at = |line, character| Position { line, character };
        let range = TextRange { start: at(4, 2), end: at(4, 9) };
        let hit = SearchMatch {
            range,
            text: "f(1, 2)".to_owned(),
            line: "  f(1, 2)  # \u{1b}[31m".to_owned(),
            variables: vec![
                CapturedText {
                    name: "A".to_owned(),
                    is_list: false,
                    place: Some((range, "1".to_owned())),
                },
                CapturedText { name: "REST".to_owned(), is_list: true, place: None },
            ],
        };
        let path = RelPath::parse("src/a.py").expect("a path");
        let skipped = SkippedFile { path: "big.py".into(), reason: "larger than 1 MiB".into() };
        let looked =
            SearchCoverage { files: 2, skipped: vec![skipped], kinds: vec!["call".to_owned()] };
        SearchReport { coverage: looked, hits: vec![(path, hit)], omitted: 4, files_with_hits: 2 }
    }

    #[test]
    fn matches_are_lines_and_what_was_not_looked_at_is_said() {
        insta::assert_snapshot!(search_text(&query_context(false), &searched()), @r"
        src/a.py:5:3: f(1, 2) #
        skipped: big.py (larger than 1 MiB)
        5 matches in 2 files; 2 of 3 files searched in 3 ms; 4 more not shown: --max-results
        ");
        let document = json_value(&search_document(&query_context(false), &searched()));
        assert_eq!(
            (&document["files_total"], &document["matches_omitted"]),
            (&json!(3), &json!(4))
        );
        assert_eq!(document["matches"][0]["range"]["start"], json!({"line": 4, "character": 2}));
        let variables = &document["matches"][0]["variables"];
        assert_eq!(
            (&variables["A"]["text"], &variables["REST"]["list"]),
            (&json!("1"), &json!(true))
        );
        assert_eq!(variables["REST"]["range"], Value::Null);
    }

    #[test]
    fn nothing_found_says_what_was_looked_for() {
        let empty = |files: usize| {
            let looked = SearchCoverage {
                files,
                kinds: vec!["call".to_owned()],
                ..SearchCoverage::default()
            };
            search_text(
                &query_context(false),
                &SearchReport { coverage: looked, ..SearchReport::default() },
            )
        };
        assert_eq!(empty(2), "no match in 2 files; the pattern is read as call\n");
        assert_eq!(empty(0), "no match: there are no files in this language\n");
    }
}
