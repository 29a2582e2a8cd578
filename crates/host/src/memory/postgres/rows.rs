//! Rows as values, and values as the JSON that the functions of the schema take.

use std::collections::HashMap;

use moai_base::hash::ContentHash;
use moai_memory::clean::CleanText;
use moai_memory::database::{Injection, MatchedRow};
use moai_memory::observation::{
    FixOutcome, MemoryProject, NewObservation, Provenance, StoredObservation, StoredSession,
    Visibility,
};
use moai_memory::ranking::ObservationKind;
use moai_memory::tokens::TOKENIZER_VERSION;
use serde_json::{Value, json};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::filter::storable;
use super::text_search::vector_text;
use crate::store::StoreError;
use moai_base::limits::MEMORY_HASH_BYTES;

/// Prefix of the id of an observation that has none of its own: `obs-17`.
pub(super) const ID_MARK: &str = "obs-";

/// The columns of [`stored_observation`], of `observations AS o` and `projects AS p`.
pub(super) const OBSERVATION_COLUMNS: &str =
    "o.id, o.external_id, p.key, p.name, o.session, o.kind,
    o.at_ms, o.title, o.body, o.files, o.codes, o.shapes, o.provenance, o.importance, o.repeats,
    o.superseded_by IS NOT NULL, o.outcome, o.visibility, o.tokens, o.simhash";

pub(super) fn value<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| StoreError::Corrupt(error.to_string()))
}

/// The only number of a statement.
pub(super) fn number(rows: &[Row]) -> Result<u64, StoreError> {
    let row = rows.first().ok_or_else(|| StoreError::Corrupt("no answer".to_owned()))?;
    count(row, 0)
}

/// A number that is never negative.
pub(super) fn count(row: &Row, column: usize) -> Result<u64, StoreError> {
    Ok(u64::try_from(value::<i64>(row, column)?).unwrap_or(0))
}

/// Parses the kind of an observation. A newer program may write unknown ones.
fn kind(row: &Row, column: usize) -> Result<ObservationKind, StoreError> {
    Ok(ObservationKind::from_name(value(row, column)?).unwrap_or(ObservationKind::Note))
}

pub(super) fn row_numbers(rows: &[Row]) -> Result<Vec<i64>, StoreError> {
    rows.iter().map(|row| value(row, 0)).collect()
}

pub(super) fn optional_row_numbers(rows: &[Row]) -> Result<Vec<Option<i64>>, StoreError> {
    rows.iter().map(|row| value(row, 0)).collect()
}

pub(super) fn inserted_row(row: &Row) -> Result<(i64, bool), StoreError> {
    Ok((value(row, 0)?, value(row, 1)?))
}

/// The place of a question and a row that fulfils it.
pub(super) fn matching_row(row: &Row) -> Result<(usize, i64), StoreError> {
    Ok((usize::try_from(value::<i32>(row, 0)?).unwrap_or(usize::MAX), value(row, 1)?))
}

pub(super) fn matched_row(row: &Row) -> Result<MatchedRow, StoreError> {
    Ok(MatchedRow {
        row: value(row, 0)?,
        kind: kind(row, 1)?,
        at_ms: value(row, 2)?,
        importance: value(row, 3)?,
        tokens: usize::try_from(count(row, 4)?).unwrap_or(usize::MAX),
    })
}

pub(super) fn stored_observation(row: &Row) -> Result<StoredObservation, StoreError> {
    let number: i64 = value(row, 0)?;
    let external_id: Option<String> = value(row, 1)?;
    let outcome: Option<&str> = value(row, 16)?;
    Ok(StoredObservation {
        row: number,
        id: external_id.unwrap_or_else(|| format!("{ID_MARK}{number}")),
        project: project(row, 2)?,
        session: value(row, 4)?,
        kind: kind(row, 5)?,
        at_ms: value(row, 6)?,
        title: value(row, 7)?,
        body: value(row, 8)?,
        files: value(row, 9)?,
        codes: value(row, 10)?,
        shapes: value(row, 11)?,
        provenance: Provenance::from_name(value(row, 12)?).unwrap_or(Provenance::Tool),
        importance: value(row, 13)?,
        repeats: u32::try_from(count(row, 14)?).unwrap_or(u32::MAX),
        is_superseded: value(row, 15)?,
        outcome: outcome.and_then(FixOutcome::from_name),
        visibility: Visibility::from_name(value(row, 17)?).unwrap_or_default(),
        tokens: usize::try_from(count(row, 18)?).unwrap_or(usize::MAX),
        simhash: value::<Option<i64>>(row, 19)?.map(i64::cast_unsigned),
    })
}

/// Observations in the order of these numbers.
pub(super) fn in_order(
    rows: &[Row],
    numbers: &[i64],
) -> Result<Vec<StoredObservation>, StoreError> {
    let mut found: HashMap<i64, StoredObservation> = HashMap::new();
    for row in rows {
        let observation = stored_observation(row)?;
        found.insert(observation.row, observation);
    }
    Ok(numbers.iter().filter_map(|number| found.get(number).cloned()).collect())
}

pub(super) fn project(row: &Row, column: usize) -> Result<MemoryProject, StoreError> {
    Ok(MemoryProject { key: value(row, column)?, name: value(row, column + 1)? })
}

pub(super) fn session(row: &Row) -> Result<StoredSession, StoreError> {
    Ok(StoredSession {
        id: value(row, 0)?,
        project: project(row, 1)?,
        started_ms: value(row, 3)?,
        last_ms: value(row, 4)?,
        has_ended: value(row, 5)?,
        goal: value(row, 6)?,
        worktree: value(row, 7)?,
    })
}

pub(super) fn kind_count(row: &Row) -> Result<(ObservationKind, u64), StoreError> {
    Ok((kind(row, 0)?, count(row, 1)?))
}

pub(super) fn injection(row: &Row) -> Result<(i64, i64), StoreError> {
    Ok((value(row, 0)?, value(row, 1)?))
}

pub(super) fn observation_json(observation: &NewObservation) -> Value {
    let facts = observation.facts();
    let texts = |texts: &[CleanText]| -> Vec<String> {
        texts.iter().map(|text| storable(text.as_str())).collect()
    };
    let importance = if observation.importance.is_nan() { 0.0 } else { observation.importance };
    let hex = |hash: &ContentHash| hash.to_string()[..2 * MEMORY_HASH_BYTES].to_owned();
    json!({
        "project": storable(&observation.project.key),
        "project_name": storable(&observation.project.name),
        "session": storable(&observation.session),
        "kind": observation.kind.name(),
        "at_ms": observation.at_ms,
        "title": storable(observation.title.as_str()),
        "body": storable(observation.body.as_ref().map_or("", CleanText::as_str)),
        "files": texts(&observation.files),
        "codes": texts(&observation.codes),
        "shapes": observation.shapes.iter().map(|shape| storable(shape)).collect::<Vec<_>>(),
        "provenance": observation.provenance.name(),
        "importance": importance.clamp(0.0, 1.0),
        "outcome": observation.outcome.map(FixOutcome::name),
        "visibility": observation.visibility.name(),
        "external_id": observation.external_id.as_deref().map(storable),
        "repeats": observation.repeats,
        "hash": hex(&facts.hash),
        "text_hash": hex(&facts.own_hash),
        "tokens": facts.tokens,
        "simhash": facts.simhash.map(u64::cast_signed),
        "tokenizer": TOKENIZER_VERSION,
        "index": vector_text(&facts.index),
    })
}

pub(super) fn injection_json(injection: &Injection) -> Value {
    json!({
        "session": storable(&injection.session),
        "row": injection.row,
        "at_ms": injection.at_ms,
        "event": injection.event.name(),
        "tokens": injection.tokens,
    })
}
