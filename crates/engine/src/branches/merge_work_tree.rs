//! Temporary worktrees for rebases and merges, so that they touch no worktree of the user. A lock allows one
//! merge per repository at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::branches::git_program::{run_git_until, without_hooks};
use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use moai_base::limits::{MERGE_RETRY_MS, MERGE_WAIT_MS_MAX, REMOVE_TRIES_MAX, SOURCE_BYTES_MAX};
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{private_dir, read_regular_text};
use moai_host::git::{self, branches};
use moai_host::ipc::StateDirs;
use moai_host::programs::{CommandFailure, CommandOutcome, CommandRun};
use moai_host::store::PROJECTS_FOLDER;

/// The lock file, in the git folder that all worktrees of a repository share, so that it applies to all of
/// them.
const LOCK: &str = "moai-ralph-merge.lock";
/// The folder of temporary worktrees in a project's private folder.
const WORK_TREES_FOLDER: &str = "merging";

/// Takes the merge lock of the repository, waiting until `deadline` at most. The kernel releases it however
/// the process ends. Also removes the worktrees that killed processes left.
pub(crate) async fn lock_merges(
    engine: &Engine,
    project: &Project,
    deadline: Instant,
) -> Result<File, Gap> {
    let root = project.root.clone();
    let opened = run_blocking(move || open_lock(&root)).await;
    let file = opened
        .unwrap_or_else(|| Err(io::Error::other("internal error")))
        .map_err(|error| lock_gap(&error))?;
    let deadline = deadline.min(Instant::now() + Duration::from_millis(MERGE_WAIT_MS_MAX));
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(lock_gap(&error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if Instant::now() >= deadline {
            let detail = "another branch is being merged";
            return Err(Gap::new(Cause::TimedOut, detail));
        }
        tokio::time::sleep(Duration::from_millis(MERGE_RETRY_MS)).await;
    }
    let (root, folder) = (project.root.clone(), work_trees_folder(engine, project));
    run_blocking(move || remove_work_trees(&root, &folder)).await;
    Ok(file)
}

fn lock_gap(error: &io::Error) -> Gap {
    Gap::new(Cause::ProjectFault, format!("the merge lock cannot be opened: {error}"))
}

/// Takes the merge lock without waiting; `None` during a merge, and without a repository.
pub(crate) async fn try_lock_merges(project: &Project) -> Option<File> {
    let root = project.root.clone();
    let file = run_blocking(move || open_lock(&root).ok()).await.flatten()?;
    file.try_lock().is_ok().then_some(file)
}

fn open_lock(root: &Path) -> io::Result<File> {
    let common = git::common_dir(root).ok_or_else(|| io::Error::other("no repository"))?;
    OpenOptions::new().write(true).create(true).truncate(false).open(common.join(LOCK))
}

/// Removes the worktrees that killed processes left, unless a merge is running.
pub(crate) async fn remove_stale_work_trees(engine: &Arc<Engine>, project: &Project) {
    let (root, folder, job) =
        (project.root.clone(), work_trees_folder(engine, project), engine.job());
    run_blocking(move || {
        let _job = job;
        if folder_entries(&folder).is_empty() {
            return;
        }
        if let Ok(lock) = open_lock(&root)
            && lock.try_lock().is_ok()
        {
            remove_work_trees(&root, &folder);
        }
    })
    .await;
}

/// Removes the stale worktrees of all projects whose repository can be found.
pub(crate) fn remove_all_stale_work_trees(dirs: &StateDirs) {
    for project in folder_entries(&dirs.state.join(PROJECTS_FOLDER)) {
        for folder in folder_entries(&project.join(WORK_TREES_FOLDER)) {
            if let Some(repository) = linked_repository(&folder)
                && let Ok(lock) = open_lock(&repository)
                && lock.try_lock().is_ok()
            {
                remove_work_tree(&repository, &folder);
            }
        }
    }
}

/// The repository of a linked worktree, from its `.git` file: gitrepository-layout(5).
fn linked_repository(folder: &Path) -> Option<PathBuf> {
    let link = read_regular_text(&folder.join(".git"), SOURCE_BYTES_MAX).ok()?;
    let git_dir = Path::new(link.strip_prefix("gitdir:")?.trim());
    git_dir.ancestors().nth(2).filter(|repository| repository.is_dir()).map(Path::to_path_buf)
}

/// Removes all temporary worktrees. The caller must hold the lock.
fn remove_work_trees(root: &Path, folder: &Path) {
    for tree in folder_entries(folder) {
        remove_work_tree(root, &tree);
    }
}

/// Removes a worktree, even an incomplete one. Git's record of it is removed first, so that a later call
/// still finds the folder if this one fails halfway.
fn remove_work_tree(root: &Path, folder: &Path) {
    let known = branches::linked_git_dirs(root, folder).unwrap_or_default();
    let is_removed = known.iter().all(|known| remove_folder(known)) && remove_folder(folder);
    if !is_removed {
        tracing::warn!(folder = %folder.display(), "a work tree could not be removed; the next merge retries");
    }
    for above in known.iter().filter_map(|known| known.parent()) {
        // Like git, keeps a folder that contains other worktrees.
        let _ = fs::remove_dir(above);
    }
}

/// Removes a folder, in several tries because processes that write in it may still be ending. Returns
/// whether it is removed.
fn remove_folder(folder: &Path) -> bool {
    (0..REMOVE_TRIES_MAX).any(|_| match fs::remove_dir_all(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    })
}

/// A temporary worktree, removed on drop however the merge ends.
pub(crate) struct MergeWorkTree {
    root: PathBuf,
    pub(crate) folder: PathBuf,
}

impl Drop for MergeWorkTree {
    fn drop(&mut self) {
        remove_work_tree(&self.root, &self.folder);
    }
}

impl MergeWorkTree {
    /// Creates a worktree at a commit. The caller must hold the lock. The error is the failed call of git.
    pub(crate) async fn make(
        engine: &Engine,
        project: &Project,
        commit: &str,
        deadline: Instant,
    ) -> Result<Self, CommandRun> {
        let parent = work_trees_folder(engine, project);
        let created = private_dir(&parent)
            .and_then(|()| tempfile::Builder::new().prefix("merge-").tempdir_in(&parent));
        let folder = created.map_err(|error| failed_run(&parent, &error))?.keep();
        let tree = Self { root: project.root.clone(), folder };
        let Some(text) = tree.folder.to_str() else {
            return Err(failed_run(&parent, &io::Error::other("the path is not UTF-8")));
        };
        let arguments = without_hooks(&["worktree", "add", "--quiet", "--detach", text, commit]);
        let run = run_git_until(project, &project.root, &arguments, deadline).await;
        if run.outcome == CommandOutcome::Passed { Ok(tree) } else { Err(run) }
    }

    /// Removes the worktree off the event loop.
    pub(crate) async fn remove(self) {
        run_blocking(move || drop(self)).await;
    }
}

fn failed_run(folder: &Path, error: &io::Error) -> CommandRun {
    CommandRun {
        outcome: CommandOutcome::Failed(CommandFailure::Other("no work tree".to_owned())),
        output: format!("{}: {error}", folder.display()),
        elapsed: Duration::ZERO,
    }
}

fn work_trees_folder(engine: &Engine, project: &Project) -> PathBuf {
    project.key.folder(&engine.dirs.state).join(WORK_TREES_FOLDER)
}

fn folder_entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}
