//! The JSON documents of the public contract. Positions are 0-based LSP positions, paths are
//! relative to the root with `/`.

use std::path::Path;

use super::loops;
use moai_base::evidence::Evidence;
use moai_base::finding::Severity;
use moai_loops::state::{Iteration, LoopState, PauseReason, Status};
use moai_protocol::documents::loops::{
    IterationEntry, LoopDocument, LoopEndEntry, LoopOptionsEntry, RemainingEntry,
};
use moai_protocol::documents::reports::{
    FindingEntry, ReportDocument, SensorEntry, SeverityTotals, SwitchedOffEntry,
};

/// The report of a measurement.
#[must_use]
pub fn report_document(root: &Path, evidence: &Evidence, elapsed_ms: u64) -> ReportDocument {
    ReportDocument {
        root: root.to_string_lossy().into_owned(),
        verdict: evidence.verdict().as_str(),
        elapsed_ms,
        files_total: evidence.files_total(),
        files_checked: evidence.files.len(),
        files_skipped: evidence.skipped.iter().chain(&evidence.excluded).cloned().collect(),
        files_switched_off: evidence.switched_off.iter().map(SwitchedOffEntry::from).collect(),
        sensors: evidence.readings.iter().map(SensorEntry::from).collect(),
        findings: evidence.findings.iter().map(FindingEntry::from).collect(),
        summary: SeverityTotals {
            error: evidence.count(Severity::Error),
            warning: evidence.count(Severity::Warning),
            info: evidence.count(Severity::Info),
            hint: evidence.count(Severity::Hint),
        },
        baseline: evidence.baseline,
    }
}

/// The document of a loop, without workers.
#[must_use]
pub fn loop_document(state: &LoopState) -> LoopDocument<'_> {
    let options = &state.options;
    LoopDocument {
        id: &state.id,
        session_id: state.session_id.as_deref(),
        mode: state.mode.as_str(),
        status: state.status.as_str(),
        until: state.until.as_str(),
        iteration: state.iteration,
        max_iterations: state.max_iterations,
        goal: state.goal(),
        prompt: &state.prompt,
        completion_promise: state.promise.as_deref(),
        checks: &state.checks,
        options: LoopOptionsEntry {
            milestone_every: options.milestone_every,
            hitl_threshold: options.hitl_threshold,
            max_minutes: options.max_minutes,
            max_tokens: options.max_tokens,
            force_max: options.force_max,
            research: options.research,
            structured_memory: options.structured_memory,
            base_branch: options.base_branch.as_deref(),
            workers: options.workers,
            baseline: options.baseline.as_str(),
            paths: &options.paths,
        },
        tokens: state.counters.tokens,
        consecutive_rejections: state.counters.consecutive_rejections,
        remaining: RemainingEntry {
            error: state.remaining.errors,
            warning: state.remaining.warnings,
            checks_failed: &state.remaining.checks_failed,
        },
        best: state.best(),
        forecast_iterations: state.forecast_iterations(),
        pause_reason: state.pause_reason.map(PauseReason::as_str),
        note: state.note.as_deref(),
        branch: state.branch.as_deref(),
        history: state.history.iter().map(iteration_entry).collect(),
        terminal: (!state.status.is_active()).then(|| LoopEndEntry {
            status: state.status.as_str(),
            at: rfc3339(state.updated_ms),
            not_measured: state.note.as_deref().filter(|_| is_about_gaps(state.status)),
            report: loops::loop_report_document(state, None),
        }),
        workers: None,
    }
}

/// True if the note of such an end lists gaps.
fn is_about_gaps(status: Status) -> bool {
    !matches!(status, Status::Gaming | Status::Failed)
}

/// One iteration of a loop.
pub(super) fn iteration_entry(one: &Iteration) -> IterationEntry<'_> {
    IterationEntry {
        n: one.number,
        at: rfc3339(one.at_ms),
        errors: one.errors,
        warnings: one.warnings,
        checks: &one.checks,
        verdict: &one.verdict,
        checkpoint: one.checkpoint.as_deref(),
        weight: one.weight,
        guard: &one.guard_codes,
        tokens: one.tokens,
    }
}

/// Milliseconds since the epoch as UTC text; a number beyond the calendar.
pub(super) fn rfc3339(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.map_or_else(|| at_ms.to_string(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::evidence::{SensorKind, SensorReading};
    use moai_base::samples::finding as sample;
    use moai_base::verdict::{Cause, Gap};
    use moai_loops::samples::state;
    use moai_protocol::documents::json_value;
    use serde_json::{Value, json};

    #[test]
    fn the_report_keeps_the_contract() {
        let gap = Gap::new(Cause::NotInstalled, "not installed");
        let evidence = Evidence {
            files: vec![sample("a.py", 0, "x").path],
            findings: vec![sample("a.py", 2, "x")],
            readings: vec![SensorReading {
                dirty: true,
                gap: Some(gap),
                ..SensorReading::clean("pyright", SensorKind::Lsp, 1)
            }],
            ..Evidence::default()
        };
        let value = json_value(&report_document(Path::new("/r"), &evidence, 5));
        assert_eq!(value["schema"], "moai-ralph/report@1");
        assert_eq!(value["verdict"], "dirty");
        assert_eq!(value["sensors"][0]["reason"], "not installed");
        assert_eq!(value["findings"][0]["range"]["start"]["line"], 2);
        assert_eq!(value["summary"], json!({"error": 1, "warning": 0, "info": 0, "hint": 0}));
    }

    #[test]
    fn a_loops_prompt_survives_and_only_an_end_is_terminal() {
        let prompt = "fix \"it\" $(x)\r\n---\n한글";
        let running = json_value(&loop_document(&LoopState { prompt: prompt.into(), ..state() }));
        assert_eq!(running["prompt"], prompt);
        assert_eq!(running["goal"], "fix \"it\" $(x)");
        assert_eq!(running["terminal"], Value::Null);
        let status = Status::Completed;
        assert_eq!(
            json_value(&loop_document(&LoopState { status, ..state() }))["terminal"]["status"],
            "completed"
        );
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_399_000), "2000-02-28T23:59:59.000Z");
        assert_eq!(rfc3339(1_709_210_096_007), "2024-02-29T12:34:56.007Z");
    }
}
