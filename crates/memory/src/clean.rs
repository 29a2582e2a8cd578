//! The only text that is stored: without private passages, without secrets, of bounded length.
//! There is no other way to make a [`CleanText`].

mod private;

use moai_base::foreign_text::is_hidden;
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
    /// The part of one text that may be stored. `None` if nothing is left.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        Self::of_fields(&[text]).pop().flatten()
    }

    /// The same for the fields of one input, in their order: a private passage may begin in one field
    /// and end in another. One result for each field.
    #[must_use]
    pub fn of_fields(fields: &[&str]) -> Vec<Option<Self>> {
        // Removed first, because a tag or a secret may contain invisible characters.
        let visible: Vec<String> =
            fields.iter().map(|field| field.replace(is_hidden, "")).collect();
        let public = private::without_private(&visible);
        visible.iter().zip(public).map(|(field, public)| Self::of_public(field, &public)).collect()
    }

    fn of_public(field: &str, public: &str) -> Option<Self> {
        let redacted = RedactedText::of(public);
        let has_removed = public.len() < field.len() || redacted.has_secret;
        let text = Self::of_redacted(&redacted.text)?;
        Some(Self { is_cut: text.is_cut || redacted.is_cut, has_removed, ..text })
    }

    fn of_redacted(redacted: &str) -> Option<Self> {
        let kept = redacted.trim();
        let text: String = kept.chars().take(STORED_CHARS_MAX).collect();
        let is_cut = text.len() < kept.len();
        let hash = normalized_hash(&text);
        (!text.is_empty()).then_some(Self { text, hash, is_cut, has_removed: false })
    }

    /// The text, in composed form (NFC), without invisible characters and without white space at its
    /// ends; never empty.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// [`normalized_hash`] of the text.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// True if the end of the text was left out because it is too long.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// True if a private passage or a secret was removed.
    #[must_use]
    pub fn has_removed(&self) -> bool {
        self.has_removed
    }
}

/// The beginning of a text in composed form, without secrets.
struct RedactedText {
    text: String,
    is_cut: bool,
    has_secret: bool,
}

impl RedactedText {
    fn of(public: &str) -> Self {
        let start: String = beginning(public, CLEANED_BYTES_MAX).nfc().collect();
        let clean = redacted(&start);
        let is_cut = public.len() > CLEANED_BYTES_MAX;
        // Harmless-looking text at the cut may be half a secret.
        let margin = if is_cut { CLEANED_MARGIN_BYTES } else { 0 };
        let text = beginning(&clean, clean.len().saturating_sub(margin)).to_owned();
        Self { text, is_cut, has_secret: clean != start }
    }
}

/// The parts of a record that may be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanRecord {
    /// One line: the first line of the body if nothing of the title may be stored.
    pub title: CleanText,
    /// Everything else.
    pub body: Option<CleanText>,
}

impl CleanRecord {
    /// Cleans both together, because a private passage or a secret, such as a key of several lines, may begin
    /// in the title and end in the body. `None` if nothing is left.
    #[must_use]
    pub fn of(title: &str, body: &str) -> Option<Self> {
        let visible = [title, body].join("\n").replace(is_hidden, "");
        let public = private::without_private(&[visible]).concat();
        let RedactedText { text, is_cut, .. } = RedactedText::of(&public);
        let (first, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        let body = CleanText::of_redacted(rest);
        let body = body.map(|body| CleanText { is_cut: body.is_cut || is_cut, ..body });
        Some(Self { title: CleanText::of_redacted(first)?, body })
    }

    /// Title and body, the only source of names and codes.
    #[must_use]
    pub fn text(&self) -> String {
        let body = self.body.as_ref().map_or("", CleanText::as_str);
        [self.title.as_str(), body].join("\n")
    }
}

#[cfg(test)]
mod tests;
