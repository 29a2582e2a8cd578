//! `loop cancel`: idempotent, takes effect at once, touches no user file.

use std::convert::Infallible;

use crate::engine::{Engine, now_ms};
use crate::loops::loop_selection::{
    LoopChangeError, change_loop, failure_reply, loop_reply, no_loop_reply, no_such_loop,
    select_loop_to_change,
};
use crate::person;
use crate::pipeline::pipeline_of_loop::keep_untold;
use crate::pipeline::worktree_end::cancelled_with_loop;
use crate::project::Project;
use moai_host::store::StoreError;
use moai_host::store::loops::LoopQuery;
use moai_loops::control;
use moai_loops::state::LoopState;
use moai_protocol::control::{CallerContext, CommandReply, LoopSelector};
use moai_report::loops;

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    select: LoopSelector,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    let which = match select_loop_to_change(engine, &project, &select, caller).await {
        Ok(which) => which,
        Err(reply) => return reply,
    };
    let is_by_agent = person::is_agent(engine, caller) || caller.is_tool();
    let act = if is_by_agent { control::cancel_loop_by_agent } else { control::cancel_loop };
    let before = engine.store.find_loop(&project.key, &project.root, which.clone()).await;
    let was_active = before.ok().flatten().is_some_and(|held| held.status.is_active());
    match cancel_loop_as(engine, &project, which, act).await {
        Ok(Some(state)) => {
            let text = cancel_notice(engine, &project, &state).await;
            if was_active && !is_by_agent {
                tell_agent(engine, &project, &state).await;
            }
            loop_reply(&state, caller, select.json, format!("{text}\n"))
        }
        Ok(None) if select.id.is_some() => no_such_loop(),
        Ok(None) => no_loop_reply(caller, select.json, "no loop is active"),
        Err(LoopChangeError::Store(StoreError::Unreadable { id, .. })) => {
            set_unreadable_aside(engine, caller, &project, &select, id).await
        }
        Err(error) => failure_reply(&error),
    }
}

/// Keeps the cancellation for the agent of the loop, whose next hook tells it.
async fn tell_agent(engine: &Engine, project: &Project, state: &LoopState) {
    let Some(session) = &state.session_id else { return };
    let of_pipeline = cancelled_with_loop(engine, project, state).await;
    let text = [Some(loops::cancelled_by_user(state)), of_pipeline];
    let text = text.into_iter().flatten().collect::<Vec<_>>().join("\n");
    engine.ledger().session(session).decisions.push(text.clone());
    keep_untold(engine, project, state, text).await;
}

/// For the user: the loop was cancelled, and its pipeline with it.
pub(crate) async fn cancel_notice(engine: &Engine, project: &Project, state: &LoopState) -> String {
    let of_pipeline = cancelled_with_loop(engine, project, state).await;
    [Some(loops::end_notice(state)), of_pipeline]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n")
}

/// Cancels a loop whose stored state cannot be read: cancelling must always work.
async fn set_unreadable_aside(
    engine: &Engine,
    caller: &CallerContext,
    project: &Project,
    select: &LoopSelector,
    id: String,
) -> CommandReply {
    let text = format!("loop {id} could not be read and is set aside");
    match engine.store.set_loop_aside(&project.key, id).await {
        Ok(()) => no_loop_reply(caller, select.json, &text),
        Err(error) => failure_reply(&error),
    }
}

/// Cancels a loop; one that has ended keeps its status.
pub(crate) async fn cancel_loop(
    engine: &Engine,
    project: &Project,
    which: LoopQuery,
) -> Result<Option<LoopState>, LoopChangeError> {
    cancel_loop_as(engine, project, which, control::cancel_loop).await
}

async fn cancel_loop_as(
    engine: &Engine,
    project: &Project,
    which: LoopQuery,
    act: fn(&LoopState, u64) -> LoopState,
) -> Result<Option<LoopState>, LoopChangeError> {
    let cancelled = |state: &LoopState| Ok::<_, Infallible>(act(state, now_ms()));
    change_loop(engine, project, which, cancelled).await
}
