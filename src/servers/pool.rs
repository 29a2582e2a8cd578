//! The pool: which actors live, and which of them may have a process. It alone gives places, so the
//! bound holds over all projects; a server that is needed is never stopped to make room. It waits
//! for nobody: what takes time is done by actors and by tasks of its own.

mod errands;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::actor::{self, Actor, Control, Gauge};
use super::eviction::{Candidate, RecentUse, least_worth};
use super::memory::{Act, MemoryLimits};
use super::resolve::Choice;
use super::room::{ActorId, Note, Room};
use super::{AskedFile, Done, Selection, ServerLog, ServerStatus, Surroundings};
use crate::base::limits::{
    SERVER_KILL_MS_MAX, SERVER_MEMORY_LOOK_MS, SERVER_QUEUE_MAX, SERVER_STOP_MS_MAX,
};
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::lsp::registry::ServerSpec;
use crate::lsp::session::FileChange;
use crate::processes;

/// What the handle asks of the pool.
pub(super) enum Order {
    Ask(Box<Ask>),
    FilesChanged {
        root: PathBuf,
        changes: Arc<[(PathBuf, FileChange)]>,
        asked: Vec<AskedFile>,
    },
    /// The same for the servers of one id.
    Reread {
        root: PathBuf,
        server: String,
        changes: Arc<[(PathBuf, FileChange)]>,
    },
    /// Start one without a question.
    Start {
        around: Box<Surroundings>,
        choice: Box<Choice>,
        reply: Started,
    },
    List {
        reply: oneshot::Sender<Vec<ServerStatus>>,
    },
    Log {
        which: Selection,
        reply: oneshot::Sender<Vec<ServerLog>>,
    },
    StopSome {
        which: Selection,
        reply: oneshot::Sender<Vec<Done>>,
    },
    Restart {
        which: Selection,
        reply: oneshot::Sender<Vec<Done>>,
    },
    /// End for good.
    Stop {
        reply: oneshot::Sender<()>,
    },
}

/// Waits for a start's outcome.
type Started = oneshot::Sender<Result<(), Gap>>;

/// A question, and the server to ask.
pub(super) struct Ask {
    pub(super) around: Surroundings,
    pub(super) choice: Choice,
    pub(super) order: actor::Order,
}

/// Two callers share a server only when it would see the same project with the same tools.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    root: PathBuf,
    workspace: PathBuf,
    id: String,
    program: PathBuf,
    settings: String,
    spec: ServerSpec,
    /// When packages were last installed where the server looks for them.
    packages: Vec<Option<SystemTime>>,
    env: Vec<Option<String>>,
}

/// Variables that change what a language server finds.
const KEY_VARIABLES: [&str; 6] =
    ["PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "NODE_PATH", "NODE_OPTIONS"];

impl Key {
    fn new(around: &Surroundings, choice: &Choice) -> Self {
        Self {
            root: around.root.clone(),
            workspace: choice.workspace.clone(),
            id: choice.id.clone(),
            program: choice.program.clone(),
            settings: choice.settings.to_string(),
            spec: choice.spec.clone(),
            packages: choice.packages.clone(),
            env: KEY_VARIABLES.map(|name| around.env.get(name).cloned()).to_vec(),
        }
    }
}

/// Process trees by actor and how much memory each holds.
type Sizes = Vec<(ActorId, u64)>;

struct Entry {
    actor: ActorId,
    orders: mpsc::Sender<actor::Order>,
    controls: mpsc::Sender<Control>,
    gauge: Arc<Gauge>,
    last_use: Instant,
    recent_use: RecentUse,
    resident_bytes: Option<u64>,
    /// When it was last started anew for its memory.
    restarted: Option<Instant>,
}

impl Entry {
    fn is_needed(&self) -> bool {
        self.gauge.is_needed.load(Ordering::Relaxed)
    }

    fn process_id(&self) -> Option<i32> {
        let id = self.gauge.process_id.load(Ordering::Relaxed);
        i32::try_from(id).ok().filter(|id| *id > 0)
    }

    fn used(&mut self) {
        self.last_use = Instant::now();
        self.recent_use.note(self.last_use);
        // Set here, so that the server is not stopped before its actor has seen the question.
        self.gauge.is_needed.store(true, Ordering::Relaxed);
    }

    fn files_changed(&self, changes: &Arc<[(PathBuf, FileChange)]>, asked: Arc<[RelPath]>) {
        let order = actor::Order::FilesChanged { changes: Arc::clone(changes), asked };
        if self.orders.try_send(order).is_err() {
            self.gauge.has_missed_changes.store(true, Ordering::Relaxed);
        }
    }

    fn candidate(&self, now: Instant) -> Candidate {
        Candidate {
            restart: Duration::from_millis(self.gauge.restart_ms.load(Ordering::Relaxed)),
            uses: self.recent_use.count(now),
            resident_bytes: self.resident_bytes,
            idle: now.saturating_duration_since(self.last_use),
        }
    }
}

pub(super) struct Pool {
    idle: Duration,
    memory: MemoryLimits,
    entries: HashMap<Key, Entry>,
    next_actor: ActorId,
    room: Room,
    notes: mpsc::UnboundedSender<Note>,
    told: mpsc::UnboundedReceiver<Note>,
    /// The look at memory that is under way.
    sizes: Option<JoinHandle<Sizes>>,
}

impl Pool {
    pub(super) fn new(idle: Duration, memory: MemoryLimits) -> Self {
        let (notes, told) = mpsc::unbounded_channel();
        let room = Room::new(notes.clone());
        let entries = HashMap::new();
        Self { idle, memory, entries, next_actor: 0, room, notes, told, sizes: None }
    }

    pub(super) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut sweep =
            tokio::time::interval(self.idle.clamp(Duration::from_secs(1), Duration::from_secs(30)));
        let mut look = tokio::time::interval(Duration::from_millis(SERVER_MEMORY_LOOK_MS));
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Order::Stop { reply }) => {
                        self.stop_all().await;
                        let _ = reply.send(());
                        // Later questions find no pool: nothing may start behind a stop.
                        return;
                    }
                    Some(order) => self.obey(order),
                    None => break,
                },
                Some(note) = self.told.recv() => self.hear(note),
                sizes = measured(self.sizes.as_mut()) => {
                    self.sizes = None;
                    self.judge(&sizes);
                }
                _ = look.tick() => self.look_at_memory(),
                _ = sweep.tick() => self.stop_idle(),
            }
            self.make_room();
        }
        self.stop_all().await;
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Ask(ask) => self.ask(*ask),
            Order::FilesChanged { root, changes, asked } => {
                let of_root = self.entries.iter().filter(|(key, _)| key.root == root);
                for (key, entry) in of_root {
                    // The other servers get no document and must read the file from the disk.
                    let own = asked.iter().filter(|file| file.servers.contains(&key.id));
                    let asked = own.map(|file| file.path.clone()).collect();
                    entry.files_changed(&changes, asked);
                }
            }
            Order::Reread { root, server, changes } => {
                let entries = self.entries.iter();
                for (_, entry) in entries.filter(|(key, _)| key.root == root && key.id == server) {
                    entry.files_changed(&changes, Arc::default());
                }
            }
            Order::Start { around, choice, reply } => {
                let entry = self.entry(*around, *choice);
                entry.used();
                entry.control(Control::Start { reply });
            }
            Order::List { reply } => self.list(reply),
            Order::Log { which, reply } => self.log(&which, reply),
            Order::StopSome { which, reply } => self.stop_some(&which, reply),
            Order::Restart { which, reply } => self.restart(&which, reply),
            Order::Stop { .. } => {}
        }
    }

    fn hear(&mut self, note: Note) {
        match note {
            Note::WantsRoom(actor, reply) => self.room.want(actor, reply),
            Note::Left(actor) => self.room.left(actor),
            Note::Refused(actor) => self.room.stays(actor),
            // Whoever waits may have a place now: asked after every event.
            Note::Idle => {}
        }
    }

    fn ask(&mut self, ask: Ask) {
        let Ask { around, choice, order } = ask;
        let entry = self.entry(around, choice);
        entry.used();
        // A full queue is back-pressure on one server; the others' questions must not wait.
        if let Err(error) = entry.orders.try_send(order) {
            let gap = Gap::new(Cause::TimedOut, "too many questions are waiting");
            error.into_inner().refuse(gap);
        }
    }

    /// The server that sees this project so; its actor is made when there is none.
    fn entry(&mut self, around: Surroundings, choice: Choice) -> &mut Entry {
        let key = Key::new(&around, &choice);
        self.stop_outdated(&key);
        let (next_actor, notes) = (&mut self.next_actor, &self.notes);
        self.entries.entry(key).or_insert_with(|| {
            let (orders, received) = mpsc::channel(SERVER_QUEUE_MAX);
            let (controls, controlled) = mpsc::channel(SERVER_QUEUE_MAX);
            let gauge = Arc::new(Gauge::default());
            let actor = *next_actor;
            *next_actor += 1;
            let ends = (received, Arc::clone(&gauge));
            let it = Actor::new(actor, around, choice, ends, notes.clone());
            tokio::spawn(it.run(controlled));
            Entry {
                actor,
                orders,
                controls,
                gauge,
                last_use: Instant::now(),
                recent_use: RecentUse::default(),
                resident_bytes: None,
                restarted: None,
            }
        })
    }

    /// Stops servers that this one replaces, unless they are needed: same project and program, other
    /// packages or options. A running server does not notice what was installed since.
    fn stop_outdated(&mut self, key: &Key) {
        let replaces = |old: &Key| {
            let is_same_place = old.root == key.root && old.workspace == key.workspace;
            *old != *key && is_same_place && old.id == key.id && old.env == key.env
        };
        self.forget(|old, entry| replaces(old) && !entry.is_needed());
    }

    fn stop_idle(&mut self) {
        let idle = self.idle;
        self.forget(|_, entry| !entry.is_needed() && entry.last_use.elapsed() >= idle);
    }

    /// Forgets actors. They end their processes, in their own time, when nobody can ask any more.
    fn forget(&mut self, which: impl Fn(&Key, &Entry) -> bool) {
        let room = &mut self.room;
        self.entries.retain(|key, entry| {
            let is_forgotten = which(key, entry);
            if is_forgotten {
                room.is_leaving(entry.actor);
            }
            !is_forgotten
        });
    }

    /// Lets those servers go that are worth least, as many as there are others waiting for room.
    fn make_room(&mut self) {
        let now = Instant::now();
        while self.room.wanted() > 0 {
            let may_leave = |entry: &&Entry| self.room.may_leave(entry.actor) && !entry.is_needed();
            let candidates = self.entries.values().filter(may_leave);
            let candidates = candidates.map(|entry| (entry, entry.candidate(now)));
            let Some(entry) = least_worth(candidates) else { return };
            if !entry.control(Control::Release) {
                return;
            }
            self.room.is_leaving(entry.actor);
        }
    }

    fn look_at_memory(&mut self) {
        let leaders = self.entries.values().filter_map(|it| Some((it.actor, it.process_id()?)));
        let leaders: Vec<(ActorId, i32)> = leaders.collect();
        if leaders.is_empty() || self.sizes.is_some() {
            return;
        }
        self.sizes = Some(tokio::task::spawn_blocking(move || {
            let all = processes::all();
            let size = |(actor, id)| Some((actor, processes::resident_bytes(&all, id)?));
            leaders.into_iter().filter_map(size).collect()
        }));
    }

    fn judge(&mut self, sizes: &[(ActorId, u64)]) {
        for (actor, bytes) in sizes {
            let entry = self.entries.values_mut().find(|entry| entry.actor == *actor);
            let Some(entry) = entry else { continue };
            entry.resident_bytes = Some(*bytes);
            let since = entry.restarted.map(|at| at.elapsed());
            let mib = bytes / (1024 * 1024);
            match self.memory.judge(*bytes, !entry.is_needed(), since) {
                Act::Keep => {}
                Act::Restart => {
                    tracing::info!(actor = entry.actor, mib, "started anew for its memory");
                    entry.restarted = Some(Instant::now());
                    entry.control(Control::Restart { reply: None });
                    self.room.is_leaving(entry.actor);
                }
                Act::Kill => {
                    let most = self.memory.hard_bytes / (1024 * 1024);
                    let detail = format!("it used {mib} MiB, more than the {most} it may");
                    entry.control(Control::Kill(Gap::new(Cause::Crashed, detail)));
                }
            }
        }
    }

    /// All actors end; returns when every place is free, or when that takes too long.
    async fn stop_all(&mut self) {
        self.entries.clear();
        self.room.close();
        let bound = Duration::from_millis(SERVER_STOP_MS_MAX + 3 * SERVER_KILL_MS_MAX);
        let all_left = async {
            while !self.room.is_empty() {
                match self.told.recv().await {
                    Some(Note::Left(actor)) => self.room.left(actor),
                    Some(Note::WantsRoom(..) | Note::Refused(_) | Note::Idle) => {}
                    None => return,
                }
            }
        };
        if tokio::time::timeout(bound, all_left).await.is_err() {
            tracing::warn!("language servers were still ending when the pool ended");
        }
    }
}

async fn measured(sizes: Option<&mut JoinHandle<Sizes>>) -> Sizes {
    match sizes {
        Some(sizes) => sizes.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}
