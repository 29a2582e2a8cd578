//! The health of the databases for `doctor`: each is opened to be read, checked for damage and counted.
//! Nothing is moved aside, migrated or created.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema::version;
use super::{ProjectKey, StoreError, StoreKey, backups, open};
use moai_base::limits::STORE_BUSY_MS_MAX;
use moai_base::store_condition::StoreCondition;

/// The health of one database.
#[derive(Clone, Debug)]
pub struct StoreHealth {
    pub path: PathBuf,
    pub condition: StoreCondition,
    /// Bytes of the file and its log.
    pub bytes: u64,
    /// Rows of its main table; `None` if they cannot be counted.
    pub rows: Option<u64>,
    /// Its schema; `None` if it cannot be read.
    pub schema: Option<usize>,
    /// The newest schema that this program knows.
    pub schema_known: usize,
    /// When its newest backup was made, in milliseconds since 1970.
    pub backup_ms: Option<u64>,
    /// Databases that were damaged and moved aside.
    pub damaged_copies: Vec<PathBuf>,
}

/// The health of the memory of a state folder.
#[must_use]
pub fn memory_health(home: &Path) -> StoreHealth {
    health(home, &StoreKey::Memory, "observations")
}

/// The health of the loops of a project.
#[must_use]
pub fn project_health(home: &Path, project: &ProjectKey) -> StoreHealth {
    health(home, &StoreKey::Project(project.clone()), "loops")
}

fn health(home: &Path, key: &StoreKey, table: &str) -> StoreHealth {
    let (path, schema) = (key.database(home), key.schema());
    let backup_ms = backups::newest_made_at(&path).map(|made_at| {
        let since = made_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    });
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let mut health = StoreHealth {
        condition: StoreCondition::Absent,
        bytes: size(&path) + size(&open::with_suffix(&path, "-wal")),
        rows: None,
        schema: None,
        schema_known: schema.migrations.len(),
        backup_ms,
        damaged_copies: open::moved_aside(&path),
        path,
    };
    health.condition = if health.path.exists() {
        health.examine(table)
    } else if backup_ms.is_some() {
        StoreCondition::Missing
    } else {
        StoreCondition::Absent
    };
    health
}

impl StoreHealth {
    fn examine(&mut self, table: &str) -> StoreCondition {
        match self.read(table) {
            Ok(()) if self.schema > Some(self.schema_known) => StoreCondition::Newer,
            Ok(()) => {
                let folder = self.path.parent().unwrap_or(&self.path);
                let is_read_only = open::is_read_only(folder, &self.path);
                if is_read_only { StoreCondition::ReadOnly } else { StoreCondition::Sound }
            }
            Err(StoreError::Corrupt(reason)) => StoreCondition::Damaged(reason),
            Err(StoreError::Unavailable(reason)) => StoreCondition::Unreadable(reason),
            Err(error) => StoreCondition::Unreadable(error.to_string()),
        }
    }

    fn read(&mut self, table: &str) -> Result<(), StoreError> {
        let connection = connect(&self.path)?;
        connection.busy_timeout(Duration::from_millis(STORE_BUSY_MS_MAX))?;
        self.schema = Some(version(&connection)?);
        backups::refuse_damage(&connection)?;
        // A table of a newer schema may have another name.
        let sql = format!("SELECT count(*) FROM {table}");
        self.rows = connection.query_row(&sql, [], |row| row.get(0)).ok();
        Ok(())
    }
}

/// A connection that only reads, also where nothing can be written.
fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    match connection.query_row("PRAGMA user_version", [], |_| Ok(())) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            super::read_only::connect(path)
        }
        read => read.map(|()| connection).map_err(StoreError::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema::PROJECT_SCHEMA;

    fn project_database(home: &Path) -> (ProjectKey, PathBuf) {
        let project = ProjectKey::from_folder(Path::new("/p/a"));
        let database = project.database(home);
        let folder = project.folder(home);
        open::open_database(&folder, &PROJECT_SCHEMA, false).map(drop).expect("a new database");
        (project, database)
    }

    #[test]
    fn a_sound_a_newer_and_a_damaged_database_are_told_apart_and_left_alone() {
        let home = tempfile::tempdir().expect("a folder");
        assert_eq!(memory_health(home.path()).condition, StoreCondition::Absent);
        let (project, database) = project_database(home.path());
        let sound = project_health(home.path(), &project);
        assert_eq!((sound.condition, sound.rows), (StoreCondition::Sound, Some(0)));
        assert_eq!(sound.schema, Some(sound.schema_known));
        assert!(sound.bytes > 0 && sound.backup_ms.is_none());
        crate::store::set_schema_version(&database, 99);
        let newer = project_health(home.path(), &project);
        assert_eq!((newer.condition, newer.schema), (StoreCondition::Newer, Some(99)));
        backups::back_up_day(&database, 0).expect("a backup");
        let junk = "no database ".repeat(900);
        fs::write(&database, &junk).expect("ours");
        let damaged = project_health(home.path(), &project);
        assert!(matches!(damaged.condition, StoreCondition::Damaged(_)), "{damaged:?}");
        assert!(damaged.backup_ms.is_some());
        assert_eq!(fs::read_to_string(&database).expect("readable"), junk);
        fs::remove_file(&database).expect("ours");
        let missing = project_health(home.path(), &project);
        assert_eq!(missing.condition, StoreCondition::Missing);
    }
}
