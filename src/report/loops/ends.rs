//! How a loop ended: one line, and the report in five parts. An end that is no success never reads
//! like one.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::older;
use crate::looping::progress;
use crate::looping::state::{Iteration, LoopState, PauseReason, Status};
use crate::report::count;

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
                 and is clean{}{}{}",
                merged(state).unwrap_or_default(),
                left.unwrap_or_default(),
                noticed(state).unwrap_or_default()
            )
        }
        Status::CompletedUnverified => format!(
            "[moai-ralph] loop {id} ended after {after}; nothing wrong was found, but this was not \
             measured: {}",
            note.unwrap_or("unknown")
        ),
        Status::Paused => format!(
            "[moai-ralph] loop {id} is paused after {after}: {} (moai-ralph loop resume, or \
             /moai-resume, goes on; moai-ralph loop cancel ends it)",
            paused(state)
        ),
        Status::Cancelled => format!("[moai-ralph] loop {id} was cancelled after {after}"),
        Status::Running => format!("[moai-ralph] loop {id} is running"),
        _ => failed(state, &after),
    }
}

/// Where the work of a finished loop is, when it had a branch.
fn merged(state: &LoopState) -> Option<String> {
    let base = state.options.base_branch.as_ref().filter(|_| state.branch.is_some())?;
    Some(format!("; merged into {base}"))
}

/// What a person should look at although nothing objects.
fn noticed(state: &LoopState) -> Option<String> {
    let noticed = &state.basis.noticed;
    (!noticed.is_empty()).then(|| format!("; to be looked at: {}", noticed.join(", ")))
}

fn paused(state: &LoopState) -> String {
    let note = state.note.as_deref();
    match state.pause_reason {
        Some(PauseReason::Milestone) => format!("the milestone is reached; {}", left(state)),
        Some(PauseReason::Hitl) => format!(
            "the judge rejected {} in a row, so a person should look: {}",
            count(state.counts.consecutive_rejections as usize, "time"),
            note.unwrap_or("no reason given")
        ),
        Some(PauseReason::LspRequired) => {
            format!("a required measurement is missing: {}", note.unwrap_or("unknown"))
        }
        Some(PauseReason::ContextBudget) => {
            format!("{}; make room with /compact first", note.unwrap_or("the context is too full"))
        }
        Some(PauseReason::User) | None => "by the user".to_owned(),
    }
}

/// The ends that are no success.
fn failed(state: &LoopState, after: &str) -> String {
    let note = state.note.as_deref();
    let how = match state.status {
        Status::TimedOut => "at its limit of time",
        Status::Budget => "at its limit of tokens",
        Status::Stalled => "because nothing got better for too long",
        Status::Oscillating => "because it went back and forth between the same states",
        Status::Gaming => "because tests or checks were weakened again after it was told",
        Status::Failed => "because its end could not be made",
        _ => "at its limit",
    };
    let mut text = match state.status {
        Status::MaxIterations => {
            format!("[moai-ralph] loop {} ended at its limit of {after}, not completed: ", state.id)
        }
        _ => format!("[moai-ralph] loop {} ended {how} after {after}, not completed: ", state.id),
    };
    text.push_str(&left(state));
    for reason in open(state) {
        let _ = write!(text, "; {reason}");
    }
    match (state.status, note) {
        (Status::Gaming, Some(codes)) => {
            let _ = write!(text, "; guard: {codes}");
        }
        (Status::Failed, Some(why)) => {
            let _ = write!(text, "; {why}");
        }
        (_, Some(note)) => {
            let _ = write!(text, "; not measured: {note}");
        }
        (_, None) => {}
    }
    if let Some(best) = best(state) {
        let _ = write!(text, "; {best}");
    }
    text
}

/// What stood in the way of completion beside errors and checks.
fn open(state: &LoopState) -> impl Iterator<Item = String> {
    let mut sensors = state.basis.sensors.iter();
    let is_rejected = sensors.any(|one| one.sensor == "judge" && one.verdict == "dirty");
    let unclaimed = state.basis.is_claimed == Some(false);
    let unmerged = state.branch.as_ref().filter(|_| state.status != Status::Failed);
    [
        unclaimed.then(|| "the promise was not given".to_owned()),
        is_rejected.then(|| "the judge did not approve".to_owned()),
        unmerged.map(|branch| format!("{branch} is not merged")),
    ]
    .into_iter()
    .flatten()
}

fn left(state: &LoopState) -> String {
    let left = &state.remaining;
    let mut text =
        format!("{}, {} left", count(left.errors, "error"), count(left.warnings, "warning"));
    if !left.checks_failed.is_empty() {
        let _ = write!(text, "; failed: {}", left.checks_failed.join(", "));
    }
    text
}

/// The best iteration, where it is not the last one.
fn best(state: &LoopState) -> Option<String> {
    let best = progress::best(&state.history)?;
    let last = state.history.last()?;
    (best.number != last.number).then(|| {
        let how = match &best.checkpoint {
            Some(_) => format!(" (moai-ralph loop restore {} --to best)", state.id),
            None => String::new(),
        };
        format!("best was iteration {}: {}{how}", best.number, found(best))
    })
}

fn found(one: &Iteration) -> String {
    let checks = format!("checks {}", one.checks);
    format!("{}, {}, {checks}", count(one.errors, "error"), count(one.warnings, "warning"))
}

/// The five parts, one line each.
struct Parts {
    claim: Vec<String>,
    evidence: Vec<String>,
    before: Vec<String>,
    gaps: Vec<String>,
    risk: Vec<String>,
}

fn parts(state: &LoopState) -> Parts {
    Parts {
        claim: claim(state),
        evidence: evidence(state),
        before: before(state),
        gaps: gaps(state),
        risk: risk(state),
    }
}

fn claim(state: &LoopState) -> Vec<String> {
    let mut lines = vec![match state.basis.is_claimed {
        Some(true) => "the agent claimed completion with its promise".to_owned(),
        Some(false) => "the agent did not claim completion".to_owned(),
        None => "no promise was asked for".to_owned(),
    }];
    if !state.basis.last_words.is_empty() {
        lines.push(format!("last words: {}", state.basis.last_words));
    }
    let denied = state.basis.contradictions.iter();
    lines.extend(denied.map(|one| format!("said, but not what was measured: {one}")));
    lines
}

fn evidence(state: &LoopState) -> Vec<String> {
    let sensors = state.basis.sensors.iter().map(|sensor| {
        format!("{}: {} ({})", sensor.sensor, sensor.verdict, count(sensor.files, "file"))
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

/// The branch of its own, and whether it is where it belongs.
fn branch(state: &LoopState) -> Option<String> {
    let branch = state.branch.as_ref()?;
    let base = state.options.base_branch.as_deref().unwrap_or("its base");
    let is = if state.status == Status::Completed { "is" } else { "is not" };
    Some(format!("{branch} {is} merged into {base}"))
}

fn before(state: &LoopState) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = state.history.first() {
        lines.push(format!("at the first Stop: {}", found(first)));
    }
    lines.extend(older(state.remaining.older));
    if lines.is_empty() {
        lines.push("nothing is known of the state before".to_owned());
    }
    lines
}

fn gaps(state: &LoopState) -> Vec<String> {
    let mut lines = state.basis.gaps.clone();
    if lines.is_empty() && state.status == Status::CompletedUnverified {
        lines.extend(state.note.clone());
    }
    if state.options.max_tokens.is_some() && state.counts.tokens.is_none() {
        lines.push("tokens: nobody counted them, so their limit was not kept".to_owned());
    }
    if lines.is_empty() {
        lines.push("none".to_owned());
    }
    lines
}

fn risk(state: &LoopState) -> Vec<String> {
    let mut lines = vec![match state.status {
        Status::Completed => "what no test, rule or type expresses was not looked at".to_owned(),
        Status::CompletedUnverified => "what was not measured may be wrong".to_owned(),
        Status::Running | Status::Paused => "the work is not finished".to_owned(),
        _ => "the work was left as it is; parts of it may be half done".to_owned(),
    }];
    if state.mode == crate::looping::state::Mode::Judge {
        lines.push("a judge is a model and can be wrong".to_owned());
    }
    let noticed = state.basis.noticed.iter();
    lines.extend(noticed.map(|one| format!("noticed beside the judgement: {one}")));
    let codes: Vec<&str> =
        state.history.iter().flat_map(|one| &one.guard_codes).map(String::as_str).collect();
    if !codes.is_empty() {
        lines.push(format!("the guard objected on the way: {}", codes.join(" ")));
    }
    lines
}

/// The report of a loop: claim, evidence, what was there before, gaps, residual risk.
#[must_use]
pub fn report(state: &LoopState) -> String {
    let parts = parts(state);
    let mut text = format!("{}\n", ended(state));
    for (head, lines) in [
        ("Claim", parts.claim),
        ("Evidence", parts.evidence),
        ("Before", parts.before),
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

/// The same as one object.
#[must_use]
pub fn report_json(state: &LoopState) -> Value {
    let parts = parts(state);
    json!({
        "schema": "moai-ralph/loop-report@1",
        "id": state.id,
        "status": state.status.as_str(),
        "summary": ended(state),
        "best": state.best(),
        "claim": parts.claim,
        "evidence": parts.evidence,
        "before": parts.before,
        "gaps": parts.gaps,
        "residual_risk": parts.risk,
    })
}
