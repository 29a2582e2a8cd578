//! The schema of a database: its file and its forward-only migrations.

use std::path::PathBuf;

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;

/// Migrations of one database, and its settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreSchema {
    pub(super) file_name: &'static str,
    /// Schema n is the result of the first n migrations; `user_version` is n. A released migration
    /// never changes. An older program refuses a newer database.
    pub(super) migrations: &'static [&'static str],
    /// Statements for every connection.
    pub(super) settings: &'static str,
    /// True if a database is still read that cannot be changed: one with a newer schema, or in a place where
    /// nothing can be written.
    pub(super) is_read_if_unchangeable: bool,
    /// True if the newest backup replaces a database that is missing.
    pub(super) is_restored_if_missing: bool,
    /// Statements that remove data from a backup with an older schema, where a migration removes them from
    /// the database because they must not be kept; each for schemas older than its number.
    pub(super) removals: &'static [(usize, &'static str)],
    /// Backups of earlier weeks, in addition to those of the last days.
    pub(super) weekly_backups_max: usize,
}

/// Loops, exams, judgements and session writes.
pub(super) static PROJECT_SCHEMA: StoreSchema = StoreSchema {
    file_name: "store.db",
    migrations: &PROJECT_MIGRATIONS,
    // FULL and not NORMAL: with NORMAL a power failure may undo the last commits, but data that was saved
    // before a reply must survive it. It costs one fsync per commit, and a Stop commits once.
    settings: "PRAGMA synchronous = FULL",
    is_read_if_unchangeable: false,
    is_restored_if_missing: false,
    removals: &[],
    weekly_backups_max: 0,
};

const PROJECT_MIGRATIONS: [&str; 8] = [
    // Schema 1, loops. `state` is JSON with its own version (`host::store::loops::stored_loop`); the other
    // columns repeat searchable fields. Times are milliseconds since the epoch.
    "CREATE TABLE loops (
        id TEXT PRIMARY KEY NOT NULL,
        root TEXT NOT NULL,
        session_id TEXT,
        status TEXT NOT NULL,
        state TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX loops_one_active_per_session ON loops (root, session_id)
        WHERE session_id IS NOT NULL AND status IN ('running', 'paused');
    CREATE UNIQUE INDEX loops_one_active_unclaimed ON loops (root)
        WHERE session_id IS NULL AND status IN ('running', 'paused');",
    // Frozen exams. `plan` is JSON versioned by `host::store::exams`; `text` is NULL if only the hash is
    // kept, and `hash` covers the relevant parts of the file.
    "CREATE TABLE exams (
        loop_id TEXT PRIMARY KEY NOT NULL,
        frozen_ms INTEGER NOT NULL,
        is_cut INTEGER NOT NULL,
        plan TEXT NOT NULL
    ) STRICT;
    CREATE TABLE exam_files (
        loop_id TEXT NOT NULL REFERENCES exams (loop_id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        role TEXT NOT NULL,
        hash BLOB NOT NULL,
        bytes INTEGER NOT NULL,
        changed_ns INTEGER NOT NULL,
        text BLOB,
        PRIMARY KEY (loop_id, path)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE exam_counts (
        loop_id TEXT NOT NULL REFERENCES exams (loop_id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        passed INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        skipped INTEGER NOT NULL,
        duration_ms INTEGER,
        PRIMARY KEY (loop_id, name)
    ) STRICT, WITHOUT ROWID;",
    // Judgements: `key` and `criteria` are hashes, `opinion` is JSON of `host::store::judgements`.
    "CREATE TABLE judgements (
        key TEXT PRIMARY KEY NOT NULL,
        root TEXT NOT NULL,
        criteria TEXT NOT NULL,
        opinion TEXT NOT NULL,
        at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX judgements_by_time ON judgements (root, criteria, at_ms);",
    // Changes of the exam by the session of a loop: `hash` is NULL for a removed file.
    "CREATE TABLE exam_writes (
        loop_id TEXT NOT NULL REFERENCES exams (loop_id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        hash BLOB,
        PRIMARY KEY (loop_id, path)
    ) STRICT, WITHOUT ROWID;",
    // Files written by a loop's session, with their last hash; NULL for a removed file.
    "CREATE TABLE session_writes (
        loop_id TEXT NOT NULL REFERENCES loops (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        hash BLOB,
        PRIMARY KEY (loop_id, path)
    ) STRICT, WITHOUT ROWID;",
    // The hash chain of `host::store::loops::records`. A loop of an older database has no records.
    "CREATE TABLE loop_records (
        loop_id TEXT NOT NULL REFERENCES loops (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        row BLOB NOT NULL,
        is_after_breach INTEGER NOT NULL,
        link BLOB NOT NULL,
        PRIMARY KEY (loop_id, number)
    ) STRICT, WITHOUT ROWID;",
    // Pipelines: `state` is JSON of `moai_pipeline::state`; the other columns repeat searchable fields.
    "CREATE TABLE pipelines (
        id TEXT PRIMARY KEY NOT NULL,
        root TEXT NOT NULL,
        loop_id TEXT NOT NULL,
        is_active INTEGER NOT NULL,
        state TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX pipelines_one_active ON pipelines (root) WHERE is_active = 1;",
    // Links out of the project that led to folders with code when the exam was frozen.
    "CREATE TABLE exam_links (
        loop_id TEXT NOT NULL REFERENCES exams (loop_id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        PRIMARY KEY (loop_id, path)
    ) STRICT, WITHOUT ROWID;",
];

impl StoreSchema {
    /// True if a database has an older schema; a new one has none.
    pub(super) fn is_outdated(&self, connection: &Connection) -> Result<bool, StoreError> {
        Ok((1..self.migrations.len()).contains(&version(connection)?))
    }

    /// Removes data that must not be kept from a copy of an older database. Returns true if it removed
    /// something.
    pub(super) fn remove_from_copy(&self, copy: &Connection) -> Result<bool, StoreError> {
        let found = version(copy)?;
        let mut has_changed = false;
        copy.execute_batch("PRAGMA secure_delete = ON")?;
        for (_, sql) in self.removals.iter().filter(|(before, _)| (1..*before).contains(&found)) {
            has_changed |= copy.execute(sql, [])? > 0;
        }
        Ok(has_changed)
    }

    /// Migrates a database to the newest schema, completely or not at all; a newer schema is an
    /// error.
    pub(super) fn migrate(&self, connection: &mut Connection) -> Result<(), StoreError> {
        let known = self.migrations.len();
        if version(connection)? == known {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Checked again, because another process may have migrated it meanwhile.
        let found = version(&transaction)?;
        let Some(missing) = self.migrations.get(found..) else {
            let path = PathBuf::from(transaction.path().unwrap_or_default());
            return Err(StoreError::Newer { path, found, known });
        };
        for sql in missing {
            transaction.execute_batch(sql)?;
        }
        transaction.execute_batch(&format!("PRAGMA user_version = {known}"))?;
        transaction.commit()?;
        Ok(())
    }
}

/// The schema that a database has; 0 for a new one.
pub(super) fn version(connection: &Connection) -> Result<usize, StoreError> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    usize::try_from(version)
        .map_err(|_| StoreError::Corrupt(format!("its schema version is {version}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrating_twice_changes_nothing_and_a_newer_database_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert_eq!(PROJECT_SCHEMA.migrate(&mut connection), Ok(()));
        assert_eq!(PROJECT_SCHEMA.migrate(&mut connection), Ok(()));
        assert_eq!(version(&connection), Ok(PROJECT_MIGRATIONS.len()));
        connection.pragma_update(None, "user_version", 999).unwrap();
        let newer = PROJECT_SCHEMA.migrate(&mut connection).unwrap_err();
        assert!(matches!(newer, StoreError::Newer { found: 999, .. }), "{newer}");
    }
}
