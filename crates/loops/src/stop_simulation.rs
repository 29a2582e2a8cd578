//! A seeded simulation of deliveries: a host delivers each Stop once or twice, hook processes are late
//! or killed, daemons are killed. Every Stop counts exactly once, and at most once if all its hook
//! processes are killed.

use super::samples::state;
use super::simulation::SimulationRng;
use super::state::{LoopState, StopAnswer};
use super::stop_table::{StopArrival, StopDelivery, StopTable};
use moai_base::limits::PROCESS_START_PRECISION_MS;

/// Number of simulated hosts.
const HOSTS: u64 = 2_000;
/// Number of Stops of one host.
const STOPS: u32 = 12;

/// Progress of one hook process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessStage {
    /// It asks the daemon at this time.
    AsksAt(u64),
    /// The daemon decides its Stop until this time.
    Leads {
        ticket: u64,
        until_ms: u64,
    },
    /// It waits for the Stop that another process leads.
    Waits {
        leader: usize,
    },
    Ended,
}

struct Process {
    delivery: StopDelivery,
    stage: ProcessStage,
    is_killed: bool,
}

struct Deliveries {
    random: SimulationRng,
    now_ms: u64,
    calls: u32,
    stored: LoopState,
    table: StopTable<usize>,
    processes: Vec<Process>,
}

impl Deliveries {
    fn start_processes(&mut self) {
        let content = format!("words {}", self.random.number_below(2));
        self.processes.clear();
        for _ in 0..=self.random.number_below(2) {
            self.calls += 1;
            let start_ms = self.now_ms + self.random.number_below(3) + PROCESS_START_PRECISION_MS;
            let (call, content) = (self.calls.to_string(), content.clone());
            let delivery =
                StopDelivery { call, content, start_ms: Some(start_ms), is_unique: false };
            let stage = ProcessStage::AsksAt(self.now_ms + 1 + self.random.number_below(120));
            self.processes.push(Process { delivery, stage, is_killed: false });
        }
    }

    fn is_answered(&self, at: usize) -> bool {
        let delivery = &self.processes[at].delivery;
        self.stored.answer.as_ref().is_some_and(|answer| delivery.is_answered_by(answer))
    }

    fn ask(&mut self, at: usize) {
        if self.is_answered(at) {
            self.processes[at].stage = ProcessStage::Ended;
            return;
        }
        let content = self.processes[at].delivery.content.clone();
        self.processes[at].stage = match self.table.arrive("loop", &content, at) {
            // Longer than the imprecision of process start times, as servers, guard and git are.
            StopArrival::Start(ticket) => ProcessStage::Leads {
                ticket,
                until_ms: self.now_ms + 40 + self.random.number_below(60),
            },
            StopArrival::Join(leader) | StopArrival::Wait(leader) => ProcessStage::Waits { leader },
        };
    }

    fn save(&mut self, at: usize) {
        let StopDelivery { call, content, .. } = self.processes[at].delivery.clone();
        self.stored.iteration += 1;
        let at_ms = self.now_ms;
        self.stored.answer = Some(StopAnswer { call, content, at_ms, ..StopAnswer::default() });
    }

    fn leave(&mut self, at: usize) {
        if let ProcessStage::Leads { ticket, .. } = self.processes[at].stage {
            self.table.leave("loop", ticket);
        }
    }

    /// Lets the processes that wait for `leader` ask again, or get the answer.
    fn wake_waiters(&mut self, leader: usize) {
        for at in 0..self.processes.len() {
            if self.processes[at].stage == (ProcessStage::Waits { leader }) {
                self.ask(at);
            }
        }
    }

    fn kill_daemon(&mut self) {
        self.table = StopTable::default();
        let again = self.now_ms + 5;
        for process in
            self.processes.iter_mut().filter(|process| process.stage != ProcessStage::Ended)
        {
            process.stage = match process.stage {
                ProcessStage::AsksAt(at) => ProcessStage::AsksAt(at.max(again)),
                _ => ProcessStage::AsksAt(again),
            };
        }
    }

    fn kill_process(&mut self, at: usize) {
        self.leave(at);
        self.processes[at].stage = ProcessStage::Ended;
        self.processes[at].is_killed = true;
        self.wake_waiters(at);
    }

    /// Simulates one millisecond of a Stop.
    fn tick(&mut self) {
        self.now_ms += 1;
        for at in 0..self.processes.len() {
            match self.processes[at].stage {
                ProcessStage::AsksAt(at_ms) if at_ms <= self.now_ms => self.ask(at),
                ProcessStage::Leads { until_ms, .. } if until_ms <= self.now_ms => {
                    self.save(at);
                    // The daemon may be killed between saving and the answer.
                    if self.random.number_below(8) == 0 {
                        self.kill_daemon();
                        continue;
                    }
                    self.leave(at);
                    self.processes[at].stage = ProcessStage::Ended;
                    self.wake_waiters(at);
                }
                _ => {}
            }
        }
        if self.random.number_below(400) == 0 {
            self.kill_daemon();
        }
        if self.random.number_below(400) == 0 {
            let at = usize::try_from(self.random.number_below(2)).unwrap_or_default();
            if self.processes.get(at).is_some_and(|process| process.stage != ProcessStage::Ended) {
                self.kill_process(at);
            }
        }
        let leads = self
            .processes
            .iter()
            .filter(|it| matches!(it.stage, ProcessStage::Leads { .. }))
            .count();
        assert!(leads <= 1, "two Stops are decided at once");
    }

    /// Simulates one Stop; returns whether all its processes were killed.
    fn play_stop(&mut self) -> bool {
        self.start_processes();
        while self.processes.iter().any(|process| process.stage != ProcessStage::Ended) {
            self.tick();
        }
        // The agent's next turn takes at least a moment.
        self.now_ms += 1 + self.random.number_below(30);
        self.processes.iter().all(|process| process.is_killed)
    }
}

#[test]
fn every_stop_counts_once_however_it_is_delivered() {
    let mut killed = 0;
    for host in 0..HOSTS {
        let mut deliveries = Deliveries {
            random: SimulationRng::new(host),
            now_ms: 1_000_000,
            calls: 0,
            stored: LoopState { answer: None, iteration: 0, ..state() },
            table: StopTable::default(),
            processes: Vec::new(),
        };
        for _ in 0..STOPS {
            let before = deliveries.stored.iteration;
            let is_killed = deliveries.play_stop();
            let counted = deliveries.stored.iteration - before;
            killed += u32::from(is_killed);
            assert!(counted == 1 || is_killed && counted == 0, "host {host}: {counted}");
        }
    }
    assert!(killed > 100, "too few Stops were killed: {killed}");
}
