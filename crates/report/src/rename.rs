//! The effects of a planned or written rename: a unified diff, the files, and the introduced
//! findings.

use std::fmt::Write as _;
use std::time::Duration;

use super::agent::truncate_text;
use super::answers::{CUT_FOR_TOOL, QueryContext, query_document};
use super::{count_noun, finding_line, sanitized_name, sanitized_text, severity_counts};
use moai_base::delta::Delta;
use moai_base::evidence::SkippedFile;
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::limits::{
    DIFF_CONTEXT_LINES, DIFF_MS_MAX, FEEDBACK_FINDINGS_MAX, TOOL_DIFF_CHARS_MAX,
};
use moai_base::verdict::Gap;
use moai_protocol::documents::queries::{
    ChangedFileEntry, QueryDocument, RenameResult, SensorGap, WriteCheckEntry,
};
use moai_protocol::documents::reports::FindingEntry;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path after the rename; for a removed file the one before.
    pub path: String,
    /// Its path before, if it was moved.
    pub moved_from: Option<String>,
    /// Its text before; `None` if it did not exist.
    pub before: Option<String>,
    /// Its text after; `None` if it no longer exists.
    pub after: Option<String>,
}

/// A planned or written rename.
#[derive(Clone, Debug)]
pub struct RenameReport {
    /// The old name, if it is known.
    pub old_name: Option<String>,
    pub new_name: String,
    pub edits: usize,
    /// The files, sorted by path.
    pub files: Vec<ChangedFile>,
    /// Its effects; `None` for a preview.
    pub outcome: Option<WriteOutcome>,
}

/// The measured effects of a written rename.
#[derive(Clone, Debug)]
pub struct WriteOutcome {
    /// Over all changed files.
    pub delta: Delta,
    pub gaps: Vec<(String, Gap)>,
    /// Changed files that no sensor measured.
    pub skipped: Vec<SkippedFile>,
}

impl WriteOutcome {
    /// Introduced findings, without hints.
    pub fn introduced(&self) -> impl Iterator<Item = &Finding> {
        self.delta.in_state(FindingState::Introduced).filter(|it| it.severity > Severity::Hint)
    }

    /// Findings that may be older, because the state before is unmeasured; without hints.
    pub fn unknown(&self) -> impl Iterator<Item = &Finding> {
        self.delta.in_state(FindingState::Unknown).filter(|it| it.severity > Severity::Hint)
    }

    /// True if all sensors of all changed files have a verdict.
    #[must_use]
    pub fn is_all_measured(&self) -> bool {
        self.gaps.is_empty() && self.skipped.is_empty()
    }
}

impl ChangedFile {
    pub(super) fn action(&self) -> &'static str {
        match (&self.before, &self.after) {
            _ if self.moved_from.is_some() => "move",
            (None, _) => "create",
            (_, None) => "delete",
            (Some(_), Some(_)) => "edit",
        }
    }

    /// The diff as git writes it; empty for a file that is only moved.
    fn diff(&self) -> String {
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        let old = self.moved_from.as_ref().unwrap_or(&self.path);
        let name = |side: &str, path: &str, text: Option<&str>| match text {
            Some(_) => format!("{side}/{}", sanitized_name(path)),
            None => "/dev/null".to_owned(),
        };
        let (old, new) = (name("a", old, before), name("b", &self.path, after));
        let diff = similar::TextDiff::configure()
            .timeout(Duration::from_millis(DIFF_MS_MAX))
            .diff_lines(before.unwrap_or(""), after.unwrap_or(""));
        let mut unified = diff.unified_diff();
        unified.context_radius(DIFF_CONTEXT_LINES).header(&old, &new).to_string()
    }
}

/// The text: the diff of a preview, or the written files and the introduced findings.
#[must_use]
pub fn rename_text(asked: &QueryContext, renamed: &RenameReport) -> String {
    let (edits, files) =
        (count_noun(renamed.edits, "edit"), count_noun(renamed.files.len(), "file"));
    let old = renamed.old_name.as_deref().unwrap_or("symbol");
    let names = sanitized_name(&format!("{old} -> {}", renamed.new_name));
    let server = asked.server.as_deref().unwrap_or("language server");
    let Some(outcome) = &renamed.outcome else {
        let mut diff = preview(&renamed.files);
        let mut how = "use --apply";
        if asked.is_tool {
            diff = truncate_text(diff.trim_end(), TOOL_DIFF_CHARS_MAX, CUT_FOR_TOOL) + "\n";
            how = "set dry_run to false";
        }
        return format!("{diff}{names}: {edits} in {files} ({server}); not written, {how}\n");
    };
    let mut text = String::new();
    for file in &renamed.files {
        let from = file.moved_from.as_ref().map(|from| format!(" (was {})", sanitized_name(from)));
        let from = from.unwrap_or_default();
        let _ = writeln!(text, "{:<6} {}{from}", file.action(), sanitized_name(&file.path));
    }
    let told = introduced_and_fixed(outcome);
    let _ = writeln!(text, "{names}: {edits} in {files} written ({server}); {told}");
    text + &measured(outcome)
}

/// Introduced findings, one per line, and the gaps.
pub(super) fn measured(outcome: &WriteOutcome) -> String {
    let mut text = String::new();
    let found: Vec<&Finding> = outcome.introduced().chain(outcome.unknown()).collect();
    for finding in found.iter().take(FEEDBACK_FINDINGS_MAX) {
        let _ = writeln!(text, "  {}", finding_line(finding));
    }
    if let Some(more) = found.len().checked_sub(FEEDBACK_FINDINGS_MAX).filter(|it| *it > 0) {
        let _ = writeln!(text, "  … and {}: moai-ralph check", count_noun(more, "more finding"));
    }
    for (sensor, gap) in &outcome.gaps {
        let _ = writeln!(text, "  not measured: {sensor} ({gap})");
    }
    for SkippedFile { path, reason } in outcome.skipped.iter().take(FEEDBACK_FINDINGS_MAX) {
        let _ = writeln!(text, "  not measured: {} ({reason})", sanitized_name(path));
    }
    let more = outcome.skipped.len().saturating_sub(FEEDBACK_FINDINGS_MAX);
    if more > 0 {
        let _ = writeln!(text, "  not measured: {}", count_noun(more, "more file"));
    }
    text
}

/// The diff of a preview, with the moved files.
pub(super) fn preview(files: &[ChangedFile]) -> String {
    let mut text = String::new();
    for file in files {
        if let Some(from) = &file.moved_from {
            let _ =
                writeln!(text, "rename {} => {}", sanitized_name(from), sanitized_name(&file.path));
        }
        text.push_str(&sanitized_text(&file.diff()));
    }
    text
}

/// Introduced and fixed findings. Findings without a measurement from before are not attributed to
/// the rename, and no file with a gap is called clean.
pub(super) fn introduced_and_fixed(outcome: &WriteOutcome) -> String {
    let introduced = severity_counts(outcome.introduced());
    let unknown = severity_counts(outcome.unknown());
    let mut parts = Vec::new();
    if !introduced.is_empty() {
        parts.push(format!("introduced {introduced}"));
    } else if unknown.is_empty() && outcome.is_all_measured() {
        parts.push("nothing introduced".to_owned());
    } else {
        parts.push("no introduced findings known".to_owned());
    }
    if !unknown.is_empty() {
        parts.push(format!("{unknown} (not measured before; some may be new)"));
    }
    if outcome.delta.fixed > 0 {
        parts.push(format!("fixed {}", outcome.delta.fixed));
    }
    parts.join("; ")
}

/// A rename as a document.
#[must_use]
pub fn rename_document(
    context: &QueryContext,
    renamed: &RenameReport,
) -> QueryDocument<RenameResult> {
    let result = RenameResult {
        old_name: renamed.old_name.clone(),
        new_name: renamed.new_name.clone(),
        edits: renamed.edits,
        files: renamed.files.iter().map(changed_file_entry).collect(),
        check: renamed.outcome.as_ref().map(write_check_entry),
    };
    query_document(context, write_status(renamed.outcome.as_ref()), result)
}

/// The `status` of a document about files that may have been written.
pub(super) fn write_status(outcome: Option<&WriteOutcome>) -> &'static str {
    if outcome.is_some() { "applied" } else { "preview" }
}

pub(super) fn changed_file_entry(file: &ChangedFile) -> ChangedFileEntry {
    ChangedFileEntry {
        path: file.path.clone(),
        action: file.action(),
        moved_from: file.moved_from.clone(),
        diff: file.diff(),
    }
}

pub(super) fn write_check_entry(outcome: &WriteOutcome) -> WriteCheckEntry {
    let gaps = outcome.gaps.iter();
    WriteCheckEntry {
        introduced: outcome.introduced().map(FindingEntry::from).collect(),
        unknown: outcome.unknown().map(FindingEntry::from).collect(),
        fixed: outcome.delta.fixed,
        remaining: outcome.delta.in_state(FindingState::Existing).count(),
        not_measured: gaps
            .map(|(sensor, gap)| SensorGap { sensor: sensor.clone(), reason: gap.to_string() })
            .collect(),
        files_skipped: outcome.skipped.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;
    use moai_base::samples::finding;
    use moai_base::verdict::Cause;
    use moai_protocol::documents::json_value;

    fn renamed(outcome: Option<WriteOutcome>) -> (QueryContext, RenameReport) {
        let asked = QueryContext {
            command: "rename",
            root: PathBuf::from("/r"),
            is_tool: false,
            server: Some("pyright".to_owned()),
            position: None,
            elapsed_ms: 3,
        };
        let file = |path: &str, moved_from: Option<&str>, before: &str, after: &str| ChangedFile {
            path: path.to_owned(),
            moved_from: moved_from.map(str::to_owned),
            before: Some(before.to_owned()),
            after: Some(after.to_owned()),
        };
        let files = vec![
            file("a.py", None, "def old(): ...\n\nold()\n", "def new(): ...\n\nnew()\n"),
            file("n.py", Some("o.py"), "x\n", "x\n"),
        ];
        let (old_name, new_name) = (Some("old".to_owned()), "new".to_owned());
        (asked, RenameReport { old_name, new_name, edits: 2, files, outcome })
    }

    #[test]
    fn a_preview_is_a_diff_that_says_it_is_not_written() {
        let (asked, renamed) = renamed(None);
        insta::assert_snapshot!(rename_text(&asked, &renamed), @r"
        --- a/a.py
        +++ b/a.py
        @@ -1,3 +1,3 @@
        -def old(): ...
        +def new(): ...
         
        -old()
        +new()
        rename o.py => n.py
        old -> new: 2 edits in 2 files (pyright); not written, use --apply
        ");
        let document = json_value(&rename_document(&asked, &renamed));
        assert_eq!((&document["status"], &document["check"]), (&json!("preview"), &Value::Null));
        assert_eq!(document["files"][1]["action"], "move");
    }

    #[test]
    fn what_was_written_and_what_it_introduced() {
        let mut new = finding("a.py", 2, "x");
        new.state = FindingState::Introduced;
        let mut old = finding("a.py", 0, "y");
        old.state = FindingState::Existing;
        let gaps = vec![("ruff".to_owned(), Gap::new(Cause::TimedOut, "no answer"))];
        let delta = Delta { findings: vec![new, old], fixed: 1, ..Delta::default() };
        let (asked, renamed) = renamed(Some(WriteOutcome { delta, gaps, skipped: Vec::new() }));
        insta::assert_snapshot!(rename_text(&asked, &renamed), @r"
        edit   a.py
        move   n.py (was o.py)
        old -> new: 2 edits in 2 files written (pyright); introduced 1 error; fixed 1
          error a.py:3:1 pyright(x): x is wrong
          not measured: ruff (no answer)
        ");
        let document = json_value(&rename_document(&asked, &renamed));
        assert_eq!(document["status"], "applied");
        assert_eq!(document["check"]["introduced"][0]["code"], "x");
        assert_eq!(document["check"]["remaining"], 1);
    }

    #[test]
    fn of_a_file_that_nobody_looked_at_nothing_is_known() {
        let delta = Delta::default();
        let (path, reason) = ("big.py".to_owned(), "larger than 1 MiB".to_owned());
        let outcome =
            WriteOutcome { delta, gaps: Vec::new(), skipped: vec![SkippedFile { path, reason }] };
        let (asked, renamed) = renamed(Some(outcome));
        let text = rename_text(&asked, &renamed);
        assert!(text.contains("(pyright); no introduced findings known\n"), "{text}");
        assert!(text.ends_with("  not measured: big.py (larger than 1 MiB)\n"), "{text}");
        let document = json_value(&rename_document(&asked, &renamed));
        assert_eq!(document["check"]["files_skipped"][0]["path"], "big.py");
    }

    #[test]
    fn what_was_not_measured_before_is_not_blamed_on_the_rename() {
        let delta = Delta { findings: vec![finding("a.py", 2, "x")], ..Delta::default() };
        let (asked, renamed) =
            renamed(Some(WriteOutcome { delta, gaps: Vec::new(), skipped: Vec::new() }));
        let text = rename_text(&asked, &renamed);
        assert!(text.contains("no introduced findings known; 1 error (not measured"), "{text}");
        let document = json_value(&rename_document(&asked, &renamed));
        assert_eq!(document["check"]["introduced"], json!([]));
        assert_eq!(document["check"]["unknown"][0]["code"], "x");
    }
}
