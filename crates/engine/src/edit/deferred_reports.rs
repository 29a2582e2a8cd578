//! Deferred reports: answers of language servers that arrive after their hook has answered, kept for
//! the session's next hook.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::edit::earlier_findings::EarlierFindings;
use crate::edit::edit_measurement::{delta_from_baseline, has_project_fault};
use crate::engine::Engine;
use crate::evidence::gather;
use crate::evidence::gather::SensorResult;
use crate::hooks::hook_call::{edit_text, language};
use crate::ledger::pending_reports::MeasureTopic;
use crate::ledger::{DeferredReport, SessionAgent};
use crate::project::Project;
use moai_base::delta::Delta;
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::EARLIER_DEFERRED_MS_MAX;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::Snapshot;
use moai_host::servers::resolve::ResolvedServer;
use moai_report::agent::{self, EditFeedback, EditText};

/// Context for the report of a late answer.
pub(crate) struct DeferredMeasurement {
    pub(crate) engine: Arc<Engine>,
    pub(crate) project: Project,
    pub(crate) choice: Option<ResolvedServer>,
    pub(crate) reader: SessionAgent,
    pub(crate) topic: MeasureTopic,
    pub(crate) number: u64,
}

impl DeferredMeasurement {
    /// Waits for the answer in the background and queues it for the reader.
    pub(crate) fn await_result(
        self,
        answer: JoinHandle<(Snapshot, SensorResult)>,
        asked: ContentHash,
    ) {
        let job = self.engine.job();
        let patience =
            self.engine.ledger().latency(&self.topic.root, &self.topic.sensor).deferred_timeout();
        tokio::spawn(async move {
            let _job = job;
            match timeout(patience, answer).await {
                Ok(Ok((snapshot, result))) => self.queue_result(&snapshot, result).await,
                Ok(Err(_)) => self.queue_gap(asked, gather::internal_error_gap()),
                Err(_) => {
                    let detail = format!("no answer within {} s", patience.as_secs());
                    self.queue_gap(asked, Gap::new(Cause::TimedOut, detail));
                }
            }
        });
    }

    async fn queue_result(self, snapshot: &Snapshot, result: SensorResult) {
        let gap = result.gap.clone();
        if let Some(gap) = gap.clone().filter(|_| !has_project_fault(&result)) {
            return self.queue_gap(snapshot.hash, gap);
        }
        let session = &self.reader.session;
        let told =
            self.engine.ledger().pending_reports(session).take_baseline(&self.topic, self.number);
        // A newer edit of the file is measured in its own right.
        let Some(baseline) = told else { return };
        let findings = EarlierFindings {
            engine: Arc::clone(&self.engine),
            project: self.project.clone(),
            choice: self.choice.clone(),
            reader: self.reader.clone(),
            topic: self.topic.clone(),
        };
        let deadline = Instant::now() + Duration::from_millis(EARLIER_DEFERRED_MS_MAX);
        let baseline = findings.complete(baseline, &result, snapshot, deadline).await;
        let earlier = baseline.findings(has_project_fault(&result)).cloned();
        let delta =
            delta_from_baseline(&self.engine, &self.topic.root, &baseline, result, &snapshot.text);
        self.queue_report(snapshot.hash, delta, gap, earlier);
    }

    /// Queues a gap. The baseline stays, and the next answer is compared with it.
    fn queue_gap(self, hash: ContentHash, gap: Gap) {
        let session = &self.reader.session;
        if self.engine.ledger().pending_reports(session).is_newest(&self.topic, self.number) {
            self.queue_report(hash, Delta::default(), Some(gap), None);
        }
    }

    fn queue_report(
        self,
        hash: ContentHash,
        delta: Delta,
        gap: Option<Gap>,
        baseline: Option<Vec<Finding>>,
    ) {
        let MeasureTopic { root, path, sensor, .. } = self.topic;
        let gaps = gap.map(|gap| (sensor.clone(), gap)).into_iter().collect();
        let (about, late) = (path.clone(), Some(sensor.clone()));
        let elsewhere = Vec::new();
        let feedback = EditFeedback {
            path: about,
            delta,
            gaps,
            has_new_gaps: true,
            has_new_counts: false,
            deferred_sensor: late,
            other_files: elsewhere,
        };
        let session = &self.reader.session;
        let language = language(&self.engine, session);
        // The hook announced an answer, so a clean one is reported, too.
        let text = edit_text(&self.engine, session, &feedback)
            .unwrap_or_else(|| EditText::agent_only(agent::no_new_findings(&feedback, language)));
        let because = Vec::new();
        let late = DeferredReport { root, path, sensor, hash, text, baseline, depends_on: because };
        self.engine.ledger().queue_report(&self.reader, late);
    }
}
