//! `pipeline …`: a goal, a plan that the user approves, and a loop that works through it. The loop holds the
//! agent; `pipeline::step` decides which parts of the plan are missing.

mod approved_exam;
pub(crate) mod commands;
mod commit_check;
mod commit_survey;
mod escalations;
mod gate_files;
mod gates;
mod helper_stop;
mod learnings_files;
pub(crate) mod person_answer;
mod pipeline_approve;
mod pipeline_call;
pub(crate) mod pipeline_end;
pub(crate) mod pipeline_of_loop;
mod pipeline_report;
mod pipeline_resume;
pub(crate) mod pipeline_start;
pub(crate) mod pipeline_stop;
mod plan_commands;
mod plan_documents;
mod sandbox;
mod saved_step;
pub(crate) mod shell_undo;
pub(crate) mod shell_writes;
pub(crate) mod todo_worktrees;
pub(crate) mod worker_stop;
pub(crate) mod worktree_end;
pub(crate) mod write_guard;

use std::sync::Arc;

use crate::engine::Engine;
use crate::loops::loop_cancel;
use crate::loops::loop_selection::{failure_reply, select_loop_to_change};
use crate::pipeline::pipeline_call::PipelineCall;
use crate::pipeline::pipeline_start::PipelineStart;
use crate::project::Project;
use moai_protocol::control::{
    CallerContext, CommandReply, LoopSelector, PipelineOperation, PipelineRequest,
};
use moai_report::pipeline_end::ended;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: PipelineRequest,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    let call = PipelineCall { engine, caller, project, json: request.json };
    let answered = match request.action {
        PipelineOperation::Start { kind, goal, session, solo, workers, max_tokens } => {
            match pipeline_start::kind_of(&kind) {
                Ok(kind) => {
                    let request = PipelineStart { kind, goal, solo, workers, max_tokens };
                    pipeline_start::start(&call, request, session).await
                }
                Err(reason) => Err(reason),
            }
        }
        PipelineOperation::Approve { id, proof } => {
            Box::pin(pipeline_approve::approve_by_command(&call, id, &proof)).await
        }
        PipelineOperation::Answer { id, name, is_yes, proof } => {
            person_answer::answer_by_command(&call, id, &name, is_yes, &proof).await
        }
        PipelineOperation::Status { id } => pipeline_report::status(&call, id).await,
        PipelineOperation::Plan { id } => pipeline_report::approved_text(&call, id).await,
        PipelineOperation::Report { id } => pipeline_report::report(&call, id).await,
        PipelineOperation::PullRequest { id, create } => {
            pipeline_report::pull_request(&call, id, create).await
        }
        PipelineOperation::Cancel { id } => cancel(&call, id).await,
        PipelineOperation::Resume { id, session, max_tokens } => {
            let is_by_agent = call.is_by_agent();
            Box::pin(pipeline_resume::resume(&call, id, session, max_tokens, is_by_agent)).await
        }
    };
    answered.unwrap_or_else(|reason| failure_reply(&reason))
}

/// Cancels the loop of a pipeline, which ends the pipeline. One that has ended keeps its state.
async fn cancel(call: &PipelineCall<'_>, id: Option<String>) -> Result<CommandReply, String> {
    let state = call.require(id).await?;
    if !state.is_active() {
        return call.reply(&state, ended(&state)).await;
    }
    let select = LoopSelector { id: Some(state.loop_id.clone()), ..LoopSelector::default() };
    let which = match select_loop_to_change(call.engine, &call.project, &select, call.caller).await
    {
        Ok(which) => which,
        Err(reply) => return Ok(reply),
    };
    let cancelled = loop_cancel::cancel_loop(call.engine, &call.project, which).await;
    cancelled.map_err(|error| error.to_string())?;
    let state = call.require(Some(state.id)).await?;
    let text = worktree_end::cancelled_text(call.engine, &call.project, &state).await;
    call.tell_agent(&state, text.clone()).await;
    call.reply(&state, text).await
}
