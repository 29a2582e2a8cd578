//! The words of a loop for its agent: its start, why it goes on. Below: for people, how it stands
//! and how it ended.

mod ends;
mod standing;

use std::fmt::Write as _;

use super::agent::bounded;
use super::{count, counts, framework, line, shown};
use crate::base::evidence::{Evidence, Reading, SensorKind};
use crate::base::finding::{Finding, Severity};
use crate::base::limits::{
    CONTEXT_CHARS_MAX, FEEDBACK_FINDINGS_MAX, FLIPS_NAMED_MAX, REASON_CHARS_MAX, SKIPPED_NAMED_MAX,
    STALL_ITERATIONS_MAX, TASK_CHARS_MAX,
};
use crate::base::text::one_line;
use crate::looping::framework::{Framework, language_of};
use crate::looping::state::{LoopState, Mode, Status};
use crate::looping::step::Reasons;
pub use ends::{ended, report, report_json};
pub use standing::{history, history_json, list, list_json, none, several, status};

/// The agent's instructions at the start of a loop.
#[must_use]
pub fn started(state: &LoopState) -> String {
    format!(
        "[moai-ralph] loop {id} is active: iteration {next} of {max}.\n\
         Task:\n{task}\n\n\
         Work on the task. When you stop, the changed files are measured afresh (language servers, \
         structural scan, and .claude/autochecks.sh where there is one). If anything is wrong you \
         are told what, and go on. Do not weaken tests, checks or configuration to get there.\n\
         {instructions}{claim}",
        id = state.id,
        next = state.iteration + 1,
        max = state.max_iterations,
        task = task(state),
        instructions = instructions(state),
        claim = claim(state),
    )
}

/// The same to an agent that may have forgotten it, with how the loop stands; of a paused loop only
/// that it is paused.
#[must_use]
pub fn again(state: &LoopState) -> String {
    if state.status == Status::Paused {
        return format!("{}. Until then your Stop is not held.", ended(state));
    }
    let Some(last) = state.history.last() else { return started(state) };
    let mut text = started(state);
    let _ = write!(
        text,
        "\nWhere it stands: the last Stop left {}, {}",
        count(last.errors, "error"),
        count(last.warnings, "warning"),
    );
    if !state.remaining.checks_failed.is_empty() {
        let _ = write!(text, "; failed checks: {}", state.remaining.checks_failed.join(", "));
    }
    let way: Vec<String> = state.history.iter().map(|one| one.errors.to_string()).collect();
    let _ = write!(text, ". Errors by iteration: {}.", one_line(&way.join(" "), 200));
    text
}

/// How to work in the iteration that begins, with a line of its own before and behind. A loop that
/// only mends what sensors report needs no such words.
fn instructions(state: &LoopState) -> String {
    let (has_research, has_memory) = (state.options.research, state.options.structured_memory);
    let keeps_notes = has_research || has_memory || state.promise.is_some();
    if state.mode == Mode::Basic && !keeps_notes {
        return String::new();
    }
    let is_research = has_research && state.iteration == 0;
    let chosen = Framework::choose(&state.prompt, state.mode, is_research, has_memory);
    format!("\n{}\n\n", framework::instructions(chosen).trim_end())
}

fn claim(state: &LoopState) -> String {
    match &state.promise {
        Some(promise) => format!(
            "Only when all of it is really done, end your last message with this line alone:\n\
             <promise>{promise}</promise>"
        ),
        None if state.options.force_max => format!(
            "The loop goes on to its last iteration, {}, also when everything measured is clean.",
            state.max_iterations
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

/// What the loop's notes in the tree say to the next iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes<'a> {
    /// What is left to do by the agent's own account.
    pub remaining: &'a [String],
    /// Lines of a `progress.txt` that is too long.
    pub too_many_lines: Option<usize>,
}

/// Why a loop goes on: the reason of a blocked Stop.
#[must_use]
pub fn goes_on(
    state: &LoopState,
    evidence: &Evidence,
    reasons: &Reasons,
    notes: Notes<'_>,
) -> String {
    let mut text = format!(
        "[moai-ralph] loop {}: not done yet. Iteration {} of {} begins.\n",
        state.id,
        state.iteration + 1,
        state.max_iterations
    );
    if reasons.is_acknowledged {
        text = format!(
            "[moai-ralph] loop {}: done and measured. It goes on to iteration {} of {}, as was \
             asked for: look for what could still be better, and keep everything clean.\n",
            state.id,
            state.iteration + 1,
            state.max_iterations
        );
    }
    push_wrong(&mut text, evidence);
    push_checks(&mut text, evidence);
    push_gaps(&mut text, evidence);
    push_reasons(&mut text, state, evidence, reasons);
    push_signals(&mut text, state, evidence, reasons);
    push_notes(&mut text, state, notes);
    let rest = format!("\nTask:\n{}\n{}{}", task(state), instructions(state), claim(state));
    // What is always said leaves less room for what is wrong; the first of that matters most.
    let room = CONTEXT_CHARS_MAX.saturating_sub(rest.chars().count()).min(REASON_CHARS_MAX);
    let has_failed = |reading: &Reading| reading.kind == SensorKind::Check && reading.dirty;
    let whole = if evidence.readings.iter().any(has_failed) {
        "moai-ralph check and moai-ralph loop checks show all"
    } else {
        "moai-ralph check shows all"
    };
    let text = bounded(&text, room, whole);
    format!("{}{rest}", text.trim_end())
}

/// For the user, when the host would not hold the agent once more although the loop is not done.
#[must_use]
pub fn yields(state: &LoopState, evidence: &Evidence, reasons: &Reasons) -> String {
    let why = if reasons.is_dirty {
        let wrong = evidence.findings.iter().filter(|one| one.severity >= Severity::Warning);
        format!("still wrong: {}", counts(wrong))
    } else {
        "completion is not reached".to_owned()
    };
    format!(
        "[moai-ralph] loop {} is not done after {} ({why}), and stays running. The host ends a \
         turn that was held too often without a tool call; send any prompt to go on, or raise its \
         cap: CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=200 in the environment or in env of \
         .claude/settings.json",
        state.id,
        count(state.iteration as usize, "iteration"),
    )
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

/// What the agent itself wrote down.
fn push_notes(text: &mut String, state: &LoopState, notes: Notes<'_>) {
    let language = language_of(&state.prompt);
    text.push_str(&framework::remaining(language, notes.remaining));
    if let Some(lines) = notes.too_many_lines {
        let _ = writeln!(text, "{}", framework::too_long(language, lines));
    }
}

fn push_reasons(text: &mut String, state: &LoopState, evidence: &Evidence, reasons: &Reasons) {
    let language = language_of(&state.prompt);
    if reasons.lacks_promise {
        text.push_str(if evidence.verdict().gap().is_some() {
            "Nothing measured is wrong, but completion was not claimed.\n"
        } else {
            "Everything measured is clean, but completion was not claimed.\n"
        });
    }
    if let Some(gap) = &reasons.waits_for {
        if !evidence.readings.iter().any(|reading| reading.gap.as_ref() == Some(gap)) {
            let _ = writeln!(text, "Not measured: {gap}");
        }
        if gap.cause.is_passing() {
            text.push_str("Stop again in a moment; what is missing is measured then.\n");
        }
    }
    push_list(text, "The judge did not approve:", &reasons.rejected);
    push_list(text, "Said, but not what was measured:", &reasons.contradictions);
    if reasons.needs_new_strategy {
        let rejections = state.options.hitl_threshold;
        let _ = writeln!(text, "{}", framework::strategy_reset(language, rejections));
    }
    if let Some(conflict) = &reasons.conflict {
        let _ = writeln!(text, "{conflict}");
    }
    if !reasons.research_missing.is_empty() {
        text.push_str("Before the work comes the research phase; this Stop is not counted.\n");
        text.push_str(&framework::research_lacks(language, &reasons.research_missing));
    }
}

fn push_list(text: &mut String, head: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "{head}");
    for one in lines {
        let _ = writeln!(text, "  - {one}");
    }
}

/// How this iteration compares with the ones before, as far as the agent can do something about it.
fn push_signals(text: &mut String, state: &LoopState, evidence: &Evidence, reasons: &Reasons) {
    let signals = &reasons.signals;
    if let Some((like, between)) = signals.oscillates {
        let _ = writeln!(
            text,
            "This is where iteration {like} was: what iteration {between} changed was undone. Both \
             ways fail; find a third one. Going back and forth once more ends the loop."
        );
    } else if signals.stalled_for + 1 == STALL_ITERATIONS_MAX {
        text.push_str(
            "Nothing got better for two iterations. Take another approach: question what you \
             assume about the cause. One more like this ends the loop.\n",
        );
    } else if signals.is_diverging {
        text.push_str(
            "As many errors come as go. Take smaller steps, and look at one error at a time.\n",
        );
    }
    if let Some(best) = signals.worse_than {
        let kept = state.history.iter().find(|one| one.number == best);
        let how = match kept.and_then(|one| one.checkpoint.as_ref()) {
            Some(_) => format!(" (moai-ralph loop restore {} --to {best} shows it)", state.id),
            None => String::new(),
        };
        let _ = writeln!(text, "This is worse than iteration {best} was{how}.");
    }
    if signals.is_no_op {
        text.push_str("No file was changed for two iterations, so nothing can be different.\n");
    }
    let flips = evidence.findings.iter().filter(|finding| signals.flips.contains(&finding.id));
    for finding in flips.take(FLIPS_NAMED_MAX) {
        let _ = writeln!(text, "Comes back again and again: {}", line(finding));
    }
}

/// What was left out of a Stop because an edit did not cause it.
fn older(error_count: usize) -> Option<String> {
    let errors = count(error_count, "older error");
    (error_count > 0).then(|| format!("{errors} in files that were not touched"))
}

#[cfg(test)]
mod tests;
