//! The fixes of rules, made in one text round after round until none is left. It must not know
//! files, nor who asked for it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::edits::{self, ByteEdit, EditedText};
use super::engine::fix::LineEnding;
use super::language::ScanLanguage;
use super::search::{RewriteError, refuse_syntax_errors};
use super::{RuleSet, scan_text};
use crate::base::finding::{Finding, Severity};
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;

/// Which fixes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixTrust {
    /// Those whose rule says `fix: safe` in its metadata: they keep what correct code does.
    Safe,
    /// All.
    Any,
}

/// What fixes make of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixOutcome {
    /// The text; `None` when nothing would change.
    pub edited: Option<EditedText>,
    /// Fixes that were not made because they are not called safe.
    pub skipped_unsafe: usize,
}

/// Makes the fixes of a text. Of fixes that meet the one that starts earlier is made, and the text
/// is scanned again for the other. Refused when they come to no end, break the syntax, or when the
/// scan finds an error that it does not find now.
pub fn apply_fixes(
    rules: &RuleSet,
    path: &RelPath,
    text: &str,
    trust: FixTrust,
) -> Result<FixOutcome, RewriteError> {
    let language = rules.language_of(path).filter(|_| rules.handles(path));
    let Some(language) = language else { return Ok(FixOutcome::default()) };
    let edited = edits::edit_to_fixpoint(text, &mut |text: &str| {
        let (made, _) = fix_round(rules, (path, language), text, trust)?;
        Ok::<_, RewriteError>(made)
    })?;
    let (_, held) = fix_round(rules, (path, language), &edited.text, trust)?;
    if edited.text == text {
        return Ok(FixOutcome { edited: None, skipped_unsafe: held });
    }
    refuse_syntax_errors(text, &edited.text, language)?;
    refuse_new_errors(rules, path, text, &edited.text)?;
    Ok(FixOutcome { edited: Some(edited), skipped_unsafe: held })
}

/// The edits of one round, and how many others are held back.
fn fix_round(
    rules: &RuleSet,
    (path, language): (&RelPath, ScanLanguage),
    text: &str,
    trust: FixTrust,
) -> Result<(Vec<ByteEdit>, usize), RewriteError> {
    let engine = &rules.language_rules(language).engine;
    let (matches, gap) = engine.matches(path, text, &mut |_| {});
    if let Some(gap) = gap {
        return Err(gap.into());
    }
    let line_ends = LineEnding::from_text(text);
    let (mut made, mut held) = (Vec::new(), 0);
    for found in matches {
        let Some(edit) = found.edit else { continue };
        if trust == FixTrust::Any || engine.info(&found.id).is_fix_safe {
            made.push(ByteEdit { text: line_ends.apply_to(&edit.text), ..edit });
        } else {
            held += 1;
        }
    }
    Ok((made, held))
}

/// Refuses a text in which a rule finds more errors than before. Only the number counts: a finding
/// around a fixed one speaks of another text, and is not new for that.
fn refuse_new_errors(
    rules: &RuleSet,
    path: &RelPath,
    before: &str,
    after: &str,
) -> Result<(), RewriteError> {
    let found =
        |text: &str| scan_text(rules, path, text, ContentHash::of_bytes(text.as_bytes())).findings;
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for finding in found(before).iter().filter(is_error) {
        *known.entry(finding.code.clone()).or_default() += 1;
    }
    for finding in found(after).iter().filter(is_error) {
        let Some(count) = known.get_mut(&finding.code).filter(|count| **count > 0) else {
            let (code, line) = (finding.code.clone(), finding.range.start.line + 1);
            return Err(RewriteError::NewError { code, line });
        };
        *count -= 1;
    }
    Ok(())
}
