//! `memory add`.

use std::sync::Arc;

use super::replies::{MemoryRefusal, MemoryReply, reply};
use super::scope::{caller_project, kind_named};
use crate::engine::{Engine, memory_now_ms};
use crate::person;
use moai_base::limits::MEMORY_NAMES_MAX;
use moai_memory::clean::{CleanRecord, CleanText};
use moai_memory::database::StoredAs;
use moai_memory::names::files_and_codes;
use moai_memory::observation::{NewObservation, Provenance, Visibility};
use moai_protocol::control::{CallerContext, MemoryAddition};
use moai_protocol::documents::json_text;
use moai_protocol::documents::memory::MemoryChangeDocument;
use moai_report::memory::change_text;

/// Importance of an observation that a person added.
const ADDED_IMPORTANCE: f64 = 0.9;

pub(super) async fn add(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    addition: MemoryAddition,
    json: bool,
) -> MemoryReply {
    let kind = kind_named(&addition.kind)?;
    let text = addition.text.trim();
    let (title, body) = text.split_once('\n').unwrap_or((text, ""));
    let Some(record) = CleanRecord::of(title, body) else {
        return Err(MemoryRefusal::Invalid("nothing is left that may be stored".to_owned()));
    };
    let (files, codes) = files_and_codes(&record.text());
    let CleanRecord { title, body } = record;
    let clean = |own: Vec<String>, found: Vec<String>| -> Vec<CleanText> {
        let names = own.iter().chain(found.iter().filter(|name| !own.contains(name)));
        names.filter_map(|name| CleanText::of(name)).take(MEMORY_NAMES_MAX).collect()
    };
    let provenance =
        if person::is_agent(engine, caller) { Provenance::Agent } else { Provenance::User };
    if addition.is_for_team && provenance == Provenance::Agent {
        let text = "--team is for a person: an agent started this shell";
        return Err(MemoryRefusal::Invalid(text.to_owned()));
    }
    if addition.is_for_team && !engine.memory.is_shared() {
        let text = "--team needs the memory of a team: memory.url names none";
        return Err(MemoryRefusal::Invalid(text.to_owned()));
    }
    let observation = NewObservation {
        external_id: None,
        project: caller_project(engine, caller),
        session: String::new(),
        kind,
        at_ms: memory_now_ms(),
        title,
        body,
        files: clean(addition.files, files),
        codes: clean(addition.codes, codes),
        shapes: Vec::new(),
        provenance,
        importance: ADDED_IMPORTANCE,
        outcome: None,
        visibility: if addition.is_for_team { Visibility::Team } else { Visibility::Private },
        repeats: 0,
    };
    let add = |database: &mut dyn moai_memory::database::MemoryDatabase<
        Error = moai_host::store::StoreError,
    >| {
        let stored = database.add(&[observation])?;
        let rows: Vec<i64> = stored.iter().map(|it| it.row()).collect();
        Ok((stored, database.load(&rows)?))
    };
    let (stored, loaded) = engine.memory.for_command().write(add).await?;
    let repeated = stored.iter().filter(|it| matches!(it, StoredAs::Repeated(_))).count();
    let document = MemoryChangeDocument {
        command: "add",
        status: "done",
        observations: 1,
        repeated: repeated as u64,
        ids: loaded.into_iter().map(|it| it.id).collect(),
        ..MemoryChangeDocument::default()
    };
    let text = change_text(&document);
    Ok(reply(json_text(&document), text, json))
}
