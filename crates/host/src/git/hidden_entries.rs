//! Reveals what git hides: index entries marked as assume-unchanged or skip-worktree, and nested
//! repositories whatever their configuration. The marks on disk are not changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexTime, Oid, Repository, Tree};

use super::{files_changed_since_head, find_special_file, path_of};

/// `GIT_INDEX_ENTRY_VALID`, which `git update-index --assume-unchanged` sets.
const ASSUME_UNCHANGED: u16 = 1 << 15;
/// `GIT_INDEX_ENTRY_SKIP_WORKTREE`, of the extended flags.
const SKIP_WORKTREE: u16 = 1 << 14;
/// Mode of a repository inside another one.
const SUBMODULE_MODE: u32 = 0o160_000;

/// Gives the repository an in-memory index without these marks, so that it reports the real state
/// of the disk. Returns the entries that a sparse checkout left out, which are not deleted.
pub(super) fn clear_hidden_flags(
    repository: &Repository,
    work_tree: &Path,
) -> Result<BTreeSet<PathBuf>, git2::Error> {
    let mut left_out = BTreeSet::new();
    let index = repository.index()?;
    if !index.iter().any(|entry| is_hidden(&entry)) {
        return Ok(left_out);
    }
    let is_sparse = repository.config()?.get_bool("core.sparseCheckout").unwrap_or(false);
    let mut open = Index::new()?;
    for mut entry in index.iter() {
        if is_hidden(&entry) {
            let path = path_of(&entry.path);
            let is_skipped = is_sparse && entry.flags_extended & SKIP_WORKTREE != 0;
            if is_skipped && work_tree.join(&path).symlink_metadata().is_err() {
                left_out.insert(path);
            }
            entry.flags &= !ASSUME_UNCHANGED;
            entry.flags_extended &= !SKIP_WORKTREE;
            // The cached state is unknown now, so git reads the content.
            entry.file_size = 0;
            entry.mtime = IndexTime::new(0, 0);
        }
        open.add(&entry)?;
    }
    repository.set_index(&mut open)?;
    Ok(left_out)
}

fn is_hidden(entry: &IndexEntry) -> bool {
    entry.flags & ASSUME_UNCHANGED != 0 || entry.flags_extended & SKIP_WORKTREE != 0
}

/// Nested repositories, by their path in the work tree, that are not at the commit that the tree
/// records or have changes. Found in addition to git's status, because its configuration can ignore
/// them.
pub(super) fn changed_inner_repositories(
    repository: &Repository,
    work_tree: &Path,
    tree: Option<&Tree<'_>>,
) -> Result<BTreeSet<PathBuf>, git2::Error> {
    let index = repository.index()?;
    let inner = index.iter().filter(|entry| entry.mode == SUBMODULE_MODE);
    let differs = inner.filter_map(|entry| {
        let path = path_of(&entry.path);
        let known = tree.and_then(|tree| tree.get_path(&path).ok()).map(|it| it.id());
        let is_same = known == Some(entry.id) && is_clean_at(&work_tree.join(&path), entry.id);
        (!is_same).then_some(path)
    });
    Ok(differs.collect())
}

/// Whether a repository is at a commit and has no changes. A submodule that was never fetched is an
/// empty folder without changes.
fn is_clean_at(folder: &Path, commit: Oid) -> bool {
    if !folder.join(".git").exists() {
        return folder.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    }
    if find_special_file(folder).is_some() {
        return false;
    }
    let Ok(inner) = Repository::open(folder) else { return false };
    let is_at =
        || inner.head().and_then(|head| head.peel_to_commit()).is_ok_and(|it| it.id() == commit);
    let is_clean = || {
        files_changed_since_head(folder).is_ok_and(|changed| {
            changed.is_some_and(|it| {
                it.files.is_empty() && it.deleted.is_empty() && it.skipped.is_empty()
            })
        })
    };
    is_at() && is_clean()
}
