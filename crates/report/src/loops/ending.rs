//! The end of a loop: one line, and the report in five parts. An end without success never reads
//! like a success.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::older_errors;
use crate::count_noun;
use crate::json::rfc3339;
use crate::sanitized_name;
use crate::wording::endings;
use crate::wording::{self, ERRORS, FILES, ITERATIONS, TESTS, TIMES, WARNINGS};
use moai_base::evidence::SensorKind;
use moai_base::limits::{BACKGROUND_STOPS_MAX, CHANGED_FILES_NAMED_MAX, STALL_ITERATIONS_MAX};
use moai_base::path::RelPath;
use moai_loops::criteria::CheckCriterion;
use moai_loops::exam::{FEWER_TESTS, TOUCHED};
use moai_loops::framework::MessageLanguage;
use moai_loops::progress;
use moai_loops::records::{LoopRecords, RecordBreach};
use moai_loops::state::{Iteration, LoopState, ManualOverride, PauseReason, Status};
use moai_loops::step::NOTHING_CHANGED;
use moai_protocol::documents::loops::LoopReportDocument;

/// The refusal to resume a loop that ended with its pipeline.
#[must_use]
pub fn resumed_with_pipeline(id: &str, pipeline: &str) -> String {
    format!(
        "loop {id} ended with pipeline {pipeline}, and goes on only with it: moai-ralph pipeline resume {pipeline}"
    )
}

/// For the agent: the user cancelled its loop at a terminal.
#[must_use]
pub fn cancelled_by_user(state: &LoopState) -> String {
    endings::CANCELLED_BY_USER.with(state.language(), &[&state.id])
}

/// For the agent of a session whose loop was moved to another one.
#[must_use]
pub fn moved_away(state: &LoopState) -> String {
    endings::MOVED_AWAY.with(state.language(), &[&state.id])
}

/// For the user who moved a loop: only the daemon keeps it for the agents.
#[must_use]
pub fn told_by_daemon(state: &LoopState) -> String {
    endings::TOLD_BY_DAEMON.text_in(state.language()).to_owned() + "\n"
}

/// One message for the user when a loop has ended or paused.
#[must_use]
pub fn end_notice(state: &LoopState) -> String {
    let language = state.language();
    let after = ITERATIONS.count(language, state.iteration as usize);
    let id = &state.id;
    match state.status {
        Status::Completed => {
            let interventions = interventions_text(state);
            let left = older_errors(state.remaining.older, language);
            let left = left.map(|older| wording::REMAIN.with(language, &[&older]));
            format!(
                "{}{}{}{}{interventions}",
                wording::COMPLETED.with(language, &[id, &after, &basis_text(state)]),
                merged(state).unwrap_or_default(),
                left.unwrap_or_default(),
                noticed(state).unwrap_or_default()
            )
        }
        Status::CompletedUnverified => unverified(state, &after) + &interventions_text(state),
        // The answer continues it.
        Status::Paused if state.pause_reason == Some(PauseReason::AwaitsPerson) => {
            wording::PAUSED_TO_ANSWER.with(language, &[id, &after, &pause_words(state)])
        }
        Status::Paused => wording::PAUSED.with(language, &[id, &after, &pause_words(state)]),
        Status::Cancelled => wording::CANCELLED.with(language, &[id, &after]),
        Status::Running => wording::RUNNING.with(language, &[id]),
        _ => failed(state, &after) + &interventions_text(state),
    }
}

/// A message for the user that only the agent can pass on.
#[must_use]
pub fn to_pass_on(language: MessageLanguage, notice: &str) -> String {
    format!("{notice}\n{}", wording::PASS_ON.text_in(language))
}

/// The reason of a held turn where another hook process gives the whole one.
#[must_use]
pub fn held_by_another(language: MessageLanguage) -> String {
    wording::HELD_BY_ANOTHER.text_in(language).to_owned()
}

/// Everything that intervened from outside of the loop, at the end of an end's message.
fn interventions_text(state: &LoopState) -> String {
    match interventions(state, state.language()).as_slice() {
        [] => String::new(),
        lines => format!("; {}", lines.join("; ")),
    }
}

/// Manual overrides, events that the host did not send, and changes after the last Stop.
pub(super) fn interventions(state: &LoopState, language: MessageLanguage) -> Vec<String> {
    let overrides = state.overrides.iter().map(|one| override_words(one, language));
    let mut lines: Vec<String> = overrides.collect();
    let ignored = counted_events(state, false);
    lines.extend(ignored.map(|events| wording::EVENTS_IGNORED.with(language, &[&events])));
    let of_second = counted_events(state, true);
    lines.extend(of_second.map(|events| wording::EVENTS_OF_SECOND_HOST.with(language, &[&events])));
    lines.extend(state.continues.as_ref().map(|it| wording::CONTINUES.with(language, &[it])));
    if !state.late_changes.is_empty() {
        let files: Vec<String> =
            state.late_changes.iter().map(|file| sanitized_name(file)).collect();
        lines.push(wording::CHANGED_LATE.with(language, &[&files.join(", ")]));
    }
    lines
}

/// The events that the host did not send, each with its count: `Stop (2), SessionEnd (1)`.
fn counted_events(state: &LoopState, is_obeyed: bool) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in state.foreign_events.iter().filter(|one| one.is_obeyed == is_obeyed) {
        *counts.entry(&one.event).or_default() += 1;
    }
    let names: Vec<String> =
        counts.iter().map(|(event, count)| format!("{event} ({count})")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// A hook event was ignored.
#[must_use]
pub fn ignored_event(event: &str) -> String {
    format!(
        "[moai-ralph] a {event} event was ignored, because a program other than the session's host \
         sent it: moai-ralph loop report"
    )
}

/// A notice about a manual override, for the user of the session.
#[must_use]
pub fn override_notice(state: &LoopState, one: &ManualOverride) -> String {
    let language = state.language();
    wording::NOTICE_BY_HAND.with(language, &[&state.id, &override_words(one, language)])
}

fn override_words(one: &ManualOverride, language: MessageLanguage) -> String {
    let moment = rfc3339(one.at_ms);
    // `12:03 UTC` of `2026-01-31T12:03:59.000Z`.
    let at = format!("{} UTC", moment.get(11..16).unwrap_or_default());
    match &one.finding {
        Some(finding) => wording::ALLOWED.with(language, &[finding, &at]),
        None => wording::REFROZEN.with(language, &[&at]),
    }
}

/// An end without errors that is not a success: the gaps, and the measurements.
fn unverified(state: &LoopState, after: &str) -> String {
    let language = state.language();
    let unknown = wording::UNKNOWN.text_in(language);
    let missing = state.note.as_deref().unwrap_or(unknown);
    let text = match missing.strip_prefix(NOTHING_CHANGED) {
        Some(rest) => {
            let rest = rest.trim_start_matches("; ");
            let gaps = Some(rest).filter(|rest| !rest.is_empty());
            let gaps = gaps.map(|gaps| wording::BUT_NOT_MEASURED.with(language, &[gaps]));
            let unchanged = wording::UNCHANGED.with(language, &[&state.id, after]);
            unchanged + gaps.as_deref().unwrap_or_default()
        }
        None => wording::UNVERIFIED.with(language, &[&state.id, after, missing]),
    };
    if !state.basis.sensors.iter().any(|sensor| sensor.verdict == "clean") {
        return text;
    }
    format!("{text}{}", wording::RESTS_ON.with(language, &[&basis_text(state)]))
}

/// The basis of an end in one line: `24 tests passed (pytest), pyright on 3 files, scan, guard; not
/// asked: build`.
fn basis_text(state: &LoopState) -> String {
    let language = state.language();
    let mut parts: Vec<String> = Vec::new();
    for kind in
        [SensorKind::Check, SensorKind::Lsp, SensorKind::Scan, SensorKind::Guard, SensorKind::Judge]
    {
        let clean = state.basis.sensors.iter();
        let clean = clean.filter(|one| one.kind == kind.as_str() && one.verdict == "clean");
        for sensor in clean {
            let name = sensor.sensor.as_str();
            let said = match kind {
                SensorKind::Check => match sensor.tests_passed {
                    Some(passed) => {
                        let passed = usize::try_from(passed).unwrap_or(usize::MAX);
                        let tests = TESTS.count(language, passed);
                        wording::TESTS_PASSED.with(language, &[&tests, name])
                    }
                    None => wording::CHECK_PASSED.with(language, &[name]),
                },
                SensorKind::Lsp => {
                    let server = name.split(' ').next().unwrap_or(name);
                    let files = FILES.count(language, sensor.files);
                    wording::SERVER_ON.with(language, &[server, &files])
                }
                SensorKind::Scan => wording::SCAN.text_in(language).to_owned(),
                SensorKind::Guard => wording::GUARD.text_in(language).to_owned(),
                SensorKind::Judge => wording::JUDGE_APPROVED.text_in(language).to_owned(),
            };
            if !parts.contains(&said) {
                parts.push(said);
            }
        }
    }
    let mut text = parts.join(", ");
    if text.is_empty() {
        wording::NO_SENSOR.text_in(language).clone_into(&mut text);
    }
    let words =
        state.basis.unrequested_criteria.iter().filter_map(|word| not_asked(word, language));
    let words: Vec<&str> = words.collect();
    if !words.is_empty() {
        text.push_str(&wording::NOT_ASKED.with(language, &[&words.join(", ")]));
    }
    text
}

/// A criterion's name in a sentence.
fn not_asked(word: &str, language: MessageLanguage) -> Option<&'static str> {
    let phrase = match CheckCriterion::from_name(word)? {
        CheckCriterion::TestPass => wording::ASKED_TESTS,
        CheckCriterion::BuildSuccess => wording::ASKED_BUILD,
        CheckCriterion::LintClean => wording::ASKED_LINT,
        CheckCriterion::TypeCheck => wording::ASKED_TYPES,
        CheckCriterion::Custom | CheckCriterion::Marker => return None,
    };
    Some(phrase.text_in(language))
}

/// The place of a finished loop's work, if it has a branch.
fn merged(state: &LoopState) -> Option<String> {
    let base = state.options.base_branch.as_ref().filter(|_| state.branch.is_some())?;
    Some(wording::MERGED.with(state.language(), &[base]))
}

/// Observations that the user should check although nothing objects.
fn noticed(state: &LoopState) -> Option<String> {
    let noticed = &state.basis.observations;
    (!noticed.is_empty()).then(|| wording::NOTICED.with(state.language(), &[&noticed.join(", ")]))
}

/// An agent asked to continue a loop that ended because tests or checks were weakened.
#[must_use]
pub fn resumed_by_person(id: &str) -> String {
    format!(
        "moai-ralph: loop {id} ended because tests or checks were weakened; only the user can resume it"
    )
}

/// The data of a loop was removed.
#[must_use]
pub fn forgotten(id: &str, checkpoints: usize) -> String {
    format!("deleted loop {id} with {}", count_noun(checkpoints, "checkpoint"))
}

/// The session continued after a Stop that found its loop complete, and changed these files.
#[must_use]
pub fn changed_since_completed(state: &LoopState, files: &[String]) -> String {
    let names = listed_names(files.iter().map(String::as_str));
    wording::CHANGED_SINCE_COMPLETED.with(state.language(), &[&state.id, &names])
}

/// Why results for these files and folders do not count, and the remedy.
#[must_use]
pub fn changed_while_measured(names: impl Iterator<Item = String>) -> (String, String) {
    let names: Vec<String> = names.collect();
    let names = listed_names(names.iter().map(String::as_str));
    let remedy =
        "stop whatever changes them during the Stop, and let checks write into ignored folders";
    (format!("files changed while they were measured: {names}"), remedy.to_owned())
}

/// Why checks may have used older results for these files, and the remedy.
#[must_use]
pub fn older_than_change(files: &[RelPath]) -> (String, String) {
    let names = listed_names(files.iter().map(RelPath::as_str));
    let why = format!(
        "these files changed without a newer time, so build tools may have used earlier results: {names}"
    );
    (why, "touch these files".to_owned())
}

/// The first names, and the number of the rest.
fn listed_names<'n>(mut files: impl Iterator<Item = &'n str>) -> String {
    let first = files.by_ref().take(CHANGED_FILES_NAMED_MAX);
    let mut names: Vec<String> = first.map(sanitized_name).collect();
    let others = files.count();
    if others > 0 {
        names.push(format!("+{others}"));
    }
    names.join(", ")
}

/// The turn ends while the loop runs, because the agent waits for its background tasks.
#[must_use]
pub fn waits_for_tasks(state: &LoopState, tasks: usize) -> String {
    let max = BACKGROUND_STOPS_MAX.to_string();
    wording::WAITS_FOR_TASKS.with(state.language(), &[&state.id, &tasks.to_string(), &max])
}

/// The cause of a pause, and the first thing to do.
pub(crate) fn pause_words(state: &LoopState) -> String {
    let (language, note) = (state.language(), state.note.as_deref());
    let or = |phrase: &'static wording::BilingualPhrase| note.unwrap_or(phrase.text_in(language));
    match state.pause_reason {
        Some(PauseReason::Milestone) => wording::AT_MILESTONE.with(language, &[&left(state)]),
        Some(PauseReason::Hitl) => {
            let times = TIMES.count(language, state.counters.consecutive_rejections as usize);
            wording::REJECTED_IN_ROW.with(language, &[&times, or(&wording::NO_REASON)])
        }
        Some(PauseReason::LspRequired) => {
            wording::MISSING_MEASUREMENT.with(language, &[or(&wording::UNKNOWN)])
        }
        Some(PauseReason::ContextBudget) => {
            wording::COMPACT_FIRST.with(language, &[or(&wording::CONTEXT_FULL)])
        }
        Some(PauseReason::ExamChanged) => {
            wording::EXAM_CHANGED.with(language, &[or(&wording::EXAM_DIFFERS)])
        }
        Some(PauseReason::Overridden) => {
            let doubted = state.overrides.iter().filter(|one| !one.is_confirmed);
            let doubted: Vec<String> = doubted.map(|one| override_words(one, language)).collect();
            wording::OVERRIDDEN.with(language, &[&doubted.join(", ")])
        }
        Some(PauseReason::BaseInUse) => {
            wording::BASE_IN_USE.with(language, &[note.unwrap_or_default()])
        }
        Some(PauseReason::PlanUnusable) => {
            wording::PLAN_UNUSABLE.with(language, &[note.unwrap_or_default()])
        }
        Some(PauseReason::AwaitsPerson) => {
            wording::AWAITS_PERSON.with(language, &[note.unwrap_or_default()])
        }
        Some(PauseReason::User) | None => wording::BY_THE_USER.text_in(language).to_owned(),
    }
}

fn failed(state: &LoopState, after: &str) -> String {
    let (language, note) = (state.language(), state.note.as_deref());
    let why = match state.status {
        Status::MaxIterations => wording::AT_ITERATION_LIMIT,
        Status::TimedOut => wording::AT_TIME_LIMIT,
        Status::Budget => wording::AT_TOKEN_LIMIT,
        Status::Stalled => wording::STALLED,
        Status::Oscillating => wording::OSCILLATED,
        Status::Gaming => wording::GAMED,
        Status::Failed => wording::NOT_FINISHED,
        _ => wording::AT_LIMIT,
    };
    let stalled_for = ITERATIONS.count(language, STALL_ITERATIONS_MAX);
    let why = why.with(language, &[&stalled_for]);
    // A loop that ended with its pipeline goes on only with it.
    let is_of_pipeline = state.options.pipeline.is_some() && state.branch.is_none();
    let resumed = if is_of_pipeline { "pipeline" } else { "loop" };
    let mut text = wording::FAILED.with(language, &[&state.id, &why, after]);
    text.push_str(&left(state));
    for reason in open(state) {
        let _ = write!(text, "; {reason}");
    }
    match (state.status, note) {
        (Status::Gaming, Some(codes)) => {
            let base =
                state.base.as_ref().map(|base| format!(" --base {base}")).unwrap_or_default();
            let is_of_exam = |code: &str| [TOUCHED, FEWER_TESTS].contains(&code);
            let has_others = codes.split(", ").any(|code| !is_of_exam(code));
            if has_others {
                text.push_str(&wording::GUARD_SAID.with(language, &[codes, resumed, &base]));
            }
            // `guard` does not list these.
            if codes.split(", ").any(is_of_exam) {
                let phrase = if has_others { endings::EXAM_SAID_TOO } else { endings::EXAM_SAID };
                text.push_str(&phrase.with(language, &[codes, resumed]));
            }
        }
        (Status::Failed, Some(why)) => {
            let _ = write!(text, "; {why}");
        }
        (_, Some(note)) => text.push_str(&wording::BUT_NOT_MEASURED.with(language, &[note])),
        (_, None) => {}
    }
    if let Some(best) = best(state) {
        let _ = write!(text, "; {best}");
    }
    if matches!(state.status, Status::Stalled | Status::Oscillating) {
        text.push_str(&wording::RESUME_GOES_ON.with(language, &[resumed]));
    }
    text
}

/// Obstacles to completion other than errors and checks.
fn open(state: &LoopState) -> impl Iterator<Item = String> {
    let language = state.language();
    let mut sensors = state.basis.sensors.iter();
    let is_rejected = sensors.any(|one| one.sensor == "judge" && one.verdict == "dirty");
    let unclaimed = state.basis.is_claimed == Some(false);
    let unmerged = state.branch.as_ref().filter(|_| state.status != Status::Failed);
    [
        unclaimed.then(|| wording::NO_PROMISE.text_in(language).to_owned()),
        is_rejected.then(|| wording::NO_APPROVAL.text_in(language).to_owned()),
        unmerged.map(|branch| wording::NOT_MERGED.with(language, &[branch])),
    ]
    .into_iter()
    .flatten()
}

fn left(state: &LoopState) -> String {
    let (language, left) = (state.language(), &state.remaining);
    let errors = ERRORS.count(language, left.errors);
    let warnings = WARNINGS.count(language, left.warnings);
    let mut text = wording::LEFT.with(language, &[&errors, &warnings]);
    if !left.checks_failed.is_empty() {
        text.push_str(&wording::LEFT_FAILED.with(language, &[&left.checks_failed.join(", ")]));
    }
    text
}

/// The best iteration, if it is not the last one.
fn best(state: &LoopState) -> Option<String> {
    let language = state.language();
    let best = progress::best(&state.history)?;
    let last = state.history.last()?;
    let phrase = if best.checkpoint.is_some() { wording::BEST_KEPT } else { wording::BEST };
    let (number, found) = (best.number.to_string(), found(best, language));
    (best.number != last.number).then(|| phrase.with(language, &[&number, &found, &state.id]))
}

fn found(one: &Iteration, language: MessageLanguage) -> String {
    let errors = ERRORS.count(language, one.errors);
    let warnings = WARNINGS.count(language, one.warnings);
    wording::FOUND.with(language, &[&errors, &warnings, &one.checks])
}

/// The five parts, one line each.
struct ReportSections {
    claim: Vec<String>,
    evidence: Vec<String>,
    older: Vec<String>,
    gaps: Vec<String>,
    risk: Vec<String>,
}

fn parts(state: &LoopState, records: Option<&LoopRecords>) -> ReportSections {
    let (mut evidence, mut risk) = (evidence(state), risk(state));
    if let Some(records) = records {
        let count = count_noun(usize::try_from(records.count).unwrap_or(usize::MAX), "record");
        evidence.push(format!("{count} of the loop, the last one {}", records.head));
        risk.extend(records.breach.map(RecordBreach::words));
    }
    ReportSections { claim: claim(state), evidence, older: before(state), gaps: gaps(state), risk }
}

fn claim(state: &LoopState) -> Vec<String> {
    let mut lines = vec![match state.basis.is_claimed {
        Some(true) => "the agent claimed completion with its promise".to_owned(),
        Some(false) => "the agent did not claim completion".to_owned(),
        None => "no completion promise was required".to_owned(),
    }];
    if !state.basis.last_words.is_empty() {
        lines.push(format!("last message: {}", state.basis.last_words));
    }
    let denied = state.basis.contradictions.iter();
    lines.extend(denied.map(|one| format!("contradicts the measurement: {one}")));
    lines
}

fn evidence(state: &LoopState) -> Vec<String> {
    let sensors = state.basis.sensors.iter().map(|sensor| {
        format!("{}: {} ({})", sensor.sensor, sensor.verdict, count_noun(sensor.files, "file"))
    });
    let mut lines: Vec<String> = sensors.collect();
    if lines.is_empty() {
        lines.push("nothing was measured".to_owned());
    }
    lines.push(left(state));
    lines.extend(best(state));
    lines.extend(branch(state));
    lines
}

/// The loop's branch, and whether it is merged.
fn branch(state: &LoopState) -> Option<String> {
    let branch = state.branch.as_ref()?;
    let base = state.options.base_branch.as_deref().unwrap_or("its base");
    let is = if state.status == Status::Completed { "is" } else { "is not" };
    Some(format!("{branch} {is} merged into {base}"))
}

fn before(state: &LoopState) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = state.history.first() {
        lines.push(format!("at the first Stop: {}", found(first, MessageLanguage::English)));
    }
    lines.extend(older_errors(state.remaining.older, MessageLanguage::English));
    if lines.is_empty() {
        lines.push("the state before the loop is unknown".to_owned());
    }
    lines
}

fn gaps(state: &LoopState) -> Vec<String> {
    let mut lines = state.basis.gaps.clone();
    if lines.is_empty() && state.status == Status::CompletedUnverified {
        lines.extend(state.note.clone());
    }
    if state.options.max_tokens.is_some() && state.counters.tokens.is_none() {
        lines.push("tokens: not counted, so their limit was not enforced".to_owned());
    }
    if lines.is_empty() {
        lines.push("none".to_owned());
    }
    lines
}

fn risk(state: &LoopState) -> Vec<String> {
    let mut lines = vec![match state.status {
        Status::Completed => "problems that no test, rule or type covers".to_owned(),
        Status::CompletedUnverified => "errors in what was not measured".to_owned(),
        Status::Running | Status::Paused => "the work is not finished".to_owned(),
        _ => "the work is left as it is; parts may be incomplete".to_owned(),
    }];
    if state.mode == moai_loops::state::Mode::Judge {
        lines.push("a judge is a model and can be wrong".to_owned());
    }
    let noticed = state.basis.observations.iter();
    lines.extend(noticed.map(|one| format!("noticed by the judge: {one}")));
    lines.extend(interventions(state, MessageLanguage::English));
    let codes: Vec<&str> =
        state.history.iter().flat_map(|one| &one.guard_codes).map(String::as_str).collect();
    if !codes.is_empty() {
        lines.push(format!("guard findings along the way: {}", codes.join(" ")));
    }
    lines
}

/// The report of a loop: claim, evidence, older findings, gaps, residual risk. `records` is the result of
/// checking the store's records, if they were checked.
#[must_use]
pub fn loop_report(state: &LoopState, records: Option<&LoopRecords>) -> String {
    let parts = parts(state, records);
    let mut text = format!("{}\n", end_notice(state));
    for (head, lines) in [
        ("Claim", parts.claim),
        ("Evidence", parts.evidence),
        ("Before", parts.older),
        ("Gaps", parts.gaps),
        ("Residual risk", parts.risk),
    ] {
        let _ = writeln!(text, "{head}:");
        for line in lines {
            let _ = writeln!(text, "  - {line}");
        }
    }
    text
}

/// The same as one document.
#[must_use]
pub fn loop_report_document<'s>(
    state: &'s LoopState,
    records: Option<&LoopRecords>,
) -> LoopReportDocument<'s> {
    let parts = parts(state, records);
    LoopReportDocument {
        id: &state.id,
        status: state.status.as_str(),
        summary: end_notice(state),
        best: state.best(),
        claim: parts.claim,
        evidence: parts.evidence,
        before: parts.older,
        gaps: parts.gaps,
        residual_risk: parts.risk,
    }
}
