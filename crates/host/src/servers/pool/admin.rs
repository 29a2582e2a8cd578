//! Administration of the pool: list, stop, restart, log. Each starts its actors' work at once and
//! awaits the answers in a separate task.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::{ActorControl, PoolEntry, ServerKey, ServerPool};
use crate::processes;
use crate::servers::{PoolFilter, ServerActionResult, ServerLogTail, ServerState, ServerStatus};
use moai_base::limits::{
    SERVER_DESCRIBE_MS_MAX, SERVER_KILL_MS_MAX, SERVER_SLOT_WAIT_MS_MAX, SERVER_START_MS_MAX,
    SERVER_STOP_MS_MAX,
};
use moai_base::verdict::{Cause, Gap};

impl PoolEntry {
    /// Sends a control message; false when it cannot be delivered.
    pub(super) fn send_control(&self, control: ActorControl) -> bool {
        self.controls.try_send(control).is_ok()
    }

    fn is_listed(&self) -> bool {
        self.gauge.is_listed.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl ServerPool {
    /// The selected servers that status lists show, ordered by root and id.
    fn selected_entries(&self, filter: &PoolFilter) -> Vec<(&ServerKey, &PoolEntry)> {
        let entries = self.entries.iter().filter(|(key, entry)| {
            (filter.ids.is_empty() || filter.ids.contains(&key.id))
                && filter.root.as_ref().is_none_or(|root| *root == key.root)
                && entry.is_listed()
        });
        let mut entries: Vec<(&ServerKey, &PoolEntry)> = entries.collect();
        entries.sort_by(|(a, _), (b, _)| (&a.root, &a.id).cmp(&(&b.root, &b.id)));
        entries
    }

    pub(super) fn list(&self, reply: oneshot::Sender<Vec<ServerStatus>>) {
        let until = Instant::now() + Duration::from_millis(SERVER_DESCRIBE_MS_MAX);
        let asked: Vec<_> = self
            .selected_entries(&PoolFilter::default())
            .into_iter()
            .map(|(key, entry)| {
                let (reply, description) = oneshot::channel();
                entry.send_control(ActorControl::Describe { reply });
                (key.clone(), entry.process_id(), description)
            })
            .collect();
        tokio::spawn(async move {
            // Without the list, process ids and memory are unknown.
            let all = tokio::task::spawn_blocking(processes::list_processes).await.ok();
            let mut list = Vec::new();
            for (key, leader, description) in asked {
                let description = timeout_at(until, description).await.ok().and_then(Result::ok);
                let process = leader.zip(all.as_ref());
                let pid = process
                    .map(|(leader, all)| processes::first_child(all, leader).unwrap_or(leader));
                list.push(ServerStatus {
                    id: key.id,
                    root: key.root,
                    process_id: pid.and_then(|pid| u32::try_from(pid).ok()),
                    memory_bytes: process
                        .and_then(|(leader, all)| processes::tree_resident_bytes(all, leader)),
                    // An actor that does not answer in time is busy.
                    state: description.as_ref().map_or(ServerState::Busy, |it| it.state),
                    uptime: description.as_ref().and_then(|it| it.uptime),
                    answered: description.as_ref().map_or(0, |it| it.answered),
                    restarts: description.as_ref().map_or(0, |it| it.restarts),
                    languages: description.as_ref().map_or(Vec::new(), |it| it.languages.clone()),
                    last_gap: description.and_then(|it| it.last_gap),
                });
            }
            let _ = reply.send(list);
        });
    }

    pub(super) fn log(&self, filter: &PoolFilter, reply: oneshot::Sender<Vec<ServerLogTail>>) {
        let until = Instant::now() + Duration::from_millis(SERVER_DESCRIBE_MS_MAX);
        let asked: Vec<_> = self
            .selected_entries(filter)
            .into_iter()
            .map(|(key, entry)| {
                let (reply, lines) = oneshot::channel();
                entry.send_control(ActorControl::Log { reply });
                (key.id.clone(), key.root.clone(), lines)
            })
            .collect();
        tokio::spawn(async move {
            let mut logs = Vec::new();
            for (id, root, lines) in asked {
                let lines = timeout_at(until, lines).await.ok().and_then(Result::ok);
                logs.push(ServerLogTail { id, root, lines: lines.unwrap_or_default() });
            }
            let _ = reply.send(logs);
        });
    }

    pub(super) fn stop_selected(
        &mut self,
        filter: &PoolFilter,
        reply: oneshot::Sender<Vec<ServerActionResult>>,
    ) {
        let mut ending = Vec::new();
        for (key, entry) in self.selected_entries(filter) {
            let (done, gone) = oneshot::channel();
            entry.send_control(ActorControl::Stop { done });
            ending.push((key.id.clone(), key.root.clone(), entry.actor, gone));
        }
        for (_, _, actor, _) in &ending {
            self.slots.mark_leaving(*actor);
        }
        let bound = Duration::from_millis(SERVER_STOP_MS_MAX + 3 * SERVER_KILL_MS_MAX);
        let until = Instant::now() + bound;
        tokio::spawn(async move {
            let mut done = Vec::new();
            for (id, root, _, gone) in ending {
                // The actor only drops the sender; nothing is sent.
                let outcome = timeout_at(until, gone).await.map(drop);
                let outcome =
                    outcome.map_err(|_| Gap::new(Cause::TimedOut, "it has not ended yet"));
                done.push(ServerActionResult { id, root, outcome });
            }
            let _ = reply.send(done);
        });
    }

    pub(super) fn restart(
        &mut self,
        filter: &PoolFilter,
        reply: oneshot::Sender<Vec<ServerActionResult>>,
    ) {
        let mut starting = Vec::new();
        for (key, entry) in self.selected_entries(filter) {
            let (reply, started) = oneshot::channel();
            entry.send_control(ActorControl::Restart { reply: Some(reply) });
            starting.push((key.id.clone(), key.root.clone(), entry.actor, started));
        }
        // The restarted servers get their own slots back.
        for (_, _, actor, _) in &starting {
            self.slots.mark_leaving(*actor);
        }
        let bound = Duration::from_millis(SERVER_SLOT_WAIT_MS_MAX + SERVER_START_MS_MAX);
        let until = Instant::now() + bound;
        tokio::spawn(async move {
            let mut done = Vec::new();
            for (id, root, _, started) in starting {
                let outcome = match timeout_at(until, started).await {
                    Ok(Ok(outcome)) => outcome,
                    Ok(Err(_)) => Err(Gap::new(Cause::Crashed, "the language server was stopped")),
                    Err(_) => Err(Gap::new(Cause::TimedOut, "it has not started yet")),
                };
                done.push(ServerActionResult { id, root, outcome });
            }
            let _ = reply.send(done);
        });
    }
}
