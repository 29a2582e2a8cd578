//! Static sets of words, each written as one string.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A set of words, built on first use.
pub(super) type WordSet = LazyLock<HashSet<&'static str>>;

/// The words of a text, which are separated by white space.
pub(super) fn word_set(words: &'static str) -> HashSet<&'static str> {
    words.split_ascii_whitespace().collect()
}
