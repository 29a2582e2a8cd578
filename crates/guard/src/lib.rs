//! The guard: detects changes that make the measurements easier to pass instead of the code better.
//! Pure: texts before and after go in, findings come out.
//!
//! An error stops a loop from ending, a warning does not. Detectors would rather miss a trick
//! than accuse an honest refactoring.

mod blocks;
mod child_exits;
mod commands;
mod companions;
mod ended_runs;
mod escapes;
mod facts;
mod faked_results;
mod hardcoded;
mod managed_files;
mod new_occurrences;
mod relaxed_config;
mod removed_code;
pub mod run_files;
mod settings;
mod shadowed_functions;
pub mod shell_writes;
mod stubs;
mod suite;
mod suppressions;
mod swallowed_errors;
mod test_detection;
#[cfg(test)]
mod tests;
mod unreached_assertions;

use std::collections::BTreeSet;
use std::ops::Range;

use self::facts::{ParsedFile, ParsedFiles, SourceSide};
use moai_base::finding::{Finding, FindingPlace, Severity, assign_fingerprints};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::LineIndex;
use moai_base::verdict::Gap;
use moai_scan::syntax::{ScanLanguage, SyntaxTree};

/// Name of the sensor in findings.
pub const SENSOR: &str = "guard";

/// One file that differs from the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceChange {
    /// Current path; of a deleted file, its last path.
    pub path: RelPath,
    /// Path at the base, if different.
    pub old_path: Option<RelPath>,
    /// Text at the base; `None` if the file was absent.
    pub before: Option<String>,
    /// Text now; `None` if the file is absent.
    pub after: Option<String>,
}

impl SourceChange {
    /// Path at the base.
    #[must_use]
    pub fn path_before(&self) -> &RelPath {
        self.old_path.as_ref().unwrap_or(&self.path)
    }

    fn with_plain_line_ends(&self) -> Self {
        let plain = |text: &Option<String>| text.as_ref().map(|text| text.replace("\r\n", "\n"));
        Self { before: plain(&self.before), after: plain(&self.after), ..self.clone() }
    }
}

/// Input of one inspection.
#[derive(Clone, Copy, Debug)]
pub struct GuardInput<'a> {
    /// Every file that differs from the base, and those [`companion_paths`] that exist.
    pub changes: &'a [SourceChange],
    /// The user's goal; empty if unknown. It may allow deleting something together with its tests.
    pub goal: &'a str,
    /// Findings of all sensors at the base; empty if unknown.
    pub base_findings: &'a [Finding],
}

/// Result of one inspection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuardOutcome {
    /// Fingerprinted and sorted by position.
    pub findings: Vec<Finding>,
    /// Files that could not be inspected, with the reason.
    pub gaps: Vec<(RelPath, Gap)>,
}

type DetectorFamily = fn(&GuardInput<'_>, &ParsedFiles<'_>) -> Vec<Detection>;

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
    shadowed_functions::shadow_hits,
    unreached_assertions::unreached_hits,
    managed_files::foreign_hits,
];

/// One hit of a detector.
struct Detection {
    /// `G01` to `G20`.
    code: &'static str,
    /// An error blocks, a warning does not.
    severity: Severity,
    /// Current path of the file.
    path: RelPath,
    /// Byte offsets in the current text; `0..0` when the code was removed.
    bytes: Range<usize>,
    /// The problem and its remedy.
    message: String,
    /// Text that identifies the hit within the file.
    anchor: String,
}

/// Inspects a set of changes. Different line endings do not count as a change.
#[must_use]
pub fn inspect(input: &GuardInput<'_>) -> GuardOutcome {
    let changes: Vec<SourceChange> =
        input.changes.iter().map(SourceChange::with_plain_line_ends).collect();
    inspect_normalized(&GuardInput { changes: &changes, ..*input }, input.changes)
}

/// Inspects texts without carriage returns; `on_disk` holds the unmodified changes.
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

/// True if the guard reads the content of a file; of others it uses at most the name.
#[must_use]
pub fn is_guarded_path(path: &RelPath) -> bool {
    ScanLanguage::from_path(path).is_some_and(facts::is_known)
        || relaxed_config::is_tool_config(path)
}

/// Hidden folders, relative to the root, that hold guarded files.
pub fn hidden_folders() -> impl Iterator<Item = &'static str> {
    relaxed_config::hidden_folders()
}

/// Unchanged files that an inspection also needs, if they exist: tests of the changed code, the manifests that
/// decide which of them run, and the sources of targets whose tests a manifest switches off. Those that exist
/// may need others in turn.
#[must_use]
pub fn companion_paths(changes: &[SourceChange]) -> Vec<RelPath> {
    let own: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
    let mut found: BTreeSet<RelPath> = BTreeSet::new();
    for change in changes.iter().filter(|it| it.before != it.after) {
        found.extend(companions::tests_of(&change.path));
        found.extend(companions::named_tests(change));
        found.extend(companions::imported_packages(change));
        found.extend(relaxed_config::cargo_targets::needed_sources(change, changes));
    }
    found.into_iter().filter(|path| !own.contains(path)).collect()
}

/// Parses a text in one of the guard's languages.
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
    let place = FindingPlace { path: hit.path, range, content_hash: hash };
    let finding = Finding::new(SENSOR, hit.code, hit.severity, place, &hit.message);
    Finding { anchor: hit.anchor, ..finding }
}

fn text_now<'c>(changes: &'c [SourceChange], path: &RelPath) -> &'c str {
    let change = changes.iter().find(|change| change.path == *path);
    change.and_then(|change| change.after.as_deref()).unwrap_or_default()
}
