//! The table of pipelines. A root has at most one active pipeline. A change is written only over the state it
//! was computed from, so that a cancelled pipeline is never revived.
//!
//! While a pipeline is active, a file with its root is in a separate folder, and one for each of its
//! worktrees in use. Hooks check that folder first, so that they cost nothing without a pipeline. The file
//! decides nothing: one that was left over costs a question to the daemon.

use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{OptionalExtension as _, Row, Transaction, params};

use super::loops::SaveOutcome;
use super::open::TransactionMode;
use super::{ProjectKey, Store, StoreError};
use crate::files::{private_dir, write_private};
use moai_base::limits::PIPELINE_MARKS_MAX;
use moai_pipeline::state::PipelineState;
use moai_pipeline::worktrees::WorktreeStage;

/// Selects one pipeline of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineQuery {
    /// By id, among all roots of the project.
    Id(String),
    /// The last one, an active one first.
    Latest,
}

/// A change of a pipeline.
#[derive(Clone, Debug)]
pub struct PipelineChange {
    /// The state that the change was computed from.
    pub before: PipelineState,
    pub next: PipelineState,
}

impl PipelineChange {
    /// Replaces the state, and returns the root of the pipeline; `None` if the stored state is another one.
    pub(super) fn write(
        &self,
        transaction: &Transaction<'_>,
    ) -> Result<Option<PathBuf>, StoreError> {
        let Self { before, next } = self;
        if find(transaction, "id = ?1", &next.id)?.as_ref() != Some(before) {
            return Ok(None);
        }
        transaction.execute(
            "UPDATE pipelines SET loop_id = ?2, is_active = ?3, state = ?4, updated_ms = ?5
             WHERE id = ?1",
            params![
                next.id,
                next.loop_id,
                next.is_active(),
                encode(next)?,
                sql_integer(next.updated_ms)
            ],
        )?;
        let sql = "SELECT root FROM pipelines WHERE id = ?1";
        let root: String = transaction.query_row(sql, params![next.id], |row| row.get(0))?;
        Ok(Some(PathBuf::from(root)))
    }
}

impl Store {
    /// Adds a pipeline. [`StoreError::Conflict`] if the root has an active one.
    pub async fn insert_pipeline(
        &self,
        project: &ProjectKey,
        root: &Path,
        state: PipelineState,
    ) -> Result<(), StoreError> {
        let mark = self.pipeline_mark(&state.id);
        write_mark(&mark, root);
        let root = root.to_string_lossy().into_owned();
        let inserted = self.write(project, move |transaction| {
            transaction.execute(
                "INSERT INTO pipelines (id, root, loop_id, is_active, state, created_ms, updated_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    state.id,
                    root,
                    state.loop_id,
                    state.is_active(),
                    encode(&state)?,
                    sql_integer(state.created_ms),
                    sql_integer(state.updated_ms)
                ],
            )?;
            Ok(())
        });
        let inserted = inserted.await;
        if inserted.is_err() {
            remove_mark(&mark);
        }
        inserted
    }

    /// Replaces `before` by `next` if the pipeline is unchanged.
    pub async fn advance_pipeline(
        &self,
        project: &ProjectKey,
        before: &PipelineState,
        next: PipelineState,
    ) -> Result<SaveOutcome, StoreError> {
        let change = Arc::new(PipelineChange { before: before.clone(), next });
        let written = Arc::clone(&change);
        let root = self.write(project, move |transaction| written.write(transaction)).await?;
        let Some(root) = root else { return Ok(SaveOutcome::Overtaken) };
        self.write_pipeline_marks(&change.next, &root);
        Ok(SaveOutcome::Saved)
    }

    /// Writes and removes the marks of a pipeline and of its worktrees.
    pub(super) fn write_pipeline_marks(&self, state: &PipelineState, root: &Path) {
        for tree in &state.worktrees {
            let mark = self.pipeline_mark(&tree.loop_id);
            if tree.stage == WorktreeStage::Working {
                write_mark(&mark, &tree.root);
            } else {
                remove_mark(&mark);
            }
        }
        let mark = self.pipeline_mark(&state.id);
        if state.is_active() {
            write_mark(&mark, root);
        } else {
            remove_mark(&mark);
        }
    }

    fn pipeline_mark(&self, id: &str) -> PathBuf {
        self.threads.home().join(MARKS_FOLDER).join(id)
    }

    pub async fn find_pipeline(
        &self,
        project: &ProjectKey,
        root: &Path,
        which: PipelineQuery,
    ) -> Result<Option<PipelineState>, StoreError> {
        let root = root.to_string_lossy().into_owned();
        self.run(project, move |thread| {
            let row = thread.transact(TransactionMode::Read, |transaction| match &which {
                PipelineQuery::Id(id) => find_row(transaction, "id = ?1", id),
                PipelineQuery::Latest => find_row(transaction, "root = ?1", &root),
            });
            let Some(PipelineRow { id, text }) = row? else { return Ok(None) };
            let last = thread.last_pipeline.as_ref().filter(|last| last.text == text);
            if let Some(last) = last {
                return Ok(Some(last.state.clone()));
            }
            let state = decode(&id, &text)?;
            thread.last_pipeline = Some(DecodedPipeline { text, state: state.clone() });
            Ok(Some(state))
        })
        .await
    }
}

/// The pipeline that was decoded last, with the text that it was decoded from. Hooks ask for it before each edit, and a large plan
/// takes longer to decode than the rest of the hook.
#[derive(Debug)]
pub(super) struct DecodedPipeline {
    text: String,
    state: PipelineState,
}

struct PipelineRow {
    id: String,
    text: String,
}

/// The folder of the marks, below the state folder.
const MARKS_FOLDER: &str = "pipelines";

/// True if a pipeline is active in one of these folders or above it. Reads one folder, and nothing else if no
/// pipeline is active.
#[must_use]
pub fn has_active_pipeline(state: &Path, folders: impl FnOnce() -> Vec<PathBuf>) -> bool {
    let Ok(marks) = fs::read_dir(state.join(MARKS_FOLDER)) else { return false };
    let marks = marks.flatten().take(PIPELINE_MARKS_MAX);
    let roots: Vec<PathBuf> = marks
        .filter_map(|mark| fs::read(mark.path()).ok())
        .map(|root| PathBuf::from(std::ffi::OsString::from_vec(root)))
        // Every folder is below an empty path.
        .filter(|root| root.is_absolute())
        .collect();
    !roots.is_empty()
        && folders().iter().any(|folder| roots.iter().any(|root| folder.starts_with(root)))
}

/// If the mark cannot be written, source files are unguarded; the log reports it.
fn write_mark(mark: &Path, root: &Path) {
    if fs::read(mark).is_ok_and(|known| known == root.as_os_str().as_bytes()) {
        return;
    }
    let written = mark.parent().map_or(Ok(()), private_dir);
    let written = written.and_then(|()| write_private(mark, root.as_os_str().as_bytes()));
    if let Err(error) = written {
        tracing::warn!(%error, "the mark of a pipeline could not be written");
    }
}

fn remove_mark(mark: &Path) {
    if let Err(error) = fs::remove_file(mark)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the mark of a pipeline could not be removed");
    }
}

fn find(
    at: &Transaction<'_>,
    condition: &str,
    value: &str,
) -> Result<Option<PipelineState>, StoreError> {
    find_row(at, condition, value)?.map(|row| decode(&row.id, &row.text)).transpose()
}

fn find_row(
    at: &Transaction<'_>,
    condition: &str,
    value: &str,
) -> Result<Option<PipelineRow>, StoreError> {
    let sql = format!(
        "SELECT id, state FROM pipelines WHERE {condition}
         ORDER BY is_active DESC, created_ms DESC, rowid DESC LIMIT 1"
    );
    let mut statement = at.prepare_cached(&sql)?;
    let row = statement.query_row(params![value], |row: &Row<'_>| {
        Ok(PipelineRow { id: row.get(0)?, text: row.get(1)? })
    });
    Ok(row.optional()?)
}

fn encode(state: &PipelineState) -> Result<String, StoreError> {
    serde_json::to_string(state).map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn decode(id: &str, state: &str) -> Result<PipelineState, StoreError> {
    serde_json::from_str(state)
        .map_err(|error| StoreError::Unavailable(format!("pipeline {id} cannot be read ({error})")))
}

fn sql_integer(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
