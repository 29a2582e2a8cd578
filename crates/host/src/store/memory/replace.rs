//! Changes of the database as a whole: forgetting in every copy, copies for people, restoring one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use moai_memory::database::{ForgetSelection, MemoryDatabase, ObservationFilter};
use rusqlite::{Connection, TransactionBehavior};

use super::database::MemoryTransaction;
use super::{MEMORY_SCHEMA, SqliteMemory};
use crate::memory::ForgetOutcome;
use crate::store::open::{self, TransactionMode};
use crate::store::{StoreError, StoreKey, StoreThread, backups};

/// Rebuilds the index without the tokens of forgotten observations: until then they are in its older
/// segments.
const REWRITE_INDEX: &str = "INSERT INTO entries (entries) VALUES ('optimize')";

/// Chooses the observations to forget; called again for every copy of the database.
pub(crate) type ForgetChoice = Arc<
    dyn Fn(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<ForgetSelection, StoreError>
        + Send
        + Sync,
>;

impl SqliteMemory {
    /// Forgets observations in the database, in its log and in its backups. Copies that cannot be read are
    /// removed if there was anything to forget. The database is last: if this fails before, it has
    /// still a match when it is repeated.
    pub(crate) async fn forget(&self, choice: ForgetChoice) -> Result<ForgetOutcome, StoreError> {
        let forget = move |thread: &mut StoreThread| {
            let path = thread.key.database(&thread.home);
            let has_match = thread.transact(TransactionMode::Write, |transaction| {
                let mut database = MemoryTransaction { connection: transaction };
                database.update_index()?;
                let selection = choice(&mut database)?;
                has_rows(&mut database, &selection)
            })?;
            let backups = backups::change_backups(&path, |copy| forget_in_copy(copy, &choice))?;
            remove(&backups::restored_copy(&path))?;
            let mut outcome =
                ForgetOutcome { is_in_backups: backups.has_changed, ..ForgetOutcome::default() };
            let mut unreadable = backups.unreadable;
            unreadable.extend(open::moved_aside(&path));
            if has_match || backups.has_changed {
                for copy in &unreadable {
                    remove(copy)?;
                    remove(&open::with_suffix(copy, "-wal"))?;
                }
                outcome.removed_copies = unreadable;
            } else {
                outcome.unread_copies = unreadable;
            }
            outcome.observations = thread.transact(TransactionMode::Write, |transaction| {
                let mut database = MemoryTransaction { connection: transaction };
                let selection = choice(&mut database)?;
                database.forget(&selection)
            })?;
            let database = thread.open()?;
            database.maintain(REWRITE_INDEX)?;
            database.maintain("PRAGMA wal_checkpoint(TRUNCATE)")?;
            Ok(outcome)
        };
        self.threads.run(&StoreKey::Memory, forget).await
    }

    /// Copies the database to a new file, or replaces the backup of this day. Answers with the file.
    pub(crate) async fn back_up(&self, file: Option<PathBuf>) -> Result<PathBuf, StoreError> {
        let copy = move |thread: &mut StoreThread| {
            let path = thread.key.database(&thread.home);
            thread.open()?;
            if let Some(file) = file {
                return backups::back_up_to(&path, &file).map(|()| file);
            }
            backups::back_up_day(&path, MEMORY_SCHEMA.weekly_backups_max)?;
            let made = backups::newest(&path);
            made.ok_or_else(|| StoreError::Unavailable("another process makes a backup".to_owned()))
        };
        self.threads.run(&StoreKey::Memory, copy).await
    }

    /// The backup that is meant, by default the newest, and how many observations it has.
    pub(crate) async fn inspect_backup(
        &self,
        file: Option<PathBuf>,
    ) -> Result<(PathBuf, u64), StoreError> {
        let inspect = move |thread: &mut StoreThread| {
            let path = thread.key.database(&thread.home);
            let (backup, prepared) = prepare(&path, file)?;
            let count = count_observations(&prepared);
            remove(&prepared)?;
            Ok((backup, count?))
        };
        self.threads.run(&StoreKey::Memory, inspect).await
    }

    /// Replaces the database by a backup, after a copy of it was made. Answers like
    /// [`Self::inspect_backup`].
    pub(crate) async fn restore(
        &self,
        file: Option<PathBuf>,
    ) -> Result<(PathBuf, u64), StoreError> {
        let restore = move |thread: &mut StoreThread| {
            let path = thread.key.database(&thread.home);
            let (backup, prepared) = prepare(&path, file)?;
            let count = count_observations(&prepared).inspect_err(|_| drop(remove(&prepared)))?;
            if let Err(error) = backups::back_up_before_restore(&path) {
                tracing::warn!(%error, "no copy of the memory before a backup is restored");
            }
            thread.close();
            let _lock = open::lock(&path.with_file_name("open.lock"))?;
            for suffix in ["-wal", "-shm"] {
                remove(&open::with_suffix(&path, suffix))?;
            }
            fs::rename(&prepared, &path).map_err(|error| unavailable(&path, &error))?;
            Ok((backup, count))
        };
        self.threads.run(&StoreKey::Memory, restore).await
    }
}

/// A sound copy of a backup next to the database. A backup without tables of the memory is refused.
fn prepare(database: &Path, file: Option<PathBuf>) -> Result<(PathBuf, PathBuf), StoreError> {
    let newest = || backups::newest(database);
    let Some(backup) = file.or_else(newest) else {
        return Err(StoreError::Unavailable("there is no backup".to_owned()));
    };
    if let Some(folder) = database.parent() {
        crate::files::private_dir(folder).map_err(|error| unavailable(folder, &error))?;
    }
    let prepared = backups::restored_copy(database);
    backups::copy_sound(&backup, &prepared).inspect_err(|_| drop(remove(&prepared)))?;
    Ok((backup, prepared))
}

fn count_observations(database: &Path) -> Result<u64, StoreError> {
    let mut copy = backups::open_existing(database)?;
    MEMORY_SCHEMA.migrate(&mut copy)?;
    MemoryTransaction { connection: &copy }.count(&ObservationFilter::default())
}

fn has_rows(
    database: &mut MemoryTransaction<'_>,
    selection: &ForgetSelection,
) -> Result<bool, StoreError> {
    Ok(match selection {
        ForgetSelection::Rows(rows) => !database.describe(rows)?.is_empty(),
        ForgetSelection::Filter(filter) => database.count(filter)? > 0,
    })
}

/// Answers whether the copy had a match.
fn forget_in_copy(copy: &mut Connection, choice: &ForgetChoice) -> Result<bool, StoreError> {
    copy.execute_batch("PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON")?;
    MEMORY_SCHEMA.migrate(copy)?;
    let transaction = copy.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut database = MemoryTransaction { connection: &transaction };
    database.update_index()?;
    let selection = choice(&mut database)?;
    let forgotten = database.forget(&selection)?;
    transaction.execute_batch(REWRITE_INDEX)?;
    transaction.commit()?;
    Ok(forgotten > 0)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(unavailable(path, &error))
        }
        _ => Ok(()),
    }
}

fn unavailable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}
