//! The schema of the memory of a team: forward-only migrations, one at a time for all who connect.

use super::connection::PostgresConnection;
use crate::store::StoreError;

/// Schema n is the result of the first n migrations; a released one never changes.
const MIGRATIONS: [&str; 3] = [
    concat!(include_str!("schema_1.sql"), include_str!("schema_1_retention.sql")),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
];
/// The key of the lock that only one migration holds at a time.
const LOCK_KEY: i64 = 0x6d6f_6169_7261_6c70;

/// Age of the schema that the program found, which decides whether it may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaAge {
    Known,
    /// A newer program made it; it is only read.
    Newer(usize),
}

/// The newest schema known to this program.
pub(super) const NEWEST_SCHEMA: usize = MIGRATIONS.len();

/// Migrates the database to the newest schema, completely or not at all.
pub(super) fn migrate(connection: &mut PostgresConnection) -> Result<SchemaAge, StoreError> {
    if let Some(age) = age(version(connection)?) {
        return Ok(age);
    }
    connection.run_batch("BEGIN")?;
    let migrated = migrate_locked(connection);
    let end = if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.run_batch(end);
    let age = migrated?;
    ended?;
    Ok(age)
}

fn age(version: usize) -> Option<SchemaAge> {
    match version.cmp(&NEWEST_SCHEMA) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some(SchemaAge::Known),
        std::cmp::Ordering::Greater => Some(SchemaAge::Newer(version)),
    }
}

fn migrate_locked(connection: &mut PostgresConnection) -> Result<SchemaAge, StoreError> {
    connection.run_batch(&format!(
        "SELECT pg_advisory_xact_lock({LOCK_KEY});
         CREATE SCHEMA IF NOT EXISTS moai_ralph;
         CREATE TABLE IF NOT EXISTS moai_ralph.schema_version (version integer NOT NULL)"
    ))?;
    // Asked again, because another process may have migrated it meanwhile.
    let found = version(connection)?;
    if let Some(age) = age(found) {
        return Ok(age);
    }
    for migration in &MIGRATIONS[found..] {
        connection.run_batch(migration)?;
    }
    connection.run_batch(&format!(
        "DELETE FROM moai_ralph.schema_version;
         INSERT INTO moai_ralph.schema_version VALUES ({NEWEST_SCHEMA})"
    ))?;
    Ok(SchemaAge::Known)
}

/// The version of the database's schema; 0 if it has none.
fn version(connection: &mut PostgresConnection) -> Result<usize, StoreError> {
    let exists =
        connection.query("SELECT to_regclass('moai_ralph.schema_version') IS NOT NULL", &[])?;
    if !exists.iter().any(|row| row.get::<_, bool>(0)) {
        return Ok(0);
    }
    let rows = connection.query("SELECT max(version) FROM moai_ralph.schema_version", &[])?;
    let version: Option<i32> = rows.first().and_then(|row| row.get(0));
    Ok(usize::try_from(version.unwrap_or(0)).unwrap_or(0))
}
