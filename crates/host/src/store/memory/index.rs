//! The index: which rows have which tokens. It holds tokens only, and is made again whenever the same
//! text gets other tokens.

use moai_memory::expression::Expression;
use moai_memory::ranking::ObservationKind;
use moai_memory::tokens::{IndexTokens, TOKENIZER_VERSION};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::database::MemoryTransaction;
use crate::store::StoreError;
use moai_base::limits::MEMORY_LOADED_AT_ONCE;

/// Name in `meta` of the version that made the index.
const INDEX_VERSION: &str = "tokenizer";
/// Changes whenever the same tokens get other entries.
const ENTRY_VERSION: i64 = 2;

/// Bits of an entry's number that hold the row; those above hold the project. So the entries of one project
/// are contiguous, and a search in it skips all other entries.
const ROW_BITS: u32 = 40;

/// The row of an entry, in SQL.
pub(super) const ROW_OF_ENTRY: &str = "(entries.rowid & 0xFFFFFFFFFF)";

/// The number of a row's entry.
fn entry_number(project: i64, row: i64) -> i64 {
    project << ROW_BITS | row
}

/// The first and the last number that an entry of these projects may have.
pub(super) fn entry_range(projects: Option<&[i64]>) -> [i64; 2] {
    match projects {
        Some([project]) => [entry_number(*project, 0), entry_number(*project + 1, 0) - 1],
        _ => [0, i64::MAX],
    }
}

fn kind_token(kind: ObservationKind) -> String {
    format!("k_{}", kind.name())
}

/// The argument of `MATCH`: an expression, restricted to kinds.
pub(super) fn match_text(expression: &Expression, kinds: &[ObservationKind]) -> String {
    let kinds: Vec<String> =
        kinds.iter().map(|kind| format!("\"{}\"", kind_token(*kind))).collect();
    if kinds.is_empty() {
        return expression.to_string();
    }
    format!("{expression} AND scope : ({})", kinds.join(" OR "))
}

pub(super) fn insert_entry(
    connection: &Connection,
    row: i64,
    tokens: &IndexTokens,
    project: i64,
    kind: ObservationKind,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO entries (rowid, words, pairs, scope) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(sql)?.execute(params![
        entry_number(project, row),
        tokens.words_column(),
        tokens.pairs_column(),
        kind_token(kind)
    ])?;
    Ok(())
}

/// Deletes the entry of a row that still exists.
pub(super) fn delete_entry(connection: &Connection, row: i64) -> Result<(), StoreError> {
    let select = "SELECT project FROM observations WHERE id = ?1";
    let project: Option<i64> =
        connection.prepare_cached(select)?.query_row([row], |row| row.get(0)).optional()?;
    if let Some(project) = project {
        let delete = "DELETE FROM entries WHERE rowid = ?1";
        connection.prepare_cached(delete)?.execute([entry_number(project, row)])?;
    }
    Ok(())
}

impl MemoryTransaction<'_> {
    /// Makes the index again if another version of the tokenizer made it, or entries were other ones.
    pub(super) fn update_index(&mut self) -> Result<(), StoreError> {
        let current = i64::from(TOKENIZER_VERSION) << 32 | ENTRY_VERSION;
        let select = "SELECT value FROM meta WHERE name = ?1";
        let version: Option<i64> = self
            .connection
            .prepare_cached(select)?
            .query_row([INDEX_VERSION], |row| row.get(0))
            .optional()?;
        if version == Some(current) {
            return Ok(());
        }
        self.rebuild_index()?;
        let insert = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
        self.connection.execute(insert, params![INDEX_VERSION, current])?;
        Ok(())
    }

    fn rebuild_index(&mut self) -> Result<(), StoreError> {
        self.connection.execute("INSERT INTO entries (entries) VALUES ('delete-all')", [])?;
        let mut last = i64::MIN;
        loop {
            let rows = self.rows_after(last)?;
            let Some((end, _)) = rows.last() else { return Ok(()) };
            last = *end;
            let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
            let observations = self.load_rows(&ids)?;
            for ((row, project), observation) in rows.iter().zip(&observations) {
                let tokens = IndexTokens::of_text(&observation.searched_text());
                insert_entry(self.connection, *row, &tokens, *project, observation.kind)?;
            }
        }
    }

    /// The next rows and their projects.
    fn rows_after(&self, last: i64) -> Result<Vec<(i64, i64)>, StoreError> {
        let sql = "SELECT id, project FROM observations WHERE id > ?1 ORDER BY id LIMIT ?2";
        let mut select = self.connection.prepare_cached(sql)?;
        let rows = select.query_map(params![last, MEMORY_LOADED_AT_ONCE], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
