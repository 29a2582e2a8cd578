//! A thread per open database, so that a locked or slow one delays no other project.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Transaction;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::open::{StoreDatabase, StoreRecovery, TransactionMode, open_database};
use super::pipelines::DecodedPipeline;
use super::{StoreError, StoreKey, backups};
use moai_base::limits::{
    STORE_BACKUP_QUIET_MS, STORE_BACKUP_REFRESH_SECS, STORE_OPEN_MAX, STORE_QUEUE_MAX,
};

/// A job for the thread of a database.
type StoreJob = Box<dyn FnOnce(&mut StoreThread) + Send>;

/// The open databases of a state folder.
#[derive(Debug)]
pub(super) struct StoreThreads {
    shared: Arc<SharedStores>,
    /// True once a damaged database was found.
    has_damage: Arc<AtomicBool>,
    home: PathBuf,
}

type SharedStores = Mutex<OpenStores>;

#[derive(Debug, Default)]
struct OpenStores {
    /// The least recently used first. A thread ends when its queue was dropped here and is empty.
    queues: Vec<(StoreKey, JobQueue)>,
    /// Recoveries of damaged databases that have not been reported yet.
    recoveries: HashMap<StoreKey, StoreRecovery>,
}

/// The queue of one thread, bounded by its slots.
#[derive(Clone, Debug)]
struct JobQueue {
    jobs: Sender<QueuedJob>,
    slots: Arc<Semaphore>,
}

struct QueuedJob {
    job: StoreJob,
    slot: OwnedSemaphorePermit,
}

impl StoreThreads {
    pub(super) fn new(home: PathBuf) -> Self {
        let shared = Arc::default();
        Self { shared, has_damage: Arc::default(), home }
    }

    /// Queues a job for the thread of a database, which is started if necessary. Waits while the
    /// queue is full. A job that cannot be queued is dropped.
    async fn queue(&self, key: &StoreKey, job: StoreJob) -> io::Result<()> {
        let queue = self.queue_of(key)?;
        let Ok(slot) = queue.slots.acquire_owned().await else { return Ok(()) };
        // The receiver is dropped only when the thread has ended.
        let _ = queue.jobs.send(QueuedJob { job, slot });
        Ok(())
    }

    /// The answer of a job on the thread of a database.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        key: &StoreKey,
        job: impl FnOnce(&mut StoreThread) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        // The work counts even if the caller was dropped meanwhile.
        let job: StoreJob = Box::new(move |thread| drop(reply.send(job(thread))));
        self.queue(key, job).await.map_err(|error| {
            StoreError::Unavailable(format!("its thread could not be started: {error}"))
        })?;
        answer
            .await
            .map_err(|_| StoreError::Unavailable("the store thread has ended".to_owned()))?
    }

    fn queue_of(&self, key: &StoreKey) -> io::Result<JobQueue> {
        let mut open = lock(&self.shared);
        let at = open.queues.iter().position(|(known, _)| known == key);
        let queue = match at {
            Some(at) => open.queues.remove(at).1,
            None => self.start_thread(key)?,
        };
        if open.queues.len() >= STORE_OPEN_MAX {
            open.queues.remove(0);
        }
        open.queues.push((key.clone(), queue.clone()));
        Ok(queue)
    }

    fn start_thread(&self, key: &StoreKey) -> io::Result<JobQueue> {
        let (jobs, queue) = channel();
        let thread = StoreThread {
            home: self.home.clone(),
            key: key.clone(),
            database: None,
            is_suspect: false,
            backup_at: None,
            backup: None,
            shared: Arc::downgrade(&self.shared),
            has_damage: Arc::clone(&self.has_damage),
            last_pipeline: None,
        };
        let work = move || thread.work(&queue);
        std::thread::Builder::new().name("store".to_owned()).spawn(work)?;
        Ok(JobQueue { jobs, slots: Arc::new(Semaphore::new(STORE_QUEUE_MAX)) })
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    pub(super) fn has_damage(&self) -> bool {
        self.has_damage.load(Ordering::Acquire)
    }

    pub(super) fn take_recovery(&self, key: &StoreKey) -> Option<StoreRecovery> {
        lock(&self.shared).recoveries.remove(key)
    }

    pub(super) fn put_back_recovery(&self, key: StoreKey, recovery: StoreRecovery) {
        lock(&self.shared).recoveries.entry(key).or_insert(recovery);
    }
}

fn lock(shared: &SharedStores) -> MutexGuard<'_, OpenStores> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that owns one database.
pub(super) struct StoreThread {
    pub(super) home: PathBuf,
    pub(super) key: StoreKey,
    database: Option<StoreDatabase>,
    /// True if the database reported damage: it is checked thoroughly at the next opening.
    is_suspect: bool,
    /// When to copy a changed database, if it is not in use then.
    backup_at: Option<Instant>,
    backup: Option<JoinHandle<Result<(), StoreError>>>,
    /// Weak, because the queues in it keep the threads running.
    shared: Weak<SharedStores>,
    has_damage: Arc<AtomicBool>,
    pub(super) last_pipeline: Option<DecodedPipeline>,
}

impl StoreThread {
    fn work(mut self, queue: &Receiver<QueuedJob>) {
        loop {
            let received = match self.backup_at {
                Some(at) => {
                    let quiet = Duration::from_millis(STORE_BACKUP_QUIET_MS);
                    queue.recv_timeout(at.saturating_duration_since(Instant::now()).max(quiet))
                }
                None => queue.recv().map_err(RecvTimeoutError::from),
            };
            match received {
                Ok(QueuedJob { job, slot }) => {
                    self.end_backup();
                    job(&mut self);
                    drop(slot);
                }
                Err(RecvTimeoutError::Timeout) => self.start_backup(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn note_change(&mut self) {
        if self.backup_at.is_none() {
            let database = self.key.database(&self.home);
            self.backup_at = Some(Instant::now() + backups::time_until_due(&database));
        }
    }

    /// Copies the database while requests continue. If the previous copy is still running, this one
    /// stays due.
    fn start_backup(&mut self) {
        self.end_backup();
        if self.backup.is_some() || Instant::now() < self.backup_at.unwrap_or_else(Instant::now) {
            return;
        }
        // A copy would lack the content of a removed log.
        if self.database.as_ref().is_some_and(StoreDatabase::has_lost_log)
            && let Err(error) = self.open().map(drop)
        {
            self.delay_backup(&error);
            return;
        }
        // While nothing is asked for, so that no commit has to empty a long log.
        if let Some(database) = &mut self.database
            && let Err(error) = database.maintain("PRAGMA wal_checkpoint(PASSIVE)")
        {
            tracing::warn!(%error, "the log of a database is not emptied");
        }
        let database = self.key.database(&self.home);
        let weeks_max = self.key.schema().weekly_backups_max;
        let thread = std::thread::Builder::new().name("store-backup".to_owned());
        match thread.spawn(move || backups::back_up_day(&database, weeks_max)) {
            Ok(backup) => {
                self.backup = Some(backup);
                self.backup_at = None;
            }
            Err(error) => self.delay_backup(&error),
        }
    }

    fn end_backup(&mut self) {
        let Some(backup) = self.backup.take_if(|backup| backup.is_finished()) else { return };
        match backup.join() {
            Ok(Ok(())) => {}
            Err(_) => self.delay_backup(&"its thread panicked"),
            Ok(Err(StoreError::Corrupt(reason))) => {
                tracing::warn!(reason, "a copy of the database is damaged");
                self.is_suspect = true;
                self.database = None;
            }
            Ok(Err(error)) => self.delay_backup(&error),
        }
    }

    fn delay_backup(&mut self, error: &dyn std::fmt::Display) {
        tracing::warn!(%error, "the database could not be copied");
        self.backup_at = Some(Instant::now() + Duration::from_secs(STORE_BACKUP_REFRESH_SECS));
    }

    pub(super) fn transact<T>(
        &mut self,
        access: TransactionMode,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.open()?;
        // After a panic the connection is dropped, with everything half done.
        let result = catch_unwind(AssertUnwindSafe(|| database.transact(access, work)))
            .unwrap_or_else(|_| {
                Err(StoreError::Unavailable("a panic inside a store operation".to_owned()))
            });
        match &result {
            Ok(_) if access == TransactionMode::Write => self.note_change(),
            Ok(_) | Err(StoreError::Conflict(_) | StoreError::Unreadable { .. }) => {}
            Err(StoreError::Corrupt(_)) => {
                self.is_suspect = true;
                self.database = None;
            }
            // A new connection is the cheapest recovery from an unknown state.
            Err(StoreError::Unavailable(_) | StoreError::Newer { .. }) => self.database = None,
        }
        result
    }

    /// Closes the database; the next use opens it again.
    pub(super) fn close(&mut self) {
        self.database = None;
    }

    /// The database, opened if necessary.
    pub(super) fn open(&mut self) -> Result<&mut StoreDatabase, StoreError> {
        let database = match self.database.take() {
            Some(database) if database.is_in_place() => database,
            Some(mut moved) => {
                if moved.has_lost_log() {
                    moved.save_lost_log();
                }
                drop(moved);
                self.open_again()?
            }
            None => self.open_again()?,
        };
        Ok(self.database.insert(database))
    }

    fn open_again(&mut self) -> Result<StoreDatabase, StoreError> {
        let folder = self.key.folder(&self.home);
        let (database, recovery) = open_database(&folder, self.key.schema(), self.is_suspect)?;
        self.is_suspect = false;
        if let Some(recovery) = recovery {
            tracing::warn!(?recovery, "a damaged database was moved aside");
            if let Some(shared) = self.shared.upgrade() {
                lock(&shared).recoveries.insert(self.key.clone(), recovery);
            }
            self.has_damage.store(true, Ordering::Release);
        }
        Ok(database)
    }
}
