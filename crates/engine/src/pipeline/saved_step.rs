//! A step of a pipeline that is taken again when another call has changed the pipeline meanwhile.

use crate::engine::{Engine, now_ms};
use crate::project::Project;
use moai_base::limits::STOP_TRIES_MAX;
use moai_host::store::loops::SaveOutcome;
use moai_host::store::pipelines::PipelineQuery;
use moai_pipeline::state::PipelineState;
use moai_pipeline::step::{PipelineDecision, PipelineEvent, step};

/// A step that is saved.
#[derive(Debug)]
pub(super) struct SavedStep {
    /// The pipeline after it.
    pub(super) next: PipelineState,
    pub(super) decisions: Vec<PipelineDecision>,
}

/// Takes a step and saves it. `None` if the pipeline or its loop ended meanwhile, or if the store fails,
/// which is logged.
pub(super) async fn save_step(
    engine: &Engine,
    project: &Project,
    mut before: PipelineState,
    event: PipelineEvent,
) -> Option<SavedStep> {
    for _ in 0..STOP_TRIES_MAX {
        let (next, decisions) = step(&before, event.clone(), now_ms());
        match engine.store.advance_pipeline(&project.key, &before, next.clone()).await {
            Ok(SaveOutcome::Saved) => return Some(SavedStep { next, decisions }),
            Ok(SaveOutcome::Overtaken) => {}
            Err(error) => {
                tracing::warn!(%error, id = next.id, "a step of a pipeline was not saved");
                return None;
            }
        }
        let which = PipelineQuery::Id(before.id.clone());
        let found = engine.store.find_pipeline(&project.key, &project.root, which).await;
        before = found.ok()?.filter(|now| now.is_active() && now.loop_id == before.loop_id)?;
    }
    tracing::warn!(id = before.id, "a step of a pipeline was overtaken too often");
    None
}
