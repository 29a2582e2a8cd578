//! The pipeline that a loop belongs to, and what an agent needs to know to go on with both.

use crate::engine::Engine;
use crate::loops::session_loop::checks_of_loop;
use crate::project::Project;
use moai_base::limits::STOP_TRIES_MAX;
use moai_host::store::StoreError;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::state::LoopState;
use moai_pipeline::state::{CheckOverride, LoopMove, PipelineState};
use moai_report::{loops, pipeline as words};

/// The active pipeline of a loop; a loop without one costs nothing. A Stop must not take one that cannot be
/// read for none: the loop would end without its plan.
pub(crate) async fn load_pipeline_of_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Result<Option<PipelineState>, StoreError> {
    let found = load_pipeline_with_loop(engine, project, state).await?;
    Ok(found.filter(|it| it.loop_id == state.id))
}

async fn load_pipeline_with_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Result<Option<PipelineState>, StoreError> {
    let Some(id) = state.options.pipeline.clone() else { return Ok(None) };
    let which = PipelineQuery::Id(id);
    let found = engine.store.find_pipeline(&project.key, &project.root, which).await?;
    let has_loop =
        |it: &PipelineState| it.loop_id == state.id || it.todo_of_loop(&state.id).is_some();
    Ok(found.filter(|it| it.is_active() && has_loop(it)))
}

/// The active pipeline of a loop; `None` also if it cannot be read, which is logged.
pub(crate) async fn pipeline_of_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Option<PipelineState> {
    let found = pipeline_with_loop(engine, project, state).await;
    found.filter(|it| it.loop_id == state.id)
}

/// The active pipeline of a loop, or the one that has this loop in a worktree; `None` also if it cannot be
/// read, which is logged.
pub(super) async fn pipeline_with_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Option<PipelineState> {
    load_pipeline_with_loop(engine, project, state).await.unwrap_or_else(|error| {
        tracing::warn!(%error, id = state.id, "the pipeline of a loop could not be loaded");
        None
    })
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

/// Keeps a text about a decision of the user for the agent of a pipeline's loop; in the store, because the
/// daemon may end first.
pub(crate) async fn keep_untold(
    engine: &Engine,
    project: &Project,
    held: &LoopState,
    text: String,
) {
    let keep = |now: &PipelineState| {
        let untold = [now.untold.clone(), vec![text.clone()]].concat();
        (now.loop_id == held.id).then(|| PipelineState { untold, ..now.clone() })
    };
    change_pipeline_of(engine, project, held, keep).await;
}

/// Records a change of what the frozen checks of a loop say in its pipeline.
pub(crate) async fn note_override(
    engine: &Engine,
    project: &Project,
    held: &LoopState,
    one: CheckOverride,
) {
    let note = |now: &PipelineState| {
        let mut next = now.clone();
        next.note_override(one.clone());
        Some(next)
    };
    change_pipeline_of(engine, project, held, note).await;
}

/// Changes the pipeline that a loop belongs to, active or not. A failure is only logged.
async fn change_pipeline_of(
    engine: &Engine,
    project: &Project,
    held: &LoopState,
    change: impl Fn(&PipelineState) -> Option<PipelineState>,
) {
    let Some(id) = &held.options.pipeline else { return };
    let (store, key) = (&engine.store, &project.key);
    for _ in 0..STOP_TRIES_MAX {
        let which = PipelineQuery::Id(id.clone());
        let now = match store.find_pipeline(key, &project.root, which).await {
            Ok(Some(now)) => now,
            Ok(None) => return,
            Err(error) => return tracing::warn!(%error, id, "a pipeline could not be loaded"),
        };
        let Some(next) = change(&now) else { return };
        match store.advance_pipeline(key, &now, next).await {
            Ok(SaveOutcome::Saved) => return,
            Ok(SaveOutcome::Overtaken) => {}
            Err(error) => return tracing::warn!(%error, id, "a pipeline was not changed"),
        }
    }
    tracing::warn!(id, "a change of a pipeline was overtaken too often");
}

/// Takes what the agent of a session has not been told about its pipeline.
pub(crate) async fn take_untold(engine: &Engine, project: &Project, session: &str) -> Vec<String> {
    if !project.key.database(&engine.dirs.state).exists() {
        return Vec::new();
    }
    let (store, key, root) = (&engine.store, &project.key, &project.root);
    let found = store.find_pipeline(key, root, PipelineQuery::Latest).await;
    let Some(pipeline) = found.ok().flatten().filter(|it| !it.untold.is_empty()) else {
        return Vec::new();
    };
    let held = store.find_loop(key, root, LoopQuery::Id(pipeline.loop_id.clone())).await;
    if held.ok().flatten().is_none_or(|held| held.session_id.as_deref() != Some(session)) {
        return Vec::new();
    }
    let told = PipelineState { untold: Vec::new(), ..pipeline.clone() };
    match store.advance_pipeline(key, &pipeline, told).await {
        Ok(SaveOutcome::Saved) => pipeline.untold,
        // The next hook tells it.
        Ok(SaveOutcome::Overtaken) | Err(_) => Vec::new(),
    }
}

/// Keeps for both sessions that the loop of a pipeline was moved from one to the other.
pub(crate) async fn keep_move(
    engine: &Engine,
    project: &Project,
    held: &LoopState,
    from: Option<String>,
) {
    let moved = LoopMove { from, to: held.session_id.clone() };
    let keep = |now: &PipelineState| {
        let moved = Some(moved.clone());
        (now.loop_id == held.id).then(|| PipelineState { moved, ..now.clone() })
    };
    change_pipeline_of(engine, project, held, keep).await;
}

/// What a session has not read about a move of the loop of a pipeline.
pub(crate) enum UnreadMove {
    /// The loop was moved to this session.
    Here,
    /// The loop, which was moved to another session.
    Away(Box<LoopState>),
}

/// Takes what a session has not read about a move.
pub(crate) async fn take_move(
    engine: &Engine,
    project: &Project,
    session: &str,
) -> Option<UnreadMove> {
    take_parts(engine, project, session, |moved| {
        moved.without_arrival(session).without_departure(session)
    })
    .await
}

/// Notes that a session reads the instructions of the loop that was moved to it. A move away from it stays
/// unread.
pub(crate) async fn note_arrival(engine: &Engine, project: &Project, session: &str) {
    take_parts(engine, project, session, |moved| moved.without_arrival(session)).await;
}

/// Takes the part of an unread move that `read` removes.
async fn take_parts(
    engine: &Engine,
    project: &Project,
    session: &str,
    read: impl Fn(LoopMove) -> LoopMove,
) -> Option<UnreadMove> {
    if !project.key.database(&engine.dirs.state).exists() {
        return None;
    }
    let (store, key, root) = (&engine.store, &project.key, &project.root);
    let found = store.find_pipeline(key, root, PipelineQuery::Latest).await.ok().flatten()?;
    let moved = found.moved.clone()?;
    let left = read(moved.clone());
    if left == moved {
        return None;
    }
    let is_here = left.to != moved.to;
    let moved = Some(left).filter(|left| *left != LoopMove::default());
    let read = PipelineState { moved, ..found.clone() };
    let saved = store.advance_pipeline(key, &found, read).await;
    // The next hook tells it.
    saved.ok().filter(|outcome| *outcome == SaveOutcome::Saved)?;
    let held = store.find_loop(key, root, LoopQuery::Id(found.loop_id.clone())).await;
    let held = held.ok().flatten().filter(|held| held.status.is_active())?;
    let is_its = held.session_id.as_deref() == Some(session);
    match (is_here, is_its) {
        (true, true) => Some(UnreadMove::Here),
        (false, false) => Some(UnreadMove::Away(Box::new(held))),
        _ => None,
    }
}
