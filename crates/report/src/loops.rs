//! The texts of a loop for its agent and its user, in the language of the task: its start here;
//! held Stops, status and end in the modules below.

mod adoption;
mod ending;
mod hold_reason;
mod proposals;
mod status_text;

use std::fmt::Write as _;

use super::agent::truncate_text_in;
use super::wording::{self, ERRORS, ITERATIONS, WARNINGS, severity_counts_in};
use super::{finding_line, framework};
pub use adoption::{adoption_offer, adoption_offer_for_agent, mark_difference};
pub(crate) use ending::pause_words;
pub use ending::{
    cancelled_by_user, changed_since_completed, changed_while_measured, end_notice, forgotten,
    held_by_another, ignored_event, loop_report, loop_report_document, moved_away,
    older_than_change, override_notice, resumed_by_person, resumed_with_pipeline, to_pass_on,
    told_by_daemon, waits_for_tasks,
};
pub use hold_reason::{IterationNotes, hold_reason};
use moai_base::evidence::Evidence;
use moai_base::finding::{Finding, Severity};
use moai_base::foreign_text::one_line;
use moai_base::limits::{CHECKS_NAMED_CHARS_MAX, FEEDBACK_FINDINGS_MAX, TASK_CHARS_MAX};
use moai_loops::framework::{IterationFramework, IterationPhase, MessageLanguage};
use moai_loops::state::{LoopState, Mode, Status, UntilCondition};
use moai_loops::step::HoldReasons;
pub use proposals::{no_checks, no_rubric};
pub use status_text::{
    NO_SESSION_ID, adopted_for_another, already_owns_loop, loop_history, loop_history_document,
    loop_list, loop_list_document, loop_of_other_root, loop_of_other_session, loop_status,
    no_active_loop, no_loop, owner_still_active, session_contradicted, session_unknown,
    several_active_loops, started_for_another,
};

/// The agent's instructions at the start of a loop; `checks` are the commands that a Stop runs.
#[must_use]
pub fn start_instructions(state: &LoopState, checks: &[String]) -> String {
    let language = state.language();
    let (iteration, limit) = (state.current_iteration(), state.max_iterations);
    let active =
        wording::ACTIVE.with(language, &[&state.id, &iteration.to_string(), &limit.to_string()]);
    let named = match checks {
        [] => String::new(),
        checks => wording::AND_CHECKS.with(language, &[&named(checks)]),
    };
    format!(
        "{active}\n{head}\n{task}\n\n{how}\n{instructions}{claim}",
        head = wording::TASK.text_in(language),
        task = task(state),
        how = wording::HOW_IT_WORKS.with(language, &[&named]),
        instructions = instructions(state),
        claim = completion_text(state),
    )
}

/// One line for the user when a loop starts: its end condition, and the checks it must pass.
#[must_use]
pub fn started_notice(state: &LoopState, checks: &[String]) -> String {
    let language = state.language();
    let until = match (&state.promise, state.until) {
        (Some(promise), _) => wording::UNTIL_PROMISE.with(language, &[promise]),
        (None, UntilCondition::Clean | UntilCondition::Checks) if !checks.is_empty() => {
            wording::UNTIL_CHECKS.text_in(language).to_owned()
        }
        (None, _) => wording::UNTIL_MEASURED.text_in(language).to_owned(),
    };
    let max = ITERATIONS.count(language, state.max_iterations as usize);
    let checks = match checks {
        [] => wording::NO_CHECKS.text_in(language).to_owned(),
        checks => named(checks),
    };
    wording::NOTICE_STARTED.with(language, &[&state.id, &until, &max, &checks])
}

fn named(checks: &[String]) -> String {
    one_line(&checks.join(", "), CHECKS_NAMED_CHARS_MAX)
}

/// The start instructions again with the loop's progress, for an agent that may have lost them; for
/// a paused loop only the pause.
#[must_use]
pub fn resume_instructions(state: &LoopState, checks: &[String]) -> String {
    let language = state.language();
    if state.status == Status::Paused {
        return wording::NOT_HELD_UNTIL_THEN.with(language, &[&end_notice(state)]);
    }
    let mut text = start_instructions(state, checks);
    let Some(last) = state.history.last() else { return text };
    let errors = ERRORS.count(language, last.errors);
    let warnings = WARNINGS.count(language, last.warnings);
    text.push('\n');
    text.push_str(&wording::LAST_STOP.with(language, &[&errors, &warnings]));
    if !state.remaining.checks_failed.is_empty() {
        let failed = state.remaining.checks_failed.join(", ");
        text.push_str(&wording::LAST_STOP_CHECKS.with(language, &[&failed]));
    }
    let errors: Vec<String> =
        state.history.iter().map(|iteration| iteration.errors.to_string()).collect();
    let errors = one_line(&errors.join(" "), 200);
    text.push_str(&wording::ERRORS_BY_ITERATION.with(language, &[&errors]));
    text
}

/// How the agent works in this loop, as `loops::framework` chose it. `None` for a basic loop that
/// keeps no notes: it needs no instructions beyond the findings.
fn framework_of(state: &LoopState, is_research: bool) -> Option<IterationFramework> {
    let (has_research, has_memory) = (state.options.research, state.options.structured_memory);
    let keeps_notes = has_research || has_memory || state.promise.is_some();
    if state.mode == Mode::Basic && !keeps_notes {
        return None;
    }
    Some(IterationFramework::choose(&state.prompt, state.mode, is_research, has_memory))
}

fn is_research(state: &LoopState) -> bool {
    state.options.research && state.iteration == 0
}

/// The instructions, with a blank line before and after. A loop that begins with research gets
/// both phases at once, so that no later Stop has to repeat them.
fn instructions(state: &LoopState) -> String {
    let Some(now) = framework_of(state, is_research(state)) else { return String::new() };
    let mut text = format!("\n{}\n\n", framework::instructions(now).trim_end());
    if now.phase == IterationPhase::Research {
        let work =
            framework::instructions(IterationFramework { phase: IterationPhase::Work, ..now });
        let head = wording::THEN_THE_WORK.text_in(now.language);
        let _ = write!(text, "{head}\n{}\n\n", work.trim_end());
    }
    text
}

/// The loop's end condition; the promise follows on a separate line.
fn completion_text(state: &LoopState) -> String {
    let words = claim_words(state);
    match &state.promise {
        Some(promise) => format!("{words}\n<promise>{promise}</promise>"),
        None => words,
    }
}

fn claim_words(state: &LoopState) -> String {
    let language = state.language();
    match &state.promise {
        Some(_) => wording::CLAIM_WITH.text_in(language).to_owned(),
        None if state.options.force_max => {
            wording::RUNS_ALL_ITERATIONS.with(language, &[&state.max_iterations.to_string()])
        }
        None => wording::ENDS_WHEN_CLEAN.text_in(language).to_owned(),
    }
}

/// Failed checks and findings: the task of a loop that fixes them, or of a merge.
#[must_use]
pub fn initial_problems(evidence: &Evidence, language: MessageLanguage) -> String {
    let mut text = String::new();
    let mut wrong: Vec<&Finding> =
        evidence.findings.iter().filter(|finding| finding.severity >= Severity::Warning).collect();
    wrong.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    hold_reason::push_failed_checks(&mut text, evidence, language);
    if wrong.is_empty() && text.is_empty() {
        let _ = writeln!(text, "{}", wording::NOTHING_TO_FIX.text_in(language));
    }
    let (errors, warnings): (Vec<&Finding>, Vec<&Finding>) =
        wrong.iter().partition(|finding| hold_reason::is_holding(finding));
    if !errors.is_empty() {
        let errors = ERRORS.count(language, errors.len());
        let _ = writeln!(text, "{}", wording::TO_FIX.with(language, &[&errors]));
    }
    if !warnings.is_empty() {
        let warnings = WARNINGS.count(language, warnings.len());
        let _ = writeln!(text, "{}", wording::NOT_BLOCKING.with(language, &[&warnings]));
    }
    for finding in wrong.iter().take(FEEDBACK_FINDINGS_MAX) {
        let _ = writeln!(text, "  {}", finding_line(finding));
    }
    if let Some(more) = wrong.len().checked_sub(FEEDBACK_FINDINGS_MAX).filter(|more| *more > 0) {
        let more = wording::MORE_FINDINGS.count(language, more);
        let more = wording::MORE_BY_CHECK.with(language, &[&more, ""]);
        let _ = writeln!(text, "{}", more.trim_end());
    }
    for gap in hold_reason::gap_lines(evidence, language) {
        let _ = writeln!(text, "{gap}");
    }
    text.trim_end().to_owned()
}

/// For the user, when the loop is not done but the host will not let it hold the agent again.
#[must_use]
pub fn yield_notice(state: &LoopState, evidence: &Evidence, reasons: &HoldReasons) -> String {
    let language = state.language();
    let why = if reasons.is_dirty {
        let wrong = evidence.findings.iter().filter(|finding| hold_reason::is_holding(finding));
        wording::YIELDS_WRONG.with(language, &[&severity_counts_in(language, wrong)])
    } else {
        wording::YIELDS_UNFINISHED.text_in(language).to_owned()
    };
    let after = ITERATIONS.count(language, state.iteration as usize);
    wording::YIELDS.with(language, &[&state.id, &after, &why])
}

fn task(state: &LoopState) -> String {
    let language = state.language();
    truncate_text_in(language, &state.prompt, TASK_CHARS_MAX, wording::SEE_TASK.text_in(language))
}

/// Errors that a Stop ignores because they are older than the loop.
fn older_errors(error_count: usize, language: MessageLanguage) -> Option<String> {
    let errors = ERRORS.count(language, error_count);
    (error_count > 0).then(|| wording::OLDER_ERRORS.with(language, &[&errors]))
}

#[cfg(test)]
mod tests;
