//! The hash chain over the saved changes of a loop: each link covers the one before it and the stored
//! row. A row or a record that was changed by another program breaks it. A program that recomputes
//! the whole chain is not noticed, unless the last link is known elsewhere.

use rusqlite::{OptionalExtension as _, Transaction, params};

use crate::store::{ProjectKey, Store, StoreError};
use moai_base::hash::ContentHash;
use moai_loops::records::{LoopRecords, RecordBreach};

struct LoopRecord {
    number: u64,
    /// Hash of the row after the change.
    row: Vec<u8>,
    /// True if the row before the change was not that of the record before.
    is_after_breach: bool,
    /// Hash of the link before and of these values.
    link: Vec<u8>,
}

impl LoopRecord {
    fn link_after(before: &[u8], row: &[u8], is_after_breach: bool) -> ContentHash {
        let parts = [before, row, &[u8::from(is_after_breach)]];
        ContentHash::of_bytes(&parts.concat())
    }
}

impl Store {
    /// Checks the records of a loop; `None` for an unknown loop, or one without records.
    pub async fn check_loop_records(
        &self,
        project: &ProjectKey,
        id: String,
    ) -> Result<Option<LoopRecords>, StoreError> {
        self.read(project, move |transaction| check_records(transaction, &id)).await
    }
}

/// Adds the record of a row that was just written. `before` is the hash of the row that it replaced;
/// `None` for a new loop.
pub(super) fn add_record(
    at: &Transaction<'_>,
    id: &str,
    before: Option<ContentHash>,
) -> Result<(), StoreError> {
    let Some(row) = row_hash(at, id)? else { return Ok(()) };
    let last = at
        .prepare_cached(
            "SELECT number, row, is_after_breach, link FROM loop_records WHERE loop_id = ?1
             ORDER BY number DESC LIMIT 1",
        )?
        .query_row(params![id], read_record)
        .optional()?;
    let expected = last.as_ref().map(|record| record.row.as_slice());
    let is_after_breach = expected != before.as_ref().map(|hash| hash.as_bytes().as_slice());
    let (number, link) = last.map_or((0, Vec::new()), |record| (record.number, record.link));
    let link = LoopRecord::link_after(&link, row.as_bytes(), is_after_breach);
    at.execute(
        "INSERT INTO loop_records (loop_id, number, row, is_after_breach, link)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            id,
            i64::try_from(number + 1).unwrap_or(i64::MAX),
            row.as_bytes(),
            is_after_breach,
            link.as_bytes()
        ],
    )?;
    Ok(())
}

/// The hash of a loop's stored row; `None` if it has no row.
pub(super) fn row_hash(at: &Transaction<'_>, id: &str) -> Result<Option<ContentHash>, StoreError> {
    let sql = "SELECT json_array(root, session_id, status, state, created_ms, updated_ms)
               FROM loops WHERE id = ?1";
    let row: Option<String> = at.query_row(sql, params![id], |row| row.get(0)).optional()?;
    Ok(row.map(|row| ContentHash::of_bytes(row.as_bytes())))
}

fn check_records(at: &Transaction<'_>, id: &str) -> Result<Option<LoopRecords>, StoreError> {
    let mut statement = at.prepare_cached(
        "SELECT number, row, is_after_breach, link FROM loop_records WHERE loop_id = ?1
         ORDER BY number",
    )?;
    let records: Vec<LoopRecord> =
        statement.query_map(params![id], read_record)?.collect::<Result<_, _>>()?;
    let Some(last) = records.last() else { return Ok(None) };
    let now = row_hash(at, id)?;
    let mut breach = None;
    let mut link: &[u8] = &[];
    for (record, expected) in records.iter().zip(1..) {
        let computed = LoopRecord::link_after(link, &record.row, record.is_after_breach);
        if record.number != expected || record.link != computed.as_bytes() {
            breach = Some(RecordBreach::BrokenChain(expected));
            break;
        }
        if record.is_after_breach && breach.is_none() {
            breach = Some(RecordBreach::ChangedBefore(record.number));
        }
        link = &record.link;
    }
    if breach.is_none() && now.is_none_or(|now| now.as_bytes().as_slice() != last.row) {
        breach = Some(RecordBreach::ChangedSince(last.number));
    }
    let link = <[u8; 32]>::try_from(last.link.as_slice()).unwrap_or_default();
    let head = ContentHash::from_bytes(link).short_hex();
    Ok(Some(LoopRecords { count: last.number, head, breach }))
}

fn read_record(row: &rusqlite::Row<'_>) -> rusqlite::Result<LoopRecord> {
    let number: i64 = row.get(0)?;
    Ok(LoopRecord {
        number: u64::try_from(number).unwrap_or_default(),
        row: row.get(1)?,
        is_after_breach: row.get(2)?,
        link: row.get(3)?,
    })
}
