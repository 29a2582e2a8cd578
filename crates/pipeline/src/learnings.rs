//! The documents that a pipeline writes for people:
//! `docs/learnings/FEATURE/{learnings,decisions,issues,metrics}.md`. Existing files are continued;
//! existing entries are not repeated.

use crate::worker_report::WorkerReport;
use moai_base::foreign_text::one_line;
use moai_base::limits::{FEATURE_CHARS_MAX, PLAN_TEXT_CHARS_MAX};
use moai_loops::named_variants;

/// Folder of the documents, below the root; each feature has a folder.
pub const LEARNINGS_FOLDER: &str = "docs/learnings";

/// A document of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LearningsFile {
    /// Patterns and conventions.
    Learnings,
    /// Decisions with their reasons.
    Decisions,
    /// Problems that remain.
    Issues,
    /// Numbers of the pipeline.
    Metrics,
}

named_variants!(LearningsFile {
    Learnings: "learnings.md",
    Decisions: "decisions.md",
    Issues: "issues.md",
    Metrics: "metrics.md",
});

/// One entry of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearningsEntry {
    /// The document.
    pub file: LearningsFile,
    /// The text, on one line.
    pub text: String,
    /// The TODO that it comes from; empty for the pipeline itself.
    pub source: String,
}

/// The entries of the reports of workers, in their order.
#[must_use]
pub fn entries_of(reports: &[WorkerReport]) -> Vec<LearningsEntry> {
    let mut entries = Vec::new();
    for report in reports {
        let lists = [
            (LearningsFile::Learnings, &report.learnings),
            (LearningsFile::Decisions, &report.decisions),
            (LearningsFile::Issues, &report.issues),
        ];
        for (file, texts) in lists {
            entries.extend(texts.iter().map(|text| LearningsEntry {
                file,
                text: text.clone(),
                source: report.todo.to_string(),
            }));
        }
    }
    entries
}

/// The folder of a feature below [`LEARNINGS_FOLDER`]: letters and digits of its title, in lower case.
/// `fallback` is used if it has none.
#[must_use]
pub fn feature_folder(title: &str, fallback: &str) -> String {
    let mut name = String::new();
    for character in title.to_lowercase().chars() {
        if character.is_alphanumeric() {
            name.push(character);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.chars().count() == FEATURE_CHARS_MAX {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { fallback.to_lowercase() } else { name.to_owned() }
}

/// The text of a document with more entries under a heading for the pipeline; `None` if nothing is
/// new. `existing` is the text of the file, if there is one.
#[must_use]
pub fn with_entries(
    existing: Option<&str>,
    file: LearningsFile,
    feature: &str,
    pipeline: &str,
    entries: &[LearningsEntry],
) -> Option<String> {
    let old = existing.unwrap_or_default();
    let mut lines: Vec<String> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.file == file) {
        let line = entry_line(entry);
        let is_known = old.lines().any(|known| known.trim_end() == line);
        if !is_known && !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return None;
    }
    let line_end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = old.to_owned();
    if text.trim().is_empty() {
        let feature = one_line(feature, PLAN_TEXT_CHARS_MAX);
        text = format!("# {feature}: {}{line_end}", document_title(file));
    } else if !text.ends_with('\n') {
        text.push_str(line_end);
    }
    let heading = format!("## {}", one_line(pipeline, PLAN_TEXT_CHARS_MAX));
    let block = [String::new(), heading, String::new()].into_iter().chain(lines);
    for line in block {
        text.push_str(&line);
        text.push_str(line_end);
    }
    Some(text)
}

fn document_title(file: LearningsFile) -> &'static str {
    match file {
        LearningsFile::Learnings => "learnings",
        LearningsFile::Decisions => "decisions",
        LearningsFile::Issues => "open issues",
        LearningsFile::Metrics => "metrics",
    }
}

fn entry_line(entry: &LearningsEntry) -> String {
    // A comment in the text would hide the text after it.
    let text = one_line(&entry.text, PLAN_TEXT_CHARS_MAX).replace("<!--", "‹!--");
    match entry.source.as_str() {
        "" => format!("- {text}"),
        source => format!("- {text} ({source})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(file: LearningsFile, text: &str) -> LearningsEntry {
        LearningsEntry { file, text: text.to_owned(), source: "TODO-1".to_owned() }
    }

    #[test]
    fn a_document_grows_and_repeats_nothing() {
        let entries = [
            entry(LearningsFile::Learnings, "errors are\nvalues <!--"),
            entry(LearningsFile::Decisions, "SQLite, because one file"),
            entry(LearningsFile::Learnings, "errors are\nvalues <!--"),
        ];
        let grown = |old: Option<&str>, id: &str, entries: &[LearningsEntry]| {
            with_entries(old, LearningsFile::Learnings, "로그인", id, entries)
        };
        let text = grown(None, "pipeline-1", &entries).expect("new");
        assert_eq!(
            text,
            "# 로그인: learnings\n\n## pipeline-1\n\n- errors are values ‹!-- (TODO-1)\n"
        );
        assert_eq!(grown(Some(&text), "pipeline-2", &entries), None);
        let own = "# Mine\r\n- keep";
        let text = grown(Some(own), "p", &entries).expect("new");
        assert!(text.starts_with("# Mine\r\n- keep\r\n\r\n## p\r\n"), "{text:?}");
        assert_eq!(with_entries(None, LearningsFile::Issues, "a", "p", &entries), None);
    }

    #[test]
    fn a_feature_has_a_plain_folder() {
        assert_eq!(
            feature_folder("Login: with $(id) ../tokens!", "SPEC-1"),
            "login-with-id-tokens"
        );
        assert_eq!(feature_folder("로그인 기능", "SPEC-1"), "로그인-기능");
        assert_eq!(feature_folder("../..", "SPEC-A-1"), "spec-a-1");
        assert_eq!(feature_folder(&"a".repeat(500), "x").len(), FEATURE_CHARS_MAX);
    }
}
