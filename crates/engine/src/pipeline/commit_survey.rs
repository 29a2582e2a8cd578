//! Committed and uncommitted parts of a pipeline's work: the working tree, the commits since the pipeline's
//! base, and the style of the history before it.

use crate::branches::branch_merge::new_files::is_note;
use crate::branches::loop_branch::read_git;
use crate::project::Project;
use moai_base::limits::{
    COMMIT_STYLE_SUBJECTS_READ, COMMITS_MAX, SOURCE_BYTES_MAX, UNCOMMITTED_KEPT_MAX,
};
use moai_base::path::RelPath;
use moai_base::protected::foreign_folder;
use moai_host::files::read_regular_text;
use moai_host::git::base_versions::{BytesAtBase, versions_at};
use moai_host::git::branches::{self, WorkTreeStatus};
use moai_host::git::{self, GitError, history};
use moai_pipeline::approved_plan::ApprovedPlan;
use moai_pipeline::commit_proposal::CommitStyle;
use moai_pipeline::commits::{CommitSurvey, PipelineCommit, SurveyedCommit};
use moai_pipeline::plan::PlanDocument;
use moai_pipeline::state::PipelineState;
use std::path::Path;

/// The branch and the uncommitted files of a root when its pipeline begins. Without git both are
/// empty.
pub(super) async fn note_start(project: &Project, state: &mut PipelineState) {
    let root = project.root.clone();
    let found = read_git(move || {
        let status = branches::work_tree_status(&root)?;
        let files = uncommitted_files(&root, &status);
        Ok::<_, GitError>((status.branch, files))
    });
    let Ok((branch, mut files)) = found.await else { return };
    files.truncate(UNCOMMITTED_KEPT_MAX);
    state.first_branch = branch;
    state.uncommitted_at_start = files;
}

/// The commits of a pipeline and the files of its work without one. The error is a fragment for
/// people.
pub(super) async fn survey_commits(
    project: &Project,
    state: &PipelineState,
) -> Result<CommitSurvey, String> {
    let Some(base) = state.base.clone() else {
        return Err("there is no git repository".to_owned());
    };
    let (root, kept) = (project.root.clone(), state.uncommitted_at_start.clone());
    let (first_branch, plan_path) = (state.first_branch.clone(), state.plan_path());
    let needs_branch = project.config.pipeline.has_branch;
    let plan = state.approved.as_ref().map(ApprovedPlan::document);
    let todos = plan.iter().flat_map(|plan| &plan.todos);
    let named: Vec<RelPath> =
        todos.flat_map(|todo| &todo.files).filter_map(|file| RelPath::parse(file)).collect();
    let surveyed = read_git(move || {
        let status = branches::work_tree_status(&root)?;
        let mut uncommitted = uncommitted_files(&root, &status);
        uncommitted.extend(hidden_files(&root, &named)?);
        uncommitted.retain(|file| !kept.contains(file));
        uncommitted.sort();
        uncommitted.dedup();
        let plan = uncommitted.iter().position(|file| *file == plan_path);
        let plan = plan.filter(|_| differs_by_boxes(&root, &plan_path));
        let plan_with_boxes = plan.map(|at| uncommitted.remove(at));
        let gap = if !history::is_after(&root, &base)? {
            Some("HEAD does not come after the commit at which the pipeline began".to_owned())
        } else if first_branch.is_some() && status.branch.is_none() {
            Some("no branch is checked out".to_owned())
        } else {
            None
        };
        let commits = history::commits_since(&root, &base, COMMITS_MAX + 1)?;
        let subjects = history::subjects_until(&root, &base, COMMIT_STYLE_SUBJECTS_READ)?;
        let on_first_branch =
            first_branch.filter(|first| needs_branch && status.branch.as_ref() == Some(first));
        let commits = commits.into_iter().map(|commit| SurveyedCommit {
            commit: PipelineCommit::new(commit.id, &commit.message, commit.files),
            message: commit.message,
            is_merge: commit.is_merge,
        });
        let (commits, style) = (commits.collect(), CommitStyle::of_subjects(&subjects));
        Ok::<_, GitError>(CommitSurvey {
            uncommitted,
            plan_with_boxes,
            commits,
            style,
            gap,
            on_first_branch,
        })
    });
    surveyed.await.map_err(|error| error.to_string())
}

/// True if a plan differs from its commit only by the boxes that the engine sets.
fn differs_by_boxes(root: &Path, plan: &str) -> bool {
    let Some(path) = RelPath::parse(plan) else { return false };
    let now = read_regular_text(&path.under(root), SOURCE_BYTES_MAX).ok();
    let committed = git::head_text(root, &path);
    now.zip(committed).is_some_and(|(now, committed)| {
        PlanDocument::without_statuses(&now) == PlanDocument::without_statuses(&committed)
    })
}

/// Files of the work that differ from HEAD although git does not show it: files with marks in the index, and
/// ignored ones that TODOs list.
fn hidden_files(root: &Path, named: &[RelPath]) -> Result<Vec<String>, GitError> {
    let differences = git::diff_since(root, None)?.unwrap_or_default();
    let versions = versions_at(root, None, named)?.unwrap_or_default();
    let unknown = named.iter().zip(versions).filter(|(path, version)| {
        matches!(version, BytesAtBase::Absent) && path.under(root).is_file()
    });
    let different = differences.into_iter().map(|it| it.path);
    let files = different.chain(unknown.map(|(path, _)| path.clone()));
    let is_work =
        |path: &RelPath| foreign_folder(path).is_none() && !is_note(root, &path.under(root));
    Ok(files.filter(is_work).map(|path| path.to_string()).collect())
}

/// The files below the root that are work and in no commit, relative to it and sorted. Notes of loops and
/// files that tools leave are not work.
fn uncommitted_files(root: &Path, status: &WorkTreeStatus) -> Vec<String> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let untracked = status.untracked.iter().map(|path| (path, true));
    let changed = status.uncommitted.iter().map(|path| (path, false));
    let mut files = Vec::new();
    for (path, is_untracked) in untracked.chain(changed) {
        let file = status.work_tree.join(path);
        let Some(below) = RelPath::below(&root, &file) else { continue };
        let is_left = is_untracked && foreign_folder(&below).is_some();
        if !is_left && !is_note(&root, &file) {
            files.push(below.to_string());
        }
    }
    files.sort();
    files.dedup();
    files
}
