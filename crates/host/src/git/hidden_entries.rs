//! Reveals changes that git hides: index entries marked as assume-unchanged or skip-worktree, files whose
//! times were set back, and nested repositories whatever their configuration. Nothing on disk changes.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{Config, Index, IndexEntry, IndexTime, Oid, Repository, Tree};

use super::{files_changed_since_head, find_special_file, path_of};

/// `GIT_INDEX_ENTRY_VALID`, which `git update-index --assume-unchanged` sets.
const ASSUME_UNCHANGED: u16 = 1 << 15;
/// `GIT_INDEX_ENTRY_SKIP_WORKTREE`, of the extended flags.
const SKIP_WORKTREE: u16 = 1 << 14;
/// Mode of a nested repository.
const SUBMODULE_MODE: u32 = 0o160_000;

/// Gives the repository an in-memory index without these marks, so that it reports the real state
/// of the disk. Returns the entries that a sparse checkout left out, which are not deleted.
pub(super) fn clear_hidden_flags(
    repository: &Repository,
    work_tree: &Path,
) -> Result<BTreeSet<PathBuf>, git2::Error> {
    let mut left_out = BTreeSet::new();
    let index = repository.index()?;
    let config = repository.config()?;
    let ignores_changes = ignores_change_times(&config);
    let is_hidden = |entry: &IndexEntry| {
        is_marked(entry) || ignores_changes && has_other_change_time(entry, work_tree)
    };
    if !index.iter().any(|entry| is_hidden(&entry)) {
        return Ok(left_out);
    }
    let is_sparse = config.get_bool("core.sparseCheckout").unwrap_or(false);
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

/// True if git is configured to compare files without their change times, the only ones that no program can
/// set back: a rewritten file of the same size then counts as unchanged.
fn ignores_change_times(config: &Config) -> bool {
    config.get_bool("core.trustCtime").is_ok_and(|is_trusted| !is_trusted)
        || config.get_string("core.checkStat").is_ok_and(|it| it.eq_ignore_ascii_case("minimal"))
}

/// True if a file changed, in whatever way, after git recorded it.
fn has_other_change_time(entry: &IndexEntry, work_tree: &Path) -> bool {
    let file = work_tree.join(path_of(&entry.path));
    // A missing file is found to be deleted without its times.
    let Ok(metadata) = file.symlink_metadata() else { return false };
    // The index has 32 bits for each, and no nanoseconds where its writer knew none.
    let seconds = u32::try_from(metadata.ctime() & 0xffff_ffff).ok();
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok();
    let recorded = entry.ctime.nanoseconds();
    Some(entry.ctime.seconds().cast_unsigned()) != seconds
        || recorded != 0 && Some(recorded) != nanoseconds
}

fn is_marked(entry: &IndexEntry) -> bool {
    entry.flags & ASSUME_UNCHANGED != 0 || entry.flags_extended & SKIP_WORKTREE != 0
}

/// Nested repositories, by their path in the working tree, that have changes or are not at the commit that
/// the tree records. Found in addition to git's status, because its configuration can ignore them.
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

/// True if a repository is at a commit and has no changes. A submodule that was never fetched is an empty
/// folder without changes.
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
