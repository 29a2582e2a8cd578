//! The table of loops. A change is written only over the state it was computed from, so that a
//! cancelled loop is never revived.

mod marker_sync;
mod records;
mod stored_loop;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::exams::{self, ExamTexts};
use super::pipelines::PipelineChange;
use super::{ProjectKey, Store, StoreError};
use marker_sync::{MarkerChange, read_loop_row};
use moai_base::limits::LOOPS_LISTED_MAX;
use moai_loops::exam::Exam;
use moai_loops::state::LoopState;
use records::{add_record, row_hash};
use stored_loop::{decode, encode};

/// Selects one loop of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopQuery {
    /// The active loop of a session.
    ActiveOf(String),
    /// The active loop that no session has claimed.
    ActiveUnclaimed,
    /// The active loop of a session, else the unclaimed active one, else the session's last one.
    /// One query, because it runs at every Stop.
    ForStop(String),
    Id(String),
    /// The last loop of a session, active or not.
    LatestOf(String),
    /// The last loop, active ones first.
    Latest,
}

/// Outcome of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopRemoval {
    /// The loop and its exam were removed.
    Removed,
    /// The loop is running or paused, and stays.
    StillActive,
    /// No loop has this id.
    NotFound,
}

/// Outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveOutcome {
    Saved,
    /// The loop was changed or ended meanwhile; nothing was written.
    Overtaken,
}

/// Outcome of a change of a loop with its pipeline.
struct SavedLoop {
    outcome: SaveOutcome,
    /// The root of the pipeline that was changed.
    pipeline_root: Option<PathBuf>,
}

impl Store {
    /// Adds a loop. [`StoreError::Conflict`] if its session has an active one.
    pub async fn insert_loop(
        &self,
        project: &ProjectKey,
        root: &Path,
        state: LoopState,
    ) -> Result<(), StoreError> {
        let root = text(root);
        self.write_with_marker(project, move |transaction| {
            insert(transaction, &root, &state)?;
            Ok(((), MarkerChange::between(transaction, None, &state)?))
        })
        .await
    }

    /// Adds a loop together with its exam, because a loop without one would end unexamined.
    pub async fn begin_loop(
        &self,
        project: &ProjectKey,
        root: &Path,
        state: LoopState,
        exam: Exam,
        texts: ExamTexts,
    ) -> Result<(), StoreError> {
        let root = text(root);
        self.write_with_marker(project, move |transaction| {
            insert(transaction, &root, &state)?;
            exams::write_exam(transaction, &state.id, &exam, &texts)?;
            Ok(((), MarkerChange::between(transaction, None, &state)?))
        })
        .await
    }

    /// Replaces `before` by `next` if the loop is unchanged. A removed loop is not recreated.
    pub async fn advance_loop(
        &self,
        project: &ProjectKey,
        before: &LoopState,
        next: LoopState,
    ) -> Result<SaveOutcome, StoreError> {
        self.advance_loop_and_pipeline(project, before, next, None).await
    }

    /// Replaces `before` by `next`, and the pipeline of the loop, if both are unchanged; else neither.
    pub async fn advance_loop_and_pipeline(
        &self,
        project: &ProjectKey,
        before: &LoopState,
        next: LoopState,
        pipeline: Option<Arc<PipelineChange>>,
    ) -> Result<SaveOutcome, StoreError> {
        let (before, next) = (before.clone().without_secrets(), next.without_secrets());
        let change = pipeline.clone();
        let saved = self.write_with_marker(project, move |transaction| {
            let overtaken = SavedLoop { outcome: SaveOutcome::Overtaken, pipeline_root: None };
            let stored = find(transaction, "id = ?1", &next.id)?;
            if stored.map(LoopState::without_secrets) != Some(before) {
                return Ok((overtaken, None));
            }
            let mut pipeline_root = None;
            if let Some(change) = change {
                pipeline_root = change.write(transaction)?;
                if pipeline_root.is_none() {
                    return Ok((overtaken, None));
                }
            }
            let row = read_loop_row(transaction, &next.id)?;
            let before = row_hash(transaction, &next.id)?;
            transaction.execute(
                "UPDATE loops SET session_id = ?2, status = ?3, state = ?4, updated_ms = ?5
                 WHERE id = ?1",
                params![
                    next.id,
                    next.session_id,
                    next.status.as_str(),
                    encode(&next)?,
                    sql_integer(next.updated_ms)
                ],
            )?;
            add_record(transaction, &next.id, before)?;
            let saved = SavedLoop { outcome: SaveOutcome::Saved, pipeline_root };
            Ok((saved, MarkerChange::between(transaction, row.as_ref(), &next)?))
        });
        let SavedLoop { outcome, pipeline_root } = saved.await?;
        if let (Some(change), Some(root)) = (pipeline, pipeline_root) {
            self.write_pipeline_marks(&change.next, &root);
        }
        Ok(outcome)
    }

    /// Finds a loop of a root; an id selects among all roots of the project.
    pub async fn find_loop(
        &self,
        project: &ProjectKey,
        root: &Path,
        which: LoopQuery,
    ) -> Result<Option<LoopState>, StoreError> {
        let root = text(root);
        self.read(project, move |transaction| match which {
            LoopQuery::Id(id) => find(transaction, "id = ?1", &id),
            LoopQuery::ActiveOf(session) => active_of(transaction, &root, &session),
            LoopQuery::LatestOf(session) => latest_of(transaction, &root, &session),
            LoopQuery::ActiveUnclaimed => active_unclaimed(transaction, &root),
            LoopQuery::ForStop(session) => match latest_of(transaction, &root, &session)? {
                Some(own) if own.status.is_active() => Ok(Some(own)),
                over => Ok(active_unclaimed(transaction, &root)?.or(over)),
            },
            LoopQuery::Latest => find(transaction, "root = ?1", &root),
        })
        .await
    }

    /// Ids and sessions of the active loops of a root, the latest first.
    pub async fn active_loops(
        &self,
        project: &ProjectKey,
        root: &Path,
    ) -> Result<Vec<(String, Option<String>)>, StoreError> {
        let root = text(root);
        self.read(project, move |transaction| {
            let sql = format!(
                "SELECT id, session_id FROM loops WHERE root = ?1 AND {ACTIVE_CONDITION}
                 ORDER BY created_ms DESC, rowid DESC LIMIT {LOOPS_LISTED_MAX}"
            );
            let mut statement = transaction.prepare(&sql)?;
            let rows = statement.query_map(params![root], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// The loops of a project over all its roots, the latest first.
    pub async fn list_loops(&self, project: &ProjectKey) -> Result<Vec<LoopState>, StoreError> {
        self.read(project, move |transaction| {
            let sql = format!(
                "SELECT id, state FROM loops WHERE status <> '{SET_ASIDE}'
                 ORDER BY created_ms DESC, rowid DESC LIMIT {LOOPS_LISTED_MAX}"
            );
            let mut statement = transaction.prepare(&sql)?;
            let rows =
                statement.query_map([], EncodedLoop::from_row)?.collect::<Result<Vec<_>, _>>()?;
            rows.into_iter().map(EncodedLoop::decode).collect()
        })
        .await
    }

    /// Hides a loop with unreadable state, so that its session can start a different one; its row is kept.
    pub async fn set_loop_aside(&self, project: &ProjectKey, id: String) -> Result<(), StoreError> {
        self.write_with_marker(project, move |transaction| {
            let change = MarkerChange::end(transaction, &id)?;
            let sql = "UPDATE loops SET status = ?2 WHERE id = ?1";
            transaction.execute(sql, params![id, SET_ASIDE])?;
            Ok(((), change))
        })
        .await
    }

    /// Removes a finished loop with its exam.
    pub async fn remove_loop(
        &self,
        project: &ProjectKey,
        id: String,
    ) -> Result<LoopRemoval, StoreError> {
        self.write_with_marker(project, move |transaction| {
            let sql = format!("SELECT {ACTIVE_CONDITION} FROM loops WHERE id = ?1");
            let found = transaction.query_row(&sql, params![id], |row| row.get(0)).optional()?;
            match found {
                None => return Ok((LoopRemoval::NotFound, None)),
                Some(true) => return Ok((LoopRemoval::StillActive, None)),
                Some(false) => {}
            }
            let change = MarkerChange::end(transaction, &id)?;
            transaction.execute("DELETE FROM exams WHERE loop_id = ?1", params![id])?;
            transaction.execute("DELETE FROM loops WHERE id = ?1", params![id])?;
            Ok((LoopRemoval::Removed, change))
        })
        .await
    }
}

fn insert(at: &Transaction<'_>, root: &str, state: &LoopState) -> Result<(), StoreError> {
    at.execute(
        "INSERT INTO loops (id, root, session_id, status, state, created_ms, updated_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            state.id,
            root,
            state.session_id,
            state.status.as_str(),
            encode(&state.clone().without_secrets())?,
            sql_integer(state.created_ms),
            sql_integer(state.updated_ms)
        ],
    )?;
    add_record(at, &state.id, None)
}

const ACTIVE_CONDITION: &str = "status IN ('running', 'paused')";
/// Only in the column, because an unreadable state cannot be changed.
const SET_ASIDE: &str = "unreadable";

/// Active loops first, then the latest.
const LATEST_FIRST: &str =
    "ORDER BY status IN ('running', 'paused') DESC, created_ms DESC, rowid DESC LIMIT 1";

fn find(
    at: &Transaction<'_>,
    condition: &str,
    value: &str,
) -> Result<Option<LoopState>, StoreError> {
    find_with(at, condition, params![value])
}

fn active_of(
    at: &Transaction<'_>,
    root: &str,
    session: &str,
) -> Result<Option<LoopState>, StoreError> {
    let condition = format!("root = ?1 AND session_id = ?2 AND {ACTIVE_CONDITION}");
    find_with(at, &condition, params![root, session])
}

fn latest_of(
    at: &Transaction<'_>,
    root: &str,
    session: &str,
) -> Result<Option<LoopState>, StoreError> {
    find_with(at, "root = ?1 AND session_id = ?2", params![root, session])
}

fn active_unclaimed(at: &Transaction<'_>, root: &str) -> Result<Option<LoopState>, StoreError> {
    find(at, &format!("root = ?1 AND session_id IS NULL AND {ACTIVE_CONDITION}"), root)
}

fn find_with(
    at: &Transaction<'_>,
    condition: &str,
    values: impl rusqlite::Params,
) -> Result<Option<LoopState>, StoreError> {
    let sql = format!(
        "SELECT id, state FROM loops WHERE {condition} AND status <> '{SET_ASIDE}' {LATEST_FIRST}"
    );
    at.prepare_cached(&sql)?
        .query_row(values, EncodedLoop::from_row)
        .optional()?
        .map(EncodedLoop::decode)
        .transpose()
}

/// The columns `id` and `state` of a loop.
struct EncodedLoop {
    id: String,
    json: String,
}

impl EncodedLoop {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { id: row.get(0)?, json: row.get(1)? })
    }

    fn decode(self) -> Result<LoopState, StoreError> {
        let Self { id, json } = self;
        decode(&json).map_err(|reason| StoreError::Unreadable { id, reason })
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn sql_integer(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
