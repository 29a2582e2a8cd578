//! Where branches are rebased and merged without anybody's work tree: one merge of a repository at
//! a time, in a work tree that is thrown away. It must not know what is merged.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::{Engine, run_blocking};
use super::git_program::{run_git_until, without_hooks};
use super::project::Project;
use crate::base::limits::{MERGE_RETRY_MS, MERGE_WAIT_MS_MAX, REMOVE_TRIES_MAX};
use crate::base::verdict::{Cause, Gap};
use crate::checks::{CommandOutcome, CommandRun};
use crate::files::private_dir;
use crate::git::{self, branches};
use crate::ipc::StateDirs;
use crate::store::PROJECTS_FOLDER;

/// The lock's file, in what the worktrees of a repository share: so it holds for all of them and
/// for everybody who merges there.
const LOCK: &str = "moai-ralph-merge.lock";
/// The folder of work trees in a project's private folder.
const WORK_TREES_FOLDER: &str = "merging";

/// Waits for other merges of the repository, but not beyond `deadline`. The kernel gives the lock
/// back when the process ends, however it ends. What processes that were killed left behind is
/// taken away.
pub(super) async fn lock_merges(
    engine: &Engine,
    project: &Project,
    deadline: Instant,
) -> Result<File, Gap> {
    let root = project.root.clone();
    let failed = |error: &io::Error| {
        Gap::new(Cause::ProjectFault, format!("the merge lock cannot be opened: {error}"))
    };
    let lost = || Err(io::Error::other("internal error"));
    let opened = run_blocking(move || open(&root)).await;
    let file = opened.unwrap_or_else(lost).map_err(|error| failed(&error))?;
    let deadline = deadline.min(Instant::now() + Duration::from_millis(MERGE_WAIT_MS_MAX));
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if Instant::now() >= deadline {
            let detail = "another branch is being merged";
            return Err(Gap::new(Cause::TimedOut, detail));
        }
        tokio::time::sleep(Duration::from_millis(MERGE_RETRY_MS)).await;
    }
    let (root, places) = (project.root.clone(), work_trees_folder(engine, project));
    run_blocking(move || sweep(&root, &places)).await;
    Ok(file)
}

/// The same without waiting; `None` while somebody merges, and without a repository.
pub(super) async fn try_lock_merges(project: &Project) -> Option<File> {
    let root = project.root.clone();
    let file = run_blocking(move || open(&root).ok()).await.flatten()?;
    file.try_lock().is_ok().then_some(file)
}

fn open(root: &Path) -> io::Result<File> {
    let common = git::common_dir(root).ok_or_else(|| io::Error::other("no repository"))?;
    OpenOptions::new().write(true).create(true).truncate(false).open(common.join(LOCK))
}

/// Takes away what processes that were killed left behind, unless somebody is merging.
pub(super) async fn remove_stale_work_trees(engine: &Arc<Engine>, project: &Project) {
    let (root, places, job) =
        (project.root.clone(), work_trees_folder(engine, project), engine.job());
    run_blocking(move || {
        let _job = job;
        if entries(&places).is_empty() {
            return;
        }
        if let Ok(lock) = open(&root)
            && lock.try_lock().is_ok()
        {
            sweep(&root, &places);
        }
    })
    .await;
}

/// The same in all projects, of what leads to its repository.
pub(super) fn remove_all_stale_work_trees(places: &StateDirs) {
    for project in entries(&places.state.join(PROJECTS_FOLDER)) {
        for folder in entries(&project.join(WORK_TREES_FOLDER)) {
            if let Some(repository) = repository_of(&folder)
                && let Ok(lock) = open(&repository)
                && lock.try_lock().is_ok()
            {
                remove(&repository, &folder);
            }
        }
    }
}

/// The repository of a linked work tree, as its `.git` file names it: gitrepository-layout(5).
fn repository_of(folder: &Path) -> Option<PathBuf> {
    let leads = fs::read_to_string(folder.join(".git")).ok()?;
    let own = Path::new(leads.strip_prefix("gitdir:")?.trim());
    own.ancestors().nth(2).filter(|repository| repository.is_dir()).map(Path::to_path_buf)
}

/// Removes all work trees of merges; only for whoever holds the lock.
fn sweep(root: &Path, places: &Path) {
    for folder in entries(places) {
        remove(root, &folder);
    }
}

/// Removes a work tree, also one that was only half made: what git knows of it first, so that there
/// is something to find as long as anything is left.
fn remove(root: &Path, folder: &Path) {
    let known = branches::linked_git_dirs(root, folder).unwrap_or_default();
    let is_gone = known.iter().all(|known| remove_all(known)) && remove_all(folder);
    if !is_gone {
        tracing::warn!(folder = %folder.display(), "a work tree stays until somebody looks again");
    }
    for above in known.iter().filter_map(|known| known.parent()) {
        // As git does it: one that holds other work trees stays.
        let _ = fs::remove_dir(above);
    }
}

/// Whether a folder is gone now. Processes that write in it may still be ending.
fn remove_all(folder: &Path) -> bool {
    (0..REMOVE_TRIES_MAX).any(|_| match fs::remove_dir_all(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    })
}

/// A work tree that is thrown away when this is dropped, however the merge ends.
pub(super) struct MergeWorkTree {
    root: PathBuf,
    pub(super) folder: PathBuf,
}

impl Drop for MergeWorkTree {
    fn drop(&mut self) {
        remove(&self.root, &self.folder);
    }
}

impl MergeWorkTree {
    /// A new one at a commit, with the lock held. The error is the call of git that failed.
    pub(super) async fn make(
        engine: &Engine,
        project: &Project,
        (commit, deadline): (&str, Instant),
    ) -> Result<Self, CommandRun> {
        let places = work_trees_folder(engine, project);
        let made = private_dir(&places)
            .and_then(|()| tempfile::Builder::new().prefix("merge-").tempdir_in(&places));
        let failed = |error: &io::Error| CommandRun {
            outcome: CommandOutcome::Failed("no work tree".to_owned()),
            output: format!("{}: {error}", places.display()),
            elapsed: Duration::ZERO,
        };
        let folder = made.map_err(|error| failed(&error))?.keep();
        let place = Self { root: project.root.clone(), folder };
        let Some(text) = place.folder.to_str() else {
            return Err(failed(&io::Error::other("the path is not UTF-8")));
        };
        let arguments = without_hooks(&["worktree", "add", "--quiet", "--detach", text, commit]);
        let run = run_git_until(project, &project.root, &arguments, deadline).await;
        if run.outcome == CommandOutcome::Passed { Ok(place) } else { Err(run) }
    }

    /// Takes it away off the event loop.
    pub(super) async fn remove(self) {
        run_blocking(move || drop(self)).await;
    }
}

fn work_trees_folder(engine: &Engine, project: &Project) -> PathBuf {
    project.key.folder(&engine.dirs.state).join(WORK_TREES_FOLDER)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}
