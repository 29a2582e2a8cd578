//! Running language servers: one pool for the whole daemon, one actor per server, at most
//! [`LANGUAGE_SERVERS_MAX`](crate::base::limits::LANGUAGE_SERVERS_MAX) process trees. It must not know hooks, loops or reports.

mod actor;
mod breaker;
mod diary;
mod eviction;
mod facts;
pub mod install;
mod memory;
mod pool;
mod process;
pub mod resolve;
mod room;
pub mod supervisor;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{mpsc, oneshot};

pub use self::diary::LogLine;
pub use self::memory::MemoryLimits;
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::SERVER_QUEUE_MAX;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::lsp::registry::Catalogue;
use crate::lsp::session::{FileChange, Query, Replied};

/// A project as a language server must see it: the caller's surroundings, never the daemon's.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Absolute root.
    pub root: PathBuf,
    /// The caller's environment.
    pub env: Arc<BTreeMap<String, String>>,
    /// Languages and servers, with the project's own entries.
    pub catalogue: Arc<Catalogue>,
    /// When packages were last installed, looked at once: the look reads whole folders, and every
    /// file of a request needs the answer.
    installed: Arc<OnceLock<Vec<Option<SystemTime>>>>,
}

impl Surroundings {
    /// What a request finds; a later request makes its own.
    #[must_use]
    pub fn new(
        root: PathBuf,
        env: Arc<BTreeMap<String, String>>,
        catalogue: Arc<Catalogue>,
    ) -> Self {
        Self { root, env, catalogue, installed: Arc::default() }
    }
}

/// A server that can be asked, or the sensor's name and why it cannot.
pub type Chosen = Result<resolve::Choice, (String, Gap)>;

/// A file that is about to be measured, with the servers that get its text as a document.
#[derive(Clone, Debug)]
pub struct AskedFile {
    /// The file.
    pub path: RelPath,
    /// Ids of the servers.
    pub servers: Vec<String>,
}

/// One file to be measured.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The file.
    pub path: RelPath,
    /// Its text.
    pub text: Arc<str>,
    /// Hash of the text.
    pub hash: ContentHash,
}

/// What a language server said about exactly the bytes of one subject.
#[derive(Clone, Debug)]
pub struct Measured {
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
pub struct Selection {
    /// Server ids; none means all.
    pub ids: Vec<String>,
    /// Only those of this root.
    pub root: Option<PathBuf>,
}

/// What became of one server.
#[derive(Clone, Debug)]
pub struct Done {
    /// Server id.
    pub id: String,
    /// Its root.
    pub root: PathBuf,
    /// Why it did not work.
    pub outcome: Result<(), Gap>,
}

/// What one server wrote lately.
#[derive(Clone, Debug)]
pub struct ServerLog {
    /// Server id.
    pub id: String,
    /// Its root.
    pub root: PathBuf,
    /// Oldest first.
    pub lines: Vec<LogLine>,
}

/// Handle to the pool; cheap to clone.
#[derive(Clone, Debug)]
pub struct Servers {
    pool: mpsc::Sender<pool::Order>,
    data: PathBuf,
}

impl Servers {
    /// Starts the pool. `data` is where `server install` puts pinned servers; a server nobody
    /// asked for `idle` long is stopped. Needs a tokio runtime.
    #[must_use]
    pub fn start(data: PathBuf, idle: Duration, memory: MemoryLimits) -> Self {
        let (sender, orders) = mpsc::channel(SERVER_QUEUE_MAX);
        tokio::spawn(pool::Pool::new(idle, memory).run(orders));
        Self { pool: sender, data }
    }

    /// Which servers would be asked about a file: those the user chose, else the language's main
    /// one or the gap in its place, and its companions. None at all for a file in no known language.
    #[must_use]
    pub fn choose(&self, around: &Surroundings, path: &RelPath) -> Vec<Chosen> {
        resolve::choose(around, &self.data, path)
    }

    /// The auxiliary languages that no installed server speaks about.
    #[must_use]
    pub fn unserved(&self, around: &Surroundings) -> BTreeSet<String> {
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
        around: &Surroundings,
        choice: resolve::Choice,
        subject: Subject,
    ) -> Measured {
        let begun = Instant::now();
        let (reply, answer) = oneshot::channel();
        let (sensor, ignored) = (choice.id.clone(), choice.spec.ignore_codes.clone());
        let language_id = choice.language_id.clone();
        let asked = (language_id.clone(), subject.clone());
        let order = actor::Order::Measure { subject, language_id, reply };
        let ask = pool::Ask { around: around.clone(), choice, order };
        let sent = self.pool.send(pool::Order::Ask(Box::new(ask))).await.is_ok();
        let (version, outcome) = match answer.await {
            Ok(answer) if sent => answer,
            _ => (None, Err(Gap::new(Cause::Crashed, "the language server's actor is gone"))),
        };
        let elapsed = begun.elapsed();
        let (outcome, fault) = match outcome {
            Ok(mut found) => {
                found.retain(|finding| !ignored.contains(&finding.code));
                let (found, fault) = facts::explained(around, asked, found).await;
                (Ok(found), fault)
            }
            Err(gap) => (Err(gap), None),
        };
        Measured { sensor, version, outcome, fault, elapsed }
    }

    /// Passes a request about a document on, once the server has loaded the project. The query's
    /// ticket is not looked at.
    pub async fn query(
        &self,
        around: &Surroundings,
        choice: resolve::Choice,
        query: Query,
    ) -> Result<Replied, Gap> {
        let (reply, answer) = oneshot::channel();
        let order = actor::Order::Query { query, reply };
        let ask = pool::Ask { around: around.clone(), choice, order };
        let sent = self.pool.send(pool::Order::Ask(Box::new(ask))).await.is_ok();
        match answer.await {
            Ok(answer) if sent => answer,
            _ => Err(Gap::new(Cause::Crashed, "the language server's actor is gone")),
        }
    }

    /// Tells every server of a root which files changed on disk; `asked` are about to be measured.
    pub async fn files_changed(
        &self,
        root: PathBuf,
        changes: Vec<(PathBuf, FileChange)>,
        asked: Vec<AskedFile>,
    ) {
        let order = pool::Order::FilesChanged { root, changes: changes.into(), asked };
        // A pool that is gone has no servers that could be stale.
        let _ = self.pool.send(order).await;
    }

    /// Has one server of a root, and no other, read these files from the disk again.
    pub async fn reread(&self, root: PathBuf, server: String, changes: Vec<(PathBuf, FileChange)>) {
        let order = pool::Order::Reread { root, server, changes: changes.into() };
        let _ = self.pool.send(order).await;
    }

    /// Starts a server without a question and waits for its handshake.
    pub async fn warm(&self, around: &Surroundings, choice: resolve::Choice) -> Result<(), Gap> {
        let gone = || Err(Gap::new(Cause::Crashed, "the language server's actor is gone"));
        let (around, choice) = (Box::new(around.clone()), Box::new(choice));
        let started = self.errand(|reply| pool::Order::Start { around, choice, reply }).await;
        started.unwrap_or_else(gone)
    }

    /// All servers that run, are to run, or went wrong.
    pub async fn list(&self) -> Vec<ServerStatus> {
        self.errand(|reply| pool::Order::List { reply }).await.unwrap_or_default()
    }

    /// What these servers wrote lately.
    pub async fn log(&self, which: Selection) -> Vec<ServerLog> {
        self.errand(|reply| pool::Order::Log { which, reply }).await.unwrap_or_default()
    }

    /// Stops these servers and waits until they are gone. The next question starts them again.
    pub async fn stop_some(&self, which: Selection) -> Vec<Done> {
        self.errand(|reply| pool::Order::StopSome { which, reply }).await.unwrap_or_default()
    }

    /// Starts these servers anew and waits for their handshakes.
    pub async fn restart(&self, which: Selection) -> Vec<Done> {
        self.errand(|reply| pool::Order::Restart { which, reply }).await.unwrap_or_default()
    }

    /// Stops all servers for good and waits until their process trees are gone.
    pub async fn stop(&self) {
        let _ = self.errand(|reply| pool::Order::Stop { reply }).await;
    }

    /// `None` when the pool is gone, which has no servers then.
    async fn errand<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> pool::Order) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.pool.send(order(reply)).await.ok()?;
        answer.await.ok()
    }
}
