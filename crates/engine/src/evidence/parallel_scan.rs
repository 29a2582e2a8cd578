//! Scans many files in parallel and keeps only the results: each file is read, scanned and dropped
//! again, so that memory does not grow with the project.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::evidence::gather::{failed_scan_result, scan_result, scan_snapshot};
use crate::evidence::slow_files::SlowFileTime;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::progress::WorkProgress;
use crate::project::scan_cache::ScanCacheFile;
use moai_base::evidence::SkippedFile;
use moai_base::finding::Severity;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::LineIndex;
use moai_host::files::{self, Snapshot};
use moai_report::excerpt::SourceExcerpts;
use moai_scan::{RuleSet, ScanOutcome};

/// The inputs of a parallel scan.
#[derive(Clone, Copy)]
pub(crate) struct ScanTask<'w> {
    pub(crate) root: &'w Path,
    pub(crate) rules: &'w RuleSet,
    /// Outcomes of earlier scans.
    pub(crate) cache: Option<&'w ScanCacheFile>,
    /// The lowest severity of findings whose lines of source are kept; `None` keeps none.
    pub(crate) excerpts: Option<Severity>,
    pub(crate) progress: &'w WorkProgress,
}

/// The results of a parallel scan.
#[derive(Default)]
pub(crate) struct ScanResults {
    /// In the order of the files.
    pub(crate) results: Vec<SensorResult>,
    /// Files that could not be read, or that no rule handles.
    pub(crate) skipped: Vec<SkippedFile>,
    /// Source lines of the first findings.
    pub(crate) excerpts: SourceExcerpts,
    /// The files whose outcome was not cached.
    pub(crate) new_files: BTreeSet<RelPath>,
}

/// Reads and scans files, on all cores.
pub(crate) fn scan_files(task: ScanTask<'_>, files: &[RelPath]) -> ScanResults {
    task.progress.expect(files.len());
    let (root, slow) = (files::RootReader::open(task.root), SlowFileTime::default());
    scan_in_parallel(files, &|share, file| {
        match root.read(file) {
            Ok(snapshot) => share.add(task, &snapshot, &slow),
            Err(skipped) => share.skipped.push(skipped),
        }
        task.progress.step();
    })
}

/// Scans texts that were read, on all cores.
pub(crate) fn scan_snapshots(task: ScanTask<'_>, snapshots: &[Snapshot]) -> ScanResults {
    let slow = SlowFileTime::default();
    scan_in_parallel(snapshots, &|share, snapshot| share.add(task, snapshot, &slow))
}

/// Every thread takes the next file, so that a few large files do not leave the other threads idle. The order is
/// kept, so that the first findings of each thread include the first of all.
fn scan_in_parallel<F: Sync>(
    files: &[F],
    scan: &(dyn Fn(&mut ScanResults, &F) + Sync),
) -> ScanResults {
    let cores = moai_host::processors::processor_count();
    let next = AtomicUsize::new(0);
    let share = || {
        let mut share = ScanResults::default();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            scan(&mut share, file);
        }
        share
    };
    let mut all = ScanResults::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(files.len())).map(|_| scope.spawn(share)).collect();
        for thread in threads {
            all.merge(thread.join().expect("a panic is caught per file"));
        }
    });
    all.results.sort_by(|a, b| a.path.cmp(&b.path));
    all.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

impl ScanResults {
    /// Scans one text, unless its outcome is cached.
    pub(crate) fn add(&mut self, task: ScanTask<'_>, snapshot: &Snapshot, slow: &SlowFileTime) {
        let started = Instant::now();
        let cached =
            task.cache.and_then(|cache| cache.get(task.rules, &snapshot.path, snapshot.hash));
        let result = if let Some(outcome) = cached {
            Some(scan_result(snapshot, outcome, started))
        } else {
            self.new_files.insert(snapshot.path.clone());
            // The parsers are foreign code, so a panic must not affect other files.
            catch_unwind(AssertUnwindSafe(|| scan_snapshot(task.rules, snapshot, slow)))
                .unwrap_or_else(|_| Some(failed_scan_result(snapshot)))
        };
        let Some(result) = result else {
            let reason = "no rule covers this kind of file".to_owned();
            return self.skipped.push(SkippedFile { path: snapshot.path.to_string(), reason });
        };
        if let Some(lowest) = task.excerpts.filter(|_| !result.findings.is_empty()) {
            let lines = LineIndex::new(&snapshot.text);
            let shown = result.findings.iter().filter(|finding| finding.severity >= lowest);
            self.excerpts.add_findings(shown, &lines);
        }
        self.results.push(result);
    }

    /// The outcomes that were not cached, for the next scan.
    pub(crate) fn new_outcomes(&self) -> impl Iterator<Item = (RelPath, ContentHash, ScanOutcome)> {
        let new = self.results.iter().filter(|result| self.new_files.contains(&result.path));
        new.map(|result| {
            let outcome =
                ScanOutcome { findings: result.findings.clone(), gap: result.gap.clone() };
            (result.path.clone(), result.hash, outcome)
        })
    }

    fn merge(&mut self, other: Self) {
        self.results.extend(other.results);
        self.skipped.extend(other.skipped);
        self.excerpts.merge(other.excerpts);
        self.new_files.extend(other.new_files);
    }
}
