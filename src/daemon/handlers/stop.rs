//! The agent wants to stop. Whose loop is it, fresh evidence, what others say to it, one pure step,
//! saved before the reply. Any failure lets the turn end: nobody is trapped by a broken engine.

mod answers;
mod asking;
mod cooling;
mod scope;
mod sensing;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::hook::HookCall;
use super::{held_by, last_loop_of_session};
use crate::base::limits::{
    HOOK_STOP_MS_MAX, HOST_CONTINUATIONS_MAX, STOP_REPLY_MS, STOP_TRIES_MAX,
};
use crate::daemon::loop_files::{self, Decided};
use crate::daemon::{judging, spending};
use crate::looping::facts::JudgeOutcome;
use crate::looping::state::{LoopState, Status};
use crate::looping::step::{Admission, Decision, StopInput, admit, step};
use crate::report::judging::Moment;
use crate::report::{loops, notice};
use crate::store::StoreError;
use crate::store::loops::{Saved, Which};
use crate::wire::hook::HookOutput;
use asking::Found;
use sensing::Seen;
pub(super) use sensing::measured;

/// The host's variable for its cap of continuations.
const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

/// When a Stop began, and by when it must be answered.
#[derive(Clone, Copy)]
struct Times {
    began: Instant,
    deadline: Instant,
}

impl Times {
    fn from_now() -> Self {
        let began = Instant::now();
        let deadline = began + Duration::from_millis(HOOK_STOP_MS_MAX - STOP_REPLY_MS);
        Self { began, deadline }
    }
}

pub(super) async fn handle(mut call: HookCall<'_>) -> HookOutput {
    let times = Times::from_now();
    let found = held_by_loop(&mut call).await;
    let (engine, project, input) = (call.engine, &call.project, &call.input);
    let state = match found {
        Ok(state) => state,
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be looked up");
            let text = notice::no_store(&error.to_string());
            // Where there is no daemon there was never a store, and so never a loop.
            let is_news =
                engine.lsp_gap.is_none() && engine.ledger().is_news(&input.session_id, &text);
            return if is_news { HookOutput::Notice(text) } else { HookOutput::Silent };
        }
    };
    let stop = stop_input(&call);
    if let Some((state, output)) = answers::given(&call.id, state.as_ref()) {
        // Nobody knows whether they were kept, and what is there is not added twice.
        let notices = loop_files::after_step(engine, project, &decided(&state)).await;
        let output = cooling::cooled(&call, &stop, &state, output, times).await;
        return with_news(&call, output, &notices);
    }
    let state = match (admit(state.as_ref(), &stop), state) {
        (Admission::Measure, Some(state)) => state,
        (Admission::AllowPaused, Some(state)) => return HookOutput::Notice(loops::ended(&state)),
        _ => return HookOutput::Silent,
    };
    decide(&call, &stop, state, times).await
}

/// The session's active loop, else its last one. An active one that its root does not lead to takes
/// the call to its own project.
async fn held_by_loop(call: &mut HookCall<'_>) -> Result<Option<LoopState>, StoreError> {
    let session = &call.input.session_id;
    let (last, _) = last_loop_of_session(call.engine, &call.project, session).await?;
    if last.as_ref().is_some_and(|state| state.status.is_active()) {
        call.project = call.project.clone().served(call.engine);
        return Ok(last);
    }
    let found = held_by::elsewhere(call.engine, &call.caller, &call.project, session).await;
    Ok(found.map_or(last, |(project, state)| {
        call.project = project;
        Some(state)
    }))
}

/// Asked first, because looking takes the note that the agent acted.
fn stop_input<'c>(call: &'c HookCall<'_>) -> StopInput<'c> {
    let input = &call.input;
    StopInput {
        session_id: &input.session_id,
        last_message: input.last_assistant_message.as_deref().unwrap_or_default(),
        // A subagent that stops does not end the turn.
        is_let_go: input.is_waiting() || input.must_end() || input.agent_id.is_some(),
        is_continuation: input.stop_hook_active,
        has_acted: call.engine.ledger().take_acted(&input.session_id),
        continuations_max: continuations_max(&call.caller.env),
    }
}

/// The host's cap of continuations without a tool call; it hands its environment to its hooks.
fn continuations_max(env: &BTreeMap<String, String>) -> Option<u32> {
    let set = env.get(BLOCK_CAP).and_then(|text| text.trim().parse().ok());
    Some(set.unwrap_or(HOST_CONTINUATIONS_MAX)).filter(|most| *most > 0)
}

/// Measures, steps and saves. When somebody else changed the loop meanwhile, it is looked at again:
/// another Stop of this session leaves it running, and then this one must be decided as well.
async fn decide(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    mut state: LoopState,
    times: Times,
) -> HookOutput {
    for _ in 0..STOP_TRIES_MAX {
        if let Some(output) = decide_once(call, stop, &state, times).await {
            return output;
        }
        let which = Which::Id(state.id.clone());
        let found = call.engine.store.find_loop(&call.project.key, &call.project.root, which).await;
        match found {
            Ok(Some(now)) if admit(Some(&now), stop) == Admission::Measure => state = now,
            _ => return HookOutput::Silent,
        }
    }
    tracing::warn!(id = state.id, "a stop was overtaken too often");
    HookOutput::Notice(notice::overtaken(&state.id))
}

/// `None` when the loop was changed by somebody else while it was measured.
async fn decide_once(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    state: &LoopState,
    times: Times,
) -> Option<HookOutput> {
    let seen = sensing::look(call, state).await;
    let found = asking::ask(call, stop, state, &seen, times.deadline).await;
    let (mut next, decision) = step(state, stop, &seen.evidence, &found.facts);
    tracing::info!(
        id = next.id, iteration = next.iteration, status = next.status.as_str(),
        errors = next.remaining.errors, decision = ?decision, "stop decided"
    );
    let output = said(&next, &decision, (&seen, &found));
    next.answer = answers::of(call, &output);
    match call.engine.store.advance_loop(&call.project.key, state, next.clone()).await {
        Ok(Saved::Yes) => {}
        Ok(Saved::Overtaken) => return None,
        Err(error) => {
            tracing::error!(%error, id = next.id, "the loop could not be saved");
            return Some(HookOutput::Notice(notice::not_saved(&next.id, &error.to_string())));
        }
    }
    // The evidence is newer than anything still waiting to be told.
    call.engine.ledger().drop_late(&call.input.session_id);
    let kept = keep_notes(call, state, &next, &found).await;
    let notices: Vec<String> = [seen.notes.notices, found.notices, kept].concat();
    let output = cooling::cooled(call, stop, &next, output, times).await;
    Some(with_news(call, output, &notices))
}

/// What a decided Stop leaves in the tree, once nobody can overtake it any more. Returns what the
/// user must know about it.
async fn keep_notes(
    call: &HookCall<'_>,
    before: &LoopState,
    next: &LoopState,
    found: &Found,
) -> Vec<String> {
    let (engine, project) = (call.engine, &call.project);
    let mut notices = Vec::new();
    if let Some(judged) = &found.judged {
        let is_rejected = matches!(found.facts.judge, Some(JudgeOutcome::Rejected { .. }));
        let rejections = before.counts.consecutive_rejections + u32::from(is_rejected);
        let (iteration, at_ms) = (Some(next.iteration), next.updated_ms);
        notices = judging::record(project, judged, Moment { iteration, rejections, at_ms }).await;
    }
    notices.extend(loop_files::after_step(engine, project, &decided(next)).await);
    notices
}

fn decided(state: &LoopState) -> Decided {
    Decided {
        id: state.id.clone(),
        iteration: state.iteration,
        is_completed: state.status == Status::Completed,
        has_memory: state.options.structured_memory,
        at_ms: state.updated_ms,
    }
}

/// The words of a decision.
fn said(next: &LoopState, decision: &Decision, (seen, found): (&Seen, &Found)) -> HookOutput {
    let evidence = &seen.evidence;
    let notes = loops::Notes {
        remaining: &seen.notes.remaining,
        too_many_lines: seen.notes.too_many_lines,
    };
    let mut text = match decision {
        Decision::Continue(reasons) => {
            return HookOutput::Block(loops::goes_on(next, evidence, reasons, notes));
        }
        Decision::Yield(reasons) => loops::yields(next, evidence, reasons),
        Decision::End => loops::ended(next),
    };
    if let Some(spent) = found.spent.as_ref().filter(|_| !next.status.is_active()) {
        text = format!("{text}\n{}", spending::words(spent));
    }
    HookOutput::Notice(text)
}

/// What else is new is told to the user, whether the turn goes on or ends.
fn with_news(call: &HookCall<'_>, output: HookOutput, notices: &[String]) -> HookOutput {
    let mut ledger = call.engine.ledger();
    let news = notices.iter().filter(|text| ledger.is_news(&call.input.session_id, text));
    let news: Vec<String> = news.cloned().collect();
    output.with_notice(Some(news.join("\n")).filter(|text| !text.is_empty()))
}
