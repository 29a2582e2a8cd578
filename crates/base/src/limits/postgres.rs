//! Bounds of the memory of a team on PostgreSQL.

/// Time to connect to the server, in milliseconds.
pub const POSTGRES_CONNECT_MS_MAX: u64 = 3_000;
/// Time of one statement on the server, in milliseconds.
pub const POSTGRES_STATEMENT_MS_MAX: u64 = 10_000;
/// Time that a hook waits for the server, in milliseconds.
pub const POSTGRES_HOOK_MS_MAX: u64 = 300;
/// Failed wait for a connection, in milliseconds, after which later callers do not wait for the
/// same one.
pub const POSTGRES_WAITED_MS_MIN: u64 = 100;
/// The same for a user's command, and for the spool.
pub const POSTGRES_COMMAND_MS_MAX: u64 = 15_000;
/// Time after an answer during which the server counts as reachable, in milliseconds.
pub const POSTGRES_FRESH_MS: u64 = 1_000;
/// Extra time for a reply after its statement's limit, in milliseconds.
pub const POSTGRES_REPLY_MARGIN_MS: u64 = 1_000;
/// Time that a statement waits for a lock on the server, in milliseconds.
pub const POSTGRES_LOCK_MS_MAX: u64 = 2_000;
/// Time after which the server ends a transaction that was left open, in milliseconds.
pub const POSTGRES_IDLE_TRANSACTION_MS_MAX: u64 = 30_000;
/// Time until the first attempt to reconnect to a server, in seconds; it doubles.
pub const POSTGRES_RETRY_SECS_MIN: u64 = 2;
/// The longest time between two attempts, in seconds.
pub const POSTGRES_RETRY_SECS_MAX: u64 = 60;
/// Requests that wait for the connection; later ones fail as if the server were unreachable.
pub const POSTGRES_QUEUE_MAX: usize = 256;
/// Observations sent in one statement.
pub const POSTGRES_BATCH_MAX: usize = 100;
/// Largest password file, in bytes.
pub const POSTGRES_PASSWORDS_BYTES_MAX: u64 = 64 * 1024;
/// Largest file of root certificates, in bytes.
pub const POSTGRES_ROOTS_BYTES_MAX: u64 = 1024 * 1024;
/// Characters of a server's message that are shown.
pub const POSTGRES_MESSAGE_CHARS_MAX: usize = 300;
