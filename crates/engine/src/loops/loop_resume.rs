//! `loop resume`: continues a paused loop, or one that ended at a limit that is now raised.

use crate::branches::loop_branch::ensure_no_other_branch;
use crate::engine::{Engine, now_ms};
use crate::loops::loop_selection::{
    LoopChangeError, change_loop, failure_reply, loop_reply, no_such_loop, select_loop_to_change,
};
use crate::person;
use crate::project::Project;
use crate::replies::REFUSED;
use moai_host::store::loops::LoopQuery;
use moai_loops::control::{self, NewLimits};
use moai_loops::state::{LoopState, Status};
use moai_protocol::control::{CallerContext, CommandReply, LoopResumeRequest};
use moai_report::loops;

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    request: LoopResumeRequest,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    let raise = NewLimits {
        max_iterations: request.max_iterations,
        max_minutes: request.max_minutes,
        max_tokens: request.max_tokens,
    };
    let which = match select_loop_to_change(engine, &project, &request.select, caller).await {
        Ok(which) => which,
        Err(reply) => return reply,
    };
    // A process that an agent detached has no terminal.
    if person::is_agent(engine, caller) || !person::has_terminal(caller) {
        let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await;
        if let Ok(Some(ended)) = found
            && ended.status == Status::Gaming
        {
            return CommandReply::failure(REFUSED, &loops::resumed_by_person(&ended.id));
        }
    }
    match resume_loop(engine, &project, which, raise).await {
        Ok(Some(state)) => {
            loop_reply(&state, caller, request.select.json, loops::loop_status(&state))
        }
        Ok(None) => no_such_loop(),
        Err(error) => failure_reply(&error),
    }
}

/// Resumes a loop. An ended loop with a branch needs the working tree for itself again.
pub(crate) async fn resume_loop(
    engine: &Engine,
    project: &Project,
    which: LoopQuery,
    raise: NewLimits,
) -> Result<Option<LoopState>, LoopChangeError> {
    let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await?;
    if let Some(ended) = found.filter(|found| !found.status.is_active()) {
        if ended.branch.is_some() {
            ensure_no_other_branch(engine, project).await.map_err(LoopChangeError::Refused)?;
        } else if let Some(pipeline) = &ended.options.pipeline {
            // The loop alone would continue without the plan.
            let refusal = loops::resumed_with_pipeline(&ended.id, pipeline);
            return Err(LoopChangeError::Refused(refusal));
        }
    }
    change_loop(engine, project, which, |state| control::resume_loop(state, raise, now_ms())).await
}
