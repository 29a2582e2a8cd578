//! The status of loops for people: one screen, the iterations, all loops of a project.

use std::fmt::Write as _;
use std::path::Path;

use super::ending::interventions;
use crate::json::{iteration_entry, rfc3339};
use crate::{count_noun, sanitized_line, sanitized_name};
use moai_loops::framework::MessageLanguage;
use moai_loops::state::{Iteration, LoopState, PauseReason};
use moai_protocol::documents::loops::{LoopHistoryDocument, LoopListDocument, LoopListEntry};

/// The status of a loop on one screen.
#[must_use]
pub fn loop_status(state: &LoopState) -> String {
    let mut text = format!(
        "{} {}: {} mode, iteration {} of {}, until {}\n  session: {}\n  task: {}\n",
        state.id,
        state.status.as_str(),
        state.mode.as_str(),
        state.current_iteration(),
        state.max_iterations,
        state.until.as_str(),
        state.session_id.as_deref().unwrap_or("none yet (the next session of this root claims it)"),
        state.goal(),
    );
    if let Some(reason) = state.pause_reason {
        let first = if reason == PauseReason::ContextBudget { "/compact, then " } else { "" };
        let _ = writeln!(text, "  paused: {} ({first}moai-ralph loop resume)", reason.as_str());
    }
    if let Some(branch) = &state.branch {
        let base = state.options.base_branch.as_deref().unwrap_or("its base");
        let _ =
            writeln!(text, "  branch: {}, for {}", sanitized_name(branch), sanitized_name(base));
    }
    if let Some(last) = state.history.last() {
        let _ = writeln!(text, "  last stop: {}", found(last));
    }
    if state.counters.consecutive_rejections > 0 {
        let rejections = state.counters.consecutive_rejections;
        let _ =
            writeln!(text, "  rejected in a row: {rejections} of {}", state.options.hitl_threshold);
    }
    if let Some(forecast) = state.forecast_iterations() {
        let _ = writeln!(text, "  forecast: {} more", count_noun(forecast, "iteration"));
    }
    if let Some(note) = &state.note {
        let _ = writeln!(text, "  note: {}", sanitized_line(note));
    }
    for line in interventions(state, MessageLanguage::English) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn found(one: &Iteration) -> String {
    let checks = &one.checks;
    format!(
        "{}, {}, checks {checks}",
        count_noun(one.errors, "error"),
        count_noun(one.warnings, "warning")
    )
}

/// The iterations of a loop, one per line; the best one is marked.
#[must_use]
pub fn loop_history(state: &LoopState) -> String {
    let mut text = format!("{} {}: {}\n", state.id, state.status.as_str(), state.goal());
    if state.history.is_empty() {
        text.push_str("  no Stop yet\n");
    }
    let best = state.best();
    for one in &state.history {
        let mark = if best == Some(one.number) { " (best)" } else { "" };
        let at = rfc3339(one.at_ms);
        let _ = writeln!(text, "  {} {at} {}: {}{mark}", one.number, found(one), one.verdict);
    }
    text
}

/// The same as one document.
#[must_use]
pub fn loop_history_document(state: &LoopState) -> LoopHistoryDocument<'_> {
    LoopHistoryDocument {
        id: &state.id,
        status: state.status.as_str(),
        best: state.best(),
        history: state.history.iter().map(iteration_entry).collect(),
    }
}

/// No loop exists; a damaged store has lost its loops.
#[must_use]
pub fn no_loop(damaged: Option<&Path>) -> String {
    match damaged {
        Some(aside) => {
            let aside = sanitized_name(&aside.to_string_lossy());
            format!("no loop found here; the damaged store of earlier loops was moved to {aside}")
        }
        None => "no loop has been started here".to_owned(),
    }
}

/// Why a command without a loop's id does nothing: several loops are active.
#[must_use]
pub fn several_active_loops(active: &[(String, Option<String>)]) -> String {
    let named = active.iter().map(|(id, session)| match session {
        Some(session) => format!("{id} (session {session})"),
        None => format!("{id} (no session yet)"),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    format!("more than one loop is active here: {named}; choose one by its id")
}

/// Why nothing was adopted: no loop is active.
#[must_use]
pub fn no_active_loop() -> String {
    "no active loop to adopt here; start one with moai-ralph loop start".to_owned()
}

/// Why a loop was not adopted: the session has one, or another loop waits for a session.
#[must_use]
pub fn already_owns_loop(own: &str) -> String {
    format!(
        "loop {own} is already active for this session, and a session has one at most; cancel it \
         first: moai-ralph loop cancel {own}"
    )
}

/// Why a loop was not adopted: the id of the session is malformed.
pub const NO_SESSION_ID: &str =
    "--session takes the id of a session: one word without control characters";

/// Why an agent may not adopt a loop: the loop's session is alive.
#[must_use]
pub fn owner_still_active(id: &str) -> String {
    format!(
        "loop {id} belongs to a session that seems to be still running; only a person can move \
         it to another one: /moai-ralph:moai-adopt {id} there, or moai-ralph loop adopt {id} in a terminal"
    )
}

/// Why an agent may not change a loop.
#[must_use]
pub fn loop_of_other_session(id: &str) -> String {
    format!(
        "loop {id} belongs to another session than this agent's; a person can change it in a \
         terminal of their own"
    )
}

/// Why an agent may not change a loop: a variable and the hooks name different sessions.
#[must_use]
pub fn session_contradicted(named: &str, known: &str) -> String {
    let named = sanitized_line(named);
    format!(
        "CLAUDE_CODE_SESSION_ID is {named}, but this agent works in session {known}; run the \
         command again without setting the variable"
    )
}

/// Why an agent may not adopt a loop: it is to go to another session than the agent's.
#[must_use]
pub fn adopted_for_another(own: &str) -> String {
    format!("an agent adopts a loop for its own session only: --session {own}")
}

/// Why an agent may not start a loop: it would hold the Stops of another session.
#[must_use]
pub fn started_for_another(own: &str) -> String {
    format!("an agent starts a loop for its own session only: --session {own}")
}

/// Why an agent may not change a loop: the daemon has seen no hook of its session.
#[must_use]
pub fn session_unknown(named: &str) -> String {
    let named = sanitized_line(named);
    format!(
        "no hook of session {named} has called since the daemon started; run the command again \
         with the next tool call, or let a person run it in a terminal"
    )
}

/// Why a loop was not adopted: it belongs to another root.
#[must_use]
pub fn loop_of_other_root(id: &str) -> String {
    format!("loop {id} belongs to another work tree or root of this project; adopt it there")
}

/// All loops of a project, one per line.
#[must_use]
pub fn loop_list(loops: &[LoopState]) -> String {
    if loops.is_empty() {
        return "no loop has been started here\n".to_owned();
    }
    let mut text = String::new();
    for one in loops {
        let _ = writeln!(
            text,
            "{} {} {}: iteration {} of {}: {}",
            one.id,
            rfc3339(one.created_ms),
            one.status.as_str(),
            one.current_iteration(),
            one.max_iterations,
            one.goal()
        );
    }
    text
}

/// The same as one document.
#[must_use]
pub fn loop_list_document(loops: &[LoopState]) -> LoopListDocument<'_> {
    LoopListDocument { loops: loops.iter().map(list_entry).collect() }
}

fn list_entry(state: &LoopState) -> LoopListEntry<'_> {
    LoopListEntry {
        id: &state.id,
        session_id: state.session_id.as_deref(),
        mode: state.mode.as_str(),
        status: state.status.as_str(),
        iteration: state.iteration,
        max_iterations: state.max_iterations,
        goal: state.goal(),
        created_at: rfc3339(state.created_ms),
        updated_at: rfc3339(state.updated_ms),
    }
}
