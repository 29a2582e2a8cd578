//! The end of a pipeline in whole sentences: what the end is, why, and what its user can do next.

use std::fmt::Write as _;

use crate::pipeline::language;
use crate::wording::endings as phrases;
use crate::wording::pipelines as course;
use crate::wording::statuses as labels;
use crate::wording::{BilingualPhrase, ITERATIONS};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    BUGFIX_ATTEMPTS_MAX, GATE_ROUNDS_MAX, LINE_CHARS_MAX, REASON_LINE_CHARS_MAX,
    STALL_ITERATIONS_MAX, TODO_ATTEMPTS_MAX,
};
use moai_loops::framework::MessageLanguage;
use moai_loops::state::Status;
use moai_loops::step::NOTHING_CHANGED;
use moai_pipeline::ending::EndReason;
use moai_pipeline::gate::GateStatus;
use moai_pipeline::state::{PipelineOutcome, PipelineState};

/// For the user: how a pipeline ended, why, and what to do next.
#[must_use]
pub fn ended(state: &PipelineState) -> String {
    let Some(outcome) = state.outcome else { return String::new() };
    let (language, id) = (language(state), state.id.as_str());
    let why = end_note(state).unwrap_or_default();
    let head = match outcome {
        PipelineOutcome::Completed => {
            phrases::COMPLETED.with(language, &[id, &passed_todos(state)])
        }
        PipelineOutcome::Unverified => {
            phrases::UNVERIFIED.with(language, &[id, outcome.as_str(), &passed_todos(state), &why])
        }
        PipelineOutcome::Partial => {
            phrases::UNFINISHED.with(language, &[id, outcome.as_str(), &why])
        }
        PipelineOutcome::Escalated => {
            phrases::UNFIXED.with(language, &[id, outcome.as_str(), &why])
        }
        PipelineOutcome::Cancelled => phrases::CANCELLED.with(language, &[id]),
    };
    let sentences =
        [Some(head), untouched(state), test_warnings(state), Some(advice(state, outcome))];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Why a pipeline ended as it did, as a fragment; `None` if it is active, completed or cancelled.
#[must_use]
pub fn end_note(state: &PipelineState) -> Option<String> {
    let reasons = state.end_reasons();
    if reasons.is_empty() {
        return None;
    }
    let mut parts: Vec<String> = reasons.iter().map(|reason| reason_words(state, reason)).collect();
    if state.outcome == Some(PipelineOutcome::Partial) && state.approved.is_some() {
        parts.insert(1, passed_todos(state));
    }
    Some(one_line(&parts.join("; "), LINE_CHARS_MAX))
}

/// The end of a pipeline as lines of its status; empty for one that is active.
pub(crate) fn end_lines(state: &PipelineState) -> String {
    let Some(outcome) = state.outcome else { return String::new() };
    let mut text = String::new();
    if let Some(why) = end_note(state) {
        let _ = writeln!(text, "{}", labels::WHY.with(language(state), &[&why]));
    }
    if outcome != PipelineOutcome::Completed {
        let next = labels::NEXT.with(language(state), &[&advice(state, outcome)]);
        let _ = writeln!(text, "{next}");
    }
    text
}

/// One reason, as a fragment.
#[must_use]
pub fn reason_words(state: &PipelineState, reason: &EndReason) -> String {
    let language = language(state);
    let listed = |phrase: &BilingualPhrase, names: &[String]| {
        phrase.with(language, &[&one_line(&names.join(", "), REASON_LINE_CHARS_MAX)])
    };
    match reason {
        EndReason::Limit(status) => limit_words(state, *status),
        EndReason::Failed(Some(reason)) => one_line(reason, LINE_CHARS_MAX),
        EndReason::Failed(None) => phrases::NOT_FINISHED.text_in(language).to_owned(),
        EndReason::LoopGone => phrases::LOOP_GONE.text_in(language).to_owned(),
        EndReason::AttemptsUsedUp(todos) => {
            let todos = one_line(&todos.join(", "), REASON_LINE_CHARS_MAX);
            phrases::ATTEMPTS_USED_UP.with(language, &[&todos, &TODO_ATTEMPTS_MAX.to_string()])
        }
        EndReason::RoundsUsedUp => {
            phrases::ROUNDS_USED_UP.with(language, &[&GATE_ROUNDS_MAX.to_string()])
        }
        EndReason::ReplansUsedUp => {
            phrases::REPLANS_USED_UP.with(language, &[&state.replans.to_string()])
        }
        EndReason::NotPassing(todos) => listed(&phrases::NOT_PASSING, todos),
        EndReason::NotInstalled(failures) => listed(&phrases::NOT_INSTALLED, failures),
        EndReason::NotApproved => phrases::NOT_APPROVED.text_in(language).to_owned(),
        EndReason::NotExtended => phrases::NOT_EXTENDED.text_in(language).to_owned(),
        EndReason::Additions(names) => listed(&phrases::ADDITIONS_NOT_APPROVED, names),
        EndReason::Unanswered(names) => listed(&phrases::UNANSWERED, names),
        EndReason::Gate(name, status) => gate_words(state, name, *status),
        EndReason::CommitFaults(1) => phrases::COMMIT_FAULT.text_in(language).to_owned(),
        EndReason::CommitFaults(faults) => {
            phrases::COMMIT_FAULTS.with(language, &[&faults.to_string()])
        }
        EndReason::CommitsNotChecked => phrases::COMMITS_NOT_CHECKED.text_in(language).to_owned(),
        EndReason::CommitGap(gap) => {
            phrases::COMMITS_NOT_VERIFIED.with(language, &[&one_line(gap, LINE_CHARS_MAX)])
        }
        EndReason::LateScripts(paths) => listed(&phrases::LATE_SCRIPTS, paths),
        EndReason::NotMeasured(gaps) => unmeasured_words(language, gaps.as_deref()),
    }
}

/// The limit that the loop of a pipeline reached.
fn limit_words(state: &PipelineState, status: Status) -> String {
    let language = language(state);
    let phrase = match status {
        Status::MaxIterations if !state.kind.has_plan() => {
            let attempts = BUGFIX_ATTEMPTS_MAX.to_string();
            return phrases::AT_ATTEMPT_LIMIT.with(language, &[&attempts]);
        }
        Status::MaxIterations => {
            let most = ITERATIONS.count(language, state.kind.iterations_max() as usize);
            return phrases::AT_ITERATION_LIMIT.with(language, &[&most]);
        }
        Status::Stalled => {
            let without = ITERATIONS.count(language, STALL_ITERATIONS_MAX);
            return phrases::NO_PROGRESS.with(language, &[&without]);
        }
        Status::TimedOut => phrases::AT_TIME_LIMIT,
        Status::Budget => phrases::AT_TOKEN_LIMIT,
        Status::Oscillating => phrases::BACK_AND_FORTH,
        Status::Gaming => phrases::WEAKENED,
        _ => phrases::NOT_FINISHED,
    };
    phrase.text_in(language).to_owned()
}

/// A gate that is not passed, with the reason.
fn gate_words(state: &PipelineState, name: &str, status: GateStatus) -> String {
    let language = language(state);
    let phrase = match (name, status) {
        ("review", GateStatus::Failed) => phrases::REVIEW_FAILED,
        ("review", GateStatus::Skipped) => {
            return phrases::REVIEW_SKIPPED.with(language, &[&review_gap(state, status)]);
        }
        ("review", GateStatus::Degraded) => {
            return phrases::REVIEW_DEGRADED.with(language, &[&review_gap(state, status)]);
        }
        ("review", _) => phrases::REVIEW_NOT_REACHED,
        ("scenarios", GateStatus::Failed) => phrases::SCENARIOS_FAILED,
        ("scenarios", GateStatus::Skipped) if state.is_solo => phrases::SCENARIOS_ALONE,
        ("scenarios", GateStatus::Skipped) => phrases::SCENARIOS_NOT_PLAYED,
        ("scenarios", GateStatus::Degraded) => phrases::SCENARIOS_ONLY_CLAIMED,
        ("scenarios", _) => phrases::SCENARIOS_NOT_REACHED,
        _ => return phrases::TESTS_NOT_PASSED.with(language, &[status.as_str()]),
    };
    phrase.text_in(language).to_owned()
}

/// Why the judges gave no answer: to the categories, or to the project's own criteria.
fn review_gap(state: &PipelineState, status: GateStatus) -> String {
    let categories = state.review.as_ref().filter(|review| review.gate() == status);
    match categories.and_then(|review| review.gap.as_deref()) {
        Some(gap) => one_line(gap, REASON_LINE_CHARS_MAX),
        None if status == GateStatus::Skipped => {
            phrases::REVIEW_WITHOUT_JUDGE.text_in(language(state)).to_owned()
        }
        None => phrases::CRITERIA_NOT_ANSWERED.text_in(language(state)).to_owned(),
    }
}

/// What the loop could not measure.
fn unmeasured_words(language: MessageLanguage, gaps: Option<&str>) -> String {
    let Some(gaps) = gaps else {
        return phrases::SOMETHING_NOT_MEASURED.text_in(language).to_owned();
    };
    let (is_unchanged, gaps) = match gaps.strip_prefix(NOTHING_CHANGED) {
        Some(rest) => (true, rest.trim_start_matches("; ")),
        None => (false, gaps),
    };
    let unchanged = is_unchanged.then(|| phrases::NOTHING_CHANGED.text_in(language).to_owned());
    let gaps = one_line(gaps, LINE_CHARS_MAX);
    let gaps = (!gaps.is_empty()).then(|| phrases::NOT_MEASURED.with(language, &[&gaps]));
    unchanged.into_iter().chain(gaps).collect::<Vec<_>>().join("; ")
}

/// How many TODOs pass, as a fragment; without a plan, that everything measured is clean.
pub(crate) fn passed_todos(state: &PipelineState) -> String {
    let (language, passed, total) = (language(state), state.passed_todos(), state.todos.len());
    let phrase = match (passed, total) {
        _ if !state.kind.has_plan() => phrases::MEASURED_CLEAN,
        (1, 1) => phrases::ONE_TODO_PASSES,
        (_, 1) => phrases::ONE_TODO_OPEN,
        (1, _) => phrases::TODO_PASSES,
        _ => phrases::TODOS_PASS,
    };
    phrase.with(language, &[&passed.to_string(), &total.to_string()])
}

/// A sentence about TODOs whose commands passed before anything was changed.
fn untouched(state: &PipelineState) -> Option<String> {
    let todos = state.todos.iter().filter(|(_, progress)| progress.has_passed_untouched);
    let todos: Vec<&str> = todos.map(|(id, _)| id.as_str()).collect();
    let named = one_line(&todos.join(", "), REASON_LINE_CHARS_MAX);
    (!todos.is_empty()).then(|| phrases::UNTOUCHED.with(language(state), &[&named]))
}

/// A sentence about changes of tests that the guard only warns about.
fn test_warnings(state: &PipelineState) -> Option<String> {
    let mut named = one_line(&state.test_warnings.join("; "), LINE_CHARS_MAX);
    if let Some(more) = more_test_warnings(state) {
        named.extend(["; ", &more]);
    }
    (!named.is_empty()).then(|| phrases::TEST_WARNINGS.with(language(state), &[&named]))
}

/// How many more such changes there are than the state keeps, as a fragment.
pub(crate) fn more_test_warnings(state: &PipelineState) -> Option<String> {
    let more = state.test_warnings_total.saturating_sub(state.test_warnings.len());
    (more > 0).then(|| course::MORE_FAULTS.with(language(state), &[&more.to_string()]))
}

/// What the user can do next, as a sentence.
fn advice(state: &PipelineState, outcome: PipelineOutcome) -> String {
    let reasons = state.end_reasons();
    let has = |is: fn(&EndReason) -> bool| reasons.iter().any(is);
    let phrase = match outcome {
        PipelineOutcome::Completed => phrases::SEE_REPORT,
        PipelineOutcome::Unverified if has(|it| matches!(it, EndReason::LateScripts(_))) => {
            phrases::VERIFY_SCRIPTS
        }
        PipelineOutcome::Unverified => phrases::VERIFY,
        PipelineOutcome::Cancelled => phrases::CONTINUE,
        _ if has(|it| *it == EndReason::Limit(Status::Gaming)) => phrases::CONTINUE_AFTER_WEAKENING,
        PipelineOutcome::Escalated => phrases::PLAN_THE_FIX,
        PipelineOutcome::Partial if has(|it| *it == EndReason::Limit(Status::Budget)) => {
            phrases::CONTINUE_WITH_TOKENS
        }
        PipelineOutcome::Partial if has(|it| matches!(it, EndReason::NotInstalled(_))) => {
            phrases::CONTINUE_AFTER_INSTALLING
        }
        PipelineOutcome::Partial if has(|it| matches!(it, EndReason::Unanswered(_))) => {
            phrases::CONTINUE_TO_ANSWER
        }
        PipelineOutcome::Partial => phrases::CONTINUE,
    };
    phrase.text_in(language(state)).to_owned()
}

#[cfg(test)]
mod tests;
