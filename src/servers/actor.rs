//! One actor per language server: the only owner of its process and its session. Starts the
//! process at the first question, once there is room for it, after a crash again with growing
//! pauses, and never gives up for good. It waits for nothing but its own process's last words.

mod description;
mod effects;
mod orders;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

pub(super) use self::description::Description;
pub(super) use self::orders::{Control, Gauge, Order};
use self::orders::{Reply, Started, Wanted};
use super::breaker::Breaker;
use super::diary::Diary;
use super::process::{Heard, Process};
use super::resolve::Choice;
use super::room::{ActorId, Note, Slot};
use super::{Subject, Surroundings};
use crate::base::limits::{
    LANGUAGE_SERVERS_MAX, SERVER_LOADING_MS_MAX, SERVER_QUEUE_MAX, SERVER_ROOM_MS_MAX,
    SERVER_START_MS_MAX,
};
use crate::base::verdict::{Cause, Gap};
use crate::lsp::session::{Place, Question, Session};
use crate::wire::jsonrpc::Message;

pub(super) struct Actor {
    id: ActorId,
    around: Surroundings,
    choice: Choice,
    gauge: Arc<Gauge>,
    notes: mpsc::UnboundedSender<Note>,
    running: Option<Running>,
    /// The place that was asked for.
    room: Option<oneshot::Receiver<Slot>>,
    wanted: VecDeque<(Instant, Wanted)>,
    starting: Vec<Started>,
    version: Option<String>,
    replies: HashMap<u64, (Instant, Reply)>,
    next_ticket: u64,
    breaker: Breaker,
    /// The one question that is asked after a crash until it is answered.
    trial: Option<u64>,
    diary: Diary,
    orders: mpsc::Receiver<Order>,
    answered: u64,
    starts: u64,
}

struct Running {
    process: Process,
    slot: Slot,
    session: Session,
    started: Instant,
    /// Until the handshake is done: when to give up.
    start_deadline: Option<Instant>,
    /// Since when it says that it is loading.
    loading_since: Option<Instant>,
    /// Time from the start until it was loaded, as far as that is known before the first answer.
    load: Duration,
    has_answered: bool,
}

impl Actor {
    pub(super) fn new(
        id: ActorId,
        around: Surroundings,
        choice: Choice,
        (orders, gauge): (mpsc::Receiver<Order>, Arc<Gauge>),
        notes: mpsc::UnboundedSender<Note>,
    ) -> Self {
        Self {
            id,
            around,
            choice,
            gauge,
            notes,
            running: None,
            room: None,
            wanted: VecDeque::new(),
            starting: Vec::new(),
            version: None,
            replies: HashMap::new(),
            next_ticket: 0,
            breaker: Breaker::default(),
            trial: None,
            diary: Diary::default(),
            orders,
            answered: 0,
            starts: 0,
        }
    }

    /// Works until the pool drops its ends; the place is given back when the process is gone.
    pub(super) async fn run(mut self, mut controls: mpsc::Receiver<Control>) {
        loop {
            let wake = self.next_wake();
            tokio::select! {
                control = controls.recv() => match control {
                    Some(control) => self.control(control),
                    None => break,
                },
                order = self.orders.recv() => match order {
                    Some(order) => self.obey(order),
                    None => break,
                },
                slot = receive_slot(self.room.as_mut()) => self.enter(slot),
                heard = hear(self.running.as_mut()) => match heard {
                    Heard::Message(message) => self.hear(message),
                    Heard::Line(line) => self.diary.note("stderr", &line),
                    Heard::End => self.crashed().await,
                },
                () = sleep_until(wake) => self.tick(),
            }
            self.settle();
        }
        // Nobody may be left without an answer.
        while let Ok(order) = self.orders.try_recv() {
            order.refuse(stopped());
        }
        self.refuse_wanted(&stopped());
        if let Some(process) = self.leave() {
            process.await;
        }
        self.show();
    }

    /// After each event: what the session wants is done, what waits is asked, the gauge is right.
    fn settle(&mut self) {
        if self.gauge.has_missed_changes.swap(false, Ordering::Relaxed) {
            // It would answer from files as they were.
            self.leave_behind(None);
        }
        loop {
            if let Some(gap) = self.perform() {
                self.give_up(gap);
            }
            if self.wanted.is_empty() || self.trial.is_some() {
                break;
            }
            if self.running.is_none() {
                self.want_room();
                break;
            }
            self.ask_wanted();
        }
        self.tell_started();
        self.show();
    }

    fn control(&mut self, control: Control) {
        match control {
            Control::Release | Control::Restart { reply: None } if self.is_needed() => {
                self.show();
                let _ = self.notes.send(Note::Refused(self.id));
            }
            Control::Release => self.leave_behind(None),
            Control::Stop { done } => {
                self.refuse_wanted(&stopped());
                self.leave_behind(Some(done));
            }
            Control::Start { reply } => {
                self.breaker.reset();
                self.want(Wanted::Start(Some(reply)));
            }
            Control::Restart { reply: None } if self.running.is_none() => {}
            Control::Restart { reply } => {
                self.breaker.reset();
                self.leave_behind(None);
                self.want(Wanted::Start(reply));
            }
            Control::Kill(gap) => self.give_up(gap),
            Control::Describe { reply } => drop(reply.send(self.describe())),
            Control::Log { reply } => drop(reply.send(self.diary.lines())),
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::FilesChanged { changes, asked } => {
                if let Some(running) = &mut self.running {
                    running.session.files_changed(&changes, &asked);
                }
                // What waits holds texts from before the change; it is told in its turn, and has
                // no deadline of its own: alone it would not be worth a process.
                if let Some((deadline, _)) = self.wanted.back()
                    && self.wanted.len() < SERVER_QUEUE_MAX
                {
                    let order = Box::new(Order::FilesChanged { changes, asked });
                    self.wanted.push_back((*deadline, Wanted::Question(order)));
                }
            }
            question => match self.breaker.refuses(Instant::now()) {
                Some(gap) => question.refuse(gap.clone()),
                None => self.want(Wanted::Question(Box::new(question))),
            },
        }
    }

    fn want(&mut self, wanted: Wanted) {
        if self.wanted.len() >= SERVER_QUEUE_MAX {
            return wanted.refuse(Gap::new(Cause::TimedOut, "too many questions are waiting"));
        }
        let deadline = Instant::now() + Duration::from_millis(SERVER_ROOM_MS_MAX);
        self.wanted.push_back((deadline, wanted));
    }

    fn want_room(&mut self) {
        if self.room.is_none() {
            let (reply, slot) = oneshot::channel();
            let _ = self.notes.send(Note::WantsRoom(self.id, reply));
            self.room = Some(slot);
        }
    }

    /// Asks what waits; after a crash one question first, the others when it is answered.
    fn ask_wanted(&mut self) {
        while self.trial.is_none()
            && let Some((_, wanted)) = self.wanted.pop_front()
        {
            match wanted {
                Wanted::Question(order) => {
                    let ticket = self.ask(*order);
                    self.trial = ticket.filter(|_| self.breaker.is_half_open());
                }
                Wanted::Start(reply) => self.starting.extend(reply),
            }
        }
    }

    fn tell_started(&mut self) {
        if self.running.as_ref().is_some_and(|running| running.start_deadline.is_none()) {
            self.starting.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
        }
    }

    /// Hands an order to the session; a question gets a ticket.
    fn ask(&mut self, order: Order) -> Option<u64> {
        let now = Instant::now();
        let session = &mut self.running.as_mut()?.session;
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        match order {
            Order::Measure { subject: Subject { path, text, hash }, language_id, reply } => {
                self.replies.insert(ticket, (now, Reply::Verdict(reply)));
                session.ask(Question { ticket, path, language_id, text, hash }, now);
            }
            Order::Query { mut query, reply } => {
                self.replies.insert(ticket, (now, Reply::Result(reply)));
                query.document.ticket = ticket;
                session.query(query, now);
            }
            Order::FilesChanged { changes, asked } => {
                session.files_changed(&changes, &asked);
                return None;
            }
        }
        Some(ticket)
    }

    /// There is room: the process is started.
    fn enter(&mut self, slot: Option<Slot>) {
        self.room = None;
        let Some(slot) = slot else { return self.refuse_wanted(&stopped()) };
        if let Err(gap) = self.start(slot) {
            self.refuse_wanted(&gap);
            self.breaker.crashed(gap, Instant::now());
        }
    }

    fn start(&mut self, slot: Slot) -> Result<(), Gap> {
        let Choice { id, spec, program, settings, workspace, .. } = &self.choice;
        let root = &self.around.root;
        let mut env = (*self.around.env).clone();
        env.extend(spec.env.clone());
        let process = Process::spawn(program, &spec.args, workspace, &env).map_err(|error| {
            Gap::new(Cause::Crashed, format!("cannot start {}: {error}", program.display()))
        })?;
        tracing::info!(server = id, root = %root.display(), pid = process.id(), "started");
        self.diary.note("engine", "started");
        self.starts += 1;
        let place = Place { root: root.clone(), workspace: workspace.clone() };
        let session = Session::start(id, spec, settings.clone(), place, std::process::id());
        let started = Instant::now();
        self.running = Some(Running {
            process,
            slot,
            session,
            started,
            start_deadline: Some(started + Duration::from_millis(SERVER_START_MS_MAX)),
            loading_since: Some(started),
            load: Duration::ZERO,
            has_answered: false,
        });
        Ok(())
    }

    fn hear(&mut self, message: Message) {
        if let Message::Notification { method, params } = &message {
            self.diary.note_message(method, params);
        }
        if let Some(running) = &mut self.running {
            running.session.message(message, Instant::now());
        }
    }

    fn tick(&mut self) {
        let now = Instant::now();
        if let Some(running) = &mut self.running {
            running.session.tick(now);
        }
        let (late, wanted): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.wanted).into_iter().partition(|(at, _)| *at <= now);
        self.wanted = wanted;
        let detail = if self.running.is_some() {
            "it crashed and is being tried again".to_owned()
        } else {
            format!("{LANGUAGE_SERVERS_MAX} other language servers are busy")
        };
        for (_, wanted) in late {
            wanted.refuse(Gap::new(Cause::Loading, detail.clone()));
        }
        if self.wanted.is_empty() {
            self.room = None;
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let running = self.running.as_ref();
        let session = running.and_then(|running| running.session.next_wake());
        let start = running.and_then(|running| running.start_deadline);
        let wanted = self.wanted.iter().map(|(deadline, _)| *deadline);
        // Then it is not needed any more, and the pool must see that.
        let protected = Duration::from_millis(SERVER_LOADING_MS_MAX);
        let loading = running.and_then(|running| Some(running.loading_since? + protected));
        let loading = loading.filter(|at| *at > Instant::now());
        session.into_iter().chain(start).chain(wanted).chain(loading).min()
    }

    async fn crashed(&mut self) {
        let Some(running) = &mut self.running else { return };
        let (end, lines) = running.process.last_words().await;
        for line in &lines {
            self.diary.note("stderr", line);
        }
        tracing::warn!(server = self.choice.id, %end, "a language server ended by itself");
        let words = match self.diary.last_of_stderr() {
            Some(line) => format!("it ended: {end}, {line}"),
            None => format!("it ended: {end}"),
        };
        self.give_up(Gap::new(Cause::Crashed, words));
    }

    /// Ends the process at once and leaves the server alone for a while.
    fn give_up(&mut self, gap: Gap) {
        let Some(mut running) = self.running.take() else { return };
        // The cause alone: the words may be the server's, and those may be source text.
        let (server, cause) = (&self.choice.id, gap.cause);
        let root = self.around.root.display();
        tracing::warn!(server, %root, ?cause, "gave up a process");
        self.diary.note("engine", &format!("gave it up: {gap}"));
        running.session.fail(&gap);
        let effects = running.session.take_effects();
        self.deliver(effects, None);
        let Running { process, slot, .. } = running;
        tokio::spawn(async move {
            process.kill().await;
            drop(slot);
        });
        self.trial = None;
        self.refuse_wanted(&gap);
        self.breaker.crashed(gap, Instant::now());
    }

    fn refuse_wanted(&mut self, gap: &Gap) {
        self.room = None;
        let wanted = std::mem::take(&mut self.wanted).into_iter().map(|(_, wanted)| wanted);
        wanted.for_each(|wanted| wanted.refuse(gap.clone()));
        self.starting.drain(..).for_each(|reply| drop(reply.send(Err(gap.clone()))));
    }

    /// Ends the process in its own time; nobody waits. `done` is dropped when it is gone.
    fn leave_behind(&mut self, done: Option<oneshot::Sender<()>>) {
        if let Some(end) = self.leave() {
            tokio::spawn(async move {
                end.await;
                drop(done);
            });
        }
    }

    /// Says goodbye; what is returned ends the process and then gives the place back.
    fn leave(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut running = self.running.take()?;
        self.diary.note("engine", "stopped");
        running.session.stop();
        let effects = running.session.take_effects();
        self.deliver(effects, Some(&mut running));
        self.trial = None;
        // Who waits for a handshake waits for the next one.
        for reply in std::mem::take(&mut self.starting) {
            self.want(Wanted::Start(Some(reply)));
        }
        let Running { process, slot, .. } = running;
        Some(async move {
            process.end().await;
            drop(slot);
        })
    }

    /// Whether stopping it would cost somebody something now.
    fn is_needed(&self) -> bool {
        let is_at_work = self.running.as_ref().is_some_and(|running| {
            let bound = Duration::from_millis(SERVER_LOADING_MS_MAX);
            running.session.is_busy()
                || running.loading_since.is_some_and(|since| since.elapsed() < bound)
        });
        // An order that was not taken yet counts: the pool has said that the server is needed.
        let is_asked = !self.wanted.is_empty() || !self.orders.is_empty();
        is_at_work || is_asked || !self.starting.is_empty()
    }

    fn show(&mut self) {
        if let Some(running) = &mut self.running {
            match (running.session.is_ready(), running.loading_since) {
                (true, Some(_)) => {
                    running.loading_since = None;
                    if !running.has_answered {
                        running.load = running.started.elapsed();
                    }
                }
                (false, None) => running.loading_since = Some(Instant::now()),
                _ => {}
            }
        }
        let id = self.running.as_ref().and_then(|running| running.process.id()).unwrap_or(0);
        let is_listed = self.running.is_some() || self.room.is_some();
        let is_listed = is_listed || self.breaker.last_gap().is_some();
        self.gauge.process_id.store(id, Ordering::Relaxed);
        self.gauge.is_listed.store(is_listed, Ordering::Relaxed);
        let is_needed = self.is_needed();
        let was_needed = self.gauge.is_needed.swap(is_needed, Ordering::Relaxed);
        if was_needed && !is_needed {
            let _ = self.notes.send(Note::Idle);
        }
    }
}

fn stopped() -> Gap {
    Gap::new(Cause::Crashed, "the language server was stopped")
}

async fn hear(running: Option<&mut Running>) -> Heard {
    match running {
        Some(running) => running.process.next().await,
        None => std::future::pending().await,
    }
}

async fn receive_slot(room: Option<&mut oneshot::Receiver<Slot>>) -> Option<Slot> {
    match room {
        Some(room) => room.await.ok(),
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
