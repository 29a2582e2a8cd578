//! Queries of retention on the database: finding rows that may be folded or dropped, and doing so.

use std::collections::HashMap;

use moai_memory::database::StoredAs;
use moai_memory::near_duplicates::COMPARED_KINDS;
use moai_memory::ranking::ObservationKind;
use moai_memory::retention::rows::{
    DropChoice, DroppableRow, FoldTarget, RetentionScan, RowFold, ScannedRows, TextSizes,
    TimePosition,
};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::SqliteMemory;
use super::add::ObservationWriter;
use super::database::MemoryTransaction;
use super::rows::ID_MARK;
use crate::store::open::TransactionMode;
use crate::store::{StoreError, StoreKey, StoreThread};
use moai_base::limits::{INDEX_MERGE_PAGES, VACUUMED_PAGES_MAX};

/// Counters of `memory status`.
pub(super) const FOLDED: &str = "folded";
pub(super) const DROPPED: &str = "dropped";
/// When the last pass ended, in milliseconds since 1970.
const RETENTION: &str = "retention";

impl MemoryTransaction<'_> {
    pub(super) fn project_keys(&self) -> Result<Vec<String>, StoreError> {
        let mut select = self.connection.prepare_cached("SELECT key FROM projects ORDER BY id")?;
        let keys = select.query_map([], |row| row.get(0))?;
        Ok(keys.collect::<Result<_, _>>()?)
    }

    /// Examines a bounded number of rows, of which some may be folded.
    pub(super) fn scan(&self, scan: &RetentionScan) -> Result<ScannedRows, StoreError> {
        let sql = format!(
            "SELECT o.id, o.at_ms, o.external_id IS NULL AND o.visibility = 'private'
                 AND o.provenance <> 'user' AND o.kind IN ({})
             FROM observations AS o WHERE o.project = (SELECT id FROM projects WHERE key = ?1)
             AND o.at_ms >= ?2 AND (o.at_ms > ?2 OR o.id > ?3) ORDER BY o.at_ms, o.id LIMIT ?4",
            kind_names(&COMPARED_KINDS)
        );
        let TimePosition { at_ms, row } = scan.after;
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut rows = select.query(params![scan.project, at_ms, row, scan.rows_max])?;
        let (mut foldable, mut scanned, mut end) = (Vec::new(), 0, None);
        while let Some(row) = rows.next()? {
            let position = TimePosition { row: row.get(0)?, at_ms: row.get(1)? };
            if row.get(2)? {
                foldable.push(position.row);
            }
            scanned += 1;
            end = Some(position);
        }
        let end = end.filter(|_| scanned == scan.rows_max);
        Ok(ScannedRows { foldable: self.load_rows(&foldable)?, end })
    }

    pub(super) fn fold_rows(&self, fold: &RowFold) -> Result<u64, StoreError> {
        let mut rows = fold.rows.clone();
        let into = match &fold.into {
            FoldTarget::Row(target) => {
                if !self.has_row(*target)? {
                    return Ok(0);
                }
                rows.retain(|row| row != target);
                for row in &rows {
                    self.count_in(*row, *target)?;
                }
                *target
            }
            FoldTarget::Summary(summary) => {
                if !self.are_unchanged_since(&rows, summary.at_ms)? {
                    return Ok(0);
                }
                let mut writer = ObservationWriter::new(self.connection);
                let (StoredAs::New(row) | StoredAs::Repeated(row)) = writer.add(summary)?;
                rows.retain(|folded| *folded != row);
                row
            }
        };
        let inject = "UPDATE injections SET observation = ?2 WHERE observation = ?1";
        let mut folded = 0;
        for row in rows {
            self.connection.prepare_cached(inject)?.execute([row, into])?;
            folded += self.forget_row(row)?;
        }
        self.count_by(FOLDED, folded)?;
        Ok(folded)
    }

    fn has_row(&self, row: i64) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM observations WHERE id = ?1";
        Ok(self.connection.prepare_cached(sql)?.exists([row])?)
    }

    /// True if all rows exist, and none was seen again after a time.
    fn are_unchanged_since(&self, rows: &[i64], last_ms: i64) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM observations WHERE id = ?1 AND at_ms <= ?2";
        let mut select = self.connection.prepare_cached(sql)?;
        for row in rows {
            if !select.exists([*row, last_ms])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts a row as a repetition of `target`, which takes over its ids and names.
    fn count_in(&self, row: i64, target: i64) -> Result<(), StoreError> {
        if !self.has_row(row)? {
            return Ok(());
        }
        let count = "UPDATE observations SET repeats = observations.repeats + 1 + o.repeats,
                     at_ms = max(observations.at_ms, o.at_ms),
                     importance = max(observations.importance, o.importance)
                     FROM observations AS o WHERE o.id = ?1 AND observations.id = ?2";
        self.connection.prepare_cached(count)?.execute([row, target])?;
        for (table, column) in [("external_ids", "external_id"), ("shapes", "shape")] {
            let sql = format!(
                "INSERT OR IGNORE INTO {table} ({column}, observation)
                 SELECT {column}, ?2 FROM {table} WHERE observation = ?1"
            );
            self.connection.prepare_cached(&sql)?.execute([row, target])?;
        }
        let alias = "INSERT OR IGNORE INTO external_ids (external_id, observation) VALUES (?1, ?2)";
        let id = format!("{ID_MARK}{row}");
        self.connection.prepare_cached(alias)?.execute(params![id, target])?;
        Ok(())
    }

    pub(super) fn droppable(
        &self,
        choice: &DropChoice,
        rows_max: usize,
    ) -> Result<Vec<DroppableRow>, StoreError> {
        let sql = format!(
            "SELECT o.id, octet_length(t.title) + octet_length(t.body)
             FROM observations AS o JOIN texts AS t ON t.id = o.id
             WHERE o.project = (SELECT id FROM projects WHERE key = ?1) AND o.at_ms < ?2
             AND o.kind IN ({}) AND o.provenance <> 'user' AND o.visibility = 'private'
             AND (o.external_id IS NOT NULL) = ?3
             AND EXISTS (SELECT 1 FROM injections AS i WHERE i.observation = o.id AND i.is_used) = ?4
             ORDER BY o.at_ms, o.id LIMIT ?5",
            kind_names(&choice.kinds)
        );
        let DropChoice { project, before_ms, is_imported, is_used, .. } = choice;
        let mut select = self.connection.prepare_cached(&sql)?;
        let rows = select
            .query_map(params![project, before_ms, is_imported, is_used, rows_max], |row| {
                Ok(DroppableRow { row: row.get(0)?, bytes: row.get(1)? })
            })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(super) fn sizes_after(&self, after: i64, rows_max: usize) -> Result<TextSizes, StoreError> {
        let sql = "SELECT o.id, p.key, octet_length(t.title) + octet_length(t.body)
                   FROM observations AS o JOIN texts AS t ON t.id = o.id
                   JOIN projects AS p ON p.id = o.project
                   WHERE o.id > ?1 ORDER BY o.id LIMIT ?2";
        let mut select = self.connection.prepare_cached(sql)?;
        let mut rows = select.query(params![after, rows_max])?;
        let mut sizes: HashMap<String, u64> = HashMap::new();
        let (mut scanned, mut last) = (0, None);
        while let Some(row) = rows.next()? {
            last = Some(row.get(0)?);
            scanned += 1;
            *sizes.entry(row.get(1)?).or_default() += row.get::<_, u64>(2)?;
        }
        let last = last.filter(|_| scanned == rows_max);
        Ok(TextSizes { projects: sizes.into_iter().collect(), last })
    }

    pub(super) fn retention_ms(&self) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT value FROM meta WHERE name = ?1";
        let mut select = self.connection.prepare_cached(sql)?;
        Ok(select.query_row([RETENTION], |row| row.get(0)).optional()?)
    }

    pub(super) fn note_retention(&self, at_ms: i64) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![RETENTION, at_ms])?;
        Ok(())
    }

    pub(super) fn count_by(&self, name: &str, number: u64) -> Result<(), StoreError> {
        let sql = "INSERT INTO counters (name, value) VALUES (?1, ?2)
                   ON CONFLICT (name) DO UPDATE SET value = value + excluded.value";
        self.connection.prepare_cached(sql)?.execute(params![name, number])?;
        Ok(())
    }
}

/// Names of kinds as an SQL list. They are constants of this program.
fn kind_names(kinds: &[ObservationKind]) -> String {
    kinds.iter().map(|kind| format!("'{}'", kind.name())).collect::<Vec<_>>().join(", ")
}

impl SqliteMemory {
    /// Gives a bounded number of pages back to the disk. Answers whether more can be.
    pub(crate) async fn shrink(&self) -> Result<bool, StoreError> {
        let shrink = |thread: &mut StoreThread| {
            let merge = |transaction: &Transaction<'_>| merge_index(transaction);
            if thread.transact(TransactionMode::Write, merge)? {
                return Ok(true);
            }
            thread.open()?.vacuum(VACUUMED_PAGES_MAX)
        };
        self.threads.run(&StoreKey::Memory, shrink).await
    }
}

/// Merges parts of the index, among them those whose entries were removed. Returns true if there was
/// something to merge.
fn merge_index(connection: &Connection) -> Result<bool, StoreError> {
    let before = connection.total_changes();
    let sql = "INSERT INTO entries (entries, rank) VALUES ('merge', ?1)";
    connection.prepare_cached(sql)?.execute([INDEX_MERGE_PAGES])?;
    // As the documentation of FTS5 says: fewer than two changes mean that nothing was merged.
    Ok(connection.total_changes() - before >= 2)
}
