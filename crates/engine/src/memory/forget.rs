//! `memory forget`: a preview first.

use std::sync::Arc;

use super::replies::{MemoryRefusal, MemoryReply, reply};
use super::scope::filter;
use crate::engine::Engine;
use moai_base::limits::MEMORY_IDS_LISTED_MAX;
use moai_host::store::StoreError;
use moai_memory::database::{ForgetSelection, MemoryDatabase, ObservationFilter};
use moai_memory::search::rows_with_all_units;
use moai_protocol::control::{CallerContext, MemoryScope};
use moai_protocol::documents::json_text;
use moai_protocol::documents::memory::{MemoryChangeDocument, RejectedLine};
use moai_report::memory::change_text;

/// The arguments of `memory forget`.
pub(super) struct AskedForget {
    pub(super) ids: Vec<String>,
    pub(super) query: Option<String>,
    pub(super) scope: MemoryScope,
    pub(super) apply: bool,
}

/// What is to be forgotten.
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
            // Nothing that is only similar.
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
            "name what to forget: ids, --query, --path, --code, --type, --since, --until or --project"
                .to_owned(),
        ));
    }
    let filter = filter(engine, caller, &asked.scope).await?;
    let target = ForgetTarget { ids: asked.ids, query: asked.query, filter };
    let mut document = MemoryChangeDocument {
        command: "forget",
        status: "preview",
        observations: 0,
        repeated: 0,
        ids: Vec::new(),
        rejected: Vec::new(),
        rejected_total: 0,
        file: None,
    };
    if engine.memory.exists() {
        let looked = target.clone();
        let preview = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
            let rows = looked.rows(database)?;
            let first = &rows[..rows.len().min(MEMORY_IDS_LISTED_MAX)];
            let known = database.rows_of_ids(&looked.ids)?;
            let unknown = looked.ids.iter().zip(known).filter(|(_, row)| row.is_none());
            let unknown: Vec<String> = unknown.map(|(id, _)| id.clone()).collect();
            Ok((rows.len() as u64, database.load(first)?, unknown))
        };
        // The preview includes spooled observations.
        let (count, first, unknown) = engine.memory.for_command().write(preview).await?;
        document.observations = count;
        document.ids = first.into_iter().map(|it| it.id).collect();
        document.rejected_total = unknown.len() as u64;
        let named = unknown.into_iter().take(MEMORY_IDS_LISTED_MAX);
        document.rejected =
            named.map(|id| RejectedLine { line: 0, reason: format!("unknown: {id}") }).collect();
        if asked.apply {
            let choose = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
                target.rows(database).map(ForgetSelection::Rows)
            };
            document.observations = engine.memory.for_command().forget(choose).await?;
            document.status = "done";
        }
    } else if asked.apply {
        document.status = "done";
    }
    let text = change_text(&document);
    Ok(reply(json_text(&document), text, json))
}
