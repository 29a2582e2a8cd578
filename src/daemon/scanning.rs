//! Scans many files at once and keeps only what was found: each is read, scanned and dropped again,
//! so that memory does not grow with the project. It must not know which files, or who asked.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::gather::{Word, scan_lost, scan_one, scan_word};
use super::kept_scans::KeptScans;
use super::progress::Progress;
use crate::base::evidence::Skipped;
use crate::base::finding::Severity;
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::base::text::LineIndex;
use crate::files::{self, Snapshot};
use crate::report::excerpt::Excerpts;
use crate::scan::{RuleSet, ScanOutcome};

/// What is scanned, and how.
#[derive(Clone, Copy)]
pub(super) struct Work<'w> {
    pub(super) root: &'w Path,
    pub(super) rules: &'w RuleSet,
    /// Outcomes of earlier scans.
    pub(super) kept: Option<&'w KeptScans>,
    /// The lowest severity of findings whose lines of source are kept; `None` keeps none.
    pub(super) excerpts: Option<Severity>,
    pub(super) progress: &'w Progress,
}

/// What the scan of many files leaves.
#[derive(Default)]
pub(super) struct Scanned {
    /// In the order of the files.
    pub(super) words: Vec<Word>,
    /// What could not be read, or is spoken about by no rule.
    pub(super) skipped: Vec<Skipped>,
    /// Lines of source of the first findings.
    pub(super) excerpts: Excerpts,
    /// The files whose outcome was not known from an earlier scan.
    pub(super) news: BTreeSet<RelPath>,
}

/// Scans files, on all cores.
pub(super) fn scan_files(task: Work<'_>, files: &[RelPath]) -> Scanned {
    task.progress.expect(files.len());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (next, root) = (AtomicUsize::new(0), files::Root::open(task.root));
    // Every thread takes the next file, so that a few large ones do not leave the others idle; and
    // in their order, so that the first findings of each are the first of all.
    let share = || {
        let mut share = Scanned::default();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            match root.read(file) {
                Ok(snapshot) => share.add(task, &snapshot),
                Err(skipped) => share.skipped.push(skipped),
            }
            task.progress.step();
        }
        share
    };
    let mut all = Scanned::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(files.len())).map(|_| scope.spawn(share)).collect();
        for thread in threads {
            all.merge(thread.join().expect("what may panic is caught inside"));
        }
    });
    all.words.sort_by(|a, b| a.path.cmp(&b.path));
    all.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

impl Scanned {
    /// Scans one text, unless it is known what was found in it.
    pub(super) fn add(&mut self, task: Work<'_>, snapshot: &Snapshot) {
        let begun = Instant::now();
        let known = task.kept.and_then(|it| it.get(task.rules, &snapshot.path, snapshot.hash));
        if known.is_none() {
            self.news.insert(snapshot.path.clone());
        }
        // The parsers are foreign code: what goes wrong in one costs its file and no other.
        let scanned = known.map(|outcome| Ok(Some(scan_word(snapshot, outcome, begun))));
        let scan = || catch_unwind(AssertUnwindSafe(|| scan_one(task.rules, snapshot)));
        let scanned = scanned.unwrap_or_else(scan);
        let Some(word) = scanned.unwrap_or_else(|_| Some(scan_lost(snapshot))) else {
            let reason = "no rule speaks about this kind of file".to_owned();
            return self.skipped.push(Skipped { path: snapshot.path.to_string(), reason });
        };
        if let Some(lowest) = task.excerpts.filter(|_| !word.found.is_empty()) {
            let lines = LineIndex::new(&snapshot.text);
            let shown = word.found.iter().filter(|finding| finding.severity >= lowest);
            self.excerpts.keep(shown, &lines);
        }
        self.words.push(word);
    }

    /// What was found in the texts that were not known, for the next scan.
    pub(super) fn news(&self) -> impl Iterator<Item = (RelPath, ContentHash, ScanOutcome)> {
        let new = self.words.iter().filter(|word| self.news.contains(&word.path));
        new.map(|word| {
            let outcome = ScanOutcome { findings: word.found.clone(), gap: word.gap.clone() };
            (word.path.clone(), word.hash, outcome)
        })
    }

    fn merge(&mut self, other: Self) {
        self.words.extend(other.words);
        self.skipped.extend(other.skipped);
        self.excerpts.merge(other.excerpts);
        self.news.extend(other.news);
    }
}
