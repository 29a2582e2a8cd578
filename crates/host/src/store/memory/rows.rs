//! Rows as values.

use moai_memory::database::MatchedRow;
use moai_memory::observation::{
    FixOutcome, MemoryProject, Provenance, StoredObservation, StoredSession, Visibility,
};
use moai_memory::ranking::ObservationKind;
use rusqlite::{Connection, Row, params_from_iter};

use super::conditions::Conditions;
use crate::store::StoreError;

/// Prefix of the id of an observation that has none of its own: `obs-17`.
pub(super) const ID_MARK: &str = "obs-";

const OBSERVATION_SQL: &str =
    "SELECT o.id, o.external_id, p.key, p.name, s.host_id, o.kind, o.at_ms,
        t.title, t.body, t.files, t.codes, t.shapes, o.provenance, o.importance, o.repeats,
        o.superseded_by IS NOT NULL, o.outcome, o.visibility, o.tokens, o.simhash
    FROM observations AS o
    JOIN texts AS t ON t.id = o.id
    JOIN projects AS p ON p.id = o.project
    LEFT JOIN sessions AS s ON s.id = o.session
    WHERE o.id = ?1";

/// Parses the kind of an observation. A newer program may write unknown ones.
fn kind_named(name: &str) -> ObservationKind {
    ObservationKind::from_name(name).unwrap_or(ObservationKind::Note)
}

/// Observations by row, in the order of the rows; unknown ones are left out.
pub(super) fn load(
    connection: &Connection,
    rows: &[i64],
) -> Result<Vec<StoredObservation>, StoreError> {
    let mut select = connection.prepare_cached(OBSERVATION_SQL)?;
    let mut observations = Vec::with_capacity(rows.len());
    for row in rows {
        for observation in select.query_map([row], observation)? {
            observations.push(observation?);
        }
    }
    Ok(observations)
}

fn observation(row: &Row<'_>) -> rusqlite::Result<StoredObservation> {
    let number: i64 = row.get(0)?;
    let external_id: Option<String> = row.get(1)?;
    let outcome: Option<String> = row.get(16)?;
    Ok(StoredObservation {
        row: number,
        id: external_id.unwrap_or_else(|| format!("{ID_MARK}{number}")),
        project: MemoryProject { key: row.get(2)?, name: row.get(3)? },
        session: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        kind: kind_named(row.get_ref(5)?.as_str()?),
        at_ms: row.get(6)?,
        title: row.get(7)?,
        body: row.get(8)?,
        files: list(row, 9)?,
        codes: list(row, 10)?,
        shapes: list(row, 11)?,
        provenance: Provenance::from_name(row.get_ref(12)?.as_str()?).unwrap_or(Provenance::Tool),
        importance: row.get(13)?,
        repeats: row.get(14)?,
        is_superseded: row.get(15)?,
        outcome: outcome.as_deref().and_then(FixOutcome::from_name),
        visibility: Visibility::from_name(row.get_ref(17)?.as_str()?).unwrap_or_default(),
        tokens: row.get(18)?,
        simhash: row.get::<_, Option<i64>>(19)?.map(i64::cast_unsigned),
    })
}

/// A list that is stored as JSON, or as NULL if it is empty.
pub(super) fn list_text(items: &[String]) -> Option<String> {
    let text = || serde_json::Value::from(items.to_vec()).to_string();
    (!items.is_empty()).then(text)
}

fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// The columns of [`matched_row`].
pub(super) const MATCHED_COLUMNS: &str = "o.id, o.kind, o.at_ms, o.importance, o.tokens";

pub(super) fn matched_row(row: &Row<'_>) -> rusqlite::Result<MatchedRow> {
    Ok(MatchedRow {
        row: row.get(0)?,
        kind: kind_named(row.get_ref(1)?.as_str()?),
        at_ms: row.get(2)?,
        importance: row.get(3)?,
        tokens: row.get(4)?,
    })
}

pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<StoredSession> {
    Ok(StoredSession {
        id: row.get(0)?,
        project: MemoryProject { key: row.get(1)?, name: row.get(2)? },
        started_ms: row.get(3)?,
        last_ms: row.get(4)?,
        has_ended: row.get(5)?,
        goal: row.get(6)?,
        worktree: row.get(7)?,
    })
}

/// The numbers of the rows that fulfil conditions, in this order of SQL.
pub(super) fn row_numbers(
    connection: &Connection,
    conditions: Conditions,
    order: &str,
) -> Result<Vec<i64>, StoreError> {
    let sql = format!("SELECT o.id FROM observations AS o WHERE {} {order}", conditions.sql);
    let mut select = connection.prepare_cached(&sql)?;
    let rows = select.query_map(params_from_iter(conditions.values), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
