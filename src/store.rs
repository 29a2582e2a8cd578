//! What must survive the process: one SQLite database per project, all of them owned by one thread.
//! The only place that names `rusqlite`.

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

use crate::base::hash::ContentHash;
use crate::base::limits::{STORE_OPEN_MAX, STORE_QUEUE_MAX};
use open::{ProjectDatabase, TransactionMode};

/// The folder of all projects' folders, below the state folder.
pub const PROJECTS_FOLDER: &str = "projects";

/// Which project's database. Worktrees of one repository share theirs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProjectKey(String);

impl ProjectKey {
    /// The key of a project: of the folder its worktrees share, or of its root without git.
    /// Both canonical, or the same project would get two keys.
    #[must_use]
    pub fn from_folder(common_dir_or_root: &Path) -> Self {
        Self(ContentHash::of_bytes(common_dir_or_root.as_os_str().as_bytes()).short_hex())
    }

    /// The project's private folder below the state folder; the database is in it.
    #[must_use]
    pub fn folder(&self, home: &Path) -> PathBuf {
        home.join(PROJECTS_FOLDER).join(&self.0)
    }

    /// The file of the database itself, which is made when it is first needed.
    #[must_use]
    pub fn database(&self, home: &Path) -> PathBuf {
        self.folder(home).join(open::DATABASE_FILE)
    }

    /// The key of the project whose database below the state folder this is.
    fn of_database(database: &Path, home: &Path) -> Option<Self> {
        let key = Self(database.parent()?.file_name()?.to_str()?.to_owned());
        let named = database.ancestors().nth(3)?;
        let is_home = named == home || named.canonicalize().ok()? == home.canonicalize().ok()?;
        (is_home && key.database(named) == database).then_some(key)
    }

    /// Where the last damaged database was moved to, as long as it is kept.
    #[must_use]
    pub fn damaged_copy(&self, home: &Path) -> Option<PathBuf> {
        open::last_moved_aside(&self.database(home))
    }
}

/// Why something was not stored or not found out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A constraint of the schema refused the change.
    #[error("refused by the store: {0}")]
    Conflict(String),
    /// The database was written by a newer program and is left alone.
    #[error(
        "the store {path} was written by a newer program (schema {found}, this one knows {known})"
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// Its schema.
        found: usize,
        /// The newest schema this program knows.
        known: usize,
    },
    /// The database is damaged. The next use moves it aside and starts a fresh one.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The database is sound, but what one loop holds makes no sense to this program.
    #[error("loop {id} cannot be read ({reason}); moai-ralph loop cancel {id} sets it aside")]
    Unreadable {
        /// The loop.
        id: String,
        /// What is wrong with it.
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
    /// Whether any database was found damaged.
    has_damage: Arc<AtomicBool>,
}

type StoreJob = Box<dyn FnOnce(&mut OpenDatabases) + Send>;

impl Store {
    /// Starts the thread over a state folder, which is created (0700) when it is first needed.
    /// Nothing is opened yet. When no thread can be had, every use is [`StoreError::Unavailable`].
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

    /// Whether a database was found damaged that [`Store::take_recovery_notice`] may tell of; known without
    /// asking the thread.
    #[must_use]
    pub fn has_damage(&self) -> bool {
        self.has_damage.load(Ordering::Acquire)
    }

    /// Where a damaged database of this project was moved to since the last time this was asked,
    /// as one sentence for people and the log. Opens the database if it is not.
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

    /// Runs `work` in one `BEGIN IMMEDIATE` transaction: committed, and durable, when it returns
    /// `Ok`; rolled back when it returns an error or panics. Opens and migrates the database at
    /// its first use. Dropping the future does not stop work that is already queued.
    async fn write<T: Send + 'static>(
        &self,
        project: &ProjectKey,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let project = project.clone();
        self.run(move |databases| databases.transact(&project, TransactionMode::Write, work)).await
    }

    /// The same for reading; a change inside `work` is refused.
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
        // Nobody waits for the answer any more when the caller was dropped; the work still counts.
        let job: StoreJob = Box::new(move |databases| drop(reply.send(job(databases))));
        self.jobs.send(job).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

/// The open databases; lives on the store thread and nowhere else.
struct OpenDatabases {
    home: PathBuf,
    /// The least recently used first.
    open: Vec<(ProjectKey, ProjectDatabase)>,
    /// Projects whose database said that it is damaged: checked wholly when opened again.
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
        // After a panic the connection is dropped, and with it everything half-done.
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
            // A fresh connection is the cheapest way out of whatever state this one is in.
            Err(StoreError::Unavailable(_) | StoreError::Newer { .. }) => {}
        }
        result
    }

    /// The database of a project, taken out of the open ones or opened.
    fn take(&mut self, project: &ProjectKey) -> Result<ProjectDatabase, StoreError> {
        if let Some(at) = self.open.iter().position(|(key, _)| key == project) {
            let (_, database) = self.open.remove(at);
            if database.is_in_place() {
                return Ok(database);
            }
        }
        let folder = project.folder(&self.home);
        let (database, notice) = open::open_database(&folder, self.suspects.contains(project))?;
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
