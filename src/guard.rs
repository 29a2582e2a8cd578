//! The guard: whether what changed since the base makes the measurements easier instead of the
//! code better. Texts before and after go in, findings come out; pure. It must not know where the
//! texts come from, nor what is done about a finding.
//!
//! A finding with severity error stops a loop from ending, a warning does not. Every detector would
//! rather miss a trick than accuse an honest refactor.

mod blocks;
mod commands;
mod companions;
mod escapes;
mod facts;
mod faked_results;
mod hardcoded;
mod managed_files;
mod new_occurrences;
mod relaxed_config;
mod removed_code;
mod settings;
mod stubs;
mod suite;
mod suppressions;
mod swallowed_errors;
mod test_detection;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use self::facts::{ParsedFile, ParsedFiles, SourceSide};
use crate::base::finding::{Finding, Severity, assign_fingerprints};
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::base::text::LineIndex;
use crate::base::verdict::Gap;
use crate::scan::syntax::{ScanLanguage, SyntaxTree};

/// The sensor's name in findings.
pub const SENSOR: &str = "guard";

/// One file that differs from the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceChange {
    /// Its path now; of a deleted file the path it had.
    pub path: RelPath,
    /// The path it had, where that was another one.
    pub old_path: Option<RelPath>,
    /// Its text at the base; `None`: it was not there.
    pub before: Option<String>,
    /// Its text now; `None`: it is not there.
    pub after: Option<String>,
}

impl SourceChange {
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
pub struct GuardInput<'a> {
    /// Every file that differs from the base, and what of [`companion_paths`] is there.
    pub changes: &'a [SourceChange],
    /// What the user wants, in their own words; empty when it is not known. It may allow that
    /// something is deleted together with its tests.
    pub goal: &'a str,
    /// Findings of the base, of any sensor; empty when they are not known.
    pub base_findings: &'a [Finding],
}

/// What the guard says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardOutcome {
    /// What is wrong, fingerprinted and sorted by place.
    pub findings: Vec<Finding>,
    /// The files that could not be judged, and why.
    pub gaps: Vec<(RelPath, Gap)>,
}

/// One family of detectors.
type DetectorFamily = fn(&GuardInput<'_>, &ParsedFiles<'_>) -> Vec<Detection>;

/// All of them.
const FAMILIES: &[DetectorFamily] = &[
    suite::inspect,
    hardcoded::hardcoded_hits,
    test_detection::detection_hits,
    suppressions::suppression_hits,
    escapes::escape_hits,
    relaxed_config::relaxed_hits,
    swallowed_errors::swallowed_hits,
    stubs::stub_hits,
    removed_code::abandoned_hits,
    faked_results::fake_hits,
    managed_files::foreign_hits,
];

/// What a detector says.
struct Detection {
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
pub fn inspect(input: &GuardInput<'_>) -> GuardOutcome {
    let changes: Vec<SourceChange> =
        input.changes.iter().map(SourceChange::with_plain_line_ends).collect();
    inspect_normalized(&GuardInput { changes: &changes, ..*input }, input.changes)
}

/// The same of texts without carriage returns; `on_disk` are the changes as they are.
fn inspect_normalized(input: &GuardInput<'_>, on_disk: &[SourceChange]) -> GuardOutcome {
    let mut gaps = Vec::new();
    let trees: Vec<(Option<SyntaxTree>, Option<SyntaxTree>)> = input
        .changes
        .iter()
        .map(|change| {
            let before = parse(change.path_before(), change.before.as_deref(), &mut gaps);
            (before, parse(&change.path, change.after.as_deref(), &mut gaps))
        })
        .collect();
    let files = input.changes.iter().zip(&trees).map(|(change, (before, after))| ParsedFile {
        change,
        before: before.as_ref().map(|tree| SourceSide::new(change.path_before(), tree)),
        after: after.as_ref().map(|tree| SourceSide::new(&change.path, tree)),
    });
    let files = ParsedFiles { files: files.collect() };
    let hits = FAMILIES.iter().flat_map(|family| family(input, &files));
    let mut findings: Vec<Finding> =
        hits.map(|hit| to_finding(hit, input.changes, on_disk)).collect();
    assign_fingerprints(&mut findings);
    gaps.extend(relaxed_config::unreadable_configs(input.changes));
    gaps.dedup();
    GuardOutcome { findings, gaps }
}

/// Whether a file is code or configuration that the guard reads; others mean nothing to it, or only
/// their names do.
#[must_use]
pub fn is_guarded_path(path: &RelPath) -> bool {
    ScanLanguage::from_path(path).is_some_and(facts::is_known)
        || relaxed_config::is_tool_config(path)
}

/// The files that a judgement should see as well, where they are there and did not change: tests of
/// the changed code and the manifests that say which of them run, each as a change that changes nothing.
#[must_use]
pub fn companion_paths(changes: &[SourceChange]) -> Vec<RelPath> {
    let own: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
    let found: BTreeSet<RelPath> = own.iter().flat_map(|path| companions::tests_of(path)).collect();
    found.into_iter().filter(|path| !own.contains(path)).collect()
}

/// The tree of a text in one of the languages that the guard knows.
fn parse(path: &RelPath, text: Option<&str>, gaps: &mut Vec<(RelPath, Gap)>) -> Option<SyntaxTree> {
    let language = ScanLanguage::from_path(path).filter(|language| facts::is_known(*language))?;
    match SyntaxTree::parse(language, text?) {
        Ok(tree) => Some(tree),
        Err(gap) => {
            gaps.push((path.clone(), gap));
            None
        }
    }
}

fn to_finding(hit: Detection, changes: &[SourceChange], on_disk: &[SourceChange]) -> Finding {
    let range = LineIndex::new(text_now(changes, &hit.path)).range(hit.bytes.start, hit.bytes.end);
    let hash = ContentHash::of_bytes(text_now(on_disk, &hit.path).as_bytes());
    let place = (hit.path, range, hash);
    let finding = Finding::new(SENSOR, hit.code, hit.severity, place, &hit.message);
    Finding { anchor: hit.anchor, ..finding }
}

fn text_now<'c>(changes: &'c [SourceChange], path: &RelPath) -> &'c str {
    let change = changes.iter().find(|change| change.path == *path);
    change.and_then(|change| change.after.as_deref()).unwrap_or_default()
}
