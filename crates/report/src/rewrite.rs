//! The effects of a planned or written rewrite or set of fixes: a unified diff, the files, and the
//! introduced findings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::agent::truncate_text;
use super::answers::{CUT_FOR_TOOL, QueryContext, query_document};
use super::rename::{
    ChangedFile, WriteOutcome, changed_file_entry, introduced_and_fixed, measured, preview,
    write_check_entry, write_status,
};
use super::search::SearchCoverage;
use super::{count_noun, sanitized_name};
use moai_base::evidence::SkippedFile;
use moai_base::limits::TOOL_DIFF_CHARS_MAX;
use moai_protocol::documents::queries::{QueryDocument, RewriteResult};

/// A planned or written rewrite.
#[derive(Clone, Debug, Default)]
pub struct RewriteReport {
    pub coverage: SearchCoverage,
    /// Files that would change if they did not belong to other repositories, with that reason.
    pub foreign: Vec<SkippedFile>,
    pub edits: usize,
    /// Number of matches that contain a replaced match and were therefore not replaced.
    pub overlapping: usize,
    /// Number of fixes that were not applied because they are not marked safe.
    pub withheld_fixes: usize,
    /// The changed files, sorted by path.
    pub files: Vec<ChangedFile>,
    /// Its effects; `None` for a preview.
    pub outcome: Option<WriteOutcome>,
}

impl RewriteReport {
    /// The searched files; those of other repositories count as skipped.
    pub(super) fn full_coverage(&self) -> SearchCoverage {
        let mut coverage = self.coverage.clone();
        coverage.skipped.extend(self.foreign.iter().cloned());
        coverage
    }
}

/// The text: the diff of a preview, or the written files and the introduced findings.
#[must_use]
pub fn rewrite_text(asked: &QueryContext, rewritten: &RewriteReport) -> String {
    let mut skips = rewritten.coverage.skips();
    if rewritten.overlapping > 0 {
        let (places, is) = (count_noun(rewritten.overlapping, "place"), "overlapping other edits");
        let _ = writeln!(skips, "not changed: {places} {is}; search again");
    }
    if rewritten.withheld_fixes > 0 {
        let fixes = if rewritten.withheld_fixes == 1 { "fix" } else { "fixes" };
        let what = format!("{} {fixes} not marked safe", rewritten.withheld_fixes);
        let _ = writeln!(skips, "not changed: {what}: --unsafe-fixes");
    }
    let reasons: BTreeSet<&str> = rewritten.foreign.iter().map(|it| it.reason.as_str()).collect();
    for reason in reasons {
        let _ = writeln!(skips, "not changed: {}", sanitized_name(reason));
    }
    if rewritten.files.is_empty() {
        return skips + &rewritten.full_coverage().nothing("nothing to change") + "\n";
    }
    let (edits, files) =
        (count_noun(rewritten.edits, "edit"), count_noun(rewritten.files.len(), "file"));
    let Some(outcome) = &rewritten.outcome else {
        let mut diff = preview(&rewritten.files);
        let mut how = "use --apply";
        if asked.is_tool {
            diff = truncate_text(diff.trim_end(), TOOL_DIFF_CHARS_MAX, CUT_FOR_TOOL) + "\n";
            how = "set dry_run to false";
        }
        return format!("{diff}{skips}{edits} in {files}; not written, {how}\n");
    };
    let mut text = String::new();
    for file in &rewritten.files {
        let _ = writeln!(text, "{:<6} {}", file.action(), sanitized_name(&file.path));
    }
    text.push_str(&skips);
    let _ = writeln!(text, "{edits} in {files} written; {}", introduced_and_fixed(outcome));
    text + &measured(outcome)
}

/// A rewrite as a document.
#[must_use]
pub fn rewrite_document(
    context: &QueryContext,
    rewritten: &RewriteReport,
) -> QueryDocument<RewriteResult> {
    let result = RewriteResult {
        coverage: rewritten.full_coverage().entry(),
        edits: rewritten.edits,
        left: rewritten.overlapping,
        held: rewritten.withheld_fixes,
        files: rewritten.files.iter().map(changed_file_entry).collect(),
        check: rewritten.outcome.as_ref().map(write_check_entry),
    };
    query_document(context, write_status(rewritten.outcome.as_ref()), result)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;
    use moai_base::delta::Delta;
    use moai_base::finding::FindingState;
    use moai_base::samples::finding;
    use moai_protocol::documents::json_value;

    fn rewritten(outcome: Option<WriteOutcome>) -> (QueryContext, RewriteReport) {
        let root = PathBuf::from("/r");
        let asked = QueryContext {
            command: "rewrite",
            root,
            is_tool: false,
            server: None,
            position: None,
            elapsed_ms: 3,
        };
        let file = ChangedFile {
            path: "a.py".to_owned(),
            moved_from: None,
            before: Some("f(1)\n".to_owned()),
            after: Some("g(1)\n".to_owned()),
        };
        let skipped = SkippedFile { path: "vendor/b.py".into(), reason: "in vendor/".into() };
        let looked =
            SearchCoverage { files: 3, skipped: vec![skipped], kinds: vec!["call".to_owned()] };
        (
            asked,
            RewriteReport {
                coverage: looked,
                foreign: Vec::new(),
                edits: 1,
                overlapping: 1,
                withheld_fixes: 0,
                files: vec![file],
                outcome,
            },
        )
    }

    #[test]
    fn a_preview_is_a_diff_that_says_it_is_not_written() {
        let (asked, rewritten) = rewritten(None);
        insta::assert_snapshot!(rewrite_text(&asked, &rewritten), @r"
        --- a/a.py
        +++ b/a.py
        @@ -1 +1 @@
        -f(1)
        +g(1)
        skipped: vendor/b.py (in vendor/)
        not changed: 1 place overlapping other edits; search again
        1 edit in 1 file; not written, use --apply
        ");
        let document = json_value(&rewrite_document(&asked, &rewritten));
        assert_eq!((&document["status"], &document["check"]), (&json!("preview"), &Value::Null));
        assert_eq!((&document["files_total"], &document["left"]), (&json!(4), &json!(1)));
    }

    #[test]
    fn what_was_written_and_what_it_introduced() {
        let mut new = finding("a.py", 2, "x");
        new.state = FindingState::Introduced;
        let delta = Delta { findings: vec![new], ..Delta::default() };
        let (asked, rewritten) =
            rewritten(Some(WriteOutcome { delta, gaps: Vec::new(), skipped: Vec::new() }));
        insta::assert_snapshot!(rewrite_text(&asked, &rewritten), @r"
        edit   a.py
        skipped: vendor/b.py (in vendor/)
        not changed: 1 place overlapping other edits; search again
        1 edit in 1 file written; introduced 1 error
          error a.py:3:1 pyright(x): x is wrong
        ");
        let document = json_value(&rewrite_document(&asked, &rewritten));
        assert_eq!(document["status"], "applied");
        assert_eq!(document["check"]["introduced"][0]["code"], "x");
    }

    #[test]
    fn nothing_to_replace_is_said() {
        let (asked, rewritten) = rewritten(None);
        let nothing = RewriteReport { files: Vec::new(), edits: 0, overlapping: 0, ..rewritten };
        let text = rewrite_text(&asked, &nothing);
        assert!(
            text.ends_with("nothing to change in 3 files; the pattern is read as call\n"),
            "{text}"
        );
    }
}
