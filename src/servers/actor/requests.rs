//! What an actor is told: questions in their order, what the pool does with its server, and what the
//! pool may look at.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use tokio::sync::oneshot;

use super::ActorDescription;
use crate::base::finding::Finding;
use crate::base::path::RelPath;
use crate::base::verdict::Gap;
use crate::lsp::session::{DiskChange, QueryReply, ServerQuery};
use crate::servers::MeasureInput;
use crate::servers::log_buffer::LogLine;

/// An answer: the server's version and its verdict.
pub(in crate::servers) type ServerAnswer = (Option<String>, Result<Vec<Finding>, Gap>);

/// What callers ask of a server; taken in order.
pub(in crate::servers) enum ActorRequest {
    /// Measure a file.
    Measure { subject: MeasureInput, language_id: String, reply: oneshot::Sender<ServerAnswer> },
    /// Pass a request on.
    Query { query: ServerQuery, reply: oneshot::Sender<Result<QueryReply, Gap>> },
    /// Files changed on disk.
    FilesChanged { changes: Arc<[(PathBuf, DiskChange)]>, asked: Arc<[RelPath]> },
}

impl ActorRequest {
    /// Answers a question that nobody will work on.
    pub(in crate::servers) fn refuse(self, gap: Gap) {
        // The asker may have gone on.
        match self {
            Self::Measure { reply, .. } => drop(reply.send((None, Err(gap)))),
            Self::Query { reply, .. } => drop(reply.send(Err(gap))),
            Self::FilesChanged { .. } => {}
        }
    }
}

/// Waits for the handshake of a server that is to be started.
pub(super) type StartReply = oneshot::Sender<Result<(), Gap>>;

/// What the pool does with a server, past the questions that wait for it.
pub(in crate::servers) enum ActorControl {
    /// Give the place back, unless somebody needs the server.
    Release,
    /// End the process; `done` is dropped when it is gone.
    Stop { done: oneshot::Sender<()> },
    /// Start the process unless it runs.
    Start { reply: StartReply },
    /// Start the process anew; without a `reply` only if nobody needs the server.
    Restart { reply: Option<StartReply> },
    /// End the process at once; open questions get this gap.
    Kill(Gap),
    /// Say how it is.
    Describe { reply: oneshot::Sender<ActorDescription> },
    /// Say what it wrote.
    Log { reply: oneshot::Sender<Vec<LogLine>> },
}

/// What the pool may look at without asking.
#[derive(Debug, Default)]
pub(in crate::servers) struct ActorGauge {
    /// Whether questions are open or the server says that it is loading.
    pub(in crate::servers) is_needed: AtomicBool,
    /// Whether there is anything to say about it: it runs, is to run, or went wrong.
    pub(in crate::servers) is_listed: AtomicBool,
    /// Process id of the tree's leader, 0 when there is none.
    pub(in crate::servers) process_id: AtomicU32,
    /// Time from a start to the first answer, 0 when there never was one.
    pub(in crate::servers) restart_ms: AtomicU64,
    /// Set by the pool when it could not tell which files changed.
    pub(in crate::servers) has_missed_changes: AtomicBool,
}

/// Who waits for a ticket.
pub(super) enum PendingReply {
    Diagnostics(oneshot::Sender<ServerAnswer>),
    QueryReply(oneshot::Sender<Result<QueryReply, Gap>>),
}

/// What waits for a process, and its turn in it.
pub(super) enum QueuedRequest {
    Request(Box<ActorRequest>),
    Start(Option<StartReply>),
}

impl QueuedRequest {
    pub(super) fn refuse(self, gap: Gap) {
        match self {
            Self::Request(order) => order.refuse(gap),
            Self::Start(Some(reply)) => drop(reply.send(Err(gap))),
            Self::Start(None) => {}
        }
    }
}
