//! Running language servers: one pool for the whole daemon, one actor per server, at most
//! [`LANGUAGE_SERVERS_MAX`](crate::base::limits::LANGUAGE_SERVERS_MAX) process trees. It must not know hooks, loops or reports.

mod actor;
mod breaker;
mod eviction;
mod fault_facts;
pub mod install;
mod log_buffer;
mod memory;
mod pool;
mod process;
pub mod resolve;
mod slots;
pub mod supervisor;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{mpsc, oneshot};

pub use self::log_buffer::LogLine;
pub use self::memory::MemoryLimits;
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::SERVER_QUEUE_MAX;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::lsp::registry::Catalogue;
use crate::lsp::session::{DiskChange, QueryReply, ServerQuery};

/// A project as a language server must see it: the caller's surroundings, never the daemon's.
#[derive(Clone, Debug)]
pub struct ServerContext {
    /// Absolute root.
    pub root: PathBuf,
    /// The caller's environment.
    pub env: Arc<BTreeMap<String, String>>,
    /// Languages and servers, with the project's own entries.
    pub catalogue: Arc<Catalogue>,
    /// When packages were last installed, looked at once: the look reads whole folders, and every
    /// file of a request needs the answer.
    package_times: Arc<OnceLock<Vec<Option<SystemTime>>>>,
}

impl ServerContext {
    /// What a request finds; a later request makes its own.
    #[must_use]
    pub fn new(
        root: PathBuf,
        env: Arc<BTreeMap<String, String>>,
        catalogue: Arc<Catalogue>,
    ) -> Self {
        Self { root, env, catalogue, package_times: Arc::default() }
    }
}

/// A server that can be asked, or the sensor's name and why it cannot.
pub type ServerSelection = Result<resolve::ResolvedServer, (String, Gap)>;

/// A file that is about to be measured, with the servers that get its text as a document.
#[derive(Clone, Debug)]
pub struct MeasureTarget {
    /// The file.
    pub path: RelPath,
    /// Ids of the servers.
    pub servers: Vec<String>,
}

/// One file to be measured.
#[derive(Clone, Debug)]
pub struct MeasureInput {
    /// The file.
    pub path: RelPath,
    /// Its text.
    pub text: Arc<str>,
    /// Hash of the text.
    pub hash: ContentHash,
}

/// What a language server said about exactly the bytes of one subject.
#[derive(Clone, Debug)]
pub struct ServerMeasurement {
    /// Server id, or the language's name where no server is known.
    pub sensor: String,
    /// The server's version, when it said one.
    pub version: Option<String>,
    /// The findings, or why there are none to be had.
    pub outcome: Result<Vec<Finding>, Gap>,
    /// What the project lacks, where that hides findings; those that remain are in `outcome`.
    pub fault: Option<Gap>,
    /// Time from question to answer.
    pub elapsed: Duration,
}

/// What a server is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It waits for room, or for its handshake.
    Starting,
    /// It says that it is loading the project.
    Loading,
    /// It has nothing to do.
    Ready,
    /// Questions are open.
    Busy,
    /// It does not run.
    Down,
}

impl ServerState {
    /// Its name in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Loading => "loading",
            Self::Ready => "ready",
            Self::Busy => "busy",
            Self::Down => "down",
        }
    }
}

/// A language server, for people.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Server id.
    pub id: String,
    /// Ids of the languages it serves.
    pub languages: Vec<String>,
    /// Its root.
    pub root: PathBuf,
    /// What it is at.
    pub state: ServerState,
    /// Process id, when it runs.
    pub process_id: Option<u32>,
    /// Memory of its process tree; `None` where it cannot be measured.
    pub memory_bytes: Option<u64>,
    /// Time since its start, when it runs.
    pub uptime: Option<Duration>,
    /// Questions it answered.
    pub answered: u64,
    /// Times its process was started anew.
    pub restarts: u64,
    /// Why its process was last given up.
    pub last_gap: Option<Gap>,
}

/// Which servers are meant.
#[derive(Clone, Debug, Default)]
pub struct PoolFilter {
    /// Server ids; none means all.
    pub ids: Vec<String>,
    /// Only those of this root.
    pub root: Option<PathBuf>,
}

/// What became of one server.
#[derive(Clone, Debug)]
pub struct ServerActionResult {
    /// Server id.
    pub id: String,
    /// Its root.
    pub root: PathBuf,
    /// Why it did not work.
    pub outcome: Result<(), Gap>,
}

/// What one server wrote lately.
#[derive(Clone, Debug)]
pub struct ServerLogTail {
    /// Server id.
    pub id: String,
    /// Its root.
    pub root: PathBuf,
    /// Oldest first.
    pub lines: Vec<LogLine>,
}

/// Handle to the pool; cheap to clone.
#[derive(Clone, Debug)]
pub struct LanguageServers {
    pool: mpsc::Sender<pool::PoolRequest>,
    data: PathBuf,
}

impl LanguageServers {
    /// Starts the pool. `data` is where `server install` puts pinned servers; a server nobody
    /// asked for `idle` long is stopped. Needs a tokio runtime.
    #[must_use]
    pub fn start(data: PathBuf, idle: Duration, memory: MemoryLimits) -> Self {
        let (sender, orders) = mpsc::channel(SERVER_QUEUE_MAX);
        tokio::spawn(pool::ServerPool::new(idle, memory).run(orders));
        Self { pool: sender, data }
    }

    /// Which servers would be asked about a file: those the user chose, else the language's main
    /// one or the gap in its place, and its companions. None at all for a file in no known language.
    #[must_use]
    pub fn select(&self, around: &ServerContext, path: &RelPath) -> Vec<ServerSelection> {
        resolve::select_servers(around, &self.data, path)
    }

    /// The auxiliary languages that no installed server speaks about.
    #[must_use]
    pub fn unserved_languages(&self, around: &ServerContext) -> BTreeSet<String> {
        let auxiliary = around.catalogue.languages().filter(|(_, language)| language.auxiliary);
        auxiliary
            .filter(|(_, language)| !resolve::is_served(around, &self.data, language))
            .map(|(id, _)| id.to_owned())
            .collect()
    }

    /// Asks the server that `choose` named; waits until its protocol has a verdict. Dropping the
    /// future gives the answer up, not the work: the server stays warm.
    pub async fn measure(
        &self,
        around: &ServerContext,
        choice: resolve::ResolvedServer,
        subject: MeasureInput,
    ) -> ServerMeasurement {
        let begun = Instant::now();
        let (reply, answer) = oneshot::channel();
        let (sensor, ignored) = (choice.id.clone(), choice.spec.ignore_codes.clone());
        let language_id = choice.language_id.clone();
        let asked = (language_id.clone(), subject.clone());
        let order = actor::ActorRequest::Measure { subject, language_id, reply };
        let ask = pool::RoutedRequest { context: around.clone(), choice, request: order };
        let sent = self.pool.send(pool::PoolRequest::Forward(Box::new(ask))).await.is_ok();
        let (version, outcome) = match answer.await {
            Ok(answer) if sent => answer,
            _ => (None, Err(Gap::new(Cause::Crashed, "the language server's actor is gone"))),
        };
        let elapsed = begun.elapsed();
        let (outcome, fault) = match outcome {
            Ok(mut found) => {
                found.retain(|finding| !ignored.contains(&finding.code));
                let (found, fault) = fault_facts::explain_faults(around, asked, found).await;
                (Ok(found), fault)
            }
            Err(gap) => (Err(gap), None),
        };
        ServerMeasurement { sensor, version, outcome, fault, elapsed }
    }

    /// Passes a request about a document on, once the server has loaded the project. The query's
    /// ticket is not looked at.
    pub async fn query(
        &self,
        around: &ServerContext,
        choice: resolve::ResolvedServer,
        query: ServerQuery,
    ) -> Result<QueryReply, Gap> {
        let (reply, answer) = oneshot::channel();
        let order = actor::ActorRequest::Query { query, reply };
        let ask = pool::RoutedRequest { context: around.clone(), choice, request: order };
        let sent = self.pool.send(pool::PoolRequest::Forward(Box::new(ask))).await.is_ok();
        match answer.await {
            Ok(answer) if sent => answer,
            _ => Err(Gap::new(Cause::Crashed, "the language server's actor is gone")),
        }
    }

    /// Tells every server of a root which files changed on disk; `asked` are about to be measured.
    pub async fn files_changed(
        &self,
        root: PathBuf,
        changes: Vec<(PathBuf, DiskChange)>,
        asked: Vec<MeasureTarget>,
    ) {
        let order = pool::PoolRequest::FilesChanged { root, changes: changes.into(), asked };
        // A pool that is gone has no servers that could be stale.
        let _ = self.pool.send(order).await;
    }

    /// Has one server of a root, and no other, read these files from the disk again.
    pub async fn reread(&self, root: PathBuf, server: String, changes: Vec<(PathBuf, DiskChange)>) {
        let order = pool::PoolRequest::Reread { root, server, changes: changes.into() };
        let _ = self.pool.send(order).await;
    }

    /// Starts a server without a question and waits for its handshake.
    pub async fn start_server(
        &self,
        around: &ServerContext,
        choice: resolve::ResolvedServer,
    ) -> Result<(), Gap> {
        let gone = || Err(Gap::new(Cause::Crashed, "the language server's actor is gone"));
        let (around, choice) = (Box::new(around.clone()), Box::new(choice));
        let started =
            self.request(|reply| pool::PoolRequest::Start { context: around, choice, reply }).await;
        started.unwrap_or_else(gone)
    }

    /// All servers that run, are to run, or went wrong.
    pub async fn list(&self) -> Vec<ServerStatus> {
        self.request(|reply| pool::PoolRequest::List { reply }).await.unwrap_or_default()
    }

    /// What these servers wrote lately.
    pub async fn log(&self, which: PoolFilter) -> Vec<ServerLogTail> {
        self.request(|reply| pool::PoolRequest::Log { which, reply }).await.unwrap_or_default()
    }

    /// Stops these servers and waits until they are gone. The next question starts them again.
    pub async fn stop_selected(&self, which: PoolFilter) -> Vec<ServerActionResult> {
        self.request(|reply| pool::PoolRequest::StopSelected { which, reply })
            .await
            .unwrap_or_default()
    }

    /// Starts these servers anew and waits for their handshakes.
    pub async fn restart(&self, which: PoolFilter) -> Vec<ServerActionResult> {
        self.request(|reply| pool::PoolRequest::Restart { which, reply }).await.unwrap_or_default()
    }

    /// Stops all servers for good and waits until their process trees are gone.
    pub async fn stop_all(&self) {
        let _ = self.request(|reply| pool::PoolRequest::Stop { reply }).await;
    }

    /// `None` when the pool is gone, which has no servers then.
    async fn request<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<T>) -> pool::PoolRequest,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.pool.send(order(reply)).await.ok()?;
        answer.await.ok()
    }
}
