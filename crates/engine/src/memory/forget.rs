//! `memory forget`: a preview first.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::entries::row_entry;
use super::replies::{MemoryRefusal, MemoryReply, reply};
use super::scope::filter;
use crate::engine::{Engine, memory_now_ms};
use moai_base::limits::{FORGET_FLUSH_MS_MAX, MEMORY_IDS_LISTED_MAX};
use moai_host::store::StoreError;
use moai_memory::database::{ForgetSelection, MemoryDatabase, ObservationFilter};
use moai_memory::observation::StoredObservation;
use moai_memory::search::rows_with_all_units;
use moai_protocol::control::{CallerContext, MemoryScope};
use moai_protocol::documents::json_text;
use moai_protocol::documents::memory::{MemoryChangeDocument, RejectedLine};
use moai_report::memory::forget_text;

/// The arguments of `memory forget`.
pub(super) struct AskedForget {
    pub(super) ids: Vec<String>,
    pub(super) query: Option<String>,
    pub(super) scope: MemoryScope,
    pub(super) apply: bool,
}

/// Selection of the observations to forget.
#[derive(Clone)]
struct ForgetTarget {
    ids: Vec<String>,
    query: Option<String>,
    filter: ObservationFilter,
}

impl ForgetTarget {
    /// The rows in one copy of the database.
    fn rows(
        &self,
        database: &mut dyn MemoryDatabase<Error = StoreError>,
    ) -> Result<Vec<i64>, StoreError> {
        if !self.ids.is_empty() {
            return Ok(database.rows_of_ids(&self.ids)?.into_iter().flatten().collect());
        }
        if let Some(query) = &self.query {
            // A deletion must not reach observations that are only similar, or contain the parts of a name
            // apart.
            return rows_with_all_units(database, &self.filter, query);
        }
        let mut rows = Vec::new();
        database.export(&self.filter, &mut |observation| {
            rows.push(observation.row);
            Ok(())
        })?;
        Ok(rows)
    }
}

pub(super) async fn forget(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    asked: AskedForget,
    json: bool,
) -> MemoryReply {
    let is_narrowed = asked.scope.is_narrowed() || asked.scope.project.is_some();
    if asked.ids.is_empty() && asked.query.is_none() && !is_narrowed {
        return Err(MemoryRefusal::Invalid(
            "name what to forget: ids, --query, --path, --code, --worktree, --type, --since, --until or --project"
                .to_owned(),
        ));
    }
    let filter = filter(engine, caller, &asked.scope).await?;
    let target = ForgetTarget { ids: asked.ids, query: asked.query, filter };
    let mut document = MemoryChangeDocument {
        command: "forget",
        status: if asked.apply { "done" } else { "preview" },
        ..MemoryChangeDocument::default()
    };
    // Pending notes may repeat the content to forget.
    engine.recorder.flush(Duration::from_millis(FORGET_FLUSH_MS_MAX)).await;
    if engine.memory.exists() {
        // Spooled observations are stored first, and shown too.
        let looked = target.clone();
        let preview = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
            select_observations(database, &looked)
        };
        let selected = engine.memory.for_command().write(preview).await?;
        document.observations = selected.count;
        document.ids = selected.first.iter().map(|it| it.id.clone()).collect();
        document.rejected_total = selected.unknown.len() as u64;
        let unknown = selected.unknown.into_iter().take(MEMORY_IDS_LISTED_MAX);
        document.rejected =
            unknown.map(|id| RejectedLine { line: 0, reason: format!("unknown: {id}") }).collect();
        if asked.apply {
            apply(engine, target, &mut document).await?;
        } else {
            document.rows = selected.first.iter().map(|it| row_entry(it, "selected")).collect();
        }
    }
    let text = forget_text(&document, memory_now_ms());
    Ok(reply(json_text(&document), text, json))
}

/// The observations of the memory that a target selects.
struct SelectedObservations {
    count: u64,
    first: Vec<StoredObservation>,
    /// Ids that no observation has.
    unknown: Vec<String>,
}

fn select_observations(
    database: &mut dyn MemoryDatabase<Error = StoreError>,
    target: &ForgetTarget,
) -> Result<SelectedObservations, StoreError> {
    let rows = target.rows(database)?;
    let first = database.load(&rows[..rows.len().min(MEMORY_IDS_LISTED_MAX)])?;
    let known = database.rows_of_ids(&target.ids)?;
    let unknown = target.ids.iter().zip(known).filter(|(_, row)| row.is_none());
    let unknown = unknown.map(|(id, _)| id.clone()).collect();
    Ok(SelectedObservations { count: rows.len() as u64, first, unknown })
}

async fn apply(
    engine: &Arc<Engine>,
    target: ForgetTarget,
    document: &mut MemoryChangeDocument,
) -> Result<(), StoreError> {
    let choose = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
        target.rows(database).map(ForgetSelection::Rows)
    };
    let outcome = engine.memory.for_command().forget(choose).await?;
    let paths = |paths: Vec<PathBuf>| -> Vec<String> {
        paths.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
    };
    document.observations = outcome.observations;
    document.in_backups = outcome.is_in_backups;
    document.removed_copies = paths(outcome.removed_copies);
    document.unread_copies = paths(outcome.unread_copies);
    Ok(())
}
