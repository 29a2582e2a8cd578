//! The table of files written by a loop's session.

use rusqlite::{Transaction, params};

use super::{ProjectKey, Store, StoreError};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_loops::exam::SessionWrites;

impl Store {
    /// Records the state in which a loop's session left these files. Does nothing for an unknown
    /// loop.
    pub async fn note_session_writes(
        &self,
        project: &ProjectKey,
        loop_id: &str,
        writes: SessionWrites,
    ) -> Result<(), StoreError> {
        let id = loop_id.to_owned();
        let sql = "INSERT OR REPLACE INTO session_writes
                   SELECT id, ?2, ?3 FROM loops WHERE id = ?1";
        self.write(project, move |transaction| insert_writes(transaction, sql, &id, &writes)).await
    }

    /// The state in which a loop's session left the files that it wrote.
    pub async fn session_writes(
        &self,
        project: &ProjectKey,
        loop_id: &str,
    ) -> Result<SessionWrites, StoreError> {
        let id = loop_id.to_owned();
        let sql = "SELECT path, hash FROM session_writes WHERE loop_id = ?1";
        self.read(project, move |transaction| select_writes(transaction, sql, &id)).await
    }
}

/// Runs a statement with loop, path and hash for each write.
pub(super) fn insert_writes(
    transaction: &Transaction<'_>,
    sql: &str,
    loop_id: &str,
    writes: &SessionWrites,
) -> Result<(), StoreError> {
    let mut statement = transaction.prepare_cached(sql)?;
    for (path, hash) in writes {
        let hash = hash.map(|hash| hash.as_bytes().to_vec());
        statement.execute(params![loop_id, path.as_str(), hash])?;
    }
    Ok(())
}

/// The writes returned by a query for paths and hashes of a loop.
pub(super) fn select_writes(
    transaction: &Transaction<'_>,
    sql: &str,
    loop_id: &str,
) -> Result<SessionWrites, StoreError> {
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query(params![loop_id])?;
    let mut writes = SessionWrites::new();
    while let Some(row) = rows.next()? {
        let (path, hash): (String, Option<[u8; 32]>) = (row.get(0)?, row.get(1)?);
        let path = RelPath::parse(&path)
            .ok_or_else(|| StoreError::Corrupt(format!("not a path: {path}")))?;
        writes.insert(path, hash.map(ContentHash::from_bytes));
    }
    Ok(writes)
}
