//! The engine: the state that all handlers share. It runs inside the daemon, or inside a front door if no
//! daemon runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::ledger::host_sessions::HostSessions;
use crate::ledger::{DeferredReport, EngineLedger, SessionAgent};
use crate::progress::WorkProgress;
use crate::recall::delivery::DeliveredRecall;
use crate::recall::recorder::MemoryRecorder;
use crate::stop_registry::StopRegistry;
use moai_base::limits::RECORDER_FLUSH_MS_MAX;
use moai_base::verdict::{Cause, Gap};
use moai_config::Config;
use moai_host::host_record::HostRecord;
use moai_host::ipc::{StateDirs, process_environment};
use moai_host::memory::MemoryStore;
use moai_host::memory::postgres::PostgresSettings;
use moai_host::servers::{LanguageServers, MemoryLimits};
use moai_host::store::{Store, StoreRecovery};
use moai_protocol::control::CommandReply;

/// The state that all handlers share.
#[derive(Debug)]
pub struct Engine {
    pub(crate) dirs: StateDirs,
    pub(crate) servers: LanguageServers,
    pub(crate) store: Store,
    /// Observations of earlier sessions.
    pub(crate) memory: MemoryStore,
    /// Bytes of text that the memory keeps of a project.
    pub(crate) memory_text_bytes: u64,
    /// Writes the notes of the hooks.
    pub(crate) recorder: MemoryRecorder,
    /// Why language servers are not used at all; `None` if they are.
    pub(crate) lsp_gap: Option<Gap>,
    pub(crate) started: Instant,
    /// Progress of the single request of a front door without a daemon.
    pub(crate) progress: WorkProgress,
    /// The Stops in progress.
    pub(crate) stops: StopRegistry,
    ledger: Mutex<EngineLedger>,
    jobs: AtomicUsize,
}

/// Outcome of a handler.
#[derive(Debug, Default)]
pub struct HandlerOutcome {
    /// For the front door.
    pub reply: CommandReply,
    /// Deferred reports in the reply, with their reader: queued again if the reply is not delivered.
    pub(crate) deferred_reports: Option<(SessionAgent, Vec<DeferredReport>)>,
    /// Observations shown in the reply.
    pub(crate) recalled: Option<DeliveredRecall>,
    /// A recovery of the memory that the reply reports; reported again if the reply is not delivered.
    pub(crate) memory_recovery: Option<StoreRecovery>,
}

impl From<CommandReply> for HandlerOutcome {
    fn from(reply: CommandReply) -> Self {
        Self { reply, ..Self::default() }
    }
}

impl Engine {
    /// Creates an engine over these folders. `lsp_gap` is the reason if no language servers are used.
    /// Needs a tokio runtime.
    #[must_use]
    pub(crate) fn new(dirs: StateDirs, options: &Config, lsp_gap: Option<Gap>) -> Arc<Self> {
        let limits = MemoryLimits {
            // Lowering only the hard limit lowers both.
            soft_bytes: options.memory_soft_bytes.min(options.memory_hard_bytes),
            hard_bytes: options.memory_hard_bytes,
        };
        let memory = memory_store(&dirs, options.memory_url.as_deref());
        let hosts = HostSessions::from_record(HostRecord::read(&dirs.state));
        Arc::new(Self {
            servers: LanguageServers::start(dirs.data.clone(), options.server_idle, limits),
            store: Store::start(dirs.state.clone()),
            recorder: MemoryRecorder::start(memory.clone()),
            memory,
            memory_text_bytes: options.memory_text_bytes,
            dirs,
            lsp_gap,
            started: Instant::now(),
            progress: WorkProgress::default(),
            stops: StopRegistry::default(),
            ledger: Mutex::new(EngineLedger::new(hosts)),
            jobs: AtomicUsize::new(0),
        })
    }

    /// The number of files done, and of all files.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        self.progress.read()
    }

    /// Queues the deferred reports of an undelivered reply again.
    pub(crate) fn requeue_undelivered(&self, outcome: HandlerOutcome) {
        if let Some(recovery) = outcome.memory_recovery {
            self.memory.put_back_recovery(recovery);
        }
        if let Some((reader, reports)) = outcome.deferred_reports {
            self.ledger().requeue_reports(&reader, reports);
        }
        if let Some(recalled) = outcome.recalled {
            let mut ledger = self.ledger();
            let Some(session) = ledger.known_session(&recalled.session) else { return };
            session.recall.remove_shown(&recalled.injections);
            // It comes with the next prompt.
            session.recall.has_record &= !recalled.is_record();
        }
    }

    /// Takes note of a delivered reply.
    pub fn note_delivered(&self, outcome: HandlerOutcome) {
        if let Some(recalled) = outcome.recalled {
            self.recorder.note(recalled.noted);
        }
    }

    /// Locks the ledger; never hold it across an await.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, EngineLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers work in progress until the guard is dropped.
    pub(crate) fn job(self: &Arc<Self>) -> JobGuard {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        JobGuard(Arc::clone(self))
    }

    pub(crate) fn job_count(&self) -> usize {
        self.jobs.load(Ordering::Relaxed)
    }

    /// Writes pending notes, and stops all language servers.
    pub async fn stop(&self) {
        let bound = Duration::from_millis(RECORDER_FLUSH_MS_MAX);
        tokio::join!(self.recorder.flush(bound), self.servers.stop_all());
    }
}

/// Work in progress; the daemon does not end while one exists.
#[derive(Debug)]
pub(crate) struct JobGuard(Arc<Engine>);

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.0.jobs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The variable with the URL of a team's memory.
const TEAM_URL_VARIABLE: &str = "MOAI_RALPH_MEMORY_URL";

/// The memory of this machine, or a team's memory at a URL.
fn memory_store(dirs: &StateDirs, url: Option<&str>) -> MemoryStore {
    let local = MemoryStore::start(dirs.state.clone());
    let Some(url) = url else { return local };
    let env = process_environment();
    let source = if env.contains_key(TEAM_URL_VARIABLE) { TEAM_URL_VARIABLE } else { "memory.url" };
    match PostgresSettings::from_url(url, &env) {
        Ok(settings) => local.with_team(settings),
        Err(reason) => local.with_refused_team(&format!("{source}: {reason}")),
    }
}

/// Milliseconds since the epoch, as the memory counts them.
pub(crate) fn memory_now_ms() -> i64 {
    i64::try_from(now_ms()).unwrap_or(i64::MAX)
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Runs work that must not be interrupted: it continues if its caller is dropped. `None` after a
/// panic.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    tokio::spawn(work).await.ok()
}

/// Runs blocking work off the event loop; `None` after a panic.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Runs work that may take seconds where it is needed at once, without holding up the other requests
/// of a daemon.
pub(crate) fn run_in_place<T>(work: impl FnOnce() -> T) -> T {
    let flavor = tokio::runtime::Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Runs blocking work like [`run_blocking`]. A panic is a gap, because a lost result must not pass
/// for an empty one.
pub(crate) async fn measure_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Gap> {
    run_blocking(work).await.ok_or_else(panic_gap)
}

/// The gap after a panic.
pub(crate) fn panic_gap() -> Gap {
    Gap::new(Cause::Crashed, "internal error; see the daemon's log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_blocking_work_is_a_gap() {
        let lost = measure_blocking(|| -> Vec<u8> { panic!("as a test") }).await;
        assert_eq!(lost.map_err(|gap| gap.cause), Err(Cause::Crashed));
        assert_eq!(measure_blocking(Vec::<u8>::new).await, Ok(Vec::new()));
    }
}
