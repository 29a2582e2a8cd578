//! The pipeline that a loop belongs to, and what an agent needs to know to go on with both.

use crate::engine::Engine;
use crate::loops::session_loop::checks_of_loop;
use crate::project::Project;
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::state::LoopState;
use moai_pipeline::state::PipelineState;
use moai_report::{loops, pipeline as words};

/// The active pipeline of a loop; a loop without one costs nothing.
pub(crate) async fn pipeline_of_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Option<PipelineState> {
    let found = pipeline_with_loop(engine, project, state).await;
    found.filter(|it| it.loop_id == state.id)
}

/// The active pipeline of a loop, or the one that has this loop in a worktree.
pub(super) async fn pipeline_with_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Option<PipelineState> {
    let which = PipelineQuery::Id(state.options.pipeline.clone()?);
    match engine.store.find_pipeline(&project.key, &project.root, which).await {
        Ok(found) => found.filter(|it| {
            it.is_active() && (it.loop_id == state.id || it.todo_of_loop(&state.id).is_some())
        }),
        Err(error) => {
            tracing::warn!(%error, id = state.id, "the pipeline of a loop could not be loaded");
            None
        }
    }
}

/// What an agent needs to know to go on with a loop, and with its pipeline.
pub(crate) async fn instructions_of_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> String {
    let checks = checks_of_loop(engine, project, state).await;
    let instructions = loops::resume_instructions(state, &checks);
    match pipeline_of_loop(engine, project, state).await {
        Some(pipeline) if pipeline.needs_approval() => words::plan_instructions(&pipeline),
        Some(pipeline) if pipeline.kind.has_plan() => {
            format!("{instructions}\n{}", words::work_instructions(&pipeline))
        }
        Some(pipeline) => format!("{instructions}\n{}", words::fix_rule(&pipeline)),
        None => instructions,
    }
}
