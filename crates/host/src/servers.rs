//! Running language servers: one pool for the daemon, one actor per server, at most
//! [`LANGUAGE_SERVERS_MAX`](moai_base::limits::LANGUAGE_SERVERS_MAX) process trees.

mod actor;
mod breaker;
mod cargo_records;
mod checking_config;
mod clangd_config;
pub mod compile_database;
mod eviction;
mod fault_facts;
mod forced_includes;
mod go_workspace;
pub mod install;
mod installed_packages;
mod java_samples;
mod log_buffer;
mod memory;
mod pool;
mod process;
mod project_files;
pub mod resolve;
mod slots;
mod storage;
pub mod supervisor;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use self::checking_config::CheckingConfig;
pub use self::checking_config::configurations_based_on;
use self::compile_database::DatabaseSearch;
use self::fault_facts::MeasuredFile;
use self::installed_packages::InstalledPackages;
pub use self::log_buffer::LogLine;
pub use self::memory::MemoryLimits;
pub use self::resolve::ServerIdentity;
use self::resolve::ServerTools;
pub use self::storage::remove_orphaned_storage;
use moai_base::finding::{Finding, Severity};
use moai_base::hash::ContentHash;
use moai_base::limits::SERVER_QUEUE_MAX;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_lsp::registry::Catalogue;
use moai_lsp::session::{
    DiskChange, MeasureLane, OutsidePlaces, PresentText, QueryReply, ServerQuery,
};

/// A project as its language servers see it, in the caller's environment and not the daemon's.
#[derive(Clone, Debug)]
pub struct ServerContext {
    /// Absolute root.
    pub root: PathBuf,
    pub env: Arc<BTreeMap<String, String>>,
    /// Languages and servers, with the project's own entries.
    pub catalogue: Arc<Catalogue>,
    pub programs: ProjectPrograms,
    facts: Arc<RequestFacts>,
}

/// Permission to start programs that a project configures or contains, or that run its code.
#[derive(Clone, Debug)]
pub enum ProjectPrograms {
    /// The user trusts the project.
    Allowed,
    /// The user does not.
    Withheld(Arc<WithheldPrograms>),
}

/// Programs that are not used in a project that the user has not trusted.
#[derive(Debug)]
pub struct WithheldPrograms {
    /// The folder whose programs are not used: the working tree, of which the root may be a part.
    pub folder: PathBuf,
    /// Ids of the servers that the project's files describe or change.
    pub servers: BTreeSet<String>,
    /// The gap reported instead of their results.
    pub gap: Gap,
}

/// Facts that are read from the disk once per request, because every file of the request needs them.
#[derive(Debug, Default)]
struct RequestFacts {
    /// The folders of the caller's PATH, without links.
    path_folders: OnceLock<Vec<PathBuf>>,
    /// The project's Python interpreter.
    python: OnceLock<resolve::PythonInterpreter>,
    /// Digest of the installed packages; computing it means looking at all their folders.
    packages: OnceLock<u64>,
    /// The first environment that a configuration names, and the digest of its packages.
    configured_packages: OnceLock<(PathBuf, u64)>,
    /// The first compilation database that was needed.
    compile_database: OnceLock<(PathBuf, Arc<compile_database::CompileEntries>)>,
    /// The programs of each server, by its id.
    tools: BTreeMap<String, OnceLock<ServerTools>>,
}

impl ServerContext {
    /// The context of one request; every request makes its own.
    #[must_use]
    pub fn new(
        root: PathBuf,
        env: Arc<BTreeMap<String, String>>,
        catalogue: Arc<Catalogue>,
        programs: ProjectPrograms,
    ) -> Self {
        let tools = catalogue.server_ids().map(|id| (id.to_owned(), OnceLock::new())).collect();
        let facts = Arc::new(RequestFacts { tools, ..RequestFacts::default() });
        Self { root, env, catalogue, programs, facts }
    }

    /// The withheld programs; `None` in a trusted project.
    fn withheld(&self) -> Option<&WithheldPrograms> {
        match &self.programs {
            ProjectPrograms::Allowed => None,
            ProjectPrograms::Withheld(withheld) => Some(withheld),
        }
    }
}

/// A server that can be started, or the sensor's name and why it cannot.
pub type ServerSelection = Result<resolve::ResolvedServer, (String, Gap)>;

/// One file to be measured.
#[derive(Clone, Debug)]
pub struct MeasureInput {
    pub path: RelPath,
    pub text: Arc<str>,
    /// Hash of the text.
    pub hash: ContentHash,
    /// Decides whether it may overtake other requests.
    pub lane: MeasureLane,
}

/// The result of one language server for exactly the bytes of one file.
#[derive(Clone, Debug)]
pub struct ServerMeasurement {
    /// Server id, or the language's name where no server is known.
    pub sensor: String,
    /// The server's version, if it reports one.
    pub version: Option<String>,
    /// The findings, or why the file was not measured.
    pub outcome: Result<Vec<Finding>, Gap>,
    /// A fault or a choice of the project that hides findings; those that remain are in `outcome`.
    pub fault: Option<Gap>,
    /// Time from request to answer.
    pub elapsed: Duration,
}

/// The state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It waits for a process slot or for its handshake.
    Starting,
    /// It reports that it is loading the project.
    Loading,
    Ready,
    /// It has open requests.
    Busy,
    /// It is not running.
    Down,
}

impl ServerState {
    /// The state's name in JSON documents.
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

/// A language server as the user sees it in a list.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    pub id: String,
    /// Ids of the languages it serves.
    pub languages: Vec<String>,
    pub root: PathBuf,
    pub state: ServerState,
    /// Process id, when it runs.
    pub process_id: Option<u32>,
    /// Memory of its process tree; `None` where it cannot be measured.
    pub memory_bytes: Option<u64>,
    /// Time since its start, while it runs.
    pub uptime: Option<Duration>,
    /// Number of requests it has answered.
    pub answered: u64,
    /// Number of restarts of its process.
    pub restarts: u64,
    /// Why its process was last abandoned.
    pub last_gap: Option<Gap>,
}

#[derive(Clone, Debug, Default)]
pub struct PoolFilter {
    /// Server ids; empty means all.
    pub ids: Vec<String>,
    /// Only those of this root.
    pub root: Option<PathBuf>,
}

/// Files outside the polled files of its root that a running server depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerReach {
    /// The files and folders.
    pub places: Arc<OutsidePlaces>,
    /// When its process was started, in nanoseconds since the epoch; it has read no older state of
    /// a file. 0 for a server that is not running.
    pub started_ns: i128,
}

/// The result of stopping or restarting one server.
#[derive(Clone, Debug)]
pub struct ServerActionResult {
    pub id: String,
    pub root: PathBuf,
    /// Success, or why it failed.
    pub outcome: Result<(), Gap>,
}

/// The latest log lines of one server.
#[derive(Clone, Debug)]
pub struct ServerLogTail {
    pub id: String,
    pub root: PathBuf,
    /// Oldest first.
    pub lines: Vec<LogLine>,
}

/// Handle to the pool; cheap to clone.
#[derive(Clone, Debug)]
pub struct LanguageServers {
    pool: mpsc::Sender<pool::PoolRequest>,
    data: PathBuf,
    packages: Arc<InstalledPackages>,
}

impl LanguageServers {
    /// Starts the pool. `data` is where `server install` puts pinned servers; a server without
    /// requests for `idle` is stopped. Needs a tokio runtime.
    #[must_use]
    pub fn start(data: PathBuf, idle: Duration, memory: MemoryLimits) -> Self {
        let (sender, requests) = mpsc::channel(SERVER_QUEUE_MAX);
        tokio::spawn(pool::ServerPool::new(idle, memory).run(requests));
        Self { pool: sender, data, packages: Arc::default() }
    }

    /// The servers to ask about a file: those the user chose, else the language's main server (or
    /// the gap in its place) and its companions. Empty for a file in no known language.
    #[must_use]
    pub fn select(&self, context: &ServerContext, path: &RelPath) -> Vec<ServerSelection> {
        resolve::select_servers(context, &self.data, &self.packages, path)
    }

    /// The auxiliary languages without an installed server.
    #[must_use]
    pub fn unserved_languages(&self, context: &ServerContext) -> BTreeSet<String> {
        let auxiliary = context.catalogue.languages().filter(|(_, language)| language.auxiliary);
        auxiliary
            .filter(|(_, language)| !resolve::is_served(context, &self.data, language))
            .map(|(id, _)| id.to_owned())
            .collect()
    }

    /// Measures a file with a selected server; waits until its protocol has a verdict. Dropping the
    /// future abandons the answer, not the work: the server stays warm.
    pub async fn measure(
        &self,
        context: &ServerContext,
        choice: resolve::ResolvedServer,
        subject: MeasureInput,
    ) -> ServerMeasurement {
        let started_at = Instant::now();
        let (reply, answer) = oneshot::channel();
        let sensor = choice.id.clone();
        let ignored = choice.spec.ignore_codes.clone();
        let raised = choice.spec.raised_to_errors.clone();
        let lowered = choice.spec.lowered_to_warnings.clone();
        let language_id = choice.language_id.clone();
        let withheld = choice.withheld.clone();
        let checking = CheckingConfig::of_server(&choice);
        let database = DatabaseSearch::of_server(context, &choice);
        let measured = subject.clone();
        let request =
            actor::ActorRequest::Measure { subject, language_id: language_id.clone(), reply };
        let routed = pool::RoutedRequest { context: context.clone(), choice, request };
        let sent = self.pool.send(pool::PoolRequest::Forward(Box::new(routed))).await.is_ok();
        let answer = match answer.await {
            Ok(answer) if sent => answer,
            _ => {
                let gap = Gap::new(Cause::Crashed, "the language server's task ended");
                actor::ServerAnswer::of_gap(gap)
            }
        };
        let elapsed = started_at.elapsed();
        let (outcome, fault) = match answer.outcome {
            Ok(findings) => {
                let file = MeasuredFile { input: measured, language_id, checking, database };
                let explained = fault_facts::explain_faults(context, file, findings).await;
                let (mut findings, fault) = explained;
                findings.retain(|finding| !ignored.contains(&finding.code));
                for finding in &mut findings {
                    let message = finding.message.as_str();
                    if raised.iter().any(|start| message.starts_with(start.as_str())) {
                        finding.severity = Severity::Error;
                    } else if lowered.iter().any(|start| message.starts_with(start.as_str())) {
                        finding.severity = finding.severity.min(Severity::Warning);
                    }
                }
                (Ok(findings), withheld.or(answer.configuration_gap).or(fault))
            }
            Err(gap) => (Err(gap), None),
        };
        ServerMeasurement { sensor, version: answer.version, outcome, fault, elapsed }
    }

    /// Forwards a request about a document once the server has loaded the project. The query's own
    /// ticket is ignored.
    pub async fn query(
        &self,
        context: &ServerContext,
        choice: resolve::ResolvedServer,
        query: ServerQuery,
    ) -> Result<QueryReply, Gap> {
        let (reply, answer) = oneshot::channel();
        let request = actor::ActorRequest::Query { query, reply };
        let routed = pool::RoutedRequest { context: context.clone(), choice, request };
        let sent = self.pool.send(pool::PoolRequest::Forward(Box::new(routed))).await.is_ok();
        match answer.await {
            Ok(answer) if sent => answer,
            _ => Err(Gap::new(Cause::Crashed, "the language server's task ended")),
        }
    }

    /// Reports changed files to every server of a root; `present` are the texts of those that the
    /// caller has read since they changed.
    pub async fn files_changed(
        &self,
        root: PathBuf,
        changes: Vec<(PathBuf, DiskChange)>,
        present: Vec<PresentText>,
    ) {
        let (changes, present) = (changes.into(), present.into());
        let request = pool::PoolRequest::FilesChanged { root, changes, present };
        // If the pool has ended, no server is left that could be stale.
        let _ = self.pool.send(request).await;
    }

    /// Files outside the polled ones that the running servers of a root depend on.
    pub async fn reaches(&self, root: PathBuf) -> Vec<ServerReach> {
        let reaches = self.request(|reply| pool::PoolRequest::Reaches { root, reply }).await;
        reaches.unwrap_or_default()
    }

    /// Makes only one server of a root read these files from disk again.
    pub async fn reread(&self, root: PathBuf, server: String, changes: Vec<(PathBuf, DiskChange)>) {
        let request = pool::PoolRequest::Reread { root, server, changes: changes.into() };
        let _ = self.pool.send(request).await;
    }

    /// Starts a server without a request and waits for its handshake.
    pub async fn start_server(
        &self,
        context: &ServerContext,
        choice: resolve::ResolvedServer,
    ) -> Result<(), Gap> {
        let gone = || Err(Gap::new(Cause::Crashed, "the language server's task ended"));
        let (context, choice) = (Box::new(context.clone()), Box::new(choice));
        let started =
            self.request(|reply| pool::PoolRequest::Start { context, choice, reply }).await;
        started.unwrap_or_else(gone)
    }

    /// All servers that are running, waiting to start, or failed.
    pub async fn list(&self) -> Vec<ServerStatus> {
        self.request(|reply| pool::PoolRequest::List { reply }).await.unwrap_or_default()
    }

    /// The latest log lines of the selected servers.
    pub async fn log(&self, filter: PoolFilter) -> Vec<ServerLogTail> {
        self.request(|reply| pool::PoolRequest::Log { filter, reply }).await.unwrap_or_default()
    }

    /// Stops the selected servers and waits for their end. The next request starts them again.
    pub async fn stop_selected(&self, filter: PoolFilter) -> Vec<ServerActionResult> {
        self.request(|reply| pool::PoolRequest::StopSelected { filter, reply })
            .await
            .unwrap_or_default()
    }

    /// Restarts the selected servers and waits for their handshakes.
    pub async fn restart(&self, filter: PoolFilter) -> Vec<ServerActionResult> {
        self.request(|reply| pool::PoolRequest::Restart { filter, reply }).await.unwrap_or_default()
    }

    /// Stops all servers for good and waits until their process trees have ended.
    pub async fn stop_all(&self) {
        let _ = self.request(|reply| pool::PoolRequest::Stop { reply }).await;
    }

    /// `None` when the pool has ended; then no servers are left.
    async fn request<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> pool::PoolRequest,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.pool.send(request(reply)).await.ok()?;
        answer.await.ok()
    }
}
