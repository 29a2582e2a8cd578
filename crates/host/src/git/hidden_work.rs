//! Work that `git status` does not show: edits of files that git is configured to ignore, commits in
//! submodules, and commits that no branch contains.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, ObjectType, Oid, Repository};

use super::{GitError, common_dir, needed, path_of, unreadable_repository};
use moai_base::limits::SUBMODULE_FOLDERS_MAX;

/// Flag of an index entry that `git update-index --assume-unchanged` sets, see gitformat-index(5).
const ASSUME_UNCHANGED: u16 = 0x8000;
/// The extended flag that `--skip-worktree` sets.
const SKIP_WORKTREE: u16 = 0x4000;

/// The first file that differs from the index although git is configured not to check it, relative to the
/// working tree.
pub fn unseen_edit(root: &Path) -> Result<Option<String>, GitError> {
    let repository = needed(root)?;
    let index = repository.index().map_err(|error| unreadable_repository(root, &error))?;
    let Some(work_tree) = repository.workdir() else { return Ok(None) };
    let is_marked =
        |flags: u16, extended: u16| flags & ASSUME_UNCHANGED != 0 || extended & SKIP_WORKTREE != 0;
    for entry in index.iter().filter(|entry| is_marked(entry.flags, entry.flags_extended)) {
        let path = path_of(&entry.path);
        let file = work_tree.join(&path);
        if file.symlink_metadata().is_ok_and(|meta| meta.is_file())
            && Oid::hash_file(ObjectType::Blob, &file).ok() != Some(entry.id)
        {
            return Ok(Some(path.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// The submodules that are checked out in a linked worktree, which has its own repositories for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkedSubmodules {
    None,
    /// All their commits are known to be elsewhere.
    Pushed,
    /// This one has commits that no branch of its remote has.
    WithCommits(String),
}

/// The submodules of a linked worktree, by its own git folders.
pub fn linked_submodules(git_dirs: &[PathBuf]) -> Result<LinkedSubmodules, GitError> {
    let mut found = LinkedSubmodules::None;
    for modules in git_dirs.iter().map(|folder| folder.join("modules")) {
        for folder in repositories_below(&modules) {
            let name = folder.strip_prefix(&modules).unwrap_or(&folder).display().to_string();
            let has = has_unpushed_commits(&folder);
            if has.map_err(|error| unreadable_repository(&folder, &error))? {
                return Ok(LinkedSubmodules::WithCommits(name));
            }
            found = LinkedSubmodules::Pushed;
        }
    }
    Ok(found)
}

/// Folders below this one that are repositories; the name of a submodule may contain slashes.
fn repositories_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    let mut looked = 0;
    while let Some(at) = open.pop() {
        looked += 1;
        if looked > SUBMODULE_FOLDERS_MAX {
            break;
        }
        if at.join("HEAD").is_file() && at.join("objects").is_dir() {
            open.push(at.join("modules"));
            found.push(at);
            continue;
        }
        let entries = fs::read_dir(&at).into_iter().flatten().flatten();
        open.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    found.sort();
    found
}

fn has_unpushed_commits(folder: &Path) -> Result<bool, git2::Error> {
    let repository = Repository::open(folder)?;
    let mut walk = repository.revwalk()?;
    walk.push_glob("refs/heads/*")?;
    match walk.push_head() {
        Err(error) if error.code() != ErrorCode::UnbornBranch => return Err(error),
        _ => {}
    }
    walk.hide_glob("refs/remotes/*")?;
    walk.next().transpose().map(|commit| commit.is_some())
}

/// True if a folder is in a worktree of the same repository as `root`.
#[must_use]
pub fn is_of_same_repository(root: &Path, folder: &Path) -> bool {
    common_dir(folder).is_some_and(|common| common_dir(root) == Some(common))
}

/// The commit that was checked out last, although the branch of HEAD no longer exists; `None` if git has no
/// record of it.
pub fn last_head(root: &Path) -> Result<Option<String>, GitError> {
    let repository = needed(root)?;
    let Ok(log) = repository.reflog("HEAD") else { return Ok(None) };
    let commits = log.iter().map(|entry| entry.id_new());
    let mut known = commits.filter(|id| repository.find_commit(*id).is_ok());
    Ok(known.next().map(|id| id.to_string()))
}
