//! Bounds of the databases and their backups.

/// Time for which a read of the store waits for a writer.
pub const STORE_READ_WAIT_MS_MAX: u64 = 100;
/// Operations queued for the thread of a database before callers must wait.
pub const STORE_QUEUE_MAX: usize = 256;
/// Databases kept open; the least recently used is closed.
pub const STORE_OPEN_MAX: usize = 16;
/// Time to wait for another process that has locked a database.
pub const STORE_BUSY_MS_MAX: u64 = 5_000;
/// The same for a user's command: another process's import locks the memory repeatedly.
pub const STORE_COMMAND_BUSY_MS_MAX: u64 = 30_000;
/// Interval of attempts to lock a database for opening.
pub const STORE_LOCK_RETRY_MS: u64 = 10;
/// Prepared statements that one connection keeps.
pub const STORE_STATEMENTS_MAX: usize = 100;
/// Databases up to this size are checked for damage at every opening; larger ones only after an
/// error.
pub const STORE_CHECKED_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Damaged databases kept per project.
pub const STORE_CORRUPT_COPIES_MAX: usize = 5;
/// Time without an operation after which a changed database is copied.
pub const STORE_BACKUP_QUIET_MS: u64 = 500;
/// Age of a day's backup at which it is replaced after a change.
pub const STORE_BACKUP_REFRESH_SECS: u64 = 60;
/// The period covered by one backup; for a database above [`STORE_CHECKED_BYTES_MAX`] it is not
/// replaced earlier.
pub const STORE_BACKUP_DAY_SECS: u64 = 24 * 60 * 60;
/// Daily backups kept per project. The backup from before a migration is kept in addition.
pub const STORE_BACKUPS_KEPT_MAX: usize = 3;
/// Pages copied at once.
pub const STORE_BACKUP_STEP_PAGES: i32 = 64;
/// Pause after each step, for other requests.
pub const STORE_BACKUP_PAUSE_MS: u64 = 5;
/// Steps of one backup: 4 GiB in pages of 4 KiB, or a database that other processes change
/// constantly.
pub const STORE_BACKUP_STEPS_MAX: usize = 16 * 1024;
