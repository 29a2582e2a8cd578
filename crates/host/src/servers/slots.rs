//! The process slots for language servers: their holders and the actors that wait for one. A holder drops its
//! slot after its process tree has ended.

use std::collections::{HashMap, HashSet, VecDeque};

use tokio::sync::{mpsc, oneshot};

use moai_base::limits::LANGUAGE_SERVERS_MAX;

/// Number of an actor, unique within the daemon.
pub(super) type ActorId = u64;

/// A message from an actor to the pool.
#[derive(Debug)]
pub(super) enum ActorNote {
    /// It wants to start its process.
    WantsSlot(ActorId, oneshot::Sender<ServerSlot>),
    /// A slot is free again.
    SlotReturned(ActorId),
    /// The actor was asked to make room but is needed.
    Refused(ActorId),
    /// The actor may be asked to make room now.
    Idle,
}

/// A slot; held from before the process starts until it has ended.
#[derive(Debug)]
pub(super) struct ServerSlot {
    actor: ActorId,
    notes: mpsc::UnboundedSender<ActorNote>,
}

impl Drop for ServerSlot {
    fn drop(&mut self) {
        // Without a pool there is nothing to count.
        let _ = self.notes.send(ActorNote::SlotReturned(self.actor));
    }
}

/// The pool's record of slots.
#[derive(Debug)]
pub(super) struct ServerSlots {
    free: usize,
    /// Slots by actor: two while an old process ends during the start of a new one.
    holding: HashMap<ActorId, usize>,
    leaving: HashSet<ActorId>,
    waiting: VecDeque<(ActorId, oneshot::Sender<ServerSlot>)>,
    notes: mpsc::UnboundedSender<ActorNote>,
}

impl ServerSlots {
    pub(super) fn new(notes: mpsc::UnboundedSender<ActorNote>) -> Self {
        let (holding, leaving) = (HashMap::new(), HashSet::new());
        Self { free: LANGUAGE_SERVERS_MAX, holding, leaving, waiting: VecDeque::new(), notes }
    }

    /// Grants a slot, at once or when one is free, first come first served.
    pub(super) fn request_slot(&mut self, actor: ActorId, reply: oneshot::Sender<ServerSlot>) {
        self.waiting.push_back((actor, reply));
        self.grant_waiting();
    }

    pub(super) fn return_slot(&mut self, actor: ActorId) {
        self.free += 1;
        if let Some(count) = self.holding.get_mut(&actor) {
            *count -= 1;
        }
        self.holding.retain(|_, count| *count > 0);
        self.leaving.remove(&actor);
        self.grant_waiting();
    }

    /// The actor was asked to return its slot.
    pub(super) fn mark_leaving(&mut self, actor: ActorId) {
        if self.holding.contains_key(&actor) {
            self.leaving.insert(actor);
        }
    }

    /// The actor refused to return its slot.
    pub(super) fn mark_staying(&mut self, actor: ActorId) {
        self.leaving.remove(&actor);
    }

    /// True if this actor can be asked to return its slot.
    pub(super) fn may_leave(&self, actor: ActorId) -> bool {
        self.holding.contains_key(&actor) && !self.leaving.contains(&actor)
    }

    /// Number of further actors that must leave so that all waiting ones get a slot.
    pub(super) fn shortfall(&mut self) -> usize {
        self.waiting.retain(|(_, reply)| !reply.is_closed());
        self.waiting.len().saturating_sub(self.leaving.len())
    }

    /// No slot is granted from now on.
    pub(super) fn close(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn are_all_free(&self) -> bool {
        self.free == LANGUAGE_SERVERS_MAX
    }

    fn grant_waiting(&mut self) {
        while self.free > 0
            && let Some((actor, reply)) = self.waiting.pop_front()
        {
            if reply.is_closed() {
                continue;
            }
            self.free -= 1;
            *self.holding.entry(actor).or_default() += 1;
            // An actor that stopped waiting at this moment drops the slot, which returns it.
            let _ = reply.send(ServerSlot { actor, notes: self.notes.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(room: &mut ServerSlots, actor: ActorId) -> oneshot::Receiver<ServerSlot> {
        let (reply, slot) = oneshot::channel();
        room.request_slot(actor, reply);
        slot
    }

    #[test]
    fn the_sixth_server_waits_for_a_slot() {
        let (notes, mut incoming_notes) = mpsc::unbounded_channel();
        let mut room = ServerSlots::new(notes);
        let mut held: Vec<ServerSlot> =
            (0..5).map(|actor| want(&mut room, actor).try_recv().expect("there is room")).collect();
        let mut sixth = want(&mut room, 5);
        assert!(sixth.try_recv().is_err());
        assert_eq!(room.shortfall(), 1);
        room.mark_leaving(2);
        assert_eq!((room.shortfall(), room.may_leave(2), room.may_leave(3)), (0, false, true));
        room.mark_staying(2);
        assert_eq!(room.shortfall(), 1);
        room.mark_leaving(3);
        drop(held.remove(3));
        assert!(sixth.try_recv().is_err(), "only the pool gives places");
        let Ok(ActorNote::SlotReturned(actor)) = incoming_notes.try_recv() else {
            panic!("a dropped place is told")
        };
        room.return_slot(actor);
        assert!(sixth.try_recv().is_ok());
    }

    #[test]
    fn an_abandoned_wait_takes_no_slot_and_evicts_no_server() {
        let (notes, _incoming_notes) = mpsc::unbounded_channel();
        let mut room = ServerSlots::new(notes);
        let held: Vec<_> = (0..5).map(|actor| want(&mut room, actor)).collect();
        drop(want(&mut room, 5));
        assert_eq!(room.shortfall(), 0);
        let mut seventh = want(&mut room, 6);
        room.return_slot(0);
        assert!(seventh.try_recv().is_ok());
        drop(held);
    }
}
