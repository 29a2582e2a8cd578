//! The pool: which actors exist, and which of them may have a process. Only the pool grants slots,
//! so the bound holds across all projects; a server that is needed is never stopped to make room.
//! The pool never blocks: slow work is done by actors and separate tasks.

mod admin;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::actor::{self, ActorControl, ActorGauge, ActorOutputs, ServerActor, StartReply};
use super::eviction::{EvictionCandidate, RecentUse, least_valuable};
use super::memory::{MemoryAction, MemoryLimits};
use super::resolve::ResolvedServer;
use super::slots::{ActorId, ActorNote, ServerSlots};
use super::{
    PoolFilter, ServerActionResult, ServerContext, ServerIdentity, ServerLogTail, ServerReach,
    ServerStatus,
};
use crate::processes;
use moai_base::limits::{
    SERVER_KILL_MS_MAX, SERVER_MEMORY_POLL_MS, SERVER_QUEUE_MAX, SERVER_STOP_MS_MAX,
};
use moai_base::verdict::{Cause, Gap};
use moai_lsp::session::{DiskChange, PresentText};

/// A request of the handle to the pool.
pub(super) enum PoolRequest {
    Forward(Box<RoutedRequest>),
    FilesChanged {
        root: PathBuf,
        changes: Arc<[(PathBuf, DiskChange)]>,
        present: Arc<[PresentText]>,
    },
    /// File changes for the servers of one id only.
    Reread {
        root: PathBuf,
        server: String,
        changes: Arc<[(PathBuf, DiskChange)]>,
    },
    /// Files outside a root that its servers depend on.
    Reaches {
        root: PathBuf,
        reply: oneshot::Sender<Vec<ServerReach>>,
    },
    /// Start a server without a request.
    Start {
        context: Box<ServerContext>,
        choice: Box<ResolvedServer>,
        reply: StartReply,
    },
    List {
        reply: oneshot::Sender<Vec<ServerStatus>>,
    },
    Log {
        filter: PoolFilter,
        reply: oneshot::Sender<Vec<ServerLogTail>>,
    },
    StopSelected {
        filter: PoolFilter,
        reply: oneshot::Sender<Vec<ServerActionResult>>,
    },
    Restart {
        filter: PoolFilter,
        reply: oneshot::Sender<Vec<ServerActionResult>>,
    },
    Stop {
        reply: oneshot::Sender<()>,
    },
}

/// A request and the server to send it to.
pub(super) struct RoutedRequest {
    pub(super) context: ServerContext,
    pub(super) choice: ResolvedServer,
    pub(super) request: actor::ActorRequest,
}

/// Callers share a server only when it would see the same project with the same programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ServerKey {
    root: PathBuf,
    workspace: PathBuf,
    id: String,
    identity: ServerIdentity,
}

impl ServerKey {
    fn new(context: &ServerContext, choice: &ResolvedServer) -> Self {
        Self {
            root: context.root.clone(),
            workspace: choice.workspace.clone(),
            id: choice.id.clone(),
            identity: choice.identity,
        }
    }
}

/// Resident bytes of each actor's process tree.
type MemorySizes = Vec<(ActorId, u64)>;

struct PoolEntry {
    actor: ActorId,
    requests: mpsc::Sender<actor::ActorRequest>,
    controls: mpsc::Sender<ActorControl>,
    gauge: Arc<ActorGauge>,
    reach: watch::Receiver<ServerReach>,
    last_use: Instant,
    recent_use: RecentUse,
    resident_bytes: Option<u64>,
    /// When it was last restarted for its memory.
    restarted: Option<Instant>,
}

impl PoolEntry {
    fn is_needed(&self) -> bool {
        self.gauge.is_needed.load(Ordering::Relaxed)
    }

    fn process_id(&self) -> Option<i32> {
        let id = self.gauge.process_id.load(Ordering::Relaxed);
        i32::try_from(id).ok().filter(|id| *id > 0)
    }

    fn mark_used(&mut self) {
        self.last_use = Instant::now();
        self.recent_use.note(self.last_use);
        // Set here because the server could otherwise be stopped before its actor has received the
        // request.
        self.gauge.is_needed.store(true, Ordering::Relaxed);
    }

    fn files_changed(&self, changes: &Arc<[(PathBuf, DiskChange)]>, present: &Arc<[PresentText]>) {
        let (changes, present) = (Arc::clone(changes), Arc::clone(present));
        let request = actor::ActorRequest::FilesChanged { changes, present };
        if self.requests.try_send(request).is_err() {
            self.gauge.is_outdated.store(true, Ordering::Relaxed);
        }
    }

    fn candidate(&self, now: Instant) -> EvictionCandidate {
        EvictionCandidate {
            restart: Duration::from_millis(self.gauge.restart_ms.load(Ordering::Relaxed)),
            uses: self.recent_use.count(now),
            resident_bytes: self.resident_bytes,
            idle: now.saturating_duration_since(self.last_use),
        }
    }
}

pub(super) struct ServerPool {
    idle: Duration,
    memory: MemoryLimits,
    entries: HashMap<ServerKey, PoolEntry>,
    next_actor: ActorId,
    slots: ServerSlots,
    notes: mpsc::UnboundedSender<ActorNote>,
    incoming_notes: mpsc::UnboundedReceiver<ActorNote>,
    /// The memory measurement in progress.
    memory_measurement: Option<JoinHandle<MemorySizes>>,
}

impl ServerPool {
    pub(super) fn new(idle: Duration, memory: MemoryLimits) -> Self {
        let (notes, incoming_notes) = mpsc::unbounded_channel();
        let slots = ServerSlots::new(notes.clone());
        let entries = HashMap::new();
        Self {
            idle,
            memory,
            entries,
            next_actor: 0,
            slots,
            notes,
            incoming_notes,
            memory_measurement: None,
        }
    }

    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<PoolRequest>) {
        let mut sweep =
            tokio::time::interval(self.idle.clamp(Duration::from_secs(1), Duration::from_secs(30)));
        let mut look = tokio::time::interval(Duration::from_millis(SERVER_MEMORY_POLL_MS));
        loop {
            tokio::select! {
                request = requests.recv() => match request {
                    Some(PoolRequest::Stop { reply }) => {
                        self.stop_all().await;
                        let _ = reply.send(());
                        // Later requests find no pool, because nothing may start after a stop.
                        return;
                    }
                    Some(request) => self.handle_request(request),
                    None => break,
                },
                Some(note) = self.incoming_notes.recv() => self.handle_note(note),
                sizes = finished_measurement(self.memory_measurement.as_mut()) => {
                    self.memory_measurement = None;
                    self.enforce_memory_limits(&sizes);
                }
                _ = look.tick() => self.measure_memory(),
                _ = sweep.tick() => self.stop_idle(),
            }
            self.make_room();
        }
        self.stop_all().await;
    }

    fn handle_request(&mut self, request: PoolRequest) {
        match request {
            PoolRequest::Forward(routed) => self.forward_request(*routed),
            PoolRequest::FilesChanged { root, changes, present } => {
                let of_root = self.entries.iter().filter(|(key, _)| key.root == root);
                of_root.for_each(|(_, entry)| entry.files_changed(&changes, &present));
            }
            PoolRequest::Reread { root, server, changes } => {
                let entries = self.entries.iter();
                for (_, entry) in entries.filter(|(key, _)| key.root == root && key.id == server) {
                    entry.files_changed(&changes, &Arc::default());
                }
            }
            PoolRequest::Reaches { root, reply } => {
                let of_root = self.entries.iter().filter(|(key, _)| key.root == root);
                let _ =
                    reply.send(of_root.map(|(_, entry)| entry.reach.borrow().clone()).collect());
            }
            PoolRequest::Start { context, choice, reply } => {
                let entry = self.entry_for(*context, *choice);
                entry.mark_used();
                entry.send_control(ActorControl::Start { reply });
            }
            PoolRequest::List { reply } => self.list(reply),
            PoolRequest::Log { filter, reply } => self.log(&filter, reply),
            PoolRequest::StopSelected { filter, reply } => self.stop_selected(&filter, reply),
            PoolRequest::Restart { filter, reply } => self.restart(&filter, reply),
            PoolRequest::Stop { .. } => {}
        }
    }

    fn handle_note(&mut self, note: ActorNote) {
        match note {
            ActorNote::WantsSlot(actor, reply) => self.slots.request_slot(actor, reply),
            ActorNote::SlotReturned(actor) => self.slots.return_slot(actor),
            ActorNote::Refused(actor) => self.slots.mark_staying(actor),
            // No action: `make_room` runs after every event.
            ActorNote::Idle => {}
        }
    }

    fn forward_request(&mut self, routed: RoutedRequest) {
        let RoutedRequest { context, choice, request } = routed;
        let entry = self.entry_for(context, choice);
        entry.mark_used();
        // The pool must not wait for a full queue: other servers' requests would wait too.
        if let Err(error) = entry.requests.try_send(request) {
            let gap = Gap::new(Cause::TimedOut, "too many requests are queued");
            error.into_inner().refuse(gap);
        }
    }

    /// The entry for this server and context; its actor is created if necessary.
    fn entry_for(&mut self, context: ServerContext, choice: ResolvedServer) -> &mut PoolEntry {
        let key = ServerKey::new(&context, &choice);
        self.stop_outdated(&key);
        let (next_actor, notes) = (&mut self.next_actor, &self.notes);
        self.entries.entry(key).or_insert_with(|| {
            let (requests, received) = mpsc::channel(SERVER_QUEUE_MAX);
            let (controls, controlled) = mpsc::channel(SERVER_QUEUE_MAX);
            let gauge = Arc::new(ActorGauge::default());
            let (reach_sender, reach) = watch::channel(ServerReach::default());
            let actor = *next_actor;
            *next_actor += 1;
            let outputs = ActorOutputs {
                gauge: Arc::clone(&gauge),
                reach: reach_sender,
                notes: notes.clone(),
            };
            let server = ServerActor::new(actor, context, choice, received, outputs);
            tokio::spawn(server.run(controlled));
            PoolEntry {
                actor,
                requests,
                controls,
                gauge,
                reach,
                last_use: Instant::now(),
                recent_use: RecentUse::default(),
                resident_bytes: None,
                restarted: None,
            }
        })
    }

    /// Stops servers that this one replaces unless they are needed: same project and places of
    /// programs, other packages, versions or options. A running server does not notice packages installed later.
    fn stop_outdated(&mut self, key: &ServerKey) {
        self.drop_actors(|old, entry| {
            let is_same_place = old.root == key.root && old.workspace == key.workspace;
            let is_replaced = old.id == key.id && old.identity.shares_environment(key.identity);
            *old != *key && is_same_place && is_replaced && !entry.is_needed()
        });
    }

    fn stop_idle(&mut self) {
        let idle = self.idle;
        self.drop_actors(|_, entry| !entry.is_needed() && entry.last_use.elapsed() >= idle);
    }

    /// Drops entries; their actors end their processes because no channel to them is left.
    fn drop_actors(&mut self, is_dropped: impl Fn(&ServerKey, &PoolEntry) -> bool) {
        let slots = &mut self.slots;
        self.entries.retain(|key, entry| {
            let drops = is_dropped(key, entry);
            if drops {
                slots.mark_leaving(entry.actor);
            }
            !drops
        });
    }

    /// Stops the least valuable idle servers, one for each actor waiting for a slot.
    fn make_room(&mut self) {
        let now = Instant::now();
        while self.slots.shortfall() > 0 {
            let candidates = self
                .entries
                .values()
                .filter(|entry| self.slots.may_leave(entry.actor) && !entry.is_needed());
            let candidates = candidates.map(|entry| (entry, entry.candidate(now)));
            let Some(entry) = least_valuable(candidates) else { return };
            if !entry.send_control(ActorControl::Release) {
                return;
            }
            self.slots.mark_leaving(entry.actor);
        }
    }

    fn measure_memory(&mut self) {
        let leaders = self.entries.values().filter_map(|it| Some((it.actor, it.process_id()?)));
        let leaders: Vec<(ActorId, i32)> = leaders.collect();
        if leaders.is_empty() || self.memory_measurement.is_some() {
            return;
        }
        self.memory_measurement = Some(tokio::task::spawn_blocking(move || {
            let all = processes::list_processes();
            let sizes = leaders
                .into_iter()
                .filter_map(|(actor, id)| Some((actor, processes::tree_resident_bytes(&all, id)?)));
            sizes.collect()
        }));
    }

    fn enforce_memory_limits(&mut self, sizes: &[(ActorId, u64)]) {
        for (actor, bytes) in sizes {
            let entry = self.entries.values_mut().find(|entry| entry.actor == *actor);
            let Some(entry) = entry else { continue };
            entry.resident_bytes = Some(*bytes);
            let since = entry.restarted.map(|at| at.elapsed());
            let mib = bytes / (1024 * 1024);
            match self.memory.action_for(*bytes, !entry.is_needed(), since) {
                MemoryAction::Keep => {}
                MemoryAction::Restart => {
                    tracing::info!(actor = entry.actor, mib, "restarted because of its memory use");
                    entry.restarted = Some(Instant::now());
                    entry.send_control(ActorControl::Restart { reply: None });
                    self.slots.mark_leaving(entry.actor);
                }
                MemoryAction::Kill => {
                    let limit_mib = self.memory.hard_bytes / (1024 * 1024);
                    let detail = format!("it used {mib} MiB; the limit is {limit_mib} MiB");
                    entry.send_control(ActorControl::Kill(Gap::new(Cause::Crashed, detail)));
                }
            }
        }
    }

    /// Ends all actors; returns when every slot is free, or at the bound.
    async fn stop_all(&mut self) {
        self.entries.clear();
        self.slots.close();
        let bound = Duration::from_millis(SERVER_STOP_MS_MAX + 3 * SERVER_KILL_MS_MAX);
        let all_left = async {
            while !self.slots.are_all_free() {
                match self.incoming_notes.recv().await {
                    Some(ActorNote::SlotReturned(actor)) => self.slots.return_slot(actor),
                    Some(ActorNote::WantsSlot(..) | ActorNote::Refused(_) | ActorNote::Idle) => {}
                    None => return,
                }
            }
        };
        if tokio::time::timeout(bound, all_left).await.is_err() {
            tracing::warn!("language servers were still shutting down when the pool ended");
        }
    }
}

async fn finished_measurement(sizes: Option<&mut JoinHandle<MemorySizes>>) -> MemorySizes {
    match sizes {
        Some(sizes) => sizes.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}
