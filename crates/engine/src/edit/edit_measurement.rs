//! The measurement of an edit by one language server: compared with the state before, and reported
//! by the edit's hook or, if the server takes longer, by the session's next hook.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{timeout, timeout_at};

use crate::edit::baseline_rule::{BaselineSource, baseline_source};
use crate::edit::edit_delta::{cache_lines, delta_from_baseline};
use crate::edit::edit_session::{EditSession, SensorFeedback};
use crate::engine::panic_gap;
use crate::evidence::poll_gate::DiskEpoch;
use crate::evidence::settled_measurement::{MeasuredServers, SettledMeasurement, measure_settled};
use crate::evidence::snapshot_measurement::{SensorResult, unmeasured};
use crate::evidence::verified_results::partial_sensor_key;
use crate::evidence::{snapshot_measurement, verified_results};
use crate::hooks::hook_call::{edit_text, language};
use crate::ledger::DeferredReport;
use crate::ledger::pending_reports::{MeasureTopic, StateBefore};
use crate::ledger::root::RootLedger;
use moai_base::delta::Delta;
use moai_base::finding::has_errors;
use moai_base::hash::ContentHash;
use moai_base::limits::EARLIER_INLINE_MS_MAX;
use moai_base::lines::LineHashes;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::Snapshot;
use moai_host::servers::resolve::ResolvedServer;
use moai_host::servers::{ServerIdentity, ServerSelection};
use moai_lsp::session::MeasureLane;
use moai_protocol::hook::TextBeforeEdit;
use moai_report::agent::{self, EditFeedback, EditText};

/// A server's measurement of an edit.
#[derive(Clone, Debug)]
pub(crate) struct EditMeasurement {
    pub(crate) edit: Arc<EditSession>,
    pub(crate) topic: MeasureTopic,
    /// The server, if one is available.
    pub(crate) server: Option<ResolvedServer>,
    /// The number of this measurement among those of the topic.
    number: u64,
    was_measured: bool,
    /// How long the hook waits for the answer.
    inline_wait: Duration,
}

/// The bytes that were measured in the end, and the result for them.
#[derive(Debug)]
struct MeasuredSnapshot {
    snapshot: Snapshot,
    result: SensorResult,
}

/// A result compared with the state before the edit.
#[derive(Debug)]
struct AttributedResult {
    /// The measured bytes.
    hash: ContentHash,
    delta: Delta,
    gap: Option<Gap>,
    /// The state before, for the report after this one if the session never receives this one.
    baseline: StateBefore,
}

impl EditMeasurement {
    /// Asks the server. The task ends when the answer has arrived, or after the inline wait; then the
    /// measurement continues in the background.
    pub(crate) fn start(
        edit: &Arc<EditSession>,
        selection: ServerSelection,
    ) -> JoinHandle<SensorFeedback> {
        let (engine, project, session) = (&edit.engine, &edit.project, &edit.reader.session);
        let (root, path) = (&project.root, &edit.snapshot.path);
        let topic = MeasureTopic {
            agent: edit.reader.agent.clone(),
            root: root.clone(),
            path: path.clone(),
            sensor: snapshot_measurement::sensor_id(&selection).to_owned(),
        };
        let now = Instant::now();
        let mut ledger = engine.ledger();
        let was_measured = ledger.root(root).has_findings(path, &topic.sensor);
        let undelivered =
            ledger.take_reports_about(&edit.reader, root, path, &topic.sensor).into_iter().next();
        let unreported = ledger.session(session).pending_reports.baseline(&topic).cloned();
        let is_new_file = edit.text_before == TextBeforeEdit::Absent;
        let source = baseline_source(is_new_file, unreported.is_some(), undelivered.is_some());
        let baseline = match source {
            BaselineSource::NewFile => StateBefore::from_findings(Some(Vec::new())),
            BaselineSource::UnreportedEdit => unreported.unwrap_or_default(),
            BaselineSource::UndeliveredReport => {
                undelivered.map(|report| report.baseline).unwrap_or_default()
            }
            BaselineSource::LastResults => {
                let server = selection.as_ref().ok().map(|choice| choice.identity);
                last_results(ledger.root(root), &topic, server, &edit.text_before)
            }
        };
        let latency = ledger.root(root).latency(&topic.sensor);
        let inline_wait = latency.inline_wait(project.config.inline_budget, now);
        if selection.is_ok() {
            latency.record_request(now);
        }
        let number =
            ledger.session(session).pending_reports.register(topic.clone(), baseline, is_new_file);
        drop(ledger);
        let server = selection.as_ref().ok().cloned();
        let answer = tokio::spawn(measure_current_bytes(Arc::clone(edit), selection));
        let edit = Arc::clone(edit);
        let measurement = Self { edit, topic, server, number, was_measured, inline_wait };
        tokio::spawn(measurement.inline_feedback(answer))
    }

    /// The server's part of the feedback. An answer after the wait is reported by the session's next
    /// hook.
    async fn inline_feedback(self, mut answer: JoinHandle<MeasuredSnapshot>) -> SensorFeedback {
        let edit = Arc::clone(&self.edit);
        let mut feedback = SensorFeedback::new(self.topic.sensor.clone());
        let wait_end = edit.started_at + self.inline_wait;
        let Ok(answered) = timeout_at(wait_end.into(), &mut answer).await else {
            if !self.is_newest() {
                return feedback;
            }
            let gap = no_answer_yet_gap(self.inline_wait);
            self.report_later(answer);
            return feedback.with_gap(gap, true);
        };
        let Ok(measured) = answered else { return SensorFeedback::after_panic(feedback.sensor) };
        let gap = measured.result.gap.clone();
        let is_usable = measured.result.has_usable_findings();
        if is_usable {
            let mut attribution = tokio::spawn(self.clone().attribute(measured));
            let inline_end = edit.started_at + edit.project.config.inline_budget;
            let latest = Instant::now() + Duration::from_millis(EARLIER_INLINE_MS_MAX);
            let attribution_end = inline_end.min(latest);
            let Ok(attributed) = timeout_at(attribution_end.into(), &mut attribution).await else {
                // Without the state before, older findings on changed lines would count as introduced.
                let gap = no_answer_yet_gap(edit.started_at.elapsed());
                self.report_attribution_later(attribution);
                return feedback.with_gap(gap, true);
            };
            let Ok(attributed) = attributed else {
                return SensorFeedback::after_panic(feedback.sensor);
            };
            // No baseline means that a newer edit of the file is reported instead.
            if self.take_baseline().is_none() {
                return feedback;
            }
            feedback.delta = attributed.delta;
        } else if !self.is_newest() {
            return feedback;
        }
        let Some(gap) = gap else { return feedback };
        // Silence after an edit of a file that could be measured before would read as clean.
        let is_lost = self.was_measured && gap.cause != Cause::SwitchedOff;
        let must_report = is_lost || gap.cause.is_transient();
        feedback.with_gap(gap, must_report)
    }

    /// Compares a result with the state before the edit, which may have to be measured first.
    async fn attribute(self, measured: MeasuredSnapshot) -> AttributedResult {
        let MeasuredSnapshot { snapshot, result } = measured;
        let baseline = self.baseline().unwrap_or_default();
        let baseline = self.complete_baseline(baseline, &result).await;
        let gap = result.gap.clone();
        let delta = self.edit.delta_from_baseline(&baseline, result, &snapshot.text);
        AttributedResult { hash: snapshot.hash, delta, gap, baseline }
    }

    /// Waits for the answer in the background and queues it for the reader.
    fn report_later(self, answer: JoinHandle<MeasuredSnapshot>) {
        let job = self.edit.engine.job();
        let limit = self
            .edit
            .engine
            .ledger()
            .root(&self.topic.root)
            .latency(&self.topic.sensor)
            .deferred_timeout();
        tokio::spawn(async move {
            let _job = job;
            let hash = self.edit.snapshot.hash;
            match timeout(limit, answer).await {
                Ok(Ok(measured)) => self.queue_result(measured).await,
                Ok(Err(_)) => self.queue_gap(hash, panic_gap()).await,
                Err(_) => {
                    let detail = format!("no answer within {} s", limit.as_secs());
                    self.queue_gap(hash, Gap::new(Cause::TimedOut, detail)).await;
                }
            }
        });
    }

    /// Waits for the comparison in the background and queues its report.
    fn report_attribution_later(self, attribution: JoinHandle<AttributedResult>) {
        let job = self.edit.engine.job();
        tokio::spawn(async move {
            let _job = job;
            let hash = self.edit.snapshot.hash;
            match attribution.await {
                Ok(attributed) => self.queue_attributed(attributed).await,
                Err(_) => self.queue_gap(hash, panic_gap()).await,
            }
        });
    }

    async fn queue_result(self, measured: MeasuredSnapshot) {
        let MeasuredSnapshot { snapshot, result } = &measured;
        if let Some(gap) = result.gap.clone().filter(|_| !result.has_usable_findings()) {
            return self.queue_gap(snapshot.hash, gap).await;
        }
        let attributed = self.clone().attribute(measured).await;
        self.queue_attributed(attributed).await;
    }

    async fn queue_attributed(&self, attributed: AttributedResult) {
        // A newer edit of the file is measured in its own right.
        if self.take_baseline().is_none() {
            return;
        }
        let AttributedResult { hash, delta, gap, baseline } = attributed;
        self.queue_feedback(hash, delta, gap, baseline).await;
    }

    /// Queues a gap. The baseline stays, and the next answer is compared with it.
    async fn queue_gap(&self, hash: ContentHash, gap: Gap) {
        if self.is_newest() {
            let (delta, baseline) = (Delta::default(), StateBefore::default());
            self.queue_feedback(hash, delta, Some(gap), baseline).await;
        }
    }

    async fn queue_feedback(
        &self,
        hash: ContentHash,
        delta: Delta,
        gap: Option<Gap>,
        baseline: StateBefore,
    ) {
        let (engine, session) = (&self.edit.engine, &self.edit.reader.session);
        let sensor = &self.topic.sensor;
        let mut feedback = EditFeedback {
            delta,
            gaps: gap.map(|gap| (sensor.clone(), gap)).into_iter().collect(),
            has_new_gaps: true,
            deferred_sensor: Some(sensor.clone()),
            ..EditFeedback::new(self.topic.path.clone())
        };
        self.edit.remember(&mut feedback, hash).await;
        // The hook announced an answer, so a clean one is reported, too.
        let text = edit_text(engine, session, &feedback).unwrap_or_else(|| {
            EditText::agent_only(agent::no_new_findings(&feedback, language(engine, session)))
        });
        self.queue_text(hash, text, baseline);
    }

    /// Queues a text about the bytes `hash` for the session's next hook.
    fn queue_text(&self, hash: ContentHash, text: EditText, baseline: StateBefore) {
        let report = DeferredReport {
            root: self.topic.root.clone(),
            path: self.topic.path.clone(),
            sensor: self.topic.sensor.clone(),
            hash,
            text,
            baseline,
            measurement: self.number,
            depends_on: Vec::new(),
        };
        self.edit.engine.ledger().queue_report(&self.edit.reader, report);
    }

    fn is_newest(&self) -> bool {
        let mut ledger = self.edit.engine.ledger();
        ledger
            .session(&self.edit.reader.session)
            .pending_reports
            .is_newest(&self.topic, self.number)
    }

    /// The baseline for the report; `None` if a newer measurement will be reported.
    fn baseline(&self) -> Option<StateBefore> {
        let mut ledger = self.edit.engine.ledger();
        let pending = &ledger.session(&self.edit.reader.session).pending_reports;
        pending
            .baseline(&self.topic)
            .filter(|_| pending.is_newest(&self.topic, self.number))
            .cloned()
    }

    /// Takes the baseline for the report; `None` if a newer measurement will be reported.
    fn take_baseline(&self) -> Option<StateBefore> {
        let mut ledger = self.edit.engine.ledger();
        ledger
            .session(&self.edit.reader.session)
            .pending_reports
            .take_baseline(&self.topic, self.number)
    }
}

impl EditSession {
    /// The delta of a server's result to the state before the edit.
    pub(crate) fn delta_from_baseline(
        &self,
        baseline: &StateBefore,
        result: SensorResult,
        text: &str,
    ) -> Delta {
        let catalogue = &self.project.workspace.catalogue;
        let hides_warnings = catalogue.errors_hide_warnings(&result.sensor);
        let earlier = baseline.findings(result.is_partial());
        let had_errors = earlier.is_some_and(|findings| has_errors(findings));
        let delta = delta_from_baseline(&self.engine, &self.project.root, baseline, result, text);
        match baseline.text.as_deref().filter(|_| hides_warnings) {
            Some(before) => {
                let (before, after) = (LineHashes::from_text(before), LineHashes::from_text(text));
                delta.with_hidden_warnings(&before, had_errors, &after)
            }
            None => delta,
        }
    }
}

/// The server's last results of the file, and the text before the edit if the host supplies it.
fn last_results(
    known: &RootLedger,
    topic: &MeasureTopic,
    server: Option<ServerIdentity>,
    before: &TextBeforeEdit,
) -> StateBefore {
    let MeasureTopic { path, sensor, .. } = topic;
    let complete = known.verified(path, sensor, server);
    let partial = known.verified(path, &partial_sensor_key(sensor), server);
    StateBefore {
        measured: complete.map(|last| last.hash),
        epoch: complete.and_then(|last| last.epoch),
        complete: complete.map(|last| last.findings.clone()),
        partial: partial.map(|last| last.findings.clone()),
        text: match before {
            TextBeforeEdit::Text(text) => Some(text.as_str().into()),
            TextBeforeEdit::Absent | TextBeforeEdit::Unknown => None,
        },
    }
}

/// Measures until the result is about the bytes on disk, of this file and of all other files.
async fn measure_current_bytes(
    edit: Arc<EditSession>,
    selection: ServerSelection,
) -> MeasuredSnapshot {
    let (engine, project, root) = (&edit.engine, &edit.project, &edit.project.root);
    let snapshot = edit.snapshot.clone();
    if let Err((_, gap)) = &selection {
        let result = unmeasured(&snapshot, &selection, gap.clone(), Duration::ZERO);
        return MeasuredSnapshot { snapshot, result };
    }
    // In a root that was never polled every file counts as changed, so the server would be asked twice.
    if engine.ledger().root(root).disk.epoch == 0 {
        edit.poll_disk().await;
    }
    let epoch = Some(engine.ledger().root(root).disk.announced_epoch);
    let asked_at = DiskEpoch { epoch, limit: None };
    let first = [snapshot];
    let lane = MeasureLane::Interactive;
    let servers = MeasuredServers::One { selection: Box::new(selection.clone()), lane };
    // A formatter, or a later edit whose own hook has not arrived yet, may replace the bytes: only the
    // present ones count.
    let settled = measure_settled(engine, project, &first, servers, asked_at).await;
    let SettledMeasurement { mut snapshots, mut results, disk } = settled;
    verified_results::record_results(engine, project, &mut results, disk);
    let (Some(snapshot), Some(result)) = (snapshots.pop(), results.pop()) else {
        let [snapshot] = first;
        let result = unmeasured(&snapshot, &selection, panic_gap(), Duration::ZERO);
        return MeasuredSnapshot { snapshot, result };
    };
    record_latency(&edit, &result);
    cache_lines(engine, &snapshot, &result.findings);
    MeasuredSnapshot { snapshot, result }
}

fn record_latency(edit: &EditSession, result: &SensorResult) {
    let mut ledger = edit.engine.ledger();
    let latency = ledger.root(&edit.project.root).latency(&result.sensor);
    match result.gap.as_ref().map(|gap| gap.cause) {
        None | Some(Cause::ProjectFault | Cause::SwitchedOff) => {
            latency.record_answer(result.elapsed);
        }
        Some(Cause::Crashed | Cause::TimedOut | Cause::Loading) => latency.record_failure(),
        Some(_) => {}
    }
}

fn no_answer_yet_gap(waited: Duration) -> Gap {
    let detail = format!("no answer within {} ms; the result follows", waited.as_millis());
    Gap::new(Cause::TimedOut, detail)
}
