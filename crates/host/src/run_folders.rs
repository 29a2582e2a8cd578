//! Folders for the length of one run, such as the empty one in which a judge works. The next daemon removes
//! those that a killed process has left.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, geteuid, test_kill_process};
use tempfile::TempDir;

use crate::processes::is_worked_in;

/// What such a folder is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFolderKind {
    /// The compiled modules of the checks of one Stop.
    Bytecode,
    /// The place of a judge.
    Judge,
}

impl RunFolderKind {
    const ALL: [Self; 2] = [Self::Bytecode, Self::Judge];

    /// How the names of its folders begin; the id of the process that made one follows.
    fn prefix(self) -> &'static str {
        match self {
            Self::Bytecode => "moai-ralph-bytecode-",
            Self::Judge => "moai-ralph-judge-",
        }
    }
}

/// An empty folder in `place`, which is removed when the value is dropped.
///
/// # Errors
/// If it cannot be made.
pub fn run_folder(kind: RunFolderKind, place: &Path) -> io::Result<TempDir> {
    let prefix = format!("{}{}-", kind.prefix(), std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(place)
}

/// Removes the folders of this user in `place` whose process has ended, unless a program still works there.
pub fn remove_left_folders(place: &Path) {
    for entry in place.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| {
            RunFolderKind::ALL.into_iter().find_map(|kind| name.strip_prefix(kind.prefix()))
        });
        let Some(rest) = rest else { continue };
        let is_own = entry.metadata().is_ok_and(|it| it.is_dir() && it.uid() == geteuid().as_raw());
        let path = entry.path();
        if !is_own || has_living_maker(rest) || is_worked_in(&path) {
            continue;
        }
        if let Err(error) = std::fs::remove_dir_all(&path) {
            tracing::warn!(%error, path = %path.display(), "a folder of an earlier run was not removed");
        }
    }
}

/// Whether the process that the rest of a name begins with is running.
fn has_living_maker(rest: &str) -> bool {
    let id = rest.split_once('-').and_then(|(id, _)| id.parse().ok());
    id.and_then(Pid::from_raw).is_some_and(|id| test_kill_process(id).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_nobody_uses_are_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let own = run_folder(RunFolderKind::Judge, place.path()).expect("a folder");
        // No process has this id: the largest one of Linux is smaller.
        let left = ["moai-ralph-judge-999999999-aB", "moai-ralph-bytecode-999999999-aB"];
        let kept = ["moai-ralph-other-999999999-aB", "moai-ralph-judge"];
        for name in left.into_iter().chain(kept) {
            std::fs::create_dir_all(place.path().join(name).join("below")).expect("a folder");
        }
        remove_left_folders(place.path());
        assert!(own.path().exists(), "its process runs");
        assert!(left.iter().all(|name| !place.path().join(name).exists()));
        assert!(kept.iter().all(|name| place.path().join(name).exists()));
    }
}
