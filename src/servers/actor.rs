//! One actor per language server: the only owner of its process and its session. Starts the
//! process at the first question, after a crash again with growing pauses, and never gives up for
//! good.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::process::Process;
use super::resolve::Choice;
use super::{Subject, Surroundings};
use crate::base::finding::Finding;
use crate::base::limits::{SERVER_RESTART_MS_MAX, SERVER_RESTART_MS_MIN, SERVER_START_MS_MAX};
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::lsp::session::{Effect, FileChange, Place, Query, Question, Replied, Session};
use crate::wire::jsonrpc::Message;

/// An answer: the server's version and its verdict.
pub(super) type Answer = (Option<String>, Result<Vec<Finding>, Gap>);

/// What the pool asks of an actor.
pub(super) enum Order {
    /// Measure a file.
    Measure { subject: Subject, language_id: String, reply: oneshot::Sender<Answer> },
    /// Pass a request on.
    Query { query: Query, reply: oneshot::Sender<Result<Replied, Gap>> },
    /// Files changed on disk.
    FilesChanged { changes: Arc<[(PathBuf, FileChange)]>, asked: Arc<[RelPath]> },
    /// End; the actor's task ends when the process group is gone.
    Stop,
}

impl Order {
    /// Answers a question that nobody will work on.
    pub(super) fn refuse(self, gap: Gap) {
        // The asker may have gone on.
        match self {
            Self::Measure { reply, .. } => drop(reply.send((None, Err(gap)))),
            Self::Query { reply, .. } => drop(reply.send(Err(gap))),
            Self::FilesChanged { .. } | Self::Stop => {}
        }
    }
}

/// Who waits for a ticket.
enum Reply {
    Verdict(oneshot::Sender<Answer>),
    Result(oneshot::Sender<Result<Replied, Gap>>),
}

/// What the pool may look at without asking.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    /// Whether questions are open.
    pub(super) is_busy: AtomicBool,
    /// Process id, 0 when none.
    pub(super) process_id: AtomicU32,
    /// Whether the handshake is done.
    pub(super) is_ready: AtomicBool,
}

pub(super) struct Actor {
    around: Surroundings,
    choice: Choice,
    gauge: Arc<Gauge>,
    running: Option<Running>,
    version: Option<String>,
    replies: HashMap<u64, Reply>,
    next_ticket: u64,
    crash_count: u32,
    retry_at: Option<(Instant, Gap)>,
}

struct Running {
    process: Process,
    session: Session,
    /// Until the handshake is done: when to give up.
    start_deadline: Option<Instant>,
}

impl Actor {
    pub(super) fn new(around: Surroundings, choice: Choice, gauge: Arc<Gauge>) -> Self {
        Self {
            around,
            choice,
            gauge,
            running: None,
            version: None,
            replies: HashMap::new(),
            next_ticket: 0,
            crash_count: 0,
            retry_at: None,
        }
    }

    pub(super) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        loop {
            let wake = self.next_wake();
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Order::Stop) | None => break,
                    Some(order) => self.obey(order),
                },
                message = receive(self.running.as_mut()) => match message {
                    Some(message) => self.hear(message),
                    None => self.crashed().await,
                },
                () = sleep_until(wake) => self.tick(),
            }
            if let Some(gap) = self.perform() {
                self.give_up(gap).await;
            }
            self.show();
        }
        if let Some(mut running) = self.running.take() {
            running.session.stop();
            let effects = running.session.take_effects();
            self.deliver(effects, Some(&running.process));
            running.process.end().await;
        }
        self.show();
    }

    fn obey(&mut self, order: Order) {
        match order {
            order @ (Order::Measure { .. } | Order::Query { .. }) => self.ask(order),
            Order::FilesChanged { changes, asked } => {
                if let Some(running) = &mut self.running {
                    running.session.files_changed(&changes, &asked);
                }
            }
            Order::Stop => {}
        }
    }

    fn ask(&mut self, order: Order) {
        let now = Instant::now();
        if let Some((at, gap)) = &self.retry_at
            && now < *at
        {
            return order.refuse(gap.clone());
        }
        if self.running.is_none()
            && let Err(gap) = self.start(now)
        {
            return order.refuse(gap);
        }
        let Some(running) = &mut self.running else { return };
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        match order {
            Order::Measure { subject: Subject { path, text, hash }, language_id, reply } => {
                self.replies.insert(ticket, Reply::Verdict(reply));
                running.session.ask(Question { ticket, path, language_id, text, hash }, now);
            }
            Order::Query { mut query, reply } => {
                self.replies.insert(ticket, Reply::Result(reply));
                query.document.ticket = ticket;
                running.session.query(query, now);
            }
            Order::FilesChanged { .. } | Order::Stop => {}
        }
    }

    fn start(&mut self, now: Instant) -> Result<(), Gap> {
        let Choice { id, spec, program, settings, .. } = &self.choice;
        let root = &self.around.root;
        let process = Process::spawn(program, &spec.args, &self.choice.workspace, &self.around.env)
            .map_err(|error| {
                Gap::new(Cause::Crashed, format!("cannot start {}: {error}", program.display()))
            })?;
        tracing::info!(server = id, root = %root.display(), pid = process.id(), "started");
        let place = Place { root: root.clone(), workspace: self.choice.workspace.clone() };
        let session = Session::start(id, spec, settings.clone(), place, std::process::id());
        let start_deadline = Some(now + Duration::from_millis(SERVER_START_MS_MAX));
        self.running = Some(Running { process, session, start_deadline });
        Ok(())
    }

    fn hear(&mut self, message: Message) {
        if let Some(running) = &mut self.running {
            running.session.message(message, Instant::now());
        }
    }

    fn tick(&mut self) {
        if let Some(running) = &mut self.running {
            running.session.tick(Instant::now());
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let running = self.running.as_ref()?;
        [running.session.next_wake(), running.start_deadline].into_iter().flatten().min()
    }

    /// Does what the session wants; a gap means that the process must go.
    fn perform(&mut self) -> Option<Gap> {
        let running = self.running.as_mut()?;
        let effects = running.session.take_effects();
        if effects.iter().any(|effect| matches!(effect, Effect::Ready(_))) {
            running.start_deadline = None;
        }
        let overdue = running.start_deadline.is_some_and(|deadline| deadline <= Instant::now());
        let running = self.running.take()?;
        let gap = self.deliver(effects, Some(&running.process));
        self.running = Some(running);
        let too_slow = || {
            let secs = SERVER_START_MS_MAX / 1000;
            Gap::new(Cause::TimedOut, format!("it did not start within {secs} s"))
        };
        gap.or_else(|| overdue.then(too_slow))
    }

    fn deliver(&mut self, effects: Vec<Effect>, process: Option<&Process>) -> Option<Gap> {
        let mut give_up = None;
        for effect in effects {
            match effect {
                Effect::Send(message) => {
                    if process.is_some_and(|process| process.send(message).is_err()) {
                        give_up = Some(Gap::new(Cause::Crashed, "it does not read its input"));
                    }
                }
                Effect::Answer(ticket, outcome) => {
                    self.crash_count = if outcome.is_ok() { 0 } else { self.crash_count };
                    if let Some(Reply::Verdict(reply)) = self.replies.remove(&ticket) {
                        // The asker may have gone on; the verdict is then simply not needed.
                        let _ = reply.send((self.version.clone(), outcome));
                    }
                }
                Effect::Replied(ticket, outcome) => {
                    if let Some(Reply::Result(reply)) = self.replies.remove(&ticket) {
                        let _ = reply.send(outcome);
                    }
                }
                Effect::Ready(version) => {
                    self.version = version;
                    self.gauge.is_ready.store(true, Ordering::Relaxed);
                }
                Effect::Give(gap) => give_up = Some(gap),
            }
        }
        give_up
    }

    async fn crashed(&mut self) {
        let Some(running) = &mut self.running else { return };
        let words = running.process.last_words().await;
        self.give_up(Gap::new(Cause::Crashed, format!("it ended: {words}"))).await;
    }

    async fn give_up(&mut self, gap: Gap) {
        let Some(mut running) = self.running.take() else { return };
        let server = &self.choice.id;
        tracing::warn!(server, root = %self.around.root.display(), %gap, "gave up a process");
        running.session.fail(&gap);
        let effects = running.session.take_effects();
        self.deliver(effects, None);
        running.process.kill().await;
        let pause_ms = SERVER_RESTART_MS_MAX.min(SERVER_RESTART_MS_MIN << self.crash_count.min(10));
        self.crash_count += 1;
        self.retry_at = Some((Instant::now() + Duration::from_millis(pause_ms), gap));
    }

    fn show(&self) {
        let busy = self.running.as_ref().is_some_and(|running| running.session.is_busy());
        let id = self.running.as_ref().and_then(|running| running.process.id()).unwrap_or(0);
        self.gauge.is_busy.store(busy, Ordering::Relaxed);
        self.gauge.process_id.store(id, Ordering::Relaxed);
        if self.running.is_none() {
            self.gauge.is_ready.store(false, Ordering::Relaxed);
        }
    }
}

async fn receive(running: Option<&mut Running>) -> Option<Message> {
    match running {
        Some(running) => running.process.receive().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
