//! Gathers fresh evidence about a set of files: read once, scanned and measured at the same time,
//! and read again at the end, because a verdict about other bytes is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use super::attribution::{AttributionRequest, BaseComparison, attribute_findings};
use super::base_results::BaseResult;
use super::disk_poll::{DiskEpoch, sync_disk};
use super::engine::{Engine, run_blocking};
use super::ledger::{AffectedFiles, VerdictProof};
use super::project::Project;
use super::scan_cache::ScanCacheFile;
use crate::base::evidence::{Evidence, SensorKind, SensorReading, SkippedFile};
use crate::base::finding::{Finding, Severity, assign_fingerprints};
use crate::base::hash::ContentHash;
use crate::base::limits::{
    KEPT_SCANS_FILES_MIN, MEASURE_RETRIES_MAX, MEASURE_RETRY_MS, QUESTIONS_AT_ONCE_MAX,
};
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::files::{self, Snapshot};
use crate::scan::{RuleSet, ScanOutcome, scan_text};
use crate::servers::{MeasureInput, ServerSelection};

/// What is asked.
#[derive(Clone, Debug)]
pub(super) struct MeasureRequest {
    /// The files, relative to the root.
    pub(super) files: Vec<RelPath>,
    /// Files that were asked for and could not even be found.
    pub(super) skipped: Vec<SkippedFile>,
    /// Whether language servers are asked.
    pub(super) run_lsp: bool,
    /// Whether the scan runs.
    pub(super) run_scan: bool,
    /// The lowest severity that counts as dirty.
    pub(super) threshold: Severity,
    /// When language servers must have answered.
    pub(super) deadline: Instant,
    /// The files that are asked about only because an edit elsewhere concerns them.
    pub(super) dependents: UntouchedDependents,
    /// What the findings are compared with; without it only what dependents had before is left out.
    pub(super) comparison: Option<BaseComparison>,
}

/// Files that nobody touched and an edit concerns. What was wrong with them before does not count.
#[derive(Clone, Debug, Default)]
pub(super) struct UntouchedDependents {
    /// The files.
    pub(super) files: BTreeSet<RelPath>,
    /// What is known of them.
    pub(super) affected: AffectedFiles,
}

impl UntouchedDependents {
    /// Whether a finding was there before the edit: it is among those known from before; or, where
    /// nothing is known, neither it nor its line names what was touched. An edit elsewhere changes
    /// nothing for the scan.
    fn is_older(&self, kind: SensorKind, finding: &Finding, text: &str) -> bool {
        let is_unrelated = || !self.affected.touched.concerns_finding(finding, text);
        kind == SensorKind::Scan
            || self.affected.was_present_before(finding).unwrap_or_else(is_unrelated)
    }

    /// Takes what does not count out of the words, and yields how much of it is that bad.
    fn drop_older(
        &self,
        words: &mut [SensorResult],
        snapshots: &[Snapshot],
        threshold: Severity,
    ) -> usize {
        let mut count = 0;
        for word in words.iter_mut().filter(|word| self.files.contains(&word.path)) {
            let snapshot = snapshots.iter().find(|snapshot| snapshot.path == word.path);
            let text = snapshot.map_or("", |snapshot| &*snapshot.text);
            let is_older = |finding: &mut Finding| self.is_older(word.kind, finding, text);
            let older = word.findings.extract_if(.., is_older);
            count += older.filter(|finding| finding.severity >= threshold).count();
        }
        count
    }
}

/// One sensor's word on one file.
#[derive(Clone, Debug)]
pub(super) struct SensorResult {
    pub(super) sensor: String,
    pub(super) kind: SensorKind,
    pub(super) version: Option<String>,
    /// The language server as it was chosen; none for the scan, or where none can be asked.
    pub(super) server: Option<ContentHash>,
    pub(super) path: RelPath,
    pub(super) hash: ContentHash,
    pub(super) findings: Vec<Finding>,
    /// What it could not say; a word with a gap is no verified set.
    pub(super) gap: Option<Gap>,
    pub(super) elapsed: Duration,
}

/// Evidence of language servers and scan about the files asked for.
pub(super) async fn gather_evidence(
    engine: &Arc<Engine>,
    project: &Project,
    asked: MeasureRequest,
) -> Evidence {
    let MeasureRequest {
        files,
        mut skipped,
        run_lsp: lsp,
        run_scan: scan,
        threshold,
        deadline,
        dependents,
        comparison,
    } = asked;
    let (snapshots, unreadable) = read_snapshots(project, files).await;
    skipped.extend(unreadable);
    let snapshots: Arc<[Snapshot]> = snapshots.into();
    let look = if lsp { Some(sync_disk(engine, project, &snapshots).await) } else { None };
    let scanning =
        async { if scan { scan_all(engine, project, &snapshots).await } else { Vec::new() } };
    let measuring = async {
        if lsp { measure_all(engine, project, &snapshots, deadline).await } else { Vec::new() }
    };
    let (mut words, measured) = tokio::join!(scanning, measuring);
    words.extend(measured);
    discard_superseded(project, &mut words).await;
    match look {
        Some(look) => record_results(engine, project, &mut words, look),
        None => store_verified(engine, project, &words),
    }
    cache_lines(engine, &snapshots, &words);
    let older = match &comparison {
        Some(comparison) => {
            let (snapshots, dependents) = (&*snapshots, &dependents);
            let request =
                AttributionRequest { comparison, snapshots, dependents, threshold, deadline };
            attribute_findings(engine, project, request, &mut words).await.older
        }
        None => dependents.drop_older(&mut words, &snapshots, threshold),
    };
    let paths = snapshots.iter().map(|snapshot| snapshot.path.clone());
    let (files, unseen) = split_unchecked(paths, &words);
    skipped.extend(unseen);
    Evidence { older, ..combine_results(files, skipped, words, threshold) }
}

async fn read_snapshots(
    project: &Project,
    files: Vec<RelPath>,
) -> (Vec<Snapshot>, Vec<SkippedFile>) {
    let root = project.root.clone();
    let all = files.clone();
    let read = run_blocking(move || {
        let mut snapshots = Vec::with_capacity(files.len());
        let mut skipped = Vec::new();
        for file in files {
            match files::read_snapshot(&root, &file.under(&root)) {
                Ok(snapshot) => snapshots.push(snapshot),
                Err(one) => skipped.push(one),
            }
        }
        (snapshots, skipped)
    });
    read.await.unwrap_or_else(|| {
        let lost =
            |path: RelPath| SkippedFile { path: path.to_string(), reason: INTERNAL.to_owned() };
        (Vec::new(), all.into_iter().map(lost).collect())
    })
}

async fn scan_all(
    engine: &Engine,
    project: &Project,
    snapshots: &Arc<[Snapshot]>,
) -> Vec<SensorResult> {
    let (lost, snapshots) = (Arc::clone(snapshots), Arc::clone(snapshots));
    let (state, key) = (engine.dirs.state.clone(), project.key.clone());
    let rules = Arc::clone(&project.rules);
    let scanned = run_blocking(move || {
        // A few files are scanned before what is known of all files is read.
        let is_worth_it = snapshots.len() >= KEPT_SCANS_FILES_MIN;
        let kept = is_worth_it.then(|| ScanCacheFile::load(&state, &key, &rules));
        let words = scan_in_parallel(&snapshots, &|snapshot| match &kept {
            Some(kept) => kept.get(&rules, &snapshot.path, snapshot.hash).map_or_else(
                || Some((scan_snapshot(&rules, snapshot)?, true)),
                |outcome| Some((scan_result(snapshot, outcome, Instant::now()), false)),
            ),
            None => Some((scan_snapshot(&rules, snapshot)?, false)),
        });
        if let Some(kept) = kept {
            let news = words.iter().filter(|(_, is_new)| *is_new).map(|(word, _)| {
                let outcome =
                    ScanOutcome { findings: word.findings.clone(), gap: word.gap.clone() };
                (word.path.clone(), word.hash, outcome)
            });
            kept.save(&rules, news);
        }
        words.into_iter().map(|(word, _)| word).collect()
    });
    scanned.await.unwrap_or_else(|| lost.iter().map(failed_scan_result).collect())
}

/// Scans on all cores. What goes wrong inside costs the files of one share.
fn scan_in_parallel(
    snapshots: &[Snapshot],
    one: &(dyn Fn(&Snapshot) -> Option<(SensorResult, bool)> + Sync),
) -> Vec<(SensorResult, bool)> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = snapshots.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let shares: Vec<_> = snapshots
            .chunks(share)
            .map(|part| (part, scope.spawn(|| part.iter().filter_map(one).collect::<Vec<_>>())))
            .collect();
        let lost =
            |part: &[Snapshot]| part.iter().map(|it| (failed_scan_result(it), false)).collect();
        let joined =
            shares.into_iter().map(|(part, share)| share.join().unwrap_or_else(|_| lost(part)));
        joined.flatten().collect()
    })
}

/// What went wrong inside is a gap like any other, and never nothing.
const INTERNAL: &str = "internal error; see the daemon's log";

/// The gap of a sensor whose word was lost inside.
pub(super) fn internal_error_gap() -> Gap {
    Gap::new(Cause::Crashed, INTERNAL)
}

pub(super) fn failed_scan_result(snapshot: &Snapshot) -> SensorResult {
    SensorResult {
        sensor: "scan".to_owned(),
        kind: SensorKind::Scan,
        version: None,
        server: None,
        path: snapshot.path.clone(),
        hash: snapshot.hash,
        findings: Vec::new(),
        gap: Some(internal_error_gap()),
        elapsed: Duration::ZERO,
    }
}

/// The scan's word on one file; `None` when no rule speaks about it.
pub(super) fn scan_snapshot(rules: &RuleSet, snapshot: &Snapshot) -> Option<SensorResult> {
    let begun = Instant::now();
    if !rules.handles(&snapshot.path) {
        return None;
    }
    Some(scan_result(
        snapshot,
        scan_text(rules, &snapshot.path, &snapshot.text, snapshot.hash),
        begun,
    ))
}

/// The scan's word on one file, from its outcome.
pub(super) fn scan_result(
    snapshot: &Snapshot,
    outcome: ScanOutcome,
    begun: Instant,
) -> SensorResult {
    SensorResult {
        sensor: "scan".to_owned(),
        kind: SensorKind::Scan,
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        server: None,
        path: snapshot.path.clone(),
        hash: snapshot.hash,
        findings: outcome.findings,
        gap: outcome.gap,
        elapsed: begun.elapsed(),
    }
}

async fn measure_all(
    engine: &Arc<Engine>,
    project: &Project,
    snapshots: &[Snapshot],
    deadline: Instant,
) -> Vec<SensorResult> {
    let turns = Arc::new(Semaphore::new(QUESTIONS_AT_ONCE_MAX));
    let mut tasks = JoinSet::new();
    for snapshot in snapshots {
        for chosen in select_servers(engine, project, &snapshot.path) {
            let (engine, project) = (Arc::clone(engine), project.clone());
            let (snapshot, turns) = (snapshot.clone(), Arc::clone(&turns));
            tasks.spawn(async move {
                let _turn = turns.acquire().await;
                let begun = Instant::now();
                let asked = measure_with_retries(&engine, &project, &snapshot, &chosen);
                let timed = timeout_at(deadline.into(), asked).await;
                timed.unwrap_or_else(|_| timed_out_result(&snapshot, &chosen, begun))
            });
        }
    }
    tasks.join_all().await
}

/// Asks again, a few times, when a server could not answer for a reason that passes by itself: it
/// crashed and is being started, or all servers were busy.
async fn measure_with_retries(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: &ServerSelection,
) -> SensorResult {
    for _ in 0..MEASURE_RETRIES_MAX {
        let word = measure_snapshot(engine, project, snapshot, chosen.clone()).await;
        let may_pass = |gap: &Gap| matches!(gap.cause, Cause::Crashed | Cause::Loading);
        if !word.gap.as_ref().is_some_and(may_pass) || engine.lsp_gap.is_some() {
            return word;
        }
        tokio::time::sleep(Duration::from_millis(MEASURE_RETRY_MS)).await;
    }
    measure_snapshot(engine, project, snapshot, chosen.clone()).await
}

/// The language servers that speak about a file; none when it is in no language, or in one that is
/// not asked for.
pub(super) fn select_servers(
    engine: &Engine,
    project: &Project,
    path: &RelPath,
) -> Vec<ServerSelection> {
    match project.workspace.catalogue.language_of(path) {
        Some((language, _, _)) if project.config.is_language_enabled(language) => {
            engine.servers.select(&project.workspace, path)
        }
        _ => Vec::new(),
    }
}

/// What a verified set of this server holds for: another program, other settings or newly installed
/// packages may say something else.
pub(super) fn server_identity(chosen: &ServerSelection) -> Option<ContentHash> {
    let choice = chosen.as_ref().ok()?;
    Some(ContentHash::of_bytes(format!("{choice:?}").as_bytes()))
}

/// What a language server says of one file as it is now: never while it is shown earlier texts.
pub(super) async fn measure_snapshot(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: ServerSelection,
) -> SensorResult {
    let Ok(choice) = &chosen else {
        return measure_without_gate(engine, project, snapshot, chosen).await;
    };
    let gate = engine.ledger().overlay_gate(&project.root, &choice.id);
    let _pass = gate.live().await;
    measure_without_gate(engine, project, snapshot, chosen).await
}

/// The same, whatever texts the server is shown; for the owner of the overlay.
pub(super) async fn measure_without_gate(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: ServerSelection,
) -> SensorResult {
    let server = server_identity(&chosen);
    let word = |sensor: String, version, outcome: Result<Vec<Finding>, Gap>, elapsed| {
        let (path, hash) = (snapshot.path.clone(), snapshot.hash);
        let (found, gap) = match outcome {
            Ok(found) => (found, None),
            Err(gap) => (Vec::new(), Some(gap)),
        };
        SensorResult {
            sensor,
            kind: SensorKind::Lsp,
            version,
            server,
            path,
            hash,
            findings: found,
            gap,
            elapsed,
        }
    };
    let choice = match (chosen, &engine.lsp_gap) {
        (Err((sensor, gap)), _) => return word(sensor, None, Err(gap), Duration::ZERO),
        (Ok(choice), Some(gap)) => return word(choice.id, None, Err(gap.clone()), Duration::ZERO),
        (Ok(choice), None) => choice,
    };
    let pinned = choice.version.clone();
    let subject = MeasureInput {
        path: snapshot.path.clone(),
        text: Arc::clone(&snapshot.text),
        hash: snapshot.hash,
    };
    let measured = engine.servers.measure(&project.workspace, choice, subject).await;
    let outcome = measured.outcome.map(|mut found| {
        assign_fingerprints(&mut found);
        found
    });
    let word = word(measured.sensor, measured.version.or(pinned), outcome, measured.elapsed);
    // What the project lacks is a gap beside the findings that remain.
    SensorResult { gap: word.gap.or(measured.fault), ..word }
}

impl SensorResult {
    /// What this says of a base state; `None` for a gap that leaves nothing to compare with.
    pub(super) fn base_result(&self) -> Option<BaseResult> {
        let has_fault = match &self.gap {
            None => false,
            Some(gap) if gap.cause == Cause::ProjectFault => true,
            Some(_) => return None,
        };
        Some(BaseResult { findings: self.findings.clone(), has_fault })
    }
}

fn timed_out_result(snapshot: &Snapshot, chosen: &ServerSelection, begun: Instant) -> SensorResult {
    let elapsed = begun.elapsed();
    let detail = format!("no answer within {} ms", elapsed.as_millis());
    let gap = match chosen {
        Ok(_) => Gap::new(Cause::TimedOut, detail),
        Err((_, gap)) => gap.clone(),
    };
    unmeasured(snapshot, chosen, gap, elapsed)
}

/// A result without findings, and why.
pub(super) fn unmeasured(
    snapshot: &Snapshot,
    chosen: &ServerSelection,
    gap: Gap,
    elapsed: Duration,
) -> SensorResult {
    let (sensor, version) = match chosen {
        Ok(choice) => (choice.id.clone(), choice.version.clone()),
        Err((sensor, _)) => (sensor.clone(), None),
    };
    SensorResult {
        sensor,
        kind: SensorKind::Lsp,
        version,
        server: None,
        path: snapshot.path.clone(),
        hash: snapshot.hash,
        findings: Vec::new(),
        gap: Some(gap),
        elapsed,
    }
}

/// Reads every file again: a word about bytes that are no longer there becomes a gap.
pub(super) async fn discard_superseded(project: &Project, words: &mut [SensorResult]) {
    let root = project.root.clone();
    let paths: BTreeSet<RelPath> = words.iter().map(|word| word.path.clone()).collect();
    let now = run_blocking(move || {
        let hash =
            |path: &RelPath| files::read_snapshot(&root, &path.under(&root)).map(|it| it.hash).ok();
        paths.into_iter().map(|path| (hash(&path), path)).map(|(hash, path)| (path, hash)).collect()
    });
    let now: BTreeMap<RelPath, Option<ContentHash>> = now.await.unwrap_or_default();
    for word in words {
        if now.get(&word.path).copied().flatten() != Some(word.hash) {
            let detail = format!("{} changed while it was measured", word.path);
            word.findings.clear();
            word.gap = Some(Gap::new(Cause::Superseded, detail));
        }
    }
}

/// Keeps every verdict as the file's last verified set. One beside a fault of the project is kept
/// apart: it is something to compare with, and no verdict.
pub(super) fn store_verified(engine: &Engine, project: &Project, words: &[SensorResult]) {
    let mut ledger = engine.ledger();
    for word in words {
        let sensor = match &word.gap {
            None => word.sensor.clone(),
            Some(gap) if gap.cause == Cause::ProjectFault => partial_sensor_key(&word.sensor),
            Some(_) => continue,
        };
        let verdict = (word.hash, word.findings.clone());
        ledger.set_verified(&project.root, &word.path, &sensor, verdict);
    }
}

/// Keeps what finds the findings again after an edit.
fn cache_lines(engine: &Engine, snapshots: &[Snapshot], words: &[SensorResult]) {
    let found = words.iter().filter(|word| !word.findings.is_empty());
    let wrong: BTreeSet<&RelPath> = found.map(|word| &word.path).collect();
    for snapshot in snapshots.iter().filter(|snapshot| wrong.contains(&snapshot.path)) {
        engine.ledger().lines.keep(snapshot.hash, &snapshot.text);
    }
}

/// The name under which a sensor's incomplete sets are kept.
pub(super) fn partial_sensor_key(sensor: &str) -> String {
    format!("{sensor} (partly)")
}

/// Remembers and proves what holds after a look. Where the look was lost nobody knows of what files
/// a language server spoke.
pub(super) fn record_results(
    engine: &Engine,
    project: &Project,
    words: &mut [SensorResult],
    look: DiskEpoch,
) {
    if look.epoch.is_none() {
        for word in words.iter_mut().filter(|word| word.kind == SensorKind::Lsp) {
            word.findings.clear();
            word.gap.get_or_insert_with(internal_error_gap);
        }
    }
    store_verified(engine, project, words);
    if let Some(epoch) = look.epoch {
        record_proofs(engine, project, words, epoch);
    }
}

/// Keeps when the verdicts of language servers hold: they were told everything that the look of
/// this epoch found.
fn record_proofs(engine: &Engine, project: &Project, words: &[SensorResult], epoch: u64) {
    let mut ledger = engine.ledger();
    for word in words.iter().filter(|word| word.gap.is_none()) {
        if let Some(server) = word.server {
            let proof = VerdictProof { hash: word.hash, server, epoch };
            ledger.prove(&project.root, &word.path, &word.sensor, proof);
        }
    }
}

/// A file about which no sensor had a verdict was not checked; the first gap says why.
pub(super) fn split_unchecked(
    paths: impl Iterator<Item = RelPath>,
    words: &[SensorResult],
) -> (Vec<RelPath>, Vec<SkippedFile>) {
    let mut gaps: BTreeMap<&RelPath, Option<&Gap>> = BTreeMap::new();
    for word in words {
        // Findings beside a gap are a look at the file all the same.
        let unseen = word.gap.as_ref().filter(|_| word.findings.is_empty());
        let gap = gaps.entry(&word.path).or_insert(unseen);
        *gap = gap.and(unseen);
    }
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    for path in paths {
        match gaps.get(&path) {
            Some(Some(gap)) => {
                skipped.push(SkippedFile { path: path.to_string(), reason: gap.to_string() });
            }
            Some(None) => files.push(path),
            None => {
                let reason = "no sensor was asked about it".to_owned();
                skipped.push(SkippedFile { path: path.to_string(), reason });
            }
        }
    }
    (files, skipped)
}

/// What the words of all sensors say together.
pub(super) fn combine_results(
    files: Vec<RelPath>,
    skipped: Vec<SkippedFile>,
    words: Vec<SensorResult>,
    threshold: Severity,
) -> Evidence {
    let mut readings: BTreeMap<(SensorKind, String), SensorReading> = BTreeMap::new();
    let mut gaps: BTreeMap<(SensorKind, String), Vec<Gap>> = BTreeMap::new();
    let mut findings = Vec::new();
    for word in words {
        let key = (word.kind, word.sensor.clone());
        let reading = readings
            .entry(key.clone())
            .or_insert_with(|| SensorReading::clean(&word.sensor, word.kind, 0));
        let elapsed_ms = u64::try_from(word.elapsed.as_millis()).unwrap_or(u64::MAX);
        // Language servers answer side by side, the scan file after file.
        reading.elapsed_ms = match word.kind {
            SensorKind::Scan => reading.elapsed_ms + elapsed_ms,
            _ => reading.elapsed_ms.max(elapsed_ms),
        };
        reading.version = reading.version.take().or(word.version);
        reading.files += usize::from(word.gap.is_none());
        let counts = |finding: &Finding| finding.severity >= threshold;
        reading.dirty |= word.findings.iter().any(counts);
        findings.extend(word.findings);
        if let Some(gap) = word.gap {
            gaps.entry(key).or_default().push(gap);
        }
    }
    for (key, gaps) in gaps {
        if let Some(reading) = readings.get_mut(&key) {
            reading.gap = merged(gaps);
        }
    }
    assign_fingerprints(&mut findings);
    let readings = readings.into_values().collect();
    Evidence { files, skipped, readings, findings, ..Evidence::default() }
}

/// One gap for one sensor: a passing one before others, and of how many files it speaks.
fn merged(mut gaps: Vec<Gap>) -> Option<Gap> {
    gaps.sort_by_key(|gap| !gap.cause.is_transient());
    let count = gaps.len();
    let mut first = gaps.into_iter().next()?;
    if count > 1 {
        first.detail = format!("{} ({count} files)", first.detail);
    }
    Some(first)
}
