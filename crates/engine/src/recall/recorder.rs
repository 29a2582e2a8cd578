//! One task writes the hooks' notes, in their order. It waits a moment after the first event, so that the
//! reply of the hook that noted it can leave first.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::recall::stored_events::EventStore;
use moai_base::limits::{RECORDER_EVENTS_MAX, RECORDER_QUIET_MS};
use moai_host::memory::MemoryStore;
use moai_loops::framework::MessageLanguage;
use moai_memory::database::Injection;
use moai_memory::observe::ObservationDraft;
use moai_memory::observe::ObservationOrigin;
use moai_memory::observe::digest::SessionDigest;
use moai_protocol::hook::TextBeforeEdit;
use moai_report::agent::EditFeedback;

use std::sync::Arc;

/// An event to record in the memory.
#[derive(Debug)]
pub(crate) struct NotedEvent {
    pub(crate) origin: ObservationOrigin,
    /// The language of titles.
    pub(crate) language: MessageLanguage,
    pub(crate) kind: NotedEventKind,
}

#[derive(Debug)]
pub(crate) enum NotedEventKind {
    /// A person's prompt, as it was typed.
    Prompt(String),
    /// The goal that a person set for a loop.
    Goal(String),
    /// An edit, and its measurement.
    Edit(Box<NotedEdit>),
    /// A command that ended with an error, and the host's report of it.
    FailedCommand(NotedCommand),
    /// Decisions that an agent has written down so far.
    Decisions(Vec<String>),
    /// Observations that need nothing else.
    Drafts(Vec<ObservationDraft>),
    /// Observations shown to the agent.
    Shown(Vec<Injection>),
    /// An earlier session, and its digest.
    EarlierSession(Box<NotedSession>),
    /// The host ended the session.
    SessionEnd,
}

/// A command that ended with an error; see [`moai_protocol::hook::FailedToolCall`].
#[derive(Debug)]
pub(crate) struct NotedCommand {
    pub(crate) command: String,
    pub(crate) description: String,
    pub(crate) error: String,
}

/// An edit of a file.
#[derive(Debug)]
pub(crate) struct NotedEdit {
    /// True if a sensor handles the file.
    pub(crate) has_sensor: bool,
    pub(crate) feedback: EditFeedback,
    pub(crate) before: TextBeforeEdit,
    pub(crate) after: Arc<str>,
}

/// A session other than the one that noted the event.
#[derive(Debug)]
pub(crate) struct NotedSession {
    pub(crate) id: String,
    /// When it was last active, in milliseconds since 1970.
    pub(crate) last_ms: i64,
    pub(crate) digest: SessionDigest,
}

enum QueuedEvent {
    Noted(Box<NotedEvent>),
    /// Answered when everything before it is written.
    Flush(oneshot::Sender<()>),
}

/// Handle to the task.
#[derive(Debug)]
pub(crate) struct MemoryRecorder {
    events: mpsc::Sender<QueuedEvent>,
}

impl MemoryRecorder {
    /// Starts the task, which ends with the handle. Needs a tokio runtime.
    pub(crate) fn start(store: MemoryStore) -> Self {
        let (events, queue) = mpsc::channel(RECORDER_EVENTS_MAX);
        tokio::spawn(record(queue, EventStore::new(store)));
        Self { events }
    }

    /// Queues an event; beyond the bound it is lost, because the memory must not hold up an agent.
    pub(crate) fn note(&self, event: NotedEvent) {
        if self.events.try_send(QueuedEvent::Noted(Box::new(event))).is_err() {
            tracing::warn!("an event was not noted: too many wait for the memory");
        }
    }

    /// Waits until everything noted so far is written, at most this long.
    pub(crate) async fn flush(&self, bound: Duration) {
        let (done, written) = oneshot::channel();
        let flushed = async {
            if self.events.send(QueuedEvent::Flush(done)).await.is_ok() {
                let _ = written.await;
            }
        };
        if tokio::time::timeout(bound, flushed).await.is_err() {
            tracing::warn!("the memory is slow to write");
        }
    }
}

async fn record(mut queue: mpsc::Receiver<QueuedEvent>, mut store: EventStore) {
    let quiet = Duration::from_millis(RECORDER_QUIET_MS);
    let mut waiting = Vec::new();
    while let Some(first) = queue.recv().await {
        waiting.push(first);
        let quiet_end = tokio::time::Instant::now() + quiet;
        // A flush ends the wait.
        while !matches!(waiting.last(), Some(QueuedEvent::Flush(_))) {
            match tokio::time::timeout_at(quiet_end, queue.recv()).await {
                Ok(Some(next)) => waiting.push(next),
                Ok(None) | Err(_) => break,
            }
        }
        for event in waiting.drain(..) {
            match event {
                QueuedEvent::Noted(event) => store.write(*event).await,
                QueuedEvent::Flush(done) => drop(done.send(())),
            }
        }
    }
}
