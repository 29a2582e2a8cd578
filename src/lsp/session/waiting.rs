//! Questions that have not begun: the handshake is not done, enough are in flight, or a storm of
//! edits goes on. Newer bytes of a file supersede older ones at once.

use std::time::{Duration, Instant};

use super::{Effect, Phase, Question, Session};
use crate::base::limits::{DIAGNOSTICS_MS_MAX, PULLS_IN_FLIGHT_MAX, STORM_MS, STORM_MS_MAX};
use crate::base::verdict::{Cause, Gap};
use crate::lsp::registry::Method;

/// A question that has not begun.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) question: Question,
    pub(super) deadline: Instant,
    /// In a storm of edits: when the first one waited, and when this one may begin.
    storm: Option<Storm>,
    /// Whether the file changed on disk since it waits.
    pub(super) is_behind: bool,
}

/// Whether a question is about the same file as a newer one, and about other bytes.
pub(super) fn is_older(other: &Question, newer: &Question) -> bool {
    other.path == newer.path && other.hash != newer.hash
}

pub(super) fn superseded() -> Gap {
    Gap::new(Cause::Superseded, "the file changed while it was measured")
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Storm {
    since: Instant,
    begins_at: Instant,
}

impl Session {
    /// Asks a question. A question about other bytes of the same file supersedes earlier ones. If it
    /// supersedes one that has only just begun, it waits a moment for the edits to end: the first
    /// text of a storm is measured at once, then the last.
    pub fn ask(&mut self, question: Question, now: Instant) {
        let storm = self.supersede(&question, now);
        self.newest_ticket = self.newest_ticket.max(question.ticket);
        let deadline = now + Duration::from_millis(DIAGNOSTICS_MS_MAX);
        self.waiting.push(Waiting { question, deadline, storm, is_behind: false });
        self.begin_waiting(now);
    }

    /// Ends what is about other bytes of the file. Yields how long the newer question is to wait.
    pub(super) fn supersede(&mut self, question: &Question, now: Instant) -> Option<Storm> {
        let gap = superseded();
        self.supersede_queries(question);
        let jobs = self.jobs.iter().filter(|(_, job)| is_older(&job.question, question));
        let jobs: Vec<(u64, Instant)> = jobs.map(|(id, job)| (*id, job.begun)).collect();
        let mut since = None;
        for (job, begun) in jobs {
            if now < begun + Duration::from_millis(STORM_MS) {
                since = Some(now);
            }
            self.finish(job, Err(gap.clone()));
        }
        for older in self.waiting.extract_if(.., |other| is_older(&other.question, question)) {
            since = older.storm.map(|storm| storm.since).or(since);
            self.effects.push(Effect::Answer(older.question.ticket, Err(gap.clone())));
        }
        let since = since?;
        let latest = since + Duration::from_millis(STORM_MS_MAX);
        Some(Storm { since, begins_at: latest.min(now + Duration::from_millis(STORM_MS)) })
    }

    pub(super) fn begin_waiting(&mut self, now: Instant) {
        while self.can_begin() {
            let may_begin = |one: &Waiting| one.storm.is_none_or(|storm| storm.begins_at <= now);
            let Some(first) = self.waiting.iter().position(may_begin) else { return };
            let waiting = self.waiting.remove(first);
            self.begin(waiting, now);
        }
    }

    /// jdtls publishes once about a text, and what it publishes before it is ready is lost.
    fn can_begin(&self) -> bool {
        let is_early = self.method == Method::Jdtls && self.loading.is_loading();
        self.phase == Phase::Ready && self.jobs.len() < PULLS_IN_FLIGHT_MAX && !is_early
    }

    /// When something is to be done about a question that waits.
    pub(super) fn next_waiting(&self) -> Option<Instant> {
        let deadlines = self.waiting.iter().map(|one| one.deadline);
        let storms = self.waiting.iter().filter_map(|one| one.storm).map(|storm| storm.begins_at);
        // While none can begin, its moment is no reason to wake.
        let storms = storms.filter(|_| self.can_begin());
        deadlines.chain(storms).min()
    }

    pub(super) fn end_late_waiting(&mut self, now: Instant) {
        let gap = self.deadline_gap();
        for late in self.waiting.extract_if(.., |one| one.deadline <= now) {
            self.effects.push(Effect::Answer(late.question.ticket, Err(gap.clone())));
        }
    }
}
