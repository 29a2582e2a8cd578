//! The memory in SQLite: one database for all projects, with an index that only tells which rows have
//! which tokens.

mod add;
mod conditions;
mod database;
mod index;
mod replace;
mod retention;
mod rows;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use moai_memory::database::MemoryDatabase;

use self::database::MemoryTransaction;
pub(crate) use self::replace::ForgetChoice;
use super::open::TransactionMode;
use super::schema::StoreSchema;
use super::threads::StoreThreads;
use super::{StoreError, StoreKey, StoreRecovery};

/// Everything that the memory keeps.
pub(super) static MEMORY_SCHEMA: StoreSchema = StoreSchema {
    file_name: "memory.db",
    migrations: &MEMORY_MIGRATIONS,
    // NORMAL: after a power failure the last observations may be missing, but the database is sound.
    // An observation is written after the reply, and hooks must not wait for a disk. The log is
    // emptied when nothing is asked for, and not by an unlucky commit.
    settings: "PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA cache_size = -16384;
        PRAGMA wal_autocheckpoint = 4096; PRAGMA journal_size_limit = 33554432;",
    is_read_if_unchangeable: true,
    is_restored_if_missing: true,
    removals: &[(3, GOALS_OF_NOTHING)],
    weekly_backups_max: moai_base::limits::MEMORY_WEEKLY_BACKUPS_MAX,
};

/// Takes away goals that repeat no observation, because it was forgotten. They were kept before schema 3.
const GOALS_OF_NOTHING: &str = "UPDATE sessions SET goal = '' WHERE goal <> '' AND NOT EXISTS (
    SELECT 1 FROM observations AS o JOIN texts AS t ON t.id = o.id WHERE o.session = sessions.id
    AND o.kind IN ('prompt', 'decision')
    AND (t.title = sessions.goal OR instr(t.body, sessions.goal) > 0))";

const MEMORY_MIGRATIONS: [&str; 3] = [
    // Times are milliseconds since the epoch. Rows of observations are short, because many are read to choose
    // the few whose texts are needed. `hash` is the beginning of the hash of the normalized text; `files`,
    // `codes` and `shapes` of `texts` are JSON, the tables of these names find rows by them. The columns of
    // `entries` hold tokens, from which a text cannot be restored.
    "CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE counters (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL)
        STRICT, WITHOUT ROWID;
    CREATE TABLE projects (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        observations INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        project INTEGER NOT NULL REFERENCES projects (id),
        host_id TEXT NOT NULL,
        started_ms INTEGER NOT NULL,
        last_ms INTEGER NOT NULL,
        has_ended INTEGER NOT NULL DEFAULT 0,
        goal TEXT NOT NULL DEFAULT '',
        branch TEXT NOT NULL DEFAULT '',
        UNIQUE (host_id, project)
    ) STRICT;
    CREATE INDEX sessions_by_time ON sessions (project, last_ms);
    CREATE TABLE observations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project INTEGER NOT NULL REFERENCES projects (id),
        session INTEGER REFERENCES sessions (id),
        kind TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        importance REAL NOT NULL,
        tokens INTEGER NOT NULL,
        repeats INTEGER NOT NULL DEFAULT 0,
        provenance TEXT NOT NULL,
        visibility TEXT NOT NULL,
        outcome TEXT,
        superseded_by INTEGER,
        simhash INTEGER,
        external_id TEXT,
        hash BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX observations_by_text ON observations (hash, project, kind);
    CREATE INDEX observations_by_time ON observations (project, at_ms);
    CREATE INDEX observations_by_session ON observations (session, at_ms) WHERE session IS NOT NULL;
    CREATE INDEX observations_by_external_id ON observations (external_id)
        WHERE external_id IS NOT NULL;
    CREATE TABLE texts (
        id INTEGER PRIMARY KEY REFERENCES observations (id) ON DELETE CASCADE,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        files TEXT,
        codes TEXT,
        shapes TEXT
    ) STRICT;
    CREATE TABLE external_ids (
        external_id TEXT NOT NULL,
        observation INTEGER NOT NULL REFERENCES observations (id) ON DELETE CASCADE,
        PRIMARY KEY (external_id, observation)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX external_ids_by_observation ON external_ids (observation);
    CREATE TABLE files (
        path TEXT NOT NULL,
        observation INTEGER NOT NULL REFERENCES observations (id) ON DELETE CASCADE,
        PRIMARY KEY (path, observation)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX files_by_observation ON files (observation);
    CREATE TABLE codes (
        code TEXT NOT NULL COLLATE NOCASE,
        observation INTEGER NOT NULL REFERENCES observations (id) ON DELETE CASCADE,
        PRIMARY KEY (code, observation)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX codes_by_observation ON codes (observation);
    CREATE TABLE shapes (
        shape TEXT NOT NULL,
        observation INTEGER NOT NULL REFERENCES observations (id) ON DELETE CASCADE,
        PRIMARY KEY (shape, observation)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX shapes_by_observation ON shapes (observation);
    CREATE TABLE injections (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        observation INTEGER NOT NULL REFERENCES observations (id) ON DELETE CASCADE,
        at_ms INTEGER NOT NULL,
        event TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        is_used INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX injections_by_session ON injections (session);
    CREATE INDEX injections_by_observation ON injections (observation);
    CREATE VIRTUAL TABLE entries USING fts5 (words, pairs, scope, content = '',
        contentless_delete = 1, tokenize = \"unicode61 tokenchars '_'\");",
    // A forgotten observation may have superseded others.
    "CREATE INDEX observations_by_later_one ON observations (superseded_by)
        WHERE superseded_by IS NOT NULL;",
    // The goal of a session is the text of one of its observations, and goes with it.
    "ALTER TABLE sessions ADD COLUMN goal_observation INTEGER;
    CREATE INDEX sessions_by_goal ON sessions (goal_observation)
        WHERE goal_observation IS NOT NULL;
    UPDATE sessions SET goal_observation = (SELECT min(o.id) FROM observations AS o
        JOIN texts AS t ON t.id = o.id WHERE o.session = sessions.id
        AND o.kind IN ('prompt', 'decision')
        AND (t.title = sessions.goal OR instr(t.body, sessions.goal) > 0)) WHERE goal <> '';
    UPDATE sessions SET goal = '' WHERE goal_observation IS NULL;",
];

/// Handle to the database of the memory; cheap to clone. Its thread ends with the last handle.
#[derive(Clone, Debug)]
pub(crate) struct SqliteMemory {
    threads: Arc<StoreThreads>,
}

impl SqliteMemory {
    /// The memory of a state folder, which is created (0700) at its first use. Opens nothing yet.
    pub(crate) fn start(home: PathBuf) -> Self {
        Self { threads: Arc::new(StoreThreads::new(home)) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        StoreKey::Memory.database(self.threads.home())
    }

    /// The folder of the database.
    pub(crate) fn folder(&self) -> PathBuf {
        StoreKey::Memory.folder(self.threads.home())
    }

    /// True if a backup exists, sound or not.
    pub(crate) fn has_backup(&self) -> bool {
        super::backups::has_backup(&self.path())
    }

    /// Recovery of a damaged or missing database that was opened since the last call.
    pub(crate) fn take_recovery(&self) -> Option<StoreRecovery> {
        self.threads.take_recovery(&StoreKey::Memory)
    }

    /// Keeps a recovery for the next notice, because the reply that reported it was not delivered.
    pub(crate) fn put_back_recovery(&self, recovery: StoreRecovery) {
        self.threads.put_back_recovery(StoreKey::Memory, recovery);
    }

    /// Runs `work` in one transaction; changes inside are refused.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        let job = |transaction: &rusqlite::Transaction<'_>| {
            work(&mut MemoryTransaction { connection: transaction })
        };
        let run = |thread: &mut super::StoreThread| thread.transact(TransactionMode::Read, job);
        self.threads.run(&StoreKey::Memory, run).await
    }

    /// Runs `work` in one transaction that may change something: committed when this returns `Ok`,
    /// rolled back after an error or a panic. Waits at most `busy_wait` for another process.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        busy_wait: Duration,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        let job = |transaction: &rusqlite::Transaction<'_>| {
            let mut database = MemoryTransaction { connection: transaction };
            database.update_index()?;
            work(&mut database)
        };
        let run = move |thread: &mut super::StoreThread| {
            thread.open()?.set_busy_wait(busy_wait)?;
            thread.transact(TransactionMode::Write, job)
        };
        self.threads.run(&StoreKey::Memory, run).await
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::store::open;

    #[test]
    fn goals_of_an_older_schema_belong_to_their_observations() {
        let mut database = Connection::open_in_memory().expect("a database");
        let older = StoreSchema { migrations: &MEMORY_MIGRATIONS[..2], ..MEMORY_SCHEMA };
        assert_eq!(older.migrate(&mut database), Ok(()));
        let rows = "INSERT INTO projects (id, key, name) VALUES (1, 'kweb', 'web');
            INSERT INTO sessions (id, project, host_id, started_ms, last_ms, goal)
                VALUES (1, 1, 's1', 1, 1, 'zebra plan'), (2, 1, 's2', 1, 1, 'of nothing');
            INSERT INTO observations (id, project, session, kind, at_ms, importance, tokens,
                provenance, visibility, hash)
                VALUES (7, 1, 1, 'prompt', 1, 0.5, 1, 'user', 'private', x'07'),
                (8, 1, 2, 'prompt', 1, 0.5, 1, 'user', 'private', x'08');
            INSERT INTO texts (id, title, body) VALUES (7, 'decided', 'zebra plan. decided'),
                (8, 'something else', '');";
        assert_eq!(database.execute_batch(rows), Ok(()));
        assert_eq!(MEMORY_SCHEMA.migrate(&mut database), Ok(()));
        let goals = "SELECT group_concat(goal || '/' || coalesce(goal_observation, 0), ' ')
            FROM (SELECT * FROM sessions ORDER BY id)";
        let goals = database.query_row(goals, [], |row| row.get::<_, String>(0));
        assert_eq!(goals.as_deref(), Ok("zebra plan/7 /0"));
    }

    #[test]
    fn goals_of_nothing_leave_the_backups_with_the_migration() {
        let home = tempfile::tempdir().expect("a folder");
        let older = StoreSchema { migrations: &MEMORY_MIGRATIONS[..2], ..MEMORY_SCHEMA };
        let folder = StoreKey::Memory.folder(home.path());
        let (mut database, _) = open::open_database(&folder, &older, false).expect("a new one");
        let rows = "INSERT INTO projects (id, key, name) VALUES (1, 'kweb', 'web');
            INSERT INTO sessions (id, project, host_id, started_ms, last_ms, goal)
                VALUES (1, 1, 's1', 1, 1, 'zebra plan'), (2, 1, 's2', 1, 1, 'of nothing');
            INSERT INTO observations (id, project, session, kind, at_ms, importance, tokens,
                provenance, visibility, hash)
                VALUES (7, 1, 1, 'prompt', 1, 0.5, 1, 'user', 'private', x'07');
            INSERT INTO texts (id, title, body) VALUES (7, 'zebra plan', '');";
        let written = database.transact(TransactionMode::Write, |at| Ok(at.execute_batch(rows)?));
        assert_eq!(written, Ok(()));
        drop(database);
        let path = folder.join(MEMORY_SCHEMA.file_name);
        crate::store::backups::back_up_day(&path, 2).expect("a backup");
        open::open_database(&folder, &MEMORY_SCHEMA, false).map(drop).expect("migrated");
        let mut backups = 0;
        for backup in std::fs::read_dir(folder.join("backups")).expect("listed").flatten() {
            let bytes = std::fs::read(backup.path()).expect("readable");
            let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(!has("of nothing"), "{}", backup.path().display());
            backups += usize::from(has("zebra plan"));
        }
        assert_eq!(backups, 3, "of the day, of the week, and from before the migration");
    }
}
