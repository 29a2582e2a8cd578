//! Records a Stop in the loop's state: the remaining work, the basis of the decision, and an entry
//! of the history.

use super::{HoldReasons, StopInput, is_claimed, losses};
use crate::facts::{JudgeOutcome, StopFacts};
use crate::progress;
use crate::state::{
    Iteration, LoopState, PauseReason, RemainingWork, SensorSummary, Status, StopBasis,
};
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::Severity;
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    FLIP_ITERATIONS_MAX, GAP_CHARS_MAX, LAST_MESSAGE_CHARS_MAX, SKIPPED_NAMED_MAX,
};
use moai_base::redaction::redacted;
use moai_base::verdict::Verdict;

/// The state with one more measured Stop, before anything is decided.
pub(super) fn record_measured_stop(
    state: &LoopState,
    input: &StopInput<'_>,
    evidence: &Evidence,
    facts: &StopFacts,
) -> LoopState {
    let mut next = state.clone();
    next.iteration += 1;
    next.updated_ms = facts.now_ms;
    next.remaining = remaining(evidence);
    next.measured_sensors = losses::measured_sensors(state, evidence);
    next.note = None;
    // Keep the last known count if the transcript could not be read.
    next.counters.tokens = facts.tokens.or(state.counters.tokens);
    next.counters.continuations = 0;
    next.basis = StopBasis {
        last_words: last_words(input.last_message),
        is_claimed: is_claimed(state, input),
        sensors: evidence
            .readings
            .iter()
            .map(summarize_reading)
            .chain(summarize_judge(facts))
            .collect(),
        gaps: gap_lines(evidence),
        contradictions: facts.contradictions.clone(),
        files: evidence.files.len(),
        observations: facts.observations.clone(),
        unrequested_criteria: facts.unrequested_criteria.clone(),
    };
    next
}

/// The state, paused without counting the Stop, because the user must first accept a changed exam,
/// confirm an override or repair the plan.
pub(super) fn pause_for_user(
    state: &LoopState,
    reason: PauseReason,
    facts: &StopFacts,
) -> LoopState {
    let note = match reason {
        PauseReason::ExamChanged => Some(facts.exam_changed.join(", ")),
        PauseReason::PlanUnusable => Some(facts.plan_unusable.join(", ")),
        PauseReason::AwaitsPerson => Some(facts.person_questions.join(". ")),
        _ => None,
    };
    LoopState {
        status: Status::Paused,
        pause_reason: Some(reason),
        note,
        updated_ms: facts.now_ms,
        ..state.clone()
    }
}

/// The Stop's entry of the history, without the verdict.
pub(super) fn iteration(next: &LoopState, evidence: &Evidence, facts: &StopFacts) -> Iteration {
    let problems = progress::weigh(evidence, facts.check_problems);
    Iteration {
        number: next.iteration,
        at_ms: facts.now_ms,
        errors: next.remaining.errors,
        warnings: next.remaining.warnings,
        checks: checks_word(evidence).to_owned(),
        verdict: String::new(),
        weight: problems.weight,
        wrong: problems.hash,
        errors_seen: problems.errors,
        guard_codes: problems.guard_codes,
        tree: facts.tree.clone(),
        checkpoint: facts.checkpoint.outcome().cloned(),
        tokens: facts.tokens,
        is_better: false,
        oscillation_was_reported: false,
    }
}

/// Adds the decided Stop to the history.
pub(super) fn push(next: &mut LoopState, now: Iteration, reasons: &HoldReasons) {
    let goes_on = next.status == Status::Running;
    next.history.push(Iteration {
        verdict: if goes_on { "continue" } else { next.status.as_str() }.to_owned(),
        is_better: reasons.signals.is_better,
        oscillation_was_reported: goes_on && reasons.signals.oscillates.is_some(),
        ..now
    });
    if let Some(old) = next.history.len().checked_sub(FLIP_ITERATIONS_MAX + 1) {
        next.history[old].errors_seen.clear();
    }
}

fn remaining(evidence: &Evidence) -> RemainingWork {
    let failed = evidence
        .readings
        .iter()
        .filter(|reading| progress::is_failed_check(reading))
        .map(|reading| reading.sensor.clone());
    RemainingWork {
        errors: evidence.count(Severity::Error),
        warnings: evidence.count(Severity::Warning),
        older: evidence.older,
        checks_failed: failed.collect(),
    }
}

/// The end of a message, because claims are made there.
fn last_words(message: &str) -> String {
    let message = redacted(message.trim());
    let start = message.char_indices().rev().nth(LAST_MESSAGE_CHARS_MAX).map_or(0, |(at, _)| at);
    one_line(&message[start..], LAST_MESSAGE_CHARS_MAX)
}

fn summarize_reading(reading: &SensorReading) -> SensorSummary {
    let version = reading.version.as_ref().map(|version| format!(" {version}"));
    SensorSummary {
        sensor: format!("{}{}", reading.sensor, version.unwrap_or_default()),
        kind: reading.kind.as_str().to_owned(),
        verdict: verdict_word(&reading.verdict()).to_owned(),
        files: reading.files,
        tests_passed: reading.tests.map(|tests| tests.passed),
    }
}

/// The judge's summary; `None` if the rubric was met by checks alone, because no judge was asked.
fn summarize_judge(facts: &StopFacts) -> Option<SensorSummary> {
    let verdict = match (facts.judge.outcome()?, facts.judge_files) {
        (JudgeOutcome::Approved, None) => return None,
        (JudgeOutcome::Approved, Some(_)) => "clean",
        (JudgeOutcome::Rejected { .. }, _) => "dirty",
        (JudgeOutcome::Unmeasured(_), _) => "unmeasured",
    };
    let files = facts.judge_files.unwrap_or_default();
    let (sensor, kind) = ("judge".to_owned(), SensorKind::Judge.as_str().to_owned());
    Some(SensorSummary { sensor, kind, verdict: verdict.to_owned(), files, tests_passed: None })
}

/// All gaps in one text, each with its sensor.
pub(super) fn gaps(evidence: &Evidence) -> Option<String> {
    let gaps = gap_lines(evidence);
    (!gaps.is_empty()).then(|| gaps.join("; "))
}

fn gap_lines(evidence: &Evidence) -> Vec<String> {
    let of_readings = evidence
        .readings
        .iter()
        .filter_map(|reading| Some(format!("{} ({})", reading.sensor, reading.gap.as_ref()?)));
    of_readings.chain(switched_off(evidence)).chain(skipped(evidence)).collect()
}

/// Switched-off files of sensors that measured other files, and so have no gap.
fn switched_off(evidence: &Evidence) -> impl Iterator<Item = String> {
    let has_gap =
        |sensor: &str| evidence.readings.iter().any(|it| it.sensor == sensor && it.gap.is_some());
    let groups = evidence.switched_off_groups().into_iter();
    groups.filter(move |group| !has_gap(&group.first.sensor)).map(|group| {
        let files = one_line(&group.file_names(), GAP_CHARS_MAX);
        format!("{} ({}; {files})", group.first.sensor, group.first.gap)
    })
}

/// The first skipped files by name, the rest as a number.
fn skipped(evidence: &Evidence) -> impl Iterator<Item = String> {
    let named = evidence.skipped.iter().take(SKIPPED_NAMED_MAX);
    let more = evidence.skipped.len().saturating_sub(SKIPPED_NAMED_MAX);
    named
        .map(|file| format!("{} ({})", one_line(&file.path, GAP_CHARS_MAX), file.reason))
        .chain((more > 0).then(|| format!("{more} more files")))
}

fn checks_word(evidence: &Evidence) -> &'static str {
    let checks = evidence.readings.iter().filter(|reading| reading.kind == SensorKind::Check);
    checks
        .map(SensorReading::verdict)
        .reduce(Verdict::worse)
        .map_or("none", |verdict| verdict_word(&verdict))
}

fn verdict_word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Clean => "clean",
        Verdict::Dirty => "dirty",
        Verdict::Unmeasured(_) => "unmeasured",
    }
}
