//! Findings that only one of the two has: the scan and the ast-grep program, with the same rules over
//! the same code.

pub(crate) mod code;
pub(crate) mod plain;
pub(crate) mod program;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::{LineIndex, PositionEncoding};
use moai_scan::{RuleSet, scan_text};

use program::Program;

/// Rule, path, and the byte range of a finding.
pub(crate) type Place = (String, String, usize, usize);

/// The findings. A rule may match a node and its only child at the same place; the scan reports the place
/// once, so that repetitions do not count.
pub(crate) type Places = BTreeSet<Place>;

/// Result of comparing one code base.
#[derive(Debug)]
pub(crate) struct Sameness {
    /// Files that the scan measured.
    pub(crate) files: usize,
    /// Files that it refuses with a reason: too large, too deep, not parsable.
    pub(crate) refused: usize,
    /// Findings of both.
    pub(crate) findings: usize,
    /// Rules with a finding.
    pub(crate) rules: usize,
    /// Findings that the program has and the scan has not.
    pub(crate) missing: Vec<Place>,
    /// The other way around.
    pub(crate) added: Vec<Place>,
}

/// Compares both over the code in a project with the rules in its `sgconfig.yml`.
pub(crate) fn compare(program: &Program, project: &Path, rules: &RuleSet) -> Sameness {
    let own = scanned(project, rules);
    let mut theirs = program.scan(project);
    // Files that both leave out (minified code), and those that are refused.
    theirs.retain(|(_, path, ..)| own.measured.contains(path));
    let rest = |left: &Places, right: &Places| left.difference(right).cloned().collect();
    let ids: BTreeSet<&String> = own.places.iter().map(|(id, ..)| id).collect();
    Sameness {
        files: own.measured.len(),
        refused: own.refused,
        findings: own.places.len(),
        rules: ids.len(),
        missing: rest(&theirs, &own.places),
        added: rest(&own.places, &theirs),
    }
}

#[derive(Default)]
struct Scanned {
    measured: BTreeSet<String>,
    refused: usize,
    places: Places,
}

fn scanned(project: &Path, rules: &RuleSet) -> Scanned {
    let mut scanned = Scanned::default();
    for path in files(project) {
        let Some(relative) = RelPath::below(project, &path) else { continue };
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if !rules.handles(&relative) {
            continue;
        }
        let outcome = scan_text(rules, &relative, &text, ContentHash::of_bytes(text.as_bytes()));
        if outcome.gap.is_some() {
            scanned.refused += 1;
            continue;
        }
        let name = relative.to_string();
        let lines = LineIndex::new(&text);
        for finding in outcome.findings {
            let offset =
                |at| lines.offset(at, PositionEncoding::Utf16).expect("a place in the text");
            let (start, end) = (offset(finding.range.start), offset(finding.range.end));
            scanned.places.insert((finding.code, name.clone(), start, end));
        }
        scanned.measured.insert(name);
    }
    scanned
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("the folder can be read").flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    files
}
