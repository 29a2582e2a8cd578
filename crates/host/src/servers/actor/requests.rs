//! An actor's interfaces: requests in their order, control messages from the pool, and the gauge
//! that the pool reads without asking.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use tokio::sync::oneshot;

use super::ActorDescription;
use crate::servers::MeasureInput;
use crate::servers::log_buffer::LogLine;
use moai_base::finding::Finding;
use moai_base::verdict::Gap;
use moai_lsp::session::{DiskChange, PresentText, QueryReply, ServerQuery};

/// A server's answer to a measurement.
pub(in crate::servers) struct ServerAnswer {
    /// The server's version, if it reports one.
    pub(in crate::servers) version: Option<String>,
    /// The findings, or why there are none to rely on.
    pub(in crate::servers) outcome: Result<Vec<Finding>, Gap>,
    /// Why the findings are incomplete: the server cannot read a configuration.
    pub(in crate::servers) configuration_gap: Option<Gap>,
}

impl ServerAnswer {
    /// The answer when no server has answered.
    pub(in crate::servers) fn of_gap(gap: Gap) -> Self {
        Self { version: None, outcome: Err(gap), configuration_gap: None }
    }
}

/// A caller's request to a server; processed in order.
pub(in crate::servers) enum ActorRequest {
    Measure {
        subject: MeasureInput,
        language_id: String,
        reply: oneshot::Sender<ServerAnswer>,
    },
    /// Pass a request on.
    Query {
        query: ServerQuery,
        reply: oneshot::Sender<Result<QueryReply, Gap>>,
    },
    /// Files changed on disk; `present` are the texts of some of them.
    FilesChanged {
        changes: Arc<[(PathBuf, DiskChange)]>,
        present: Arc<[PresentText]>,
    },
}

impl ActorRequest {
    /// Answers a request that will not be processed.
    pub(in crate::servers) fn refuse(self, gap: Gap) {
        // The caller may have dropped its receiver.
        match self {
            Self::Measure { reply, .. } => drop(reply.send(ServerAnswer::of_gap(gap))),
            Self::Query { reply, .. } => drop(reply.send(Err(gap))),
            Self::FilesChanged { .. } => {}
        }
    }
}

/// Reports the outcome of a server's start.
pub(in crate::servers) type StartReply = oneshot::Sender<Result<(), Gap>>;

/// Control messages from the pool, which overtake queued requests.
pub(in crate::servers) enum ActorControl {
    /// Return the slot unless the server is needed.
    Release,
    /// End the process; `done` is dropped when it has ended.
    Stop {
        done: oneshot::Sender<()>,
    },
    /// Start the process unless it is running.
    Start {
        reply: StartReply,
    },
    /// Restart the process; without a `reply` only if the server is not needed.
    Restart {
        reply: Option<StartReply>,
    },
    /// Kill the process; open requests get this gap.
    Kill(Gap),
    Describe {
        reply: oneshot::Sender<ActorDescription>,
    },
    /// Report the log lines.
    Log {
        reply: oneshot::Sender<Vec<LogLine>>,
    },
}

/// Atomics that the pool reads without asking the actor.
#[derive(Debug, Default)]
pub(in crate::servers) struct ActorGauge {
    /// True if requests are open or the server is loading.
    pub(in crate::servers) is_needed: AtomicBool,
    /// True if status lists show it: it runs, waits to start, or failed.
    pub(in crate::servers) is_listed: AtomicBool,
    /// Process id of the tree's leader; 0 without a process.
    pub(in crate::servers) process_id: AtomicU32,
    /// Time from a start to the first answer; 0 before any answer.
    pub(in crate::servers) restart_ms: AtomicU64,
    /// Set when the server would answer from outdated files: by the pool when a file change did not
    /// fit into the actor's queue, by the session when a notice is not enough.
    pub(in crate::servers) is_outdated: AtomicBool,
}

/// The receiver of a ticket's answer.
pub(super) enum PendingReply {
    Diagnostics(oneshot::Sender<ServerAnswer>),
    QueryReply(oneshot::Sender<Result<QueryReply, Gap>>),
}

/// An entry of the queue for a running process.
pub(super) enum QueuedRequest {
    Request(Box<ActorRequest>),
    Start(Option<StartReply>),
}

impl QueuedRequest {
    pub(super) fn refuse(self, gap: Gap) {
        match self {
            Self::Request(request) => request.refuse(gap),
            Self::Start(Some(reply)) => drop(reply.send(Err(gap))),
            Self::Start(None) => {}
        }
    }
}
