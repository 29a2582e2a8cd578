//! `pipeline resume`: continues a pipeline that ended without success, with a new loop. An approved
//! plan stays approved.

use super::pipeline_approve::freeze_plan;
use super::pipeline_call::PipelineCall;
use super::pipeline_start::start_pipeline_loop;
use crate::agent_session::named_session;
use crate::engine::now_ms;
use crate::loops::loop_cancel;
use crate::pipeline::todo_worktrees;
use moai_host::store::loops::LoopQuery;
use moai_pipeline::state::{PipelineOutcome, PipelineState};
use moai_pipeline::step::{PipelineEvent, step};
use moai_protocol::control::CommandReply;
use moai_report::agent::EditText;
use moai_report::pipeline as words;

pub(super) async fn resume(
    call: &PipelineCall<'_>,
    id: Option<String>,
    session: Option<String>,
    max_tokens: Option<u64>,
) -> Result<CommandReply, String> {
    let state = call.require(id).await?;
    match state.outcome {
        None => return Err(format!("pipeline {} is active", state.id)),
        Some(PipelineOutcome::Completed) => {
            return Err(format!("pipeline {} is completed; start a new one", state.id));
        }
        Some(_) => {}
    }
    let session = session.or_else(|| named_session(call.engine, call.caller));
    let (engine, project) = (call.engine, &call.project);
    let goal = state.goal.clone();
    let max_tokens = max_tokens.or(state.max_tokens);
    let wanted = PipelineState { max_tokens, ..state.clone() };
    let started = start_pipeline_loop(engine, project, &wanted, goal, session.as_deref()).await?;
    let loop_id = started.id;
    let (next, _) = step(&wanted, PipelineEvent::Resumed { loop_id: loop_id.clone() }, now_ms());
    let continued = async {
        if let Some(approved) = &next.approved {
            freeze_plan(call, &loop_id, approved.text(), &next.plan_path()).await?;
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
    let text = [vec![words::instructions(&next)], worktrees].concat().join("\n");
    if let Some(session) = &session {
        let text = EditText { text: text.clone(), notice: None };
        engine.ledger().session(session).start_text = Some(text);
    }
    call.reply(&next, text).await
}
