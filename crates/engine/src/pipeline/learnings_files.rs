//! Documents that a full pipeline leaves for later work: `docs/learnings/FEATURE/*.md`. Existing files are
//! continued.

use std::sync::Arc;

use crate::engine::Engine;
use crate::loops::loop_files;
use crate::project::Project;
use moai_pipeline::approved_plan::ApprovedPlan;
use moai_pipeline::learnings::{
    LEARNINGS_FOLDER, LearningsEntry, LearningsFile, feature_folder, with_entries,
};
use moai_pipeline::state::PipelineState;
use moai_report::pipeline as words;

/// Writes the documents of a pipeline that ended. Returns notices for the user.
pub(super) async fn write_learnings(
    engine: &Arc<Engine>,
    project: &Project,
    state: &PipelineState,
) -> Vec<String> {
    let plan = state.approved.as_ref().map(ApprovedPlan::document);
    let title = plan.and_then(|plan| plan.title.clone()).unwrap_or_else(|| state.spec.clone());
    let folder = format!("{LEARNINGS_FOLDER}/{}", feature_folder(&title, &state.spec));
    let entries = entries(state);
    let mut notices = Vec::new();
    for (file, name) in LearningsFile::NAMES {
        let (title, id, entries) = (title.clone(), state.id.clone(), entries.clone());
        let change = move |text: Option<&str>| with_entries(text, file, &title, &id, &entries);
        let path = format!("{folder}/{name}");
        notices.extend(loop_files::change_or_create(engine, project, &path, change).await);
    }
    notices
}

fn entries(state: &PipelineState) -> Vec<LearningsEntry> {
    let mut entries: Vec<LearningsEntry> = Vec::new();
    for kept in &state.learnings {
        let Some(file) = LearningsFile::from_name(&kept.file) else { continue };
        let (text, source) = (kept.text.clone(), kept.todo.clone());
        entries.push(LearningsEntry { file, text, source });
    }
    for text in words::metric_lines(state) {
        let file = LearningsFile::Metrics;
        entries.push(LearningsEntry { file, text, source: String::new() });
    }
    entries
}
