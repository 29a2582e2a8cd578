//! The only text that is stored: without what the user called private, without secrets, of bounded
//! length. There is no other way to make a [`CleanText`].

mod private;

use moai_base::hash::ContentHash;
use moai_base::limits::{CLEANED_BYTES_MAX, CLEANED_MARGIN_BYTES, STORED_CHARS_MAX};
use moai_base::redaction::redacted;
use unicode_normalization::UnicodeNormalization;

use crate::dedupe::normalized_hash;
use crate::tokens::beginning;

/// A text that may be written to a disk, a log or a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanText {
    text: String,
    hash: ContentHash,
    is_cut: bool,
    has_removed: bool,
}

impl CleanText {
    /// The part of one text that may be kept. `None` if nothing is left: then not even a title may be
    /// stored.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        Self::of_fields(&[text]).pop().flatten()
    }

    /// The same for the fields of one input, in their order: a private passage may begin in one field
    /// and end in another. One result for each field.
    #[must_use]
    pub fn of_fields(fields: &[&str]) -> Vec<Option<Self>> {
        let public = private::without_private(fields);
        fields.iter().zip(public).map(|(field, public)| Self::of_public(field, &public)).collect()
    }

    fn of_public(field: &str, public: &str) -> Option<Self> {
        let start = beginning(public, CLEANED_BYTES_MAX);
        let clean = redacted(start);
        // What looks harmless at the cut may be half a secret.
        let is_long = start.len() < public.len();
        let margin = if is_long { CLEANED_MARGIN_BYTES } else { 0 };
        let kept = beginning(&clean, clean.len().saturating_sub(margin));
        let composed: String = kept.nfc().filter(|it| !is_unstorable(*it)).collect();
        let composed = composed.trim();
        let cut: String = composed.chars().take(STORED_CHARS_MAX).collect();
        let is_cut = is_long || cut.len() < composed.len();
        let has_removed = public.len() < field.len() || clean != start;
        let hash = normalized_hash(&cut);
        (!cut.is_empty()).then_some(Self { text: cut, hash, is_cut, has_removed })
    }

    /// The text, in composed form (NFC), without white space at its ends; never empty.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// [`normalized_hash`] of the text.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Whether the end of the text was left out because it is too long.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether something private or a secret was taken out.
    #[must_use]
    pub fn has_removed(&self) -> bool {
        self.has_removed
    }
}

/// Control characters, which no reader of the memory expects; tabs and line breaks stay.
fn is_unstorable(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests;
