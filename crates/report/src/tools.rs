//! Structured answers of MCP tools (`protocol::documents::tool_answers`): short, lines and columns
//! 1-based.

use super::agent::truncate_text;
use super::answers::{CUT_FOR_TOOL, QueryContext, QueryError, SourceLocation};
use super::loops;
use super::rename::{ChangedFile, RenameReport, WriteOutcome, preview};
use super::rewrite::RewriteReport;
use super::sanitized_text;
use super::search::SearchReport;
use moai_base::evidence::{Evidence, SkippedFile};
use moai_base::finding::{Finding, Severity};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    EXCERPT_CHARS_MAX, HOVER_CHARS_MAX, LINE_CHARS_MAX, TOOL_DIFF_CHARS_MAX, TOOL_FINDINGS_MAX,
};
use moai_base::path::RelPath;
use moai_base::verdict::Gap;
use moai_loops::state::{LoopState, PauseReason};
use moai_protocol::documents::memory::{
    MemoryDocument, MemoryHitEntry, ObservationEntry, ObservationsDocument,
};
use moai_protocol::documents::tool_answers::{
    DiagnosticsAnswer, HoverAnswer, LocationsAnswer, LoopAnswer, MemoryGetAnswer,
    MemorySearchAnswer, RenameAnswer, RewriteAnswer, SearchAnswer, ToolAnswer, ToolCheck, ToolFile,
    ToolFinding, ToolLocation, ToolLoop, ToolMatch, ToolMemoryHit, ToolObservation, UnmeasuredPart,
};
use moai_scan::search::SearchMatch;

/// Findings of a check without hints, the worst first; findings beyond the limit are counted.
/// `note` explains the choice of files; it may be empty.
#[must_use]
pub fn diagnostics_answer(evidence: &Evidence, note: &str) -> DiagnosticsAnswer {
    let mut findings: Vec<&Finding> =
        evidence.findings.iter().filter(|one| one.severity > Severity::Hint).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let measuring = evidence.readings.iter().filter(|reading| !reading.is_switched_off());
    let gaps = measuring.filter_map(|reading| {
        let gap = reading.gap.as_ref()?;
        Some(unmeasured_sensor(&reading.sensor, gap))
    });
    let switched_off = evidence.switched_off_groups().into_iter().map(|group| UnmeasuredPart {
        what: group.file_names(),
        reason: format!("{}: {}", group.first.sensor, group.first.gap),
    });
    DiagnosticsAnswer {
        verdict: evidence.verdict().as_str(),
        files_total: evidence.files_total(),
        files_checked: evidence.files.len(),
        findings: tool_findings(&findings),
        findings_omitted: omitted(&findings),
        not_measured: gaps.chain(switched_off).chain(unmeasured_files(&evidence.skipped)).collect(),
        note: (!note.is_empty()).then(|| one_line(note, LINE_CHARS_MAX)),
    }
}

/// Locations; those beyond the limit are counted. `partial` is the reason why there may be more.
#[must_use]
pub fn locations_answer(
    context: &QueryContext,
    places: &[SourceLocation],
    partial: Option<&Gap>,
) -> ToolAnswer<LocationsAnswer> {
    ToolAnswer::Answered(LocationsAnswer {
        server: context.server.clone(),
        complete: partial.is_none(),
        reason: partial.map(ToString::to_string),
        locations: places.iter().take(TOOL_FINDINGS_MAX).map(tool_location).collect(),
        locations_omitted: omitted(places),
    })
}

/// A hover text, bounded.
#[must_use]
pub fn hover_answer(context: &QueryContext, text: &str) -> ToolAnswer<HoverAnswer> {
    ToolAnswer::Answered(HoverAnswer {
        server: context.server.clone(),
        text: truncate_text(&sanitized_text(text), HOVER_CHARS_MAX, CUT_FOR_TOOL),
    })
}

/// A rename: the diff of a preview, or the effects of a written one.
#[must_use]
pub fn rename_answer(context: &QueryContext, renamed: &RenameReport) -> ToolAnswer<RenameAnswer> {
    ToolAnswer::Answered(RenameAnswer {
        server: context.server.clone(),
        written: renamed.outcome.is_some(),
        old_name: renamed.old_name.clone(),
        new_name: renamed.new_name.clone(),
        edits: renamed.edits,
        files: renamed.files.iter().take(TOOL_FINDINGS_MAX).map(tool_file).collect(),
        files_omitted: omitted(&renamed.files),
        diff: preview_diff(&renamed.files, renamed.outcome.as_ref()),
        check: renamed.outcome.as_ref().map(tool_check),
    })
}

/// A loop, or none.
#[must_use]
pub fn loop_answer(state: Option<&LoopState>) -> LoopAnswer {
    LoopAnswer { shown: state.map(tool_loop) }
}

/// Hits of a search in the memory.
#[must_use]
pub fn memory_search_answer(found: &MemoryDocument) -> ToolAnswer<MemorySearchAnswer> {
    let hit = |it: &MemoryHitEntry| ToolMemoryHit {
        id: it.id.clone(),
        kind: it.kind,
        at: it.at.clone(),
        title: it.title.clone(),
        path: it.path.clone(),
        project: it.project.clone(),
        tokens: it.tokens,
    };
    ToolAnswer::Answered(MemorySearchAnswer {
        hits: found.hits.iter().map(hit).collect(),
        token_estimate: found.token_estimate,
        next_layer_tokens: found.next_layer_tokens,
        why_empty: found.why_empty.clone(),
    })
}

/// Observations of the memory with their whole text.
#[must_use]
pub fn memory_get_answer(found: &ObservationsDocument) -> ToolAnswer<MemoryGetAnswer> {
    let observation = |it: &ObservationEntry| ToolObservation {
        id: it.id.clone(),
        kind: it.kind,
        at: it.at.clone(),
        provenance: it.provenance,
        title: it.title.clone(),
        body: it.body.clone(),
        cut: it.cut,
        files: it.files.clone(),
        codes: it.codes.clone(),
        project: it.project.clone(),
    };
    ToolAnswer::Answered(MemoryGetAnswer {
        observations: found.observations.iter().map(observation).collect(),
        unknown: found.unknown.clone(),
    })
}

/// Matches of a structural search, which is already bounded.
#[must_use]
pub fn search_answer(searched: &SearchReport) -> ToolAnswer<SearchAnswer> {
    ToolAnswer::Answered(SearchAnswer {
        read_as: searched.coverage.kinds.clone(),
        matches: searched.hits.iter().map(|(path, hit)| tool_match(path, hit)).collect(),
        matches_omitted: searched.omitted,
        files_checked: searched.coverage.files,
        not_measured: unmeasured_files(&searched.coverage.skipped).collect(),
    })
}

/// A rewrite: the diff of a preview, or the effects of a written one.
#[must_use]
pub fn rewrite_answer(rewritten: &RewriteReport) -> ToolAnswer<RewriteAnswer> {
    let files = rewritten.files.iter().take(TOOL_FINDINGS_MAX);
    ToolAnswer::Answered(RewriteAnswer {
        written: rewritten.outcome.is_some(),
        read_as: rewritten.coverage.kinds.clone(),
        edits: rewritten.edits,
        files: files.map(|file| file.path.clone()).collect(),
        files_omitted: omitted(&rewritten.files),
        files_checked: rewritten.coverage.files,
        not_measured: unmeasured_files(&rewritten.full_coverage().skipped).collect(),
        diff: preview_diff(&rewritten.files, rewritten.outcome.as_ref()),
        check: rewritten.outcome.as_ref().map(tool_check),
    })
}

/// The answer to a failed query.
#[must_use]
pub fn failed_answer(error: &QueryError) -> ToolAnswer<()> {
    match error {
        QueryError::Invalid(reason) => {
            ToolAnswer::Refused { kind: "invalid", reason: reason.clone() }
        }
        QueryError::Refused { kind, reason } => {
            ToolAnswer::Refused { kind, reason: reason.clone() }
        }
        QueryError::Unmeasured { server, gap } => {
            ToolAnswer::Unmeasured { server: server.clone(), reason: gap.to_string() }
        }
    }
}

fn omitted<T>(items: &[T]) -> usize {
    items.len().saturating_sub(TOOL_FINDINGS_MAX)
}

fn tool_findings(findings: &[&Finding]) -> Vec<ToolFinding> {
    findings.iter().take(TOOL_FINDINGS_MAX).map(|finding| ToolFinding::from(*finding)).collect()
}

fn unmeasured_sensor(sensor: &str, gap: &Gap) -> UnmeasuredPart {
    UnmeasuredPart { what: sensor.to_owned(), reason: gap.to_string() }
}

fn unmeasured_files(skipped: &[SkippedFile]) -> impl Iterator<Item = UnmeasuredPart> {
    let skipped = skipped.iter().take(TOOL_FINDINGS_MAX).cloned();
    skipped.map(|SkippedFile { path, reason }| UnmeasuredPart { what: path, reason })
}

fn tool_location(location: &SourceLocation) -> ToolLocation {
    ToolLocation {
        path: location.path.clone(),
        line: location.range.start.line + 1,
        column: location.range.start.character + 1,
        text: location.line.as_deref().map(|line| one_line(line, EXCERPT_CHARS_MAX)),
    }
}

fn tool_file(file: &ChangedFile) -> ToolFile {
    ToolFile { path: file.path.clone(), action: file.action(), moved_from: file.moved_from.clone() }
}

fn tool_match(path: &RelPath, hit: &SearchMatch) -> ToolMatch {
    ToolMatch {
        path: path.as_str().to_owned(),
        line: hit.range.start.line + 1,
        column: hit.range.start.character + 1,
        text: one_line(&hit.text, EXCERPT_CHARS_MAX),
    }
}

fn tool_loop(state: &LoopState) -> ToolLoop {
    ToolLoop {
        id: state.id.clone(),
        mode: state.mode.as_str(),
        status: state.status.as_str(),
        iteration: state.iteration,
        max_iterations: state.max_iterations,
        goal: one_line(state.goal(), LINE_CHARS_MAX),
        errors: state.remaining.errors,
        warnings: state.remaining.warnings,
        checks_failed: state.remaining.checks_failed.clone(),
        pause_reason: state.pause_reason.map(PauseReason::as_str),
        summary: loops::end_notice(state),
    }
}

/// The bounded diff of files that were not written.
fn preview_diff(files: &[ChangedFile], outcome: Option<&WriteOutcome>) -> Option<String> {
    match outcome {
        None => Some(truncate_text(preview(files).trim_end(), TOOL_DIFF_CHARS_MAX, CUT_FOR_TOOL)),
        Some(_) => None,
    }
}

fn tool_check(outcome: &WriteOutcome) -> ToolCheck {
    let introduced: Vec<&Finding> = outcome.introduced().collect();
    let unknown: Vec<&Finding> = outcome.unknown().collect();
    let gaps = outcome.gaps.iter().map(|(sensor, gap)| unmeasured_sensor(sensor, gap));
    ToolCheck {
        introduced: tool_findings(&introduced),
        unknown: tool_findings(&unknown),
        findings_omitted: omitted(&introduced) + omitted(&unknown),
        fixed: outcome.delta.fixed,
        not_measured: gaps.chain(unmeasured_files(&outcome.skipped)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use moai_base::samples::finding;
    use moai_base::text::{Position, TextRange};
    use moai_base::verdict::Cause;
    use moai_protocol::documents::json_value;

    fn query_context() -> QueryContext {
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
        let answer =
            json_value(&diagnostics_answer(&Evidence { findings, ..Evidence::default() }, ""));
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
        let answer = json_value(&locations_answer(&query_context(), &places, Some(&gap)));
        assert_eq!((&answer["status"], &answer["complete"]), (&json!("answered"), &json!(false)));
        assert_eq!(answer["reason"], "there is no compile_commands.json");
        assert_eq!(
            answer["locations"][3],
            json!({"path": "a.c", "line": 4, "column": 5, "text": null})
        );
        assert_eq!(answer["locations_omitted"], 0);
        let places = vec![place(0); TOOL_FINDINGS_MAX + 1];
        let answer = json_value(&locations_answer(&query_context(), &places, None));
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
        let answer = json_value(&rename_answer(&query_context(), &renamed));
        let diff = answer["diff"].as_str().expect("a diff");
        assert!(diff.chars().count() <= TOOL_DIFF_CHARS_MAX);
        assert!(diff.ends_with("… truncated: the rest is omitted"), "{diff}");
        assert_eq!(answer["files"].as_array().map(Vec::len), Some(TOOL_FINDINGS_MAX));
        assert_eq!(answer["files_omitted"], 10);
        let text = crate::rename::rename_text(&query_context(), &renamed);
        let last = text.lines().last();
        let summary =
            "old -> new: 2400 edits in 60 files (clangd); not written, set dry_run to false";
        assert_eq!(last, Some(summary));
    }
}
