//! Observations as entries of documents.

use moai_base::limits::MEMORY_SHOWN_TOKENS_MAX;
use moai_memory::budget::within_tokens;
use moai_memory::names::first_path;
use moai_memory::observation::{FixOutcome, StoredObservation};
use moai_memory::search::MemoryHit;
use moai_protocol::documents::memory::{
    MemoryHitEntry, MemoryRowEntry, ObservationEntry, ScoreEntry,
};
use moai_protocol::observation_lines::moment_text;
use moai_report::memory::title_line;

/// The first file of an observation, or else the first one in its text.
fn top_path(observation: &StoredObservation) -> Option<String> {
    observation.files.first().cloned().or_else(|| first_path(&observation.text()))
}

pub(super) fn hit_entry(hit: &MemoryHit, explain: bool) -> MemoryHitEntry {
    let (observation, parts) = (&hit.observation, &hit.ranked.parts);
    MemoryHitEntry {
        id: observation.id.clone(),
        score: rounded(hit.ranked.score),
        at: moment_text(observation.at_ms),
        at_ms: observation.at_ms,
        kind: observation.kind.name(),
        title: title_line(&observation.title),
        path: top_path(observation),
        project: observation.project.name.clone(),
        tokens: observation.tokens,
        timeline: None,
        observation: None,
        explanation: explain.then(|| ScoreEntry {
            stage: hit.ranked.stage.name(),
            exactness: rounded(parts.exactness),
            recency: rounded(parts.recency),
            proximity: rounded(parts.proximity),
            importance: rounded(parts.importance),
        }),
    }
}

/// Three decimals.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

pub(super) fn row_entry(observation: &StoredObservation, place: &'static str) -> MemoryRowEntry {
    MemoryRowEntry {
        id: observation.id.clone(),
        at: moment_text(observation.at_ms),
        at_ms: observation.at_ms,
        kind: observation.kind.name(),
        title: title_line(&observation.title),
        path: top_path(observation),
        tokens: observation.tokens,
        place,
    }
}

/// All of an observation, its body within the tokens of one.
pub(super) fn observation_entry(observation: &StoredObservation) -> ObservationEntry {
    let body = within_tokens(&observation.body, MEMORY_SHOWN_TOKENS_MAX);
    ObservationEntry {
        id: observation.id.clone(),
        project: observation.project.name.clone(),
        session: observation.session.clone(),
        kind: observation.kind.name(),
        at: moment_text(observation.at_ms),
        title: observation.title.clone(),
        body: body.to_owned(),
        files: observation.files.clone(),
        codes: observation.codes.clone(),
        provenance: observation.provenance.name(),
        outcome: observation.outcome.map(FixOutcome::name),
        repeats: observation.repeats,
        superseded: observation.is_superseded,
        cut: body.len() < observation.body.len(),
    }
}
