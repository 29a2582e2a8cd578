//! What the sensors say of one written file: the scan's delta, and each language server's, as far as
//! they are there in time. What comes later is kept for the session's next hook.

use std::cell::LazyCell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::timeout_at;

use super::deferred_reports::DeferredMeasurement;
use super::earlier_findings::EarlierFindings;
use super::hook_call::HookCall;
use super::post_tool_use;
use crate::base::delta::{Delta, carry_findings};
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::{EARLIER_INLINE_MS_MAX, MEASURE_RETRIES_MAX};
use crate::base::lines::LineHashes;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::daemon::disk_poll::{self, DiskEpoch};
use crate::daemon::engine::{Engine, run_blocking};
use crate::daemon::gather::{self, SensorResult, partial_sensor_key};
use crate::daemon::ledger::{EngineLedger, SessionAgent};
use crate::daemon::pending_reports::{EditBaseline, EditOrigin, MeasureTopic};
use crate::daemon::project::Project;
use crate::files::Snapshot;
use crate::lsp::impact::TouchedSymbols;
use crate::report::agent::EditFeedback;
use crate::scan::scan_text;
use crate::servers::ServerSelection;
use crate::servers::resolve::ResolvedServer;
use crate::wire::hook::TextBeforeEdit;

/// The look for other changes, made once for all that wait for it.
pub(super) type SharedDiskEpoch = Arc<OnceCell<DiskEpoch>>;

/// A sensor without a verdict.
struct UnmeasuredSensor {
    sensor: String,
    gap: Gap,
    /// Whether the session must hear of it even when there is nothing else to say.
    must_report: bool,
}

/// All sensors' deltas of one file, as far as they are there in time.
pub(super) async fn collect_deltas(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: TextBeforeEdit,
    asked: Vec<InFlightMeasure>,
    begun: Instant,
) -> EditFeedback {
    let scanned = scan_delta(call.engine, &call.project, snapshot, before);
    let measured = async {
        // At the same time: one that is slow takes no time from the others.
        let mut answers = Vec::new();
        for one in asked {
            let context = AnswerContext {
                engine: Arc::clone(call.engine),
                project: call.project.clone(),
                reader: call.reader(),
                hash: snapshot.hash,
                started_at: begun,
            };
            answers.push(tokio::spawn(one.finish(context)));
        }
        let mut said = Vec::new();
        for answer in answers {
            said.extend(answer.await.unwrap_or_default());
        }
        said
    };
    let (scanned, measured) = tokio::join!(scanned, measured);
    let (mut delta, mut gaps, mut gaps_are_news) = (Delta::default(), Vec::new(), false);
    for word in scanned.into_iter().chain(measured) {
        match word {
            Ok(of_sensor) => {
                delta.findings.extend(of_sensor.findings);
                delta.fixed += of_sensor.fixed;
                delta.fixed_errors += of_sensor.fixed_errors;
            }
            Err(unmeasured) => {
                gaps_are_news |= unmeasured.must_report;
                gaps.push((unmeasured.sensor, unmeasured.gap));
            }
        }
    }
    delta.findings.sort_by_key(|finding| finding.range);
    let (path, elsewhere) = (snapshot.path.clone(), Vec::new());
    let (counts_are_news, late) = (false, None);
    EditFeedback {
        path,
        delta,
        gaps,
        has_new_gaps: gaps_are_news,
        has_new_counts: counts_are_news,
        deferred_sensor: late,
        other_files: elsewhere,
    }
}

/// What the edit did to the scan's findings. The host hands over the text before the edit, so the
/// delta is this edit's alone, even at a first look and after other writers.
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
                        // What was only partly seen is no set to compare with.
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
    let (word, before) =
        scanned.await.unwrap_or_else(|| (gather::failed_scan_result(snapshot), None));
    gather::store_verified(engine, project, std::slice::from_ref(&word));
    cache_lines(engine, snapshot, &word.findings);
    Some(match word.gap {
        None => Ok(delta_from(engine, before.as_deref(), word.findings, &snapshot.text)),
        Some(gap) => Err(UnmeasuredSensor { sensor: word.sensor, gap, must_report: true }),
    })
}

/// Keeps what finds these findings again after the next edit.
fn cache_lines(engine: &Engine, snapshot: &Snapshot, found: &[Finding]) {
    if !found.is_empty() {
        engine.ledger().lines.keep(snapshot.hash, &snapshot.text);
    }
}

/// The delta to an earlier set; by lines, where those of its text are still known.
fn delta_from(engine: &Engine, before: Option<&[Finding]>, now: Vec<Finding>, text: &str) -> Delta {
    let lines = before
        .and_then(|set| set.first())
        .and_then(|one| engine.ledger().lines.of(one.content_hash));
    match (before, lines) {
        (Some(set), Some(lines)) => {
            Delta::by_line_map(&lines, set, &LineHashes::from_text(text), now)
        }
        (set, _) => Delta::by_fingerprint(set, now),
    }
}

/// Asks all language servers of a file at once.
pub(super) fn start_measuring(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &TextBeforeEdit,
    look: &SharedDiskEpoch,
) -> Vec<InFlightMeasure> {
    let choices = gather::select_servers(call.engine, &call.project, &snapshot.path);
    let ask = |chosen| start_measure(call, snapshot, before, chosen, Arc::clone(look));
    choices.into_iter().map(ask).collect()
}

/// One language server that was asked about the written file.
pub(super) struct InFlightMeasure {
    topic: MeasureTopic,
    /// The server, where one can be asked.
    choice: Option<ResolvedServer>,
    number: u64,
    was_measured: bool,
    /// How long the edit waits for it.
    inline_wait: Duration,
    answer: JoinHandle<(Snapshot, SensorResult)>,
}

fn start_measure(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &TextBeforeEdit,
    chosen: ServerSelection,
    look: SharedDiskEpoch,
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
    let set = |sensor: &str| ledger.verified(root, path, sensor).map(|(_, findings)| findings);
    let origin = edit_origin(&ledger, &topic, before);
    let whole = set(&topic.sensor);
    let was_measured = whole.is_some();
    let verified =
        EditBaseline { complete: whole, partial: set(&partial_sensor_key(&topic.sensor)), origin };
    let late = ledger.take_reports_about(&call.reader(), root, path, &topic.sensor);
    let is_new_file = *before == TextBeforeEdit::Absent;
    let baseline = match late.into_iter().next() {
        // A file that did not exist had nothing wrong, whatever an earlier one of its name had.
        _ if is_new_file => EditBaseline::of(Some(Vec::new())),
        // A late verdict that this edit overtakes was never told: its findings are still news.
        Some(late) => EditBaseline::of(late.baseline),
        None => verified,
    };
    let latency = ledger.latency(root, &topic.sensor);
    let wait = latency.inline_wait(budget, now);
    if chosen.is_ok() {
        latency.record_request(now);
    }
    let session = &call.input.session_id;
    let number = ledger.pending_reports(session).ask(topic.clone(), baseline, is_new_file);
    drop(ledger);
    let choice = chosen.as_ref().ok().cloned();
    let question =
        measure_current_bytes(Arc::clone(engine), project.clone(), snapshot.clone(), chosen, look);
    InFlightMeasure {
        topic,
        choice,
        number,
        was_measured,
        inline_wait: wait,
        answer: tokio::spawn(question),
    }
}

/// What the edit began with, where the host says it.
fn edit_origin(
    ledger: &EngineLedger,
    topic: &MeasureTopic,
    before: &TextBeforeEdit,
) -> Option<EditOrigin> {
    let TextBeforeEdit::Text(text) = before else { return None };
    let MeasureTopic { root, path, sensor, .. } = topic;
    let measured = ledger.verified(root, path, sensor).map(|(hash, _)| hash);
    let epoch = measured.and_then(|hash| ledger.proven_at(root, path, sensor, hash));
    Some(EditOrigin { text: text.as_str().into(), measured, epoch })
}

/// Who waits for an answer.
struct AnswerContext {
    engine: Arc<Engine>,
    project: Project,
    reader: SessionAgent,
    /// The bytes that were asked about.
    hash: ContentHash,
    started_at: Instant,
}

impl InFlightMeasure {
    /// What the server says of the edit; after the wait the measurement goes on and its verdict is
    /// told by the session's next hook.
    async fn finish(self, context: AnswerContext) -> Vec<Result<Delta, UnmeasuredSensor>> {
        let Self { topic, choice, number, was_measured, inline_wait: wait, mut answer } = self;
        let AnswerContext { engine, project, reader, hash, started_at: begun } = context;
        let session = reader.session.clone();
        let is_newest = || engine.ledger().pending_reports(&session).is_newest(&topic, number);
        let Ok(joined) = timeout_at((begun + wait).into(), &mut answer).await else {
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
        let Ok((snapshot, word)) = joined else {
            let gap = gather::internal_error_gap();
            return vec![Err(UnmeasuredSensor { sensor: topic.sensor, gap, must_report: true })];
        };
        let mut said = Vec::new();
        let is_partial = has_project_fault(&word);
        if word.gap.is_some() && !is_partial && !is_newest() {
            return said;
        }
        let (sensor, gap) = (topic.sensor.clone(), word.gap.clone());
        if gap.is_none() || is_partial {
            let told = engine.ledger().pending_reports(&session).take_baseline(&topic, number);
            // A newer edit of the file is told in its stead.
            let Some(baseline) = told else { return said };
            let root = project.root.clone();
            let inline = begun + project.config.inline_budget;
            let deadline =
                inline.min(Instant::now() + Duration::from_millis(EARLIER_INLINE_MS_MAX));
            let shared = Arc::clone(&engine);
            let earlier = EarlierFindings { engine: shared, project, choice, reader, topic };
            let baseline = earlier.complete(baseline, &word, &snapshot, deadline).await;
            said.push(Ok(delta_from_baseline(&engine, &root, baseline, word, &snapshot.text)));
        }
        if let Some(gap) = gap {
            // A tool that was never there is named once, not at every edit.
            let is_first = engine.ledger().report_once(&session, &format!("{sensor} {gap}"));
            let was_lost = was_measured && !is_partial || gap.cause.is_transient();
            said.push(Err(UnmeasuredSensor { sensor, gap, must_report: is_first || was_lost }));
        }
        said
    }
}

/// A measurement of the bytes that are there at its end, and which those are.
async fn measure_current_bytes(
    engine: Arc<Engine>,
    project: Project,
    mut snapshot: Snapshot,
    chosen: ServerSelection,
    look: SharedDiskEpoch,
) -> (Snapshot, SensorResult) {
    // In a large tree the look for other changes takes as long as an answer, and it seldom finds
    // any; so the server is asked meanwhile, and asked again when it did not know of everything.
    let asked_at = engine.ledger().announced_epoch(&project.root);
    let looking = look.get_or_init(async || {
        disk_poll::sync_disk(&engine, &project, std::slice::from_ref(&snapshot)).await
    });
    let first = gather::measure_snapshot(&engine, &project, &snapshot, chosen.clone());
    let (look, mut word) = tokio::join!(looking, first);
    // Another hook's look may have found them, too.
    let (root, path) = (&project.root, snapshot.path.clone());
    let mut is_behind = engine.ledger().others_changed_since(root, &path, asked_at);
    let mut is_current = false;
    for _ in 0..MEASURE_RETRIES_MAX {
        // Superseded by older bytes that were asked about later: hooks overtake each other.
        let is_superseded = word.gap.as_ref().is_some_and(|gap| gap.cause == Cause::Superseded);
        let Some(now) = read_current(&project, &snapshot).await else { break };
        is_current = now.hash == snapshot.hash && !is_behind && !is_superseded;
        if is_current {
            break;
        }
        // A formatter, or an edit whose own hook is on its way: only what is there now counts, and a
        // question about other bytes would supersede that hook's.
        (snapshot, is_behind) = (now, false);
        word = gather::measure_snapshot(&engine, &project, &snapshot, chosen.clone()).await;
    }
    record_latency(&engine, &project, &word);
    let mut words = [word];
    if !is_current {
        gather::discard_superseded(&project, &mut words).await;
    }
    gather::record_results(&engine, &project, &mut words, *look);
    let [word] = words;
    cache_lines(&engine, &snapshot, &word.findings);
    (snapshot, word)
}

/// The file as it is now; `None` when it cannot be read any more.
async fn read_current(project: &Project, snapshot: &Snapshot) -> Option<Snapshot> {
    post_tool_use::read_edited_file(project, &snapshot.path.under(&project.root)).await?.ok()
}

/// Remembers how long the server took.
fn record_latency(engine: &Engine, project: &Project, word: &SensorResult) {
    let mut ledger = engine.ledger();
    let latency = ledger.latency(&project.root, &word.sensor);
    match word.gap.as_ref().map(|gap| gap.cause) {
        None | Some(Cause::ProjectFault) => latency.record_answer(word.elapsed),
        Some(Cause::Crashed | Cause::TimedOut | Cause::Loading) => latency.record_failure(),
        Some(_) => {}
    }
}

/// Whether a fault of the project was told beside the findings.
pub(super) fn has_project_fault(word: &SensorResult) -> bool {
    word.gap.as_ref().is_some_and(|gap| gap.cause == Cause::ProjectFault)
}

/// What an answer did to its baseline. Where the project is at fault, nothing found is no merit.
pub(super) fn delta_from_baseline(
    engine: &Engine,
    root: &Path,
    baseline: EditBaseline,
    word: SensorResult,
    text: &str,
) -> Delta {
    let is_partial = has_project_fault(&word);
    let earlier = if is_partial { baseline.partial } else { baseline.complete };
    if let (None, Some(origin)) = (&earlier, &baseline.origin) {
        let sought =
            LazyCell::new(|| TouchedSymbols::from_edit(&word.path, Some(&origin.text), Some(text)));
        let is_meant = |finding: &Finding| sought.concerns_finding(finding, text);
        return Delta::by_edited_lines(
            &LineHashes::from_text(&origin.text),
            &LineHashes::from_text(text),
            word.findings,
            is_meant,
        );
    }
    let mut delta = delta_from(engine, earlier.as_deref(), word.findings, text);
    if is_partial && delta.findings.is_empty() {
        delta.fixed = 0;
        delta.fixed_errors = 0;
    }
    match (earlier, baseline.origin) {
        (Some(set), Some(origin)) if !is_partial => {
            attribute_to_edit(engine, root, (&origin, &set), delta, (&word.path, text))
        }
        _ => delta,
    }
}

/// Leaves to an edit what it made itself. The earlier set may be of another text than the edit
/// began with, because a command wrote between, and other files may have changed since.
fn attribute_to_edit(
    engine: &Engine,
    root: &Path,
    (origin, set): (&EditOrigin, &[Finding]),
    delta: Delta,
    (path, text): (&RelPath, &str),
) -> Delta {
    let ledger = engine.ledger();
    let is_same_text = origin.measured == Some(ContentHash::of_bytes(origin.text.as_bytes()));
    let others_changed = |epoch| ledger.others_changed_since(root, path, epoch);
    if is_same_text && !origin.epoch.is_none_or(others_changed) {
        return delta;
    }
    let lines = origin.measured.and_then(|measured| ledger.lines.of(measured));
    drop(ledger);
    let before = LineHashes::from_text(&origin.text);
    let known = match lines {
        _ if is_same_text => set.to_vec(),
        Some(lines) => carry_findings(set, &lines, &before),
        None => Vec::new(),
    };
    let sought = LazyCell::new(|| TouchedSymbols::from_edit(path, Some(&origin.text), Some(text)));
    let is_meant = |finding: &Finding| sought.concerns_finding(finding, text);
    delta.attribute_to_edit(&before, &known, &LineHashes::from_text(text), is_meant)
}

fn no_answer_yet_gap(waited: Duration) -> Gap {
    let detail = format!("no answer within {} ms yet; it follows", waited.as_millis());
    Gap::new(Cause::TimedOut, detail)
}
