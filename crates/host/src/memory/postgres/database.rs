//! [`MemoryDatabase`] on PostgreSQL. Every method is one statement, or one for each part of a long
//! list.

use moai_memory::clean::CleanText;
use moai_memory::database::{
    ForgetSelection, Injection, MatchedRow, MatchingRows, MemoryCounts, MemoryDatabase,
    ObservationFilter, OpenInjection, StoredAs,
};
use moai_memory::expression::Expression;
use moai_memory::observation::{
    FixOutcome, MemoryProject, NewObservation, SessionGoal, StoredObservation, StoredSession,
};
use moai_memory::retention::rows::{
    DropChoice, DroppableRow, RetentionScan, RowFold, ScannedRows, TextSizes,
};
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::{Parameter, PostgresConnection};
use super::filter::{FULFILS_FILTER, FilterValues, IS_IN_PROJECTS, IS_VISIBLE, storable};
use super::retention::{DROPPED, FOLDED};
use super::rows::{
    ID_MARK, OBSERVATION_COLUMNS, count, in_order, injection, injection_json, inserted_row,
    kind_count, matched_row, matching_row, number, observation_json, optional_row_numbers, project,
    row_numbers, session, value,
};
use super::text_search::questions;
use crate::store::StoreError;
use moai_base::limits::{MEMORY_LOADED_AT_ONCE, POSTGRES_BATCH_MAX};

const SEARCHES: &str = "searches";
const SEARCHES_WITH_HITS: &str = "searches with hits";

const TOTALS: &str = "SELECT
    (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c
        WHERE c.relnamespace = 'moai_ralph'::regnamespace AND c.relkind = 'r'),
    (SELECT count(*) FROM moai_ralph.sessions AS s WHERE s.author = session_user),
    (SELECT count(DISTINCT p.key) FROM moai_ralph.projects AS p
        WHERE p.author = session_user OR p.team_observations > 0),
    (SELECT coalesce(sum(c.value), 0)::bigint FROM moai_ralph.counters AS c
        WHERE c.author = session_user AND c.name = $1),
    (SELECT coalesce(sum(c.value), 0)::bigint FROM moai_ralph.counters AS c
        WHERE c.author = session_user AND c.name = $2),
    (SELECT coalesce(sum(c.value), 0)::bigint FROM moai_ralph.counters AS c
        WHERE c.author = session_user AND c.name = $3),
    (SELECT coalesce(sum(c.value), 0)::bigint FROM moai_ralph.counters AS c
        WHERE c.author = session_user AND c.name = $4)";

/// The memory of a team, while it is read or changed.
pub(super) struct PostgresTransaction<'c> {
    pub(super) connection: &'c mut PostgresConnection,
    pub(super) is_for_writing: bool,
}

impl PostgresTransaction<'_> {
    pub(super) fn ask(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.connection.query(sql, parameters)
    }

    pub(super) fn change(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        if !self.is_for_writing {
            return Err(StoreError::Unavailable("the memory is only being read".to_owned()));
        }
        self.connection.require_known_schema()?;
        self.connection.query(sql, parameters)
    }

    /// The rows of a filter, in this order of SQL.
    fn rows_of(&mut self, filter: &ObservationFilter, order: &str) -> Result<Vec<i64>, StoreError> {
        let values = FilterValues::from_filter(filter);
        let sql = format!(
            "SELECT o.id FROM moai_ralph.projects AS p
             JOIN moai_ralph.observations AS o ON o.project = p.id
             WHERE {IS_IN_PROJECTS} AND {FULFILS_FILTER} {order}"
        );
        row_numbers(&self.ask(&sql, &values.parameters())?)
    }

    /// The first rows by time, in this direction of SQL. Each project is asked by itself, because the
    /// index has the times of one project in order.
    fn first_by_time(
        &mut self,
        filter: &ObservationFilter,
        rows_max: usize,
        direction: &str,
    ) -> Result<Vec<StoredObservation>, StoreError> {
        let values = FilterValues::from_filter(filter);
        let rows_max = limit(rows_max);
        let order = format!("at_ms {direction}, id {direction} LIMIT $9");
        let sql = format!(
            "SELECT n.id FROM moai_ralph.projects AS p CROSS JOIN LATERAL (
                 SELECT o.id, o.at_ms FROM moai_ralph.observations AS o
                 WHERE o.project = p.id AND {FULFILS_FILTER} ORDER BY {order}
             ) AS n WHERE {IS_IN_PROJECTS} ORDER BY {order}"
        );
        let mut parameters = values.parameters();
        parameters.push((&rows_max, Type::INT8));
        let rows = row_numbers(&self.ask(&sql, &parameters)?)?;
        self.load(&rows)
    }

    fn own_rows_of(&mut self, filter: &ObservationFilter) -> Result<Vec<i64>, StoreError> {
        let values = FilterValues::from_filter(filter);
        let sql = format!(
            "SELECT o.id FROM moai_ralph.projects AS p
             JOIN moai_ralph.observations AS o ON o.project = p.id
             WHERE {IS_IN_PROJECTS} AND {FULFILS_FILTER} AND o.author = session_user"
        );
        row_numbers(&self.ask(&sql, &values.parameters())?)
    }

    /// The caller's digests that repeat the content of these rows: those of their sessions.
    fn digests_of(&mut self, rows: &[i64]) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT d.id FROM (SELECT DISTINCT o.session, o.project
                       FROM moai_ralph.observations AS o WHERE o.id = ANY ($1)
                       AND o.author = session_user AND o.session <> '') AS s
                   JOIN moai_ralph.observations AS d ON d.session = s.session AND d.project = s.project
                   WHERE d.kind = 'digest' AND d.external_id IS NULL AND d.session <> ''
                   AND d.id <> ALL ($1)";
        row_numbers(&self.ask(sql, &[(&rows, Type::INT8_ARRAY)])?)
    }

    fn forget_rows(&mut self, rows: &[i64]) -> Result<u64, StoreError> {
        let sql = "SELECT moai_ralph.forget($1)";
        number(&self.change(sql, &[(&rows, Type::INT8_ARRAY)])?)
    }
}

impl MemoryDatabase for PostgresTransaction<'_> {
    type Error = StoreError;

    fn add(&mut self, observations: &[NewObservation]) -> Result<Vec<StoredAs>, StoreError> {
        let mut stored = Vec::with_capacity(observations.len());
        let mut parts = observations.chunks(POSTGRES_BATCH_MAX).peekable();
        while let Some(part) = parts.next() {
            let batch = part.iter().map(observation_json).collect::<Value>().to_string();
            let is_last = parts.peek().is_none();
            let sql = "SELECT number, is_new FROM moai_ralph.add_observations($1::text::jsonb, $2)";
            for row in &self.change(sql, &[(&batch, Type::TEXT), (&is_last, Type::BOOL)])? {
                let (number, is_new) = inserted_row(row)?;
                let as_new = if is_new { StoredAs::New } else { StoredAs::Repeated };
                stored.push(as_new(number));
            }
        }
        Ok(stored)
    }

    fn count(&mut self, filter: &ObservationFilter) -> Result<u64, StoreError> {
        let values = FilterValues::from_filter(filter);
        if values.is_about_projects_only() {
            let sql = "SELECT moai_ralph.count_observations($1)";
            return number(&self.ask(sql, &[values.projects()])?);
        }
        let sql = format!(
            "SELECT count(*) FROM moai_ralph.projects AS p
             JOIN moai_ralph.observations AS o ON o.project = p.id
             WHERE {IS_IN_PROJECTS} AND {FULFILS_FILTER}"
        );
        number(&self.ask(&sql, &values.parameters())?)
    }

    fn matching(
        &mut self,
        filter: &ObservationFilter,
        expressions: &[Expression],
        rows_max: usize,
    ) -> Result<Vec<MatchingRows>, StoreError> {
        let values = FilterValues::from_filter(filter);
        let mut places: Vec<i32> = Vec::new();
        let mut texts: Vec<String> = Vec::new();
        for (place, expression) in (0..).zip(expressions) {
            for question in questions(expression) {
                places.push(place);
                texts.push(question);
            }
        }
        let limit = limit(rows_max);
        // The function predates worktrees: it may return rows of other branches, which count against the row
        // limit.
        let sql = "SELECT m.place, m.number, $8::text IS NULL OR EXISTS (
                       SELECT FROM moai_ralph.observations AS o JOIN moai_ralph.sessions AS s
                       ON s.host_id = o.session AND s.project = o.project
                       WHERE o.id = m.number AND s.branch = $8 AND s.author = session_user)
                   FROM moai_ralph.matching($9, $10::text[]::tsquery[], $1, $2, $3, $4, $5, $6, $7, $11)
                   WITH ORDINALITY AS m (place, number, at) ORDER BY m.at";
        let mut parameters = values.parameters();
        parameters.push((&places, Type::INT4_ARRAY));
        parameters.push((&texts, Type::TEXT_ARRAY));
        parameters.push((&limit, Type::INT8));
        let mut answers = vec![MatchingRows::default(); expressions.len()];
        let mut counts = vec![0_usize; expressions.len()];
        for row in self.ask(sql, &parameters)? {
            let (place, number) = matching_row(&row)?;
            let Some(answer) = answers.get_mut(place) else { continue };
            counts[place] += 1;
            if value(&row, 2)? {
                answer.rows.push(number);
            }
        }
        for (answer, count) in answers.iter_mut().zip(counts) {
            answer.is_complete = count < rows_max;
        }
        Ok(answers)
    }

    fn describe(&mut self, rows: &[i64]) -> Result<Vec<MatchedRow>, StoreError> {
        let sql = format!(
            "SELECT o.id, o.kind, o.at_ms, o.importance, o.tokens FROM moai_ralph.observations AS o
             WHERE o.id = ANY ($1) AND {IS_VISIBLE}"
        );
        self.ask(&sql, &[(&rows, Type::INT8_ARRAY)])?.iter().map(matched_row).collect()
    }

    fn load(&mut self, rows: &[i64]) -> Result<Vec<StoredObservation>, StoreError> {
        let sql = format!(
            "SELECT {OBSERVATION_COLUMNS} FROM moai_ralph.observations AS o
             JOIN moai_ralph.projects AS p ON p.id = o.project
             WHERE o.id = ANY ($1) AND {IS_VISIBLE}"
        );
        let mut loaded = Vec::with_capacity(rows.len());
        for part in rows.chunks(MEMORY_LOADED_AT_ONCE) {
            loaded.extend(in_order(&self.ask(&sql, &[(&part, Type::INT8_ARRAY)])?, part)?);
        }
        Ok(loaded)
    }

    fn rows_of_ids(&mut self, ids: &[String]) -> Result<Vec<Option<i64>>, StoreError> {
        let ids: Vec<String> = ids.iter().map(|id| storable(id)).collect();
        let numbers: Vec<Option<i64>> =
            ids.iter().map(|id| id.strip_prefix(ID_MARK)?.parse().ok()).collect();
        let external = format!(
            "SELECT max(o.id) FROM moai_ralph.external_ids AS e
             JOIN moai_ralph.observations AS o ON o.id = e.observation
             WHERE e.external_id = i.id AND {IS_VISIBLE}"
        );
        let sql = format!(
            "SELECT coalesce(({external} AND o.external_id = i.id), ({external}),
                 (SELECT o.id FROM moai_ralph.observations AS o WHERE o.id = i.number AND {IS_VISIBLE}))
             FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS i (id, number, position)
             ORDER BY i.position"
        );
        let parameters: [Parameter<'_>; 2] =
            [(&ids, Type::TEXT_ARRAY), (&numbers, Type::INT8_ARRAY)];
        optional_row_numbers(&self.ask(&sql, &parameters)?)
    }

    fn newest(
        &mut self,
        filter: &ObservationFilter,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, StoreError> {
        self.first_by_time(filter, rows_max, "DESC")
    }

    fn oldest(
        &mut self,
        filter: &ObservationFilter,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, StoreError> {
        self.first_by_time(filter, rows_max, "ASC")
    }

    fn export(
        &mut self,
        filter: &ObservationFilter,
        visit: &mut dyn FnMut(StoredObservation) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let rows = self.rows_of(filter, "ORDER BY o.at_ms, o.id")?;
        for part in rows.chunks(MEMORY_LOADED_AT_ONCE) {
            self.load(part)?.into_iter().try_for_each(&mut *visit)?;
        }
        Ok(())
    }

    fn fixes_of_shape(
        &mut self,
        shape: &str,
        rows_max: usize,
    ) -> Result<Vec<StoredObservation>, StoreError> {
        let sql = format!(
            "SELECT o.id FROM moai_ralph.names AS n
             JOIN moai_ralph.observations AS o ON o.id = n.observation
             WHERE n.sort = 'shape' AND n.name = $1 AND o.kind = 'fix' AND {IS_VISIBLE}
             ORDER BY o.at_ms DESC, o.id DESC LIMIT $2"
        );
        let (shape, rows_max) = (storable(shape), limit(rows_max));
        let rows = self.ask(&sql, &[(&shape, Type::TEXT), (&rows_max, Type::INT8)])?;
        self.load(&row_numbers(&rows)?)
    }

    fn set_outcome(&mut self, row: i64, outcome: FixOutcome) -> Result<(), StoreError> {
        let sql = "SELECT moai_ralph.set_outcome($1, $2)";
        self.change(sql, &[(&row, Type::INT8), (&outcome.name(), Type::TEXT)]).map(drop)
    }

    fn supersede(&mut self, rows: &[i64], by: i64) -> Result<(), StoreError> {
        let sql = "SELECT moai_ralph.supersede($1, $2)";
        self.change(sql, &[(&rows, Type::INT8_ARRAY), (&by, Type::INT8)]).map(drop)
    }

    fn forget(&mut self, selection: &ForgetSelection) -> Result<u64, StoreError> {
        let rows = match selection {
            ForgetSelection::Rows(rows) => rows.clone(),
            ForgetSelection::Filter(filter) => self.own_rows_of(filter)?,
        };
        let digests = self.digests_of(&rows)?;
        let forgotten = self.forget_rows(&rows)?;
        if !digests.is_empty() {
            self.forget_rows(&digests)?;
        }
        Ok(forgotten)
    }

    fn touch_session(
        &mut self,
        project: &MemoryProject,
        session: &str,
        at_ms: i64,
        goal: Option<&SessionGoal>,
        worktree: Option<&CleanText>,
    ) -> Result<(), StoreError> {
        let text = |text: Option<&CleanText>| storable(text.map_or("", CleanText::as_str));
        let texts = [
            storable(&project.key),
            storable(&project.name),
            storable(session),
            text(goal.map(|goal| &goal.text)),
            text(worktree),
        ];
        let goal_row = goal.map(|goal| goal.row);
        let mut parameters: Vec<Parameter<'_>> =
            texts.iter().map(|text| -> Parameter<'_> { (text, Type::TEXT) }).collect();
        parameters.push((&at_ms, Type::INT8));
        parameters.push((&goal_row, Type::INT8));
        let sql = "SELECT moai_ralph.touch_session($1, $2, $3, $6, $4, $7, $5)";
        self.change(sql, &parameters).map(drop)
    }

    fn end_session(&mut self, session: &str, at_ms: i64) -> Result<(), StoreError> {
        let sql = "SELECT moai_ralph.end_session($1, $2)";
        self.change(sql, &[(&storable(session), Type::TEXT), (&at_ms, Type::INT8)]).map(drop)
    }

    fn sessions(
        &mut self,
        project: &str,
        sessions_max: usize,
    ) -> Result<Vec<StoredSession>, StoreError> {
        let sql = "SELECT s.host_id, p.key, p.name, s.started_ms, s.last_ms, s.has_ended, s.goal,
                   s.branch FROM moai_ralph.projects AS p JOIN moai_ralph.sessions AS s
                   ON s.project = p.id WHERE p.key = $1 AND s.author = session_user
                   AND EXISTS (SELECT FROM moai_ralph.observations AS o
                       WHERE o.session = s.host_id AND o.project = s.project)
                   ORDER BY s.last_ms DESC, s.id DESC LIMIT $2";
        let (project, sessions_max) = (storable(project), limit(sessions_max));
        let rows = self.ask(sql, &[(&project, Type::TEXT), (&sessions_max, Type::INT8)])?;
        rows.iter().map(session).collect()
    }

    fn projects_named(&mut self, name: &str) -> Result<Vec<MemoryProject>, StoreError> {
        let sql = "SELECT p.key, p.name FROM (SELECT DISTINCT ON (p.key) p.id, p.key, p.name
                       FROM moai_ralph.projects AS p WHERE (p.key = $1 OR p.name = $1)
                       AND (p.author = session_user OR p.team_observations > 0)
                       ORDER BY p.key, p.author = session_user DESC, p.id) AS p ORDER BY p.id";
        let rows = self.ask(sql, &[(&storable(name), Type::TEXT)])?;
        rows.iter().map(|row| project(row, 0)).collect()
    }

    fn record_injections(&mut self, injections: &[Injection]) -> Result<(), StoreError> {
        let batch = injections.iter().map(injection_json).collect::<Value>().to_string();
        let sql = "SELECT moai_ralph.record_injections($1::text::jsonb)";
        self.change(sql, &[(&batch, Type::TEXT)]).map(drop)
    }

    fn open_injections(&mut self, session: &str) -> Result<Vec<OpenInjection>, StoreError> {
        let sql = "SELECT i.id, i.observation FROM moai_ralph.injections AS i
                   WHERE i.session = $1 AND NOT i.is_used AND i.author = session_user ORDER BY i.id";
        let rows = self.ask(sql, &[(&storable(session), Type::TEXT)])?;
        let open: Vec<(i64, i64)> = rows.iter().map(injection).collect::<Result<_, _>>()?;
        let numbers: Vec<i64> = open.iter().map(|(_, row)| *row).collect();
        let observations = self.load(&numbers)?;
        // An observation that its author has made private again is not read.
        let injections = open.into_iter().filter_map(|(id, row)| {
            let observation = observations.iter().find(|it| it.row == row)?;
            Some(OpenInjection {
                id,
                observation: row,
                text: observation.text(),
                files: observation.files.clone(),
                codes: observation.codes.clone(),
            })
        });
        Ok(injections.collect())
    }

    fn mark_used(&mut self, injections: &[i64]) -> Result<(), StoreError> {
        let sql = "SELECT moai_ralph.mark_used($1)";
        self.change(sql, &[(&injections, Type::INT8_ARRAY)]).map(drop)
    }

    fn record_search(&mut self, has_hits: bool) -> Result<(), StoreError> {
        let names = if has_hits { &[SEARCHES, SEARCHES_WITH_HITS][..] } else { &[SEARCHES][..] };
        self.change("SELECT moai_ralph.count_up($1)", &[(&names, Type::TEXT_ARRAY)]).map(drop)
    }

    fn counts(&mut self, filter: &ObservationFilter) -> Result<MemoryCounts, StoreError> {
        let values = FilterValues::from_filter(filter);
        let of_filter = format!(
            "FROM moai_ralph.projects AS p JOIN moai_ralph.observations AS o ON o.project = p.id
             WHERE {IS_IN_PROJECTS} AND {FULFILS_FILTER}"
        );
        let by_kind =
            format!("SELECT o.kind, count(*) {of_filter} GROUP BY o.kind ORDER BY o.kind");
        let by_kind = self.ask(&by_kind, &values.parameters())?;
        let injections = format!(
            "SELECT count(*), count(*) FILTER (WHERE i.is_used), coalesce(sum(i.tokens), 0)::bigint
             FROM moai_ralph.injections AS i WHERE i.author = session_user
             AND i.observation IN (SELECT o.id {of_filter})"
        );
        let injections = self.ask(&injections, &values.parameters())?;
        let largest = format!(
            "SELECT coalesce(max(s.bytes), 0)::bigint FROM (
                 SELECT sum(octet_length(o.title) + octet_length(o.body)) AS bytes {of_filter}
                 AND o.author = session_user GROUP BY o.project) AS s"
        );
        let largest = self.ask(&largest, &values.parameters())?;
        let names: [Parameter<'_>; 4] = [
            (&SEARCHES, Type::TEXT),
            (&SEARCHES_WITH_HITS, Type::TEXT),
            (&FOLDED, Type::TEXT),
            (&DROPPED, Type::TEXT),
        ];
        let totals = self.ask(TOTALS, &names)?;
        let (Some(injections), Some(totals)) = (injections.first(), totals.first()) else {
            return Err(StoreError::Corrupt("no answer".to_owned()));
        };
        Ok(MemoryCounts {
            bytes: count(totals, 0)?,
            by_kind: by_kind.iter().map(kind_count).collect::<Result<_, _>>()?,
            sessions: count(totals, 1)?,
            projects: count(totals, 2)?,
            injections: count(injections, 0)?,
            injections_used: count(injections, 1)?,
            injected_tokens: count(injections, 2)?,
            searches: count(totals, 3)?,
            searches_with_hits: count(totals, 4)?,
            largest_project_bytes: number(&largest)?,
            folded: count(totals, 5)?,
            dropped: count(totals, 6)?,
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
        self.remove_rows(rows)
    }

    fn text_sizes(&mut self, after: i64, rows_max: usize) -> Result<TextSizes, StoreError> {
        self.sizes_after(after, rows_max)
    }

    fn has_outdated_entries(&mut self) -> Result<bool, StoreError> {
        self.has_outdated_rows()
    }

    fn refresh_index(&mut self, entries_max: usize) -> Result<u64, StoreError> {
        self.refresh_entries(entries_max)
    }

    fn last_retention_ms(&mut self) -> Result<Option<i64>, StoreError> {
        self.retention_ms()
    }

    fn record_retention(&mut self, at_ms: i64) -> Result<(), StoreError> {
        self.note_retention(at_ms)
    }
}

pub(super) fn limit(rows_max: usize) -> i64 {
    i64::try_from(rows_max).unwrap_or(i64::MAX)
}
