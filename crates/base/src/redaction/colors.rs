//! Escape sequences of terminals inside a text: a secret may be split by them.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// The text without escape sequences that set colors and move the cursor.
pub(super) fn without_colors(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        rest = after;
        if let Some(sequence) = after.strip_prefix('[') {
            // Parameters, and one letter that ends them.
            let end = sequence.find(|it: char| !matches!(it, '0'..='9' | ';' | ':' | '?' | ' '));
            let is_ended = |at: &usize| sequence.as_bytes()[*at].is_ascii_alphabetic();
            rest = end.filter(is_ended).map_or(sequence, |at| &sequence[at + 1..]);
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}
