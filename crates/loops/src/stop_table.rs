//! The Stops that are being decided: a Stop delivered by two hook processes is decided once, and the
//! Stops of a loop are decided one at a time.

use std::collections::HashMap;

use super::state::StopAnswer;

/// One delivery of a Stop by a hook process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopDelivery {
    /// The call of the hook process; a repeated call keeps it.
    pub call: String,
    /// Hash of the whole host message, as hex digits.
    pub content: String,
    /// Start of the hook process in milliseconds since the epoch, never too early; `None` if the
    /// system does not report it.
    pub start_ms: Option<u64>,
    /// True if the host's message carries the time of its event, so that equal messages are one
    /// Stop.
    pub is_unique: bool,
}

impl StopDelivery {
    /// True if `answer` is the answer to this Stop. The host waits for all hook processes of a
    /// Stop, so with equal content a process that started before the answer belongs to the answered
    /// Stop, and one that started after it to a later Stop. A host that starts one process after
    /// the other has messages that are unique.
    #[must_use]
    pub fn is_answered_by(&self, answer: &StopAnswer) -> bool {
        let is_same = answer.content == self.content;
        let is_earlier = self.start_ms.is_some_and(|start_ms| start_ms <= answer.at_ms);
        answer.call == self.call || is_same && (is_earlier || self.is_unique)
    }
}

/// The running Stops by loop. `H` is the handle by which a delivery waits for a running Stop.
#[derive(Debug)]
pub struct StopTable<H> {
    running: HashMap<String, RunningStop<H>>,
    next_ticket: u64,
}

#[derive(Debug)]
struct RunningStop<H> {
    ticket: u64,
    content: String,
    handle: H,
}

/// The role of a delivery when it arrives.
#[derive(Debug, PartialEq, Eq)]
pub enum StopArrival<H> {
    /// No other Stop of the loop is running; this one runs until [`StopTable::leave`] is called with
    /// its ticket.
    Start(u64),
    /// The same Stop is running.
    Join(H),
    /// Another Stop of the loop is running.
    Wait(H),
}

impl<H> Default for StopTable<H> {
    fn default() -> Self {
        Self { running: HashMap::new(), next_ticket: 0 }
    }
}

impl<H: Clone> StopTable<H> {
    /// Registers a delivery; later ones get `handle` while it runs.
    pub fn arrive(&mut self, loop_id: &str, content: &str, handle: H) -> StopArrival<H> {
        if let Some(running) = self.running.get(loop_id) {
            let handle = running.handle.clone();
            let is_same = running.content == content;
            return if is_same { StopArrival::Join(handle) } else { StopArrival::Wait(handle) };
        }
        self.next_ticket += 1;
        let running = RunningStop { ticket: self.next_ticket, content: content.to_owned(), handle };
        self.running.insert(loop_id.to_owned(), running);
        StopArrival::Start(self.next_ticket)
    }

    /// Removes the Stop with this ticket, because it was answered or dropped.
    pub fn leave(&mut self, loop_id: &str, ticket: u64) {
        if self.running.get(loop_id).is_some_and(|running| running.ticket == ticket) {
            self.running.remove(loop_id);
        }
    }

    /// The handle of the running Stop of a loop.
    #[must_use]
    pub fn handle_of(&self, loop_id: &str) -> Option<H> {
        self.running.get(loop_id).map(|running| running.handle.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_stop_joins_a_different_stop_waits_and_loops_are_independent() {
        let mut table = StopTable::default();
        assert_eq!(table.arrive("a", "x", 'x'), StopArrival::Start(1));
        assert_eq!(table.arrive("a", "x", 'y'), StopArrival::Join('x'));
        assert_eq!(table.arrive("a", "z", 'z'), StopArrival::Wait('x'));
        assert_eq!(table.arrive("b", "x", 'b'), StopArrival::Start(2));
        assert_eq!(table.handle_of("a"), Some('x'));
    }

    #[test]
    fn a_ticket_removes_only_its_own_stop() {
        let mut table = StopTable::default();
        assert_eq!(table.arrive("a", "x", 'x'), StopArrival::Start(1));
        table.leave("a", 1);
        assert_eq!(table.arrive("a", "x", 'y'), StopArrival::Start(2));
        table.leave("a", 1);
        assert_eq!(table.handle_of("a"), Some('y'));
    }

    #[test]
    fn a_process_that_started_before_the_answer_belongs_to_the_answered_stop() {
        let answer = StopAnswer {
            call: "1".to_owned(),
            content: "x".to_owned(),
            at_ms: 1_000,
            ..StopAnswer::default()
        };
        let rows = [
            ("1", "x", None, true),
            ("2", "x", Some(999), true),
            ("2", "x", Some(1_001), false),
            ("2", "y", Some(999), false),
            ("2", "x", None, false),
        ];
        for (call, content, start_ms, expected) in rows {
            let (call, content) = (call.to_owned(), content.to_owned());
            let delivery = StopDelivery { call, content, start_ms, is_unique: false };
            assert_eq!(delivery.is_answered_by(&answer), expected, "{delivery:?}");
            let delivery = StopDelivery { is_unique: true, ..delivery };
            assert_eq!(delivery.is_answered_by(&answer), expected || delivery.content == "x");
        }
    }
}
