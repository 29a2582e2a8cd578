//! The worktrees of a pipeline as they stand, and what becomes of them when it ends.

use std::collections::BTreeMap;

use crate::engine::{Engine, run_blocking};
use crate::loops::workers::close_worker;
use crate::project::Project;
use moai_host::store::loops::LoopQuery;
use moai_pipeline::state::PipelineState;
use moai_pipeline::worktrees::{TodoWorktree, WorktreeStage};
use moai_report::pipeline as pipeline_words;
use moai_report::pipeline_worktrees::{self as words, WorktreeLoop};

/// Closes the worktrees of a pipeline that has ended.
pub(crate) async fn close_after_end(engine: &Engine, project: &Project, before: &PipelineState) {
    for tree in before.working_trees() {
        close_worker(engine, project, &tree.root, &tree.loop_id).await;
    }
}

/// The loops of the worktrees at work, as they stand.
pub(super) async fn loops_of(
    engine: &Engine,
    project: &Project,
    pipeline: &PipelineState,
) -> Vec<WorktreeLoop> {
    let mut loops = Vec::new();
    for tree in pipeline.working_trees() {
        let which = LoopQuery::Id(tree.loop_id.clone());
        let found = engine.store.find_loop(&project.key, &tree.root, which).await;
        loops.push(WorktreeLoop { tree: tree.clone(), state: found.ok().flatten() });
    }
    loops
}

/// For the user: the pipeline was cancelled, and what of its worktrees stays.
pub(super) async fn cancelled_text(pipeline: &PipelineState) -> String {
    let left = words::left_lines(pipeline, &left_worktrees(pipeline).await);
    [vec![pipeline_words::cancelled(pipeline)], left].concat().join("\n")
}

/// Worktrees with work that is not merged, which stay when a pipeline has ended.
pub(super) async fn left_worktrees(pipeline: &PipelineState) -> Vec<TodoWorktree> {
    let mut trees = pipeline.worktrees.clone();
    trees.retain(|tree| matches!(tree.stage, WorktreeStage::Unmerged(_) | WorktreeStage::Closed));
    let left = run_blocking(move || {
        let mut by_root: BTreeMap<_, TodoWorktree> = BTreeMap::new();
        for tree in trees.into_iter().filter(|tree| tree.root.is_dir()) {
            by_root.insert(tree.root.clone(), tree);
        }
        by_root.into_values().collect()
    });
    left.await.unwrap_or_default()
}
