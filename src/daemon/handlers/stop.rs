//! The agent wants to stop. Whose loop is it, fresh evidence, what others say to it, one pure step,
//! saved before the reply. Any failure lets the turn end: nobody is trapped by a broken engine.

mod answers;
mod asking;
mod cooling;
mod scope;
mod sensing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::held_by;
use super::hook_call::HookCall;
use super::session_loop::last_loop_of_session;
use crate::base::limits::{
    HOOK_STOP_MS_MAX, HOST_CONTINUATIONS_MAX, STOP_REPLY_MS, STOP_REPLY_SHARE, STOP_SENSORS_SHARE,
    STOP_TRIES_MAX,
};
use crate::config::Config;
use crate::daemon::engine::{Engine, now_ms, to_its_end};
use crate::daemon::loop_files::{self, Decided};
use crate::daemon::project::Project;
use crate::daemon::stop_registry::{StopLead, StopTurn};
use crate::daemon::{judging, spending};
use crate::judge::judged::Judged;
use crate::looping::facts::JudgeOutcome;
use crate::looping::framework::Language;
use crate::looping::state::{LoopState, Status};
use crate::looping::step::{Admission, Decision, StopInput, admit, step};
use crate::report::judging::Moment;
use crate::report::{loops, notice};
use crate::store::StoreError;
use crate::store::loops::{Saved, Which};
use crate::wire::hook::HookOutput;
use asking::Found;
pub(super) use scope::StopBase;
use sensing::Seen;
pub(super) use sensing::measured;

/// The host's variable for its cap of continuations.
const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

/// When a Stop began, and by when its parts must be done.
#[derive(Clone, Copy, Debug)]
struct Times {
    began: Instant,
    /// The end of the project's own checks, so that time is left for everything else.
    checks_end: Instant,
    /// The end of everything but saving and the reply.
    deadline: Instant,
}

impl Times {
    /// The time of a Stop whose hook process began `passed` ago.
    fn of(began: Instant, passed: Duration, config: &Config) -> Self {
        let most = config.stop_timeout.min(Duration::from_millis(HOOK_STOP_MS_MAX));
        let kept_back = Duration::from_millis(STOP_REPLY_MS).min(most / STOP_REPLY_SHARE);
        let left = most.saturating_sub(kept_back).saturating_sub(passed);
        let after_checks = config.stop_budget.min(left / STOP_SENSORS_SHARE);
        let checks_end = began + left.saturating_sub(after_checks);
        Self { began, checks_end, deadline: began + left }
    }
}

pub(super) async fn handle(mut call: HookCall<'_>) -> HookOutput {
    let began = Instant::now();
    let found = held_by_loop(&mut call).await;
    let (engine, input) = (call.engine, &call.input);
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
    let language = state.as_ref().filter(|state| state.status.is_active());
    let language = language.map_or(Language::English, LoopState::language);
    engine.ledger().set_language(&input.session_id, language);
    let waited = call.delivery.begun_ms.map_or(0, |begun_ms| now_ms().saturating_sub(begun_ms));
    let times = Times::of(began, Duration::from_millis(waited), &call.project.config);
    let mut stop = stop_input(&call);
    let state = match look_at(&call, &stop, state, times).await {
        Ok(state) => state,
        Err(output) => return output,
    };
    loop {
        let id = state.id.clone();
        let lead = match engine.stops.enter(&id, &call.delivery.content) {
            StopTurn::Decide(lead) => lead,
            StopTurn::Wait(running) => match running.over().await {
                Some(output) => return output,
                None => continue,
            },
        };
        // Another Stop may have been decided since the loop was looked up.
        let output = match look_again(&call, &stop, &id, times).await {
            Ok(state) => {
                // Read once a Stop: whoever only waits must not take it away.
                stop.has_acted = engine.ledger().take_acted(&input.session_id);
                Box::pin(decide_unless_interrupted(&call, &stop, state, times, &lead)).await
            }
            Err(output) => output,
        };
        lead.answer(&output);
        return output;
    }
}

/// What needs no evidence: the loop that must be measured, or the answer. `state` is the session's
/// last loop.
async fn look_at(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    state: Option<LoopState>,
    times: Times,
) -> Result<LoopState, HookOutput> {
    if let Some((state, output)) = answers::given(&call.delivery, state.as_ref()) {
        // Nobody knows whether they were kept, and what is there is not added twice.
        let notices = loop_files::after_step(call.engine, &call.project, &decided(&state)).await;
        let output = cooling::cooled(call, stop, &state, output, times).await;
        return Err(with_news(call, output, &notices));
    }
    match (admit(state.as_ref(), stop), state) {
        (Admission::Measure, Some(state)) => Ok(state),
        (Admission::AllowPaused, Some(state)) => Err(HookOutput::Notice(loops::ended(&state))),
        (Admission::AllowWaiting, Some(state)) if stop.waiting_stops == 1 => {
            let tasks = call.input.running_tasks().len();
            Err(HookOutput::Notice(loops::waits_for_tasks(&state, tasks)))
        }
        _ => Err(HookOutput::Silent),
    }
}

/// The same for a loop that somebody may have changed meanwhile.
async fn look_again(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    id: &str,
    times: Times,
) -> Result<LoopState, HookOutput> {
    let (engine, project) = (call.engine, &call.project);
    let found = engine.store.find_loop(&project.key, &project.root, Which::Id(id.to_owned()));
    match found.await {
        Ok(state) => look_at(call, stop, state, times).await,
        Err(error) => {
            tracing::warn!(%error, id, "the loop could not be looked at again");
            Err(HookOutput::Notice(notice::no_store(&error.to_string())))
        }
    }
}

/// Decides a Stop. When a person pauses or ends the loop meanwhile, whatever runs for the Stop is
/// ended with it, and the loop is looked at again.
async fn decide_unless_interrupted(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    mut state: LoopState,
    times: Times,
    lead: &StopLead,
) -> HookOutput {
    loop {
        let id = state.id.clone();
        tokio::select! {
            output = decide(call, stop, state, times) => return output,
            () = lead.interrupted() => {}
        }
        state = match look_again(call, stop, &id, times).await {
            Ok(state) => state,
            Err(output) => return output,
        };
    }
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

fn stop_input<'c>(call: &'c HookCall<'_>) -> StopInput<'c> {
    let input = &call.input;
    StopInput {
        session_id: &input.session_id,
        last_message: input.last_assistant_message.as_deref().unwrap_or_default(),
        // A subagent that stops does not end the turn, and a plan is no work yet.
        is_let_go: input.must_end() || input.is_planning() || input.agent_id.is_some(),
        is_continuation: input.stop_hook_active,
        has_acted: false,
        waiting_stops: call.engine.ledger().waits(
            &input.session_id,
            &input.running_tasks(),
            call.delivery.begun_ms,
            now_ms(),
        ),
        now_ms: now_ms(),
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
    let seen = sensing::look(call, state, times).await;
    let found = asking::ask(call, stop, state, &seen, times).await;
    let (mut next, decision) = step(state, stop, &seen.evidence, &found.facts);
    tracing::info!(
        id = next.id, iteration = next.iteration, status = next.status.as_str(),
        errors = next.remaining.errors, decision = ?decision, "stop decided"
    );
    let output = said(state, &next, &decision, (&seen, &found));
    next.answer = answers::of(&call.delivery, &output);
    let is_rejected = matches!(found.facts.judge, Some(JudgeOutcome::Rejected { .. }));
    let rejections = state.counts.consecutive_rejections + u32::from(is_rejected);
    let decided = DecidedStop {
        engine: Arc::clone(call.engine),
        project: call.project.clone(),
        session: call.input.session_id.clone(),
        before: state.clone(),
        next: next.clone(),
        judged: found.judged.map(|judged| (judged, rejections)),
    };
    // From here on the Stop counts, whoever is there to hear of it.
    let kept = match to_its_end(decided.save()).await {
        Some(Ok(kept)) => kept,
        Some(Err(NotSaved::Overtaken)) => return None,
        Some(Err(NotSaved::Failed(error))) => {
            return Some(HookOutput::Notice(notice::not_saved(&next.id, &error)));
        }
        None => return Some(HookOutput::Notice(notice::not_saved(&next.id, "internal error"))),
    };
    let notices: Vec<String> = [seen.notes.notices, found.notices, kept].concat();
    let output = cooling::cooled(call, stop, &next, output, times).await;
    Some(with_news(call, output, &notices))
}

/// A decided Stop with all that it leaves behind.
struct DecidedStop {
    engine: Arc<Engine>,
    project: Project,
    session: String,
    before: LoopState,
    next: LoopState,
    /// What the judges said, and how often in a row they have rejected.
    judged: Option<(Judged, u32)>,
}

/// Why a decision was not saved.
enum NotSaved {
    /// Somebody else changed the loop while it was measured.
    Overtaken,
    Failed(String),
}

impl DecidedStop {
    /// Saves the decision, then what it leaves in the tree, once nobody can overtake it any more.
    /// Returns what the user must know about it.
    async fn save(self) -> Result<Vec<String>, NotSaved> {
        let Self { engine, project, session, before, next, judged } = self;
        match engine.store.advance_loop(&project.key, &before, next.clone()).await {
            Ok(Saved::Yes) => {}
            Ok(Saved::Overtaken) => return Err(NotSaved::Overtaken),
            Err(error) => {
                tracing::error!(%error, id = next.id, "the loop could not be saved");
                return Err(NotSaved::Failed(error.to_string()));
            }
        }
        if !next.status.is_active() {
            engine.ledger().set_language(&session, Language::English);
        }
        // The evidence is newer than anything still waiting to be told.
        engine.ledger().drop_late(&session);
        let mut notices = Vec::new();
        if let Some((judged, rejections)) = &judged {
            let (iteration, at_ms) = (Some(next.iteration), next.updated_ms);
            let moment = Moment { iteration, rejections: *rejections, at_ms };
            notices = judging::record(&project, judged, moment).await;
        }
        notices.extend(loop_files::after_step(&engine, &project, &decided(&next)).await);
        Ok(notices)
    }
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
fn said(
    before: &LoopState,
    next: &LoopState,
    decision: &Decision,
    (seen, found): (&Seen, &Found),
) -> HookOutput {
    let evidence = &seen.evidence;
    let notes = loops::Notes {
        remaining: &seen.notes.remaining,
        too_many_lines: seen.notes.too_many_lines,
    };
    let mut text = match decision {
        Decision::Continue(reasons) => {
            return HookOutput::Block(loops::goes_on(before, next, evidence, reasons, notes));
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
