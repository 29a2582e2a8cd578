//! Applies replacements to one text as byte ranges: resolves conflicts, orders nested replacements,
//! repeats until nothing changes.

use std::collections::BTreeSet;
use std::ops::Range;

use moai_base::hash::ContentHash;
use moai_base::limits::{FIX_ROUNDS_MAX, REWRITE_NESTING_MAX};

/// One replacement in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteEdit {
    /// Replaced range: byte offsets at character boundaries.
    pub bytes: Range<usize>,
    pub text: String,
}

/// A range to replace, and the parts of it that the replacement preserves: matches within those are
/// replaced too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RewriteSite {
    pub(super) bytes: Range<usize>,
    pub(super) preserved: Vec<Range<usize>>,
}

/// A text after replacements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedText {
    pub text: String,
    pub edits: usize,
    /// Number of replacements skipped because another one had changed their source.
    pub lost: usize,
}

/// The reason why repeated replacements do not terminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FixpointError {
    /// The text returned to an earlier state.
    #[error("the fixes undo each other")]
    Oscillation,
    /// Replacements remain after the maximum number of rounds.
    #[error("still not stable after {FIX_ROUNDS_MAX} rounds")]
    Rounds,
    /// Matches are nested too deeply.
    #[error("matches nested deeper than {REWRITE_NESTING_MAX} levels")]
    Nesting,
}

/// The edits that do not overlap, sorted: the earlier one wins, and of two with the same start the
/// longer one. No-op edits are dropped.
pub(super) fn disjoint_edits(text: &str, mut edits: Vec<ByteEdit>) -> Vec<ByteEdit> {
    edits.retain(|edit| text.get(edit.bytes.clone()).is_some_and(|old| old != edit.text));
    edits.sort_by_key(|edit| (edit.bytes.start, std::cmp::Reverse(edit.bytes.end)));
    let mut taken: Vec<ByteEdit> = Vec::with_capacity(edits.len());
    for edit in edits {
        let meets = taken.last().is_some_and(|last| {
            edit.bytes.start < last.bytes.end || edit.bytes.start == last.bytes.start
        });
        if !meets {
            taken.push(edit);
        }
    }
    taken
}

/// Applies sorted edits that do not overlap.
pub(super) fn apply_edits(text: &str, edits: &[ByteEdit]) -> String {
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut done = 0;
    for edit in edits {
        out.push_str(&text[done..edit.bytes.start]);
        out.push_str(&edit.text);
        done = edit.bytes.end;
    }
    out.push_str(&text[done..]);
    out
}

/// Applies rounds of edits until one changes nothing. An edit that lost to an overlapping one is
/// retried in the next round.
pub(super) fn edit_to_fixpoint<E: From<FixpointError>>(
    text: &str,
    round: &mut dyn FnMut(&str) -> Result<Vec<ByteEdit>, E>,
) -> Result<EditedText, E> {
    let mut edited = EditedText { text: text.to_owned(), edits: 0, lost: 0 };
    let mut seen = BTreeSet::from([ContentHash::of_bytes(text.as_bytes())]);
    for _ in 0..FIX_ROUNDS_MAX {
        let edits = disjoint_edits(&edited.text, round(&edited.text)?);
        if edits.is_empty() {
            return Ok(edited);
        }
        edited.text = apply_edits(&edited.text, &edits);
        edited.edits += edits.len();
        if !seen.insert(ContentHash::of_bytes(edited.text.as_bytes())) {
            return Err(FixpointError::Oscillation.into());
        }
    }
    let left = disjoint_edits(&edited.text, round(&edited.text)?);
    if left.is_empty() { Ok(edited) } else { Err(FixpointError::Rounds.into()) }
}

/// Computes the replacements for some ranges of a text.
type ReplaceFn<'r, E> = dyn FnMut(&str, &[Range<usize>]) -> Result<Vec<ByteEdit>, E> + 'r;

/// Replaces every site once. Of overlapping sites the outer or earlier one wins; a site inside a
/// preserved part of another is replaced first, so that the outer replacement includes it. `edits`
/// computes the replacements for some ranges; a range that no longer matches, because an inner
/// replacement changed it, counts as lost.
pub(super) fn replace_once_each<E: From<FixpointError>>(
    text: &str,
    sites: Vec<RewriteSite>,
    edits: &mut ReplaceFn<'_, E>,
) -> Result<EditedText, E> {
    let mut edited = EditedText { text: text.to_owned(), edits: 0, lost: 0 };
    let mut pending = compatible_ranges(sites);
    for _ in 0..REWRITE_NESTING_MAX {
        if pending.is_empty() {
            return Ok(edited);
        }
        let ready = take_innermost(&mut pending);
        let made = edits(&edited.text, &ready)?;
        edited.lost += ready.len() - made.len();
        let made = disjoint_edits(&edited.text, made);
        edited.edits += made.len();
        edited.text = apply_edits(&edited.text, &made);
        for place in &mut pending {
            *place = shift_range(place, &made);
        }
    }
    if pending.is_empty() { Ok(edited) } else { Err(FixpointError::Nesting.into()) }
}

/// The ranges that can be replaced together, sorted by start, outer before inner.
fn compatible_ranges(mut sites: Vec<RewriteSite>) -> Vec<Range<usize>> {
    sites.retain(|site| !site.bytes.is_empty());
    sites.sort_by_key(|site| (site.bytes.start, std::cmp::Reverse(site.bytes.end)));
    let mut taken: Vec<RewriteSite> = Vec::new();
    // Chosen sites that may enclose the next one.
    let mut open: Vec<usize> = Vec::new();
    for site in sites {
        while open.last().is_some_and(|at| taken[*at].bytes.end <= site.bytes.start) {
            open.pop();
        }
        let is_compatible = open.last().is_none_or(|at| {
            let outer = &taken[*at];
            outer.bytes != site.bytes
                && outer
                    .preserved
                    .iter()
                    .any(|part| part.start <= site.bytes.start && site.bytes.end <= part.end)
        });
        if is_compatible {
            open.push(taken.len());
            taken.push(site);
        }
    }
    taken.into_iter().map(|site| site.bytes).collect()
}

/// Removes and returns the innermost ranges. Enclosed ranges directly follow the enclosing one.
fn take_innermost(places: &mut Vec<Range<usize>>) -> Vec<Range<usize>> {
    let holds_next: Vec<bool> = (0..places.len())
        .map(|at| places.get(at + 1).is_some_and(|next| next.start < places[at].end))
        .collect();
    let mut at = 0;
    places
        .extract_if(.., |_| {
            at += 1;
            !holds_next[at - 1]
        })
        .collect()
}

/// A range after edits that lie inside or outside it.
fn shift_range(place: &Range<usize>, edits: &[ByteEdit]) -> Range<usize> {
    let (mut start, mut end) = (place.start, place.end);
    for edit in edits {
        if edit.bytes.end <= place.start {
            start = start + edit.text.len() - edit.bytes.len();
        }
        if edit.bytes.end <= place.end {
            end = end + edit.text.len() - edit.bytes.len();
        }
    }
    start..end
}

#[cfg(test)]
mod tests;
