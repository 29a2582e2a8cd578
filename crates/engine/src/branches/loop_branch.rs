//! The branch of an autonomous loop: where it may start, its creation, and the commit from which its
//! changes count.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::branches::git_program::{git_message, run_git};
use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use moai_host::git::GitError;
use moai_host::git::branches::{self, WorkTreeStatus, branch_ref};
use moai_host::git::checkpoint::is_git_managed;
use moai_host::git::{foreign_commits, hidden_work};
use moai_host::programs::CommandOutcome;
use moai_host::store::loops::LoopQuery;
use moai_loops::charter::Charter;
use moai_loops::framework::MessageLanguage;
use moai_loops::state::LoopState;
use moai_report::merging::{self as words, BranchRefusal, OtherHead};
use moai_report::pipeline_worktrees::WorktreeHeads;

/// Prefix of the branch names of loops.
const PREFIX: &str = "gulf/auto-";

/// The branch of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoopBranch {
    pub(crate) name: String,
    /// The branch it started from and is merged into.
    pub(crate) base: String,
    /// Creation time in milliseconds since the epoch; newer untracked files belong to the loop.
    pub(crate) created_ms: u64,
    /// The language of the tasks before its merge.
    pub(crate) language: MessageLanguage,
}

/// Creates the branch `name` from `base`, or from the current branch, and checks it out. Keeps uncommitted
/// changes.
pub(crate) async fn create_branch(
    project: &Project,
    name: &str,
    base: Option<&str>,
    now_ms: u64,
) -> Result<LoopBranch, String> {
    let (status, base) = branch_start(project, base).await?;
    let mut arguments = vec!["switch", "--quiet", "--no-track", "--create", name];
    let start = branch_ref(&base);
    if status.branch.as_deref() != Some(&base) {
        arguments.push(&start);
    }
    let run = run_git(project, &project.root, &arguments).await;
    // Git reports a failed switch also when only the hook that runs after it failed.
    if run.outcome == CommandOutcome::Passed || is_checked_out(project, name).await {
        let language = MessageLanguage::default();
        return Ok(LoopBranch { name: name.to_owned(), base, created_ms: now_ms, language });
    }
    Err(words::branch_refusal(&BranchRefusal::Git(&git_message(&run))))
}

/// Deletes an unused branch and sets HEAD back to where it was, on a branch or detached.
pub(crate) async fn undo_branch(project: &Project, branch: &LoopBranch) {
    if !is_checked_out(project, &branch.name).await {
        return;
    }
    let root = &project.root;
    run_git(project, root, &["checkout", "--quiet", "-"]).await;
    // Without a reflog, git does not know the previous place.
    if is_checked_out(project, &branch.name).await {
        run_git(project, root, &["switch", "--quiet", &branch.base]).await;
    }
    run_git(project, root, &["branch", "--quiet", "-D", &branch.name]).await;
}

async fn is_checked_out(project: &Project, name: &str) -> bool {
    let root = project.root.clone();
    let status = read_git(move || branches::work_tree_status(&root)).await;
    status.is_ok_and(|status| status.branch.as_deref() == Some(name))
}

/// The base of a new loop: `named` if given; else, on the merged branch of an ended loop, the branch it was
/// merged into; `None` means the current branch. The error is the refusal on an unmerged or active branch of
/// a loop.
pub(crate) async fn next_base(
    engine: &Engine,
    project: &Project,
    named: Option<String>,
) -> Result<Option<String>, String> {
    let root = project.root.clone();
    let status = read_git(move || branches::work_tree_status(&root)).await.unwrap_or_default();
    let (None, Some(present)) = (&named, status.branch) else { return Ok(named) };
    // If the loops cannot be read, branch names are the only evidence.
    let loops = engine.store.list_loops(&project.key).await.unwrap_or_default();
    let mut base = present.clone();
    for _ in 0..=loops.len() {
        let own = loops.iter().find(|state| state.branch.as_deref() == Some(base.as_str()));
        if own.is_none() && !base.starts_with(PREFIX) {
            return Ok((base != present).then_some(base));
        }
        let ended = own.filter(|state| !state.status.is_active());
        let Some(target) = ended.and_then(|state| state.options.base_branch.clone()) else {
            break;
        };
        if !is_merged(project, &base, &target).await {
            break;
        }
        base = target;
    }
    Err(words::branch_refusal(&BranchRefusal::OfLoop(&present)))
}

/// True if the base has all commits of a branch.
pub(crate) async fn is_merged(project: &Project, branch: &str, base: &str) -> bool {
    compare_branches(project, branch, base, |root, tip, base| {
        branches::contains_commit(root, base, tip)
    })
    .await
}

/// True if work of a branch was merged into its base, even if the branch has new commits since.
pub(crate) async fn is_merged_in_part(project: &Project, branch: &str, base: &str) -> bool {
    compare_branches(project, branch, base, |root, tip, base| {
        branches::has_merged_part(root, base, tip)
    })
    .await
}

/// Asks git about the commits of a branch and of its base; false if one of them no longer exists.
async fn compare_branches(
    project: &Project,
    branch: &str,
    base: &str,
    ask: impl FnOnce(&Path, &str, &str) -> Result<bool, GitError> + Send + 'static,
) -> bool {
    let (root, branch, base) = (project.root.clone(), branch_ref(branch), branch_ref(base));
    let answer = read_git(move || {
        let (tip, base) =
            (branches::resolve_commit(&root, &branch)?, branches::resolve_commit(&root, &base)?);
        match (tip, base) {
            (Some(tip), Some(base)) => ask(&root, &tip, &base),
            _ => Ok(false),
        }
    });
    answer.await.unwrap_or_default()
}

/// Refuses a second loop branch in one worktree, because one of the loops would lose its files.
pub(crate) async fn ensure_no_other_branch(
    engine: &Engine,
    project: &Project,
) -> Result<(), String> {
    let (store, key, root) = (&engine.store, &project.key, &project.root);
    let active = store.active_loops(key, root).await.map_err(|error| error.to_string())?;
    for (id, _) in active {
        let other = store.find_loop(key, root, LoopQuery::Id(id)).await;
        let other = other.map_err(|error| error.to_string())?;
        if let Some(LoopState { id, branch: Some(branch), .. }) = &other {
            return Err(words::branch_refusal(&BranchRefusal::Taken { id, branch }));
        }
    }
    Ok(())
}

/// The starting point of a loop's branch: the status of the working tree, and the base branch. The error is
/// the refusal.
pub(crate) async fn branch_start(
    project: &Project,
    base: Option<&str>,
) -> Result<(WorkTreeStatus, String), String> {
    let root = project.root.clone();
    let requested = base.map(str::to_owned);
    let found = read_git(move || {
        if !is_git_managed(&root)? {
            return Ok(None);
        }
        let status = branches::work_tree_status(&root)?;
        let base = requested.or_else(|| status.branch.clone());
        let named = base.as_deref().filter(|name| branches::is_branch_name(name));
        let commit = match named {
            Some(name) => branches::resolve_commit(&root, &branch_ref(name))?,
            None => None,
        };
        Ok(Some((status, base, commit)))
    });
    let Some((status, base, commit)) = found.await.map_err(|error| error.to_string())? else {
        return Err(words::branch_refusal(&BranchRefusal::NoGit));
    };
    let refusal = match (&status, &base) {
        (WorkTreeStatus { head: None, .. }, _) => BranchRefusal::NoCommit,
        (_, None) => BranchRefusal::Detached,
        (_, Some(base)) if commit.is_none() => BranchRefusal::NoBase(base),
        (WorkTreeStatus { unfinished: Some(operation), .. }, _) => {
            BranchRefusal::Unfinished(operation)
        }
        (WorkTreeStatus { conflicts, .. }, _) if !conflicts.is_empty() => {
            BranchRefusal::Conflicts(conflicts)
        }
        (_, Some(base)) => {
            let base = base.clone();
            return Ok((status, base));
        }
    };
    Err(words::branch_refusal(&refusal))
}

/// Everything that keeps the commits of a loop's branch reachable, as seen from its worktree.
pub(crate) fn branch_heads(root: &Path, branch: &str) -> Result<WorktreeHeads, GitError> {
    let status = branches::work_tree_status(root)?;
    let has_branch = branches::resolve_commit(root, &branch_ref(branch))?.is_some();
    if has_branch && status.branch.as_deref() == Some(branch) {
        return Ok(WorktreeHeads { has_branch, other: None });
    }
    let is_deleted = status.head.is_none();
    let commit = if is_deleted { hidden_work::last_head(root)? } else { status.head };
    let branch = status.branch.filter(|_| !is_deleted);
    let other = commit.map(|commit| OtherHead { commit, branch, is_deleted });
    Ok(WorktreeHeads { has_branch, other })
}

/// The root in a worker's tree: at the same relative path as the project's root in its own tree.
pub(crate) fn root_in(tree: &Path, own: &Path, own_tree: &Path) -> PathBuf {
    // Joining an empty path would add a slash, and the store would treat it as another root.
    let below = own.strip_prefix(own_tree).ok().filter(|below| !below.as_os_str().is_empty());
    below.map_or_else(|| tree.to_path_buf(), |below| tree.join(below))
}

/// The branch name of a new loop.
pub(crate) fn branch_name(loop_id: &str, now_ms: u64) -> String {
    let id = loop_id.strip_prefix("loop-").unwrap_or(loop_id);
    format!("{PREFIX}{}-{id}", now_ms / 1_000)
}

/// The commit after which changes belong to a loop: its start, or on the loop's own branch the
/// newest merged commit of the base, if all commits up to there are foreign. On another branch, or
/// if git's data is unusable, it is the start, so that no change is left out.
pub(crate) async fn loop_base_commit(project: &Project, charter: &Charter) -> Option<String> {
    let start = charter.base.clone()?;
    let (Some(_), Some(base)) = (&charter.branch, charter.base_branch.clone()) else {
        return Some(start);
    };
    let (root, from) = (project.root.clone(), start.clone());
    let since = read_git(move || {
        let remote = branches::upstream_remote(&root, &base)?;
        foreign_commits::own_changes_base(&root, &from, &base, remote.as_deref())
    });
    match since.await {
        Ok(since) => Some(since),
        Err(error) => {
            tracing::warn!(%error, id = charter.id, "changes count from the start of the loop");
            Some(start)
        }
    }
}

/// Reads git's data off the event loop.
pub(crate) async fn read_git<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, GitError> {
    run_blocking(read)
        .await
        .unwrap_or_else(|| Err(GitError { detail: "internal error".to_owned(), remedy: None }))
}
