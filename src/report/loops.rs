//! The words of a loop for its agent and its user: its start and how it goes on. Below: why a Stop is
//! held, for people how it stands and how it ended. All of it in the language of the task.

mod adoption;
mod ending;
mod failures;
mod hold_reason;
mod proposals;
mod status_text;

use std::fmt::Write as _;

use super::agent::truncate_text_in;
use super::wording::{self, ERRORS, ITERATIONS, WARNINGS, severity_counts_in};
use super::{finding_line, framework};
use crate::base::evidence::Evidence;
use crate::base::finding::{Finding, Severity};
use crate::base::limits::{CHECKS_NAMED_CHARS_MAX, FEEDBACK_FINDINGS_MAX, TASK_CHARS_MAX};
use crate::base::text::one_line;
use crate::looping::framework::{IterationFramework, IterationPhase, MessageLanguage};
use crate::looping::state::{LoopState, Mode, Status, UntilCondition};
use crate::looping::step::HoldReasons;
pub use adoption::{adoption_offer, adoption_offer_for_agent, mark_difference};
pub use ending::{
    end_notice, forgotten, loop_report, loop_report_json, override_notice, waits_for_tasks,
};
pub use hold_reason::{IterationNotes, hold_reason};
pub use proposals::{no_checks, no_rubric};
pub use status_text::{
    NO_SESSION_ID, already_owns_loop, loop_history, loop_history_json, loop_list, loop_list_json,
    loop_of_other_root, loop_status, no_active_loop, no_loop, owner_still_active,
    several_active_loops,
};

/// The agent's instructions at the start of a loop; `checks` are the commands that a Stop runs.
#[must_use]
pub fn start_instructions(state: &LoopState, checks: &[String]) -> String {
    let language = state.language();
    let (id, next) = (&state.id, (state.iteration + 1).to_string());
    let active = wording::ACTIVE.with(language, &[id, &next, &state.max_iterations.to_string()]);
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

/// One line for the user when a loop starts: what ends it, and what it is held to.
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
    let most = ITERATIONS.count(language, state.max_iterations as usize);
    let checks = match checks {
        [] => wording::NO_CHECKS.text_in(language).to_owned(),
        checks => named(checks),
    };
    wording::NOTICE_STARTED.with(language, &[&state.id, &until, &most, &checks])
}

fn named(checks: &[String]) -> String {
    one_line(&checks.join(", "), CHECKS_NAMED_CHARS_MAX)
}

/// The same to an agent that may have forgotten it, with how the loop stands; of a paused loop only
/// that it is paused.
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
    text.push_str(&wording::STANDS.with(language, &[&errors, &warnings]));
    if !state.remaining.checks_failed.is_empty() {
        let failed = state.remaining.checks_failed.join(", ");
        text.push_str(&wording::STANDS_CHECKS.with(language, &[&failed]));
    }
    let way: Vec<String> = state.history.iter().map(|one| one.errors.to_string()).collect();
    let way = one_line(&way.join(" "), 200);
    text.push_str(&wording::STANDS_WAY.with(language, &[&way]));
    text
}

/// How the agent works in this loop, as `looping::framework` chose it. `None` for a loop that only
/// mends what sensors report: it needs no such words.
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

/// The whole instructions, with a line of their own before and behind. A loop that begins with
/// research is told both phases at once, so that no later Stop has to repeat them.
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

/// What ends the loop, in a line; the promise follows on a line of its own.
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
            wording::GOES_TO_THE_END.with(language, &[&state.max_iterations.to_string()])
        }
        None => wording::ENDS_BY_ITSELF.text_in(language).to_owned(),
    }
}

/// What is wrong at the start of a loop that mends what is there.
#[must_use]
pub fn initial_problems(evidence: &Evidence, language: MessageLanguage) -> String {
    let mut text = String::new();
    let mut wrong: Vec<&Finding> =
        evidence.findings.iter().filter(|finding| finding.severity >= Severity::Warning).collect();
    wrong.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    if wrong.is_empty() {
        let _ = writeln!(text, "{}", wording::NOTHING_TO_MEND.text_in(language));
    } else {
        let all = severity_counts_in(language, wrong.iter().copied());
        let _ = writeln!(text, "{}", wording::STILL_WRONG.with(language, &[&all]));
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

/// For the user, when the host would not hold the agent once more although the loop is not done.
#[must_use]
pub fn yield_notice(state: &LoopState, evidence: &Evidence, reasons: &HoldReasons) -> String {
    let language = state.language();
    let why = if reasons.is_dirty {
        let wrong = evidence.findings.iter().filter(|one| hold_reason::is_holding(one));
        wording::YIELDS_WRONG.with(language, &[&severity_counts_in(language, wrong)])
    } else {
        wording::YIELDS_UNFINISHED.text_in(language).to_owned()
    };
    let after = ITERATIONS.count(language, state.iteration as usize);
    wording::YIELDS.with(language, &[&state.id, &after, &why])
}

fn task(state: &LoopState) -> String {
    let language = state.language();
    truncate_text_in(language, &state.prompt, TASK_CHARS_MAX, wording::WHOLE_TASK.text_in(language))
}

/// What was left out of a Stop because it was there before the loop.
fn older_errors(error_count: usize, language: MessageLanguage) -> Option<String> {
    let errors = match language {
        MessageLanguage::English => super::count_noun(error_count, "older error"),
        MessageLanguage::Korean => ERRORS.count(language, error_count),
    };
    (error_count > 0).then(|| wording::OLDER_ERRORS.with(language, &[&errors]))
}

#[cfg(test)]
mod tests;
