//! Gathers fresh evidence about a set of files: read once, scanned and measured at the same time,
//! and read again at the end, because a verdict holds only for the bytes it was measured on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use crate::engine::{Engine, measure_blocking, panic_gap, run_blocking};
use crate::evidence::attribution::{AttributionRequest, BaseComparison, attribute_findings};
use crate::evidence::disk_poll::sync_disk;
use crate::evidence::outside_poll::add_limit_gaps;
use crate::evidence::partial_results::{is_work_switched_off, switched_off_files};
use crate::evidence::poll_gate::DiskEpoch;
use crate::ledger::{AffectedFiles, SelectedFile, VerifiedFindings};
use crate::project::Project;
use crate::project::scan_cache::ScanCacheFile;
use moai_base::evidence::{Evidence, SensorKind, SensorReading, SkippedFile};
use moai_base::finding::{Finding, Severity, assign_fingerprints};
use moai_base::hash::ContentHash;
use moai_base::limits::{
    MEASURE_RETRIES_MAX, MEASURE_RETRY_MS, MEASUREMENTS_AT_ONCE_MAX, SCAN_CACHE_FILES_MIN,
};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, Snapshot};
use moai_host::servers::{MeasureInput, ServerIdentity, ServerSelection};
use moai_lsp::session::MeasureLane;
use moai_scan::{RuleSet, ScanOutcome, scan_text};

/// The files to measure and how.
#[derive(Clone, Debug)]
pub(crate) struct MeasureRequest {
    pub(crate) files: Vec<RelPath>,
    /// Requested files that were not found.
    pub(crate) skipped: Vec<SkippedFile>,
    /// Whether language servers are asked.
    pub(crate) run_lsp: bool,
    pub(crate) run_scan: bool,
    /// The lowest severity that counts as dirty.
    pub(crate) threshold: Severity,
    /// The time by which language servers must have answered.
    pub(crate) deadline: Instant,
    /// The files that are measured only because an edit elsewhere affects them.
    pub(crate) dependents: UntouchedDependents,
    /// The baseline of the findings; without it only older findings of dependents are left out.
    pub(crate) comparison: Option<BaseComparison>,
}

/// Unchanged files that an edit affects. Their older findings do not count.
#[derive(Clone, Debug, Default)]
pub(crate) struct UntouchedDependents {
    pub(crate) files: BTreeSet<RelPath>,
    pub(crate) affected: AffectedFiles,
}

impl UntouchedDependents {
    /// Whether a finding is older than the edit: it is among the earlier findings; or, where those
    /// are unknown, neither it nor its line names a touched symbol. Findings of the scan depend on
    /// their own file only, so they are always older.
    fn is_older(&self, kind: SensorKind, finding: &Finding, text: &str) -> bool {
        kind == SensorKind::Scan
            || self
                .affected
                .was_present_before(finding)
                .unwrap_or_else(|| !self.affected.touched.concerns_finding(finding, text))
    }

    /// Removes the older findings, and returns how many of them reach the threshold.
    fn drop_older(
        &self,
        results: &mut [SensorResult],
        snapshots: &[Snapshot],
        threshold: Severity,
    ) -> usize {
        let mut count = 0;
        for result in results.iter_mut().filter(|result| self.files.contains(&result.path)) {
            let snapshot = snapshots.iter().find(|snapshot| snapshot.path == result.path);
            let text = snapshot.map_or("", |snapshot| &*snapshot.text);
            let kind = result.kind;
            let older =
                result.findings.extract_if(.., |finding| self.is_older(kind, finding, text));
            count += older.filter(|finding| finding.severity >= threshold).count();
        }
        count
    }
}

/// One sensor's result for one file.
#[derive(Clone, Debug)]
pub(crate) struct SensorResult {
    pub(crate) sensor: String,
    pub(crate) kind: SensorKind,
    pub(crate) version: Option<String>,
    /// The identity of the selected language server; `None` for the scan, or without a usable
    /// server.
    pub(crate) server: Option<ServerIdentity>,
    pub(crate) path: RelPath,
    pub(crate) hash: ContentHash,
    pub(crate) findings: Vec<Finding>,
    /// Why the file is not fully measured; a result with a gap is not stored as verified.
    pub(crate) gap: Option<Gap>,
    pub(crate) elapsed: Duration,
}

/// Evidence of language servers and the scan about the requested files.
pub(crate) async fn gather_evidence(
    engine: &Arc<Engine>,
    project: &Project,
    request: MeasureRequest,
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
    } = request;
    let (snapshots, unreadable) = read_snapshots(project, files).await;
    skipped.extend(unreadable);
    let snapshots: Arc<[Snapshot]> = snapshots.into();
    let scanning =
        async { if scan { scan_all(engine, project, &snapshots).await } else { Vec::new() } };
    let measuring = async {
        if lsp { Some(measure_settled(engine, project, &snapshots, deadline).await) } else { None }
    };
    let (mut results, settled) = tokio::join!(scanning, measuring);
    let (measured, disk) = settled.unzip();
    results.extend(measured.into_iter().flatten());
    discard_superseded(project, &mut results).await;
    match disk {
        Some(disk) => record_results(engine, project, &mut results, disk),
        None => store_verified(engine, project, &results, None),
    }
    cache_lines(engine, &snapshots, &results);
    let older = match &comparison {
        Some(comparison) => {
            let (snapshots, dependents) = (&*snapshots, &dependents);
            let request =
                AttributionRequest { comparison, snapshots, dependents, threshold, deadline };
            attribute_findings(engine, project, request, &mut results).await.older
        }
        None => dependents.drop_older(&mut results, &snapshots, threshold),
    };
    let paths = snapshots.iter().map(|snapshot| snapshot.path.clone());
    let (files, unseen) = split_unchecked(paths, &results);
    skipped.extend(unseen);
    let switched_off = switched_off_files(&results);
    let is_switched_off = is_work_switched_off(&results, &dependents.files);
    let combined = combine_results(files, skipped, results, threshold);
    Evidence { older, switched_off, is_switched_off, ..combined }
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
                Err(file) => skipped.push(file),
            }
        }
        (snapshots, skipped)
    });
    read.await.unwrap_or_else(|| {
        let skipped = all
            .into_iter()
            .map(|path| SkippedFile { path: path.to_string(), reason: panic_gap().detail });
        (Vec::new(), skipped.collect())
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
        // Scanning a few files is faster than reading the cache of the whole project.
        let is_worth_it = snapshots.len() >= SCAN_CACHE_FILES_MIN;
        let kept = is_worth_it.then(|| ScanCacheFile::load(&state, &key, &rules));
        let results = scan_in_parallel(&snapshots, &|snapshot| match &kept {
            Some(kept) => kept.get(&rules, &snapshot.path, snapshot.hash).map_or_else(
                || Some((scan_snapshot(&rules, snapshot)?, true)),
                |outcome| Some((scan_result(snapshot, outcome, Instant::now()), false)),
            ),
            None => Some((scan_snapshot(&rules, snapshot)?, false)),
        });
        if let Some(kept) = kept {
            let new = results.iter().filter(|(_, is_new)| *is_new).map(|(result, _)| {
                let outcome =
                    ScanOutcome { findings: result.findings.clone(), gap: result.gap.clone() };
                (result.path.clone(), result.hash, outcome)
            });
            kept.save(&rules, new);
        }
        results.into_iter().map(|(result, _)| result).collect()
    });
    scanned.await.unwrap_or_else(|| lost.iter().map(failed_scan_result).collect())
}

/// Scans on all cores. A panic costs only the files of its share.
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
        let joined = shares.into_iter().map(|(part, share)| {
            share.join().unwrap_or_else(|_| {
                part.iter().map(|snapshot| (failed_scan_result(snapshot), false)).collect()
            })
        });
        joined.flatten().collect()
    })
}

pub(crate) fn failed_scan_result(snapshot: &Snapshot) -> SensorResult {
    SensorResult {
        sensor: "scan".to_owned(),
        kind: SensorKind::Scan,
        version: None,
        server: None,
        path: snapshot.path.clone(),
        hash: snapshot.hash,
        findings: Vec::new(),
        gap: Some(panic_gap()),
        elapsed: Duration::ZERO,
    }
}

/// The scan's result for one file; `None` when no rule applies to it.
pub(crate) fn scan_snapshot(rules: &RuleSet, snapshot: &Snapshot) -> Option<SensorResult> {
    let start = Instant::now();
    if !rules.handles(&snapshot.path) {
        return None;
    }
    Some(scan_result(
        snapshot,
        scan_text(rules, &snapshot.path, &snapshot.text, snapshot.hash),
        start,
    ))
}

/// The scan's result for one file, from its outcome.
pub(crate) fn scan_result(
    snapshot: &Snapshot,
    outcome: ScanOutcome,
    start: Instant,
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
        elapsed: start.elapsed(),
    }
}

/// Measures all files, and those again for which other files changed while the servers worked.
/// Returns the poll that found no further change.
async fn measure_settled(
    engine: &Arc<Engine>,
    project: &Project,
    snapshots: &[Snapshot],
    deadline: Instant,
) -> (Vec<SensorResult>, DiskEpoch) {
    let mut asked_at = sync_disk(engine, project).await;
    let mut results = measure_all(engine, project, snapshots, deadline).await;
    let mut tries = 0;
    loop {
        tries += 1;
        let disk = sync_disk(engine, project).await;
        let (Some(before), Some(_)) = (asked_at.epoch, disk.epoch) else {
            return (results, DiskEpoch::default());
        };
        let mut behind = snapshots.to_vec();
        behind.retain(|snapshot| {
            engine.ledger().root(&project.root).disk.others_changed_since(&snapshot.path, before)
        });
        if behind.is_empty() {
            return (results, disk);
        }
        let paths: BTreeSet<&RelPath> = behind.iter().map(|snapshot| &snapshot.path).collect();
        let mut again: Vec<SensorResult> =
            results.extract_if(.., |result| paths.contains(&result.path)).collect();
        if tries > MEASURE_RETRIES_MAX || Instant::now() >= deadline {
            discard_behind(&mut again);
            results.extend(again);
            return (results, disk);
        }
        asked_at = disk;
        results.extend(measure_all(engine, project, &behind, deadline).await);
    }
}

async fn measure_all(
    engine: &Arc<Engine>,
    project: &Project,
    snapshots: &[Snapshot],
    deadline: Instant,
) -> Vec<SensorResult> {
    let turns = Arc::new(Semaphore::new(MEASUREMENTS_AT_ONCE_MAX));
    let mut tasks = JoinSet::new();
    for snapshot in snapshots {
        for chosen in select_servers(engine, project, &snapshot.path) {
            let (engine, project) = (Arc::clone(engine), project.clone());
            let (snapshot, turns) = (snapshot.clone(), Arc::clone(&turns));
            tasks.spawn(async move {
                let _turn = turns.acquire().await;
                let start = Instant::now();
                let measuring = measure_with_retries(&engine, &project, &snapshot, &chosen);
                timeout_at(deadline.into(), measuring)
                    .await
                    .unwrap_or_else(|_| timed_out_result(&snapshot, &chosen, start))
            });
        }
    }
    tasks.join_all().await
}

/// Measures again, a few times, when a server could not answer for a transient reason: it crashed
/// and is being started, or all servers were busy.
async fn measure_with_retries(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: &ServerSelection,
) -> SensorResult {
    for _ in 0..MEASURE_RETRIES_MAX {
        let result =
            measure_snapshot(engine, project, snapshot, chosen.clone(), MeasureLane::Batch).await;
        let cause = result.gap.as_ref().map(|gap| gap.cause);
        let is_transient = matches!(cause, Some(Cause::Crashed | Cause::Loading));
        if !is_transient || engine.lsp_gap.is_some() {
            return result;
        }
        tokio::time::sleep(Duration::from_millis(MEASURE_RETRY_MS)).await;
    }
    measure_snapshot(engine, project, snapshot, chosen.clone(), MeasureLane::Batch).await
}

/// The language servers for a file; none when its language is unknown or disabled.
pub(crate) fn select_servers(
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

/// The sensor name of a server selection, whether or not the server is available.
pub(crate) fn sensor_id(selection: &ServerSelection) -> &str {
    match selection {
        Ok(choice) => &choice.id,
        Err((sensor, _)) => sensor,
    }
}

/// A file with the servers that measure it.
pub(crate) fn selected_file(engine: &Engine, project: &Project, path: &RelPath) -> SelectedFile {
    let servers = select_servers(engine, project, path).into_iter().flatten();
    let servers = servers.map(|choice| choice.identity).collect();
    SelectedFile { path: path.clone(), servers }
}

/// One language server's result for a current file; it waits while the server is shown overlays.
pub(crate) async fn measure_snapshot(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: ServerSelection,
    lane: MeasureLane,
) -> SensorResult {
    let Ok(choice) = &chosen else {
        return measure_without_gate(engine, project, snapshot, chosen, lane).await;
    };
    let gate = engine.ledger().root(&project.root).overlay_gate(&choice.id);
    let _pass = gate.live().await;
    measure_without_gate(engine, project, snapshot, chosen, lane).await
}

/// Like [`measure_snapshot`], whatever overlays the server is shown; for the owner of the overlay.
pub(crate) async fn measure_without_gate(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: ServerSelection,
    lane: MeasureLane,
) -> SensorResult {
    let server = chosen.as_ref().ok().map(|choice| choice.identity);
    let result = |sensor: String, version, outcome: Result<Vec<Finding>, Gap>, elapsed| {
        let (path, hash) = (snapshot.path.clone(), snapshot.hash);
        let (findings, gap) = match outcome {
            Ok(findings) => (findings, None),
            Err(gap) => (Vec::new(), Some(gap)),
        };
        SensorResult {
            sensor,
            kind: SensorKind::Lsp,
            version,
            server,
            path,
            hash,
            findings,
            gap,
            elapsed,
        }
    };
    let choice = match (chosen, &engine.lsp_gap) {
        (Err((sensor, gap)), _) => return result(sensor, None, Err(gap), Duration::ZERO),
        (Ok(choice), Some(gap)) => {
            return result(choice.id, None, Err(gap.clone()), Duration::ZERO);
        }
        (Ok(choice), None) => choice,
    };
    let pinned = choice.version.clone();
    let subject = MeasureInput {
        path: snapshot.path.clone(),
        text: Arc::clone(&snapshot.text),
        hash: snapshot.hash,
        lane,
    };
    let measured = engine.servers.measure(&project.workspace, choice, subject).await;
    let outcome = measured.outcome.map(|mut findings| {
        assign_fingerprints(&mut findings);
        findings
    });
    let result = result(measured.sensor, measured.version.or(pinned), outcome, measured.elapsed);
    // A fault or a choice of the project is a gap next to the remaining findings.
    SensorResult { gap: result.gap.or(measured.fault), ..result }
}

fn timed_out_result(snapshot: &Snapshot, chosen: &ServerSelection, start: Instant) -> SensorResult {
    let elapsed = start.elapsed();
    let detail = format!("no answer within {} ms", elapsed.as_millis());
    let gap = match chosen {
        Ok(_) => Gap::new(Cause::TimedOut, detail),
        Err((_, gap)) => gap.clone(),
    };
    unmeasured(snapshot, chosen, gap, elapsed)
}

/// A result without findings, with its gap.
pub(crate) fn unmeasured(
    snapshot: &Snapshot,
    chosen: &ServerSelection,
    gap: Gap,
    elapsed: Duration,
) -> SensorResult {
    SensorResult {
        sensor: sensor_id(chosen).to_owned(),
        kind: SensorKind::Lsp,
        version: chosen.as_ref().ok().and_then(|choice| choice.version.clone()),
        server: None,
        path: snapshot.path.clone(),
        hash: snapshot.hash,
        findings: Vec::new(),
        gap: Some(gap),
        elapsed,
    }
}

/// Turns results into gaps, because other files kept changing while the servers worked.
pub(crate) fn discard_behind(results: &mut [SensorResult]) {
    for result in results {
        if result.gap.is_none() || result.is_partial() {
            let detail = format!("other files changed while {} was measured", result.path);
            result.findings.clear();
            result.gap = Some(Gap::new(Cause::Superseded, detail));
        }
    }
}

/// Reads every file again: a result for bytes that have changed since becomes a gap.
pub(crate) async fn discard_superseded(project: &Project, results: &mut [SensorResult]) {
    let root = project.root.clone();
    let paths: BTreeSet<RelPath> = results.iter().map(|result| result.path.clone()).collect();
    let now = measure_blocking(move || {
        let mut hashes = BTreeMap::new();
        for path in paths {
            let snapshot = files::read_snapshot(&root, &path.under(&root)).ok();
            hashes.insert(path, snapshot.map(|snapshot| snapshot.hash));
        }
        hashes
    });
    discard_unproven(results, &now.await);
}

/// Turns results into gaps unless the present hashes prove that their bytes are still there.
fn discard_unproven(
    results: &mut [SensorResult],
    now: &Result<BTreeMap<RelPath, Option<ContentHash>>, Gap>,
) {
    for result in results {
        let gap = match now {
            Err(gap) => gap.clone(),
            Ok(now) if now.get(&result.path).copied().flatten() == Some(result.hash) => continue,
            Ok(_) => {
                let detail = format!("{} changed while it was measured", result.path);
                Gap::new(Cause::Superseded, detail)
            }
        };
        result.findings.clear();
        result.gap = Some(gap);
    }
}

/// Stores every verdict as the file's last verified findings, as proven at the epoch: the servers had
/// been notified of every change up to it. Incomplete findings are stored under another key, because
/// they are a baseline and no verdict.
pub(crate) fn store_verified(
    engine: &Engine,
    project: &Project,
    results: &[SensorResult],
    epoch: Option<u64>,
) {
    let mut ledger = engine.ledger();
    for result in results {
        let sensor = match &result.gap {
            None => result.sensor.clone(),
            Some(gap) if gap.cause.leaves_findings() => partial_sensor_key(&result.sensor),
            Some(_) => continue,
        };
        let verified = VerifiedFindings {
            hash: result.hash,
            server: result.server,
            findings: result.findings.clone(),
            epoch: epoch.filter(|_| result.gap.is_none()),
        };
        ledger.root(&project.root).set_verified(&result.path, &sensor, verified);
    }
}

/// Caches the lines of files with findings, to match these findings after an edit.
fn cache_lines(engine: &Engine, snapshots: &[Snapshot], results: &[SensorResult]) {
    let paths: BTreeSet<&RelPath> = results
        .iter()
        .filter(|result| !result.findings.is_empty())
        .map(|result| &result.path)
        .collect();
    for snapshot in snapshots.iter().filter(|snapshot| paths.contains(&snapshot.path)) {
        engine.ledger().lines.keep(snapshot.hash, &snapshot.text);
    }
}

/// The key of a sensor's incomplete results.
pub(crate) fn partial_sensor_key(sensor: &str) -> String {
    format!("{sensor} (partly)")
}

/// Stores and proves the results measured at a disk epoch. Without an epoch, the results of language
/// servers become gaps, because the file versions they saw are unknown.
pub(crate) fn record_results(
    engine: &Engine,
    project: &Project,
    results: &mut [SensorResult],
    disk: DiskEpoch,
) {
    if disk.epoch.is_none() {
        for result in results.iter_mut().filter(|result| result.kind == SensorKind::Lsp) {
            result.findings.clear();
            result.gap.get_or_insert_with(panic_gap);
        }
    }
    let proof_epoch = disk.epoch.filter(|_| disk.limit.is_none());
    store_verified(engine, project, results, proof_epoch);
    if let Some(limit) = disk.limit {
        add_limit_gaps(results, limit);
    }
}

/// Separates the files without any verdict, which were not checked; the first gap is the reason.
pub(crate) fn split_unchecked(
    paths: impl Iterator<Item = RelPath>,
    results: &[SensorResult],
) -> (Vec<RelPath>, Vec<SkippedFile>) {
    let mut gaps: BTreeMap<&RelPath, Option<&Gap>> = BTreeMap::new();
    for result in results {
        // Findings next to a gap mean that the file was checked all the same; a file that the
        // project takes out of checking is listed for itself.
        let is_seen = !result.findings.is_empty() || result.is_switched_off();
        let unseen = result.gap.as_ref().filter(|_| !is_seen);
        let gap = gaps.entry(&result.path).or_insert(unseen);
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

/// Combines the results of all sensors.
pub(crate) fn combine_results(
    files: Vec<RelPath>,
    skipped: Vec<SkippedFile>,
    results: Vec<SensorResult>,
    threshold: Severity,
) -> Evidence {
    let mut readings: BTreeMap<(SensorKind, String), SensorReading> = BTreeMap::new();
    let mut gaps: BTreeMap<(SensorKind, String), Vec<Gap>> = BTreeMap::new();
    let mut findings = Vec::new();
    for result in results {
        let key = (result.kind, result.sensor.clone());
        let reading = readings
            .entry(key.clone())
            .or_insert_with(|| SensorReading::clean(&result.sensor, result.kind, 0));
        let elapsed_ms = u64::try_from(result.elapsed.as_millis()).unwrap_or(u64::MAX);
        // Language servers answer concurrently, the scan runs file after file.
        reading.elapsed_ms = match result.kind {
            SensorKind::Scan => reading.elapsed_ms + elapsed_ms,
            _ => reading.elapsed_ms.max(elapsed_ms),
        };
        reading.version = reading.version.take().or(result.version);
        reading.files += usize::from(result.gap.is_none());
        reading.dirty |= result.findings.iter().any(|finding| finding.severity >= threshold);
        findings.extend(result.findings);
        if let Some(gap) = result.gap {
            gaps.entry(key).or_default().push(gap);
        }
    }
    for (key, mut gaps) in gaps {
        if let Some(reading) = readings.get_mut(&key) {
            // A sensor that measured other files has measured what the project wants checked.
            if reading.files > 0 {
                gaps.retain(|gap| gap.cause != Cause::SwitchedOff);
            }
            reading.gap = merged(gaps);
        }
    }
    assign_fingerprints(&mut findings);
    let readings = readings.into_values().collect();
    Evidence { files, skipped, readings, findings, ..Evidence::default() }
}

/// One gap per sensor: a transient one first, one that the user chose last, with the number of
/// affected files.
fn merged(mut gaps: Vec<Gap>) -> Option<Gap> {
    gaps.sort_by_key(|gap| (gap.cause == Cause::SwitchedOff, !gap.cause.is_transient()));
    let count = gaps.len();
    let mut first = gaps.into_iter().next()?;
    if count > 1 {
        first.detail = format!("{} ({count} files)", first.detail);
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::poll_gate::PollLimit;
    use moai_base::verdict::Verdict;

    fn result(name: &str, text: &str) -> SensorResult {
        SensorResult {
            sensor: "server".to_owned(),
            kind: SensorKind::Lsp,
            version: None,
            server: None,
            path: RelPath::parse(name).unwrap(),
            hash: ContentHash::of_bytes(text.as_bytes()),
            findings: Vec::new(),
            gap: None,
            elapsed: Duration::ZERO,
        }
    }

    /// The causes of the gaps in results for `same.py`, `edited.py` and `deleted.py`.
    fn causes(now: &Result<BTreeMap<RelPath, Option<ContentHash>>, Gap>) -> Vec<Option<Cause>> {
        let mut results = ["same.py", "edited.py", "deleted.py"].map(|name| result(name, "old"));
        discard_unproven(&mut results, now);
        results.iter().map(|result| result.gap.as_ref().map(|gap| gap.cause)).collect()
    }

    fn measured(sensor: &str, name: &str, cause: Option<Cause>) -> SensorResult {
        let gap = cause.map(|cause| Gap::new(cause, "why"));
        SensorResult { sensor: sensor.to_owned(), gap, ..result(name, "") }
    }

    #[test]
    fn a_sensor_that_measured_other_files_has_no_gap_for_switched_off_ones() {
        let off = Some(Cause::SwitchedOff);
        let gap = |results: Vec<SensorResult>| {
            let evidence = combine_results(Vec::new(), Vec::new(), results, Severity::Error);
            evidence.readings[0].gap.as_ref().map(|gap| gap.cause)
        };
        let (ignored, clean) = (measured("s", "a.py", off), measured("s", "b.py", None));
        assert_eq!(gap(vec![ignored.clone()]), off);
        assert_eq!(gap(vec![ignored.clone(), clean]), None);
        let late = measured("s", "c.py", Some(Cause::Silent));
        assert_eq!(gap(vec![ignored, late]), Some(Cause::Silent));
    }

    #[test]
    fn a_poll_that_reached_a_limit_is_a_gap_beside_the_findings_of_servers() {
        let mut results = ["a.py", "b.py", "c.py"].map(|name| result(name, ""));
        results[1].gap = Some(Gap::new(Cause::ProjectFault, "no packages"));
        results[2].kind = SensorKind::Scan;
        add_limit_gaps(&mut results, PollLimit::RootFiles);
        let causes = results.each_ref().map(|result| result.gap.as_ref().map(|gap| gap.cause));
        assert_eq!(causes, [Some(Cause::Skipped), Some(Cause::ProjectFault), None]);
        assert!(results.iter().all(SensorResult::has_usable_findings));
        let evidence = combine_results(Vec::new(), Vec::new(), results.to_vec(), Severity::Error);
        assert!(matches!(evidence.verdict(), Verdict::Unmeasured(_)));
    }

    #[test]
    fn results_for_other_bytes_or_unread_bytes_are_gaps() {
        let hash = |text: &str| Some(ContentHash::of_bytes(text.as_bytes()));
        let now = [("same.py", hash("old")), ("edited.py", hash("new")), ("deleted.py", None)];
        let now = now.map(|(name, hash)| (RelPath::parse(name).unwrap(), hash));
        let superseded = Some(Cause::Superseded);
        assert_eq!(causes(&Ok(BTreeMap::from(now))), [None, superseded, superseded]);
        assert_eq!(causes(&Err(panic_gap())), [Some(Cause::Crashed); 3]);
    }
}
