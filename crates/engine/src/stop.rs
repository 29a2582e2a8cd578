//! The Stop event: loads the session's loop, gathers evidence, takes the steps of the decision and
//! saves it before the reply. Any failure lets the turn end, so that a broken engine never traps the
//! agent.

pub(crate) mod check_outputs;
pub(crate) mod completed_work;
pub(crate) mod consult;
pub(crate) mod cooldown;
pub(crate) mod evidence;
mod final_message;
pub(crate) mod passed_checks;
mod repeated_stop;
pub(crate) mod schedule;
pub(crate) mod scope;
mod stale_results;
pub(crate) mod stored_answer;
pub(crate) mod tree_stamps;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::{Engine, now_ms, run_to_completion};
use crate::hooks::hook_call::{HookCall, language};
use crate::judge::judge_run;
use crate::ledger::SessionState;
use crate::loops::loop_elsewhere;
use crate::loops::loop_files;
use crate::loops::loop_files::IterationSummary;
use crate::loops::session_loop::last_loop_of_session;
use crate::loops::session_usage;
use crate::loops::session_usage::SessionUsage;
use crate::pipeline::pipeline_of_loop::load_pipeline_of_loop;
use crate::pipeline::pipeline_stop;
use crate::pipeline::pipeline_stop::{MeasuredPlan, PlanNotices};
use crate::pipeline::todo_worktrees::answer_stop;
use crate::pipeline::worktree_end::{closed_notice, ended_with_pipeline};
use crate::project::Project;
use crate::recall::note_loop::note_stop;
use crate::stop::consult::StopConsultation;
use crate::stop::evidence::StopEvidence;
pub(crate) use crate::stop::evidence::measure_stop_files;
use crate::stop::schedule::StopSchedule;
pub(crate) use crate::stop::scope::StopBase;
use crate::stop_registry::{StopLead, StopTurn};
use moai_base::limits::{HOST_CONTINUATIONS_MAX, STOP_TRIES_MAX};
use moai_host::store::StoreError;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_loops::framework::MessageLanguage;
use moai_loops::judge::judge_report::JudgeReport;
use moai_loops::state::{LoopState, Status};
use moai_loops::step::{StopAdmission, StopDecision, StopInput, StopOutcome, admit_stop};
use moai_pipeline::gate::ReviewReading;
use moai_protocol::hook::{HookEvent, HookOutput};
use moai_protocol::hosts::HeldTurn;
use moai_report::judging::JudgementContext;
use moai_report::{loops, notice};

/// The host's variable for its cap of continuations.
const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

pub(crate) async fn handle(mut call: HookCall<'_>) -> HookOutput {
    let started_at = Instant::now();
    let loaded = load_session_loop(&mut call).await;
    let (engine, session) = (call.engine, &call.input.session_id);
    let state = match loaded {
        Ok(state) => state,
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be loaded");
            let text = notice::no_store(&error.to_string());
            // Without a daemon no store is open, and so no loop is known.
            let is_new =
                engine.lsp_gap.is_none() && engine.ledger().session(session).report_once(&text);
            return if is_new { HookOutput::Notice(text) } else { HookOutput::Silent };
        }
    };
    let state = match state {
        Some(state) if state.status.is_active() => {
            Some(ended_with_pipeline(&call, &state).await.unwrap_or(state))
        }
        state => state,
    };
    let active = state.as_ref().filter(|state| state.status.is_active());
    let language = active.map_or(MessageLanguage::English, LoopState::language);
    engine.ledger().session(session).language = Some(language);
    let is_active = active.is_some();
    let waited_ms = call.delivery.start_ms.map_or(0, |start_ms| now_ms().saturating_sub(start_ms));
    let waited = Duration::from_millis(waited_ms);
    let schedule = StopSchedule::from_config(started_at, waited, &call.project.config);
    if is_active {
        final_message::complete(&mut call).await;
        return repeated_stop::answer_once(call, state, schedule).await;
    }
    let mut run = StopRun { call: &call, input: stop_input(&call), schedule };
    let changed = completed_work::changed_since(&call, state.as_ref()).await;
    let closed = closed_notice(&call, state.as_ref()).await;
    run.answer(state).await.with_notice(changed).with_notice(closed)
}

/// One Stop: the hook call, the host's input and the deadlines.
pub(crate) struct StopRun<'c> {
    pub(crate) call: &'c HookCall<'c>,
    pub(crate) input: StopInput<'c>,
    pub(crate) schedule: StopSchedule,
}

impl StopRun<'_> {
    /// The answer to the Stop, which is decided here or by another delivery. `state` is the session's
    /// last loop.
    async fn answer(&mut self, state: Option<LoopState>) -> HookOutput {
        let id = match self.admit(state).await {
            Ok(state) => state.id,
            Err(output) => return output,
        };
        let (engine, session) = (self.call.engine, &self.call.input.session_id);
        let lead = loop {
            match engine.stops.enter(&id, &self.call.delivery) {
                StopTurn::Decide(lead) => break lead,
                StopTurn::Wait(running) => {
                    let is_told = running.is_other_call();
                    if let Some(output) = running.finished().await {
                        return if is_told { self.without_repetition(output) } else { output };
                    }
                }
            }
        };
        // Another Stop may have been decided since the loop was loaded.
        let output = match self.reload(&id).await {
            Ok(state) => {
                // Only the Stop that decides may reset the ledger's tool call; one that waits must not.
                self.input.has_acted = engine
                    .ledger()
                    .known_session(session)
                    .is_some_and(SessionState::take_tool_call);
                Box::pin(self.decide_unless_interrupted(state, &lead)).await
            }
            Err(output) => output,
        };
        lead.answer(&output);
        output
    }

    /// Returns the loop to measure, or as an error the answer that needs no evidence.
    async fn admit(&self, state: Option<LoopState>) -> Result<LoopState, HookOutput> {
        let call = self.call;
        if let Some((state, output)) =
            stored_answer::replayed_answer(&call.delivery, state.as_ref())
        {
            // The first delivery may have ended before it wrote the notes, and writing them again
            // adds no entry twice.
            let summary = iteration_summary(&state);
            let notices = loop_files::write_loop_notes(call.engine, &call.project, &summary).await;
            let output = cooldown::after_cooldown(self, &state, output).await;
            let is_told = state.answer.is_some_and(|answer| answer.call != call.delivery.call);
            let output = if is_told { self.without_repetition(output) } else { output };
            return Err(with_new_notices(call, output, &notices));
        }
        match (admit_stop(state.as_ref(), &self.input), state) {
            (StopAdmission::Measure, Some(state)) => Ok(state),
            (StopAdmission::AllowPaused, Some(state)) => {
                Err(HookOutput::Notice(loops::end_notice(&state)))
            }
            (StopAdmission::AllowWaiting, Some(state)) if self.input.waiting_stops == 1 => {
                let tasks = call.input.running_tasks().len();
                Err(HookOutput::Notice(loops::waits_for_tasks(&state, tasks)))
            }
            _ => Err(HookOutput::Silent),
        }
    }

    /// An answer that another hook process of the same Stop gets, too: where the agent reads all of
    /// them, this one only holds.
    fn without_repetition(&self, output: HookOutput) -> HookOutput {
        let call = self.call;
        if call.input.host.profile().held_turn != HeldTurn::SameTurn {
            return output;
        }
        match output {
            HookOutput::Block(_) | HookOutput::BlockAndNotice(..) => {
                let language = language(call.engine, &call.input.session_id);
                HookOutput::Block(loops::held_by_another(language))
            }
            HookOutput::Notice(_) => HookOutput::Silent,
            output => output,
        }
    }

    /// Loads the loop again, because it may have changed meanwhile, and admits it.
    async fn reload(&self, id: &str) -> Result<LoopState, HookOutput> {
        match self.find_loop(id).await {
            Ok(state) => self.admit(state).await,
            Err(error) => Err(undecided(id, &error)),
        }
    }

    pub(crate) async fn find_loop(&self, id: &str) -> Result<Option<LoopState>, StoreError> {
        let project = &self.call.project;
        let query = LoopQuery::Id(id.to_owned());
        self.call.engine.store.find_loop(&project.key, &project.root, query).await
    }

    /// Decides the Stop. When a user pauses or ends the loop meanwhile, the work for this Stop is
    /// cancelled and the loop is loaded again.
    async fn decide_unless_interrupted(&self, mut state: LoopState, lead: &StopLead) -> HookOutput {
        loop {
            let id = state.id.clone();
            tokio::select! {
                output = Box::pin(self.decide(state)) => return output,
                () = lead.interrupted() => {}
            }
            state = match self.reload(&id).await {
                Ok(state) => state,
                Err(output) => return output,
            };
        }
    }

    /// Measures, decides and saves; tries again if the loop was changed meanwhile and still runs.
    async fn decide(&self, mut state: LoopState) -> HookOutput {
        let call = self.call;
        for _ in 0..STOP_TRIES_MAX {
            let session = &call.input.session_id;
            let last_measurement = call.engine.ledger().session(session).pending_reports.last();
            let deadline = self.schedule.deadline;
            match load_pipeline_of_loop(call.engine, &call.project, &state).await {
                Ok(Some(pipeline)) if pipeline.needs_approval() => {
                    return pipeline_stop::review_plan(call.engine, &call.project, &pipeline).await;
                }
                Ok(Some(pipeline)) => {
                    let answer = Box::pin(answer_stop(call, &state, pipeline, deadline)).await;
                    if let Some(output) = answer {
                        return output;
                    }
                }
                Ok(None) => {}
                Err(error) => return undecided(&state.id, &error),
            }
            let evidence = evidence::collect_stop_evidence(call, &state, self.schedule).await;
            let plan = match pipeline_stop::measure_plan(call, &state, &evidence, deadline).await {
                Ok(plan) => plan,
                Err(error) => return undecided(&state.id, &error),
            };
            let mut decided = state.clone();
            if plan.as_ref().is_some_and(|plan| plan.begins_anew) {
                decided.counted_from = decided.iteration;
            }
            let mut consultation =
                StopConsultation::begin(self, &decided, &evidence, plan.as_ref()).await;
            let StopOutcome { mut next, decision } = Box::pin(consultation.decide()).await;
            tracing::info!(
                id = next.id, iteration = next.iteration, status = next.status.as_str(),
                errors = next.remaining.errors, decision = ?decision, "stop decided"
            );
            let usage = consultation.session_usage.as_ref();
            let output = decision_output(&state, &next, &decision, &evidence, usage);
            let output = through_agent(call, &next, output);
            next.answer = stored_answer::stored_answer(&call.delivery, &output);
            let rejections = consultation.consecutive_rejections();
            let review = consultation.review();
            let mut notices = [evidence.notes.notices.clone(), consultation.notices].concat();
            let decided = DecidedStop {
                engine: Arc::clone(call.engine),
                project: call.project.clone(),
                session: session.clone(),
                last_measurement,
                before: state.clone(),
                next: next.clone(),
                judged: consultation.judged,
                rejections,
                plan,
                review,
            };
            // From here on the Stop counts, even if its hook process has ended.
            match Box::pin(run_to_completion(decided.save())).await {
                Some(Ok(saved)) => {
                    notices.extend(saved.notices);
                    let output = cooldown::after_cooldown(self, &next, output).await;
                    let end = Some(saved.end.join("\n")).filter(|text| !text.is_empty());
                    return with_new_notices(call, output, &notices).with_notice(end);
                }
                Some(Err(StopSaveError::Overtaken)) => {}
                Some(Err(StopSaveError::Failed(error))) => {
                    return HookOutput::Notice(notice::not_saved(&next.id, &error));
                }
                None => return HookOutput::Notice(notice::not_saved(&next.id, "internal error")),
            }
            state = match self.find_loop(&state.id).await {
                Ok(Some(now)) if admit_stop(Some(&now), &self.input) == StopAdmission::Measure => {
                    now
                }
                Ok(_) => return HookOutput::Silent,
                Err(error) => return undecided(&state.id, &error),
            };
        }
        tracing::warn!(id = state.id, "a stop was overtaken too often");
        HookOutput::Notice(notice::overtaken(&state.id))
    }
}

/// The answer to a Stop whose loop or pipeline cannot be read: the loop stays as it is.
fn undecided(id: &str, error: &StoreError) -> HookOutput {
    tracing::warn!(%error, id, "the loop or its pipeline could not be loaded");
    HookOutput::Notice(notice::undecided(&error.to_string()))
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
    let elsewhere =
        loop_elsewhere::active_loop_elsewhere(call.engine, &call.caller, &call.project, session)
            .await;
    Ok(elsewhere.map_or(last, |(project, state)| {
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
        waiting_stops: call.engine.ledger().session(&input.session_id).count_stops_with_tasks(
            &input.running_tasks(),
            call.delivery.start_ms,
            now_ms(),
        ),
        now_ms: now_ms(),
        continuations_max: continuations_max(&call.caller.env)
            .filter(|_| input.host.profile().has_continuation_cap),
    }
}

/// The host's cap of continuations without a tool call; hooks inherit the host's environment.
fn continuations_max(env: &BTreeMap<String, String>) -> Option<u32> {
    let set = env.get(BLOCK_CAP).and_then(|text| text.trim().parse().ok());
    Some(set.unwrap_or(HOST_CONTINUATIONS_MAX)).filter(|max| *max > 0)
}

/// A decided Stop and everything to save with it.
struct DecidedStop {
    engine: Arc<Engine>,
    project: Project,
    session: String,
    /// The number of the session's last measurement before the evidence was gathered.
    last_measurement: u64,
    before: LoopState,
    next: LoopState,
    /// The judges' report, if they were asked.
    judged: Option<JudgeReport>,
    /// Consecutive rejections by the judges.
    rejections: u32,
    /// The Stop's changes to the pipeline of the loop.
    plan: Option<MeasuredPlan>,
    /// The judges' rulings.
    review: ReviewReading,
}

/// Why a decision was not saved.
enum StopSaveError {
    /// The loop or its pipeline was changed while it was measured.
    Overtaken,
    Failed(String),
}

impl DecidedStop {
    /// Saves the decision, and only then writes into the tree, because an overtaken decision must
    /// leave no trace.
    async fn save(self) -> Result<PlanNotices, StopSaveError> {
        let Self {
            engine,
            project,
            session,
            last_measurement,
            before,
            next,
            judged,
            rejections,
            plan,
            review,
        } = self;
        let plan = plan.map(|plan| plan.decided(&next, review));
        // A pipeline that was changed meanwhile, such as by an answer of the user, may change the decision.
        let change = plan.as_ref().map(|plan| Arc::clone(&plan.change));
        let (key, loop_next) = (&project.key, next.clone());
        match engine.store.advance_loop_and_pipeline(key, &before, loop_next, change).await {
            Ok(SaveOutcome::Saved) => {}
            Ok(SaveOutcome::Overtaken) => return Err(StopSaveError::Overtaken),
            Err(error) => {
                tracing::error!(%error, id = next.id, "the loop could not be saved");
                return Err(StopSaveError::Failed(error.to_string()));
            }
        }
        if !next.status.is_active() {
            {
                let mut ledger = engine.ledger();
                let ended = ledger.session(&session);
                ended.language = Some(MessageLanguage::English);
                ended.decisions.clear();
            }
            completed_work::remember(&engine, &project, &session, &next);
        }
        // The evidence includes their reports; a subagent's edits during the Stop may be newer.
        if let Some(session) = engine.ledger().known_session(&session) {
            session.drop_reports(last_measurement);
        }
        let mut notices = Vec::new();
        if let Some(judged) = &judged {
            let (iteration, at_ms) = (Some(next.iteration), next.updated_ms);
            let moment = JudgementContext { iteration, rejections, at_ms };
            notices = judge_run::record_judgement(&engine, &project, judged, moment).await;
        }
        let mut end = Vec::new();
        if let Some(plan) = plan {
            let saved = Box::pin(plan.write(&engine, &project, &next)).await;
            notices.extend(saved.notices);
            end = saved.end;
        }
        notices.extend(
            loop_files::write_loop_notes(&engine, &project, &iteration_summary(&next)).await,
        );
        note_stop(&engine, &project, &next, judged.as_ref()).await;
        Ok(PlanNotices { notices, end })
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
    usage: Option<&SessionUsage>,
) -> HookOutput {
    let evidence = &stop_evidence.measurement.evidence;
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
    let usage = usage.filter(|_| !next.status.is_active());
    let usage = usage.and_then(|usage| session_usage::session_usage_line(next.language(), usage));
    if let Some(line) = usage {
        text = format!("{text}\n{line}");
    }
    HookOutput::Notice(text)
}

/// Where the host shows the user no text at a Stop, the agent is held once to pass on why its loop does not
/// continue.
fn through_agent(call: &HookCall<'_>, next: &LoopState, output: HookOutput) -> HookOutput {
    let is_shown =
        call.input.host.profile().event(HookEvent::Stop).is_some_and(|row| row.has_notices);
    match output {
        HookOutput::Notice(text) if !is_shown && needs_user(next.status) => {
            let told = loops::end_notice(next);
            call.engine.ledger().session(&call.input.session_id).report_once(&told);
            HookOutput::Block(loops::to_pass_on(next.language(), &text))
        }
        output => output,
    }
}

/// True if the user must know that a loop has this status.
fn needs_user(status: Status) -> bool {
    !matches!(status, Status::Running | Status::Completed)
}

/// Adds the notices that the session has not had yet, whether the turn continues or ends.
fn with_new_notices(call: &HookCall<'_>, output: HookOutput, notices: &[String]) -> HookOutput {
    let mut ledger = call.engine.ledger();
    let session = &call.input.session_id;
    let new: Vec<&str> = notices
        .iter()
        .filter(|text| ledger.session(session).report_once(text))
        .map(String::as_str)
        .collect();
    output.with_notice(Some(new.join("\n")).filter(|text| !text.is_empty()))
}
