//! The end of a pipeline, which comes with the end of its loop, however that ended.

use crate::engine::{Engine, now_ms};
use crate::pipeline::saved_step::save_step;
use crate::pipeline::worktree_end::close_after_end;
use crate::project::Project;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::state::{LoopState, Status};
use moai_pipeline::ending::LoopEnding;
use moai_pipeline::state::PipelineState;
use moai_pipeline::step::{PipelineEvent, step};

/// Result of the loop; `None` while it is active.
pub(crate) fn loop_ending(state: &LoopState) -> Option<LoopEnding> {
    match state.status {
        Status::Running | Status::Paused => None,
        Status::Completed => Some(LoopEnding::Completed),
        Status::CompletedUnverified => Some(LoopEnding::Unverified(state.note.clone())),
        Status::Cancelled => Some(LoopEnding::Cancelled),
        Status::Failed => Some(LoopEnding::Failed(state.note.clone())),
        status => Some(LoopEnding::Limit(status)),
    }
}

/// Ends the pipeline of a loop that was ended by a command. A failure is only logged: the next start
/// ends the pipeline then.
pub(crate) async fn end_with_loop(engine: &Engine, project: &Project, state: &LoopState) {
    let (Some(id), Some(ending)) = (&state.options.pipeline, loop_ending(state)) else { return };
    let which = PipelineQuery::Id(id.clone());
    let found = engine.store.find_pipeline(&project.key, &project.root, which).await;
    let before = match found {
        Ok(Some(before)) if before.loop_id == state.id && before.is_active() => before,
        Ok(_) => return,
        Err(error) => return tracing::warn!(%error, id, "a pipeline was not ended"),
    };
    let event = PipelineEvent::LoopEnded(ending);
    Box::pin(save_step(engine, project, before.clone(), event)).await;
    Box::pin(close_after_end(engine, project, &before)).await;
}

/// The pipeline; one whose loop has ended without it, because the daemon was killed in between, ends now.
pub(super) async fn ended_with_loop(
    engine: &Engine,
    project: &Project,
    state: PipelineState,
) -> Result<PipelineState, String> {
    if !state.is_active() {
        return Ok(state);
    }
    let which = LoopQuery::Id(state.loop_id.clone());
    let held = engine.store.find_loop(&project.key, &project.root, which).await;
    match held.map_err(|error| error.to_string())? {
        Some(held) if !held.status.is_active() => {
            end_without_loop(engine, project, &state, Some(&held)).await
        }
        _ => Ok(state),
    }
}

/// Ends an active pipeline whose loop has ended or no longer exists; returns its new state.
pub(super) async fn end_without_loop(
    engine: &Engine,
    project: &Project,
    before: &PipelineState,
    held: Option<&LoopState>,
) -> Result<PipelineState, String> {
    let ending = held.and_then(loop_ending).unwrap_or(LoopEnding::Gone);
    let (next, _) = step(before, PipelineEvent::LoopEnded(ending), now_ms());
    let saved = engine.store.advance_pipeline(&project.key, before, next.clone()).await;
    if saved.map_err(|error| error.to_string())? == SaveOutcome::Saved {
        Box::pin(close_after_end(engine, project, before)).await;
        return Ok(next);
    }
    // Changed meanwhile, such as by `pipeline resume`: the stored state is the true one.
    let which = PipelineQuery::Id(before.id.clone());
    let found = engine.store.find_pipeline(&project.key, &project.root, which).await;
    let found = found.map_err(|error| error.to_string())?;
    found.ok_or_else(|| format!("pipeline {} no longer exists", before.id))
}
