//! The guard: whether what changed since the base makes the measurements easier instead of the
//! code better. Texts before and after go in, findings come out; pure. It must not know where the
//! texts come from, nor what is done about a finding.
//!
//! A finding with severity error stops a loop from ending, a warning does not. Every detector would
//! rather miss a trick than accuse an honest refactor.

mod abandoned;
mod blocks;
mod commands;
mod companions;
mod detecting;
mod escapes;
mod facts;
mod faked;
mod foreign;
mod hardcoded;
mod novel;
mod relaxed;
mod settings;
mod stubs;
mod suite;
mod suppressed;
mod swallowed;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use self::facts::{File, Files, Side};
use crate::base::finding::{Finding, Severity, fingerprint};
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::base::text::LineIndex;
use crate::base::verdict::Gap;
use crate::scan::syntax::{Language, Tree};

/// The sensor's name in findings.
pub const SENSOR: &str = "guard";

/// One file that differs from the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its path now; of a deleted file the path it had.
    pub path: RelPath,
    /// The path it had, where that was another one.
    pub old_path: Option<RelPath>,
    /// Its text at the base; `None`: it was not there.
    pub before: Option<String>,
    /// Its text now; `None`: it is not there.
    pub after: Option<String>,
}

impl Change {
    /// The path it had at the base.
    #[must_use]
    pub fn path_before(&self) -> &RelPath {
        self.old_path.as_ref().unwrap_or(&self.path)
    }

    fn with_plain_line_ends(&self) -> Self {
        let plain = |text: &Option<String>| text.as_ref().map(|text| text.replace("\r\n", "\n"));
        Self { before: plain(&self.before), after: plain(&self.after), ..self.clone() }
    }
}

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Every file that differs from the base, and what of [`companions`] is there.
    pub changes: &'a [Change],
    /// What the user wants, in their own words; empty when it is not known. It may allow that
    /// something is deleted together with its tests.
    pub goal: &'a str,
    /// Findings of the base, of any sensor; empty when they are not known.
    pub known: &'a [Finding],
}

/// What the guard says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What is wrong, fingerprinted and sorted by place.
    pub findings: Vec<Finding>,
    /// The files that could not be judged, and why.
    pub gaps: Vec<(RelPath, Gap)>,
}

/// One family of detectors.
type Family = fn(&Input<'_>, &Files<'_>) -> Vec<Hit>;

/// All of them.
const FAMILIES: &[Family] = &[
    suite::inspect,
    hardcoded::hits,
    detecting::hits,
    suppressed::hits,
    escapes::hits,
    relaxed::hits,
    swallowed::hits,
    stubs::hits,
    abandoned::hits,
    faked::hits,
    foreign::hits,
];

/// What a detector says.
struct Hit {
    /// `G01` to `G20`.
    code: &'static str,
    /// Error blocks, warning does not.
    severity: Severity,
    /// The file it is about, by its path now.
    path: RelPath,
    /// Byte offsets in the text now; `0..0` when what it is about is gone.
    bytes: Range<usize>,
    /// What is wrong, and how to clear it.
    message: String,
    /// What identifies it in this file.
    anchor: String,
}

/// Judges a set of changes. Other line ends are no change of a line.
#[must_use]
pub fn inspect(input: &Input<'_>) -> Outcome {
    let changes: Vec<Change> = input.changes.iter().map(Change::with_plain_line_ends).collect();
    inspect_plain(&Input { changes: &changes, ..*input }, input.changes)
}

/// The same of texts without carriage returns; `on_disk` are the changes as they are.
fn inspect_plain(input: &Input<'_>, on_disk: &[Change]) -> Outcome {
    let mut gaps = Vec::new();
    let trees: Vec<(Option<Tree>, Option<Tree>)> = input
        .changes
        .iter()
        .map(|change| {
            let before = parse(change.path_before(), change.before.as_deref(), &mut gaps);
            (before, parse(&change.path, change.after.as_deref(), &mut gaps))
        })
        .collect();
    let files = input.changes.iter().zip(&trees).map(|(change, (before, after))| File {
        change,
        before: before.as_ref().map(|tree| Side::new(change.path_before(), tree)),
        after: after.as_ref().map(|tree| Side::new(&change.path, tree)),
    });
    let files = Files { files: files.collect() };
    let hits = FAMILIES.iter().flat_map(|family| family(input, &files));
    let mut findings: Vec<Finding> =
        hits.map(|hit| to_finding(hit, input.changes, on_disk)).collect();
    fingerprint(&mut findings);
    gaps.extend(relaxed::gaps(input.changes));
    gaps.dedup();
    Outcome { findings, gaps }
}

/// Whether a file is code or configuration that the guard reads; others mean nothing to it, or only
/// their names do.
#[must_use]
pub fn reads(path: &RelPath) -> bool {
    Language::of(path).is_some_and(facts::is_known) || relaxed::reads(path)
}

/// The files that a judgement should see as well, where they are there and did not change: tests of
/// the changed code and the manifests that say which of them run, each as a change that changes nothing.
#[must_use]
pub fn companions(changes: &[Change]) -> Vec<RelPath> {
    let own: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
    let found: BTreeSet<RelPath> = own.iter().flat_map(|path| companions::tests_of(path)).collect();
    found.into_iter().filter(|path| !own.contains(path)).collect()
}

/// The tree of a text in one of the languages that the guard knows.
fn parse(path: &RelPath, text: Option<&str>, gaps: &mut Vec<(RelPath, Gap)>) -> Option<Tree> {
    let language = Language::of(path).filter(|language| facts::is_known(*language))?;
    match Tree::parse(language, text?) {
        Ok(tree) => Some(tree),
        Err(gap) => {
            gaps.push((path.clone(), gap));
            None
        }
    }
}

fn to_finding(hit: Hit, changes: &[Change], on_disk: &[Change]) -> Finding {
    let range = LineIndex::new(text_now(changes, &hit.path)).range(hit.bytes.start, hit.bytes.end);
    let hash = ContentHash::of(text_now(on_disk, &hit.path).as_bytes());
    let place = (hit.path, range, hash);
    let finding = Finding::new(SENSOR, hit.code, hit.severity, place, &hit.message);
    Finding { anchor: hit.anchor, ..finding }
}

fn text_now<'c>(changes: &'c [Change], path: &RelPath) -> &'c str {
    let change = changes.iter().find(|change| change.path == *path);
    change.and_then(|change| change.after.as_deref()).unwrap_or_default()
}
