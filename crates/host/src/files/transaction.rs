//! Change sets that are applied completely or not at all, even if the process is killed meanwhile.
//!
//! ```text
//! locked -> checked -> record and old bytes durable -> new bytes next to the files ("staged")
//!   -> every file checked once more and renamed into place -> "committed" -> record removed
//! ```
//!
//! Before "staged" nothing but our own temporary files exists. Between the two marks an unfinished set is
//! rolled back, file by file; after "committed" only cleanup is left. Writes by other programs are never
//! lost: the old file is moved out of its place and compared before it is deleted (on a file system that
//! cannot exchange two files, it is compared just before), and a file is rolled back only while it holds our
//! bytes.

mod journal;
mod path_state;

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::journal::{Journal, JournalEntry, JournalMark, JournalRecord};
use self::path_state::{PathContent, PathState};
use super::{other_repository, private_dir};
use moai_base::change::{ChangeSet, NewContent, PathChange};
use moai_base::limits::{CHANGES_RETRY_MS, CHANGES_WAIT_MS_MAX};
use moai_base::path::RelPath;

/// Why a change set was not applied. Except for the last two, every file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A file differs from the state that the change was computed for.
    #[error("{0}: changed in the meantime; nothing was written")]
    Changed(String),
    /// Something that is not a regular file is at the path.
    #[error("{path}: {reason}; nothing was written")]
    Obstructed { path: String, reason: String },
    /// A path is in a nested repository, such as a submodule.
    #[error("{0} is another repository; nothing was written")]
    OtherRepository(String),
    /// Reading or writing failed.
    #[error("{path}: {error}; all files were restored")]
    Failed { path: String, error: io::Error },
    /// Another change set of the project is being applied.
    #[error("another change is being written to this project; nothing was written")]
    Busy,
    /// Other writers changed files while they were being replaced.
    #[error("{0}: changed by another program and kept; all other files were restored")]
    Mixed(String),
    /// This change set, or an earlier one, could not be rolled back.
    #[error("a change is incomplete and cannot be reverted now ({0}); it is retried later")]
    HalfDone(String),
}

/// The places below the root that a change set may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteReach {
    /// Not in nested repositories, such as submodules.
    OwnRepository,
    /// Everywhere: used to restore files that were saved there.
    AllRepositories,
}

/// Result of recovering an unfinished change set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecovery {
    /// The root of its files.
    pub root: PathBuf,
    /// True if all its changes had been made; otherwise they were rolled back.
    pub was_complete: bool,
    /// Files that other programs changed since; they were left unchanged.
    pub changed_by_others: Vec<RelPath>,
}

/// Applies all changes below a canonical root, or none. `folder` is the project's private folder
/// for journals; its change sets are applied one after the other. Unfinished sets of earlier
/// processes are rolled back first. Blocks for reading, writing and syncing.
///
/// Files keep owner, group and permissions; new ones get the defaults. Every file is replaced by a
/// new one of the same name, so other hard links keep the old content.
pub fn apply_change_set(
    root: &Path,
    folder: &Path,
    set: &ChangeSet,
    reach: WriteReach,
) -> Result<(), ApplyError> {
    if reach == WriteReach::OwnRepository {
        refuse_other_repositories(root, set)?;
    }
    let failed = |error| ApplyError::Failed { path: folder.display().to_string(), error };
    private_dir(folder).map_err(failed)?;
    let timeout = Duration::from_millis(CHANGES_WAIT_MS_MAX);
    let Some(_lock) = lock(folder, timeout).map_err(failed)? else {
        return Err(ApplyError::Busy);
    };
    recover_locked(folder)?;
    let states = inspect_paths(root, set)?;
    let (journal, record) = Journal::begin(folder, root, set, &states).map_err(failed)?;
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

/// Replaces one file, or creates it in an existing folder, as a change set; a symbolic link is
/// followed. `folder` is that of [`apply_change_set`]; the path's root may be any folder. Blocks.
pub fn replace_file(path: &Path, folder: &Path, bytes: &[u8]) -> Result<(), ApplyError> {
    let failed = |error| ApplyError::Failed { path: path.display().to_string(), error };
    let path = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
        found => found.map_err(failed)?,
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let root = parent.unwrap_or(Path::new(".")).canonicalize().map_err(failed)?;
    let name = path.file_name().and_then(|name| RelPath::parse(name.to_str()?));
    let name = name.ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
    let change = PathChange {
        before: PathState::inspect(&root, &name)?.content.hash(),
        path: name,
        after: Some(NewContent { bytes: bytes.into(), permissions_from: None }),
    };
    let set = ChangeSet { changes: vec![change], emptied_folders: Vec::new() };
    apply_change_set(&root, folder, &set, WriteReach::AllRepositories)
}

/// Rolls back or cleans up the unfinished change sets of earlier processes. Does nothing while another
/// process works in the folder, or if it does not exist.
pub fn recover_change_sets(folder: &Path) -> Result<Vec<ChangeRecovery>, ApplyError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    match lock(folder, Duration::ZERO)
        .map_err(|error| ApplyError::Failed { path: folder.display().to_string(), error })?
    {
        Some(_lock) => recover_locked(folder),
        None => Ok(Vec::new()),
    }
}

fn recover_locked(folder: &Path) -> Result<Vec<ChangeRecovery>, ApplyError> {
    let mut recovered = Vec::new();
    for (journal, record) in Journal::unfinished(folder)
        .map_err(|error: io::Error| ApplyError::HalfDone(error.to_string()))?
    {
        let root = record.root.clone();
        // The file system may be mounted again later.
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

/// An exclusive flock; the kernel releases it however the process ends.
fn lock(folder: &Path, timeout: Duration) -> io::Result<Option<File>> {
    let file = journal::private_file(&folder.join("lock"))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if start.elapsed() >= timeout => return Ok(None),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_millis(CHANGES_RETRY_MS));
            }
        }
    }
}

fn refuse_other_repositories(root: &Path, set: &ChangeSet) -> Result<(), ApplyError> {
    let mut paths = set.changes.iter().map(|change| &change.path);
    match paths.find_map(|path| other_repository(root, path)) {
        Some(repository) => Err(ApplyError::OtherRepository(repository.to_owned())),
        None => Ok(()),
    }
}

/// The current state of every path; an error if it differs from the state that the changes were
/// computed for.
fn inspect_paths(root: &Path, set: &ChangeSet) -> Result<Vec<PathState>, ApplyError> {
    let mut states = Vec::with_capacity(set.changes.len());
    for change in &set.changes {
        let state = PathState::inspect(root, &change.path)?;
        if state.content.hash() != change.before {
            return Err(ApplyError::Changed(change.path.to_string()));
        }
        states.push(state);
    }
    Ok(states)
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
    // Writing took time, so check again that no other writer changed a file.
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

/// Applies one change of a staged set. Another writer may have changed the file since the last
/// check, so the replaced file is compared once more when it is out of reach.
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
            // The temporary name is too long for the file system.
            io::ErrorKind::InvalidFilename if is_deletion => {
                return fs::remove_file(&file).map_err(failed);
            }
            _ => return Err(failed(error)),
        },
    }
    let out =
        PathState::inspect(root, &entry.temporary).ok().and_then(|state| state.content.hash());
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

/// Makes the names durable, because a rename is stored in the folder and not in the file.
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

/// After the commit: removes emptied folders, the deepest first, and the journal. Failures are only
/// logged, because nothing here can undo the change.
fn finish(root: &Path, journal: &Journal, record: &JournalRecord) {
    for folder in record.emptied_folders.iter().rev() {
        // A folder that is not empty stays.
        let _ = fs::remove_dir(folder.under(root));
    }
    if let Err(error) = journal.remove() {
        tracing::warn!(%error, folder = %journal.folder().display(), "a journal could not be removed");
    }
}

/// Restores every file that holds our bytes; returns those that hold other bytes.
fn roll_back(
    root: &Path,
    journal: &Journal,
    record: &JournalRecord,
) -> Result<Vec<RelPath>, ApplyError> {
    let half_done = |path: &RelPath, error: &dyn std::fmt::Display| {
        ApplyError::HalfDone(format!("{path}: {error}"))
    };
    // A mark whose sync failed may exist, and would make the rest of a half-done set count as complete.
    journal
        .unmark(JournalMark::Committed)
        .map_err(|error| ApplyError::HalfDone(error.to_string()))?;
    let was_staged = journal.has(JournalMark::Staged);
    let mut left = Vec::new();
    for (number, entry) in record.entries.iter().enumerate().rev() {
        let restored = roll_back_one(root, journal, number, entry, was_staged);
        if !restored.map_err(|error| half_done(&entry.path, &error))? {
            left.push(entry.path.clone());
        }
    }
    for folder in record.made_folders.iter().rev() {
        // A folder that holds other files stays.
        let _ = fs::remove_dir(folder.under(root));
    }
    let synced = sync_folders(root, record)
        .and_then(|()| if left.is_empty() { journal.remove() } else { journal.keep_aside() });
    synced.map_err(|error| ApplyError::HalfDone(error.to_string()))?;
    Ok(left)
}

/// True if the file was restored; false if it holds the bytes of another writer.
fn roll_back_one(
    root: &Path,
    journal: &Journal,
    number: usize,
    entry: &JournalEntry,
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
    // As long as the temporary file holds the new bytes, they were not moved into place.
    if aside.is_some() && aside == entry.after {
        return path_state::remove(&temporary).map(|_| true);
    }
    let Some(now) = inspect_file(root, &entry.path)? else { return Ok(false) };
    let now = hash_of(&now);
    let before = entry.before.as_ref().map(|it| &it.hash);
    if aside.is_some() && now == entry.after {
        // Put back the file that was moved aside, even if another program wrote it meanwhile.
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

/// The path's content; `None` if it is not a regular file. After an error the content is unknown,
/// so the rollback is retried later.
fn inspect_file(root: &Path, path: &RelPath) -> io::Result<Option<PathContent>> {
    match PathState::inspect(root, path) {
        Ok(state) => Ok(Some(state.content)),
        Err(ApplyError::Failed { error, .. }) => Err(error),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests;
