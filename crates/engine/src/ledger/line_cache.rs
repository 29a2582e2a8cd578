//! The lines of texts with findings, so that the findings can be matched after the next edit. Pure
//! bookkeeping.

use std::collections::{HashMap, VecDeque};

use moai_base::hash::ContentHash;
use moai_base::limits::LINE_HASHES_MAX;
use moai_base::lines::LineHashes;

/// Lines by the hash of their text; beyond the bound the oldest are dropped.
#[derive(Debug, Default)]
pub(crate) struct LineCache {
    texts: HashMap<ContentHash, LineHashes>,
    order: VecDeque<ContentHash>,
    line_count: usize,
}

impl LineCache {
    /// Keeps the lines of a text.
    pub(crate) fn keep(&mut self, hash: ContentHash, text: &str) {
        if self.texts.contains_key(&hash) {
            return;
        }
        let lines = LineHashes::from_text(text);
        self.line_count += lines.count();
        self.texts.insert(hash, lines);
        self.order.push_back(hash);
        while self.line_count > LINE_HASHES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            let dropped = self.texts.remove(&oldest);
            self.line_count -= dropped.map_or(0, |lines| lines.count());
        }
    }

    /// True if the lines of the text with this hash are cached.
    pub(crate) fn has(&self, hash: ContentHash) -> bool {
        self.texts.contains_key(&hash)
    }

    /// The lines of the text with this hash.
    pub(crate) fn get(&self, hash: ContentHash) -> Option<LineHashes> {
        self.texts.get(&hash).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_lines_are_dropped_at_the_bound() {
        let mut kept = LineCache::default();
        let text = |number: usize| format!("{number}{}", "\n".repeat(LINE_HASHES_MAX / 2));
        let hashes: Vec<ContentHash> = (0..3)
            .map(|number| {
                let hash = ContentHash::of_bytes(text(number).as_bytes());
                kept.keep(hash, &text(number));
                hash
            })
            .collect();
        let known: Vec<bool> = hashes.iter().map(|hash| kept.get(*hash).is_some()).collect();
        assert_eq!(known, [false, false, true]);
        assert!(kept.line_count <= LINE_HASHES_MAX);
    }
}
