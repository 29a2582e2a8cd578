//! Backups of a database, and restoring one. A separate thread makes the copy step by step, so that neither a
//! large database nor a slow disk delays a request. A copy counts only when it was found sound and has its
//! final name.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use crate::files::{open_regular, private_dir};
use moai_base::limits::{
    STORE_BACKUP_DAY_SECS, STORE_BACKUP_PAUSE_MS, STORE_BACKUP_REFRESH_SECS,
    STORE_BACKUP_STEP_PAGES, STORE_BACKUP_STEPS_MAX, STORE_BACKUPS_KEPT_MAX, STORE_BUSY_MS_MAX,
    STORE_CHECKED_BYTES_MAX,
};

const FOLDER: &str = "backups";
const EXTENSION: &str = "db";
/// A copy that is being made; the last one of a process that was killed is overwritten.
const UNFINISHED: &str = "unfinished";
/// The copy from before the last change of the schema; it does not count as one of a day.
const BEFORE_MIGRATION: &str = "before-migration";
/// The copy from before the last time that a person restored a backup.
const BEFORE_RESTORE: &str = "before-restore";
/// Begins the name of a backup of one day; its number follows.
const DAY: &str = "day-";
/// Begins the name of a backup of one week.
const WEEK: &str = "week-";

fn folder_of(database: &Path) -> PathBuf {
    database.with_file_name(FOLDER)
}

fn unavailable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}

/// How long the last backup suffices once the database has changed; zero if no backup exists.
pub(super) fn time_until_due(database: &Path) -> Duration {
    let Some((_, made_at)) = newest_first(database).into_iter().next() else {
        return Duration::ZERO;
    };
    let is_large = fs::metadata(database).is_ok_and(|it| it.len() > STORE_CHECKED_BYTES_MAX);
    let interval = if is_large { STORE_BACKUP_DAY_SECS } else { STORE_BACKUP_REFRESH_SECS };
    Duration::from_secs(interval).saturating_sub(made_at.elapsed().unwrap_or_default())
}

/// Replaces the backup of this day, keeps the first one of a week if `weeks_max` is not 0, and removes
/// the oldest ones beyond the limits. Does nothing while another process makes one.
///
/// # Errors
///
/// [`StoreError::Corrupt`] if the copy is damaged, and so the database is.
pub(super) fn back_up_day(database: &Path, weeks_max: usize) -> Result<(), StoreError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let day = now.as_secs() / STORE_BACKUP_DAY_SECS;
    let today = format!("{DAY}{day}");
    back_up(database, &today)?;
    if weeks_max > 0 {
        keep_week(database, &today, day / 7)?;
    }
    remove_oldest(database, DAY, STORE_BACKUPS_KEPT_MAX)?;
    remove_oldest(database, WEEK, weeks_max)
}

/// Gives the backup of this day a second name, unless the week has a backup already. Later backups of
/// the day do not change it.
fn keep_week(database: &Path, today: &str, week: u64) -> Result<(), StoreError> {
    let folder = folder_of(database);
    let today = folder.join(today).with_extension(EXTENSION);
    let kept = folder.join(format!("{WEEK}{week}")).with_extension(EXTENSION);
    if kept.exists() || !today.exists() {
        return Ok(());
    }
    // Not every file system has links.
    let linked = fs::hard_link(&today, &kept).or_else(|_| fs::copy(&today, &kept).map(drop));
    linked.map_err(|error| unavailable(&kept, &error))
}

fn remove_oldest(database: &Path, kind: &str, kept_max: usize) -> Result<(), StoreError> {
    let is_kind =
        |path: &Path| path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with(kind));
    let backups = newest_first(database).into_iter().filter(|(path, _)| is_kind(path));
    for (path, _) in backups.skip(kept_max) {
        fs::remove_file(&path).map_err(|error| unavailable(&path, &error))?;
    }
    Ok(())
}

/// Copies the database before a change of its schema.
pub(super) fn back_up_before_migration(database: &Path) -> Result<(), StoreError> {
    back_up(database, BEFORE_MIGRATION)
}

fn back_up(database: &Path, name: &str) -> Result<(), StoreError> {
    // The folder of a removed database is not made again.
    if !database.exists() {
        return Ok(());
    }
    let folder = folder_of(database);
    let failed = |error: io::Error| unavailable(&folder, &error);
    let lock = open_lock(&folder).map_err(failed)?;
    if lock.try_lock().is_err() {
        return Ok(());
    }
    let unfinished = folder.join(UNFINISHED);
    create_empty(&unfinished).map_err(failed)?;
    copy_database(database, &unfinished)?;
    File::open(&unfinished).and_then(|file| file.sync_all()).map_err(failed)?;
    let finished = folder.join(name).with_extension(EXTENSION);
    fs::rename(&unfinished, finished).map_err(failed)?;
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// The file of a lock, in the private folder of the backups.
fn open_lock(folder: &Path) -> io::Result<File> {
    private_dir(folder)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).open(folder.join("lock"))
}

/// Copies a database to a new private file, which is removed if the copy fails.
pub(super) fn back_up_to(database: &Path, file: &Path) -> Result<(), StoreError> {
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    created.map_err(|error| unavailable(file, &error))?;
    copy_database(database, file).inspect_err(|_| drop(fs::remove_file(file)))
}

/// Result of changing the backups.
#[derive(Debug, Default)]
pub(super) struct BackupChanges {
    /// True if one of them was changed.
    pub(super) has_changed: bool,
    pub(super) unreadable: Vec<PathBuf>,
}

/// Changes all backups in the same way; `change` returns true if it changed something. A backup that cannot
/// be changed now, such as on a full disk, is kept; the function then fails after changing the rest.
pub(super) fn change_backups(
    database: &Path,
    change: impl Fn(&mut Connection) -> Result<bool, StoreError>,
) -> Result<BackupChanges, StoreError> {
    let mut changes = BackupChanges::default();
    let folder = folder_of(database);
    if !folder.exists() {
        return Ok(changes);
    }
    let failed = |error: io::Error| unavailable(&folder, &error);
    let lock = open_lock(&folder).map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut unchanged = Ok(());
    for (backup, made_at) in newest_first(database) {
        match open_existing(&backup).and_then(|mut copy| change(&mut copy)) {
            Ok(has_changed) => {
                changes.has_changed |= has_changed;
                // Its age decides which backup is the newest.
                if let Ok(file) = File::options().write(true).open(&backup) {
                    let _ = file.set_modified(made_at);
                }
            }
            Err(StoreError::Unavailable(error)) => {
                let text = format!("{} was not changed, repeat this: {error}", backup.display());
                unchanged = Err(StoreError::Unavailable(text));
            }
            Err(error) => {
                tracing::warn!(%error, backup = %backup.display(), "a backup cannot be read");
                changes.unreadable.push(backup);
            }
        }
    }
    match fs::remove_file(folder.join(UNFINISHED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => unchanged.map(|()| changes),
    }
}

/// Copies the database before a backup replaces it.
pub(super) fn back_up_before_restore(database: &Path) -> Result<(), StoreError> {
    back_up(database, BEFORE_RESTORE)
}

/// The newest backup that [`back_up_before_restore`] did not make.
pub(super) fn newest(database: &Path) -> Option<PathBuf> {
    let is_kept = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem != BEFORE_RESTORE);
    newest_first(database).into_iter().map(|(path, _)| path).find(is_kept)
}

/// An empty private file in place of an older one.
fn create_empty(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

/// Copies a database in steps, starting again whenever another connection changed it, and checks
/// the copy.
fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
    let source = open_existing(from)?;
    let mut copy = open_existing(to)?;
    // A copy that is cut short by a power failure has no name yet.
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    let backup = Backup::new(&source, &mut copy)?;
    let mut is_done = false;
    for _ in 0..STORE_BACKUP_STEPS_MAX {
        is_done = backup.step(STORE_BACKUP_STEP_PAGES)? == StepResult::Done;
        if is_done {
            break;
        }
        thread::sleep(Duration::from_millis(STORE_BACKUP_PAUSE_MS));
    }
    drop(backup);
    if !is_done {
        return Err(StoreError::Unavailable("it changes too often to be copied".to_owned()));
    }
    // The copy's header says that it has a log, as the source has, but it must be a single file.
    copy.execute_batch("PRAGMA journal_mode = DELETE")?;
    refuse_damage(&copy)
}

/// Opens a database that exists.
pub(super) fn open_existing(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_millis(STORE_BUSY_MS_MAX))?;
    Ok(connection)
}

/// An error if SQLite finds the database damaged. Reads all of it.
pub(super) fn refuse_damage(connection: &Connection) -> Result<(), StoreError> {
    let result: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if result == "ok" { Ok(()) } else { Err(StoreError::Corrupt(result)) }
}

/// True if a database was never migrated.
pub(super) fn has_no_tables(connection: &Connection) -> Result<bool, StoreError> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(version == 0)
}

/// When the newest backup of a database was made, sound or not.
pub(super) fn newest_made_at(database: &Path) -> Option<SystemTime> {
    newest_first(database).into_iter().map(|(_, made_at)| made_at).next()
}

/// True if a database has any backup, sound or not.
pub(super) fn has_backup(database: &Path) -> bool {
    !newest_first(database).is_empty()
}

/// The copy of a backup that is about to replace the database. If its process was killed, it stays until the
/// next copy or [`crate::store::memory`] removes it.
pub(super) fn restored_copy(database: &Path) -> PathBuf {
    database.with_file_name("restored")
}

/// The newest sound backup as a private, durable file next to the database, and the time it was made. `None`
/// if no sound backup exists.
pub(super) fn prepare_restored(database: &Path) -> Option<(PathBuf, SystemTime)> {
    let restored = restored_copy(database);
    for (backup, made_at) in newest_first(database) {
        match copy_sound(&backup, &restored) {
            Ok(()) => return Some((restored, made_at)),
            Err(error) => {
                tracing::warn!(%error, backup = %backup.display(), "a backup cannot be used");
            }
        }
    }
    let _ = fs::remove_file(&restored);
    None
}

pub(super) fn copy_sound(backup: &Path, restored: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| unavailable(backup, &error);
    let mut opened = open_regular(backup).map_err(failed)?;
    create_empty(restored).map_err(failed)?;
    let copied = File::options().write(true).truncate(true).open(restored);
    copied.and_then(|mut copy| io::copy(&mut opened, &mut copy)).map_err(failed)?;
    let connection = open_existing(restored)?;
    if has_no_tables(&connection)? {
        return Err(StoreError::Corrupt("it has no tables".to_owned()));
    }
    refuse_damage(&connection)?;
    drop(connection);
    File::open(restored).and_then(|file| file.sync_all()).map_err(failed)
}

/// The finished backups of a database and when they were made.
fn newest_first(database: &Path) -> Vec<(PathBuf, SystemTime)> {
    let entries = fs::read_dir(folder_of(database)).into_iter().flatten().flatten();
    let mut found: Vec<(PathBuf, SystemTime)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|kind| kind == EXTENSION))
        .filter_map(|path| {
            // Opening anything else, such as a pipe, could block forever.
            let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
            Some((path, metadata.modified().ok()?))
        })
        .collect();
    found.sort_by_key(|(_, made_at)| std::cmp::Reverse(*made_at));
    found
}
