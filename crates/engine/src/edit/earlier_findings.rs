//! Findings of the text before an edit, for a file that was never measured before. They are measured
//! after the edit's own result.

use std::time::{Duration, Instant};

use crate::edit::baseline_rule::EditBaseline;
use crate::edit::edit_delta::edit_baseline;
use crate::edit::edit_measurement::EditMeasurement;
use crate::evidence::earlier_texts::{
    EarlierCaller, EarlierState, EarlierSubject, measure_earlier,
};
use crate::evidence::snapshot_measurement::SensorResult;
use crate::ledger::pending_reports::StateBefore;
use moai_base::finding::Severity;
use moai_base::limits::EARLIER_DEFERRED_MS_MAX;
use moai_host::files::Snapshot;

impl EditMeasurement {
    /// Completes a baseline without findings of the text before the edit, if the edited text has
    /// findings to compare.
    pub(crate) async fn complete_baseline(
        &self,
        baseline: StateBefore,
        result: &SensorResult,
    ) -> StateBefore {
        let (engine, project) = (&self.edit.engine, &self.edit.project);
        let has_findings = result.findings.iter().any(|finding| finding.severity > Severity::Hint);
        let (Some(choice), Some(text)) = (self.server.clone(), baseline.text.clone()) else {
            return baseline;
        };
        if edit_baseline(engine, &project.root, &baseline, result, has_findings)
            != EditBaseline::UnmeasuredText
        {
            return baseline;
        }
        let before = Snapshot::of_text(self.topic.path.clone(), text);
        let state = EarlierState { texts: vec![before.clone()], ..EarlierState::default() };
        let Some(state) = state.with_selected_servers(engine, project).await else {
            return baseline;
        };
        let latest = Instant::now() + Duration::from_millis(EARLIER_DEFERRED_MS_MAX);
        let subjects = vec![EarlierSubject { snapshot: before, choice }];
        let measured =
            measure_earlier(engine, project, &state, subjects, EarlierCaller::Edit, latest).await;
        self.with_measured(baseline, measured.into_iter().next().flatten().map(|it| it.result))
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
}
