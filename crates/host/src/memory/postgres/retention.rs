//! Queries of retention on the team's memory. It touches only private rows of the role that logged in.

use std::collections::HashMap;

use moai_memory::database::MemoryDatabase as _;
use moai_memory::near_duplicates::COMPARED_KINDS;
use moai_memory::ranking::ObservationKind;
use moai_memory::retention::rows::{
    DropChoice, DroppableRow, FoldTarget, RetentionScan, RowFold, ScannedRows, TextSizes,
    TimePosition,
};
use moai_memory::tokens::{IndexTokens, TOKENIZER_VERSION};
use serde_json::{Value, json};
use tokio_postgres::types::Type;

use super::connection::Parameter;
use super::database::{PostgresTransaction, limit};
use super::filter::storable;
use super::rows::{count, number, observation_json, optional_row_numbers, row_numbers, value};
use super::text_search::vector_text;
use crate::store::StoreError;

/// Counters of `memory status`.
pub(super) const FOLDED: &str = "folded";
pub(super) const DROPPED: &str = "dropped";

impl PostgresTransaction<'_> {
    pub(super) fn project_keys(&mut self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT p.key FROM moai_ralph.projects AS p WHERE p.author = session_user ORDER BY p.id";
        self.ask(sql, &[])?.iter().map(|row| value(row, 0)).collect()
    }

    pub(super) fn scan(&mut self, scan: &RetentionScan) -> Result<ScannedRows, StoreError> {
        let sql = "SELECT o.id, o.at_ms, o.external_id IS NULL AND o.visibility = 'private'
                       AND o.provenance <> 'user' AND o.kind = ANY ($5)
                   FROM moai_ralph.projects AS p JOIN moai_ralph.observations AS o ON o.project = p.id
                   WHERE p.key = $1 AND p.author = session_user AND o.author = session_user
                   AND o.at_ms >= $2 AND (o.at_ms > $2 OR o.id > $3)
                   ORDER BY o.at_ms, o.id LIMIT $4";
        let TimePosition { at_ms, row } = scan.after;
        let (project, rows_max) = (storable(&scan.project), limit(scan.rows_max));
        let kinds = kind_names(&COMPARED_KINDS);
        let parameters: [Parameter<'_>; 5] = [
            (&project, Type::TEXT),
            (&at_ms, Type::INT8),
            (&row, Type::INT8),
            (&rows_max, Type::INT8),
            (&kinds, Type::TEXT_ARRAY),
        ];
        let rows = self.ask(sql, &parameters)?;
        let mut foldable = Vec::new();
        for row in &rows {
            if value(row, 2)? {
                foldable.push(value(row, 0)?);
            }
        }
        let end = match rows.last().filter(|_| rows.len() == scan.rows_max) {
            Some(row) => Some(TimePosition { row: value(row, 0)?, at_ms: value(row, 1)? }),
            None => None,
        };
        Ok(ScannedRows { foldable: self.load(&foldable)?, end })
    }

    pub(super) fn fold_rows(&mut self, fold: &RowFold) -> Result<u64, StoreError> {
        let (target, summary) = match &fold.into {
            FoldTarget::Row(target) => (Some(*target), None),
            FoldTarget::Summary(summary) => (None, Some(observation_json(summary).to_string())),
        };
        let sql = "SELECT moai_ralph.fold($1, $2, $3::text::jsonb)";
        let parameters: [Parameter<'_>; 3] =
            [(&fold.rows, Type::INT8_ARRAY), (&target, Type::INT8), (&summary, Type::TEXT)];
        number(&self.change(sql, &parameters)?)
    }

    pub(super) fn droppable(
        &mut self,
        choice: &DropChoice,
        rows_max: usize,
    ) -> Result<Vec<DroppableRow>, StoreError> {
        let sql = "SELECT o.id, (octet_length(o.title) + octet_length(o.body))::bigint
                   FROM moai_ralph.projects AS p JOIN moai_ralph.observations AS o ON o.project = p.id
                   WHERE p.key = $1 AND p.author = session_user AND o.author = session_user
                   AND o.at_ms < $2 AND o.kind = ANY ($3) AND o.provenance <> 'user'
                   AND o.visibility = 'private' AND (o.external_id IS NOT NULL) = $4
                   AND EXISTS (SELECT FROM moai_ralph.injections AS i
                       WHERE i.observation = o.id AND i.is_used) = $5
                   ORDER BY o.at_ms, o.id LIMIT $6";
        let (project, rows_max) = (storable(&choice.project), limit(rows_max));
        let kinds = kind_names(&choice.kinds);
        let parameters: [Parameter<'_>; 6] = [
            (&project, Type::TEXT),
            (&choice.before_ms, Type::INT8),
            (&kinds, Type::TEXT_ARRAY),
            (&choice.is_imported, Type::BOOL),
            (&choice.is_used, Type::BOOL),
            (&rows_max, Type::INT8),
        ];
        let rows = self.ask(sql, &parameters)?;
        rows.iter()
            .map(|row| Ok(DroppableRow { row: value(row, 0)?, bytes: count(row, 1)? }))
            .collect()
    }

    pub(super) fn remove_rows(&mut self, rows: &[i64]) -> Result<u64, StoreError> {
        let sql = "SELECT moai_ralph.drop_rows($1)";
        number(&self.change(sql, &[(&rows, Type::INT8_ARRAY)])?)
    }

    pub(super) fn sizes_after(
        &mut self,
        after: i64,
        rows_max: usize,
    ) -> Result<TextSizes, StoreError> {
        let sql = "SELECT o.id, p.key, (octet_length(o.title) + octet_length(o.body))::bigint
                   FROM moai_ralph.observations AS o JOIN moai_ralph.projects AS p ON p.id = o.project
                   WHERE o.id > $1 AND o.author = session_user ORDER BY o.id LIMIT $2";
        let limit = limit(rows_max);
        let rows = self.ask(sql, &[(&after, Type::INT8), (&limit, Type::INT8)])?;
        let mut sizes: HashMap<String, u64> = HashMap::new();
        for row in &rows {
            *sizes.entry(value(row, 1)?).or_default() += count(row, 2)?;
        }
        let last = match rows.last().filter(|_| rows.len() == rows_max) {
            Some(row) => Some(value(row, 0)?),
            None => None,
        };
        Ok(TextSizes { projects: sizes.into_iter().collect(), last })
    }

    /// Rows of the caller whose index entries an older version of the tokenizer made. Entries of a newer
    /// version are left to the program that made them.
    fn outdated_rows(&mut self, rows_max: usize) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT * FROM moai_ralph.outdated_entries($1, $2)";
        let (version, rows_max) = (tokenizer_version(), limit(rows_max));
        row_numbers(&self.ask(sql, &[(&version, Type::INT4), (&rows_max, Type::INT8)])?)
    }

    pub(super) fn has_outdated_rows(&mut self) -> Result<bool, StoreError> {
        Ok(!self.outdated_rows(1)?.is_empty())
    }

    pub(super) fn refresh_entries(&mut self, entries_max: usize) -> Result<u64, StoreError> {
        let rows = self.outdated_rows(entries_max)?;
        let observations = self.load(&rows)?;
        let entries = observations.iter().map(|observation| {
            let tokens = IndexTokens::of_text(&observation.searched_text());
            json!({"row": observation.row, "index": vector_text(&tokens)})
        });
        let batch = entries.collect::<Value>().to_string();
        let sql = "SELECT moai_ralph.refresh_entries($1::text::jsonb, $2)";
        let version = tokenizer_version();
        number(&self.change(sql, &[(&batch, Type::TEXT), (&version, Type::INT4)])?)
    }

    pub(super) fn retention_ms(&mut self) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT max(c.value) FROM moai_ralph.counters AS c
                   WHERE c.author = session_user AND c.name = 'retention'";
        Ok(optional_row_numbers(&self.ask(sql, &[])?)?.into_iter().next().flatten())
    }

    pub(super) fn note_retention(&mut self, at_ms: i64) -> Result<(), StoreError> {
        let sql = "SELECT moai_ralph.note_retention($1)";
        self.change(sql, &[(&at_ms, Type::INT8)]).map(drop)
    }
}

fn kind_names(kinds: &[ObservationKind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

fn tokenizer_version() -> i32 {
    i32::try_from(TOKENIZER_VERSION).unwrap_or(i32::MAX)
}
