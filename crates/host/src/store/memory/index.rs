//! The index: which rows have which tokens. It holds tokens only, and is made again whenever the same
//! text gets other tokens.

use moai_memory::expression::Expression;
use moai_memory::ranking::ObservationKind;
use moai_memory::tokens::{IndexTokens, TOKENIZER_VERSION};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::conditions::Conditions;
use super::database::MemoryTransaction;
use crate::store::StoreError;
use moai_base::limits::MEMORY_LOADED_AT_ONCE;

const TOKENIZER: &str = "tokenizer";

/// The scope of a row: tokens for its project and its kind.
fn scope(project: i64, kind: ObservationKind) -> String {
    format!("{} {}", project_token(project), kind_token(kind))
}

fn project_token(project: i64) -> String {
    format!("p{project}")
}

fn kind_token(kind: ObservationKind) -> String {
    format!("k_{}", kind.name())
}

/// The argument of `MATCH`: an expression, restricted to projects and kinds.
pub(super) fn match_text(
    expression: &Expression,
    conditions: &Conditions,
    kinds: &[ObservationKind],
) -> String {
    let projects = conditions.projects.iter().flatten().map(|id| project_token(*id));
    let kinds = kinds.iter().map(|kind| kind_token(*kind));
    let scopes = [one_of_scopes(projects), one_of_scopes(kinds)];
    let parts = [expression.to_string()].into_iter().chain(scopes.into_iter().flatten());
    parts.collect::<Vec<String>>().join(" AND ")
}

/// `None` for no tokens at all: everything is meant.
fn one_of_scopes(tokens: impl Iterator<Item = String>) -> Option<String> {
    let quoted: Vec<String> = tokens.map(|token| format!("\"{token}\"")).collect();
    (!quoted.is_empty()).then(|| format!("scope : ({})", quoted.join(" OR ")))
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
        row,
        tokens.words_column(),
        tokens.pairs_column(),
        scope(project, kind)
    ])?;
    Ok(())
}

pub(super) fn delete_entry(connection: &Connection, row: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM entries WHERE rowid = ?1")?.execute([row])?;
    Ok(())
}

impl MemoryTransaction<'_> {
    /// Makes the index again if another version of the tokenizer made it.
    pub(super) fn update_index(&mut self) -> Result<(), StoreError> {
        let select = "SELECT value FROM meta WHERE name = ?1";
        let version: Option<i64> = self
            .connection
            .prepare_cached(select)?
            .query_row([TOKENIZER], |row| row.get(0))
            .optional()?;
        if version == Some(i64::from(TOKENIZER_VERSION)) {
            return Ok(());
        }
        self.rebuild_index()?;
        let insert = "INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)";
        self.connection.execute(insert, params![TOKENIZER, TOKENIZER_VERSION])?;
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
