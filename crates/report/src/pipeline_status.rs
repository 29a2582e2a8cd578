//! `pipeline status` and the first part of `pipeline report`, as text in the language of the goal.

use std::fmt::Write as _;

use crate::person_questions::question_lines;
use crate::pipeline::language;
use crate::pipeline_end::end_lines;
use crate::wording::BilingualPhrase;
use crate::wording::faults::{claim_head_words, reason_words};
use crate::wording::pipelines as course;
use crate::wording::statuses as phrases;
use moai_base::foreign_text::one_line;
use moai_base::limits::{REASON_LINE_CHARS_MAX, SPARKLINE_CHARS_MAX, TODO_FAILURE_CHARS_MAX};
use moai_loops::framework::MessageLanguage;
use moai_pipeline::gate::GateStatus;
use moai_pipeline::person_question::open_questions;
use moai_pipeline::state::{
    ASKS_THE_USER, KeptDiscovery, PassCount, PipelineKind, PipelinePhase, PipelineState,
    PlanApprover, ShellWriteOutcome, ShellWriteRecord,
};
use moai_pipeline::todo_failure::{FailureKind, TodoFailure};

/// `pipeline status`: phase, TODOs, gates and progress.
#[must_use]
pub fn pipeline_status(state: &PipelineState) -> String {
    let language = language(state);
    let mut text = String::new();
    let phase = phase_words(language, state.phase);
    let phase = match state.outcome {
        Some(outcome) => format!("{phase} ({})", outcome.as_str()),
        None => phase.to_owned(),
    };
    let mut line = |phrase: &BilingualPhrase, parts: &[&str]| {
        let _ = writeln!(text, "{}", phrase.with(language, parts));
    };
    line(&phrases::HEAD, &[&state.id, state.kind.as_str(), &phase]);
    line(&phrases::GOAL, &[&one_line(&state.goal, REASON_LINE_CHARS_MAX)]);
    if state.kind.has_plan() {
        let approval = match state.approved.as_ref().map(|plan| plan.by) {
            None => phrases::NOT_APPROVED,
            Some(PlanApprover::Person) => phrases::APPROVED_BY_PERSON,
            Some(PlanApprover::Question) => phrases::APPROVED_BY_ANSWER,
        };
        line(&phrases::PLAN, &[&state.plan_path(), approval.text_in(language)]);
    }
    line(&phrases::LOOP, &[&state.loop_id]);
    push_todos(&mut text, state);
    push_progress(&mut text, state);
    text.push_str(&end_lines(state));
    text
}

/// Questions, progress and gates.
fn push_progress(text: &mut String, state: &PipelineState) {
    let language = language(state);
    for question in question_lines(state, &open_questions(state)) {
        let _ = writeln!(text, "{}", phrases::ASKS.with(language, &[&question]));
    }
    if let Some(last) = state.pass_counts.last() {
        let (passed, total) = (last.passed.to_string(), last.total.to_string());
        let parts = [sparkline(&state.pass_counts), passed, total];
        let _ = write!(
            text,
            "{}",
            phrases::PASSING.with(language, &parts.each_ref().map(String::as_str))
        );
        let now = state.passed_todos();
        if now != last.passed {
            // Workers end between two Stops.
            text.push_str(&phrases::PASSING_NOW.with(language, &[&now.to_string()]));
        }
        text.push('\n');
    }
    if state.kind == PipelineKind::Full {
        let gates = [state.gates.tests, state.gates.review, state.gates.scenarios];
        let gates = gates.map(|gate| gate_words(language, gate));
        let _ = writeln!(text, "{}", phrases::GATES.with(language, &gates));
        push_gates(text, state);
    }
    if !state.fix_rounds.is_empty() {
        let rounds = state.fix_rounds.len().to_string();
        let _ = writeln!(text, "{}", phrases::ROUNDS.with(language, &[&rounds]));
    }
}

fn phase_words(language: MessageLanguage, phase: PipelinePhase) -> &'static str {
    let words = match phase {
        PipelinePhase::Plan => phrases::PHASE_PLAN,
        PipelinePhase::Sprint => phrases::PHASE_SPRINT,
        PipelinePhase::Gate => phrases::PHASE_GATE,
        PipelinePhase::Fix => phrases::PHASE_FIX,
        PipelinePhase::Finalize => phrases::PHASE_FINALIZE,
        PipelinePhase::Ended => phrases::PHASE_ENDED,
    };
    words.text_in(language)
}

fn gate_words(language: MessageLanguage, gate: GateStatus) -> &'static str {
    let phrase = match gate {
        GateStatus::Open => phrases::GATE_OPEN,
        GateStatus::Passed => phrases::GATE_PASSED,
        GateStatus::Failed => phrases::GATE_FAILED,
        GateStatus::Skipped => phrases::GATE_SKIPPED,
        GateStatus::Degraded => phrases::GATE_DEGRADED,
        GateStatus::Absent => phrases::GATE_NONE,
    };
    phrase.text_in(language)
}

/// One character for each of the last measured Stops: the share of TODOs that passed.
fn sparkline(counts: &[PassCount]) -> String {
    let shown = &counts[counts.len().saturating_sub(SPARKLINE_CHARS_MAX)..];
    let level = |count: &PassCount| {
        let top = SPARKLINE_LEVELS.len() - 1;
        let level = (count.passed * top).checked_div(count.total).unwrap_or(0);
        SPARKLINE_LEVELS[level.min(top)]
    };
    shown.iter().map(level).collect()
}

/// From nothing to everything.
const SPARKLINE_LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The tokens of a pipeline, as a line of its status.
#[must_use]
pub fn tokens_line(state: &PipelineState, tokens: Option<u64>) -> String {
    let line = match tokens {
        Some(tokens) => phrases::TOKENS.with(language(state), &[&tokens.to_string()]),
        None => phrases::TOKENS_UNKNOWN.text_in(language(state)).to_owned(),
    };
    line + "\n"
}

/// Details of the gates that their own texts omit.
fn push_gates(text: &mut String, state: &PipelineState) {
    let language = language(state);
    let mut line = |phrase: &BilingualPhrase, parts: &[&str]| {
        let _ = writeln!(text, "{}", phrase.with(language, parts));
    };
    if let Some(place) = &state.sandbox {
        line(&phrases::GATE_PLACE, &[&one_line(place, REASON_LINE_CHARS_MAX)]);
    }
    if let Some(review) = &state.review {
        let judges = review.judges.join(", ");
        let rest = one_line(review.gap.as_ref().unwrap_or(&judges), REASON_LINE_CHARS_MAX);
        let (critical, warnings) = (review.critical.to_string(), review.warnings.to_string());
        line(&phrases::GATE_REVIEW, &[&review.verdict, &critical, &warnings, &rest]);
    }
    for scenario in &state.scenarios {
        line(&phrases::GATE_SCENARIO, &[&scenario.key, &scenario_words(state, &scenario.key)]);
    }
    for path in &state.changed_documents {
        line(&phrases::DOCUMENT_CHANGED, &[path]);
    }
}

/// The runs of a scenario with the files of its last run; those with earlier files are void.
pub(crate) fn scenario_words(state: &PipelineState, key: &str) -> String {
    let language = language(state);
    let runs = state.scenario_runs.get(key).map(Vec::as_slice).unwrap_or_default();
    let last = runs.last().map(|run| &run.work);
    let current: Vec<_> = runs.iter().filter(|run| Some(&run.work) == last).collect();
    let passed = current.iter().filter(|run| run.has_passed).count();
    let mut words = run_words(language, passed, current.len());
    let old = runs.len() - current.len();
    if old > 0 {
        words.push_str(&phrases::OLD_RUNS.with(language, &[&old.to_string()]));
    }
    words
}

/// Runs of a scenario with the same files, as a fragment.
pub(crate) fn run_words(language: MessageLanguage, passed: usize, runs: usize) -> String {
    if runs == 0 {
        return phrases::NOT_PLAYED.text_in(language).to_owned();
    }
    phrases::RUNS_PASSED.with(language, &[&passed.to_string(), &runs.to_string()])
}

fn push_todos(text: &mut String, state: &PipelineState) {
    let Some(approved) = &state.approved else { return };
    let language = language(state);
    for todo in &approved.document().todos {
        let Some(progress) = state.todos.get(todo.id.as_str()) else { continue };
        let mark = progress.status().mark();
        let title = one_line(&todo.title, REASON_LINE_CHARS_MAX);
        let _ = write!(text, "  [{mark}] {} {title}", todo.id);
        if !progress.failure.is_empty() {
            let failure = failure_words(language, &progress.failure);
            let _ = write!(text, ": {}", one_line(&failure, TODO_FAILURE_CHARS_MAX));
        } else if progress.has_passed_untouched {
            let _ = write!(text, ": {}", phrases::PASSED_UNTOUCHED.text_in(language));
        }
        text.push('\n');
    }
}

/// The failure of a TODO, as a fragment.
pub(crate) fn failure_words(language: MessageLanguage, failure: &str) -> String {
    let Some(TodoFailure { command, kind, reason }) = TodoFailure::parse(failure) else {
        return reason_words(language, failure);
    };
    let reason = reason_words(language, &reason);
    let command = format!("`{command}`");
    match kind {
        FailureKind::Fails => phrases::FAILS.with(language, &[&command, &reason]),
        FailureKind::NoResult => phrases::NO_RESULT.with(language, &[&command, &reason]),
        FailureKind::NotRun => phrases::NOT_RUN.with(language, &[&command]),
    }
}

/// The first part of `pipeline report`: claims, breaches of the rules, and what the user decided.
#[must_use]
pub fn pipeline_report(state: &PipelineState) -> String {
    let language = language(state);
    let mut text = pipeline_status(state);
    push_head(&mut text, language, &phrases::CLAIMS, state.corrections.is_empty());
    for correction in &state.corrections {
        let reason = claim_words(language, &correction.reason);
        let reason = one_line(&reason, REASON_LINE_CHARS_MAX);
        let _ = writeln!(text, "    {}: {reason}", correction.todo);
    }
    push_head(&mut text, language, &phrases::SHELL_WRITES, state.shell_writes.is_empty());
    for record in &state.shell_writes {
        let _ = writeln!(text, "{}", shell_write_line(language, record));
    }
    push_head(&mut text, language, &phrases::ANSWERS, state.human_answers.is_empty());
    for (name, answer) in &state.human_answers {
        let word = if answer.is_yes { phrases::MET } else { phrases::NOT_MET };
        let _ =
            writeln!(text, "{}", phrases::ANSWER.with(language, &[name, word.text_in(language)]));
    }
    push_head(&mut text, language, &phrases::DISCOVERIES, state.discoveries.is_empty());
    for discovery in &state.discoveries {
        let summary = one_line(&discovery.summary, REASON_LINE_CHARS_MAX);
        let conflicts = match discovery.conflicts.as_slice() {
            [] => String::new(),
            conflicts => format!(": {}", one_line(&conflicts.join(", "), REASON_LINE_CHARS_MAX)),
        };
        let verdict = verdict_words(language, discovery);
        let _ = writeln!(text, "    {}: {summary}: {verdict}{conflicts}", discovery.todo);
    }
    push_head(&mut text, language, &phrases::NOT_ENDED, !state.is_active());
    if !state.kind.has_plan() {
        let _ = writeln!(text, "{}", phrases::BUGFIX_EVIDENCE.with(language, &[&state.loop_id]));
    }
    text
}

/// A claim that a run did not confirm, with its failure.
fn claim_words(language: MessageLanguage, claim: &str) -> String {
    match claim.split_once(": ") {
        Some((head, failure)) => {
            format!("{}: {}", claim_head_words(language, head), failure_words(language, failure))
        }
        None => claim.to_owned(),
    }
}

fn push_head(text: &mut String, language: MessageLanguage, head: &BilingualPhrase, is_empty: bool) {
    if !is_empty {
        let _ = writeln!(text, "{}", head.text_in(language));
    }
}

fn shell_write_line(language: MessageLanguage, record: &ShellWriteRecord) -> String {
    let path = one_line(&record.path, REASON_LINE_CHARS_MAX);
    let by = if record.is_by_worker { course::BY_WORKER } else { course::BY_MAIN_AGENT };
    let outcome = match &record.outcome {
        ShellWriteOutcome::Named => String::new(),
        ShellWriteOutcome::TakenBack { checkpoint } => {
            phrases::TAKEN_BACK.with(language, &[checkpoint])
        }
        ShellWriteOutcome::Left { reason } => {
            phrases::NOT_TAKEN_BACK.with(language, &[&one_line(reason, REASON_LINE_CHARS_MAX)])
        }
    };
    phrases::SHELL_WRITE.with(language, &[&path, by.text_in(language)]) + &outcome
}

/// The fate of a proposal, as a fragment.
fn verdict_words(language: MessageLanguage, discovery: &KeptDiscovery) -> &'static str {
    let phrase = match (discovery.answer, discovery.verdict.as_str()) {
        (Some(answer), _) if answer.is_yes => phrases::ALLOWED_BY_USER,
        (Some(_), _) => phrases::REJECTED_BY_USER,
        (None, ASKS_THE_USER) => phrases::AWAITS_USER,
        (None, "rejected") => phrases::REJECTED,
        (None, _) => phrases::ACCEPTED,
    };
    phrase.text_in(language)
}

/// Lines about documents of gates that are not as their gates wrote them, that no gate wrote, and that are not
/// there.
#[must_use]
pub fn gate_file_lines(
    state: &PipelineState,
    changed: &[String],
    foreign: &[String],
    missing: &[String],
) -> String {
    let lists = [
        (phrases::DIFFERS_FROM_GATE, changed),
        (phrases::WRITTEN_BY_NO_GATE, foreign),
        (phrases::GATE_FILE_GONE, missing),
    ];
    let lines = lists.iter().flat_map(|(phrase, paths)| {
        paths.iter().map(|path| phrase.with(language(state), &[path]) + "\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KOREAN: MessageLanguage = MessageLanguage::Korean;

    fn failure(kind: FailureKind, reason: &str) -> String {
        let (command, reason) = ("check".to_owned(), reason.to_owned());
        failure_words(KOREAN, &TodoFailure { command, kind, reason }.to_string())
    }

    #[test]
    fn the_output_of_a_command_stays_as_it_is() {
        for output in [
            "AssertionError: the entry was removed",
            "the config was changed",
            "steps is empty",
            "there is no commit",
        ] {
            let words = failure(FailureKind::Fails, output);
            assert!(words.contains(output), "{words}");
        }
    }

    #[test]
    fn the_reasons_of_the_engine_are_in_korean() {
        let approved = "not run with what was approved: check.sh; restore it";
        let words = failure(FailureKind::Fails, approved);
        assert!(words.contains("승인된 내용으로 실행하지 않음: check.sh"), "{words}");
        let missing = "it passed, but weakened tests and checks were not looked for (guard: x)";
        let words = failure(FailureKind::NoResult, missing);
        assert!(words.contains("찾지 못함(guard: x)"), "{words}");
        let unmerged = failure_words(KOREAN, "its worktree was not merged: stalled");
        assert_eq!(unmerged, "작업 트리가 병합되지 않음: stalled");
        assert_eq!(failure_words(KOREAN, "it has no command"), "명령이 없음");
    }

    #[test]
    fn a_claim_about_a_scenario_is_in_korean() {
        let claim = "a run of SC-1 was reported as PASS: step 2: the entry was removed";
        let words = claim_words(KOREAN, claim);
        assert_eq!(words, "SC-1의 실행이 PASS로 보고됨: step 2: the entry was removed");
    }
}
