//! The branch of an autonomous loop: where it may start, making it, and since when what is on it is
//! the loop's. It must not know how it is merged.

use super::engine::{Engine, run_blocking};
use super::git_program::{git_message, run_git};
use super::project::Project;
use crate::checks::CommandOutcome;
use crate::git::GitError;
use crate::git::branches::{self, WorkTreeStatus, branch_ref};
use crate::git::checkpoint::is_git_managed;
use crate::git::foreign_commits;
use crate::looping::state::LoopState;
use crate::report::merging::{self as words, BranchRefusal};
use crate::store::loops::LoopQuery;

/// What the names of branches of loops begin with.
const PREFIX: &str = "gulf/auto-";

/// The branch of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoopBranch {
    pub(super) name: String,
    /// The branch it started from and goes into.
    pub(super) base: String,
    /// When it was made, in milliseconds since the epoch; newer untracked files are the loop's.
    pub(super) created_ms: u64,
}

/// Makes a branch of a loop's own from `base`, or from the present one, and checks it out. Changes
/// that are not committed stay where they are.
pub(super) async fn create_branch(
    project: &Project,
    (name, base): (&str, Option<&str>),
    now_ms: u64,
) -> Result<LoopBranch, String> {
    let (standing, base) = branch_start(project, base).await?;
    let mut arguments = vec!["switch", "--quiet", "--no-track", "--create", name];
    let start = branch_ref(&base);
    if standing.branch.as_deref() != Some(&base) {
        arguments.push(&start);
    }
    let run = run_git(project, &project.root, &arguments).await;
    // A hook that fails after the switch makes git say that the switch did.
    if run.outcome == CommandOutcome::Passed || is_checked_out(project, name).await {
        return Ok(LoopBranch { name: name.to_owned(), base, created_ms: now_ms });
    }
    Err(words::branch_refusal(&BranchRefusal::Git(&git_message(&run))))
}

/// Undoes the making of a branch that nobody has worked on: HEAD goes back to where it was, on a
/// branch or not.
pub(super) async fn undo_branch(project: &Project, branch: &LoopBranch) {
    if !is_checked_out(project, &branch.name).await {
        return;
    }
    let root = &project.root;
    run_git(project, root, &["checkout", "--quiet", "-"]).await;
    // Without a log of HEAD nobody knows where that was.
    if is_checked_out(project, &branch.name).await {
        run_git(project, root, &["switch", "--quiet", &branch.base]).await;
    }
    run_git(project, root, &["branch", "--quiet", "-D", &branch.name]).await;
}

/// Whether a branch is checked out in the project's root.
async fn is_checked_out(project: &Project, name: &str) -> bool {
    let root = project.root.clone();
    let standing = read_git(move || branches::work_tree_status(&root)).await;
    standing.is_ok_and(|standing| standing.branch.as_deref() == Some(name))
}

/// The base of a loop that starts now, as it is named; where none is and the branch of a loop that
/// is over and merged is checked out, the one that went into. `None` stands for the present branch.
/// The error is the reason why none can be taken unasked.
pub(super) async fn next_base(
    engine: &Engine,
    project: &Project,
    named: Option<String>,
) -> Result<Option<String>, String> {
    let root = project.root.clone();
    let standing = read_git(move || branches::work_tree_status(&root)).await.unwrap_or_default();
    let (None, Some(present)) = (&named, standing.branch) else { return Ok(named) };
    // Without them the names of the branches are all that is known.
    let loops = engine.store.list_loops(&project.key).await.unwrap_or_default();
    let mut base = present.clone();
    for _ in 0..=loops.len() {
        let own = loops.iter().find(|it| it.branch.as_deref() == Some(base.as_str()));
        if own.is_none() && !base.starts_with(PREFIX) {
            return Ok((base != present).then_some(base));
        }
        let over = own.filter(|it| !it.status.is_active());
        let Some(goes_into) = over.and_then(|it| it.options.base_branch.clone()) else { break };
        if !is_merged(project, &base, &goes_into).await {
            break;
        }
        base = goes_into;
    }
    Err(words::branch_refusal(&BranchRefusal::OfLoop(&present)))
}

async fn is_merged(project: &Project, branch: &str, base: &str) -> bool {
    let (root, branch, base) = (project.root.clone(), branch_ref(branch), branch_ref(base));
    let merged = read_git(move || {
        let (tip, base) =
            (branches::resolve_commit(&root, &branch)?, branches::resolve_commit(&root, &base)?);
        match (tip, base) {
            (Some(tip), Some(base)) => branches::contains_commit(&root, &base, &tip),
            _ => Ok(false),
        }
    });
    merged.await.unwrap_or_default()
}

/// Refuses a loop a branch of its own in a work tree where another one has its branch: one of them
/// would lose the files it works on.
pub(super) async fn ensure_no_other_branch(
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

/// Where branches of loops start: how the work tree stands, and the base branch. The error is the
/// reason why none can.
pub(super) async fn branch_start(
    project: &Project,
    base: Option<&str>,
) -> Result<(WorkTreeStatus, String), String> {
    let root = project.root.clone();
    let wished = base.map(str::to_owned);
    let found = read_git(move || {
        if !is_git_managed(&root)? {
            return Ok(None);
        }
        let standing = branches::work_tree_status(&root)?;
        let base = wished.or_else(|| standing.branch.clone());
        let named = base.as_deref().filter(|name| branches::is_branch_name(name));
        let commit = match named {
            Some(name) => branches::resolve_commit(&root, &branch_ref(name))?,
            None => None,
        };
        Ok(Some((standing, base, commit)))
    });
    let said = |reason: &BranchRefusal<'_>| Err(words::branch_refusal(reason));
    let Some((standing, base, commit)) = found.await.map_err(|error| error.to_string())? else {
        return said(&BranchRefusal::NoGit);
    };
    match (&standing, base) {
        (WorkTreeStatus { head: None, .. }, _) => said(&BranchRefusal::NoCommit),
        (_, None) => said(&BranchRefusal::Detached),
        (_, Some(base)) if commit.is_none() => said(&BranchRefusal::NoBase(&base)),
        (WorkTreeStatus { unfinished: Some(what), .. }, _) => {
            said(&BranchRefusal::Unfinished(what))
        }
        (WorkTreeStatus { conflicts, .. }, _) if !conflicts.is_empty() => {
            said(&BranchRefusal::Conflicts(conflicts))
        }
        (_, Some(base)) => Ok((standing, base)),
    }
}

/// The name of the branch of a loop that starts now.
pub(super) fn branch_name(loop_id: &str, now_ms: u64) -> String {
    let id = loop_id.strip_prefix("loop-").unwrap_or(loop_id);
    format!("{PREFIX}{}-{id}", now_ms / 1_000)
}

/// The commit that the changes of a loop count from: what it started from, or on a branch of its
/// own the newest commit of the base that it has taken in since, where only others made what came
/// with it. On the branch of somebody else, or when git's data cannot be used, nothing is left out.
pub(super) async fn loop_base_commit(project: &Project, state: &LoopState) -> Option<String> {
    let start = state.base.clone()?;
    let (Some(_), Some(base)) = (&state.branch, state.options.base_branch.clone()) else {
        return Some(start);
    };
    let (root, from) = (project.root.clone(), start.clone());
    let since = read_git(move || {
        let remote = branches::upstream_remote(&root, &base)?;
        foreign_commits::own_changes_base(&root, &from, (&base, remote.as_deref()))
    });
    match since.await {
        Ok(since) => Some(since),
        Err(error) => {
            tracing::warn!(%error, id = state.id, "the start of the loop is what counts");
            Some(start)
        }
    }
}

/// Asks git's data off the event loop.
pub(super) async fn read_git<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, GitError> {
    let lost = || GitError { detail: "internal error".to_owned(), remedy: None };
    run_blocking(ask).await.unwrap_or_else(|| Err(lost()))
}

#[cfg(test)]
mod tests;
