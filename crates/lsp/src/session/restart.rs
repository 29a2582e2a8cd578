//! Restarts measurements: the server reports that its answer is outdated, it now offers another
//! protocol, or only a new version of the text makes it publish.

use std::time::Instant;

use serde_json::json;

use super::documents::ResendPolicy;
use super::{DocumentRequest, LspSession, MeasureJob};
use crate::freshness::CompletionProtocol;
use crate::registry::DiagnosticsMethod;
use moai_base::limits::REFRESHES_MAX;

/// The method that offers diagnostics by pull.
const PULL: &str = "textDocument/diagnostic";

impl LspSession {
    /// When this server's protocol needs known texts resent.
    pub(super) fn resend(&self) -> ResendPolicy {
        match self.method {
            DiagnosticsMethod::Push | DiagnosticsMethod::Clangd | DiagnosticsMethod::Jdtls => {
                ResendPolicy::Known
            }
            DiagnosticsMethod::Gopls => ResendPolicy::Opened,
            DiagnosticsMethod::Pull
            | DiagnosticsMethod::Tsserver
            | DiagnosticsMethod::RustAnalyzer => ResendPolicy::Never,
        }
    }

    /// Ends the jobs about the same bytes and returns their tickets: the text is sent as a newer
    /// version, after which nothing is published for the older one.
    pub(super) fn take_over(&mut self, document: &DocumentRequest) -> Vec<u64> {
        let same = self.jobs.iter().filter(|(_, job)| {
            job.document.path == document.path && job.document.hash == document.hash
        });
        let same: Vec<u64> = same.map(|(id, _)| *id).collect();
        same.into_iter()
            .filter_map(|id| self.remove_job(id))
            .flat_map(MeasureJob::into_tickets)
            .collect()
    }

    /// Removes a job and cancels its request.
    pub(super) fn remove_job(&mut self, id: u64) -> Option<MeasureJob> {
        let job = self.jobs.remove(&id)?;
        self.cancel(job.request_id);
        Some(job)
    }

    /// Cancels a request, if one is in flight.
    pub(super) fn cancel(&mut self, request: Option<i64>) {
        if let Some(request) = request {
            self.notify("$/cancelRequest", json!({"id": request}));
        }
    }

    /// Resends a job's text as needed and restarts its protocol.
    pub(super) fn restart(&mut self, id: u64, resend: ResendPolicy, now: Instant) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.wake_at = None;
        let (request, document) = (job.request_id.take(), job.document.clone());
        self.cancel(request);
        let (version, _) = self.send_text(&document, resend);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.version = version;
        }
        self.advance_job(id, now, CompletionProtocol::begin);
    }

    /// clangd rebuilds files that include a saved header, so its earlier publishes are outdated.
    pub(super) fn restart_others(&mut self, saved: u64, now: Instant) {
        let others: Vec<u64> = self.jobs.keys().copied().filter(|id| *id != saved).collect();
        self.restart_with_new_protocol(&others, now);
    }

    /// Restarts jobs with a fresh protocol.
    pub(super) fn restart_with_new_protocol(&mut self, jobs: &[u64], now: Instant) {
        let (method, resend) = (self.method, self.resend());
        for id in jobs {
            if let Some(job) = self.jobs.get_mut(id) {
                job.protocol = CompletionProtocol::new(method);
            }
            self.restart(*id, resend, now);
        }
    }

    /// The server reports that its answers are outdated: open pulls are requested again.
    pub(super) fn refresh(&mut self, now: Instant) {
        let mut outdated = Vec::new();
        for (id, job) in &mut self.jobs {
            if matches!(job.protocol, CompletionProtocol::Pull(_))
                && job.refresh_count < REFRESHES_MAX
            {
                job.refresh_count += 1;
                outdated.push(*id);
            }
        }
        self.restart_with_new_protocol(&outdated, now);
    }

    /// Chooses the protocol by the server's current offers. Many servers stop publishing once pull
    /// is offered, so pull is used wherever it is announced.
    pub(super) fn providers_changed(&mut self, now: Instant) {
        let announced = &self.capabilities["diagnosticProvider"];
        let pulls = (announced.is_object() || self.registrations.provides(PULL))
            && self.spec.is_offered_pull();
        let method = match self.spec.diagnostics {
            DiagnosticsMethod::Push | DiagnosticsMethod::Pull if pulls => DiagnosticsMethod::Pull,
            _ if self.has_fallen_back => DiagnosticsMethod::Push,
            // The capability may be announced later, and some servers answer without announcing it.
            own => own,
        };
        if method != self.method {
            self.method = method;
            let jobs: Vec<u64> = self.jobs.keys().copied().collect();
            self.restart_with_new_protocol(&jobs, now);
        }
    }
}
