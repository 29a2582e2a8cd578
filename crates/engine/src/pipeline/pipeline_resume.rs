//! `pipeline resume`: continues a pipeline that ended without success, with a new loop. An approved plan
//! stays approved, and the exam that was frozen with it stays in use.

use super::pipeline_call::PipelineCall;
use super::pipeline_start::start_pipeline_loop;
use crate::agent_session::named_session;
use crate::engine::now_ms;
use crate::ledger::PendingStart;
use crate::loops::loop_cancel;
use crate::loops::loop_selection::change_loop;
use crate::pipeline::approved_exam;
use crate::pipeline::todo_worktrees;
use moai_host::store::loops::LoopQuery;
use moai_loops::state::{LoopState, Status};
use moai_pipeline::state::{PipelineOutcome, PipelineState};
use moai_pipeline::step::{PipelineEvent, step};
use moai_protocol::control::CommandReply;
use moai_report::pipeline as words;
use moai_report::pipeline_exam::{exam_is_gone, not_ended, resumed_by_person};

pub(super) async fn resume(
    call: &PipelineCall<'_>,
    id: Option<String>,
    session: Option<String>,
    max_tokens: Option<u64>,
    is_by_agent: bool,
) -> Result<CommandReply, String> {
    let state = call.require(id).await?;
    let session = session.or_else(|| named_session(call.engine, call.caller));
    match state.outcome {
        None => {
            let held = call
                .held(&state)
                .await
                .ok_or_else(|| format!("pipeline {} is active", state.id))?;
            return Err(not_ended(&state, &held, session.as_deref()));
        }
        Some(PipelineOutcome::Completed) => {
            return Err(format!("pipeline {} is completed; start a new one", state.id));
        }
        Some(_) => {}
    }
    if is_by_agent && call.held(&state).await.is_some_and(|held| held.status == Status::Gaming) {
        return Err(resumed_by_person(&state));
    }
    cancel_forgotten(call, &state).await?;
    let (engine, project) = (call.engine, &call.project);
    let goal = state.goal.clone();
    let max_tokens = max_tokens.or(state.max_tokens);
    let wanted = PipelineState { max_tokens, ..state.clone() };
    let started = start_pipeline_loop(engine, project, &wanted, goal, session.as_deref()).await?;
    let loop_id = started.id;
    let (next, _) = step(&wanted, PipelineEvent::Resumed { loop_id: loop_id.clone() }, now_ms());
    let continued = async {
        if next.approved.is_some() {
            continue_exam(call, &state, &loop_id).await?;
        }
        call.save(&state, &next).await
    };
    if let Err(reason) = continued.await {
        let which = LoopQuery::Id(loop_id);
        if let Err(error) = loop_cancel::cancel_loop(engine, project, which).await {
            tracing::warn!(%error, "the loop of a pipeline that was not resumed was not cancelled");
        }
        return Err(reason);
    }
    let (next, worktrees) = todo_worktrees::worktree_lines(call, next).await;
    if let Some(session) = &session {
        let start = PendingStart::OfLoop { more: worktrees.join("\n") };
        engine.ledger().session(session).pending_start = Some(start);
    }
    let text = [vec![words::instructions(&next)], worktrees].concat().join("\n");
    call.reply(&next, text).await
}

/// Ends loops that an interrupted `resume` of this pipeline has left.
async fn cancel_forgotten(call: &PipelineCall<'_>, state: &PipelineState) -> Result<(), String> {
    let (engine, project) = (call.engine, &call.project);
    let active = engine.store.active_loops(&project.key, &project.root).await;
    for (id, _) in active.map_err(|error| error.to_string())? {
        let which = LoopQuery::Id(id);
        let held = engine.store.find_loop(&project.key, &project.root, which.clone()).await;
        let held = held.map_err(|error| error.to_string())?;
        if held.is_some_and(|held| held.options.pipeline.as_ref() == Some(&state.id)) {
            let cancelled = loop_cancel::cancel_loop(engine, project, which).await;
            cancelled.map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Lets the exam of the pipeline's last loop decide in its new one, in which its changes count from the same
/// commit.
async fn continue_exam(
    call: &PipelineCall<'_>,
    state: &PipelineState,
    loop_id: &str,
) -> Result<(), String> {
    let (engine, project) = (call.engine, &call.project);
    let names = approved_exam::continue_exam(engine, project, &state.loop_id, loop_id).await;
    let names = names.map_err(|error| error.to_string())?;
    let names = names.ok_or_else(|| exam_is_gone(state))?;
    let which = LoopQuery::Id(loop_id.to_owned());
    let changed = change_loop(engine, project, which, |held: &LoopState| {
        let (checks, base) = (names.clone(), state.base.clone().or_else(|| held.base.clone()));
        Ok::<_, String>(LoopState { checks, base, updated_ms: now_ms(), ..held.clone() })
    });
    changed.await.map(drop).map_err(|error| error.to_string())
}
