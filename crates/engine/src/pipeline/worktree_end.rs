//! The worktrees of a pipeline, their state, and their removal when it ends.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::branches::loop_branch::{branch_heads, is_merged, is_merged_in_part, read_git, root_in};
use crate::engine::{Engine, run_blocking};
use crate::hooks::hook_call::HookCall;
use crate::loops::workers::{close_worker, tree_content};
use crate::pipeline::pipeline_end::ended_with_loop;
use crate::project::Project;
use moai_base::limits::{WORKTREE_LEAVE_POLL_MS, WORKTREE_LEAVE_TRIES_MAX};
use moai_host::git::GitError;
use moai_host::git::branches::{self, branch_ref};
use moai_host::git::hidden_work;
use moai_host::processes::is_worked_in;
use moai_host::store::loops::LoopQuery;
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::state::{LoopState, Status};
use moai_pipeline::state::{PipelineOutcome, PipelineState};
use moai_pipeline::worktrees::{TodoWorktree, WorktreeStage};
use moai_report::agent::EditText;
use moai_report::pipeline_end::ended;
use moai_report::pipeline_worktrees::{
    self as words, TodoWorktreeStatus, TreeContent, WorktreeFolder, WorktreeHeads,
};

/// Closes the worktrees of a pipeline that has ended, and removes those that hold nothing but merged work.
pub(crate) async fn close_after_end(engine: &Engine, project: &Project, before: &PipelineState) {
    for tree in &before.worktrees {
        close_worker(engine, project, &tree.root, &tree.loop_id).await;
    }
}

/// Removes the worktree of a session that ends, if the pipeline has ended before it and everything is merged:
/// in the background, once the session's programs have left the folder.
pub(crate) fn remove_after_session(call: &HookCall<'_>) {
    let (engine, tree) = (Arc::clone(call.engine), call.project.clone());
    if !tree.key.database(&engine.dirs.state).exists() {
        return;
    }
    let job = engine.job();
    tokio::spawn(async move {
        let _job = job;
        let Some((project, held)) = ended_worktree(&engine, &tree).await else { return };
        for _ in 0..WORKTREE_LEAVE_TRIES_MAX {
            let root = tree.root.clone();
            if run_blocking(move || !is_worked_in(&root)).await.unwrap_or_default() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(WORKTREE_LEAVE_POLL_MS)).await;
        }
        close_worker(&engine, &project, &tree.root, &held.id).await;
    });
}

/// The project and the last loop of a worktree whose pipeline has ended; `None` if it is not such a worktree.
async fn ended_worktree(engine: &Engine, tree: &Project) -> Option<(Project, LoopState)> {
    let (key, root) = (&tree.key, &tree.root);
    let held = engine.store.find_loop(key, root, LoopQuery::Latest).await.ok().flatten()?;
    let which = PipelineQuery::Id(held.options.pipeline.clone()?);
    let pipeline = engine.store.find_pipeline(key, root, which).await.ok().flatten()?;
    let is_its = pipeline.worktrees.iter().any(|it| it.loop_id == held.id);
    if held.status.is_active() || pipeline.is_active() || !is_its {
        return None;
    }
    Some((main_project(tree).await?, held))
}

/// The project of a worktree: its root in the main worktree of the repository.
async fn main_project(tree: &Project) -> Option<Project> {
    let root = tree.root.clone();
    let main = read_git(move || {
        let own = branches::work_tree_status(&root)?.work_tree;
        Ok(branches::main_work_tree(&root)?.map(|main| root_in(&main, &root, &own)))
    });
    let main = main.await.ok().flatten()?;
    Some(Project { root: main, ..tree.clone() })
}

/// The stored loop of a worktree, once its pipeline has ended without it, because the daemon was killed in
/// between; `None` if the pipeline continues.
pub(crate) async fn ended_with_pipeline(
    call: &HookCall<'_>,
    state: &LoopState,
) -> Option<LoopState> {
    let (store, tree) = (&call.engine.store, &call.project);
    state.branch.as_ref()?;
    let which = PipelineQuery::Id(state.options.pipeline.clone()?);
    let pipeline = store.find_pipeline(&tree.key, &tree.root, which).await.ok().flatten()?;
    let own = pipeline.worktrees.iter().find(|own| own.loop_id == state.id)?;
    if !matches!(own.stage, WorktreeStage::Working | WorktreeStage::Closed) {
        return None;
    }
    let which = LoopQuery::Id(pipeline.loop_id.clone());
    let held = store.find_loop(&tree.key, &tree.root, which).await.ok().flatten();
    if pipeline.is_active() && held.is_none_or(|held| held.status.is_active()) {
        return None;
    }
    let main = main_project(tree).await?;
    let pipeline = Box::pin(ended_with_loop(call.engine, &main, pipeline)).await.ok()?;
    if pipeline.is_active() {
        return None;
    }
    close_worker(call.engine, &main, &tree.root, &state.id).await;
    let which = LoopQuery::Id(state.id.clone());
    store.find_loop(&tree.key, &tree.root, which).await.ok().flatten()
}

/// The active pipeline that has this root as one of its worktrees.
pub(super) async fn pipeline_of_worktree(
    engine: &Engine,
    project: &Project,
) -> Option<PipelineState> {
    let (store, key, root) = (&engine.store, &project.key, &project.root);
    let held = store.find_loop(key, root, LoopQuery::Latest).await.ok().flatten()?;
    let which = PipelineQuery::Id(held.options.pipeline?);
    let found = store.find_pipeline(key, root, which).await.ok().flatten()?;
    let has_it = found.worktrees.iter().any(|tree| tree.root == *root);
    (found.is_active() && has_it).then_some(found)
}

/// The active loop in this worktree of a pipeline, if a session other than this one has taken it.
pub(crate) async fn loop_of_other_session(
    engine: &Engine,
    project: &Project,
    session: &str,
) -> Option<(PipelineState, LoopState)> {
    let pipeline = pipeline_of_worktree(engine, project).await?;
    let tree = pipeline.working_trees().find(|tree| tree.root == project.root)?;
    let which = LoopQuery::Id(tree.loop_id.clone());
    let held = engine.store.find_loop(&project.key, &project.root, which).await.ok().flatten()?;
    let is_others = held.session_id.as_ref().is_some_and(|owner| owner != session);
    (held.status.is_active() && is_others).then_some((pipeline, held))
}

/// For a session in a worktree that another session has taken, once.
pub(crate) async fn taken_text(call: &HookCall<'_>) -> Option<EditText> {
    let HookCall { engine, project, input, .. } = call;
    if input.session_id.is_empty() {
        return None;
    }
    let (pipeline, held) = loop_of_other_session(engine, project, &input.session_id).await?;
    let text = words::worktree_taken(&pipeline, &held);
    let is_new = engine.ledger().session(&input.session_id).report_once(&text);
    is_new.then(|| EditText { text: text.clone(), notice: Some(text) })
}

/// The state of the worktrees.
pub(super) async fn worktree_statuses(
    engine: &Engine,
    project: &Project,
    pipeline: &PipelineState,
) -> Vec<TodoWorktreeStatus> {
    let mut statuses = Vec::new();
    for (at, tree) in pipeline.worktrees.iter().enumerate() {
        let which = LoopQuery::Id(tree.loop_id.clone());
        let found = engine.store.find_loop(&project.key, &tree.root, which).await;
        let held = found.ok().flatten();
        let is_last = pipeline.worktrees[at + 1..].iter().all(|later| later.root != tree.root);
        let (root, own, base) = (project.root.clone(), tree.clone(), base_of(held.as_ref()));
        // Only remains at the end need a reason.
        let has_ended = !pipeline.is_active();
        let looked = read_git(move || {
            let folder = if is_last {
                folder_of(&root, &own, has_ended)?
            } else {
                WorktreeFolder::OfLaterLoop
            };
            let tip = branches::resolve_commit(&root, &branch_ref(&own.branch))?;
            let heads = match &folder {
                WorktreeFolder::Here(_) => branch_heads(&own.root, &own.branch)?,
                _ => WorktreeHeads { has_branch: tip.is_some(), other: None },
            };
            let mut unmerged = 0;
            for commit in tip.iter().chain(heads.other.as_ref().map(|other| &other.commit)) {
                unmerged = unmerged.max(unmerged_commits(&root, commit, base.as_deref())?);
            }
            let has_merge = match (&tip, &base) {
                (Some(tip), Some(base)) if unmerged > 0 => has_merge(&root, tip, base)?,
                _ => true,
            };
            Ok((folder, heads, unmerged, has_merge))
        });
        let (folder, heads, unmerged, has_merge) = looked.await.unwrap_or_else(|error| {
            tracing::warn!(%error, branch = tree.branch, "a worktree could not be looked at");
            let heads = WorktreeHeads { has_branch: true, other: None };
            (WorktreeFolder::Here(Some(TreeContent::Uncommitted)), heads, 0, true)
        });
        let is_merged_end = match &held {
            Some(held) => is_merged_end(project, held, tree).await,
            None => false,
        };
        let (tree, state) = (tree.clone(), held);
        statuses.push(TodoWorktreeStatus {
            tree,
            state,
            folder,
            heads,
            unmerged,
            has_merge,
            is_merged_end,
        });
    }
    statuses
}

/// True if a loop ended with its work merged. Its session may continue and commit more on the branch, which
/// is then not part of the loop's work.
pub(super) async fn is_merged_end(
    project: &Project,
    held: &LoopState,
    tree: &TodoWorktree,
) -> bool {
    let Some(base) = held.options.base_branch.as_deref() else { return false };
    match held.status {
        // An autonomous loop completes when its branch is merged.
        Status::Completed => true,
        Status::CompletedUnverified => {
            is_merged(project, &tree.branch, base).await
                || is_merged_in_part(project, &tree.branch, base).await
        }
        _ => false,
    }
}

/// The branch into which a loop is merged.
fn base_of(held: Option<&LoopState>) -> Option<String> {
    held.and_then(|held| held.options.base_branch.clone())
}

/// Number of commits up to this one that the base lacks; that HEAD lacks, if the base no longer exists.
fn unmerged_commits(root: &Path, tip: &str, base: Option<&str>) -> Result<usize, GitError> {
    let base = base.map(|base| branches::resolve_commit(root, &branch_ref(base)));
    let base = base.transpose()?.flatten().or_else(|| moai_host::git::head_commit(root));
    base.map_or(Ok(0), |base| branches::commits_beyond(root, &base, tip))
}

/// True if the branch `base` contains a merge of a branch with this commit.
fn has_merge(root: &Path, tip: &str, base: &str) -> Result<bool, GitError> {
    let base = branches::resolve_commit(root, &branch_ref(base))?;
    base.map_or(Ok(false), |base| branches::has_merged_part(root, &base, tip))
}

fn folder_of(
    root: &Path,
    tree: &TodoWorktree,
    has_ended: bool,
) -> Result<WorktreeFolder, GitError> {
    if !tree.root.is_dir() {
        let now = branches::checked_out_at(root, &tree.branch)?;
        return Ok(now.map_or(WorktreeFolder::Gone, WorktreeFolder::MovedTo));
    }
    if !hidden_work::is_of_same_repository(root, &tree.root) {
        return Ok(WorktreeFolder::Replaced);
    }
    let status = branches::work_tree_status(&tree.root)?;
    let content = tree_content(root, &tree.root, &status)?;
    let is_used = content.is_none() && has_ended && is_worked_in(&tree.root);
    Ok(WorktreeFolder::Here(if is_used { Some(TreeContent::InUse) } else { content }))
}

/// A branch into which worktrees are merged, although HEAD of the project lacks its work.
pub(super) struct MissedBase {
    pub(super) base: String,
    /// The branch that is checked out; `None` if HEAD is detached.
    pub(super) branch: Option<String>,
}

/// The base of a worktree with merged work that HEAD of the project does not contain: a measurement there
/// would not cover that work.
pub(super) async fn missed_base(
    project: &Project,
    statuses: &[TodoWorktreeStatus],
) -> Option<MissedBase> {
    let branches = statuses.iter().filter_map(|status| {
        let may_be_merged =
            matches!(status.tree.stage, WorktreeStage::Working | WorktreeStage::Merged);
        let base = base_of(status.state.as_ref()).filter(|_| may_be_merged)?;
        Some((status.tree.branch.clone(), base))
    });
    let branches: Vec<(String, String)> = branches.collect();
    if branches.is_empty() {
        return None;
    }
    let root = project.root.clone();
    let missed = read_git(move || {
        let status = branches::work_tree_status(&root)?;
        let Some(head) = &status.head else { return Ok(None) };
        for (branch, base) in branches {
            if let Some(merged) = merged_commit(&root, &branch, &base)?
                && !branches::contains_commit(&root, head, &merged)?
            {
                return Ok(Some(MissedBase { base, branch: status.branch }));
            }
        }
        Ok(None)
    });
    missed.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the branch of the project could not be compared");
        None
    })
}

/// The last commit of a branch that its base contains, merged or from before its work.
fn merged_commit(root: &Path, branch: &str, base: &str) -> Result<Option<String>, GitError> {
    let tip = branches::resolve_commit(root, &branch_ref(branch))?;
    let base = branches::resolve_commit(root, &branch_ref(base))?;
    match (tip, base) {
        (Some(tip), Some(base)) => branches::shared_commit(root, &tip, &base),
        _ => Ok(None),
    }
}

/// For the user of a session whose last loop worked in a worktree of a pipeline that has ended since, once.
pub(crate) async fn closed_notice(call: &HookCall<'_>, last: Option<&LoopState>) -> Option<String> {
    let held = last.filter(|held| held.status == Status::Cancelled)?;
    let which = PipelineQuery::Id(held.options.pipeline.clone()?);
    let HookCall { engine, project, input, .. } = call;
    let found = engine.store.find_pipeline(&project.key, &project.root, which).await.ok()??;
    let is_it =
        |tree: &&TodoWorktree| tree.loop_id == held.id && tree.stage == WorktreeStage::Closed;
    let tree = found.worktrees.iter().find(is_it)?;
    let (root, branch) = (tree.root.clone(), tree.branch.clone());
    let heads = read_git(move || branch_heads(&root, &branch)).await;
    let heads = heads.unwrap_or(WorktreeHeads { has_branch: true, other: None });
    let text = words::worktree_closed(&found, tree, &heads);
    engine.ledger().session(&input.session_id).report_once(&text).then_some(text)
}

/// For the user: the pipeline was cancelled, and the remains of its worktrees.
pub(super) async fn cancelled_text(
    engine: &Engine,
    project: &Project,
    pipeline: &PipelineState,
) -> String {
    let statuses = worktree_statuses(engine, project, pipeline).await;
    let left = words::left_lines(pipeline, &statuses);
    [vec![ended(pipeline)], left].concat().join("\n")
}

/// For the user: the pipeline that was cancelled with its loop, and how to continue it; `None` without one.
pub(crate) async fn cancelled_with_loop(
    engine: &Engine,
    project: &Project,
    held: &LoopState,
) -> Option<String> {
    let which = PipelineQuery::Id(held.options.pipeline.clone()?);
    let found = engine.store.find_pipeline(&project.key, &project.root, which).await.ok()??;
    let is_cancelled = found.outcome == Some(PipelineOutcome::Cancelled);
    if !is_cancelled || found.loop_id != held.id {
        return None;
    }
    Some(Box::pin(cancelled_text(engine, project, &found)).await)
}
