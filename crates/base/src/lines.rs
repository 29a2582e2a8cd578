//! Maps the lines of a text before an edit to those after it. Needs only hashes of the lines, so
//! that texts need not be kept.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::ops::Range;
use std::sync::Arc;

use super::limits::DIFF_DEPTH_MAX;

/// Hashes of a text's lines without line breaks and indentation, so that re-indented code and
/// converted line breaks count as unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineHashes(Arc<[u64]>);

impl LineHashes {
    /// Line breaks are `\n`, `\r\n` and `\r`, as in LSP.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let lines = text.split('\n').flat_map(|line| {
            // The `\r` of `\r\n` is part of the line break.
            line.strip_suffix('\r').unwrap_or(line).split('\r')
        });
        Self(lines.map(|line| hash(line.trim())).collect())
    }

    /// Hash of a 0-based line; `None` after the end.
    #[must_use]
    pub fn hash_at(&self, line: u32) -> Option<u64> {
        self.0.get(line as usize).copied()
    }

    /// Number of lines; an empty text has one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line.as_bytes());
    hasher.finish()
}

/// Position of a line in the other text. Lines with equal mappings are the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineMapping {
    /// Unchanged; its 0-based line in the other text.
    Kept(u32),
    /// Changed, added or removed; the number identifies the range between two kept lines.
    Edited(usize),
}

/// Maps lines between the texts before and after an edit.
#[derive(Clone, Debug)]
pub struct LineMap {
    before: Vec<LineMapping>,
    after: Vec<LineMapping>,
}

impl LineMap {
    /// Compares two texts: common prefix and suffix, then lines that occur once in both, and the
    /// same again between those (patience diff). Bounded to [`DIFF_DEPTH_MAX`] rounds.
    #[must_use]
    pub fn between(before: &LineHashes, after: &LineHashes) -> Self {
        let mut same = vec![None; before.0.len()];
        let mut open = vec![(0..before.0.len(), 0..after.0.len())];
        for _ in 0..DIFF_DEPTH_MAX {
            let mut next = Vec::new();
            for stretch in open {
                match_ranges(&before.0, &after.0, stretch, &mut same, &mut next);
            }
            open = next;
        }
        let mut kept = vec![None; after.0.len()];
        for at in same.iter().flatten() {
            kept[*at] = Some(*at);
        }
        Self { before: line_mappings(&same), after: line_mappings(&kept) }
    }

    /// The mapping of a 0-based line of the earlier text; `None` after its end.
    #[must_use]
    pub fn map_old_line(&self, line: u32) -> Option<LineMapping> {
        self.before.get(line as usize).copied()
    }

    /// The mapping of a 0-based line of the later text; `None` after its end.
    #[must_use]
    pub fn map_new_line(&self, line: u32) -> Option<LineMapping> {
        self.after.get(line as usize).copied()
    }

    /// True if the earlier text has lines in an edited stretch; otherwise the stretch was inserted.
    #[must_use]
    pub fn has_old_lines(&self, stretch: usize) -> bool {
        self.before.contains(&LineMapping::Edited(stretch))
    }
}

fn line_mappings(kept: &[Option<usize>]) -> Vec<LineMapping> {
    let mut stretch = 0;
    let mut line_mappings = Vec::with_capacity(kept.len());
    for line in kept {
        line_mappings.push(match line.map(u32::try_from) {
            Some(Ok(line)) => {
                stretch += 1;
                LineMapping::Kept(line)
            }
            _ => LineMapping::Edited(stretch),
        });
    }
    line_mappings
}

type RangePair = (Range<usize>, Range<usize>);

/// Matches the common prefix and suffix of a pair of ranges; the ranges between unique lines are
/// left to the next round.
fn match_ranges(
    before: &[u64],
    after: &[u64],
    ranges: RangePair,
    same: &mut [Option<usize>],
    next: &mut Vec<RangePair>,
) {
    let (mut of, mut to) = ranges;
    while !of.is_empty() && !to.is_empty() && before[of.start] == after[to.start] {
        same[of.start] = Some(to.start);
        (of.start, to.start) = (of.start + 1, to.start + 1);
    }
    while !of.is_empty() && !to.is_empty() && before[of.end - 1] == after[to.end - 1] {
        (of.end, to.end) = (of.end - 1, to.end - 1);
        same[of.end] = Some(to.end);
    }
    if of.is_empty() || to.is_empty() {
        return;
    }
    let mut at = (of.start, to.start);
    let anchors = longest_rising(&unique_in_both(before, after, &of, &to));
    for (of_anchor, to_anchor) in anchors.iter().copied() {
        next.push((at.0..of_anchor, at.1..to_anchor));
        at = (of_anchor, to_anchor);
    }
    if !anchors.is_empty() {
        next.push((at.0..of.end, at.1..to.end));
    }
}

/// Lines that occur exactly once in each range, as pairs in the order of the earlier text.
fn unique_in_both(
    before: &[u64],
    after: &[u64],
    of: &Range<usize>,
    to: &Range<usize>,
) -> Vec<(usize, usize)> {
    let (places, others) = (line_places(before, of), line_places(after, to));
    let mut pairs = Vec::new();
    for at in of.clone() {
        let other = others.get(&before[at]).copied().flatten();
        if let (Some(_), Some(other)) = (places[&before[at]], other) {
            pairs.push((at, other));
        }
    }
    pairs
}

/// Where each line occurs in the range; `None` for a line that occurs more than once.
fn line_places(lines: &[u64], range: &Range<usize>) -> HashMap<u64, Option<usize>> {
    let mut places: HashMap<u64, Option<usize>> = HashMap::new();
    for at in range.clone() {
        places.entry(lines[at]).and_modify(|place| *place = None).or_insert(Some(at));
    }
    places
}

/// The longest subsequence of the pairs with increasing second numbers.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // `ends[n]` is the pair with the lowest second number that ends a rising sequence of n + 1
    // pairs.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        previous.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut rising = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(pair) = at {
        rising.push(pairs[pair]);
        at = previous[pair];
    }
    rising.reverse();
    rising
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks the mapping of each line of `before`: its new number, or `-`.
    fn check(before: &str, after: &str, expected: &str) {
        let map = LineMap::between(&LineHashes::from_text(before), &LineHashes::from_text(after));
        let places = map.before.iter().map(|mapping| match mapping {
            LineMapping::Kept(line) => line.to_string(),
            LineMapping::Edited(_) => "-".to_owned(),
        });
        assert_eq!(places.collect::<Vec<_>>().join(" "), expected, "{before:?} -> {after:?}");
    }

    #[test]
    fn lines_are_found_again() {
        check("a\nb\nc", "a\nb\nc", "0 1 2");
        check("a\nb\nc", "x\na\ny\nb\nc", "1 3 4");
        check("a\nb\nc", "a\nB\nc", "0 - 2");
        check("", "a", "-");
    }

    #[test]
    fn indentation_and_line_breaks_do_not_count() {
        check("a\nb\n", "if x:\r\n    a\r\n    b\r\n", "1 2 3");
        check("a\rb", "b", "- 0");
    }

    #[test]
    fn repeated_lines_keep_their_order() {
        check("x\nx\nx", "x\nx\nx\nx", "0 1 2");
        check("a\n}\nb\n}\nc\n}", "a\n}\nnew\n}\nb\n}\nc\n}", "0 1 4 5 6 7");
    }

    #[test]
    fn changed_lines_between_the_same_kept_lines_share_their_mapping() {
        let (before, after) =
            (LineHashes::from_text("a\nold\nb\nout"), LineHashes::from_text("a\nnew\nb\nin\nc"));
        let map = LineMap::between(&before, &after);
        assert_eq!(map.map_old_line(1), map.map_new_line(1));
        assert_eq!(map.map_old_line(3), map.map_new_line(3));
        assert_ne!(map.map_old_line(1), map.map_new_line(3));
        assert_eq!((map.map_old_line(4), map.map_new_line(5)), (None, None));
    }

    #[test]
    fn a_text_of_the_largest_size_is_compared_at_once() {
        let (before, after) = ("a\nb\nc\n".repeat(100_000), "d\ne\nf\n".repeat(100_000));
        let map = LineMap::between(&LineHashes::from_text(&before), &LineHashes::from_text(&after));
        assert_eq!(map.map_old_line(0), Some(LineMapping::Edited(0)));
    }

    proptest! {
        #[test]
        fn only_equal_lines_are_kept_and_in_order(
            before in prop::collection::vec("[a-e]", 0..30),
            after in prop::collection::vec("[a-e]", 0..30),
        ) {
            let map =
                LineMap::between(&LineHashes::from_text(&before.join("\n")), &LineHashes::from_text(&after.join("\n")));
            let mut last = None;
            for (text, mapping) in before.iter().zip(&map.before) {
                let LineMapping::Kept(now) = *mapping else { continue };
                prop_assert_eq!(text, &after[now as usize]);
                prop_assert!(last < Some(now));
                prop_assert_eq!(map.map_new_line(now), Some(*mapping));
                last = Some(now);
            }
            prop_assert_eq!(kept_count(&map.before), kept_count(&map.after));
        }
    }

    fn kept_count(line_mappings: &[LineMapping]) -> usize {
        line_mappings.iter().filter(|mapping| matches!(mapping, LineMapping::Kept(_))).count()
    }
}
