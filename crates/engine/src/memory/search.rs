//! `memory search`, `timeline` and `get`.

use std::sync::Arc;
use std::time::Instant;

use super::entries::{hit_entry, observation_entry, rounded, row_entry};
use super::replies::{MemoryReply, reply};
use super::scope::filter;
use crate::engine::{Engine, memory_now_ms};
use crate::project::Project;
use crate::replies::REFUSED;
use moai_base::limits::{
    MEMORY_ROW_TOKENS_MAX, MEMORY_SHOWN_TOKENS_MAX, MEMORY_TIMELINES_MAX, TIMELINE_NEIGHBOURS_MAX,
};
use moai_host::store::StoreError;
use moai_memory::budget::estimated_tokens;
use moai_memory::database::{MemoryDatabase, ObservationFilter};
use moai_memory::search::{FoundMemory, MemoryQuestion, search as search_memory};
use moai_memory::timeline::{ObservationTimeline, timeline as timeline_of};
use moai_protocol::control::{CallerContext, CommandReply, MemoryScope};
use moai_protocol::documents::memory::{
    MemoryDocument, MemoryExplanation, MemoryHitEntry, MemoryRowEntry, ObservationsDocument,
    QueryStageEntry, QueryUnitEntry, TimelineDocument,
};
use moai_protocol::documents::{json_text, json_value};
use moai_report::memory::{
    EmptySearch, empty_text, hits_text, observations_text, search_text, timeline_text,
    unknown_observation,
};
use moai_report::tools::{memory_get_answer, memory_search_answer};

/// The arguments of `memory search`.
pub(super) struct AskedSearch {
    pub(super) query: String,
    pub(super) layer: u8,
    pub(super) scope: MemoryScope,
    pub(super) hits_max: usize,
    pub(super) explain: bool,
}

/// Result of a search, and hints if it found nothing.
#[derive(Default)]
struct LayeredSearch {
    found: FoundMemory,
    entries: Vec<MemoryHitEntry>,
    elapsed_ms: f64,
    /// Hits in other projects, if these have none.
    elsewhere: usize,
}

pub(super) async fn search(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    asked: AskedSearch,
    json: bool,
) -> MemoryReply {
    let filter = filter(engine, caller, &asked.scope).await?;
    let now_ms = memory_now_ms();
    let (layer, explain, all_projects) = (asked.layer, asked.explain, asked.scope.all_projects);
    let searched = if engine.memory.exists() {
        let glossary = Project::load_unserved(engine, caller).config.memory_glossary;
        let ask = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
            let question = MemoryQuestion::asked_for(&asked.query, filter, asked.hits_max, now_ms);
            layered_search(database, &asked, MemoryQuestion { glossary, ..question })
        };
        engine.memory.for_command().read(ask).await?
    } else {
        LayeredSearch::default()
    };
    record_search(engine, !searched.entries.is_empty());
    let text = hits_text(&searched.entries, now_ms);
    let empty = EmptySearch {
        searched: searched.found.searched,
        elsewhere: (!all_projects).then_some(searched.elsewhere),
        units: searched.found.query.units.len(),
        stages: searched.found.stages.iter().map(|(stage, _)| stage.name()).collect(),
    };
    let document = MemoryDocument {
        elapsed_ms: searched.elapsed_ms,
        token_estimate: estimated_tokens(&text),
        next_layer_tokens: next_layer_tokens(layer, &searched.entries, &text),
        why_empty: searched.entries.is_empty().then(|| empty_text(&empty)),
        explanation: explain.then(|| explanation(&searched.found)),
        hits: searched.entries,
    };
    let text = search_text(&document, now_ms);
    let structured = caller.is_tool().then(|| json_value(&memory_search_answer(&document)));
    let reply = reply(json_text(&document), text, json);
    Ok(CommandReply { document: structured.map(Box::new), ..reply })
}

fn layered_search(
    database: &mut dyn MemoryDatabase<Error = StoreError>,
    asked: &AskedSearch,
    question: MemoryQuestion<'_>,
) -> Result<LayeredSearch, StoreError> {
    let started = Instant::now();
    let is_everywhere = question.filter.projects.is_empty();
    let elsewhere = ObservationFilter { projects: Vec::new(), ..question.filter.clone() };
    let found = search_memory(database, &question)?;
    let mut entries = Vec::new();
    for (at, hit) in found.hits.iter().enumerate() {
        let mut entry = hit_entry(hit, asked.explain);
        if asked.layer == 2 && at < MEMORY_TIMELINES_MAX {
            let around = timeline_of(database, hit.observation.clone())?;
            entry.timeline = Some(timeline_rows(&around));
        }
        entry.observation = (asked.layer > 2).then(|| observation_entry(&hit.observation));
        entries.push(entry);
    }
    let elapsed_ms = rounded(started.elapsed().as_secs_f64() * 1e3);
    let mut others = 0;
    if entries.is_empty() && !is_everywhere {
        let question = MemoryQuestion { filter: elsewhere, ..question };
        others = search_memory(database, &question)?.hits.len();
    }
    Ok(LayeredSearch { found, entries, elapsed_ms, elsewhere: others })
}

fn timeline_rows(around: &ObservationTimeline) -> Vec<MemoryRowEntry> {
    let before = around.before.iter().map(|it| row_entry(it, "before"));
    let anchor = [row_entry(&around.anchor, "anchor")];
    let after = around.after.iter().map(|it| row_entry(it, "after"));
    let later = around.later.iter().map(|it| row_entry(it, "later"));
    before.chain(anchor).chain(after).chain(later).collect()
}

/// Cost in tokens of the next layer for the same hits: in layer 2 the rows around the first ones, in layer 3
/// all texts.
fn next_layer_tokens(layer: u8, entries: &[MemoryHitEntry], text: &str) -> Option<usize> {
    match layer {
        1 => {
            // As if every hit had neighbors, with rows as long as those of the hits.
            let own = estimated_tokens(text);
            let around = entries.len().min(MEMORY_TIMELINES_MAX) * 2 * TIMELINE_NEIGHBOURS_MAX;
            Some(own + own * around / entries.len().max(1))
        }
        2 => {
            let texts = entries.iter().map(|it| it.tokens.min(MEMORY_SHOWN_TOKENS_MAX));
            Some(texts.map(|tokens| tokens + MEMORY_ROW_TOKENS_MAX).sum())
        }
        _ => None,
    }
}

fn explanation(found: &FoundMemory) -> MemoryExplanation {
    let units = found.query.units.iter().zip(&found.unit_rows);
    MemoryExplanation {
        units: units
            .map(|(unit, rows)| QueryUnitEntry {
                text: unit.text.clone(),
                rows: rows.rows,
                weight: rounded(unit.weight),
            })
            .collect(),
        stages: found
            .stages
            .iter()
            .map(|(stage, rows)| QueryStageEntry { stage: stage.name(), rows: *rows })
            .collect(),
    }
}

/// Counts a search in the background, so that its answer is not delayed.
fn record_search(engine: &Arc<Engine>, has_hits: bool) {
    if !engine.memory.exists() {
        return;
    }
    let job = engine.job();
    let memory = engine.memory.for_command();
    tokio::spawn(async move {
        let _job = job;
        if let Err(error) = memory.write(move |database| database.record_search(has_hits)).await {
            tracing::warn!(%error, "a search of the memory is not counted");
        }
    });
}

pub(super) async fn timeline(engine: &Arc<Engine>, id: String, json: bool) -> MemoryReply {
    if !engine.memory.exists() {
        return Ok(unknown_id(&id));
    }
    let asked = id.clone();
    let find = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
        let rows: Vec<i64> = database.rows_of_ids(&[asked])?.into_iter().flatten().collect();
        match database.load(&rows)?.pop() {
            Some(anchor) => timeline_of(database, anchor).map(Some),
            None => Ok(None),
        }
    };
    let Some(around) = engine.memory.for_command().read(find).await? else {
        return Ok(unknown_id(&id));
    };
    let document = TimelineDocument { rows: timeline_rows(&around) };
    let text = timeline_text(&document, memory_now_ms());
    Ok(reply(json_text(&document), text, json))
}

fn unknown_id(id: &str) -> CommandReply {
    CommandReply::failure(REFUSED, &format!("moai-ralph: {}", unknown_observation(id)))
}

pub(super) async fn get(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    ids: Vec<String>,
    json: bool,
) -> MemoryReply {
    let mut document = ObservationsDocument { observations: Vec::new(), unknown: ids.clone() };
    if engine.memory.exists() {
        let find = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
            let rows = database.rows_of_ids(&ids)?;
            let known: Vec<i64> = rows.iter().copied().flatten().collect();
            let unknown = ids.into_iter().zip(&rows).filter(|(_, row)| row.is_none());
            let unknown: Vec<String> = unknown.map(|(id, _)| id).collect();
            Ok((database.load(&known)?, unknown))
        };
        let (found, unknown) = engine.memory.for_command().read(find).await?;
        document.observations = found.iter().map(observation_entry).collect();
        document.unknown = unknown;
    }
    let text = observations_text(&document);
    let code = if document.observations.is_empty() { REFUSED } else { 0 };
    let structured = caller.is_tool().then(|| json_value(&memory_get_answer(&document)));
    let reply = reply(json_text(&document), text, json);
    Ok(CommandReply { code, document: structured.map(Box::new), ..reply })
}
