//! Opens a database: private, checked, migrated, and if damaged moved aside and
//! restored from a backup.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use rustix::fs::{Access, FlockOperation, access, flock};

use super::schema::StoreSchema;
use super::{StoreError, backups, read_only};
use moai_base::limits::{
    STORE_BUSY_MS_MAX, STORE_CHECKED_BYTES_MAX, STORE_CORRUPT_COPIES_MAX, STORE_LOCK_RETRY_MS,
    STORE_STATEMENTS_MAX,
};

/// Access of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionMode {
    Read,
    Write,
}

pub(super) struct StoreDatabase {
    connection: Connection,
    path: PathBuf,
    /// Device and inode of the file that was opened.
    identity: (u64, u64),
    /// The same of its log, which SQLite keeps while it is open; `None` if it had no log then.
    log_identity: Option<(u64, u64)>,
    /// Why nothing may be changed: the schema is newer than this program, or its place is read only.
    unchangeable: Option<StoreError>,
}

impl StoreDatabase {
    /// A database that can only be read, for `reason`.
    pub(super) fn for_reading(
        connection: Connection,
        path: &Path,
        reason: StoreError,
    ) -> Result<Self, StoreError> {
        let identity = identity(path).map_err(|error| unavailable(path, &error))?;
        let log_identity = self::identity(&with_suffix(path, "-wal")).ok();
        let (path, unchangeable) = (path.to_path_buf(), Some(reason));
        Ok(Self { connection, path, identity, log_identity, unchangeable })
    }

    /// True if the paths still lead to the opened file and its log. After they were removed, changes would
    /// otherwise go into files without a name.
    pub(super) fn is_in_place(&self) -> bool {
        self.has_its_file() && self.has_its_log()
    }

    fn has_its_file(&self) -> bool {
        identity(&self.path).is_ok_and(|identity| identity == self.identity)
    }

    fn has_its_log(&self) -> bool {
        let log = self.log_identity;
        log.is_none_or(|log| identity(&with_suffix(&self.path, "-wal")).is_ok_and(|it| it == log))
    }

    /// True if its log was removed while it is open.
    pub(super) fn has_lost_log(&self) -> bool {
        self.has_its_file() && !self.has_its_log()
    }

    /// Copies the content of a removed log to the database, before it is closed.
    pub(super) fn save_lost_log(&mut self) {
        let path = self.path.display().to_string();
        match self.maintain("PRAGMA wal_checkpoint(TRUNCATE)") {
            Ok(()) => tracing::warn!(path, "the log of a database was removed; it was saved"),
            Err(error) => tracing::warn!(%error, path, "the log of a database was removed"),
        }
    }

    /// How long a transaction waits while another process has locked the database.
    pub(super) fn set_busy_wait(&mut self, wait: Duration) -> Result<(), StoreError> {
        Ok(self.connection.busy_timeout(wait)?)
    }

    /// Runs statements that cannot be part of a transaction.
    pub(super) fn maintain(&mut self, sql: &str) -> Result<(), StoreError> {
        if let Some(reason) = &self.unchangeable {
            return Err(reason.clone());
        }
        Ok(self.connection.execute_batch(sql)?)
    }

    /// Takes free pages off the end of the file, at most so many. Answers whether more are left. A
    /// database that was made without room for this keeps its free pages and uses them again.
    pub(super) fn vacuum(&mut self, pages_max: u32) -> Result<bool, StoreError> {
        let free_before = self.free_pages()?;
        if free_before > 0 && self.unchangeable.is_none() {
            let sql = format!("PRAGMA incremental_vacuum({pages_max})");
            let mut vacuum = self.connection.prepare(&sql)?;
            let mut pages = vacuum.query([])?;
            // One step for each page.
            while pages.next()?.is_some() {}
        }
        let free = self.free_pages()?;
        Ok(free > 0 && free < free_before)
    }

    fn free_pages(&self) -> Result<u64, StoreError> {
        Ok(self.connection.query_row("PRAGMA freelist_count", [], |row| row.get(0))?)
    }

    /// Runs `work` in one transaction; rolls back unless it is a write that returns `Ok`.
    pub(super) fn transact<T>(
        &mut self,
        access: TransactionMode,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let unchangeable = self.unchangeable.as_ref();
        if let Some(reason) = unchangeable.filter(|_| access == TransactionMode::Write) {
            return Err(reason.clone());
        }
        let behavior = match access {
            TransactionMode::Read => TransactionBehavior::Deferred,
            TransactionMode::Write => TransactionBehavior::Immediate,
        };
        let transaction = self.connection.transaction_with_behavior(behavior)?;
        let changes_before = transaction.total_changes();
        let value = work(&transaction)?;
        match access {
            TransactionMode::Write => transaction.commit()?,
            // Not `PRAGMA query_only`: setting it makes SQLite compile every cached statement again.
            TransactionMode::Read if transaction.total_changes() != changes_before => {
                let reason = "a transaction for reading changed the database".to_owned();
                return Err(StoreError::Unavailable(reason));
            }
            TransactionMode::Read => transaction.rollback()?,
        }
        Ok(value)
    }
}

/// A database that was damaged and moved aside, or that was missing although it has backups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreRecovery {
    pub database: PathBuf,
    pub damage: String,
    pub moved_to: Option<PathBuf>,
    /// When the backup that replaced it was made, in milliseconds since the epoch; `None` if no backup was
    /// sound, and an empty database replaced it.
    pub backup_ms: Option<u64>,
}

/// Opens the database in a folder, which is created if missing. A damaged database is moved aside
/// and replaced by its newest sound backup, or else by a new one. `thorough` checks a large database
/// for damage too.
pub(super) fn open_database(
    folder: &Path,
    schema: &StoreSchema,
    thorough: bool,
) -> Result<(StoreDatabase, Option<StoreRecovery>), StoreError> {
    let failed = |error| unavailable(folder, &error);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let path = folder.join(schema.file_name);
    if schema.is_read_if_unchangeable && path.exists() && is_read_only(folder, &path) {
        return Ok((read_only::open(&path, schema)?, None));
    }
    // Two processes that find the same damage must not both move a database aside, because the
    // second would move the new one.
    let _lock = lock(&folder.join("open.lock"))?;
    if schema.is_restored_if_missing && !path.exists() && backups::has_backup(&path) {
        // A database must never be opened with the log of another one.
        for suffix in ["-wal", "-shm"] {
            match fs::remove_file(with_suffix(&path, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        let backup_ms = replace_by_backup(&path)?;
        let database = open_sound(&path, schema, false)?;
        let damage = "the file is missing".to_owned();
        let recovery = StoreRecovery { database: path, damage, moved_to: None, backup_ms };
        return Ok((database, Some(recovery)));
    }
    match open_sound(&path, schema, thorough) {
        Err(StoreError::Corrupt(damage)) => {
            let moved_to = Some(move_aside(&path).map_err(failed)?);
            let backup_ms = replace_by_backup(&path)?;
            let database = open_sound(&path, schema, false)?;
            Ok((database, Some(StoreRecovery { database: path, damage, moved_to, backup_ms })))
        }
        opened => Ok((opened?, None)),
    }
}

/// Replaces a damaged or missing database by its newest sound backup, or removes it if none exists. Returns
/// the time of the backup, in milliseconds since the epoch. However the process ends, the path holds a
/// damaged database or a sound one.
fn replace_by_backup(path: &Path) -> Result<Option<u64>, StoreError> {
    let failed = |error| unavailable(path, &error);
    let Some((restored, made_at)) = backups::prepare_restored(path) else {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(None),
        };
    };
    fs::rename(restored, path).map_err(failed)?;
    let since = made_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(Some(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// True if nothing can be written in a folder, or in the database in it.
pub(super) fn is_read_only(folder: &Path, database: &Path) -> bool {
    let is_refused = |path: &Path| {
        let refused = [rustix::io::Errno::ROFS, rustix::io::Errno::ACCESS];
        access(path, Access::WRITE_OK).is_err_and(|error| refused.contains(&error))
    };
    is_refused(folder) || is_refused(database)
}

fn open_sound(
    path: &Path,
    schema: &StoreSchema,
    thorough: bool,
) -> Result<StoreDatabase, StoreError> {
    let failed = |error| unavailable(path, &error);
    let is_new = create_private(path).map_err(failed)?;
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    }
    // SQLite treats an empty file as a new database.
    let has_log = fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if !is_new && metadata.len() == 0 && (has_log || backups::has_backup(path)) {
        return Err(StoreError::Corrupt("the file is empty".to_owned()));
    }
    let mut connection = backups::open_existing(path)?;
    // All of a young database may be in its log, and the log may have been deleted.
    if !is_new && backups::has_no_tables(&connection)? && backups::has_backup(path) {
        return Err(StoreError::Corrupt("it has no tables".to_owned()));
    }
    if is_new {
        // Before anything is written, or it has no effect.
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    }
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;")?;
    connection.execute_batch(schema.settings)?;
    // Otherwise the planner would examine every bound value, and plan the look-ups of FTS5 again for each
    // token.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STORE_STATEMENTS_MAX);
    if thorough || metadata.len() <= STORE_CHECKED_BYTES_MAX {
        backups::refuse_damage(&connection)?;
    }
    let is_outdated = schema.is_outdated(&connection)?;
    if is_outdated {
        match backups::back_up_before_migration(path) {
            Err(error @ StoreError::Corrupt(_)) => return Err(error),
            Err(error) => tracing::warn!(%error, "no backup before a migration"),
            Ok(()) => {}
        }
    }
    let unchangeable = match schema.migrate(&mut connection) {
        Err(newer @ StoreError::Newer { .. }) if schema.is_read_if_unchangeable => Some(newer),
        migrated => migrated.map(|()| None)?,
    };
    if is_outdated && !schema.removals.is_empty() {
        let removed = backups::change_backups(path, |copy| schema.remove_from_copy(copy));
        if let Err(error) = removed {
            tracing::warn!(%error, "backups of an older schema have texts that are to be removed");
        }
    }
    let identity = identity(path).map_err(failed)?;
    let log_identity = self::identity(&with_suffix(path, "-wal")).ok();
    let path = path.to_path_buf();
    Ok(StoreDatabase { connection, path, identity, log_identity, unchangeable })
}

/// Creates the file, because SQLite would follow the umask; -wal and -shm get the mode of this file.
/// An existing one is not opened: closing it would release the locks that other connections of
/// this process hold on it. Returns whether it was created.
fn create_private(path: &Path) -> io::Result<bool> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        created => created.map(|_| true),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Holds the lock until the file is dropped.
pub(super) fn lock(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(|error| unavailable(path, &error))?;
    let deadline = Instant::now() + Duration::from_millis(STORE_BUSY_MS_MAX);
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(STORE_LOCK_RETRY_MS));
            }
            Err(error) => return Err(unavailable(path, &error.into())),
        }
    }
}

/// Gives a damaged database a second name and moves its log there, so that users can still recover
/// data. If there are too many already, the last one is replaced.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let numbered = |n: usize| with_suffix(path, &format!(".corrupt-{n}"));
    let last = STORE_CORRUPT_COPIES_MAX;
    let aside = numbered((1..=last).find(|n| !numbered(*n).exists()).unwrap_or(last));
    // The log first, because a new database must never be opened with the log of another one.
    for (suffix, is_kept) in [("-wal", true), ("-shm", false)] {
        let from = with_suffix(path, suffix);
        let moved = if is_kept {
            fs::rename(&from, with_suffix(&aside, suffix))
        } else {
            fs::remove_file(&from)
        };
        match moved {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Not every file system has links.
    fs::hard_link(path, &aside).or_else(|_| fs::copy(path, &aside).map(drop))?;
    Ok(aside)
}

/// The damaged databases that were moved aside.
pub(super) fn moved_aside(path: &Path) -> Vec<PathBuf> {
    let copies =
        (1..=STORE_CORRUPT_COPIES_MAX).map(|n| with_suffix(path, &format!(".corrupt-{n}")));
    copies.filter(|copy| copy.exists()).collect()
}

/// The last database that was moved aside.
pub(super) fn last_moved_aside(path: &Path) -> Option<PathBuf> {
    let copies = (1..=STORE_CORRUPT_COPIES_MAX).rev();
    copies.map(|n| with_suffix(path, &format!(".corrupt-{n}"))).find(|copy| copy.exists())
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn unavailable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: StoreSchema = StoreSchema {
        file_name: "notes.db",
        migrations: &[
            "CREATE TABLE notes (text TEXT NOT NULL) STRICT",
            "ALTER TABLE notes ADD COLUMN rank INTEGER NOT NULL DEFAULT 7",
        ],
        settings: "PRAGMA synchronous = NORMAL",
        is_read_if_unchangeable: false,
        is_restored_if_missing: false,
        removals: &[],
        weekly_backups_max: 0,
    };

    fn write(database: &mut StoreDatabase, sql: &str) {
        let written = database.transact(TransactionMode::Write, |at| Ok(at.execute(sql, [])?));
        assert_eq!(written, Ok(1), "{sql}");
    }

    fn sum_of_ranks(database: &mut StoreDatabase) -> Option<i64> {
        let sql = "SELECT sum(rank) FROM notes";
        let sum = |at: &Transaction<'_>| Ok(at.query_row(sql, [], |row| row.get(0))?);
        database.transact(TransactionMode::Read, sum).unwrap()
    }

    #[test]
    fn any_schema_is_opened_migrated_and_recovered() {
        let temp = tempfile::tempdir().unwrap();
        let first = StoreSchema { migrations: &NOTES.migrations[..1], ..NOTES };
        let (mut database, notice) = open_database(temp.path(), &first, false).unwrap();
        assert_eq!(notice, None);
        write(&mut database, "INSERT INTO notes VALUES ('old')");
        let journal =
            database.connection.pragma_query_value(None, "journal_mode", |row| row.get(0));
        assert_eq!(journal, Ok("wal".to_owned()));
        drop(database);

        let (mut database, notice) = open_database(temp.path(), &NOTES, false).unwrap();
        assert_eq!(notice, None);
        write(&mut database, "INSERT INTO notes VALUES ('new', 2)");
        assert_eq!(sum_of_ranks(&mut database), Some(9));
        drop(database);
        let older = open_database(temp.path(), &first, false).map(drop).unwrap_err();
        assert!(matches!(older, StoreError::Newer { found: 2, known: 1, .. }), "{older}");

        let path = temp.path().join("notes.db");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::write(&path, "no database; ".repeat(400)).unwrap();
        let (mut database, notice) = open_database(temp.path(), &NOTES, false).unwrap();
        let recovery = notice.unwrap();
        assert_eq!(recovery.moved_to, last_moved_aside(&path));
        assert!(recovery.backup_ms.is_some(), "the backup from before the migration");
        assert_eq!(sum_of_ranks(&mut database), Some(7), "it is migrated again");
        drop(database);
        fs::remove_dir_all(temp.path().join("backups")).unwrap();
        fs::write(&path, "no database; ".repeat(400)).unwrap();
        let (mut database, notice) = open_database(temp.path(), &NOTES, false).unwrap();
        assert_eq!(notice.unwrap().backup_ms, None);
        assert_eq!(sum_of_ranks(&mut database), None);
    }
}
