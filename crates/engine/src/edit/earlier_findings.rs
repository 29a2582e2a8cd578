//! Findings of the text before an edit, for a file that was never measured before. They are measured
//! after the edit's own result, as long as the hook may wait; a later result corrects the report of
//! introduced findings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use crate::edit::baseline_rule::EditBaseline;
use crate::edit::edit_delta::edit_baseline;
use crate::edit::edit_measurement::EditMeasurement;
use crate::evidence::earlier_texts::{EarlierState, EarlierSubject, measure_earlier};
use crate::evidence::snapshot_measurement::SensorResult;
use crate::hooks::hook_call::edit_text;
use crate::ledger::pending_reports::StateBefore;
use moai_base::delta::Delta;
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::hash::ContentHash;
use moai_base::limits::EARLIER_DEFERRED_MS_MAX;
use moai_host::files::Snapshot;
use moai_report::agent::EditFeedback;

impl EditMeasurement {
    /// Completes a baseline without findings of the text before the edit, if the edited text has
    /// findings to compare. A result after the deadline is reported later.
    pub(crate) async fn complete_baseline(
        &self,
        baseline: StateBefore,
        result: &SensorResult,
        snapshot: &Snapshot,
        deadline: Instant,
    ) -> StateBefore {
        let has_findings = result.findings.iter().any(|finding| finding.severity > Severity::Hint);
        let (Some(choice), Some(text)) = (self.server.clone(), baseline.text.clone()) else {
            return baseline;
        };
        let root = &self.edit.project.root;
        if edit_baseline(&self.edit.engine, root, &baseline, result, has_findings)
            != EditBaseline::UnmeasuredText
        {
            return baseline;
        }
        let hash = ContentHash::of_bytes(text.as_bytes());
        let before = Snapshot { path: self.topic.path.clone(), text, hash };
        let edit = Arc::clone(&self.edit);
        let mut measuring = tokio::spawn(async move {
            let state = EarlierState { texts: vec![before.clone()], ..EarlierState::default() };
            let latest = Instant::now() + Duration::from_millis(EARLIER_DEFERRED_MS_MAX);
            let subjects = vec![EarlierSubject { snapshot: before, choice }];
            measure_earlier(&edit.engine, &edit.project, &state, subjects, latest)
                .await
                .pop()
                .flatten()
        });
        if let Ok(measured) = timeout_at(deadline.into(), &mut measuring).await {
            return self.with_measured(baseline, measured.ok().flatten());
        }
        let (measurement, guessed) = (self.clone(), baseline.clone());
        let (result, snapshot) = (result.clone(), snapshot.clone());
        let job = self.edit.engine.job();
        tokio::spawn(async move {
            let _job = job;
            let measured = measuring.await.ok().flatten();
            measurement.correct_report(&guessed, measured, &result, &snapshot);
        });
        baseline
    }

    fn with_measured(
        &self,
        mut baseline: StateBefore,
        measured: Option<SensorResult>,
    ) -> StateBefore {
        let Some(measured) = measured else { return baseline };
        if measured.gap.as_ref().is_some_and(|gap| !gap.cause.leaves_findings()) {
            return baseline;
        }
        let mut ledger = self.edit.engine.ledger();
        if let Some(text) = &baseline.text {
            ledger.lines.keep(measured.hash, text);
            baseline.measured = Some(measured.hash);
            baseline.epoch = Some(ledger.root(&self.edit.project.root).disk.epoch);
        }
        drop(ledger);
        if measured.is_partial() {
            baseline.partial = Some(measured.findings);
        } else {
            baseline.complete = Some(measured.findings);
        }
        baseline
    }

    /// Reports introduced findings that were first reported as perhaps older.
    fn correct_report(
        &self,
        guessed: &StateBefore,
        measured: Option<SensorResult>,
        result: &SensorResult,
        snapshot: &Snapshot,
    ) {
        let exact = self.with_measured(guessed.clone(), measured);
        if exact == *guessed {
            return;
        }
        let reported = self.edit.delta_from_baseline(guessed, result.clone(), &snapshot.text);
        let now = self.edit.delta_from_baseline(&exact, result.clone(), &snapshot.text);
        let introduced: Vec<Finding> = now
            .findings
            .into_iter()
            .zip(reported.findings)
            .filter(|(now, reported)| {
                now.state == FindingState::Introduced && reported.state != FindingState::Introduced
            })
            .map(|(now, _)| now)
            .collect();
        let feedback = EditFeedback {
            delta: Delta { findings: introduced, ..Delta::default() },
            deferred_sensor: Some(self.topic.sensor.clone()),
            ..EditFeedback::new(snapshot.path.clone())
        };
        let session = &self.edit.reader.session;
        if let Some(text) = edit_text(&self.edit.engine, session, &feedback) {
            self.queue_text(snapshot.hash, text, None);
        }
    }
}
