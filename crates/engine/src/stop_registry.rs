//! The Stops in progress, with their waiters: a repeated delivery of a Stop waits for its answer,
//! another Stop of the same loop waits for its turn, and a change of the loop interrupts its Stop.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use moai_loops::stop_table::{StopArrival, StopDelivery, StopTable};
use moai_protocol::hook::HookOutput;

/// One table for the whole engine.
type SharedStopTable = Arc<Mutex<StopTable<StopHandle>>>;

/// The Stops in progress.
#[derive(Debug, Default)]
pub(crate) struct StopRegistry {
    table: SharedStopTable,
}

#[derive(Clone, Debug)]
struct StopHandle {
    /// `None` until the Stop is answered; closed when it is answered or dropped.
    answer: watch::Receiver<Option<HookOutput>>,
    interruption: Arc<Notify>,
    /// The call of the delivery that decides.
    call: String,
}

/// The role of a delivery.
#[derive(Debug)]
pub(crate) enum StopTurn {
    Decide(StopLead),
    /// Wait for the answer to the same Stop, or for the end of another one.
    Wait(StopWait),
}

/// The right to decide a Stop. Dropped without an answer, it passes to the next waiter.
#[derive(Debug)]
pub(crate) struct StopLead {
    table: SharedStopTable,
    loop_id: String,
    ticket: u64,
    answer: watch::Sender<Option<HookOutput>>,
    interruption: Arc<Notify>,
}

/// A place in the queue behind a running Stop.
#[derive(Debug)]
pub(crate) struct StopWait {
    answer: watch::Receiver<Option<HookOutput>>,
    is_same: bool,
    /// True if a different hook process gets the running Stop's answer.
    is_other_call: bool,
}

impl StopRegistry {
    /// Registers a delivery of a Stop; its content tells the Stops of one loop apart.
    pub(crate) fn enter(&self, loop_id: &str, delivery: &StopDelivery) -> StopTurn {
        let (sender, receiver) = watch::channel(None);
        let interruption = Arc::new(Notify::new());
        let call = delivery.call.clone();
        let handle = StopHandle { answer: receiver, interruption: Arc::clone(&interruption), call };
        let wait = |running: StopHandle, is_same| {
            let is_other_call = running.call != delivery.call;
            StopTurn::Wait(StopWait { answer: running.answer, is_same, is_other_call })
        };
        match locked(&self.table).arrive(loop_id, &delivery.content, handle) {
            StopArrival::Start(ticket) => StopTurn::Decide(StopLead {
                table: Arc::clone(&self.table),
                loop_id: loop_id.to_owned(),
                ticket,
                answer: sender,
                interruption,
            }),
            StopArrival::Join(running) => wait(running, true),
            StopArrival::Wait(running) => wait(running, false),
        }
    }

    /// Interrupts the running Stop of a loop, because the loop was changed.
    pub(crate) fn interrupt(&self, loop_id: &str) {
        if let Some(running) = locked(&self.table).handle_of(loop_id) {
            running.interruption.notify_one();
        }
    }
}

impl StopLead {
    /// Returns when a user has changed the loop.
    pub(crate) async fn interrupted(&self) {
        self.interruption.notified().await;
    }

    /// Passes the answer to all deliveries of the same Stop.
    pub(crate) fn answer(self, output: &HookOutput) {
        self.answer.send_replace(Some(output.clone()));
    }
}

impl Drop for StopLead {
    fn drop(&mut self) {
        locked(&self.table).leave(&self.loop_id, self.ticket);
    }
}

impl StopWait {
    /// True if the running Stop is answered to another hook process.
    pub(crate) fn is_other_call(&self) -> bool {
        self.is_other_call
    }

    /// Waits for the end of the running Stop; returns its answer if it is the same Stop and was
    /// decided.
    pub(crate) async fn finished(mut self) -> Option<HookOutput> {
        while self.answer.borrow_and_update().is_none() {
            if self.answer.changed().await.is_err() {
                break;
            }
        }
        let output = self.answer.borrow().clone();
        output.filter(|_| self.is_same)
    }
}

fn locked(table: &SharedStopTable) -> MutexGuard<'_, StopTable<StopHandle>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(content: &str) -> StopDelivery {
        let (call, content) = (content.to_owned(), content.to_owned());
        StopDelivery { call, content, start_ms: None, is_unique: false }
    }

    fn lead(registry: &StopRegistry, content: &str) -> StopLead {
        match registry.enter("loop", &delivery(content)) {
            StopTurn::Decide(lead) => lead,
            StopTurn::Wait(_) => panic!("a Stop is running"),
        }
    }

    fn wait(registry: &StopRegistry, content: &str) -> StopWait {
        match registry.enter("loop", &delivery(content)) {
            StopTurn::Wait(wait) => wait,
            StopTurn::Decide(_) => panic!("no Stop is running"),
        }
    }

    #[tokio::test]
    async fn a_repeated_stop_gets_the_same_answer_and_another_stop_waits() {
        let registry = StopRegistry::default();
        let first = lead(&registry, "a");
        let (same, other) = (wait(&registry, "a"), wait(&registry, "b"));
        let output = HookOutput::Block("why".to_owned());
        first.answer(&output);
        assert_eq!(same.finished().await, Some(output));
        assert_eq!(other.finished().await, None);
        lead(&registry, "b");
    }

    #[tokio::test]
    async fn a_dropped_stop_is_taken_over_and_an_interrupted_one_is_notified() {
        let registry = StopRegistry::default();
        let first = lead(&registry, "a");
        let same = wait(&registry, "a");
        registry.interrupt("loop");
        first.interrupted().await;
        drop(first);
        assert_eq!(same.finished().await, None);
        lead(&registry, "a");
    }
}
