//! The structural scan: rules and one text in, findings out. No I/O; callers read the text and pass
//! its hash.
//!
//! A broken rule is reported and leaves a gap in every file it applies to, so that a missing rule
//! never looks like a clean file.

mod builtin;
mod cache;
pub mod comments;
pub mod edits;
mod engine;
pub mod fixes;
pub mod isolation;
mod language;
mod rule_facts;
mod rule_set;
mod rules;
pub mod search;
mod serialized;
mod sgconfig;
pub mod syntax;
#[cfg(test)]
mod tests;
mod trials;

use std::borrow::Cow;
use std::ops::Range;

pub use self::cache::ScanCache;
use self::engine::{CpuBound, RuleMatch, UNUSED_SUPPRESSION};
use self::language::ScanLanguage;
pub use self::rule_facts::RuleFacts;
pub use self::rule_set::{BrokenRule, RuleSet, RuleSources};
pub use self::sgconfig::{ScanFolders, TestDir};
pub use self::trials::{
    RuleTestFile, RuleTrial, TrialFailure, assign_tests, parse_test_file, parse_trials,
};
use moai_base::finding::{Finding, FindingPlace, assign_fingerprints};
use moai_base::hash::ContentHash;
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_base::text::LineIndex;
use moai_base::verdict::{Cause, Gap};

/// Name of the sensor in findings.
const SENSOR: &str = "scan";

/// Result of scanning one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanOutcome {
    /// Fingerprinted and sorted by position.
    pub findings: Vec<Finding>,
    /// Set if the text was not measured completely; findings may still be present.
    pub gap: Option<Gap>,
}

/// Names of the supported languages, as used in messages.
pub fn language_names() -> impl Iterator<Item = &'static str> {
    ScanLanguage::ALL.iter().map(|language| language.as_str())
}

/// A file name with the extension of the language that rule files call `language`; `None` for an
/// unsupported language.
#[must_use]
pub fn file_name_in_language(stem: &str, language: &str) -> Option<String> {
    let extension = ScanLanguage::from_name(language)?.extension();
    Some(format!("{stem}.{extension}"))
}

/// True if a file is in the language that rule files call `language`.
#[must_use]
pub fn is_in_language(rules: &RuleSet, path: &RelPath, language: &str) -> bool {
    ScanLanguage::from_name(language)
        .is_some_and(|language| rules.language_of(path) == Some(language))
}

/// Scans one text, including embedded parts in other languages. A gap is left by a path that no
/// rule covers, a text above the size limit, too deeply nested or unparsable as a whole, and by
/// broken rules. A syntax error in an otherwise parsable text leaves none, because the parser
/// recovers after it.
#[must_use]
pub fn scan_text(rules: &RuleSet, path: &RelPath, text: &str, hash: ContentHash) -> ScanOutcome {
    isolation::scan_in_worker(rules, path, text, hash)
        .unwrap_or_else(|| scan_here(rules, path, text, hash, &mut |_| {}))
}

/// Like [`scan_text`], but always in this process, and calls `tried` with a rule's id after each
/// attempt to match the rule at a node, so that the caller can measure the cost of each rule.
#[must_use]
pub fn scan_here(
    rules: &RuleSet,
    path: &RelPath,
    text: &str,
    hash: ContentHash,
    tried: &mut impl FnMut(&str),
) -> ScanOutcome {
    if text.len() as u64 > SOURCE_BYTES_MAX && rules.handles(path) {
        return gap_outcome(Cause::Skipped, &format!("larger than {SOURCE_BYTES_MAX} bytes"));
    }
    let language = match rules.language_of(path) {
        Some(language) if rules.handles(path) => language,
        _ => {
            let why = rules.unsupported_reason(path).unwrap_or("no rule covers this file");
            return gap_outcome(Cause::NoTool, why);
        }
    };
    let bound = CpuBound::for_matching();
    let file = FileScan { rules, path, text, hash, lines: LineIndex::new(text), bound };
    let (mut findings, mut gap) = file.scan_part(language, 0..text.len(), tried);
    gap = gap.or_else(|| rules.rule_gap(language));
    let parts = rules.config.injector.parts(language, text).unwrap_or_else(|injection_gap| {
        gap.get_or_insert(injection_gap);
        Vec::new()
    });
    for part in parts {
        if file.bound.is_exceeded() {
            gap.get_or_insert_with(|| Gap::new(Cause::Skipped, "scanning its parts took too long"));
            break;
        }
        let (more, part_gap) = file.scan_part(part.language, part.bytes, tried);
        findings.extend(more);
        gap = gap.or(part_gap).or_else(|| rules.rule_gap(part.language));
    }
    assign_fingerprints(&mut findings);
    ScanOutcome { findings, gap }
}

/// The file being scanned.
struct FileScan<'a> {
    rules: &'a RuleSet,
    path: &'a RelPath,
    text: &'a str,
    hash: ContentHash,
    lines: LineIndex<'a>,
    /// Shared by all its parts.
    bound: CpuBound,
}

impl FileScan<'_> {
    /// Findings of one language's rules in a part of the text.
    fn scan_part(
        &self,
        language: ScanLanguage,
        bytes: Range<usize>,
        tried: &mut impl FnMut(&str),
    ) -> (Vec<Finding>, Option<Gap>) {
        let engine = &self.rules.language_rules(language).engine;
        // Suppressions refer to line numbers, so pad the part to keep its lines.
        let above = self.text[..bytes.start].bytes().filter(|byte| *byte == b'\n').count();
        let padded = match above {
            0 => Cow::Borrowed(&self.text[bytes.clone()]),
            _ => Cow::Owned("\n".repeat(above) + &self.text[bytes.clone()]),
        };
        let (matches, gap) = engine.matches(self.path, &padded, &self.bound, tried);
        let to_finding = |matched: RuleMatch| {
            let offset = |at: usize| at.max(above) - above + bytes.start;
            let place = offset(matched.bytes.start)..offset(matched.bytes.end);
            let range = self.lines.range(place.start, place.end);
            let info = engine.info(&matched.id);
            let at = FindingPlace { path: self.path.clone(), range, content_hash: self.hash };
            Finding {
                cwe: info.cwe,
                url: info.url,
                fix: info.fix,
                anchor: self.text[place].to_owned(),
                ..Finding::new(SENSOR, &matched.id, matched.severity, at, &matched.message)
            }
        };
        let reports_unused = self.rules.reports_unused_suppressions();
        let reported = matches
            .into_iter()
            .filter(|matched| reports_unused || matched.id != UNUSED_SUPPRESSION);
        (reported.map(to_finding).collect(), gap)
    }
}

fn gap_outcome(cause: Cause, detail: &str) -> ScanOutcome {
    ScanOutcome { findings: Vec::new(), gap: Some(Gap::new(cause, detail)) }
}
