//! Measurements that have not begun: the handshake is not done, enough are in flight, or a storm of
//! edits is going on. Newer bytes of a file supersede older ones at once, and a hook's measurement
//! overtakes those of a check.

use std::time::{Duration, Instant};

use super::{DocumentRequest, LspSession, MeasureLane, SessionEffect, SessionPhase};
use crate::registry::DiagnosticsMethod;
use moai_base::hash::ContentHash;
use moai_base::limits::{
    BATCH_IN_FLIGHT_MAX, BATCH_IN_SEQUENCE_MAX, BATCH_QUIET_MAX, DIAGNOSTICS_MS_MAX, STORM_MS,
    STORM_MS_MAX,
};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};

/// A measurement that has not begun.
#[derive(Debug)]
pub(super) struct QueuedMeasure {
    pub(super) document: DocumentRequest,
    queued_at: Instant,
    pub(super) deadline: Instant,
    /// The storm of edits that delays this measurement.
    storm: Option<EditStorm>,
}

/// True if a request is about the same file as a newer one, but about different bytes.
pub(super) fn is_outdated_by(other: &DocumentRequest, newer: &DocumentRequest) -> bool {
    other.path == newer.path && other.hash != newer.hash
}

pub(super) fn superseded_gap() -> Gap {
    Gap::new(Cause::Superseded, "the file changed while it was measured")
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EditStorm {
    started_at: Instant,
    measure_at: Instant,
}

impl LspSession {
    /// Measures a document. A request about other bytes of the same file supersedes earlier ones.
    /// If it supersedes one that has only just begun, it waits briefly for the edits to end: in a
    /// storm, the first text is measured at once, then the last.
    pub fn measure(&mut self, request: DocumentRequest, now: Instant) {
        if self.is_older_than_disk(&request) {
            let outcome = Err(superseded_gap());
            return self.effects.push(SessionEffect::DiagnosticsReady(request.ticket, outcome));
        }
        let storm = self.supersede(&request, now);
        self.newest_ticket = self.newest_ticket.max(request.ticket);
        let deadline = now + Duration::from_millis(DIAGNOSTICS_MS_MAX);
        let queued_at = now;
        self.queued_measures.push(QueuedMeasure { document: request, queued_at, deadline, storm });
        self.end_if_not_imported();
        self.begin_queued(now);
    }

    /// Ends the waiting measurements if the server cannot import the project.
    pub(super) fn end_if_not_imported(&mut self) {
        if self.loading.import_failure().is_none() {
            return;
        }
        let outcome = Err(self.deadline_gap());
        for waiting in self.queued_measures.drain(..) {
            let ticket = waiting.document.ticket;
            self.effects.push(SessionEffect::DiagnosticsReady(ticket, outcome.clone()));
        }
    }

    /// True if a check read the file before the announced bytes were written: the server would keep
    /// the older text. Hooks read the file themselves and overlays are older on purpose; both are
    /// interactive.
    fn is_older_than_disk(&self, request: &DocumentRequest) -> bool {
        let announced = self.announced_hashes.get(&request.path);
        request.lane == MeasureLane::Batch && announced.is_some_and(|hash| *hash != request.hash)
    }

    /// Ends measurements of other bytes of the file. Returns the delay of the newer one.
    pub(super) fn supersede(
        &mut self,
        request: &DocumentRequest,
        now: Instant,
    ) -> Option<EditStorm> {
        let gap = superseded_gap();
        self.supersede_queries(request);
        let jobs = self.jobs.iter().filter(|(_, job)| is_outdated_by(&job.document, request));
        let jobs: Vec<(u64, Instant)> = jobs.map(|(id, job)| (*id, job.started_at)).collect();
        let mut since = None;
        for (job, started_at) in jobs {
            if now < started_at + Duration::from_millis(STORM_MS) {
                since = Some(now);
            }
            self.finish_job(job, Err(gap.clone()));
        }
        for older in
            self.queued_measures.extract_if(.., |other| is_outdated_by(&other.document, request))
        {
            since = older.storm.map(|storm| storm.started_at).or(since);
            self.effects
                .push(SessionEffect::DiagnosticsReady(older.document.ticket, Err(gap.clone())));
        }
        let since = since?;
        let latest = since + Duration::from_millis(STORM_MS_MAX);
        Some(EditStorm {
            started_at: since,
            measure_at: latest.min(now + Duration::from_millis(STORM_MS)),
        })
    }

    /// Ends queued measurements of other than the present bytes of a file; all of them if those are
    /// unknown.
    pub(super) fn supersede_queued(&mut self, path: &RelPath, now: Option<ContentHash>) {
        for queued in self.queued_measures.extract_if(.., |queued| {
            queued.document.path == *path && Some(queued.document.hash) != now
        }) {
            let outcome = Err(superseded_gap());
            self.effects.push(SessionEffect::DiagnosticsReady(queued.document.ticket, outcome));
        }
    }

    /// Ends measurements of other than the present bytes of a file; all of them if it was deleted.
    pub(super) fn supersede_jobs(&mut self, path: &RelPath, now: Option<ContentHash>) {
        let jobs = self
            .jobs
            .iter()
            .filter(|(_, job)| job.document.path == *path && Some(job.document.hash) != now);
        let jobs: Vec<u64> = jobs.map(|(id, _)| *id).collect();
        for job in jobs {
            self.finish_job(job, Err(superseded_gap()));
        }
    }

    pub(super) fn begin_queued(&mut self, now: Instant) {
        let lanes = [MeasureLane::Interactive, MeasureLane::Batch];
        while let Some(next) = lanes.into_iter().find_map(|lane| self.next_in_lane(lane, now)) {
            let waiting = self.queued_measures.remove(next);
            self.begin_job(waiting, now);
        }
    }

    /// The index of the lane's first measurement that may begin now.
    fn next_in_lane(&self, lane: MeasureLane, now: Instant) -> Option<usize> {
        if !self.can_begin(lane) {
            return None;
        }
        self.queued_measures.iter().position(|queued| {
            queued.document.lane == lane && queued.storm.is_none_or(|storm| storm.measure_at <= now)
        })
    }

    fn can_begin(&self, lane: MeasureLane) -> bool {
        // jdtls publishes once per text, and drops publishes before it is ready.
        let is_early = self.method == DiagnosticsMethod::Jdtls && self.loading.is_loading();
        if self.phase != SessionPhase::Ready || is_early {
            return false;
        }
        let in_flight = self.jobs.values().filter(|job| job.document.lane == lane).count();
        match (lane, self.method) {
            (MeasureLane::Interactive, _) => true,
            (MeasureLane::Batch, DiagnosticsMethod::Pull | DiagnosticsMethod::Tsserver) => {
                in_flight < BATCH_IN_SEQUENCE_MAX
            }
            (MeasureLane::Batch, DiagnosticsMethod::Jdtls) => in_flight < BATCH_QUIET_MAX,
            (MeasureLane::Batch, _) if self.spec.publishes.quiet_ms.is_some_and(|ms| ms > 0) => {
                in_flight < BATCH_QUIET_MAX
            }
            (MeasureLane::Batch, _) => in_flight < BATCH_IN_FLIGHT_MAX,
        }
    }

    /// When a queued measurement must begin or time out.
    pub(super) fn next_queue_wake(&self) -> Option<Instant> {
        let deadlines = self.queued_measures.iter().map(|queued| queued.deadline);
        // While a measurement cannot begin, the end of its storm need not wake the session. One without a storm
        // begins at once if a superseded measurement has made room for it.
        let startable =
            self.queued_measures.iter().filter(|queued| self.can_begin(queued.document.lane));
        let begins =
            startable.map(|queued| queued.storm.map_or(queued.queued_at, |storm| storm.measure_at));
        deadlines.chain(begins).min()
    }

    pub(super) fn end_late_queued(&mut self, now: Instant) {
        let gap = self.deadline_gap();
        for late in self.queued_measures.extract_if(.., |queued| queued.deadline <= now) {
            self.effects
                .push(SessionEffect::DiagnosticsReady(late.document.ticket, Err(gap.clone())));
        }
    }
}
