//! Results that arrived after their hooks had answered, kept for the next hook of the agent that
//! caused them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::ledger::EngineLedger;
use crate::ledger::pending_reports::StateBefore;
use crate::ledger::session::QueuedReport;
use moai_base::hash::ContentHash;
use moai_base::limits::DELIVERIES_PER_SESSION_MAX;
use moai_base::path::RelPath;
use moai_report::agent::EditText;

/// A result that arrived after its hook had answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeferredReport {
    pub(crate) root: PathBuf,
    pub(crate) path: RelPath,
    pub(crate) sensor: String,
    /// The measured bytes; the report is dropped if the file has changed since.
    pub(crate) hash: ContentHash,
    pub(crate) text: EditText,
    /// The baseline of the text. A newer edit that precedes the delivery is compared with the same
    /// baseline, so that findings in between are not lost.
    pub(crate) baseline: StateBefore,
    /// The number of the session's first measurement after the edit that caused the report.
    pub(crate) measurement: u64,
    /// The edited files and their bytes, if another file's edit caused this report.
    pub(crate) depends_on: Vec<(RelPath, Option<ContentHash>)>,
}

/// An agent that calls tools and reads deferred reports. Subagents have ids of their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionAgent {
    /// Empty if the host reported no session; then nothing is delivered.
    pub(crate) session: String,
    /// The subagent; `None` for the main agent.
    pub(crate) agent: Option<String>,
}

impl EngineLedger {
    /// Keeps a deferred report for the reader's next hook.
    pub(crate) fn queue_report(&mut self, reader: &SessionAgent, report: DeferredReport) {
        if reader.session.is_empty() {
            return;
        }
        let session = self.session(&reader.session);
        if session.deferred_reports.len() >= DELIVERIES_PER_SESSION_MAX {
            session.deferred_reports.pop_front();
        }
        let agent = reader.agent.clone();
        session.deferred_reports.push_back(QueuedReport { agent, report });
    }

    /// Takes all deferred reports of a reader; each is delivered once.
    pub(crate) fn take_reports(&mut self, reader: &SessionAgent) -> Vec<DeferredReport> {
        self.take_reports_if(reader, |_| true)
    }

    /// Takes a sensor's deferred reports about a file, because a newer edit is about to replace them.
    pub(crate) fn take_reports_about(
        &mut self,
        reader: &SessionAgent,
        root: &Path,
        path: &RelPath,
        sensor: &str,
    ) -> Vec<DeferredReport> {
        self.take_reports_if(reader, |report| {
            report.root == root && report.path == *path && report.sensor == sensor
        })
    }

    /// Takes a sensor's deferred reports about these bytes of a file that edits of other files
    /// caused. Reports on the file's own edits stay, because they compare other bytes.
    pub(crate) fn take_impact_reports(
        &mut self,
        reader: &SessionAgent,
        root: &Path,
        path: &RelPath,
        hash: ContentHash,
        sensor: &str,
    ) -> Vec<DeferredReport> {
        self.take_reports_if(reader, |report| {
            let is_effect = !report.depends_on.is_empty() && report.hash == hash;
            is_effect && report.root == root && report.path == *path && report.sensor == sensor
        })
    }

    fn take_reports_if(
        &mut self,
        reader: &SessionAgent,
        matches: impl Fn(&DeferredReport) -> bool,
    ) -> Vec<DeferredReport> {
        let Some(session) = self.known_session(&reader.session) else { return Vec::new() };
        let queue = std::mem::take(&mut session.deferred_reports).into_iter();
        let (taken, kept): (VecDeque<_>, VecDeque<_>) =
            queue.partition(|queued| queued.agent == reader.agent && matches(&queued.report));
        session.deferred_reports = kept;
        taken.into_iter().map(|queued| queued.report).collect()
    }

    /// Puts undelivered reports back, before those queued since.
    pub(crate) fn requeue_reports(&mut self, reader: &SessionAgent, reports: Vec<DeferredReport>) {
        let queue = &mut self.session(&reader.session).deferred_reports;
        for report in reports.into_iter().rev() {
            let agent = reader.agent.clone();
            queue.push_front(QueuedReport { agent, report });
        }
        let surplus = queue.len().saturating_sub(DELIVERIES_PER_SESSION_MAX);
        queue.drain(..surplus);
    }
}
