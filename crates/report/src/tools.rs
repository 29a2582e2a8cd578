//! Structured answers for tools of an agent: short, lines and columns 1-based.

use serde_json::{Value, json};

use super::agent::truncate_text;
use super::answers::{CUT_FOR_TOOL, QueryContext, QueryError, SourceLocation};
use super::json::verdict_word;
use super::loops;
use super::rename::{ChangedFile, RenameReport, WriteOutcome, preview};
use super::rewrite::RewriteReport;
use super::sanitized_text;
use super::search::SearchReport;
use moai_base::evidence::{Evidence, SkippedFile};
use moai_base::finding::{Finding, Severity};
use moai_base::limits::{
    EXCERPT_CHARS_MAX, HOVER_CHARS_MAX, LINE_CHARS_MAX, TOOL_DIFF_CHARS_MAX, TOOL_FINDINGS_MAX,
};
use moai_base::path::RelPath;
use moai_base::text::one_line;
use moai_base::verdict::Gap;
use moai_loops::state::{LoopState, PauseReason};
use moai_scan::search::SearchMatch;

/// What a check found, without hints. The worst come first; of too many the rest is counted.
/// `note` says how the files were chosen; empty for nothing to say.
#[must_use]
pub fn diagnostics_json(evidence: &Evidence, note: &str) -> Value {
    let mut findings: Vec<&Finding> =
        evidence.findings.iter().filter(|one| one.severity > Severity::Hint).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let omitted = findings.len().saturating_sub(TOOL_FINDINGS_MAX);
    let gaps = evidence.readings.iter().filter_map(|reading| {
        let gap = reading.gap.as_ref()?;
        Some(json!({"what": reading.sensor, "reason": gap.to_string()}))
    });
    let skipped = evidence.skipped.iter().take(TOOL_FINDINGS_MAX);
    let skipped = skipped.map(|one| json!({"what": one.path, "reason": one.reason}));
    let mut answer = json!({
        "verdict": verdict_word(&evidence.verdict()),
        "files_total": evidence.files_total(),
        "files_checked": evidence.files.len(),
        "findings": findings.iter().take(TOOL_FINDINGS_MAX).map(|it| finding(it)).collect::<Vec<_>>(),
        "findings_omitted": omitted,
        "not_measured": gaps.chain(skipped).collect::<Vec<_>>(),
    });
    if !note.is_empty() {
        answer["note"] = json!(one_line(note, LINE_CHARS_MAX));
    }
    answer
}

fn finding(finding: &Finding) -> Value {
    json!({
        "severity": finding.severity.as_str(),
        "path": finding.path.as_str(),
        "line": finding.range.start.line + 1,
        "column": finding.range.start.character + 1,
        "sensor": finding.sensor,
        "code": finding.code,
        "message": finding.message,
    })
}

/// Where something is, or is spoken of; of too many the rest is counted. `partial` says why there
/// may be more.
#[must_use]
pub fn locations(asked: &QueryContext, places: &[SourceLocation], partial: Option<&Gap>) -> Value {
    let mut answer = answered(asked);
    answer["complete"] = json!(partial.is_none());
    answer["reason"] = json!(partial.map(ToString::to_string));
    answer["locations"] = places.iter().take(TOOL_FINDINGS_MAX).map(place).collect();
    answer["locations_omitted"] = json!(places.len().saturating_sub(TOOL_FINDINGS_MAX));
    answer
}

/// What a symbol is, in its language server's words.
#[must_use]
pub fn hover(asked: &QueryContext, text: &str) -> Value {
    let mut answer = answered(asked);
    answer["text"] = json!(truncate_text(&sanitized_text(text), HOVER_CHARS_MAX, CUT_FOR_TOOL));
    answer
}

/// A rename: its diff while it is a preview, what it introduced once it is written.
#[must_use]
pub fn rename(asked: &QueryContext, renamed: &RenameReport) -> Value {
    let mut answer = answered(asked);
    answer["written"] = json!(renamed.outcome.is_some());
    answer["old_name"] = json!(renamed.old_name);
    answer["new_name"] = json!(renamed.new_name);
    answer["edits"] = json!(renamed.edits);
    answer["files"] = renamed.files.iter().take(TOOL_FINDINGS_MAX).map(changed).collect();
    answer["files_omitted"] = json!(renamed.files.len().saturating_sub(TOOL_FINDINGS_MAX));
    match &renamed.outcome {
        None => {
            let diff = truncate_text(
                preview(&renamed.files).trim_end(),
                TOOL_DIFF_CHARS_MAX,
                CUT_FOR_TOOL,
            );
            answer["diff"] = json!(diff);
        }
        Some(outcome) => answer["check"] = check(outcome),
    }
    answer
}

/// A loop, or none.
#[must_use]
pub fn tool_loop(state: Option<&LoopState>) -> Value {
    let shown = state.map(|state| {
        json!({
            "id": state.id,
            "mode": state.mode.as_str(),
            "status": state.status.as_str(),
            "iteration": state.iteration,
            "max_iterations": state.max_iterations,
            "goal": one_line(state.goal(), LINE_CHARS_MAX),
            "errors": state.remaining.errors,
            "warnings": state.remaining.warnings,
            "checks_failed": state.remaining.checks_failed,
            "pause_reason": state.pause_reason.map(PauseReason::as_str),
            "summary": loops::end_notice(state),
        })
    });
    json!({"loop": shown})
}

/// Where code of one shape stands. The search was told how many places are wanted.
#[must_use]
pub fn search(searched: &SearchReport) -> Value {
    let hit = |(path, hit): &(RelPath, SearchMatch)| {
        json!({
            "path": path.as_str(),
            "line": hit.range.start.line + 1,
            "column": hit.range.start.character + 1,
            "text": one_line(&hit.text, EXCERPT_CHARS_MAX),
        })
    };
    let mut answer = json!({"status": "answered"});
    answer["read_as"] = json!(searched.coverage.kinds);
    answer["matches"] = searched.hits.iter().map(hit).collect();
    answer["matches_omitted"] = json!(searched.omitted);
    answer["files_checked"] = json!(searched.coverage.files);
    answer["not_measured"] = skipped(&searched.coverage.skipped);
    answer
}

/// A rewrite: its diff while it is a preview, what it introduced once it is written.
#[must_use]
pub fn rewrite(rewritten: &RewriteReport) -> Value {
    let mut answer = json!({"status": "answered"});
    answer["written"] = json!(rewritten.outcome.is_some());
    answer["read_as"] = json!(rewritten.coverage.kinds);
    answer["edits"] = json!(rewritten.edits);
    answer["files"] =
        rewritten.files.iter().take(TOOL_FINDINGS_MAX).map(|it| json!(it.path)).collect();
    answer["files_omitted"] = json!(rewritten.files.len().saturating_sub(TOOL_FINDINGS_MAX));
    answer["files_checked"] = json!(rewritten.coverage.files);
    answer["not_measured"] = skipped(&rewritten.coverage.skipped);
    match &rewritten.outcome {
        None => {
            let diff = truncate_text(
                preview(&rewritten.files).trim_end(),
                TOOL_DIFF_CHARS_MAX,
                CUT_FOR_TOOL,
            );
            answer["diff"] = json!(diff);
        }
        Some(outcome) => answer["check"] = check(outcome),
    }
    answer
}

fn skipped(skipped: &[SkippedFile]) -> Value {
    let skipped = skipped.iter().take(TOOL_FINDINGS_MAX);
    skipped.map(|one| json!({"what": one.path, "reason": one.reason})).collect()
}

/// Why there is no answer. It has no list that could be taken for an empty one.
#[must_use]
pub fn tool_query_error(no: &QueryError) -> Value {
    match no {
        QueryError::Invalid(reason) => {
            json!({"status": "refused", "kind": "invalid", "reason": reason})
        }
        QueryError::Refused { kind, reason } => {
            json!({"status": "refused", "kind": kind, "reason": reason})
        }
        QueryError::Unmeasured { server, gap } => {
            json!({"status": "unmeasured", "server": server, "reason": gap.to_string()})
        }
    }
}

fn answered(asked: &QueryContext) -> Value {
    json!({"status": "answered", "server": asked.server})
}

fn place(place: &SourceLocation) -> Value {
    json!({
        "path": place.path,
        "line": place.range.start.line + 1,
        "column": place.range.start.character + 1,
        "text": place.line.as_deref().map(|line| one_line(line, EXCERPT_CHARS_MAX)),
    })
}

fn changed(file: &ChangedFile) -> Value {
    json!({"path": file.path, "action": file.action(), "moved_from": file.moved_from})
}

/// What was measured after the rename. `unknown` was not measured before, so whether it is new is
/// not known.
fn check(outcome: &WriteOutcome) -> Value {
    let list = |findings: &[&Finding]| -> Value {
        findings.iter().take(TOOL_FINDINGS_MAX).map(|it| finding(it)).collect()
    };
    let introduced: Vec<&Finding> = outcome.introduced().collect();
    let unknown: Vec<&Finding> = outcome.unknown().collect();
    let omitted = |findings: &[&Finding]| findings.len().saturating_sub(TOOL_FINDINGS_MAX);
    let gaps = outcome.gaps.iter();
    let gaps = gaps.map(|(sensor, gap)| json!({"what": sensor, "reason": gap.to_string()}));
    let skipped = outcome.skipped.iter().take(TOOL_FINDINGS_MAX);
    let skipped = skipped.map(|one| json!({"what": one.path, "reason": one.reason}));
    json!({
        "introduced": list(&introduced),
        "unknown": list(&unknown),
        "findings_omitted": omitted(&introduced) + omitted(&unknown),
        "fixed": outcome.delta.fixed,
        "not_measured": gaps.chain(skipped).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use moai_base::samples::finding;
    use moai_base::text::{Position, TextRange};
    use moai_base::verdict::Cause;

    fn asked() -> QueryContext {
        QueryContext {
            command: "references",
            root: PathBuf::from("/r"),
            is_tool: true,
            server: Some("clangd".to_owned()),
            position: None,
            elapsed_ms: 3,
        }
    }

    #[test]
    fn the_worst_come_first_and_the_rest_is_counted() {
        let mut findings: Vec<Finding> = (0..TOOL_FINDINGS_MAX)
            .map(|line| Finding {
                severity: Severity::Warning,
                ..finding("a.py", u32::try_from(line).expect("few"), "w")
            })
            .collect();
        findings.push(finding("b.py", 4, "e"));
        findings.push(Finding { severity: Severity::Hint, ..finding("b.py", 5, "h") });
        let answer = diagnostics_json(&Evidence { findings, ..Evidence::default() }, "");
        let first = &answer["findings"][0];
        assert_eq!((first["path"].as_str(), first["line"].as_u64()), (Some("b.py"), Some(5)));
        assert_eq!(answer["findings_omitted"], 1);
        assert_eq!(answer["verdict"], "unmeasured");
    }

    #[test]
    fn what_may_be_missing_has_a_reason_and_what_is_too_much_is_counted() {
        let at = |line| Position { line, character: 4 };
        let place = |line| SourceLocation {
            path: "a.c".to_owned(),
            range: TextRange { start: at(line), end: at(line) },
            line: None,
        };
        let gap = Gap::new(Cause::ProjectFault, "there is no compile_commands.json");
        let places: Vec<SourceLocation> = (0..=3).map(place).collect();
        let answer = locations(&asked(), &places, Some(&gap));
        assert_eq!((&answer["status"], &answer["complete"]), (&json!("answered"), &json!(false)));
        assert_eq!(answer["reason"], "there is no compile_commands.json");
        assert_eq!(
            answer["locations"][3],
            json!({"path": "a.c", "line": 4, "column": 5, "text": null})
        );
        assert_eq!(answer["locations_omitted"], 0);
        let places = vec![place(0); TOOL_FINDINGS_MAX + 1];
        let answer = locations(&asked(), &places, None);
        assert_eq!((&answer["complete"], &answer["locations_omitted"]), (&json!(true), &json!(1)));
    }

    #[test]
    fn a_long_diff_is_cut_and_its_summary_is_not() {
        let file = |number: usize| ChangedFile {
            path: format!("f{number}.py"),
            moved_from: None,
            before: Some("old = 1\n".repeat(40)),
            after: Some("new = 1\n".repeat(40)),
        };
        let renamed = RenameReport {
            old_name: Some("old".to_owned()),
            new_name: "new".to_owned(),
            edits: 60 * 40,
            files: (0..60).map(file).collect(),
            outcome: None,
        };
        let answer = rename(&asked(), &renamed);
        let diff = answer["diff"].as_str().expect("a diff");
        assert!(diff.chars().count() <= TOOL_DIFF_CHARS_MAX);
        assert!(diff.ends_with("… truncated: the rest is omitted"), "{diff}");
        assert_eq!(answer["files"].as_array().map(Vec::len), Some(TOOL_FINDINGS_MAX));
        assert_eq!(answer["files_omitted"], 10);
        let text = crate::rename::rename_text(&asked(), &renamed);
        let last = text.lines().last();
        let summary =
            "old -> new: 2400 edits in 60 files (clangd); not written: dry_run false writes it";
        assert_eq!(last, Some(summary));
    }
}
