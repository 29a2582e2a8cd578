//! The Stops that are being decided: a Stop that two hook processes deliver is decided once, and the
//! Stops of a loop are measured one at a time.

use std::collections::HashMap;

use super::state::StopAnswer;

/// One delivery of a Stop by a hook process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopDelivery {
    /// The call of the hook process; a repeated call keeps it.
    pub call: String,
    /// Hash of everything the host said, as hex digits.
    pub content: String,
    /// When the hook process began, in milliseconds since the epoch and rather too late than too
    /// early; `None` where the system does not tell.
    pub start_ms: Option<u64>,
}

impl StopDelivery {
    /// Whether this Stop was answered already. The host waits for the answer of every process that
    /// it starts for one Stop, so a process that began before the answer belongs to the same Stop,
    /// and one that began after it to a later Stop, however much their inputs look alike.
    #[must_use]
    pub fn is_answered_by(&self, answer: &StopAnswer) -> bool {
        let is_same = answer.content == self.content;
        let began_before = self.start_ms.is_some_and(|begun_ms| begun_ms <= answer.at_ms);
        answer.call == self.call || (is_same && began_before)
    }
}

/// The running Stops by loop. `H` is what those who join or wait hold on to.
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

/// What a delivery finds when it arrives.
#[derive(Debug, PartialEq, Eq)]
pub enum StopArrival<H> {
    /// No Stop of the loop is running. This one is now, until its ticket is given back.
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
    /// A delivery arrives; `handle` is kept for those who come while it runs.
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

    /// The Stop with this ticket was answered or dropped.
    pub fn leave(&mut self, loop_id: &str, ticket: u64) {
        if self.running.get(loop_id).is_some_and(|running| running.ticket == ticket) {
            self.running.remove(loop_id);
        }
    }

    /// What those hold on to who wait for the running Stop of a loop.
    #[must_use]
    pub fn handle_of(&self, loop_id: &str) -> Option<H> {
        self.running.get(loop_id).map(|running| running.handle.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_stop_joins_another_one_waits_and_other_loops_do_not_meet() {
        let mut table = StopTable::default();
        assert_eq!(table.arrive("a", "x", 'x'), StopArrival::Start(1));
        assert_eq!(table.arrive("a", "x", 'y'), StopArrival::Join('x'));
        assert_eq!(table.arrive("a", "z", 'z'), StopArrival::Wait('x'));
        assert_eq!(table.arrive("b", "x", 'b'), StopArrival::Start(2));
        assert_eq!(table.handle_of("a"), Some('x'));
    }

    #[test]
    fn a_ticket_ends_its_own_stop_and_no_later_one() {
        let mut table = StopTable::default();
        assert_eq!(table.arrive("a", "x", 'x'), StopArrival::Start(1));
        table.leave("a", 1);
        assert_eq!(table.arrive("a", "x", 'y'), StopArrival::Start(2));
        table.leave("a", 1);
        assert_eq!(table.handle_of("a"), Some('y'));
    }

    #[test]
    fn a_process_that_began_before_the_answer_belongs_to_it() {
        let answer = StopAnswer {
            call: "1".to_owned(),
            content: "x".to_owned(),
            at_ms: 1_000,
            ..StopAnswer::default()
        };
        let check = |call: &str, content: &str, begun_ms, expected| {
            let delivery = StopDelivery {
                call: call.to_owned(),
                content: content.to_owned(),
                start_ms: begun_ms,
            };
            assert_eq!(delivery.is_answered_by(&answer), expected, "{delivery:?}");
        };
        check("1", "x", None, true);
        check("2", "x", Some(999), true);
        check("2", "x", Some(1_001), false);
        check("2", "y", Some(999), false);
        check("2", "x", None, false);
    }
}
