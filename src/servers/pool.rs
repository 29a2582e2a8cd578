//! The pool: which actors live. It alone counts language servers, so the bound holds over all
//! projects; a busy server is never stopped to make room.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::actor::{self, Actor, Gauge};
use super::resolve::Choice;
use super::{LANGUAGE_SERVERS_MAX, SERVER_QUEUE_MAX, ServerStatus, Surroundings};
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::lsp::registry::ServerSpec;
use crate::lsp::session::FileChange;

/// What the handle asks of the pool.
pub(super) enum Order {
    Ask(Box<Ask>),
    FilesChanged { root: PathBuf, changes: Arc<[(PathBuf, FileChange)]>, asked: Arc<[RelPath]> },
    List { reply: oneshot::Sender<Vec<ServerStatus>> },
    Stop { reply: oneshot::Sender<()> },
}

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

struct Entry {
    orders: mpsc::Sender<actor::Order>,
    gauge: Arc<Gauge>,
    task: JoinHandle<()>,
    last_use: Instant,
}

pub(super) struct Pool {
    idle: Duration,
    entries: HashMap<Key, Entry>,
}

impl Pool {
    pub(super) fn new(idle: Duration) -> Self {
        Self { idle, entries: HashMap::new() }
    }

    pub(super) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut sweep =
            tokio::time::interval(self.idle.clamp(Duration::from_secs(1), Duration::from_secs(30)));
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Order::Stop { reply }) => {
                        self.stop_all().await;
                        let _ = reply.send(());
                        // Later questions find no pool: nothing may start behind a stop.
                        return;
                    }
                    Some(order) => self.obey(order).await,
                    None => break,
                },
                _ = sweep.tick() => self.stop_idle().await,
            }
        }
        self.stop_all().await;
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Ask(ask) => self.ask(*ask).await,
            Order::FilesChanged { root, changes, asked } => {
                for (_, entry) in self.entries.iter().filter(|(key, _)| key.root == root) {
                    let (changes, asked) = (Arc::clone(&changes), Arc::clone(&asked));
                    let _ = entry.orders.send(actor::Order::FilesChanged { changes, asked }).await;
                }
            }
            Order::List { reply } => {
                let _ = reply.send(self.list());
            }
            Order::Stop { .. } => {}
        }
    }

    async fn ask(&mut self, ask: Ask) {
        let Ask { around, choice, order } = ask;
        let key = Key::new(&around, &choice);
        self.stop_outdated(&key).await;
        if !self.entries.contains_key(&key)
            && self.entries.len() >= LANGUAGE_SERVERS_MAX
            && !self.make_room().await
        {
            let detail = format!("{LANGUAGE_SERVERS_MAX} language servers are busy");
            return order.refuse(Gap::new(Cause::Loading, detail));
        }
        let entry = self.entries.entry(key).or_insert_with(|| {
            let (sender, orders) = mpsc::channel(SERVER_QUEUE_MAX);
            let gauge = Arc::new(Gauge::default());
            let actor = Actor::new(around, choice, Arc::clone(&gauge));
            let task = tokio::spawn(actor.run(orders));
            Entry { orders: sender, gauge, task, last_use: Instant::now() }
        });
        entry.last_use = Instant::now();
        // Set here, so that the server is not stopped before its actor has seen the question.
        entry.gauge.is_busy.store(true, Ordering::Relaxed);
        // A full queue is back-pressure on one server; the others' questions must not wait.
        if let Err(error) = entry.orders.try_send(order) {
            let gap = Gap::new(Cause::TimedOut, "too many questions are waiting");
            error.into_inner().refuse(gap);
        }
    }

    /// Stops idle servers that this one replaces: same project and program, other packages or
    /// options. A running server does not notice what was installed since.
    async fn stop_outdated(&mut self, key: &Key) {
        let replaces = |old: &Key| {
            let is_same_place = old.root == key.root && old.workspace == key.workspace;
            *old != *key && is_same_place && old.id == key.id && old.env == key.env
        };
        let outdated = self.entries.iter().filter(|(old, entry)| replaces(old) && !is_busy(entry));
        let outdated: Vec<Key> = outdated.map(|(old, _)| old.clone()).collect();
        self.stop(&outdated).await;
    }

    /// Stops the server that was not used for longest; a busy one is never chosen.
    async fn make_room(&mut self) -> bool {
        let idle = self.entries.iter().filter(|(_, entry)| !is_busy(entry));
        let Some(key) = idle.min_by_key(|(_, entry)| entry.last_use).map(|(key, _)| key.clone())
        else {
            return false;
        };
        self.stop(&[key]).await;
        true
    }

    async fn stop_idle(&mut self) {
        let idle = |entry: &Entry| !is_busy(entry) && entry.last_use.elapsed() >= self.idle;
        let keys: Vec<Key> = self
            .entries
            .iter()
            .filter(|(_, entry)| idle(entry))
            .map(|(key, _)| key.clone())
            .collect();
        self.stop(&keys).await;
    }

    async fn stop_all(&mut self) {
        let keys: Vec<Key> = self.entries.keys().cloned().collect();
        self.stop(&keys).await;
    }

    /// Asks all to stop, then waits for all: the waits overlap.
    async fn stop(&mut self, keys: &[Key]) {
        let mut ending = Vec::new();
        for key in keys {
            if let Some(entry) = self.entries.remove(key) {
                let _ = entry.orders.try_send(actor::Order::Stop);
                ending.push(entry.task);
            }
        }
        for task in ending {
            let _ = task.await;
        }
    }

    fn list(&self) -> Vec<ServerStatus> {
        let status = |(key, entry): (&Key, &Entry)| {
            let process_id = match entry.gauge.process_id.load(Ordering::Relaxed) {
                0 => None,
                id => Some(id),
            };
            let state = match (process_id, entry.gauge.is_ready.load(Ordering::Relaxed)) {
                (None, _) => "down",
                (Some(_), false) => "starting",
                (Some(_), true) => "ready",
            };
            ServerStatus { id: key.id.clone(), root: key.root.clone(), process_id, state }
        };
        let mut list: Vec<ServerStatus> = self.entries.iter().map(status).collect();
        list.sort_by(|a, b| (&a.root, &a.id).cmp(&(&b.root, &b.id)));
        list
    }
}

fn is_busy(entry: &Entry) -> bool {
    entry.gauge.is_busy.load(Ordering::Relaxed)
}
