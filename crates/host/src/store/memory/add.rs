//! Adds an observation: its row, its text, its index entries.

use std::collections::HashMap;

use moai_base::hash::ContentHash;
use moai_memory::clean::CleanText;
use moai_memory::database::StoredAs;
use moai_memory::observation::{MemoryProject, NewObservation, ObservationFacts};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::index::insert_entry;
use super::rows::{ID_MARK, list_text};
use crate::store::StoreError;
use moai_base::limits::{MEMORY_HASH_BYTES, MEMORY_ROW_MAX};

/// Adds observations in one transaction, and remembers the numbers of projects.
pub(super) struct ObservationWriter<'c> {
    connection: &'c Connection,
    projects: HashMap<String, i64>,
}

impl<'c> ObservationWriter<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, projects: HashMap::new() }
    }

    pub(super) fn add(&mut self, observation: &NewObservation) -> Result<StoredAs, StoreError> {
        let facts = observation.facts();
        let project = self.project(&observation.project)?;
        let session = self.session(project, observation)?;
        if let Some(row) = self.repeated_row(project, observation, &facts)? {
            if observation.external_id.is_none() {
                self.repeat(row, observation)?;
            }
            return Ok(StoredAs::Repeated(row));
        }
        let row = self.insert_row(project, session, observation, &facts)?;
        if let Some(number) = observation.external_id.as_deref().and_then(own_number) {
            // No later row gets the id that this one brings.
            let sql =
                "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'observations' AND seq < ?1";
            self.connection.prepare_cached(sql)?.execute([number])?;
        }
        self.insert_text(row, observation)?;
        let count = "UPDATE projects SET observations = observations + 1 WHERE id = ?1";
        self.connection.prepare_cached(count)?.execute([project])?;
        insert_entry(self.connection, row, &facts.index, project, observation.kind)?;
        Ok(StoredAs::New(row))
    }

    fn project(&mut self, project: &MemoryProject) -> Result<i64, StoreError> {
        if let Some(number) = self.projects.get(&project.key) {
            return Ok(*number);
        }
        let number = project_number(self.connection, project)?;
        self.projects.insert(project.key.clone(), number);
        Ok(number)
    }

    /// The session, with the time of the observation as a sign of life.
    fn session(
        &self,
        project: i64,
        observation: &NewObservation,
    ) -> Result<Option<i64>, StoreError> {
        if observation.session.is_empty() {
            return Ok(None);
        }
        let (session, at_ms) = (&observation.session, observation.at_ms);
        touched_session(self.connection, project, session, at_ms).map(Some)
    }

    /// The row that the observation repeats. A record of another system repeats only itself, or an
    /// observation exported from here.
    fn repeated_row(
        &self,
        project: i64,
        observation: &NewObservation,
        facts: &ObservationFacts,
    ) -> Result<Option<i64>, StoreError> {
        let same = self.row_of_hash(project, observation, &facts.hash)?;
        let Some(id) = observation.external_id.as_ref().filter(|_| same.is_none()) else {
            return Ok(same);
        };
        let Some(row) = self.row_of_hash(project, observation, &facts.own_hash)? else {
            return Ok(None);
        };
        let is_same = *id == format!("{ID_MARK}{row}") || self.has_external_id(row, id)?;
        Ok(is_same.then_some(row))
    }

    fn row_of_hash(
        &self,
        project: i64,
        observation: &NewObservation,
        hash: &ContentHash,
    ) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT id FROM observations WHERE hash = ?1 AND project = ?2 AND kind = ?3";
        let key = params![&hash.as_bytes()[..MEMORY_HASH_BYTES], project, observation.kind.name()];
        Ok(self.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?)
    }

    /// Counts a repetition. Reading a record again does not count. A fix that was undone and is made again
    /// may last this time.
    fn repeat(&self, row: i64, observation: &NewObservation) -> Result<(), StoreError> {
        let sql = "UPDATE observations SET repeats = repeats + 1, at_ms = max(at_ms, ?2),
                   importance = max(importance, ?3),
                   outcome = coalesce(?4, nullif(outcome, 'undone')), superseded_by = NULL WHERE id = ?1";
        let outcome = observation.outcome.map(moai_memory::observation::FixOutcome::name);
        let values = params![row, observation.at_ms, observation.importance, outcome];
        self.connection.prepare_cached(sql)?.execute(values)?;
        self.insert_names(row, observation)
    }

    fn has_external_id(&self, row: i64, id: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM observations WHERE id = ?1 AND external_id = ?2
                   UNION ALL SELECT 1 FROM external_ids WHERE observation = ?1 AND external_id = ?2";
        Ok(self.connection.prepare_cached(sql)?.exists(params![row, id])?)
    }

    fn insert_row(
        &self,
        project: i64,
        session: Option<i64>,
        observation: &NewObservation,
        facts: &ObservationFacts,
    ) -> Result<i64, StoreError> {
        let sql = "INSERT INTO observations (project, session, kind, at_ms, importance, tokens,
                   provenance, visibility, outcome, simhash, external_id, hash, repeats)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        let importance = if observation.importance.is_nan() { 0.0 } else { observation.importance };
        self.connection.prepare_cached(sql)?.execute(params![
            project,
            session,
            observation.kind.name(),
            observation.at_ms,
            importance.clamp(0.0, 1.0),
            facts.tokens,
            observation.provenance.name(),
            observation.visibility.name(),
            observation.outcome.map(moai_memory::observation::FixOutcome::name),
            facts.simhash.map(u64::cast_signed),
            observation.external_id,
            &facts.hash.as_bytes()[..MEMORY_HASH_BYTES],
            observation.repeats,
        ])?;
        Ok(self.connection.last_insert_rowid())
    }

    fn insert_text(&self, row: i64, observation: &NewObservation) -> Result<(), StoreError> {
        let texts = |texts: &[CleanText]| -> Vec<String> {
            texts.iter().map(|text| text.as_str().to_owned()).collect()
        };
        let sql = "INSERT INTO texts (id, title, body, files, codes, shapes)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.connection.prepare_cached(sql)?.execute(params![
            row,
            observation.title.as_str(),
            observation.body.as_ref().map_or("", CleanText::as_str),
            list_text(&texts(&observation.files)),
            list_text(&texts(&observation.codes)),
            list_text(&observation.shapes),
        ])?;
        self.insert_names(row, observation)
    }

    /// The files, codes and shapes by which the row is found.
    fn insert_names(&self, row: i64, observation: &NewObservation) -> Result<(), StoreError> {
        let insert = |sql: &str, name: &str| -> Result<(), StoreError> {
            self.connection.prepare_cached(sql)?.execute(params![name, row])?;
            Ok(())
        };
        for file in &observation.files {
            let sql = "INSERT OR IGNORE INTO files (path, observation) VALUES (?1, ?2)";
            insert(sql, file.as_str())?;
        }
        for code in &observation.codes {
            let sql = "INSERT OR IGNORE INTO codes (code, observation) VALUES (?1, ?2)";
            insert(sql, code.as_str())?;
        }
        for shape in &observation.shapes {
            let sql = "INSERT OR IGNORE INTO shapes (shape, observation) VALUES (?1, ?2)";
            insert(sql, shape)?;
        }
        Ok(())
    }
}

/// The row of an id that this program makes, if it can be one.
fn own_number(id: &str) -> Option<i64> {
    let number = id.strip_prefix(ID_MARK)?.parse().ok()?;
    (0..=MEMORY_ROW_MAX).contains(&number).then_some(number)
}

/// The number of a project, which is created if it is new and gets its latest name.
pub(super) fn project_number(
    connection: &Connection,
    project: &MemoryProject,
) -> Result<i64, StoreError> {
    let sql = "INSERT INTO projects (key, name) VALUES (?1, ?2)
               ON CONFLICT (key) DO UPDATE SET name = excluded.name RETURNING id";
    let values = params![project.key, project.name];
    Ok(connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
}

/// The number of a session, which is created if it is new, with a sign of life. An earlier time, as in
/// an import or after the clock was set back, does not make it older.
pub(super) fn touched_session(
    connection: &Connection,
    project: i64,
    session: &str,
    at_ms: i64,
) -> Result<i64, StoreError> {
    let sql = "INSERT INTO sessions (project, host_id, started_ms, last_ms) VALUES (?1, ?2, ?3, ?3)
               ON CONFLICT (host_id, project) DO UPDATE SET
               started_ms = min(started_ms, excluded.started_ms),
               last_ms = max(last_ms, excluded.last_ms) RETURNING id";
    let values = params![project, session, at_ms];
    Ok(connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
}
