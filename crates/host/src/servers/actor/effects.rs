//! Performs a session's effects: sends messages, delivers answers, and learns from them whether the
//! server works and how long it takes to start.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{JobListing, PendingReply, RunningServer, ServerActor, ServerAnswer};
use crate::servers::ServerReach;
use crate::servers::cargo_records::forget_changed_units;
use crate::servers::project_files::list_project_files;
use moai_base::limits::SERVER_START_MS_MAX;
use moai_base::verdict::{Cause, Gap};
use moai_lsp::session::{LspSession, SessionEffect};

impl ServerActor {
    /// Performs the session's effects; a gap means that the process must be ended.
    pub(super) fn perform(&mut self) -> Option<Gap> {
        let mut running = self.running.take()?;
        let effects = running.session.take_effects();
        let gap = self.deliver(effects, Some(&mut running));
        let is_overdue = running.start_deadline.is_some_and(|deadline| deadline <= Instant::now());
        self.running = Some(running);
        if gap.is_none() && is_overdue {
            let secs = SERVER_START_MS_MAX / 1000;
            return Some(Gap::new(Cause::TimedOut, format!("it did not start within {secs} s")));
        }
        gap
    }

    pub(super) fn deliver(
        &mut self,
        effects: Vec<SessionEffect>,
        mut running: Option<&mut RunningServer>,
    ) -> Option<Gap> {
        let mut give_up = None;
        for effect in effects {
            match effect {
                SessionEffect::Send(message) => {
                    let process = running.as_ref().map(|running| &running.process);
                    if process.is_some_and(|process| process.send(message).is_err()) {
                        give_up = Some(Gap::new(Cause::Crashed, "it stopped reading its input"));
                    }
                }
                SessionEffect::DiagnosticsReady(ticket, outcome) => {
                    let is_proof =
                        outcome.as_ref().err().is_none_or(|gap| !gap.cause.is_transient());
                    let reply = self.settle_ticket(ticket, is_proof, running.as_deref_mut());
                    if let Some(PendingReply::Diagnostics(reply)) = reply {
                        let session = running.as_ref().map(|running| &running.session);
                        let answer = ServerAnswer {
                            version: self.version.clone(),
                            outcome,
                            configuration_gap: session.and_then(LspSession::configuration_gap),
                        };
                        // The caller may have dropped its receiver; then the verdict is not needed.
                        let _ = reply.send(answer);
                    }
                }
                SessionEffect::QueryAnswered(ticket, outcome) => {
                    let is_proof =
                        outcome.as_ref().err().is_none_or(|gap| !gap.cause.is_transient());
                    let reply = self.settle_ticket(ticket, is_proof, running.as_deref_mut());
                    if let Some(PendingReply::QueryReply(reply)) = reply {
                        let _ = reply.send(outcome);
                    }
                }
                SessionEffect::Ready(version) => {
                    self.version = version;
                    if let Some(running) = &mut running {
                        running.start_deadline = None;
                    }
                }
                SessionEffect::OutsidePlacesChanged(places) => {
                    let started_ns = running.as_ref().map_or(0, |running| running.started_ns);
                    self.reach.send_replace(ServerReach { places: Arc::new(places), started_ns });
                }
                SessionEffect::Outdated => {
                    self.gauge.is_outdated.store(true, Ordering::Relaxed);
                }
                SessionEffect::ListProjectFiles(job, listing) => {
                    let start = self.starts;
                    let project = list_project_files(listing);
                    self.listings
                        .spawn(async move { JobListing { start, job, project: project.await } });
                }
                SessionEffect::PrepareFlycheck => {
                    let preparation = forget_changed_units(self.choice.clone(), self.process_env());
                    self.preparation = Some(tokio::spawn(preparation));
                }
                SessionEffect::GiveUp(gap) => give_up = Some(gap),
            }
        }
        give_up
    }

    /// Removes an answered ticket. An answer that proves that the server works closes the breaker;
    /// the first such answer measures the cost of a start.
    fn settle_ticket(
        &mut self,
        ticket: u64,
        is_proof: bool,
        running: Option<&mut RunningServer>,
    ) -> Option<PendingReply> {
        let (asked, reply) = self.replies.remove(&ticket)?;
        self.trial_ticket = self.trial_ticket.filter(|trial| *trial != ticket);
        if is_proof {
            self.answered += 1;
            self.breaker.record_answer();
        }
        if let Some(running) = running.filter(|running| is_proof && !running.has_answered) {
            running.has_answered = true;
            let cost =
                running.load_time + asked.max(running.started_at + running.load_time).elapsed();
            let cost_ms = u64::try_from(cost.as_millis()).unwrap_or(u64::MAX);
            self.gauge.restart_ms.store(cost_ms.max(1), Ordering::Relaxed);
        }
        Some(reply)
    }
}
