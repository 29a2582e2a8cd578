//! Where branches are rebased and merged without anybody's work tree: one merge of a repository at
//! a time, in a work tree that is thrown away. It must not know what is merged.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::engine::{Engine, blocking};
use super::git_program::git;
use super::project::Project;
use crate::base::limits::{MERGE_RETRY_MS, MERGE_WAIT_MS_MAX};
use crate::base::verdict::{Cause, Gap};
use crate::checks::{End, Run};
use crate::files::private_dir;
use crate::git;

/// The lock's file, in what the worktrees of a repository share: so it holds for all of them and
/// for everybody who merges there.
const LOCK: &str = "moai-ralph-merge.lock";
/// The folder of work trees in a project's private folder.
const PLACES: &str = "merging";

/// Waits for other merges of the repository. The kernel gives the lock back when the process ends,
/// however it ends.
pub(super) async fn lock(project: &Project) -> Result<File, Gap> {
    let root = project.root.clone();
    let opened = blocking(move || {
        let common = git::common_dir(&root).ok_or_else(|| io::Error::other("no repository"))?;
        OpenOptions::new().write(true).create(true).truncate(false).open(common.join(LOCK))
    });
    let failed = |error: &io::Error| Gap::new(Cause::ProjectFault, format!("no lock: {error}"));
    let lost = || Err(io::Error::other("internal error"));
    let file = opened.await.unwrap_or_else(lost).map_err(|error| failed(&error))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if begun.elapsed() >= Duration::from_millis(MERGE_WAIT_MS_MAX) {
            let detail = "another branch of this repository is being merged";
            return Err(Gap::new(Cause::TimedOut, detail));
        }
        tokio::time::sleep(Duration::from_millis(MERGE_RETRY_MS)).await;
    }
}

/// A work tree that is thrown away.
pub(super) struct MergePlace {
    pub(super) folder: PathBuf,
}

impl MergePlace {
    /// A new one at a commit, with the lock held; what processes that were killed left behind goes
    /// first. The error is the call of git that failed.
    pub(super) async fn make(
        engine: &Engine,
        project: &Project,
        commit: &str,
    ) -> Result<Self, Run> {
        let places = project.key.folder(&engine.places.state).join(PLACES);
        for left in entries(&places) {
            Self { folder: left }.remove(project).await;
        }
        let made = private_dir(&places)
            .and_then(|()| tempfile::Builder::new().prefix("merge-").tempdir_in(&places));
        let failed = |error: &io::Error| Run {
            end: End::Failed("no work tree".to_owned()),
            output: format!("{}: {error}", places.display()),
            elapsed: Duration::ZERO,
        };
        let folder = made.map_err(|error| failed(&error))?.keep();
        let Some(text) = folder.to_str() else {
            return Err(failed(&io::Error::other("the path is not UTF-8")));
        };
        let arguments = ["worktree", "add", "--quiet", "--detach", text, commit];
        let run = git(project, &project.root, &arguments).await;
        let place = Self { folder: folder.clone() };
        if run.end == End::Passed {
            return Ok(place);
        }
        place.remove(project).await;
        Err(run)
    }

    /// Takes it away, also one that was only half made.
    pub(super) async fn remove(self, project: &Project) {
        if let Some(folder) = self.folder.to_str() {
            // Twice: one that is being made is locked.
            let arguments = ["worktree", "remove", "--force", "--force", folder];
            git(project, &project.root, &arguments).await;
        }
        let folder = self.folder;
        blocking(move || {
            if let Err(error) = fs::remove_dir_all(&folder)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, folder = %folder.display(), "a work tree stays");
            }
        })
        .await;
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}
