//! [`MemoryDatabase`] over one transaction of SQLite.

use std::collections::BTreeSet;

use moai_memory::clean::CleanText;
use moai_memory::database::{
    ForgetSelection, Injection, MatchedRow, MatchingRows, MemoryCounts, MemoryDatabase,
    ObservationFilter, OpenInjection, StoredAs,
};
use moai_memory::expression::Expression;
use moai_memory::observation::{
    FixOutcome, MemoryProject, NewObservation, SessionGoal, StoredObservation, StoredSession,
};
use moai_memory::ranking::ObservationKind;
use moai_memory::retention::rows::{
    DropChoice, DroppableRow, RetentionScan, RowFold, ScannedRows, TextSizes,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};

use super::add::{ObservationWriter, project_number, touched_session};
use super::conditions::Conditions;
use super::index::{ROW_OF_ENTRY, delete_entry, entry_range, match_text};
use super::retention::{DROPPED, FOLDED};
use super::rows::{ID_MARK, MATCHED_COLUMNS, load, matched_row, row_numbers, session};
use crate::store::StoreError;
use moai_base::limits::MEMORY_LOADED_AT_ONCE;

const SEARCHES: &str = "searches";
const SEARCHES_WITH_HITS: &str = "searches with hits";

/// The memory within one transaction.
pub(super) struct MemoryTransaction<'c> {
    pub(super) connection: &'c Connection,
}

impl MemoryTransaction<'_> {
    pub(super) fn load_rows(&self, rows: &[i64]) -> Result<Vec<StoredObservation>, StoreError> {
        load(self.connection, rows)
    }

    fn conditions(&self, filter: &ObservationFilter) -> Result<Conditions, StoreError> {
        Conditions::from_filter(self.connection, filter)
    }

    fn first_by_time(
        &self,
        filter: &ObservationFilter,
        order: &str,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, StoreError> {
        let mut conditions = self.conditions(filter)?;
        conditions.values.push(Value::from(i64::try_from(rows_max).unwrap_or(i64::MAX)));
        self.load_rows(&row_numbers(self.connection, conditions, order)?)
    }

    fn number(&self, sql: &str, values: Vec<Value>) -> Result<u64, StoreError> {
        let mut select = self.connection.prepare_cached(sql)?;
        Ok(select.query_row(params_from_iter(values), |row| row.get(0))?)
    }

    /// Answers how many rows there were.
    pub(super) fn forget_row(&self, row: i64) -> Result<u64, StoreError> {
        let count = "UPDATE projects SET observations = observations - 1
                     WHERE id = (SELECT project FROM observations WHERE id = ?1)";
        self.connection.prepare_cached(count)?.execute([row])?;
        delete_entry(self.connection, row)?;
        let clear = "UPDATE observations SET superseded_by = NULL WHERE superseded_by = ?1";
        self.connection.prepare_cached(clear)?.execute([row])?;
        let goal = "UPDATE sessions SET goal = '', goal_observation = NULL
                    WHERE goal_observation = ?1";
        self.connection.prepare_cached(goal)?.execute([row])?;
        let delete = "DELETE FROM observations WHERE id = ?1";
        Ok(self.connection.prepare_cached(delete)?.execute([row])? as u64)
    }

    /// Forgets these rows alone. Answers how many there were.
    fn forget_rows(&self, rows: &[i64]) -> Result<u64, StoreError> {
        let mut forgotten = 0;
        for row in rows {
            forgotten += self.forget_row(*row)?;
        }
        if forgotten > 0 {
            self.forget_empty_parents()?;
        }
        Ok(forgotten)
    }

    /// Digests that repeat the content of these rows: those of their sessions.
    fn digests_of(&self, rows: &[i64]) -> Result<BTreeSet<i64>, StoreError> {
        let sql = "SELECT session FROM observations WHERE id = ?1 AND session IS NOT NULL";
        let mut select = self.connection.prepare_cached(sql)?;
        let mut sessions: BTreeSet<i64> = BTreeSet::new();
        for row in rows {
            sessions.extend(select.query_row([row], |row| row.get::<_, i64>(0)).optional()?);
        }
        let sql = "SELECT id FROM observations
                   WHERE session = ?1 AND kind = 'digest' AND external_id IS NULL";
        let mut select = self.connection.prepare_cached(sql)?;
        let mut digests = BTreeSet::new();
        for session in sessions {
            for digest in select.query_map([session], |row| row.get(0))? {
                digests.insert(digest?);
            }
        }
        for row in rows {
            digests.remove(row);
        }
        Ok(digests)
    }

    /// Removes sessions and projects without observations: their names and goals are texts too.
    fn forget_empty_parents(&self) -> Result<(), StoreError> {
        self.connection.execute_batch(
            "DELETE FROM sessions WHERE NOT EXISTS
                 (SELECT 1 FROM observations AS o WHERE o.session = sessions.id);
             DELETE FROM projects WHERE observations <= 0
                 AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.project = projects.id);",
        )?;
        Ok(())
    }

    fn counter(&self, name: &str) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(sum(value), 0) FROM counters WHERE name = ?";
        self.number(sql, vec![Value::from(name.to_owned())])
    }

    fn row_of_id(&self, id: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT max(id) FROM observations WHERE external_id = ?1";
        let own: Option<i64> =
            self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?;
        let other = || -> Result<Option<i64>, StoreError> {
            let sql = "SELECT max(observation) FROM external_ids WHERE external_id = ?1";
            Ok(self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
        };
        if let Some(row) = own.map_or_else(other, |row| Ok(Some(row)))? {
            return Ok(Some(row));
        }
        let Some(number) = id.strip_prefix(ID_MARK).and_then(|it| it.parse::<i64>().ok()) else {
            return Ok(None);
        };
        let sql = "SELECT id FROM observations WHERE id = ?1";
        Ok(self.connection.prepare_cached(sql)?.query_row([number], |row| row.get(0)).optional()?)
    }
}

impl MemoryDatabase for MemoryTransaction<'_> {
    type Error = StoreError;

    fn add(&mut self, observations: &[NewObservation]) -> Result<Vec<StoredAs>, StoreError> {
        let mut writer = ObservationWriter::new(self.connection);
        observations.iter().map(|observation| writer.add(observation)).collect()
    }

    fn count(&mut self, filter: &ObservationFilter) -> Result<u64, StoreError> {
        let conditions = self.conditions(filter)?;
        if conditions.is_in_index && filter.kinds.is_empty() {
            let projects = conditions.sql.replace("o.project", "id");
            let sql =
                format!("SELECT coalesce(sum(observations), 0) FROM projects WHERE {projects}");
            return self.number(&sql, conditions.values);
        }
        let sql = format!("SELECT count(*) FROM observations AS o WHERE {}", conditions.sql);
        self.number(&sql, conditions.values)
    }

    fn matching(
        &mut self,
        filter: &ObservationFilter,
        expressions: &[Expression],
        rows_max: usize,
    ) -> Result<Vec<MatchingRows>, StoreError> {
        let conditions = self.conditions(filter)?;
        if conditions.projects.as_ref().is_some_and(Vec::is_empty) {
            let nothing = MatchingRows { rows: Vec::new(), is_complete: true };
            return Ok(vec![nothing; expressions.len()]);
        }
        let is_one_project = conditions.projects.as_ref().is_some_and(|it| it.len() == 1);
        // Only the entries of one project are in the order of their rows.
        let order = if is_one_project { "entries.rowid" } else { ROW_OF_ENTRY };
        let is_in_index =
            conditions.is_in_index && (is_one_project || conditions.projects.is_none());
        // CROSS JOIN: the index decides, whatever SQLite assumes of the other conditions.
        let others = if is_in_index {
            String::new()
        } else {
            format!("CROSS JOIN observations AS o ON o.id = {ROW_OF_ENTRY} AND {}", conditions.sql)
        };
        let sql = format!(
            "SELECT {ROW_OF_ENTRY} FROM entries {others}
             WHERE entries MATCH ? AND entries.rowid BETWEEN ? AND ? ORDER BY {order} DESC LIMIT ?"
        );
        let range = entry_range(conditions.projects.as_deref()).map(Value::from);
        let limit = Value::from(i64::try_from(rows_max).unwrap_or(i64::MAX));
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut answers = Vec::with_capacity(expressions.len());
        for expression in expressions {
            let mut values = if is_in_index { Vec::new() } else { conditions.values.clone() };
            values.push(Value::from(match_text(expression, &filter.kinds)));
            values.extend(range.clone());
            values.push(limit.clone());
            let rows = select.query_map(params_from_iter(values), |row| row.get(0))?;
            let rows: Vec<i64> = rows.collect::<Result<_, _>>()?;
            answers.push(MatchingRows { is_complete: rows.len() < rows_max, rows });
        }
        Ok(answers)
    }

    fn describe(&mut self, rows: &[i64]) -> Result<Vec<MatchedRow>, StoreError> {
        let sql = format!("SELECT {MATCHED_COLUMNS} FROM observations AS o WHERE o.id = ?1");
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut described = Vec::with_capacity(rows.len());
        for row in rows {
            described.extend(select.query_row([row], matched_row).optional()?);
        }
        Ok(described)
    }

    fn load(&mut self, rows: &[i64]) -> Result<Vec<StoredObservation>, StoreError> {
        self.load_rows(rows)
    }

    fn rows_of_ids(&mut self, ids: &[String]) -> Result<Vec<Option<i64>>, StoreError> {
        ids.iter().map(|id| self.row_of_id(id)).collect()
    }

    fn newest(
        &mut self,
        filter: &ObservationFilter,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, StoreError> {
        self.first_by_time(filter, "ORDER BY o.at_ms DESC, o.id DESC LIMIT ?", rows_max)
    }

    fn oldest(
        &mut self,
        filter: &ObservationFilter,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, StoreError> {
        self.first_by_time(filter, "ORDER BY o.at_ms, o.id LIMIT ?", rows_max)
    }

    fn export(
        &mut self,
        filter: &ObservationFilter,
        visit: &mut dyn FnMut(StoredObservation) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let conditions = self.conditions(filter)?;
        let rows = row_numbers(self.connection, conditions, "ORDER BY o.at_ms, o.id")?;
        for part in rows.chunks(MEMORY_LOADED_AT_ONCE) {
            self.load_rows(part)?.into_iter().try_for_each(&mut *visit)?;
        }
        Ok(())
    }

    fn fixes_of_shape(
        &mut self,
        shape: &str,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, StoreError> {
        let sql = "SELECT o.id FROM shapes AS h JOIN observations AS o ON o.id = h.observation
                   WHERE h.shape = ?1 AND o.kind = ?2 ORDER BY o.at_ms DESC, o.id DESC LIMIT ?3";
        let mut select = self.connection.prepare_cached(sql)?;
        let values = params![shape, ObservationKind::Fix.name(), rows_max];
        let rows = select.query_map(values, |row| row.get(0))?;
        let rows: Vec<i64> = rows.collect::<Result<_, _>>()?;
        self.load_rows(&rows)
    }

    fn set_outcome(&mut self, row: i64, outcome: FixOutcome) -> Result<(), StoreError> {
        let sql = "UPDATE observations SET outcome = ?2 WHERE id = ?1";
        self.connection.prepare_cached(sql)?.execute(params![row, outcome.name()])?;
        Ok(())
    }

    fn supersede(&mut self, rows: &[i64], by: i64) -> Result<(), StoreError> {
        let sql = "UPDATE observations SET superseded_by = ?2 WHERE id = ?1 AND id <> ?2";
        let mut update = self.connection.prepare_cached(sql)?;
        for row in rows {
            update.execute(params![row, by])?;
        }
        Ok(())
    }

    fn forget(&mut self, selection: &ForgetSelection) -> Result<u64, StoreError> {
        let rows = match selection {
            ForgetSelection::Rows(rows) => rows.clone(),
            ForgetSelection::Filter(filter) => {
                row_numbers(self.connection, self.conditions(filter)?, "")?
            }
        };
        for digest in self.digests_of(&rows)? {
            self.forget_row(digest)?;
        }
        self.forget_rows(&rows)
    }

    fn touch_session(
        &mut self,
        project: &MemoryProject,
        session: &str,
        at_ms: i64,
        goal: Option<&SessionGoal>,
        worktree: Option<&CleanText>,
    ) -> Result<(), StoreError> {
        let project = project_number(self.connection, project)?;
        let number = touched_session(self.connection, project, session, at_ms)?;
        let sql = "UPDATE sessions SET has_ended = 0,
                   branch = CASE WHEN branch = '' THEN ?2 ELSE branch END WHERE id = ?1";
        let worktree = worktree.map_or("", CleanText::as_str);
        self.connection.prepare_cached(sql)?.execute(params![number, worktree])?;
        if let Some(SessionGoal { text, row }) = goal {
            let sql = "UPDATE sessions SET goal = ?2, goal_observation = ?3
                       WHERE id = ?1 AND goal = ''
                       AND EXISTS (SELECT 1 FROM observations WHERE id = ?3)";
            self.connection.prepare_cached(sql)?.execute(params![number, text.as_str(), row])?;
        }
        Ok(())
    }

    fn end_session(&mut self, session: &str, at_ms: i64) -> Result<(), StoreError> {
        let sql =
            "UPDATE sessions SET has_ended = 1, last_ms = max(last_ms, ?2) WHERE host_id = ?1";
        self.connection.prepare_cached(sql)?.execute(params![session, at_ms])?;
        Ok(())
    }

    fn sessions(
        &mut self,
        project: &str,
        sessions_max: usize,
    ) -> Result<Vec<StoredSession>, StoreError> {
        let sql = "SELECT s.host_id, p.key, p.name, s.started_ms, s.last_ms, s.has_ended, s.goal,
                   s.branch FROM projects AS p JOIN sessions AS s ON s.project = p.id
                   WHERE p.key = ?1 AND EXISTS
                   (SELECT 1 FROM observations AS o WHERE o.session = s.id)
                   ORDER BY s.last_ms DESC, s.id DESC LIMIT ?2";
        let mut select = self.connection.prepare_cached(sql)?;
        let sessions = select.query_map(params![project, sessions_max], session)?;
        Ok(sessions.collect::<Result<_, _>>()?)
    }

    fn projects_named(&mut self, name: &str) -> Result<Vec<MemoryProject>, StoreError> {
        let sql = "SELECT key, name FROM projects WHERE key = ?1 OR name = ?1 ORDER BY id";
        let mut select = self.connection.prepare_cached(sql)?;
        let projects = select
            .query_map([name], |row| Ok(MemoryProject { key: row.get(0)?, name: row.get(1)? }))?;
        Ok(projects.collect::<Result<_, _>>()?)
    }

    fn record_injections(&mut self, injections: &[Injection]) -> Result<(), StoreError> {
        // An observation may have been forgotten meanwhile.
        let sql = "INSERT INTO injections (session, observation, at_ms, event, tokens)
                   SELECT ?1, id, ?3, ?4, ?5 FROM observations WHERE id = ?2";
        let mut insert = self.connection.prepare_cached(sql)?;
        for it in injections {
            insert.execute(params![it.session, it.row, it.at_ms, it.event.name(), it.tokens])?;
        }
        Ok(())
    }

    fn open_injections(&mut self, session: &str) -> Result<Vec<OpenInjection>, StoreError> {
        let sql = "SELECT id, observation FROM injections WHERE session = ?1 AND is_used = 0
                   ORDER BY id";
        let mut select = self.connection.prepare_cached(sql)?;
        let open = select.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let open: Vec<(i64, i64)> = open.collect::<Result<_, _>>()?;
        let mut injections = Vec::new();
        for (id, row) in open {
            for observation in self.load_rows(&[row])? {
                injections.push(OpenInjection {
                    id,
                    observation: row,
                    text: observation.text(),
                    files: observation.files,
                    codes: observation.codes,
                });
            }
        }
        Ok(injections)
    }

    fn mark_used(&mut self, injections: &[i64]) -> Result<(), StoreError> {
        let sql = "UPDATE injections SET is_used = 1 WHERE id = ?1";
        let mut update = self.connection.prepare_cached(sql)?;
        for id in injections {
            update.execute([id])?;
        }
        Ok(())
    }

    fn record_search(&mut self, has_hits: bool) -> Result<(), StoreError> {
        self.count_by(SEARCHES, 1)?;
        self.count_by(SEARCHES_WITH_HITS, u64::from(has_hits))
    }

    fn counts(&mut self, filter: &ObservationFilter) -> Result<MemoryCounts, StoreError> {
        let Conditions { sql, values, .. } = self.conditions(filter)?;
        let by_kind = format!(
            "SELECT o.kind, count(*) FROM observations AS o WHERE {sql} GROUP BY o.kind ORDER BY o.kind"
        );
        let mut select = self.connection.prepare_cached(&by_kind)?;
        let kinds = select.query_map(params_from_iter(values.clone()), |row| {
            let kind = ObservationKind::from_name(row.get_ref(0)?.as_str()?);
            Ok((kind.unwrap_or(ObservationKind::Note), row.get(1)?))
        })?;
        let by_kind = kinds.collect::<Result<_, _>>()?;
        let injections = format!(
            "SELECT count(*), coalesce(sum(i.is_used), 0), coalesce(sum(i.tokens), 0)
             FROM injections AS i JOIN observations AS o ON o.id = i.observation WHERE {sql}"
        );
        let mut select = self.connection.prepare_cached(&injections)?;
        let (injections, injections_used, injected_tokens) = select
            .query_row(params_from_iter(values.clone()), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        let largest = format!(
            "SELECT coalesce(max(bytes), 0) FROM (
                 SELECT sum(octet_length(t.title) + octet_length(t.body)) AS bytes
                 FROM observations AS o JOIN texts AS t ON t.id = o.id WHERE {sql} GROUP BY o.project)"
        );
        let largest_project_bytes = self.number(&largest, values)?;
        let bytes = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()";
        Ok(MemoryCounts {
            bytes: self.number(bytes, Vec::new())?,
            by_kind,
            sessions: self.number("SELECT count(*) FROM sessions", Vec::new())?,
            projects: self.number("SELECT count(*) FROM projects", Vec::new())?,
            injections,
            injections_used,
            injected_tokens,
            searches: self.counter(SEARCHES)?,
            searches_with_hits: self.counter(SEARCHES_WITH_HITS)?,
            largest_project_bytes,
            folded: self.counter(FOLDED)?,
            dropped: self.counter(DROPPED)?,
        })
    }

    fn own_projects(&mut self) -> Result<Vec<String>, StoreError> {
        self.project_keys()
    }

    fn scan_rows(&mut self, scan: &RetentionScan) -> Result<ScannedRows, StoreError> {
        self.scan(scan)
    }

    fn fold(&mut self, fold: &RowFold) -> Result<u64, StoreError> {
        self.fold_rows(fold)
    }

    fn droppable_rows(
        &mut self,
        choice: &DropChoice,
        rows_max: usize,
    ) -> Result<Vec<DroppableRow>, StoreError> {
        self.droppable(choice, rows_max)
    }

    fn drop_rows(&mut self, rows: &[i64]) -> Result<u64, StoreError> {
        let dropped = self.forget_rows(rows)?;
        self.count_by(DROPPED, dropped)?;
        Ok(dropped)
    }

    fn text_sizes(&mut self, after: i64, rows_max: usize) -> Result<TextSizes, StoreError> {
        self.sizes_after(after, rows_max)
    }

    /// The whole index is made again before the first change.
    fn has_outdated_entries(&mut self) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn refresh_index(&mut self, _entries_max: usize) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn last_retention_ms(&mut self) -> Result<Option<i64>, StoreError> {
        self.retention_ms()
    }

    fn record_retention(&mut self, at_ms: i64) -> Result<(), StoreError> {
        self.note_retention(at_ms)
    }
}
