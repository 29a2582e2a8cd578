//! Sets of changes that are made wholly or not at all, also when the process is killed in the
//! middle. It must not know who wants a change or why.
//!
//! ```text
//! locked -> checked -> record and old bytes durable -> new bytes beside the files ("staged")
//!   -> every file checked once more and renamed into place -> "committed" -> record removed
//! ```
//!
//! Before "staged" nothing but our own temporary files exists; between the two marks a set that was
//! not finished is taken back, file by file; after "committed" it is only tidied up. What somebody
//! else wrote meanwhile is not overwritten: the old file is taken out, looked at, and only then lost
//! (on a file system that cannot exchange two files it is looked at a moment before), and a file is
//! taken back only while it holds our bytes.

mod journal;
mod path_state;

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::journal::{Journal, JournalEntry, JournalMark, JournalRecord};
use self::path_state::{PathContent, PathState};
use super::private_dir;
use crate::base::change::{ChangeSet, PathChange};
use crate::base::limits::{CHANGES_RETRY_MS, CHANGES_WAIT_MS_MAX};
use crate::base::path::RelPath;

/// Why a set of changes was not made. Except for the last two every file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A file holds other bytes than the change was computed for, or is not there, or is there.
    #[error("{0}: changed meanwhile; nothing was written")]
    Changed(String),
    /// Something that is no file, or a symbolic link, stands in the way.
    #[error("{path}: {reason}; nothing was written")]
    Obstructed {
        /// The path.
        path: String,
        /// What stands there.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("{path}: {error}; every file is as it was")]
    Failed {
        /// The path.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// Another set of the same project is being made.
    #[error("another change of this project is being made; nothing was written")]
    Busy,
    /// Others wrote files while they were being replaced.
    #[error("{0}: written by others meanwhile and left so; every other file is as it was")]
    Mixed(String),
    /// An earlier set could not be taken back, or this one.
    #[error("a change is half done and cannot be taken back now ({0}); it is tried again later")]
    HalfDone(String),
}

/// What became of a set that was not finished when its process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecovery {
    /// The root it was made in.
    pub root: PathBuf,
    /// Whether all its changes had been made; otherwise they were taken back.
    pub was_complete: bool,
    /// Files that others changed since, which were left as they are.
    pub changed_by_others: Vec<RelPath>,
}

/// Makes all changes below a canonical root, or none. `folder` is the project's private folder for
/// this purpose; sets of one folder are made one after the other. Unfinished sets of an earlier
/// process are taken back first. Blocks for reading, writing and syncing.
///
/// Files keep owner, group and permissions; new ones get what any new file gets. Every file is
/// replaced by a new one of the same name, so other hard links keep the old text.
pub fn apply_change_set(root: &Path, folder: &Path, set: &ChangeSet) -> Result<(), ApplyError> {
    let failed = |error| ApplyError::Failed { path: folder.display().to_string(), error };
    private_dir(folder).map_err(failed)?;
    let patience = Duration::from_millis(CHANGES_WAIT_MS_MAX);
    let Some(_lock) = lock(folder, patience).map_err(failed)? else {
        return Err(ApplyError::Busy);
    };
    recover_locked(folder)?;
    let spots = inspect_paths(root, set)?;
    let (journal, record) = Journal::begin(folder, root, set, &spots).map_err(failed)?;
    match write_all(root, &journal, &record, set) {
        Ok(()) => {
            finish(root, &journal, &record);
            Ok(())
        }
        Err(error) => match roll_back(root, &journal, &record)?.as_slice() {
            [] => Err(error),
            [one] if matches!(&error, ApplyError::Changed(path) if path == one.as_str()) => {
                Err(error)
            }
            [one, ..] => Err(ApplyError::Mixed(one.to_string())),
        },
    }
}

/// Takes back, or tidies up, what earlier processes left unfinished. Does nothing while another
/// process is at work in the folder, or when there is no such folder.
pub fn recover_change_sets(folder: &Path) -> Result<Vec<ChangeRecovery>, ApplyError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |error| ApplyError::Failed { path: folder.display().to_string(), error };
    match lock(folder, Duration::ZERO).map_err(failed)? {
        Some(_lock) => recover_locked(folder),
        None => Ok(Vec::new()),
    }
}

fn recover_locked(folder: &Path) -> Result<Vec<ChangeRecovery>, ApplyError> {
    let half_done = |error: io::Error| ApplyError::HalfDone(error.to_string());
    let mut recovered = Vec::new();
    for (journal, record) in Journal::unfinished(folder).map_err(half_done)? {
        let root = record.root.clone();
        // A file system that is not mounted now may come back.
        if !root.is_dir() {
            continue;
        }
        let was_complete = journal.has(JournalMark::Committed);
        let left = if was_complete {
            finish(&root, &journal, &record);
            Vec::new()
        } else {
            roll_back(&root, &journal, &record)?
        };
        recovered.push(ChangeRecovery { root, was_complete, changed_by_others: left });
    }
    Ok(recovered)
}

/// An exclusive flock; the kernel gives it back when the process ends, however it ends.
fn lock(folder: &Path, patience: Duration) -> io::Result<Option<File>> {
    let file = journal::private_file(&folder.join("lock"))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begun.elapsed() >= patience => return Ok(None),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_millis(CHANGES_RETRY_MS));
            }
        }
    }
}

/// What stands under every path now; refused when it is not what the changes were computed for.
fn inspect_paths(root: &Path, set: &ChangeSet) -> Result<Vec<PathState>, ApplyError> {
    let mut spots = Vec::with_capacity(set.changes.len());
    for change in &set.changes {
        let spot = PathState::inspect(root, &change.path)?;
        if spot.content.hash() != change.before {
            return Err(ApplyError::Changed(change.path.to_string()));
        }
        spots.push(spot);
    }
    Ok(spots)
}

fn write_all(
    root: &Path,
    journal: &Journal,
    record: &JournalRecord,
    set: &ChangeSet,
) -> Result<(), ApplyError> {
    let failed = |path: &RelPath, error| ApplyError::Failed { path: path.to_string(), error };
    for folder in &record.made_folders {
        path_state::make_folder(&folder.under(root)).map_err(|error| failed(folder, error))?;
    }
    for (entry, change) in record.entries.iter().zip(&set.changes) {
        if let Some(after) = &change.after {
            path_state::write_new(
                &entry.temporary.under(root),
                &after.bytes,
                entry.after_owner.as_ref(),
            )
            .map_err(|error| failed(&change.path, error))?;
        }
    }
    let failed_journal =
        |error| ApplyError::Failed { path: journal.folder().display().to_string(), error };
    journal.mark(JournalMark::Staged).map_err(failed_journal)?;
    // Writing took time: who changed a file meanwhile is not overwritten.
    inspect_paths(root, set)?;
    for (entry, change) in record.entries.iter().zip(&set.changes) {
        if PathState::inspect(root, &change.path)?.content.hash() != change.before {
            return Err(ApplyError::Changed(change.path.to_string()));
        }
        apply_one(root, entry, change)?;
    }
    sync_folders(root, record).map_err(failed_journal)?;
    journal.mark(JournalMark::Committed).map_err(failed_journal)
}

/// Makes one change of a staged set. The last look may be older than somebody's write, so what the
/// change replaces is looked at once more when nobody can reach it by its name.
fn apply_one(root: &Path, entry: &JournalEntry, change: &PathChange) -> Result<(), ApplyError> {
    let path = change.path.to_string();
    let failed = |error| ApplyError::Failed { path: path.clone(), error };
    let (file, temporary) = (change.path.under(root), entry.temporary.under(root));
    if change.before.is_none() {
        return path_state::rename_no_replace(&temporary, &file).map_err(failed);
    }
    let is_deletion = change.after.is_none();
    let taken_out = if is_deletion {
        path_state::rename_no_replace(&file, &temporary).map(|()| true)
    } else {
        path_state::exchange_files(&temporary, &file)
    };
    match taken_out {
        Ok(true) => {}
        Ok(false) => return fs::rename(&temporary, &file).map_err(failed),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => return Err(ApplyError::Changed(path)),
            // No room for a longer name beside it.
            io::ErrorKind::InvalidFilename if is_deletion => {
                return fs::remove_file(&file).map_err(failed);
            }
            _ => return Err(failed(error)),
        },
    }
    let out = PathState::inspect(root, &entry.temporary).ok().and_then(|spot| spot.content.hash());
    if out == change.before {
        return path_state::remove(&temporary).map(drop).map_err(failed);
    }
    let put_back = if is_deletion {
        path_state::rename_no_replace(&temporary, &file)
    } else {
        path_state::exchange_files(&temporary, &file).map(drop)
    };
    put_back.map_err(failed)?;
    Err(ApplyError::Changed(path))
}

/// Makes the names durable: a rename is in the folder, not in the file.
fn sync_folders(root: &Path, record: &JournalRecord) -> io::Result<()> {
    let parents = record.entries.iter().filter_map(|entry| {
        let file = entry.path.under(root);
        file.parent().map(Path::to_path_buf)
    });
    let made = record.made_folders.iter().filter_map(|folder| {
        let folder = folder.under(root);
        folder.parent().map(Path::to_path_buf)
    });
    for folder in parents.chain(made).collect::<BTreeSet<PathBuf>>() {
        match File::open(&folder) {
            Ok(open) => open.sync_all()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// After the commit: folders in which nothing is left go, the deepest first, and so does the record.
/// Nothing here can undo what was done, so failures are only logged.
fn finish(root: &Path, journal: &Journal, record: &JournalRecord) {
    for folder in record.emptied_folders.iter().rev() {
        // One that holds something stays; so does an empty folder that lost no file.
        let _ = fs::remove_dir(folder.under(root));
    }
    if let Err(error) = journal.remove() {
        tracing::warn!(%error, folder = %journal.folder().display(), "a record stays");
    }
}

/// Puts every file back that holds our bytes; returns those that hold somebody else's.
fn roll_back(
    root: &Path,
    journal: &Journal,
    record: &JournalRecord,
) -> Result<Vec<RelPath>, ApplyError> {
    let half_done = |path: &RelPath, error: &dyn std::fmt::Display| {
        ApplyError::HalfDone(format!("{path}: {error}"))
    };
    // A mark whose sync failed may be there, and would make half of what follows count as all.
    journal
        .unmark(JournalMark::Committed)
        .map_err(|error| ApplyError::HalfDone(error.to_string()))?;
    let was_staged = journal.has(JournalMark::Staged);
    let mut left = Vec::new();
    for (number, entry) in record.entries.iter().enumerate().rev() {
        let restored = roll_back_one(root, journal, (number, entry), was_staged);
        if !restored.map_err(|error| half_done(&entry.path, &error))? {
            left.push(entry.path.clone());
        }
    }
    for folder in record.made_folders.iter().rev() {
        // One that holds somebody else's file stays.
        let _ = fs::remove_dir(folder.under(root));
    }
    let synced = sync_folders(root, record)
        .and_then(|()| if left.is_empty() { journal.remove() } else { journal.keep_aside() });
    synced.map_err(|error| ApplyError::HalfDone(error.to_string()))?;
    Ok(left)
}

/// Whether the file is as it was; not when it holds somebody else's bytes.
fn roll_back_one(
    root: &Path,
    journal: &Journal,
    (number, entry): (usize, &JournalEntry),
    was_staged: bool,
) -> io::Result<bool> {
    let waiting = entry.restored.under(root);
    path_state::remove(&waiting)?;
    let (file, temporary) = (entry.path.under(root), entry.temporary.under(root));
    if !was_staged {
        return path_state::remove(&temporary).map(|_| true);
    }
    let hash_of = |found: &PathContent| found.hash().map(|hash| hash.to_string());
    let aside = match inspect_file(root, &entry.temporary) {
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => None,
        found => found?.as_ref().and_then(hash_of),
    };
    // As long as the new bytes lie there, they were not put into place.
    if aside.is_some() && aside == entry.after {
        return path_state::remove(&temporary).map(|_| true);
    }
    let Some(now) = inspect_file(root, &entry.path)? else { return Ok(false) };
    let now = hash_of(&now);
    let before = entry.before.as_ref().map(|it| &it.hash);
    if aside.is_some() && now == entry.after {
        // What was taken out of the file's place, whosever it is.
        match now {
            Some(_) => fs::rename(&temporary, &file)?,
            None => path_state::rename_no_replace(&temporary, &file)?,
        }
        return Ok(aside.as_ref() == before);
    }
    if aside.as_ref() == before {
        path_state::remove(&temporary)?;
    }
    match &entry.before {
        _ if before == now.as_ref() => Ok(true),
        _ if now != entry.after => Ok(false),
        Some(before) => {
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent)?;
            }
            path_state::write_new(&waiting, &journal.old_bytes(number)?, Some(&before.owner))?;
            fs::rename(&waiting, &file)?;
            Ok(true)
        }
        None => fs::remove_file(&file).map(|()| true),
    }
}

/// What stands there; `None` when it is no file. An error is not somebody else's bytes: what stands
/// there is not known, so it is tried again.
fn inspect_file(root: &Path, path: &RelPath) -> io::Result<Option<PathContent>> {
    match PathState::inspect(root, path) {
        Ok(spot) => Ok(Some(spot.content)),
        Err(ApplyError::Failed { error, .. }) => Err(error),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
