//! Stop words, which say nothing about the search: `data/stop-words.txt`.

use std::collections::HashSet;
use std::sync::LazyLock;

static STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("../data/stop-words.txt").lines();
    lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
});

pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}
