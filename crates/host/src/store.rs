//! Persistent state: one SQLite database per project and one for the memory, each owned by a thread.
//! The only module that uses `rusqlite`. Typed functions per table are in files below `store/`, built
//! on `Store::write` and `Store::read`, which are private to them.

mod backups;
pub mod exams;
pub mod foreign_memories;
pub mod health;
pub mod judgements;
pub mod loops;
pub mod markers;
mod memory;
mod open;
pub mod peek;
pub mod pipelines;
mod read_only;
mod schema;
mod session_writes;
mod threads;

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{ErrorCode, Transaction};

use moai_base::hash::ContentHash;
pub use open::StoreRecovery;
use open::TransactionMode;
use schema::{PROJECT_SCHEMA, StoreSchema};
use threads::{StoreThread, StoreThreads};

pub(crate) use memory::{ForgetChoice, SqliteMemory};

/// The parent of all projects' folders, below the state folder.
pub const PROJECTS_FOLDER: &str = "projects";
/// The folder of the memory, below the state folder.
pub const MEMORY_FOLDER: &str = "memory";

/// Identifies a project's database. Worktrees of one repository share theirs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProjectKey(String);

impl ProjectKey {
    /// The key of a project, from the folder shared by its worktrees, or from its root without git.
    /// The path must be canonical, or the same project would get two keys.
    #[must_use]
    pub fn from_folder(common_dir_or_root: &Path) -> Self {
        Self(ContentHash::of_bytes(common_dir_or_root.as_os_str().as_bytes()).short_hex())
    }

    /// Letters and digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The project's private folder below the state folder, with the database.
    #[must_use]
    pub fn folder(&self, home: &Path) -> PathBuf {
        home.join(PROJECTS_FOLDER).join(&self.0)
    }

    /// The database file, which is created at its first use.
    #[must_use]
    pub fn database(&self, home: &Path) -> PathBuf {
        self.folder(home).join(PROJECT_SCHEMA.file_name)
    }

    /// The key of the project that owns this database below the state folder.
    fn of_database(database: &Path, home: &Path) -> Option<Self> {
        let key = Self(database.parent()?.file_name()?.to_str()?.to_owned());
        let named = database.ancestors().nth(3)?;
        let is_home = named == home || named.canonicalize().ok()? == home.canonicalize().ok()?;
        (is_home && key.database(named) == database).then_some(key)
    }

    /// Path of the last damaged database, while it is kept.
    #[must_use]
    pub fn damaged_copy(&self, home: &Path) -> Option<PathBuf> {
        open::last_moved_aside(&self.database(home))
    }
}

/// Identifies a database below the state folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum StoreKey {
    /// Loops and their data.
    Project(ProjectKey),
    /// The memory of all projects.
    Memory,
}

impl StoreKey {
    fn schema(&self) -> &'static StoreSchema {
        match self {
            Self::Project(_) => &PROJECT_SCHEMA,
            Self::Memory => &memory::MEMORY_SCHEMA,
        }
    }

    fn folder(&self, home: &Path) -> PathBuf {
        match self {
            Self::Project(project) => project.folder(home),
            Self::Memory => home.join(MEMORY_FOLDER),
        }
    }

    fn database(&self, home: &Path) -> PathBuf {
        self.folder(home).join(self.schema().file_name)
    }
}

/// Why a store operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A constraint of the schema refused the change.
    #[error("refused by the store: {0}")]
    Conflict(String),
    /// The database was written by a newer program and is not touched.
    #[error(
        "the store {path} was written by a newer program (schema {found}, this one knows {known})"
    )]
    Newer {
        path: PathBuf,
        /// Schema of the database.
        found: usize,
        /// Newest schema known to this program.
        known: usize,
    },
    /// The database is damaged. The next use moves it aside and restores a backup.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The database is sound, but the state of one loop cannot be read.
    #[error("loop {id} cannot be read ({reason}); remove it with moai-ralph loop cancel {id}")]
    Unreadable { id: String, reason: String },
    /// Disk full, not writable, locked too long, or the store thread has ended.
    #[error("the store is not available: {0}")]
    Unavailable(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => Self::Conflict(text),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(text),
            _ => Self::Unavailable(text),
        }
    }
}

/// Handle to the databases of a state folder; cheap to clone. Their threads end with the last handle.
#[derive(Clone, Debug)]
pub struct Store {
    threads: Arc<StoreThreads>,
}

impl Store {
    /// The store of a state folder, which is created (0700) at its first use. Opens nothing yet.
    #[must_use]
    pub fn start(home: PathBuf) -> Self {
        Self { threads: Arc::new(StoreThreads::new(home)) }
    }

    /// True if [`Store::take_recovery`] may find a recovery; answered without a store thread.
    #[must_use]
    pub fn has_damage(&self) -> bool {
        self.threads.has_damage()
    }

    /// Recovery of a damaged database of this project since the last call. Opens the database if necessary.
    pub async fn take_recovery(
        &self,
        project: &ProjectKey,
    ) -> Result<Option<StoreRecovery>, StoreError> {
        self.run(project, |thread| thread.open().map(drop)).await?;
        Ok(self.threads.take_recovery(&StoreKey::Project(project.clone())))
    }

    /// Runs `work` in one `BEGIN IMMEDIATE` transaction: durably committed when this returns `Ok`,
    /// rolled back after an error or a panic. Opens and migrates the database at its first use.
    /// Dropping the future does not stop queued work.
    async fn write<T: Send + 'static>(
        &self,
        project: &ProjectKey,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(project, move |thread| thread.transact(TransactionMode::Write, work)).await
    }

    /// Like [`Store::write`] for reading; changes inside `work` are refused.
    async fn read<T: Send + 'static>(
        &self,
        project: &ProjectKey,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(project, move |thread| thread.transact(TransactionMode::Read, work)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        project: &ProjectKey,
        job: impl FnOnce(&mut StoreThread) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.threads.run(&StoreKey::Project(project.clone()), job).await
    }
}

/// Marks a closed database as one of a newer program.
#[cfg(test)]
pub(crate) fn set_schema_version(database: &Path, version: usize) {
    let connection = backups::open_existing(database).expect("it exists");
    connection.pragma_update(None, "user_version", version).expect("it can be written");
}

/// Runs a statement on a database, and answers the first value as text.
#[cfg(test)]
pub(crate) fn run_sql(database: &Path, sql: &str) -> String {
    let connection = backups::open_existing(database).expect("it exists");
    let mut statement = connection.prepare(sql).expect("a valid statement");
    let mut rows = statement.query([]).expect("it runs");
    let value =
        rows.next().expect("it runs").map(|row| row.get_unwrap::<_, rusqlite::types::Value>(0));
    match value {
        None => String::new(),
        Some(rusqlite::types::Value::Text(text)) => text,
        Some(rusqlite::types::Value::Integer(number)) => number.to_string(),
        Some(other) => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests;
