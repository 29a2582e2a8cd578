//! The engine: what all handlers share. It runs inside the daemon, or inside a front door when
//! there is no daemon.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::ledger::{DeferredReport, EngineLedger, SessionAgent};
use crate::progress::WorkProgress;
use crate::stop_registry::StopRegistry;
use moai_base::verdict::{Cause, Gap};
use moai_config::Config;
use moai_host::ipc::StateDirs;
use moai_host::servers::{LanguageServers, MemoryLimits};
use moai_host::store::Store;
use moai_protocol::control::CommandReply;

/// What all handlers share.
#[derive(Debug)]
pub struct Engine {
    pub(crate) dirs: StateDirs,
    pub(crate) servers: LanguageServers,
    pub(crate) store: Store,
    /// Why language servers are not asked at all, where that is so.
    pub(crate) lsp_gap: Option<Gap>,
    pub(crate) started: Instant,
    /// How far the work of the one request of a front door is.
    pub(crate) progress: WorkProgress,
    /// The Stops that are being decided.
    pub(crate) stops: StopRegistry,
    ledger: Mutex<EngineLedger>,
    jobs: AtomicUsize,
}

/// What a handler leaves: the reply, and what must be told again if nobody reads it.
#[derive(Debug, Default)]
pub struct HandlerOutcome {
    /// For the front door.
    pub reply: CommandReply,
    /// Late verdicts inside the reply, with their reader.
    pub(crate) deferred_reports: Option<(SessionAgent, Vec<DeferredReport>)>,
}

impl From<CommandReply> for HandlerOutcome {
    fn from(reply: CommandReply) -> Self {
        Self { reply, deferred_reports: None }
    }
}

impl Engine {
    /// An engine over these places. `lsp_gap` says why there are no language servers, when it runs
    /// where none can be kept warm. Needs a tokio runtime.
    #[must_use]
    pub(crate) fn new(places: StateDirs, options: &Config, lsp_gap: Option<Gap>) -> Arc<Self> {
        let memory = MemoryLimits {
            // Who lowers only the hard limit means both.
            soft_bytes: options.memory_soft_bytes.min(options.memory_hard_bytes),
            hard_bytes: options.memory_hard_bytes,
        };
        Arc::new(Self {
            servers: LanguageServers::start(places.data.clone(), options.server_idle, memory),
            store: Store::start(places.state.clone()),
            dirs: places,
            lsp_gap,
            started: Instant::now(),
            progress: WorkProgress::default(),
            stops: StopRegistry::default(),
            ledger: Mutex::default(),
            jobs: AtomicUsize::new(0),
        })
    }

    /// How far the work is: files done, and all of them.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        self.progress.read()
    }

    /// Puts back what a front door did not read.
    pub(crate) fn requeue_undelivered(&self, outcome: HandlerOutcome) {
        if let Some((reader, late)) = outcome.deferred_reports {
            self.ledger().requeue_reports(&reader, late);
        }
    }

    /// The ledger; held for moments, never across an await.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, EngineLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts as work in progress until dropped.
    pub(crate) fn job(self: &Arc<Self>) -> JobGuard {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        JobGuard(Arc::clone(self))
    }

    pub(crate) fn job_count(&self) -> usize {
        self.jobs.load(Ordering::Relaxed)
    }

    /// Stops all language servers.
    pub async fn stop(&self) {
        self.servers.stop_all().await;
    }
}

/// Work in progress: the daemon does not end under it.
#[derive(Debug)]
pub(crate) struct JobGuard(Arc<Engine>);

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.0.jobs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Runs work that must not be left half done: it goes on when whoever waits for it is dropped.
/// `None` when it panicked.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    tokio::spawn(work).await.ok()
}

/// Runs blocking work off the event loop; `None` when it panicked.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Runs blocking work like [`run_blocking`]. A panic is a gap, because a result that was lost must
/// not pass for an empty one.
pub(crate) async fn measure_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Gap> {
    run_blocking(work).await.ok_or_else(panic_gap)
}

/// The gap left by work that panicked.
pub(crate) fn panic_gap() -> Gap {
    Gap::new(Cause::Crashed, "internal error; see the daemon's log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn blocking_work_that_panics_leaves_a_gap_and_no_empty_result() {
        let lost = measure_blocking(|| -> Vec<u8> { panic!("as a test") }).await;
        assert_eq!(lost.map_err(|gap| gap.cause), Err(Cause::Crashed));
        assert_eq!(measure_blocking(Vec::<u8>::new).await, Ok(Vec::new()));
    }
}
