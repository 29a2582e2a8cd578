//! `memory status`.

use std::sync::Arc;

use super::replies::{MemoryReply, reply};
use super::scope::filter;
use crate::engine::Engine;
use moai_memory::database::MemoryCounts;
use moai_protocol::control::{CallerContext, MemoryScope};
use moai_protocol::documents::json_text;
use moai_protocol::documents::memory::{KindCountEntry, MemoryStatusDocument};
use moai_report::memory::status_text;

pub(super) async fn status(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    scope: MemoryScope,
    json: bool,
) -> MemoryReply {
    let filter = filter(engine, caller, &scope).await?;
    let counts = if engine.memory.exists() {
        engine.memory.for_command().read(move |database| database.counts(&filter)).await?
    } else {
        MemoryCounts::default()
    };
    let kinds = counts.by_kind.iter().map(|(kind, observations)| KindCountEntry {
        kind: kind.name(),
        observations: *observations,
    });
    let document = MemoryStatusDocument {
        file: engine.memory.place(),
        bytes: counts.bytes,
        observations: counts.by_kind.iter().map(|(_, observations)| observations).sum(),
        by_type: kinds.collect(),
        sessions: counts.sessions,
        projects: counts.projects,
        injections: counts.injections,
        injections_used: counts.injections_used,
        injected_tokens: counts.injected_tokens,
        searches: counts.searches,
        searches_with_hits: counts.searches_with_hits,
        project_bytes: counts.largest_project_bytes,
        project_bytes_max: engine.memory_text_bytes,
        folded: counts.folded,
        dropped: counts.dropped,
    };
    let text = status_text(&document);
    Ok(reply(json_text(&document), text, json))
}
