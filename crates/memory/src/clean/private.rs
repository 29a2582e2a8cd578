//! Passages between `<private>` and `</private>`, which are removed before any other processing.

use std::ops::Range;

const NAME: &str = "private";
/// `<` in plain text, HTML and JSON.
const OPENERS: [&str; 3] = ["<", "&lt;", "\\u003c"];
/// `>` in plain text, HTML and JSON.
const CLOSERS: [&str; 3] = [">", "&gt;", "\\u003e"];

/// A tag in a text.
struct PrivateTag {
    place: Range<usize>,
    is_end: bool,
}

/// The fields without their private passages. Passages may nest and span several fields; one
/// without an end tag extends to the end of the last field.
pub(super) fn without_private(fields: &[String]) -> Vec<String> {
    let whole = fields.concat();
    let hidden = private_places(&whole);
    let mut start = 0;
    let mut public = Vec::new();
    for field in fields {
        let end = start + field.len();
        public.push(without_places(&whole, start..end, &hidden));
        start = end;
    }
    public
}

fn without_places(text: &str, field: Range<usize>, hidden: &[Range<usize>]) -> String {
    let mut public = String::new();
    let mut at = field.start;
    for place in hidden {
        let (from, to) = (place.start.clamp(at, field.end), place.end.clamp(at, field.end));
        public.push_str(&text[at..from]);
        at = to;
    }
    public.push_str(&text[at..field.end]);
    public
}

/// The passages with their tags, and ends without a beginning; in order, not overlapping.
fn private_places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut depth = 0_usize;
    let mut begun = 0;
    let mut at = 0;
    while let Some(tag) = next_tag(text, at) {
        at = tag.place.end;
        if !tag.is_end {
            if depth == 0 {
                begun = tag.place.start;
            }
            depth += 1;
        } else if depth > 1 {
            depth -= 1;
        } else {
            let from = if depth == 1 { begun } else { tag.place.start };
            places.push(from..tag.place.end);
            depth = 0;
        }
    }
    if depth > 0 {
        places.push(begun..text.len());
    }
    places
}

fn next_tag(text: &str, from: usize) -> Option<PrivateTag> {
    let mut at = from;
    while let Some(found) = text[at..].find(['<', '&', '\\']) {
        at += found;
        if let Some(tag) = tag_at(text, at) {
            return Some(tag);
        }
        at += 1;
    }
    None
}

/// The tag that begins here. An unclosed tag extends to the end of the text. The text searched for
/// the end of a tag is part of it, so that no text is searched twice.
fn tag_at(text: &str, at: usize) -> Option<PrivateTag> {
    let inside = after_one_of(&text[at..], &OPENERS)?;
    let name = inside.trim_start();
    let is_spaced = name.len() < inside.len();
    let after_slash = name.strip_prefix('/').or_else(|| name.strip_prefix("\\/"));
    let name = after_slash.unwrap_or(name).trim_start();
    let rest = after_name(name)?;
    let behind = if is_spaced {
        // `a < private` is a comparison; a tag with a space ends after its name.
        after_one_of(rest.trim_start(), &CLOSERS)?
    } else {
        after_first_closer(rest)
    };
    Some(PrivateTag { place: at..text.len() - behind.len(), is_end: after_slash.is_some() })
}

/// The text after the name, if the name ends there.
fn after_name(text: &str) -> Option<&str> {
    let (name, rest) = text.split_at_checked(NAME.len())?;
    let goes_on = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '.' | ':');
    (name.eq_ignore_ascii_case(NAME) && !rest.starts_with(goes_on)).then_some(rest)
}

fn after_one_of<'t>(text: &'t str, beginnings: &[&str]) -> Option<&'t str> {
    beginnings.iter().find_map(|beginning| {
        let (start, rest) = text.split_at_checked(beginning.len())?;
        start.eq_ignore_ascii_case(beginning).then_some(rest)
    })
}

/// The text after the first `>`; empty if there is none.
fn after_first_closer(text: &str) -> &str {
    let mut rest = text;
    while let Some(found) = rest.find(['>', '&', '\\']) {
        rest = &rest[found..];
        match after_one_of(rest, &CLOSERS) {
            Some(behind) => return behind,
            None => rest = &rest[1..],
        }
    }
    ""
}
