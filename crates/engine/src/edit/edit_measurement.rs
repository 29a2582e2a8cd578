//! Measures one written file: the deltas of the scan and of each language server that answers in
//! time. Later answers are kept for the session's next hook.

use std::cell::LazyCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::timeout_at;

use crate::edit::baseline_rule::{
    BaselineFacts, BaselineSource, EditBaseline, baseline_for, baseline_source,
};
use crate::edit::deferred_reports::DeferredMeasurement;
use crate::edit::earlier_findings::EarlierFindings;
use crate::edit::post_tool_use;
use crate::engine::{Engine, run_blocking};
use crate::evidence::disk_poll;
use crate::evidence::disk_poll::DiskEpoch;
use crate::evidence::gather;
use crate::evidence::gather::{SensorResult, partial_sensor_key};
use crate::hooks::hook_call::HookCall;
use crate::ledger::pending_reports::{MeasureTopic, StateBefore};
use crate::ledger::{EngineLedger, SessionAgent};
use crate::project::Project;
use moai_base::delta::{Delta, carry_findings};
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::{EARLIER_INLINE_MS_MAX, MEASURE_RETRIES_MAX};
use moai_base::lines::LineHashes;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::Snapshot;
use moai_host::servers::ServerSelection;
use moai_host::servers::resolve::ResolvedServer;
use moai_lsp::impact::TouchedSymbols;
use moai_protocol::hook::TextBeforeEdit;
use moai_report::agent::EditFeedback;
use moai_scan::scan_text;

/// The disk poll for other changes, made once and shared by everything that waits for it.
pub(crate) type SharedDiskEpoch = Arc<OnceCell<DiskEpoch>>;

/// A sensor without a verdict.
struct UnmeasuredSensor {
    sensor: String,
    gap: Gap,
    /// Whether the session is told even when nothing else is reported.
    must_report: bool,
}

/// The deltas of all sensors that answer in time.
pub(crate) async fn collect_deltas(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: TextBeforeEdit,
    in_flight: Vec<InFlightMeasure>,
    started_at: Instant,
) -> EditFeedback {
    let scanned = scan_delta(call.engine, &call.project, snapshot, before);
    let measured = async {
        // At the same time, so that a slow server takes no time from the others.
        let mut answers = Vec::new();
        for measure in in_flight {
            let context = AnswerContext {
                engine: Arc::clone(call.engine),
                project: call.project.clone(),
                reader: call.reader(),
                hash: snapshot.hash,
                started_at,
            };
            answers.push(tokio::spawn(measure.finish(context)));
        }
        let mut deltas = Vec::new();
        for answer in answers {
            deltas.extend(answer.await.unwrap_or_default());
        }
        deltas
    };
    let (scanned, measured) = tokio::join!(scanned, measured);
    let (mut delta, mut gaps, mut has_new_gaps) = (Delta::default(), Vec::new(), false);
    for result in scanned.into_iter().chain(measured) {
        match result {
            Ok(of_sensor) => {
                delta.findings.extend(of_sensor.findings);
                delta.fixed += of_sensor.fixed;
                delta.fixed_errors += of_sensor.fixed_errors;
            }
            Err(unmeasured) => {
                has_new_gaps |= unmeasured.must_report;
                gaps.push((unmeasured.sensor, unmeasured.gap));
            }
        }
    }
    delta.findings.sort_by_key(|finding| finding.range);
    EditFeedback {
        path: snapshot.path.clone(),
        delta,
        gaps,
        has_new_gaps,
        has_new_counts: false,
        deferred_sensor: None,
        other_files: Vec::new(),
    }
}

/// The edit's delta of scan findings. The host supplies the text before the edit, so the delta is
/// this edit's alone, even for a file that was never scanned or that others wrote in between.
async fn scan_delta(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    before: TextBeforeEdit,
) -> Option<Result<Delta, UnmeasuredSensor>> {
    if !project.config.scan_enabled || !project.rules.handles(&snapshot.path) {
        return None;
    }
    let known = engine.ledger().verified(&project.root, &snapshot.path, "scan");
    let (shared, now, rules) = (Arc::clone(engine), snapshot.clone(), Arc::clone(&project.rules));
    let scanned = run_blocking(move || {
        let before = match before {
            TextBeforeEdit::Absent => Some(Vec::new()),
            TextBeforeEdit::Text(text) => {
                let hash = ContentHash::of_bytes(text.as_bytes());
                let before = match known {
                    Some((of, findings)) if of == hash => Some(findings),
                    _ => {
                        let before = scan_text(&rules, &now.path, &text, hash);
                        // A partial scan cannot serve as a baseline.
                        before.gap.is_none().then_some(before.findings)
                    }
                };
                if before.as_ref().is_some_and(|set| !set.is_empty()) {
                    shared.ledger().lines.keep(hash, &text);
                }
                before
            }
            TextBeforeEdit::Unknown => known.map(|(_, findings)| findings),
        };
        (
            gather::scan_snapshot(&rules, &now).unwrap_or_else(|| gather::failed_scan_result(&now)),
            before,
        )
    });
    let (result, before) =
        scanned.await.unwrap_or_else(|| (gather::failed_scan_result(snapshot), None));
    gather::store_verified(engine, project, std::slice::from_ref(&result));
    cache_lines(engine, snapshot, &result.findings);
    Some(match result.gap {
        None => Ok(delta_from(engine, before.as_deref(), result.findings, &snapshot.text)),
        Some(gap) => Err(UnmeasuredSensor { sensor: result.sensor, gap, must_report: true }),
    })
}

/// Keeps the line hashes that map these findings to the text after the next edit.
fn cache_lines(engine: &Engine, snapshot: &Snapshot, findings: &[Finding]) {
    if !findings.is_empty() {
        engine.ledger().lines.keep(snapshot.hash, &snapshot.text);
    }
}

/// The delta to an earlier set of findings: by line map if its lines are still cached, else by
/// fingerprint.
fn delta_from(engine: &Engine, before: Option<&[Finding]>, now: Vec<Finding>, text: &str) -> Delta {
    let lines = before
        .and_then(|set| set.first())
        .and_then(|finding| engine.ledger().lines.of(finding.content_hash));
    match (before, lines) {
        (Some(set), Some(lines)) => {
            Delta::by_line_map(&lines, set, &LineHashes::from_text(text), now)
        }
        (set, _) => Delta::by_fingerprint(set, now),
    }
}

/// Asks all language servers of a file at the same time.
pub(crate) fn start_measuring(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &TextBeforeEdit,
    disk_epoch: &SharedDiskEpoch,
) -> Vec<InFlightMeasure> {
    let choices = gather::select_servers(call.engine, &call.project, &snapshot.path);
    choices
        .into_iter()
        .map(|chosen| start_measure(call, snapshot, before, chosen, Arc::clone(disk_epoch)))
        .collect()
}

/// A running measurement of the written file by one language server.
pub(crate) struct InFlightMeasure {
    topic: MeasureTopic,
    /// The server, if one is available.
    choice: Option<ResolvedServer>,
    number: u64,
    was_measured: bool,
    /// How long the hook waits for the answer.
    inline_wait: Duration,
    answer: JoinHandle<(Snapshot, SensorResult)>,
}

fn start_measure(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &TextBeforeEdit,
    chosen: ServerSelection,
    disk_epoch: SharedDiskEpoch,
) -> InFlightMeasure {
    let (engine, project) = (call.engine, &call.project);
    let sensor = match &chosen {
        Ok(choice) => choice.id.clone(),
        Err((sensor, _)) => sensor.clone(),
    };
    let (root, path) = (&project.root, &snapshot.path);
    let topic =
        MeasureTopic { agent: call.reader().agent, root: root.clone(), path: path.clone(), sensor };
    let (now, budget) = (Instant::now(), project.config.inline_budget);
    let mut ledger = engine.ledger();
    let was_measured = ledger.verified(root, path, &topic.sensor).is_some();
    let undelivered =
        ledger.take_reports_about(&call.reader(), root, path, &topic.sensor).into_iter().next();
    let unreported = ledger.pending_reports(&call.input.session_id).baseline(&topic).cloned();
    let is_new_file = *before == TextBeforeEdit::Absent;
    let source = baseline_source(is_new_file, unreported.is_some(), undelivered.is_some());
    let baseline = match source {
        BaselineSource::NewFile => StateBefore::from_findings(Some(Vec::new())),
        BaselineSource::UnreportedEdit => unreported.unwrap_or_default(),
        BaselineSource::UndeliveredReport => {
            StateBefore::from_findings(undelivered.and_then(|report| report.baseline))
        }
        BaselineSource::LastResults => last_results(&ledger, &topic, before),
    };
    let latency = ledger.latency(root, &topic.sensor);
    let wait = latency.inline_wait(budget, now);
    if chosen.is_ok() {
        latency.record_request(now);
    }
    let session = &call.input.session_id;
    let number = ledger.pending_reports(session).register(topic.clone(), baseline, is_new_file);
    drop(ledger);
    let choice = chosen.as_ref().ok().cloned();
    let question = measure_current_bytes(
        Arc::clone(engine),
        project.clone(),
        snapshot.clone(),
        chosen,
        disk_epoch,
    );
    InFlightMeasure {
        topic,
        choice,
        number,
        was_measured,
        inline_wait: wait,
        answer: tokio::spawn(question),
    }
}

/// The server's last results of the file, and the text before the edit if the host supplies it.
fn last_results(
    ledger: &EngineLedger,
    topic: &MeasureTopic,
    before: &TextBeforeEdit,
) -> StateBefore {
    let MeasureTopic { root, path, sensor, .. } = topic;
    let complete = ledger.verified(root, path, sensor);
    let partial = ledger.verified(root, path, &partial_sensor_key(sensor));
    let measured = complete.as_ref().map(|(hash, _)| *hash);
    StateBefore {
        complete: complete.map(|(_, findings)| findings),
        partial: partial.map(|(_, findings)| findings),
        text: match before {
            TextBeforeEdit::Text(text) => Some(text.as_str().into()),
            TextBeforeEdit::Absent | TextBeforeEdit::Unknown => None,
        },
        measured,
        epoch: measured.and_then(|hash| ledger.proven_at(root, path, sensor, hash)),
    }
}

/// What is needed to turn an answer into feedback.
struct AnswerContext {
    engine: Arc<Engine>,
    project: Project,
    reader: SessionAgent,
    /// Hash of the measured bytes.
    hash: ContentHash,
    started_at: Instant,
}

impl InFlightMeasure {
    /// The server's delta of the edit. After the wait the measurement goes on, and the session's next
    /// hook reports its result.
    async fn finish(self, context: AnswerContext) -> Vec<Result<Delta, UnmeasuredSensor>> {
        let Self { topic, choice, number, was_measured, inline_wait: wait, mut answer } = self;
        let AnswerContext { engine, project, reader, hash, started_at } = context;
        let session = reader.session.clone();
        let is_newest = || engine.ledger().pending_reports(&session).is_newest(&topic, number);
        let Ok(joined) = timeout_at((started_at + wait).into(), &mut answer).await else {
            if !is_newest() {
                return Vec::new();
            }
            let sensor = topic.sensor.clone();
            DeferredMeasurement { engine, project, choice, reader, topic, number }
                .await_result(answer, hash);
            return vec![Err(UnmeasuredSensor {
                sensor,
                gap: no_answer_yet_gap(wait),
                must_report: true,
            })];
        };
        let Ok((snapshot, result)) = joined else {
            let gap = gather::internal_error_gap();
            return vec![Err(UnmeasuredSensor { sensor: topic.sensor, gap, must_report: true })];
        };
        let mut deltas = Vec::new();
        let is_partial = has_project_fault(&result);
        if result.gap.is_some() && !is_partial && !is_newest() {
            return deltas;
        }
        let (sensor, gap) = (topic.sensor.clone(), result.gap.clone());
        if gap.is_none() || is_partial {
            let baseline = engine.ledger().pending_reports(&session).take_baseline(&topic, number);
            // Without a baseline a newer edit of the file is reported instead.
            let Some(baseline) = baseline else { return deltas };
            let root = project.root.clone();
            let inline = started_at + project.config.inline_budget;
            let deadline =
                inline.min(Instant::now() + Duration::from_millis(EARLIER_INLINE_MS_MAX));
            let shared = Arc::clone(&engine);
            let earlier = EarlierFindings { engine: shared, project, choice, reader, topic };
            let baseline = earlier.complete(baseline, &result, &snapshot, deadline).await;
            deltas.push(Ok(delta_from_baseline(&engine, &root, &baseline, result, &snapshot.text)));
        }
        if let Some(gap) = gap {
            // A tool that was never installed is reported once, not at every edit.
            let is_first = engine.ledger().report_once(&session, &format!("{sensor} {gap}"));
            let was_lost = was_measured && !is_partial || gap.cause.is_transient();
            deltas.push(Err(UnmeasuredSensor { sensor, gap, must_report: is_first || was_lost }));
        }
        deltas
    }
}

/// Measures until the result is about the bytes on disk; returns these with the result.
async fn measure_current_bytes(
    engine: Arc<Engine>,
    project: Project,
    mut snapshot: Snapshot,
    chosen: ServerSelection,
    disk_epoch: SharedDiskEpoch,
) -> (Snapshot, SensorResult) {
    // In a large tree the disk poll takes as long as an answer and seldom finds a change, so the
    // server is asked at the same time, and again when a change had not been announced to it.
    let asked_at = engine.ledger().announced_epoch(&project.root);
    let looking = disk_epoch.get_or_init(async || {
        disk_poll::sync_disk(&engine, &project, std::slice::from_ref(&snapshot)).await
    });
    let first = gather::measure_snapshot(&engine, &project, &snapshot, chosen.clone());
    let (disk_epoch, mut result) = tokio::join!(looking, first);
    // The poll of another hook may have found changes, too.
    let (root, path) = (&project.root, snapshot.path.clone());
    let mut is_behind = engine.ledger().others_changed_since(root, &path, asked_at);
    let mut is_current = false;
    for _ in 0..MEASURE_RETRIES_MAX {
        // A hook for older bytes may have asked later, because hooks overtake each other.
        let is_superseded = result.gap.as_ref().is_some_and(|gap| gap.cause == Cause::Superseded);
        let Some(now) = read_current(&project, &snapshot).await else { break };
        is_current = now.hash == snapshot.hash && !is_behind && !is_superseded;
        if is_current {
            break;
        }
        // A formatter, or an edit whose own hook is on its way: only the current bytes count, and a
        // request about other bytes would supersede that hook's.
        (snapshot, is_behind) = (now, false);
        result = gather::measure_snapshot(&engine, &project, &snapshot, chosen.clone()).await;
    }
    record_latency(&engine, &project, &result);
    let mut results = [result];
    if !is_current {
        gather::discard_superseded(&project, &mut results).await;
    }
    gather::record_results(&engine, &project, &mut results, *disk_epoch);
    let [result] = results;
    cache_lines(&engine, &snapshot, &result.findings);
    (snapshot, result)
}

/// The file as it is now; `None` if it cannot be read any more.
async fn read_current(project: &Project, snapshot: &Snapshot) -> Option<Snapshot> {
    post_tool_use::read_edited_file(project, &snapshot.path.under(&project.root)).await?.ok()
}

/// Records the server's latency.
fn record_latency(engine: &Engine, project: &Project, result: &SensorResult) {
    let mut ledger = engine.ledger();
    let latency = ledger.latency(&project.root, &result.sensor);
    match result.gap.as_ref().map(|gap| gap.cause) {
        None | Some(Cause::ProjectFault) => latency.record_answer(result.elapsed),
        Some(Cause::Crashed | Cause::TimedOut | Cause::Loading) => latency.record_failure(),
        Some(_) => {}
    }
}

/// Whether the server reported a fault of the project along with the findings.
pub(crate) fn has_project_fault(result: &SensorResult) -> bool {
    result.gap.as_ref().is_some_and(|gap| gap.cause == Cause::ProjectFault)
}

/// What a result is compared with; `can_overlay` tells whether the text before the edit may still be
/// measured.
pub(crate) fn baseline_of(
    engine: &Engine,
    root: &Path,
    before: &StateBefore,
    result: &SensorResult,
    can_overlay: bool,
) -> EditBaseline {
    let is_partial = has_project_fault(result);
    let text_before = before.text.as_ref().map(|text| ContentHash::of_bytes(text.as_bytes()));
    let ledger = engine.ledger();
    baseline_for(BaselineFacts {
        is_partial,
        has_earlier_findings: before.findings(is_partial).is_some(),
        text_before,
        last_measured: before.measured,
        have_others_changed: before
            .epoch
            .is_none_or(|epoch| ledger.others_changed_since(root, &result.path, epoch)),
        has_measured_lines: before.measured.is_some_and(|hash| ledger.lines.has(hash)),
        can_overlay,
    })
}

/// The delta of a result to the state before the edit. With a fault of the project the server does
/// not see everything, so missing findings do not count as fixed.
pub(crate) fn delta_from_baseline(
    engine: &Engine,
    root: &Path,
    before: &StateBefore,
    result: SensorResult,
    text: &str,
) -> Delta {
    let is_partial = has_project_fault(&result);
    let baseline = baseline_of(engine, root, before, &result, false);
    let SensorResult { path, findings, .. } = result;
    let earlier = before.findings(is_partial).map(Vec::as_slice);
    let text_before = before.text.as_deref().unwrap_or_default();
    let touched = LazyCell::new(|| TouchedSymbols::from_edit(&path, Some(text_before), Some(text)));
    let concerns_edit = |finding: &Finding| touched.concerns_finding(finding, text);
    let lines_before = LineHashes::from_text(text_before);
    let known = match baseline {
        EditBaseline::UnmeasuredText | EditBaseline::EditedLines => {
            let lines = LineHashes::from_text(text);
            return Delta::by_edited_lines(&lines_before, &lines, findings, concerns_edit);
        }
        EditBaseline::Unknown | EditBaseline::EarlierFindings => {
            let mut delta = delta_from(engine, earlier, findings, text);
            if is_partial && delta.findings.is_empty() {
                delta.fixed = 0;
                delta.fixed_errors = 0;
            }
            return delta;
        }
        EditBaseline::OthersChanged => earlier.unwrap_or_default().to_vec(),
        EditBaseline::OlderText => {
            let measured_lines = before.measured.and_then(|hash| engine.ledger().lines.of(hash));
            measured_lines.map_or_else(Vec::new, |lines| {
                carry_findings(earlier.unwrap_or_default(), &lines, &lines_before)
            })
        }
        EditBaseline::ForgottenText => Vec::new(),
    };
    delta_from(engine, earlier, findings, text).attribute_to_edit(
        &lines_before,
        &known,
        &LineHashes::from_text(text),
        concerns_edit,
    )
}

fn no_answer_yet_gap(waited: Duration) -> Gap {
    let detail = format!("no answer within {} ms; the result follows", waited.as_millis());
    Gap::new(Cause::TimedOut, detail)
}
