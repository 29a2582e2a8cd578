//! Opens a database in a place where nothing can be written, to read it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use super::open::{StoreDatabase, with_suffix};
use super::schema::StoreSchema;
use moai_base::limits::STORE_BUSY_MS_MAX;

/// The database of a schema. Nothing of it is changed: it is neither checked for damage nor migrated.
///
/// # Errors
///
/// It cannot be read, or only after a migration.
pub(super) fn open(path: &Path, schema: &StoreSchema) -> Result<StoreDatabase, StoreError> {
    let connection = connect(path)?;
    connection.busy_timeout(Duration::from_millis(STORE_BUSY_MS_MAX))?;
    let named = path.display();
    if schema.is_outdated(&connection)? {
        let reason = format!("{named} has an older schema, and nothing can be written there");
        return Err(StoreError::Unavailable(reason));
    }
    let reason = StoreError::Unavailable(format!("{named}: nothing can be written there"));
    StoreDatabase::for_reading(connection, path, reason)
}

/// A connection to a database that cannot be changed.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    let has_log = fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let Err(error) = read else { return Ok(connection) };
    if has_log {
        return Err(error.into());
    }
    // SQLite tries to create a log, which a read-only folder does not allow. Without a log the file is
    // complete, and no process of this user can change it.
    let flags = flags | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(immutable_uri(path), flags)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// The path as a URI that declares the file immutable.
fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => {
                let _ = write!(uri, "%{other:02x}");
            }
        }
    }
    uri + "?immutable=1"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open::{TransactionMode, open_database};
    use crate::store::schema::PROJECT_SCHEMA;

    #[test]
    fn a_database_without_a_log_is_read_and_refuses_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let named = folder.path().join("a 100% ?#폴더");
        let (written, _) = open_database(&named, &PROJECT_SCHEMA, false).expect("a new database");
        drop(written);
        let path = named.join(PROJECT_SCHEMA.file_name);
        assert!(!with_suffix(&path, "-wal").exists());
        let uri = immutable_uri(&path);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let opened = Connection::open_with_flags(uri, flags).expect("it is a valid URI");
        let count = opened.query_row("SELECT count(*) FROM loops", [], |row| row.get::<_, i64>(0));
        assert_eq!(count, Ok(0));
        let mut database = open(&path, &PROJECT_SCHEMA).expect("readable");
        let read = database.transact(TransactionMode::Read, |at| {
            Ok(at.query_row("SELECT count(*) FROM loops", [], |row| row.get::<_, i64>(0))?)
        });
        assert_eq!(read, Ok(0));
        let write = database.transact(TransactionMode::Write, |_| Ok(()));
        assert!(write.is_err_and(|error| error.to_string().contains("nothing can be written")));
    }
}
