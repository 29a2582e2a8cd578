//! A seeded simulation of deliveries: a host that delivers its Stops once or twice, hooks that come
//! late or are ended, daemons that are killed. However it goes, every Stop that is not broken off
//! counts once, and one that is counts at most once.

use super::samples::state;
use super::state::{LoopState, StopAnswer};
use super::stop_table::{StopArrival, StopDelivery, StopTable};
use moai_base::limits::PROCESS_START_PRECISION_MS;

/// Hosts that are played.
const HOSTS: u64 = 2_000;
/// Stops of one host.
const STOPS: u32 = 12;

/// `SplitMix64`: the same numbers on every machine.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// How far one hook process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It asks the daemon at this time.
    AsksAt(u64),
    /// The daemon decides its Stop until this time.
    Leads {
        ticket: u64,
        until_ms: u64,
    },
    /// It waits for the Stop of another one.
    Waits {
        leader: usize,
    },
    Ended,
}

struct Process {
    delivery: StopDelivery,
    part: Part,
    is_killed: bool,
}

struct Deliveries {
    seed: Seeded,
    now_ms: u64,
    calls: u32,
    /// What the store holds.
    stored: LoopState,
    table: StopTable<usize>,
    processes: Vec<Process>,
}

impl Deliveries {
    fn start_processes(&mut self) {
        let content = format!("words {}", self.seed.below(2));
        self.processes.clear();
        for _ in 0..=self.seed.below(2) {
            self.calls += 1;
            let begun_ms = self.now_ms + self.seed.below(3) + PROCESS_START_PRECISION_MS;
            let (call, content) = (self.calls.to_string(), content.clone());
            let delivery = StopDelivery { call, content, start_ms: Some(begun_ms) };
            let part = Part::AsksAt(self.now_ms + 1 + self.seed.below(120));
            self.processes.push(Process { delivery, part, is_killed: false });
        }
    }

    fn is_answered(&self, at: usize) -> bool {
        let delivery = &self.processes[at].delivery;
        self.stored.answer.as_ref().is_some_and(|answer| delivery.is_answered_by(answer))
    }

    fn ask(&mut self, at: usize) {
        if self.is_answered(at) {
            self.processes[at].part = Part::Ended;
            return;
        }
        let content = self.processes[at].delivery.content.clone();
        self.processes[at].part = match self.table.arrive("loop", &content, at) {
            // Longer than the clocks are inexact: servers, guard and git take their time.
            StopArrival::Start(ticket) => {
                Part::Leads { ticket, until_ms: self.now_ms + 40 + self.seed.below(60) }
            }
            StopArrival::Join(leader) | StopArrival::Wait(leader) => Part::Waits { leader },
        };
    }

    fn save(&mut self, at: usize) {
        let StopDelivery { call, content, .. } = self.processes[at].delivery.clone();
        self.stored.iteration += 1;
        let at_ms = self.now_ms;
        self.stored.answer = Some(StopAnswer { call, content, at_ms, ..StopAnswer::default() });
    }

    fn leave(&mut self, at: usize) {
        if let Part::Leads { ticket, .. } = self.processes[at].part {
            self.table.leave("loop", ticket);
        }
    }

    /// Whoever waited for this process asks again, or has the answer.
    fn wake_waiters(&mut self, of: usize) {
        for at in 0..self.processes.len() {
            if self.processes[at].part == (Part::Waits { leader: of }) {
                self.ask(at);
            }
        }
    }

    fn kill_daemon(&mut self) {
        self.table = StopTable::default();
        let again = self.now_ms + 5;
        for process in self.processes.iter_mut().filter(|it| it.part != Part::Ended) {
            process.part = match process.part {
                Part::AsksAt(at) => Part::AsksAt(at.max(again)),
                _ => Part::AsksAt(again),
            };
        }
    }

    fn kill_process(&mut self, at: usize) {
        self.leave(at);
        self.processes[at].part = Part::Ended;
        self.processes[at].is_killed = true;
        self.wake_waiters(at);
    }

    /// One millisecond of one Stop.
    fn tick(&mut self) {
        self.now_ms += 1;
        for at in 0..self.processes.len() {
            match self.processes[at].part {
                Part::AsksAt(at_ms) if at_ms <= self.now_ms => self.ask(at),
                Part::Leads { until_ms, .. } if until_ms <= self.now_ms => {
                    self.save(at);
                    // The daemon may be killed between saving and the answer.
                    if self.seed.below(8) == 0 {
                        self.kill_daemon();
                        continue;
                    }
                    self.leave(at);
                    self.processes[at].part = Part::Ended;
                    self.wake_waiters(at);
                }
                _ => {}
            }
        }
        if self.seed.below(400) == 0 {
            self.kill_daemon();
        }
        if self.seed.below(400) == 0 {
            let at = usize::try_from(self.seed.below(2)).unwrap_or_default();
            if self.processes.get(at).is_some_and(|it| it.part != Part::Ended) {
                self.kill_process(at);
            }
        }
        assert!(
            self.processes.iter().filter(|it| matches!(it.part, Part::Leads { .. })).count() <= 1,
            "two Stops are measured at once"
        );
    }

    /// Returns whether every process of the Stop was ended by the host.
    fn play_stop(&mut self) -> bool {
        self.start_processes();
        while self.processes.iter().any(|it| it.part != Part::Ended) {
            self.tick();
        }
        // The agent thinks, if only for a moment.
        self.now_ms += 1 + self.seed.below(30);
        self.processes.iter().all(|it| it.is_killed)
    }
}

#[test]
fn every_stop_counts_once_however_it_is_delivered() {
    let mut broken_off = 0;
    for host in 0..HOSTS {
        let mut deliveries = Deliveries {
            seed: Seeded(host),
            now_ms: 1_000_000,
            calls: 0,
            stored: LoopState { answer: None, iteration: 0, ..state() },
            table: StopTable::default(),
            processes: Vec::new(),
        };
        for _ in 0..STOPS {
            let before = deliveries.stored.iteration;
            let is_broken_off = deliveries.play_stop();
            let counted = deliveries.stored.iteration - before;
            broken_off += u32::from(is_broken_off);
            assert!(counted == 1 || is_broken_off && counted == 0, "host {host}: {counted}");
        }
    }
    assert!(broken_off > 100, "the simulation plays what it is for: {broken_off}");
}
