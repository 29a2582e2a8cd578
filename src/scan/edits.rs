//! Replacements in one text, as byte ranges: which of them go together, what the text is
//! afterwards, and in which order nested ones are made. It must not know what finds them.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::base::hash::ContentHash;
use crate::base::limits::{FIX_ROUNDS_MAX, REWRITE_NESTING_MAX};

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteEdit {
    /// What it replaces: byte offsets in the text, between characters.
    pub bytes: Range<usize>,
    /// What stands there afterwards.
    pub text: String,
}

/// A place that is to be replaced, and the parts of it that stay in the replacement: what is found
/// in those is replaced, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RewriteSite {
    pub(super) bytes: Range<usize>,
    pub(super) preserved: Vec<Range<usize>>,
}

/// A text after replacements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedText {
    /// Every byte of it.
    pub text: String,
    /// How many replacements were made.
    pub edits: usize,
    /// How many were not, because another one had changed what they were for.
    pub lost: usize,
}

/// Why replacements come to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FixpointError {
    /// The text came back to what it was.
    #[error("the fixes undo each other")]
    Oscillation,
    /// Every round leaves more to replace.
    #[error("not done after {FIX_ROUNDS_MAX} rounds")]
    Rounds,
    /// Places inside places.
    #[error("matches nested deeper than {REWRITE_NESTING_MAX} levels")]
    Nesting,
}

/// Those that can be made at once, sorted: of two that meet the one that starts earlier, of two
/// that start together the longer one. What changes nothing is left out.
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

/// The text with sorted edits that do not meet.
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

/// Makes rounds of edits until one has nothing to change. A round's losers are found again by the
/// next one.
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

/// Makes the replacements of some places of a text.
type ReplaceFn<'r, E> = dyn FnMut(&str, &[Range<usize>]) -> Result<Vec<ByteEdit>, E> + 'r;

/// Replaces every place of the text once. Of places that meet the outer or earlier one counts; one
/// inside a kept part of another is replaced first, so that the outer replacement takes it over.
/// `edits` makes the replacements of some places of a text; one that it does not find any more,
/// because an inner replacement changed it, is lost.
pub(super) fn replace_once_each<E: From<FixpointError>>(
    text: &str,
    sites: Vec<RewriteSite>,
    edits: &mut ReplaceFn<'_, E>,
) -> Result<EditedText, E> {
    let mut edited = EditedText { text: text.to_owned(), edits: 0, lost: 0 };
    let mut waiting = compatible_ranges(sites);
    for _ in 0..REWRITE_NESTING_MAX {
        if waiting.is_empty() {
            return Ok(edited);
        }
        let now = take_innermost(&mut waiting);
        let made = edits(&edited.text, &now)?;
        edited.lost += now.len() - made.len();
        let made = disjoint_edits(&edited.text, made);
        edited.edits += made.len();
        edited.text = apply_edits(&edited.text, &made);
        for place in &mut waiting {
            *place = shift_range(place, &made);
        }
    }
    if waiting.is_empty() { Ok(edited) } else { Err(FixpointError::Nesting.into()) }
}

/// The places that can be replaced, outer before inner, sorted by their start.
fn compatible_ranges(mut sites: Vec<RewriteSite>) -> Vec<Range<usize>> {
    sites.retain(|site| !site.bytes.is_empty());
    sites.sort_by_key(|site| (site.bytes.start, std::cmp::Reverse(site.bytes.end)));
    let mut taken: Vec<RewriteSite> = Vec::new();
    // Those that the next one may stand in.
    let mut open: Vec<usize> = Vec::new();
    for site in sites {
        while open.last().is_some_and(|at| taken[*at].bytes.end <= site.bytes.start) {
            open.pop();
        }
        let fits = open.last().is_none_or(|at| {
            let outer = &taken[*at];
            let is_within =
                |part: &Range<usize>| part.start <= site.bytes.start && site.bytes.end <= part.end;
            outer.bytes != site.bytes && outer.preserved.iter().any(is_within)
        });
        if fits {
            open.push(taken.len());
            taken.push(site);
        }
    }
    taken.into_iter().map(|site| site.bytes).collect()
}

/// Takes out the places that hold no other one. In this order, what a place holds follows it.
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

/// Where a place is after edits that lie inside or outside of it.
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
