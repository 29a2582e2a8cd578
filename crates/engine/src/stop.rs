//! The Stop event: find the session's loop, gather fresh evidence, consult judge and merge, take one
//! pure step and save it before the reply. Any failure lets the turn end, so that a broken engine
//! never traps the agent.

pub(crate) mod consult;
pub(crate) mod cooldown;
pub(crate) mod evidence;
pub(crate) mod schedule;
pub(crate) mod scope;
pub(crate) mod stored_answer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::{Engine, now_ms, run_to_completion};
use crate::hooks::hook_call::HookCall;
use crate::judge::judge_run;
use crate::loops::loop_elsewhere;
use crate::loops::loop_files;
use crate::loops::loop_files::IterationSummary;
use crate::loops::session_loop::last_loop_of_session;
use crate::loops::session_usage;
use crate::project::Project;
use crate::stop::consult::StopContext;
use crate::stop::evidence::StopEvidence;
pub(crate) use crate::stop::evidence::measure_stop_files;
use crate::stop::schedule::StopSchedule;
pub(crate) use crate::stop::scope::StopBase;
use crate::stop_registry::{StopLead, StopTurn};
use moai_base::limits::{HOST_CONTINUATIONS_MAX, STOP_TRIES_MAX};
use moai_host::store::StoreError;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_loops::facts::JudgeOutcome;
use moai_loops::framework::MessageLanguage;
use moai_loops::judge::judge_report::JudgeReport;
use moai_loops::state::{LoopState, Status};
use moai_loops::step::{StopAdmission, StopDecision, StopInput, admit_stop, decide_stop};
use moai_protocol::hook::HookOutput;
use moai_report::judging::JudgementContext;
use moai_report::{loops, notice};

/// The host's variable for its cap of continuations.
const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

pub(crate) async fn handle(mut call: HookCall<'_>) -> HookOutput {
    let started_at = Instant::now();
    let found = load_session_loop(&mut call).await;
    let (engine, input) = (call.engine, &call.input);
    let state = match found {
        Ok(state) => state,
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be looked up");
            let text = notice::no_store(&error.to_string());
            // Without a daemon there never was a store, and so no loop.
            let is_news =
                engine.lsp_gap.is_none() && engine.ledger().report_once(&input.session_id, &text);
            return if is_news { HookOutput::Notice(text) } else { HookOutput::Silent };
        }
    };
    let language = state.as_ref().filter(|state| state.status.is_active());
    let language = language.map_or(MessageLanguage::English, LoopState::language);
    engine.ledger().set_language(&input.session_id, language);
    let waited = call.delivery.start_ms.map_or(0, |begun_ms| now_ms().saturating_sub(begun_ms));
    let schedule =
        StopSchedule::from_config(started_at, Duration::from_millis(waited), &call.project.config);
    let mut stop = stop_input(&call);
    let state = match admit_or_answer(&call, &stop, state, schedule).await {
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
        // Another Stop may have been decided since the loop was loaded.
        let output = match reload_and_admit(&call, &stop, &id, schedule).await {
            Ok(state) => {
                // Taken only by the Stop that decides; one that waits must leave it.
                stop.has_acted = engine.ledger().take_tool_call(&input.session_id);
                Box::pin(decide_unless_interrupted(&call, &stop, state, schedule, &lead)).await
            }
            Err(output) => output,
        };
        lead.answer(&output);
        return output;
    }
}

/// Returns the loop to measure, or as an error the answer that needs no evidence. `state` is the
/// session's last loop.
async fn admit_or_answer(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    state: Option<LoopState>,
    schedule: StopSchedule,
) -> Result<LoopState, HookOutput> {
    if let Some((state, output)) = stored_answer::replayed_answer(&call.delivery, state.as_ref()) {
        // The first delivery may have ended before it wrote the notes; entries are not added twice.
        let notices =
            loop_files::write_loop_notes(call.engine, &call.project, &iteration_summary(&state))
                .await;
        let output = cooldown::after_cooldown(call, stop, &state, output, schedule).await;
        return Err(with_new_notices(call, output, &notices));
    }
    match (admit_stop(state.as_ref(), stop), state) {
        (StopAdmission::Measure, Some(state)) => Ok(state),
        (StopAdmission::AllowPaused, Some(state)) => {
            Err(HookOutput::Notice(loops::end_notice(&state)))
        }
        (StopAdmission::AllowWaiting, Some(state)) if stop.waiting_stops == 1 => {
            let tasks = call.input.running_tasks().len();
            Err(HookOutput::Notice(loops::waits_for_tasks(&state, tasks)))
        }
        _ => Err(HookOutput::Silent),
    }
}

/// Loads the loop again, because it may have changed meanwhile, then as `admit_or_answer`.
async fn reload_and_admit(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    id: &str,
    schedule: StopSchedule,
) -> Result<LoopState, HookOutput> {
    let (engine, project) = (call.engine, &call.project);
    let found = engine.store.find_loop(&project.key, &project.root, LoopQuery::Id(id.to_owned()));
    match found.await {
        Ok(state) => admit_or_answer(call, stop, state, schedule).await,
        Err(error) => {
            tracing::warn!(%error, id, "the loop could not be looked at again");
            Err(HookOutput::Notice(notice::no_store(&error.to_string())))
        }
    }
}

/// Decides a Stop. When a user pauses or ends the loop meanwhile, the work for this Stop is
/// cancelled and the loop is loaded again.
async fn decide_unless_interrupted(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    mut state: LoopState,
    schedule: StopSchedule,
    lead: &StopLead,
) -> HookOutput {
    loop {
        let id = state.id.clone();
        tokio::select! {
            output = decide(call, stop, state, schedule) => return output,
            () = lead.interrupted() => {}
        }
        state = match reload_and_admit(call, stop, &id, schedule).await {
            Ok(state) => state,
            Err(output) => return output,
        };
    }
}

/// The session's active loop, else its last one. An active loop of another project switches the call
/// to that project.
async fn load_session_loop(call: &mut HookCall<'_>) -> Result<Option<LoopState>, StoreError> {
    let session = &call.input.session_id;
    let (last, _) = last_loop_of_session(call.engine, &call.project, session).await?;
    if last.as_ref().is_some_and(|state| state.status.is_active()) {
        call.project = call.project.clone().without_unserved_languages(call.engine);
        return Ok(last);
    }
    let found =
        loop_elsewhere::active_loop_elsewhere(call.engine, &call.caller, &call.project, session)
            .await;
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
        // A subagent's stop does not end the turn, and plan mode has no work to check yet.
        must_end: input.must_end() || input.is_planning() || input.agent_id.is_some(),
        is_continuation: input.stop_hook_active,
        has_acted: false,
        waiting_stops: call.engine.ledger().count_waiting_stop(
            &input.session_id,
            &input.running_tasks(),
            call.delivery.start_ms,
            now_ms(),
        ),
        now_ms: now_ms(),
        continuations_max: continuations_max(&call.caller.env),
    }
}

/// The host's cap of continuations without a tool call; hooks inherit the host's environment.
fn continuations_max(env: &BTreeMap<String, String>) -> Option<u32> {
    let set = env.get(BLOCK_CAP).and_then(|text| text.trim().parse().ok());
    Some(set.unwrap_or(HOST_CONTINUATIONS_MAX)).filter(|most| *most > 0)
}

/// Measures, decides and saves; retries on a loop that was changed meanwhile, because another Stop
/// of this session may have left it running.
async fn decide(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    mut state: LoopState,
    schedule: StopSchedule,
) -> HookOutput {
    for _ in 0..STOP_TRIES_MAX {
        if let Some(output) = Box::pin(decide_once(call, stop, &state, schedule)).await {
            return output;
        }
        let which = LoopQuery::Id(state.id.clone());
        let found = call.engine.store.find_loop(&call.project.key, &call.project.root, which).await;
        match found {
            Ok(Some(now)) if admit_stop(Some(&now), stop) == StopAdmission::Measure => state = now,
            _ => return HookOutput::Silent,
        }
    }
    tracing::warn!(id = state.id, "a stop was overtaken too often");
    HookOutput::Notice(notice::overtaken(&state.id))
}

/// One try; `None` when the loop was changed while it was measured.
async fn decide_once(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    state: &LoopState,
    schedule: StopSchedule,
) -> Option<HookOutput> {
    let stop_evidence = evidence::collect_stop_evidence(call, state, schedule).await;
    let found = consult::consult_others(call, stop, state, &stop_evidence, schedule).await;
    let (mut next, decision) = decide_stop(state, stop, &stop_evidence.evidence, &found.facts);
    tracing::info!(
        id = next.id, iteration = next.iteration, status = next.status.as_str(),
        errors = next.remaining.errors, decision = ?decision, "stop decided"
    );
    let output = decision_output(state, &next, &decision, &stop_evidence, &found);
    next.answer = stored_answer::stored_answer(&call.delivery, &output);
    let is_rejected = matches!(found.facts.judge, Some(JudgeOutcome::Rejected { .. }));
    let rejections = state.counters.consecutive_rejections + u32::from(is_rejected);
    let decided = DecidedStop {
        engine: Arc::clone(call.engine),
        project: call.project.clone(),
        session: call.input.session_id.clone(),
        before: state.clone(),
        next: next.clone(),
        judged: found.judged.map(|judged| (judged, rejections)),
    };
    // From here on the Stop counts, even if its hook process has ended.
    let kept = match run_to_completion(decided.save()).await {
        Some(Ok(kept)) => kept,
        Some(Err(StopSaveError::Overtaken)) => return None,
        Some(Err(StopSaveError::Failed(error))) => {
            return Some(HookOutput::Notice(notice::not_saved(&next.id, &error)));
        }
        None => return Some(HookOutput::Notice(notice::not_saved(&next.id, "internal error"))),
    };
    let notices: Vec<String> = [stop_evidence.notes.notices, found.notices, kept].concat();
    let output = cooldown::after_cooldown(call, stop, &next, output, schedule).await;
    Some(with_new_notices(call, output, &notices))
}

/// A decided Stop and everything to save with it.
struct DecidedStop {
    engine: Arc<Engine>,
    project: Project,
    session: String,
    before: LoopState,
    next: LoopState,
    /// The judges' report and their rejections in a row.
    judged: Option<(JudgeReport, u32)>,
}

/// Why a decision was not saved.
enum StopSaveError {
    /// The loop was changed while it was measured.
    Overtaken,
    Failed(String),
}

impl DecidedStop {
    /// Saves the decision, and only then writes into the tree, because an overtaken decision must
    /// leave no trace. Returns notices for the user.
    async fn save(self) -> Result<Vec<String>, StopSaveError> {
        let Self { engine, project, session, before, next, judged } = self;
        match engine.store.advance_loop(&project.key, &before, next.clone()).await {
            Ok(SaveOutcome::Saved) => {}
            Ok(SaveOutcome::Overtaken) => return Err(StopSaveError::Overtaken),
            Err(error) => {
                tracing::error!(%error, id = next.id, "the loop could not be saved");
                return Err(StopSaveError::Failed(error.to_string()));
            }
        }
        if !next.status.is_active() {
            engine.ledger().set_language(&session, MessageLanguage::English);
        }
        // The evidence is newer than every pending report.
        engine.ledger().drop_reports(&session);
        let mut notices = Vec::new();
        if let Some((judged, rejections)) = &judged {
            let (iteration, at_ms) = (Some(next.iteration), next.updated_ms);
            let moment = JudgementContext { iteration, rejections: *rejections, at_ms };
            notices = judge_run::record_judgement(&project, judged, moment).await;
        }
        notices.extend(
            loop_files::write_loop_notes(&engine, &project, &iteration_summary(&next)).await,
        );
        Ok(notices)
    }
}

fn iteration_summary(state: &LoopState) -> IterationSummary {
    IterationSummary {
        id: state.id.clone(),
        iteration: state.iteration,
        is_completed: state.status == Status::Completed,
        has_memory: state.options.structured_memory,
        at_ms: state.updated_ms,
    }
}

/// The hook output of a decision.
fn decision_output(
    before: &LoopState,
    next: &LoopState,
    decision: &StopDecision,
    stop_evidence: &StopEvidence,
    context: &StopContext,
) -> HookOutput {
    let evidence = &stop_evidence.evidence;
    let notes = loops::IterationNotes {
        remaining: &stop_evidence.notes.remaining,
        too_many_lines: stop_evidence.notes.too_many_lines,
    };
    let mut text = match decision {
        StopDecision::Continue(reasons) => {
            return HookOutput::Block(loops::hold_reason(before, next, evidence, reasons, notes));
        }
        StopDecision::Yield(reasons) => loops::yield_notice(next, evidence, reasons),
        StopDecision::End => loops::end_notice(next),
    };
    let usage = context.session_usage.as_ref().filter(|_| !next.status.is_active());
    let usage = usage.and_then(|usage| session_usage::session_usage_line(next.language(), usage));
    if let Some(line) = usage {
        text = format!("{text}\n{line}");
    }
    HookOutput::Notice(text)
}

/// Adds the notices that the session has not had yet, whether the turn goes on or ends.
fn with_new_notices(call: &HookCall<'_>, output: HookOutput, notices: &[String]) -> HookOutput {
    let mut ledger = call.engine.ledger();
    let news = notices.iter().filter(|text| ledger.report_once(&call.input.session_id, text));
    let news: Vec<String> = news.cloned().collect();
    output.with_notice(Some(news.join("\n")).filter(|text| !text.is_empty()))
}
