//! The words of a loop: its start, why it goes on, how it ended.

use std::fmt::Write as _;

use super::agent::bounded;
use super::{count, counts, line, shown};
use crate::base::evidence::{Evidence, SensorKind};
use crate::base::finding::{Finding, Severity};
use crate::base::limits::{
    FEEDBACK_FINDINGS_MAX, REASON_CHARS_MAX, SKIPPED_NAMED_MAX, TASK_CHARS_MAX,
};
use crate::looping::state::{LoopState, Status};
use crate::looping::step::Reasons;

/// The agent's instructions at the start of a loop, and again after compaction.
#[must_use]
pub fn started(state: &LoopState) -> String {
    format!(
        "[moai-ralph] loop {id} is active: iteration {next} of {max}.\n\
         Task:\n{task}\n\n\
         Work on the task. When you stop, the changed files are measured afresh (language servers, \
         structural scan, and .claude/autochecks.sh where there is one). If anything is wrong you \
         are told what, and go on. Do not weaken tests, checks or configuration to get there.\n\
         {claim}",
        id = state.id,
        next = state.iteration + 1,
        max = state.max_iterations,
        task = task(state),
        claim = claim(state),
    )
}

fn claim(state: &LoopState) -> String {
    match &state.promise {
        Some(promise) => format!(
            "Only when all of it is really done, end your last message with this line alone:\n\
             <promise>{promise}</promise>"
        ),
        None => "The loop ends by itself when everything measured is clean.".to_owned(),
    }
}

/// What is wrong at the start of a loop that mends what is there.
#[must_use]
pub fn to_mend(evidence: &Evidence) -> String {
    let mut text = String::new();
    push_wrong(&mut text, evidence);
    if text.is_empty() {
        text.push_str("Nothing wrong was found in what could be measured so far.\n");
    }
    push_gaps(&mut text, evidence);
    text.trim_end().to_owned()
}

/// Why a loop goes on: the reason of a blocked Stop.
#[must_use]
pub fn goes_on(state: &LoopState, evidence: &Evidence, reasons: &Reasons) -> String {
    let mut text = format!(
        "[moai-ralph] loop {}: not done yet. Iteration {} of {} begins.\n",
        state.id,
        state.iteration + 1,
        state.max_iterations
    );
    push_wrong(&mut text, evidence);
    push_checks(&mut text, evidence);
    push_gaps(&mut text, evidence);
    if reasons.lacks_promise {
        text.push_str(if evidence.verdict().gap().is_some() {
            "Nothing measured is wrong, but completion was not claimed.\n"
        } else {
            "Everything measured is clean, but completion was not claimed.\n"
        });
    }
    if reasons.waits_for.as_ref().is_some_and(|gap| gap.cause.is_passing()) {
        text.push_str("Stop again in a moment; what is loading is measured then.\n");
    }
    let text = bounded(&text, REASON_CHARS_MAX, "moai-ralph check shows all");
    format!("{}\nTask:\n{}\n{}", text.trim_end(), task(state), claim(state))
}

fn task(state: &LoopState) -> String {
    bounded(&state.prompt, TASK_CHARS_MAX, "moai-ralph loop status --json has the whole task")
}

fn push_wrong(text: &mut String, evidence: &Evidence) {
    let mut wrong: Vec<&Finding> =
        evidence.findings.iter().filter(|finding| finding.severity >= Severity::Warning).collect();
    if wrong.is_empty() {
        return;
    }
    wrong.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let _ = writeln!(text, "Still wrong: {}", counts(wrong.iter().copied()));
    for finding in wrong.iter().take(FEEDBACK_FINDINGS_MAX) {
        let _ = writeln!(text, "  {}", line(finding));
    }
    if let Some(more) = wrong.len().checked_sub(FEEDBACK_FINDINGS_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "  … and {}: moai-ralph check", count(more, "more finding"));
    }
}

fn push_checks(text: &mut String, evidence: &Evidence) {
    let checks = evidence.readings.iter().filter(|reading| reading.kind == SensorKind::Check);
    for check in checks.filter(|reading| reading.dirty) {
        let _ = writeln!(text, "Check failed: {}. Its output:", check.sensor);
        for line in check.output.as_deref().unwrap_or_default().lines() {
            let _ = writeln!(text, "  | {line}");
        }
    }
}

fn push_gaps(text: &mut String, evidence: &Evidence) {
    for reading in &evidence.readings {
        if let Some(gap) = &reading.gap {
            let _ = writeln!(text, "Not measured: {} ({gap})", reading.sensor);
        }
    }
    for skipped in evidence.skipped.iter().take(SKIPPED_NAMED_MAX) {
        let _ = writeln!(text, "Not measured: {} ({})", shown(&skipped.path), skipped.reason);
    }
    if let Some(more) = evidence.skipped.len().checked_sub(SKIPPED_NAMED_MAX + 1) {
        let _ = writeln!(text, "Not measured: {}", count(more + 1, "more file"));
    }
    if let Some(older) = older(evidence.older) {
        let _ = writeln!(text, "Not counted: {older}");
    }
}

/// What was left out of a Stop because an edit did not cause it.
fn older(error_count: usize) -> Option<String> {
    let errors = count(error_count, "older error");
    (error_count > 0).then(|| format!("{errors} in files that were not touched"))
}

/// One message for the user when a loop has ended or paused.
#[must_use]
pub fn ended(state: &LoopState) -> String {
    let after = count(state.iteration as usize, "iteration");
    let id = &state.id;
    let note = state.note.as_deref();
    match state.status {
        Status::Completed => {
            let left = older(state.remaining.older).map(|older| format!("; {older} remain"));
            format!(
                "[moai-ralph] loop {id} completed after {after}: everything asked for was measured \
                 and is clean{}",
                left.unwrap_or_default()
            )
        }
        Status::CompletedUnverified => format!(
            "[moai-ralph] loop {id} ended after {after}; nothing wrong was found, but this was not \
             measured: {}",
            note.unwrap_or("unknown")
        ),
        Status::MaxIterations => {
            let left = &state.remaining;
            let mut text = format!(
                "[moai-ralph] loop {id} ended at its limit of {after}, not completed: {}, {} left",
                count(left.errors, "error"),
                count(left.warnings, "warning"),
            );
            if !left.checks_failed.is_empty() {
                let _ = write!(text, "; failed: {}", left.checks_failed.join(", "));
            }
            if let Some(note) = note {
                let _ = write!(text, "; not measured: {note}");
            }
            text
        }
        Status::Paused => format!(
            "[moai-ralph] loop {id} is paused after {after}: {} (moai-ralph loop cancel ends it)",
            note.unwrap_or("no reason given")
        ),
        Status::Cancelled => format!("[moai-ralph] loop {id} was cancelled after {after}"),
        Status::Running => format!("[moai-ralph] loop {id} is running"),
    }
}

/// The status of a loop on one screen.
#[must_use]
pub fn status(state: &LoopState) -> String {
    let mut text = format!(
        "{} {}: iteration {} of {}, until {}\n  session: {}\n  task: {}\n",
        state.id,
        state.status.as_str(),
        state.iteration,
        state.max_iterations,
        state.until.as_str(),
        state.session_id.as_deref().unwrap_or("none yet (the next session of this root claims it)"),
        state.goal(),
    );
    if let Some(last) = state.history.last() {
        let _ = writeln!(
            text,
            "  last stop: {}, {}, checks {}",
            count(last.errors, "error"),
            count(last.warnings, "warning"),
            last.checks
        );
    }
    if let Some(forecast) = state.forecast_iterations() {
        let _ = writeln!(text, "  forecast: {} more", count(forecast, "iteration"));
    }
    if let Some(note) = &state.note {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::evidence::Reading;
    use crate::base::finding::tests::finding;
    use crate::base::verdict::{Cause, Gap};
    use crate::looping::step::tests::state;

    #[test]
    fn a_blocked_stop_says_what_is_wrong_what_failed_and_what_is_unknown() {
        let gap = Gap::new(Cause::Loading, "it is still loading the project");
        let evidence = Evidence {
            findings: vec![finding("a.py", 2, "x")],
            readings: vec![
                Reading { gap: Some(gap), ..Reading::clean("pyright", SensorKind::Lsp, 1) },
                Reading {
                    dirty: true,
                    output: Some("FAIL test_a\nexpected 1\n(exit status 1)".into()),
                    ..Reading::clean(".claude/autochecks.sh", SensorKind::Check, 0)
                },
            ],
            ..Evidence::default()
        };
        let reasons = Reasons { is_dirty: true, ..Reasons::default() };
        let text = goes_on(&LoopState { iteration: 1, ..state() }, &evidence, &reasons);
        insta::assert_snapshot!(text, @r"
        [moai-ralph] loop loop-1: not done yet. Iteration 2 of 3 begins.
        Still wrong: 1 error
          error a.py:3:1 pyright(x): x is wrong
        Check failed: .claude/autochecks.sh. Its output:
          | FAIL test_a
          | expected 1
          | (exit status 1)
        Not measured: pyright (it is still loading the project)
        Task:
        fix it
        Only when all of it is really done, end your last message with this line alone:
        <promise>DONE</promise>
        ");
    }

    #[test]
    fn each_end_has_its_own_honest_words() {
        let words = |status, note: Option<&str>| {
            ended(&LoopState { status, iteration: 3, note: note.map(str::to_owned), ..state() })
        };
        assert!(words(Status::Completed, None).contains("completed after 3 iterations"));
        let unverified = words(Status::CompletedUnverified, Some("pyright (not installed)"));
        assert!(unverified.contains("not measured: pyright (not installed)"), "{unverified}");
        assert!(!unverified.contains("completed"), "{unverified}");
        assert!(words(Status::MaxIterations, None).contains("not completed"));
    }
}
