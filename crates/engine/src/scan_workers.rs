//! The processes that parse and scan for this one, and their program.

use std::collections::HashMap;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moai_base::hash::ContentHash;
use moai_base::limits::{
    IDLE_SCAN_WORKERS_MAX, SCAN_JOB_BYTES_MAX, SCAN_JOB_CPU_SECS_MAX, SCAN_JOB_SECS_MAX,
    SCAN_JOBS_REMEMBERED_MAX, SCAN_WORKER_BYTES_MAX, SPARE_SCAN_WORKERS,
};
use moai_host::worker_process::{self, WorkerBounds, WorkerEnd, WorkerProcess};
use moai_scan::isolation::{JobAnswerer, ScanWorkers, WorkerFailure, use_workers};

/// Only argument of a worker. Not for people.
pub const SCAN_WORKER: &str = "scan-worker";

/// The life of a worker process; returns its exit code.
#[must_use]
pub fn run_worker() -> u8 {
    let bounds = WorkerBounds {
        job_cpu_secs: SCAN_JOB_CPU_SECS_MAX,
        memory_bytes: SCAN_WORKER_BYTES_MAX,
        frame_bytes: SCAN_JOB_BYTES_MAX,
    };
    let mut answerer = JobAnswerer::default();
    worker_process::serve(bounds, |request| answerer.answer(request))
}

/// Lets workers parse and scan for this process from now on.
pub(crate) fn start() {
    let cores = moai_host::processors::processor_count();
    use_workers(Box::new(WorkerPool {
        count_max: cores + SPARE_SCAN_WORKERS,
        state: Mutex::default(),
        freed: Condvar::new(),
    }));
}

/// Starts workers when they are needed.
struct WorkerPool {
    count_max: usize,
    state: Mutex<PoolState>,
    /// Notified when a worker ends its job.
    freed: Condvar,
}

#[derive(Default)]
struct PoolState {
    /// The most recently used one is last: it is used first, because its rules are compiled.
    idle: Vec<WorkerProcess>,
    /// Workers with a job.
    busy: usize,
    /// Outcomes of jobs by the hash of their request: `None` for an empty reply. When the first
    /// generation is full, it becomes the second.
    recent: [HashMap<ContentHash, Option<WorkerFailure>>; 2],
}

impl WorkerPool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a worker may be used; `None` if it must be started first.
    fn take(&self) -> Option<WorkerProcess> {
        let state = self.lock();
        let mut state = self
            .freed
            .wait_while(state, |state| state.busy >= self.count_max)
            .unwrap_or_else(PoisonError::into_inner);
        state.busy += 1;
        state.idle.pop()
    }

    /// Ends the turn that [`WorkerPool::take`] began.
    fn give_back(&self, worker: Option<WorkerProcess>) {
        let mut state = self.lock();
        state.busy -= 1;
        let surplus = match worker {
            Some(worker) if state.idle.len() < IDLE_SCAN_WORKERS_MAX => {
                state.idle.push(worker);
                None
            }
            surplus => surplus,
        };
        drop(state);
        self.freed.notify_one();
        drop(surplus);
    }

    fn run(&self, request: &[u8]) -> Result<Vec<u8>, WorkerFailure> {
        let idle = self.take();
        let started =
            idle.map_or_else(|| WorkerProcess::start(SCAN_WORKER, SCAN_JOB_BYTES_MAX), Ok);
        let mut worker = match started {
            Ok(worker) => worker,
            Err(error) => {
                self.give_back(None);
                return Err(WorkerFailure::Unavailable(error.to_string()));
            }
        };
        let reply = worker.exchange(request, Duration::from_secs(SCAN_JOB_SECS_MAX));
        self.give_back(reply.is_ok().then_some(worker));
        reply.map_err(|end| match end {
            WorkerEnd::CpuTime => WorkerFailure::TooSlow,
            WorkerEnd::Crashed => WorkerFailure::Crashed,
            WorkerEnd::Killed | WorkerEnd::TimedOut(_) | WorkerEnd::Io(_) => {
                WorkerFailure::Unavailable(end.to_string())
            }
        })
    }
}

impl ScanWorkers for WorkerPool {
    fn exchange(&self, request: &[u8]) -> Result<Vec<u8>, WorkerFailure> {
        let key = ContentHash::of_bytes(request);
        let known = self.lock().recent.iter().find_map(|recent| recent.get(&key).cloned());
        match known {
            Some(None) => return Ok(Vec::new()),
            Some(Some(failure)) => return Err(failure),
            None => {}
        }
        let outcome = self.run(request);
        let lasting = match &outcome {
            Ok(reply) if reply.is_empty() => None,
            Err(failure @ (WorkerFailure::TooSlow | WorkerFailure::Crashed)) => {
                Some(failure.clone())
            }
            Ok(_) | Err(WorkerFailure::Unavailable(_)) => return outcome,
        };
        let mut state = self.lock();
        if state.recent[0].len() >= SCAN_JOBS_REMEMBERED_MAX {
            let full = mem::take(&mut state.recent[0]);
            state.recent[1] = full;
        }
        state.recent[0].insert(key, lasting);
        outcome
    }
}
