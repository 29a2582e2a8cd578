//! Measurements that begin once more: the server says that what it answered is outdated, it offers
//! another protocol now, or only a new version of the text makes it speak.

use std::time::Instant;

use serde_json::json;

use super::documents::Resend;
use super::{Job, Question, Session};
use crate::base::limits::REFRESHES_MAX;
use crate::lsp::freshness::Protocol;
use crate::lsp::registry::Method;

/// The method that offers diagnostics by pull.
const PULL: &str = "textDocument/diagnostic";

impl Session {
    /// Which texts are sent although the server has them.
    pub(super) fn resend(&self) -> Resend {
        match self.method {
            Method::Push | Method::Clangd | Method::Jdtls => Resend::Known,
            Method::Gopls => Resend::Opened,
            Method::Pull | Method::Tsserver | Method::RustAnalyzer => Resend::Never,
        }
    }

    /// Ends the jobs about the same bytes: the text is sent as a newer version, and nothing is
    /// published about the older one any more. Yields their tickets.
    pub(super) fn take_over(&mut self, question: &Question) -> Vec<u64> {
        let is_same = |other: &Question| other.path == question.path && other.hash == question.hash;
        let same = self.jobs.iter().filter(|(_, job)| is_same(&job.question));
        let same: Vec<u64> = same.map(|(id, _)| *id).collect();
        same.into_iter().filter_map(|id| self.remove_job(id)).flat_map(Job::into_tickets).collect()
    }

    /// Takes a job out; the server need not answer what it was asked.
    pub(super) fn remove_job(&mut self, id: u64) -> Option<Job> {
        let job = self.jobs.remove(&id)?;
        self.cancel(job.request);
        Some(job)
    }

    fn cancel(&mut self, request: Option<i64>) {
        if let Some(request) = request
            && self.asked.remove(&request).is_some()
        {
            self.notify("$/cancelRequest", json!({"id": request}));
        }
    }

    /// Sends a job's text again as needed and takes the first step again.
    pub(super) fn restart(&mut self, id: u64, resend: Resend, now: Instant) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.wake = None;
        let (request, question) = (job.request.take(), job.question.clone());
        self.cancel(request);
        let (version, _) = self.send_text(&question, resend);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.version = version;
        }
        self.step(id, now, Protocol::begin);
    }

    /// clangd rebuilds what includes a saved header; what it published before is outdated.
    pub(super) fn restart_others(&mut self, saved: u64, now: Instant) {
        let others: Vec<u64> = self.jobs.keys().copied().filter(|id| *id != saved).collect();
        self.restart_anew(&others, now);
    }

    /// Restarts jobs with a protocol that has heard nothing.
    pub(super) fn restart_anew(&mut self, jobs: &[u64], now: Instant) {
        let (method, resend) = (self.method, self.resend());
        for id in jobs {
            if let Some(job) = self.jobs.get_mut(id) {
                job.protocol = Protocol::new(method);
            }
            self.restart(*id, resend, now);
        }
    }

    /// The server says that what it answered is outdated: open pulls are asked again.
    pub(super) fn refresh(&mut self, now: Instant) {
        let mut outdated = Vec::new();
        for (id, job) in &mut self.jobs {
            if matches!(job.protocol, Protocol::Pull(_)) && job.refresh_count < REFRESHES_MAX {
                job.refresh_count += 1;
                outdated.push(*id);
            }
        }
        self.restart_anew(&outdated, now);
    }

    /// Chooses the protocol by what the server offers now. Offered pull, many servers stop
    /// publishing, so pull is taken wherever it is announced.
    pub(super) fn providers_changed(&mut self, now: Instant) {
        let announced = &self.capabilities["diagnosticProvider"];
        let pulls = announced.is_object() || self.registrations.provides(PULL);
        let method = match self.spec.diagnostics {
            Method::Push | Method::Pull if pulls => Method::Pull,
            _ if self.fell_back => Method::Push,
            // Not announced may be not yet announced, and some servers answer all the same.
            own => own,
        };
        if method != self.method {
            self.method = method;
            let jobs: Vec<u64> = self.jobs.keys().copied().collect();
            self.restart_anew(&jobs, now);
        }
    }
}
