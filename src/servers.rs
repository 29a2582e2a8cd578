//! Running language servers: one pool for the whole daemon, one actor per server, at most
//! [`LANGUAGE_SERVERS_MAX`] processes. It must not know hooks, loops or reports.

mod actor;
pub mod install;
mod pool;
mod process;
pub mod resolve;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::{LANGUAGE_SERVERS_MAX, SERVER_QUEUE_MAX};
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
}

/// A server that can be asked, or the sensor's name and why it cannot.
pub type Chosen = Result<resolve::Choice, (String, Gap)>;

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
    /// Time from question to answer.
    pub elapsed: Duration,
}

/// A running server, for people.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Server id.
    pub id: String,
    /// Its root.
    pub root: PathBuf,
    /// Process id, when it runs.
    pub process_id: Option<u32>,
    /// `starting`, `ready` or `down`.
    pub state: &'static str,
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
    pub fn start(data: PathBuf, idle: Duration) -> Self {
        let (sender, orders) = mpsc::channel(SERVER_QUEUE_MAX);
        tokio::spawn(pool::Pool::new(idle).run(orders));
        Self { pool: sender, data }
    }

    /// Which servers would be asked about a file: the language's main one or the gap in its place,
    /// then its companions. None at all for a file in no known language.
    #[must_use]
    pub fn choose(&self, around: &Surroundings, path: &RelPath) -> Vec<Chosen> {
        resolve::choose(around, &self.data, path).into_iter().collect()
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
        let sensor = choice.id.clone();
        let language_id = choice.language_id.clone();
        let order = actor::Order::Measure { subject, language_id, reply };
        let ask = pool::Ask { around: around.clone(), choice, order };
        let sent = self.pool.send(pool::Order::Ask(Box::new(ask))).await.is_ok();
        let (version, outcome) = match answer.await {
            Ok(answer) if sent => answer,
            _ => (None, Err(Gap::new(Cause::Crashed, "the language server's actor is gone"))),
        };
        Measured { sensor, version, outcome, elapsed: begun.elapsed() }
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
        asked: Vec<RelPath>,
    ) {
        let order =
            pool::Order::FilesChanged { root, changes: changes.into(), asked: asked.into() };
        // A pool that is gone has no servers that could be stale.
        let _ = self.pool.send(order).await;
    }

    /// All servers.
    pub async fn list(&self) -> Vec<ServerStatus> {
        let (reply, answer) = oneshot::channel();
        let _ = self.pool.send(pool::Order::List { reply }).await;
        answer.await.unwrap_or_default()
    }

    /// Stops all servers and waits until their process groups are gone.
    pub async fn stop(&self) {
        let (reply, answer) = oneshot::channel();
        let _ = self.pool.send(pool::Order::Stop { reply }).await;
        let _ = answer.await;
    }
}
