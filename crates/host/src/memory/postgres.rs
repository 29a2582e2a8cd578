//! The memory of a team on PostgreSQL: one connection on its own thread. A server that hangs or is
//! unreachable costs a caller no more than the caller's time limit, and nothing while it is known to be
//! unreachable.

mod connection;
mod database;
mod filter;
mod retention;
mod rows;
mod schema;
mod settings;
#[cfg(test)]
mod tests;
mod text_search;
mod tls;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use moai_memory::database::MemoryDatabase;
use tokio::sync::{mpsc, oneshot, watch};

use self::connection::PostgresConnection;
use self::database::PostgresTransaction;
pub use self::settings::PostgresSettings;
use crate::store::StoreError;
use moai_base::limits::{
    POSTGRES_FRESH_MS, POSTGRES_QUEUE_MAX, POSTGRES_RETRY_SECS_MAX, POSTGRES_RETRY_SECS_MIN,
    POSTGRES_WAITED_MS_MIN,
};

/// A job for the connection's thread.
type PostgresJob = Box<dyn FnOnce(&mut PostgresThread) + Send>;

/// Handle to the memory of a team; cheap to clone. Its thread ends with the last handle.
#[derive(Clone, Debug)]
pub struct PostgresMemory {
    shared: Arc<PostgresShared>,
}

#[derive(Debug)]
struct PostgresShared {
    settings: PostgresSettings,
    jobs: OnceLock<mpsc::Sender<PostgresJob>>,
    state: watch::Sender<ConnectionState>,
    /// The number of the last outage that was reported to the user.
    told: AtomicU64,
    /// When the server answered last.
    answered: watch::Sender<Option<Instant>>,
}

/// State of the connection.
#[derive(Debug, Default)]
struct ConnectionState {
    /// The current outage; `None` while the server is available, or was not tried yet.
    outage: Option<PostgresOutage>,
    /// Number of outages so far.
    outages: u64,
    /// True while a connection is being made, which may take longer than a caller waits.
    is_connecting: bool,
}

/// A time in which the server is not available.
#[derive(Clone, Debug)]
struct PostgresOutage {
    /// From 1 on.
    number: u64,
    fault: StoreError,
    /// True if a connection failed; otherwise a caller's wait for one timed out.
    is_certain: bool,
}

impl ConnectionState {
    /// Records a fault: an outage begins, or continues for this reason.
    fn note_fault(&mut self, fault: StoreError, is_certain: bool) {
        let known = self.outage.take();
        let number = known.as_ref().map_or(self.outages + 1, |outage| outage.number);
        let is_certain = is_certain || known.is_some_and(|outage| outage.is_certain);
        self.outages = number;
        self.outage = Some(PostgresOutage { number, fault, is_certain });
    }
}

/// The progress of a caller's work, so that abandoned work is not committed.
#[derive(Debug, Default)]
struct WorkState(AtomicU8);

impl WorkState {
    const WAITING: u8 = 0;
    const GIVEN_UP: u8 = 1;
    const COMMITTING: u8 = 2;

    fn advance(&self, to: u8) -> bool {
        self.0.compare_exchange(Self::WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn is_given_up(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::GIVEN_UP
    }
}

impl PostgresMemory {
    /// The memory of these settings. Connects at its first use.
    #[must_use]
    pub fn start(settings: PostgresSettings) -> Self {
        let shared = PostgresShared {
            settings,
            jobs: OnceLock::new(),
            state: watch::Sender::default(),
            told: AtomicU64::new(0),
            answered: watch::Sender::new(None),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Database and host, for messages.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.shared.settings.place
    }

    /// Identifies server, database and role.
    pub(super) fn id(&self) -> &str {
        &self.shared.settings.id
    }

    /// Why the server is not available, as far as it is known.
    #[must_use]
    pub fn fault(&self) -> Option<StoreError> {
        self.shared.state.borrow().outage.as_ref().map(|outage| outage.fault.clone())
    }

    /// Why the server is not available, once for each time that it becomes so.
    #[must_use]
    pub fn take_outage(&self) -> Option<String> {
        let outage = self.shared.state.borrow().outage.clone().filter(|it| it.is_certain)?;
        let told = self.shared.told.fetch_max(outage.number, Ordering::AcqRel);
        (told < outage.number).then(|| outage.fault.to_string())
    }

    /// Succeeds if the server responds within `wait`; at once if it has just done so.
    ///
    /// # Errors
    ///
    /// The reason why it does not.
    pub(super) async fn require_answer(&self, wait: Duration) -> Result<(), StoreError> {
        let fresh = Duration::from_millis(POSTGRES_FRESH_MS);
        if self.fault().is_none()
            && self.shared.answered.borrow().is_some_and(|answered| answered.elapsed() < fresh)
        {
            return Ok(());
        }
        self.run(wait, |thread, _| thread.connection.query("SELECT 1", &[]).map(drop)).await
    }

    /// Runs `work`, which cannot change anything. It fails when there is no answer within `wait`, and at once
    /// while the server is known to be unreachable.
    pub async fn read<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.run(wait, move |thread, state| {
            if state.is_given_up() {
                return Err(given_up());
            }
            let connection = &mut thread.connection;
            work(&mut PostgresTransaction { connection, is_for_writing: false })
        })
        .await
    }

    /// Runs `work` in one transaction: committed when this returns `Ok`, rolled back after an error or
    /// a panic. Without an answer within `wait` it fails; then it is committed only if the commit was
    /// on its way.
    pub async fn write<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.run(wait, move |thread, state| {
            if state.is_given_up() {
                return Err(given_up());
            }
            let connection = &mut thread.connection;
            connection.require_known_schema()?;
            connection.run_batch("BEGIN")?;
            let worked = work(&mut PostgresTransaction { connection, is_for_writing: true });
            let is_wanted = worked.is_ok() && state.advance(WorkState::COMMITTING);
            let ended = thread.connection.end_transaction(is_wanted);
            let value = worked?;
            ended?;
            if is_wanted { Ok(value) } else { Err(given_up()) }
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        wait: Duration,
        work: impl FnOnce(&mut PostgresThread, &WorkState) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        let started = Instant::now();
        let deadline = started + wait;
        let state = Arc::new(WorkState::default());
        let (reply, answer) = oneshot::channel();
        let job_state = Arc::clone(&state);
        let job: PostgresJob = Box::new(move |thread| {
            let result = thread.work_until(deadline, |thread| work(thread, &job_state));
            // The caller may have given up.
            drop(reply.send(result));
        });
        let full = |_| StoreError::Unavailable(format!("{} is busy", self.place()));
        self.jobs()?.try_send(job).map_err(full)?;
        let mut waiting = WaitingCaller { shared: &self.shared, started, is_answered: false };
        let Ok(answered) = tokio::time::timeout(wait, answer).await else {
            state.advance(WorkState::GIVEN_UP);
            self.shared.answered.send_replace(None);
            drop(waiting);
            return Err(self.fault().unwrap_or_else(|| {
                StoreError::Unavailable(format!("{} did not answer in time", self.place()))
            }));
        };
        waiting.is_answered = true;
        let result = answered.map_err(|_| given_up())?;
        if result.is_ok() {
            self.shared.answered.send_replace(Some(Instant::now()));
        }
        result
    }

    fn jobs(&self) -> Result<&mpsc::Sender<PostgresJob>, StoreError> {
        if let Some(jobs) = self.shared.jobs.get() {
            return Ok(jobs);
        }
        let (jobs, queue) = mpsc::channel(POSTGRES_QUEUE_MAX);
        let thread = PostgresThread {
            connection: PostgresConnection::new(self.shared.settings.clone())?,
            state: self.shared.state.clone(),
            retry_at: None,
            retry_after: Duration::from_secs(POSTGRES_RETRY_SECS_MIN),
        };
        // Another caller may have been faster: then this thread ends at once, with its queue.
        let spawned = std::thread::Builder::new().name("postgres".to_owned());
        spawned
            .spawn(move || thread.work(queue))
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(self.shared.jobs.get_or_init(|| jobs))
    }
}

/// A caller that waits for an answer. If it stops waiting while the connection is being made, those after
/// it do not begin to wait.
struct WaitingCaller<'s> {
    shared: &'s PostgresShared,
    started: Instant,
    is_answered: bool,
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        let has_waited = self.started.elapsed() >= Duration::from_millis(POSTGRES_WAITED_MS_MIN);
        if self.is_answered || !has_waited {
            return;
        }
        let place = &self.shared.settings.place;
        let fault = StoreError::Unavailable(format!("{place} does not answer"));
        self.shared.state.send_modify(|state| {
            // The thread ends such an outage, with the connection or with a reason.
            if state.is_connecting {
                state.note_fault(fault, false);
            }
        });
    }
}

fn given_up() -> StoreError {
    StoreError::Unavailable("the connection was given up".to_owned())
}

/// The thread that owns the connection.
struct PostgresThread {
    connection: PostgresConnection,
    state: watch::Sender<ConnectionState>,
    /// When a lost server is tried again.
    retry_at: Option<Instant>,
    retry_after: Duration,
}

impl PostgresThread {
    fn work(mut self, mut queue: mpsc::Receiver<PostgresJob>) {
        loop {
            let received = match self.retry_at {
                None => Ok(self.connection.wait_for(queue.recv())),
                Some(at) => self
                    .connection
                    .wait_for(async { tokio::time::timeout_at(at.into(), queue.recv()).await }),
            };
            match received {
                Ok(Some(job)) => job(&mut self),
                Ok(None) => return,
                Err(_) => {
                    // A failure is noted.
                    let _ = self.connect();
                }
            }
        }
    }

    /// Does the work of one caller, on an open connection.
    fn work_until<T>(
        &mut self,
        deadline: Instant,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(outage) = self.state.borrow().outage.as_ref() {
            return Err(outage.fault.clone());
        }
        self.connect()?;
        self.connection.set_deadline(deadline);
        // After a panic the connection is in an unknown state.
        let result = catch_unwind(AssertUnwindSafe(|| work(self))).unwrap_or_else(|_| {
            self.connection.close();
            Err(StoreError::Unavailable("a panic inside a store operation".to_owned()))
        });
        if let Err(error) = &result
            && !self.connection.is_open()
        {
            self.note_fault(error.clone());
        }
        result
    }

    fn note_fault(&mut self, error: StoreError) {
        tracing::warn!(%error, "the memory of the team is not available");
        self.retry_at = Some(Instant::now() + self.retry_after);
        let longest = Duration::from_secs(POSTGRES_RETRY_SECS_MAX);
        self.retry_after = (self.retry_after * 2).min(longest);
        self.state.send_modify(|state| {
            state.is_connecting = false;
            state.note_fault(error, true);
        });
    }

    /// Opens the connection if it is not open. An outage ends with it.
    fn connect(&mut self) -> Result<(), StoreError> {
        if self.connection.is_open() {
            return Ok(());
        }
        self.state.send_modify(|state| state.is_connecting = true);
        self.connection.open().inspect_err(|error| self.note_fault(error.clone()))?;
        self.retry_at = None;
        self.retry_after = Duration::from_secs(POSTGRES_RETRY_SECS_MIN);
        self.state.send_modify(|state| {
            state.is_connecting = false;
            state.outage = None;
        });
        Ok(())
    }
}
