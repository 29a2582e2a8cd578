//! Applies the fixes of rules to one text, in rounds until no fix is left.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::edits::{self, ByteEdit, EditedText};
use super::engine::CpuBound;
use super::engine::fix::LineEnding;
use super::language::ScanLanguage;
use super::search::{RewriteError, refuse_syntax_errors};
use super::{RuleSet, scan_text};
use moai_base::finding::{Finding, Severity};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixTrust {
    /// Fixes of rules marked `fix: safe` in their metadata: they preserve the behavior of correct
    /// code.
    Safe,
    Any,
}

/// Result of fixing one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedFixes {
    /// The fixed text; `None` if nothing changes.
    pub edited: Option<EditedText>,
    /// Number of fixes not applied because they are not marked safe.
    pub skipped_unsafe: usize,
}

/// Applies the fixes to a text. Of overlapping fixes the earlier one is applied, and the text is
/// scanned again for the other. Fails if the rounds do not terminate, break the syntax, or
/// introduce an error that the scan finds.
pub fn apply_fixes(
    rules: &RuleSet,
    path: &RelPath,
    text: &str,
    trust: FixTrust,
) -> Result<AppliedFixes, RewriteError> {
    let language = rules.language_of(path).filter(|_| rules.handles(path));
    let Some(language) = language else { return Ok(AppliedFixes::default()) };
    let edited = edits::edit_to_fixpoint(text, &mut |text: &str| {
        let (made, _) = fix_round(rules, path, language, text, trust)?;
        Ok::<_, RewriteError>(made)
    })?;
    let (_, held) = fix_round(rules, path, language, &edited.text, trust)?;
    if edited.text == text {
        return Ok(AppliedFixes { edited: None, skipped_unsafe: held });
    }
    refuse_syntax_errors(text, &edited.text, language)?;
    refuse_new_errors(rules, path, text, &edited.text)?;
    Ok(AppliedFixes { edited: Some(edited), skipped_unsafe: held })
}

/// The edits of one round, and the number of fixes held back as unsafe.
fn fix_round(
    rules: &RuleSet,
    path: &RelPath,
    language: ScanLanguage,
    text: &str,
    trust: FixTrust,
) -> Result<(Vec<ByteEdit>, usize), RewriteError> {
    let engine = &rules.language_rules(language).engine;
    let bound = CpuBound::for_matching();
    let (matches, gap) = engine.matches(path, text, &bound, &mut |_| {});
    if let Some(gap) = gap {
        return Err(gap.into());
    }
    let line_ends = LineEnding::from_text(text);
    let (mut made, mut held) = (Vec::new(), 0);
    for matched in matches {
        let Some(edit) = matched.edit else { continue };
        if trust == FixTrust::Any || engine.info(&matched.id).is_fix_safe {
            made.push(ByteEdit { text: line_ends.apply_to(&edit.text), ..edit });
        } else {
            held += 1;
        }
    }
    Ok((made, held))
}

/// Fails if a rule finds more errors than before. Errors are counted per rule instead of compared,
/// because a finding that encloses a fixed one changes its text without being new.
fn refuse_new_errors(
    rules: &RuleSet,
    path: &RelPath,
    before: &str,
    after: &str,
) -> Result<(), RewriteError> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for finding in scan_errors(rules, path, before) {
        *known.entry(finding.code).or_default() += 1;
    }
    for finding in scan_errors(rules, path, after) {
        let Some(count) = known.get_mut(&finding.code).filter(|count| **count > 0) else {
            let line = finding.range.start.line + 1;
            return Err(RewriteError::NewError { code: finding.code, line });
        };
        *count -= 1;
    }
    Ok(())
}

fn scan_errors(rules: &RuleSet, path: &RelPath, text: &str) -> Vec<Finding> {
    let mut findings =
        scan_text(rules, path, text, ContentHash::of_bytes(text.as_bytes())).findings;
    findings.retain(|finding| finding.severity == Severity::Error);
    findings
}
