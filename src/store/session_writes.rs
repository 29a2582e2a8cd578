//! The table of files that the session of a loop wrote. It must not know what that means for a
//! finding.

use rusqlite::params;

use super::{ProjectKey, Store, StoreError};
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::looping::exam::SessionWrites;

impl Store {
    /// Remembers how the session of a loop left these files. Does nothing for an unknown loop.
    pub async fn note_session_writes(
        &self,
        project: &ProjectKey,
        loop_id: &str,
        writes: SessionWrites,
    ) -> Result<(), StoreError> {
        let id = loop_id.to_owned();
        self.write(project, move |transaction| {
            let mut statement = transaction.prepare_cached(
                "INSERT OR REPLACE INTO session_writes SELECT id, ?2, ?3 FROM loops WHERE id = ?1",
            )?;
            for (path, hash) in &writes {
                let hash = hash.map(|hash| hash.as_bytes().to_vec());
                statement.execute(params![id, path.as_str(), hash])?;
            }
            Ok(())
        })
        .await
    }

    /// How the session of a loop left the files that it wrote.
    pub async fn session_writes(
        &self,
        project: &ProjectKey,
        loop_id: &str,
    ) -> Result<SessionWrites, StoreError> {
        let id = loop_id.to_owned();
        self.read(project, move |transaction| {
            let sql = "SELECT path, hash FROM session_writes WHERE loop_id = ?1";
            let mut statement = transaction.prepare_cached(sql)?;
            let mut rows = statement.query(params![id])?;
            let mut writes = SessionWrites::new();
            while let Some(row) = rows.next()? {
                let (path, hash): (String, Option<[u8; 32]>) = (row.get(0)?, row.get(1)?);
                let broken = || StoreError::Corrupt(format!("not a path: {path}"));
                let path = RelPath::parse(&path).ok_or_else(broken)?;
                writes.insert(path, hash.map(ContentHash::from_bytes));
            }
            Ok(writes)
        })
        .await
    }
}
