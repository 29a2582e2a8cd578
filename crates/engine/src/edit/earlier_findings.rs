//! Findings of the text before an edit, for a file that was never measured before. They are measured
//! after the edit's own result, as long as the hook may wait; a later result corrects the report of
//! introduced findings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use crate::edit::baseline_rule::EditBaseline;
use crate::edit::edit_measurement::{baseline_of, delta_from_baseline, has_project_fault};
use crate::engine::Engine;
use crate::evidence::earlier_texts::{EarlierState, EarlierSubject, measure_earlier};
use crate::evidence::gather::SensorResult;
use crate::hooks::hook_call::edit_text;
use crate::ledger::pending_reports::{MeasureTopic, StateBefore};
use crate::ledger::{DeferredReport, SessionAgent};
use crate::project::Project;
use moai_base::delta::Delta;
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::hash::ContentHash;
use moai_base::limits::EARLIER_DEFERRED_MS_MAX;
use moai_base::verdict::Cause;
use moai_host::files::Snapshot;
use moai_host::servers::resolve::ResolvedServer;
use moai_report::agent::EditFeedback;

/// Measures the findings of one file before an edit.
pub(crate) struct EarlierFindings {
    pub(crate) engine: Arc<Engine>,
    pub(crate) project: Project,
    /// The server, if one is available.
    pub(crate) choice: Option<ResolvedServer>,
    pub(crate) reader: SessionAgent,
    pub(crate) topic: MeasureTopic,
}

impl EarlierFindings {
    /// Completes a baseline without findings of the text before the edit, if the edited text has
    /// findings to compare. A result after the deadline is reported later.
    pub(crate) async fn complete(
        self,
        baseline: StateBefore,
        result: &SensorResult,
        snapshot: &Snapshot,
        deadline: Instant,
    ) -> StateBefore {
        let has_findings = result.findings.iter().any(|finding| finding.severity > Severity::Hint);
        let Some(earlier) = self.earlier_text(&baseline) else { return baseline };
        let Some(choice) = self.choice.clone() else { return baseline };
        let (engine, root) = (&self.engine, &self.project.root);
        if baseline_of(engine, root, &baseline, result, has_findings)
            != EditBaseline::UnmeasuredText
        {
            return baseline;
        }
        let (engine, project, text) = (Arc::clone(&self.engine), self.project.clone(), earlier);
        let mut measuring = tokio::spawn(async move {
            let state = EarlierState { texts: vec![text.clone()], ..EarlierState::default() };
            let latest = Instant::now() + Duration::from_millis(EARLIER_DEFERRED_MS_MAX);
            let subjects = vec![EarlierSubject { snapshot: text, choice }];
            measure_earlier(&engine, &project, &state, subjects, latest).await.pop().flatten()
        });
        if let Ok(measured) = timeout_at(deadline.into(), &mut measuring).await {
            return self.with_measured(baseline, measured.ok().flatten());
        }
        let (guessed, result, snapshot) = (baseline.clone(), result.clone(), snapshot.clone());
        let job = self.engine.job();
        tokio::spawn(async move {
            let _job = job;
            let measured = measuring.await.ok().flatten();
            self.correct(&guessed, measured, &result, &snapshot);
        });
        baseline
    }

    fn earlier_text(&self, baseline: &StateBefore) -> Option<Snapshot> {
        let text = Arc::clone(baseline.text.as_ref()?);
        let hash = ContentHash::of_bytes(text.as_bytes());
        Some(Snapshot { path: self.topic.path.clone(), text, hash })
    }

    fn with_measured(
        &self,
        mut baseline: StateBefore,
        measured: Option<SensorResult>,
    ) -> StateBefore {
        let Some(measured) = measured else { return baseline };
        let is_partial = has_project_fault(&measured);
        if measured.gap.as_ref().is_some_and(|gap| gap.cause != Cause::ProjectFault) {
            return baseline;
        }
        let mut ledger = self.engine.ledger();
        if let Some(text) = &baseline.text {
            ledger.lines.keep(measured.hash, text);
            baseline.measured = Some(measured.hash);
            baseline.epoch = Some(ledger.epoch(&self.project.root));
        }
        drop(ledger);
        if is_partial {
            baseline.partial = Some(measured.findings);
        } else {
            baseline.complete = Some(measured.findings);
        }
        baseline
    }

    /// Reports introduced findings that were first reported as perhaps older.
    fn correct(
        self,
        guessed: &StateBefore,
        measured: Option<SensorResult>,
        result: &SensorResult,
        snapshot: &Snapshot,
    ) {
        let (engine, root) = (&self.engine, &self.project.root);
        let exact = self.with_measured(guessed.clone(), measured);
        if exact == *guessed {
            return;
        }
        let reported =
            delta_from_baseline(engine, root, guessed, result.clone(), &snapshot.text).findings;
        let now =
            delta_from_baseline(engine, root, &exact, result.clone(), &snapshot.text).findings;
        let introduced: Vec<Finding> = now
            .into_iter()
            .zip(reported)
            .filter(|(now, reported)| {
                now.state == FindingState::Introduced && reported.state != FindingState::Introduced
            })
            .map(|(now, _)| now)
            .collect();
        let feedback = EditFeedback {
            path: snapshot.path.clone(),
            delta: Delta { findings: introduced, ..Delta::default() },
            gaps: Vec::new(),
            has_new_gaps: false,
            has_new_counts: false,
            deferred_sensor: Some(self.topic.sensor.clone()),
            other_files: Vec::new(),
        };
        let Some(text) = edit_text(engine, &self.reader.session, &feedback) else { return };
        let late = DeferredReport {
            root: root.clone(),
            path: snapshot.path.clone(),
            sensor: self.topic.sensor,
            hash: snapshot.hash,
            text,
            baseline: None,
            depends_on: Vec::new(),
        };
        engine.ledger().queue_report(&self.reader, late);
    }
}
