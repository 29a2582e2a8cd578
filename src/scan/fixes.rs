//! The fixes of rules, made in one text round after round until none is left. It must not know
//! files, nor who asked for it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::edits::{self, Edit, Edited};
use super::engine::fix::LineEnds;
use super::language::Language;
use super::search::{NotRewritten, refuse_broken};
use super::{RuleSet, scan};
use crate::base::finding::{Finding, Severity};
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;

/// Which fixes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those whose rule says `fix: safe` in its metadata: they keep what correct code does.
    Safe,
    /// All.
    Any,
}

/// What fixes make of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// The text; `None` when nothing would change.
    pub edited: Option<Edited>,
    /// Fixes that were not made because they are not called safe.
    pub held: usize,
}

/// Makes the fixes of a text. Of fixes that meet the one that starts earlier is made, and the text
/// is scanned again for the other. Refused when they come to no end, break the syntax, or when the
/// scan finds an error that it does not find now.
pub fn fix(
    rules: &RuleSet,
    path: &RelPath,
    text: &str,
    trust: Trust,
) -> Result<Fixed, NotRewritten> {
    let language = rules.language_of(path).filter(|_| rules.handles(path));
    let Some(language) = language else { return Ok(Fixed::default()) };
    let edited = edits::to_fixpoint(text, &mut |text: &str| {
        let (made, _) = round(rules, (path, language), text, trust)?;
        Ok::<_, NotRewritten>(made)
    })?;
    let (_, held) = round(rules, (path, language), &edited.text, trust)?;
    if edited.text == text {
        return Ok(Fixed { edited: None, held });
    }
    refuse_broken(text, &edited.text, language)?;
    refuse_new_errors(rules, path, text, &edited.text)?;
    Ok(Fixed { edited: Some(edited), held })
}

/// The edits of one round, and how many others are held back.
fn round(
    rules: &RuleSet,
    (path, language): (&RelPath, Language),
    text: &str,
    trust: Trust,
) -> Result<(Vec<Edit>, usize), NotRewritten> {
    let engine = &rules.shelf(language).engine;
    let (matches, gap) = engine.matches(path, text);
    if let Some(gap) = gap {
        return Err(gap.into());
    }
    let line_ends = LineEnds::of(text);
    let (mut made, mut held) = (Vec::new(), 0);
    for found in matches {
        let Some(edit) = found.edit else { continue };
        if trust == Trust::Any || engine.info(&found.id).is_fix_safe {
            made.push(Edit { text: line_ends.given_to(&edit.text), ..edit });
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
) -> Result<(), NotRewritten> {
    let found = |text: &str| scan(rules, path, text, ContentHash::of(text.as_bytes())).findings;
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for finding in found(before).iter().filter(is_error) {
        *known.entry(finding.code.clone()).or_default() += 1;
    }
    for finding in found(after).iter().filter(is_error) {
        let Some(count) = known.get_mut(&finding.code).filter(|count| **count > 0) else {
            let (code, line) = (finding.code.clone(), finding.range.start.line + 1);
            return Err(NotRewritten::NewError { code, line });
        };
        *count -= 1;
    }
    Ok(())
}
