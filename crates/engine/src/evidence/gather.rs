//! Gathers fresh evidence about a set of files: read once, scanned and measured at the same time,
//! and read again at the end, because a verdict holds only for the bytes it was measured on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::{Engine, panic_gap, run_blocking};
use crate::evidence::attribution::{AttributionRequest, BaseComparison, attribute_findings};
use crate::evidence::disk_poll::sync_disk;
use crate::evidence::parallel_scan::{ScanTask, scan_snapshots};
use crate::evidence::partial_results::{is_work_switched_off, switched_off_files};
use crate::evidence::poll_gate::DiskEpoch;
use crate::evidence::settled_measurement::{MeasuredServers, measure_settled, read_snapshots};
use crate::evidence::slow_files::SlowFileTime;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::evidence::verified_results::{discard_superseded, record_results, store_verified};
use crate::ledger::AffectedFiles;
use crate::progress::WorkProgress;
use crate::project::Project;
use crate::project::scan_cache::ScanCacheFile;
use moai_base::evidence::{Evidence, SensorKind, SensorReading, SkippedFile};
use moai_base::finding::{Finding, Severity, assign_fingerprints};
use moai_base::limits::SCAN_CACHE_FILES_MIN;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::Snapshot;
use moai_scan::{RuleSet, ScanOutcome, scan_text};

/// The files to measure and how.
#[derive(Clone, Debug)]
pub(crate) struct MeasureRequest {
    pub(crate) files: Vec<RelPath>,
    /// Files of the work that are measured already: findings are attributed with their texts as well.
    pub(crate) measured_before: Arc<[Snapshot]>,
    /// Requested files that were not found.
    pub(crate) skipped: Vec<SkippedFile>,
    /// True if language servers are asked.
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
    /// Merge conflicts that are not resolved; they count whatever the baseline is.
    pub(crate) conflicts: Vec<SensorResult>,
    pub(crate) counted_gaps: CountedGaps,
}

/// The gaps of language servers that make a file unmeasured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CountedGaps {
    #[default]
    All,
    /// Those that the work may have caused in files that do not mention it: files that changed during the
    /// measurement, errors of unknown age and, if the work touches a symbol, servers that did not answer. Others,
    /// such as a missing configuration, are not caused by it.
    OfIndirectDependents { touches_symbol: bool },
}

impl CountedGaps {
    pub(crate) fn includes(self, cause: Cause) -> bool {
        match (self, cause) {
            (Self::All, _) | (_, Cause::Superseded | Cause::NoBaseline) => true,
            (Self::OfIndirectDependents { touches_symbol }, cause) => {
                touches_symbol && cause.is_transient()
            }
        }
    }

    /// Removes the gaps that do not count, with the results that have no finding either.
    fn retain(self, results: &mut Vec<SensorResult>) {
        results.retain_mut(|result| {
            let has_uncounted = result.gap.take_if(|gap| !self.includes(gap.cause)).is_some();
            !has_uncounted || !result.findings.is_empty()
        });
    }
}

/// Unchanged files that an edit affects. Their older findings do not count.
#[derive(Clone, Debug, Default)]
pub(crate) struct UntouchedDependents {
    pub(crate) files: BTreeSet<RelPath>,
    pub(crate) affected: AffectedFiles,
}

impl UntouchedDependents {
    /// True if a finding is older than the edit: neither it nor its line mentions a touched symbol, and it is
    /// not known to have been absent before. Findings of the scan depend on their own file only, so they are
    /// always older.
    fn is_older(&self, kind: SensorKind, finding: &Finding, text: &str) -> bool {
        kind == SensorKind::Scan
            || !self.affected.touched.concerns_finding(finding, text)
                && !self.affected.was_absent_before(finding)
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

/// Evidence, and the poll for which it holds.
pub(crate) struct PolledEvidence {
    pub(crate) evidence: Evidence,
    /// The measured texts.
    pub(crate) snapshots: Arc<[Snapshot]>,
    /// `None` without language servers.
    pub(crate) disk: Option<DiskEpoch>,
}

/// Evidence of language servers and the scan about the requested files.
pub(crate) async fn gather_evidence(
    engine: &Arc<Engine>,
    project: &Project,
    request: MeasureRequest,
) -> PolledEvidence {
    let MeasureRequest {
        files,
        measured_before,
        mut skipped,
        run_lsp: lsp,
        run_scan: scan,
        threshold,
        deadline,
        dependents,
        comparison,
        conflicts,
        counted_gaps,
    } = request;
    // Before the files are read: language servers must not get older texts than the disk's.
    let polled = if lsp { Some(sync_disk(engine, project).await) } else { None };
    let (snapshots, unreadable) = read_snapshots(project, files).await;
    skipped.extend(unreadable);
    let first: Arc<[Snapshot]> = snapshots.into();
    let scanning =
        async { if scan { scan_all(engine, project, &first).await } else { Vec::new() } };
    let measuring = async {
        match polled {
            Some(disk) => {
                let servers = MeasuredServers::All { deadline };
                Some(Box::pin(measure_settled(engine, project, &first, servers, disk)).await)
            }
            None => None,
        }
    };
    let (mut results, settled) = tokio::join!(scanning, measuring);
    let disk = settled.as_ref().map(|settled| settled.disk);
    let mut snapshots = Arc::clone(&first);
    if let Some(settled) = settled {
        let changed = settled.changed_since_read(&first);
        if scan && !changed.is_empty() {
            results.retain(|result| !changed.iter().any(|it| it.path == result.path));
            results.extend(scan_all(engine, project, &changed).await);
        }
        results.extend(settled.results);
        snapshots = settled.snapshots.into();
    }
    discard_superseded(project, &mut results).await;
    match disk {
        Some(disk) => record_results(engine, project, &mut results, disk),
        None => store_verified(engine, project, &results, None),
    }
    cache_lines(engine, &snapshots, &results);
    let older = match &comparison {
        Some(comparison) => {
            let of_work = [&*snapshots, &*measured_before].concat();
            let request = AttributionRequest {
                comparison,
                snapshots: &of_work,
                dependents: &dependents,
                threshold,
                deadline,
                counted_gaps,
            };
            attribute_findings(engine, project, request, &mut results).await
        }
        None => dependents.drop_older(&mut results, &snapshots, threshold),
    };
    let paths = snapshots.iter().map(|snapshot| snapshot.path.clone());
    let (files, unseen) = split_unchecked(paths, &results);
    skipped.extend(unseen);
    let switched_off = switched_off_files(&results);
    let is_switched_off = is_work_switched_off(&results, &dependents.files);
    results.extend(conflicts);
    counted_gaps.retain(&mut results);
    let combined = combine_results(files, skipped, results, threshold);
    let evidence = Evidence { older, switched_off, is_switched_off, ..combined };
    PolledEvidence { evidence, snapshots, disk }
}

async fn scan_all(
    engine: &Engine,
    project: &Project,
    snapshots: &Arc<[Snapshot]>,
) -> Vec<SensorResult> {
    let (lost, snapshots) = (Arc::clone(snapshots), Arc::clone(snapshots));
    let (state, key) = (engine.dirs.state.clone(), project.key.clone());
    let rules = Arc::clone(&project.rules);
    let root = project.root.clone();
    let scanned = run_blocking(move || {
        // Scanning a few files is faster than reading the cache of the whole project.
        let is_worth_it = snapshots.len() >= SCAN_CACHE_FILES_MIN;
        let cache = is_worth_it.then(|| ScanCacheFile::load(&state, &key, &rules));
        let progress = WorkProgress::default();
        let (root, rules) = (root.as_path(), &*rules);
        let task =
            ScanTask { root, rules, cache: cache.as_ref(), excerpts: None, progress: &progress };
        let scanned = scan_snapshots(task, &snapshots);
        if let Some(cache) = cache {
            cache.save(rules, scanned.new_outcomes());
        }
        scanned.results
    });
    scanned.await.unwrap_or_else(|| lost.iter().map(failed_scan_result).collect())
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
        ended_at: Instant::now(),
    }
}

/// The scan's result for one file; `None` when no rule applies to it.
pub(crate) fn scan_snapshot(
    rules: &RuleSet,
    snapshot: &Snapshot,
    slow: &SlowFileTime,
) -> Option<SensorResult> {
    let start = Instant::now();
    if !rules.handles(&snapshot.path) {
        return None;
    }
    let outcome = match slow.gap() {
        None => scan_text(rules, &snapshot.path, &snapshot.text, snapshot.hash),
        gap => ScanOutcome { findings: Vec::new(), gap },
    };
    slow.add(start.elapsed());
    Some(scan_result(snapshot, outcome, start))
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
        ended_at: Instant::now(),
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

/// The time from a sensor's first request to its last answer. Its files are measured at the same time and one
/// after the other, so neither the longest one nor their sum is the time that the sensor took.
#[derive(Debug, Default)]
struct SensorSpan {
    start: Option<Instant>,
    end: Option<Instant>,
}

impl SensorSpan {
    fn extend(&mut self, result: &SensorResult) {
        let start = result.ended_at.checked_sub(result.elapsed).unwrap_or(result.ended_at);
        self.start = Some(self.start.map_or(start, |first| first.min(start)));
        self.end = self.end.max(Some(result.ended_at));
    }

    fn elapsed(&self) -> Duration {
        self.end.zip(self.start).map_or(Duration::ZERO, |(end, start)| end.duration_since(start))
    }
}

/// Combines the results of all sensors.
pub(crate) fn combine_results(
    files: Vec<RelPath>,
    skipped: Vec<SkippedFile>,
    results: Vec<SensorResult>,
    threshold: Severity,
) -> Evidence {
    let mut readings: BTreeMap<(SensorKind, String), SensorReading> = BTreeMap::new();
    let mut gaps: BTreeMap<(SensorKind, String), Vec<FileGap>> = BTreeMap::new();
    let mut spans: BTreeMap<(SensorKind, String), SensorSpan> = BTreeMap::new();
    let mut findings = Vec::new();
    for result in results {
        let key = (result.kind, result.sensor.clone());
        let reading = readings
            .entry(key.clone())
            .or_insert_with(|| SensorReading::clean(&result.sensor, result.kind, 0));
        spans.entry(key.clone()).or_default().extend(&result);
        reading.version = reading.version.take().or(result.version);
        reading.files += usize::from(result.gap.is_none());
        reading.dirty |= result.findings.iter().any(|finding| finding.severity >= threshold);
        findings.extend(result.findings);
        if let Some(gap) = result.gap {
            gaps.entry(key).or_default().push(FileGap { path: result.path, gap });
        }
    }
    for (key, mut gaps) in gaps {
        if let Some(reading) = readings.get_mut(&key) {
            // A sensor that measured other files has measured everything that the project wants checked.
            if reading.files > 0 {
                gaps.retain(|of_file| of_file.gap.cause != Cause::SwitchedOff);
            }
            reading.gap = merged(gaps);
        }
    }
    for (key, span) in spans {
        if let Some(reading) = readings.get_mut(&key) {
            reading.elapsed_ms = u64::try_from(span.elapsed().as_millis()).unwrap_or(u64::MAX);
        }
    }
    assign_fingerprints(&mut findings);
    let readings = readings.into_values().collect();
    Evidence { files, skipped, readings, findings, ..Evidence::default() }
}

/// The gap of one file.
struct FileGap {
    path: RelPath,
    gap: Gap,
}

/// The place of a gap among those of one sensor: a transient one is first, then one for errors that may be the
/// work's; one that is older than the work or that the user chose is last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GapRank {
    Transient,
    UnknownAge,
    Other,
    OlderThanWork,
    Chosen,
}

impl GapRank {
    pub(crate) fn of(cause: Cause) -> Self {
        match cause {
            Cause::SwitchedOff => Self::Chosen,
            Cause::ExistingFault => Self::OlderThanWork,
            Cause::NoBaseline => Self::UnknownAge,
            cause if cause.is_transient() => Self::Transient,
            _ => Self::Other,
        }
    }
}

/// One gap per sensor, the first in rank, with the number of affected files, and one of them.
fn merged(mut gaps: Vec<FileGap>) -> Option<Gap> {
    gaps.sort_by_key(|FileGap { gap, .. }| GapRank::of(gap.cause));
    let FileGap { path, gap } = gaps.first()?;
    let mut first = gap.clone();
    let alike = gaps.iter().filter(|other| other.gap.cause == first.cause).count();
    let count = match alike {
        1 => String::new(),
        _ if first.detail.contains(path.as_str()) => format!(" ({alike} files)"),
        _ => format!(" ({alike} files, such as {path})"),
    };
    let rest = match gaps.len() - alike {
        0 => String::new(),
        1 => "; one file for another reason".to_owned(),
        others => format!("; {others} files for other reasons"),
    };
    first.detail = format!("{}{count}{rest}", first.detail);
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::outside_poll::add_limit_gaps;
    use crate::evidence::poll_gate::PollLimit;
    use moai_base::hash::ContentHash;
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
            ended_at: Instant::now(),
        }
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
        assert_eq!(gap(vec![ignored, late.clone()]), Some(Cause::Silent));
        let older = measured("s", "d.py", Some(Cause::ExistingFault));
        assert_eq!(gap(vec![older, late]), Some(Cause::Silent), "the work may have caused it");
    }

    #[test]
    fn of_indirect_dependents_the_gaps_that_the_work_may_have_caused_count() {
        let causes = [Cause::TimedOut, Cause::NoBaseline, Cause::NoBaseline, Cause::ProjectFault];
        let gap = |causes: &[Cause], touches_symbol| {
            let result = |cause: &Cause| measured("s", "a.py", Some(*cause));
            let mut results: Vec<SensorResult> = causes.iter().map(result).collect();
            CountedGaps::OfIndirectDependents { touches_symbol }.retain(&mut results);
            let evidence = combine_results(Vec::new(), Vec::new(), results, Severity::Error);
            evidence.readings.into_iter().find_map(|reading| reading.gap)
        };
        let late = gap(&causes, true).expect("the server did not answer");
        assert_eq!(late.cause, Cause::TimedOut);
        assert_eq!(late.detail, "why; 2 files for other reasons");
        let doubted = gap(&causes, false).expect("errors may be older");
        assert_eq!(doubted.cause, Cause::NoBaseline);
        assert_eq!(doubted.detail, "why (2 files, such as a.py)");
        assert_eq!(gap(&[Cause::TimedOut, Cause::ProjectFault], false), None);
        assert_eq!(gap(&[Cause::ProjectFault], true), None);
        let superseded = gap(&[Cause::Superseded], false).expect("the work may have changed it");
        assert_eq!(superseded.cause, Cause::Superseded);
    }

    #[test]
    fn a_sensor_takes_from_its_first_request_to_its_last_answer() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let answer = |name: &str, elapsed: u64, end: u64| SensorResult {
            elapsed: Duration::from_millis(elapsed),
            ended_at: at(end),
            ..result(name, "")
        };
        // Two files at the same time, and a third one after a pause.
        let results = vec![answer("a.py", 30, 40), answer("b.py", 5, 30), answer("c.py", 10, 90)];
        let evidence = combine_results(Vec::new(), Vec::new(), results, Severity::Error);
        assert_eq!(evidence.readings[0].elapsed_ms, 80);
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
}
