//! Persistent state: one SQLite database per project, all owned by one thread. The only module that
//! uses `rusqlite`. Typed functions per table are in files below `store/`, built on `Store::write`
//! and `Store::read`, which are private to them.

pub mod exams;
pub mod judgements;
pub mod loops;
pub mod markers;
mod open;
pub mod peek;
mod schema;
mod session_writes;

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{ErrorCode, Transaction};
use tokio::sync::{mpsc, oneshot};

use moai_base::hash::ContentHash;
use moai_base::limits::{STORE_OPEN_MAX, STORE_QUEUE_MAX};
use open::{ProjectDatabase, TransactionMode};
use schema::PROJECT_SCHEMA;

/// The parent of all projects' folders, below the state folder.
pub const PROJECTS_FOLDER: &str = "projects";

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
        /// Database file.
        path: PathBuf,
        /// Schema of the database.
        found: usize,
        /// Newest schema known to this program.
        known: usize,
    },
    /// The database is damaged. The next use moves it aside and starts a fresh one.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The database is sound, but the state of one loop cannot be read.
    #[error("loop {id} cannot be read ({reason}); remove it with moai-ralph loop cancel {id}")]
    Unreadable {
        /// The loop.
        id: String,
        /// The reason.
        reason: String,
    },
    /// Disk full, not writable, locked too long, or the store thread is gone.
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

/// Handle to the one store thread; cheap to clone. The thread ends with the last handle.
#[derive(Clone, Debug)]
pub struct Store {
    jobs: mpsc::Sender<StoreJob>,
    /// Whether a damaged database was found.
    has_damage: Arc<AtomicBool>,
}

type StoreJob = Box<dyn FnOnce(&mut OpenDatabases) + Send>;

impl Store {
    /// Starts the thread for a state folder, which is created (0700) at its first use. Opens
    /// nothing yet. If the thread cannot be started, every use is [`StoreError::Unavailable`].
    #[must_use]
    pub fn start(home: PathBuf) -> Self {
        let (jobs, mut queue) = mpsc::channel::<StoreJob>(STORE_QUEUE_MAX);
        let has_damage = Arc::new(AtomicBool::new(false));
        let mut databases = OpenDatabases::new(home, Arc::clone(&has_damage));
        let work = move || {
            while let Some(job) = queue.blocking_recv() {
                job(&mut databases);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("store".to_owned()).spawn(work) {
            tracing::error!(%error, "the store thread could not be started");
        }
        Self { jobs, has_damage }
    }

    /// Whether [`Store::take_recovery_notice`] may have a notice; answered without the store
    /// thread.
    #[must_use]
    pub fn has_damage(&self) -> bool {
        self.has_damage.load(Ordering::Acquire)
    }

    /// Where a damaged database of this project was moved to since the last call, as one sentence
    /// for people and the log. Opens the database if necessary.
    pub async fn take_recovery_notice(
        &self,
        project: &ProjectKey,
    ) -> Result<Option<String>, StoreError> {
        let project = project.clone();
        self.run(move |databases| {
            let database = databases.take(&project)?;
            databases.put_back(&project, database);
            Ok(databases.notices.remove(&project))
        })
        .await
    }

    /// Runs `work` in one `BEGIN IMMEDIATE` transaction: durably committed when this returns `Ok`,
    /// rolled back after an error or a panic. Opens and migrates the database at its first use.
    /// Dropping the future does not stop queued work.
    async fn write<T: Send + 'static>(
        &self,
        project: &ProjectKey,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let project = project.clone();
        self.run(move |databases| databases.transact(&project, TransactionMode::Write, work)).await
    }

    /// Like [`Store::write`] for reading; changes inside `work` are refused.
    async fn read<T: Send + 'static>(
        &self,
        project: &ProjectKey,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let project = project.clone();
        self.run(move |databases| databases.transact(&project, TransactionMode::Read, work)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut OpenDatabases) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let gone = || StoreError::Unavailable("the store thread is gone".to_owned());
        let (reply, answer) = oneshot::channel();
        // The work counts even if the caller was dropped meanwhile.
        let job: StoreJob = Box::new(move |databases| drop(reply.send(job(databases))));
        self.jobs.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

/// The open databases; only used on the store thread.
struct OpenDatabases {
    home: PathBuf,
    /// The least recently used first.
    open: Vec<(ProjectKey, ProjectDatabase)>,
    /// Projects whose database reported damage: checked thoroughly at the next opening.
    suspects: HashSet<ProjectKey>,
    notices: HashMap<ProjectKey, String>,
    has_damage: Arc<AtomicBool>,
}

impl OpenDatabases {
    fn new(home: PathBuf, has_damage: Arc<AtomicBool>) -> Self {
        let (open, suspects, notices) = (Vec::new(), HashSet::new(), HashMap::new());
        Self { home, open, suspects, notices, has_damage }
    }

    fn transact<T>(
        &mut self,
        project: &ProjectKey,
        access: TransactionMode,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut database = self.take(project)?;
        // After a panic the connection is dropped, with everything half done.
        let result = catch_unwind(AssertUnwindSafe(|| database.transact(access, work)))
            .unwrap_or_else(|_| {
                Err(StoreError::Unavailable("a panic inside a store operation".to_owned()))
            });
        match &result {
            Ok(_) | Err(StoreError::Conflict(_) | StoreError::Unreadable { .. }) => {
                self.put_back(project, database);
            }
            Err(StoreError::Corrupt(_)) => {
                self.suspects.insert(project.clone());
            }
            // A new connection is the cheapest recovery from an unknown state.
            Err(StoreError::Unavailable(_) | StoreError::Newer { .. }) => {}
        }
        result
    }

    /// Takes the database of a project out of the open ones, or opens it.
    fn take(&mut self, project: &ProjectKey) -> Result<ProjectDatabase, StoreError> {
        if let Some(at) = self.open.iter().position(|(key, _)| key == project) {
            let (_, database) = self.open.remove(at);
            if database.is_in_place() {
                return Ok(database);
            }
        }
        let folder = project.folder(&self.home);
        let is_suspect = self.suspects.contains(project);
        let (database, notice) = open::open_database(&folder, &PROJECT_SCHEMA, is_suspect)?;
        self.suspects.remove(project);
        if let Some(notice) = notice {
            tracing::warn!("{notice}");
            self.notices.insert(project.clone(), notice);
            self.has_damage.store(true, Ordering::Release);
        }
        Ok(database)
    }

    fn put_back(&mut self, project: &ProjectKey, database: ProjectDatabase) {
        if self.open.len() >= STORE_OPEN_MAX {
            self.open.remove(0);
        }
        self.open.push((project.clone(), database));
    }
}

#[cfg(test)]
mod tests;
