//! `memory export`: the lines that `memory import` reads.

use std::sync::Arc;

use super::replies::{MemoryRefusal, MemoryReply};
use super::scope::filter;
use crate::engine::Engine;
use moai_host::store::StoreError;
use moai_memory::database::MemoryDatabase;
use moai_memory::observation::{FixOutcome, StoredObservation};
use moai_protocol::control::{CallerContext, CommandReply, MemoryScope};
use moai_protocol::documents::json_value;
use moai_protocol::documents::memory::ExportedObservation;

pub(super) async fn export(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    scope: MemoryScope,
) -> MemoryReply {
    // A part of the memory would look like all of it.
    if let Some(outage) = engine.memory.team_outage().await {
        return Err(MemoryRefusal::Store(StoreError::Unavailable(outage)));
    }
    let filter = filter(engine, caller, &scope).await?;
    if !engine.memory.exists() {
        return Ok(CommandReply::default());
    }
    let write = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
        let mut text = String::new();
        database.export(&filter, &mut |observation| {
            text += &json_value(&exported(observation)).to_string();
            text.push('\n');
            Ok(())
        })?;
        Ok(text)
    };
    let stdout = engine.memory.for_command().read(write).await?;
    Ok(CommandReply { stdout, ..CommandReply::default() })
}

fn exported(observation: StoredObservation) -> ExportedObservation {
    ExportedObservation {
        id: observation.id,
        project: observation.project.name,
        session: observation.session,
        kind: observation.kind.name(),
        ts: observation.at_ms,
        title: observation.title,
        body: observation.body,
        files: observation.files,
        codes: observation.codes,
        shapes: observation.shapes,
        outcome: observation.outcome.map(FixOutcome::name),
        project_key: observation.project.key,
        importance: observation.importance,
        provenance: observation.provenance.name(),
        repeats: observation.repeats,
    }
}
