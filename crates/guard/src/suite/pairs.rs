//! Matches tests before and after: by file and name, by name elsewhere, by their bodies.

use std::collections::{BTreeMap, BTreeSet};

use super::goal::words;
use super::inventory::{GROUP_SEPARATOR, TestCase};
use crate::SourceChange;
use moai_base::limits::GUARD_SIMILAR_TESTS_MAX;

/// Bodies that are alike this far are the same test.
const SIMILAR_SHARE_MIN: f64 = 0.8;
/// With the same name elsewhere, or one with nearly the same words, less is enough.
const SIMILAR_NAMED_SHARE_MIN: f64 = 0.5;
/// Names are nearly the same when they share this much of their words.
const NAME_SHARE_MIN: f64 = 0.7;

/// A name with fewer words is meaningless without its group.
const SPEAKING_WORDS_MIN: usize = 3;

/// Which tests of before are which tests now, by number.
pub(super) struct TestPairs {
    /// Of before and now; sorted.
    pub(super) both: Vec<(usize, usize)>,
    /// Only before.
    pub(super) gone: Vec<usize>,
}

impl TestPairs {
    pub(super) fn find(
        before: &[TestCase<'_>],
        after: &[TestCase<'_>],
        changes: &[SourceChange],
    ) -> Self {
        let moved: BTreeMap<&str, &str> = changes
            .iter()
            .map(|change| (change.path_before().as_str(), change.path.as_str()))
            .collect();
        let mut pairing = PairingProgress {
            of_before: vec![None; before.len()],
            is_taken: vec![false; after.len()],
        };
        let mut by_name: BTreeMap<(&str, &str, bool), Vec<usize>> = BTreeMap::new();
        for (number, test) in after.iter().enumerate().rev() {
            by_name
                .entry((test.path.as_str(), &test.name, test.is_helper))
                .or_default()
                .push(number);
        }
        for (number, test) in before.iter().enumerate() {
            let path = moved.get(test.path.as_str()).copied().unwrap_or(test.path.as_str());
            if let Some(found) =
                by_name.get_mut(&(path, test.name.as_str(), test.is_helper)).and_then(Vec::pop)
            {
                pairing.take(number, found);
            }
        }
        pairing.by_likeness(before, after);
        pairing.into_pairs()
    }
}

struct PairingProgress {
    of_before: Vec<Option<usize>>,
    is_taken: Vec<bool>,
}

impl PairingProgress {
    fn take(&mut self, before: usize, after: usize) {
        self.of_before[before] = Some(after);
        self.is_taken[after] = true;
    }

    /// The most similar ones first.
    fn by_likeness(&mut self, before: &[TestCase<'_>], after: &[TestCase<'_>]) {
        let left: Vec<usize> =
            (0..before.len()).filter(|it| self.of_before[*it].is_none()).collect();
        let right: Vec<usize> = (0..after.len()).filter(|it| !self.is_taken[*it]).collect();
        if left.len() * right.len() > GUARD_SIMILAR_TESTS_MAX {
            self.by_equal_body(before, after, &left, &right);
            return;
        }
        let mut alike: Vec<(f64, usize, usize)> = Vec::new();
        for one in &left {
            for two in &right {
                let (a, b) = (&before[*one], &after[*two]);
                let share = similarity(&a.tokens, &b.tokens);
                let is_named = is_nearly(a.simple_name(), b.simple_name()) && !is_namesake(a, b);
                let needed = if is_named { SIMILAR_NAMED_SHARE_MIN } else { SIMILAR_SHARE_MIN };
                if share >= needed && !b.tokens.is_empty() && a.is_helper == b.is_helper {
                    alike.push((share + if is_named { 1.0 } else { 0.0 }, *one, *two));
                }
            }
        }
        alike.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, one, two) in alike {
            if self.of_before[one].is_none() && !self.is_taken[two] {
                self.take(one, two);
            }
        }
    }

    /// If very many tests moved, matches those with equal bodies.
    fn by_equal_body(
        &mut self,
        before: &[TestCase<'_>],
        after: &[TestCase<'_>],
        left: &[usize],
        right: &[usize],
    ) {
        let mut bodies: BTreeMap<(&[&str], &str), Vec<usize>> = BTreeMap::new();
        for number in right.iter().rev() {
            let test = &after[*number];
            bodies.entry((&test.tokens, test.simple_name())).or_default().push(*number);
        }
        for number in left {
            let test = &before[*number];
            let key = (test.tokens.as_slice(), test.simple_name());
            if let Some(found) = bodies.get_mut(&key).and_then(Vec::pop) {
                self.take(*number, found);
            }
        }
    }

    fn into_pairs(self) -> TestPairs {
        let numbered = self.of_before.iter().enumerate();
        let both = numbered.clone().filter_map(|(one, two)| Some((one, (*two)?))).collect();
        let gone = numbered.filter_map(|(one, two)| two.is_none().then_some(one)).collect();

        TestPairs { both, gone }
    }
}

/// True if two names have most of their words in common; short names must be equal except for a
/// prefix `test`.
fn is_nearly(one: &str, two: &str) -> bool {
    let telling = |name: &str| -> Vec<String> {
        let all: Vec<String> = words(name).collect();
        let rest = all.strip_prefix(&["test".to_owned()]).filter(|rest| !rest.is_empty());
        rest.map(<[String]>::to_vec).unwrap_or(all)
    };
    let (left, right) = (telling(one), telling(two));
    let share = similarity(
        &left.iter().map(String::as_str).collect::<Vec<_>>(),
        &right.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    left == right || (left.len().min(right.len()) > 3 && share >= NAME_SHARE_MIN)
}

/// True if a short name, such as `test_fail`, is in two groups with different tests.
fn is_namesake(one: &TestCase<'_>, two: &TestCase<'_>) -> bool {
    let group = |name: &str| name.rsplit_once(GROUP_SEPARATOR).map(|(group, _)| group.to_owned());
    let (left, right) = (group(&one.name), group(&two.name));
    let is_short = words(one.simple_name()).count() < SPEAKING_WORDS_MIN;
    is_short && left.is_some() && right.is_some() && left != right && !calls_the_same(one, two)
}

/// Similarity of two lists of tokens in any order, from 0 to 1.
pub(super) fn similarity(one: &[&str], two: &[&str]) -> f64 {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for token in one {
        *counts.entry(token).or_default() += 1;
    }
    let mut common = 0_u32;
    for token in two {
        if let Some(count) = counts.get_mut(token).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    let all = u32::try_from(one.len() + two.len()).unwrap_or(u32::MAX);
    if all == 0 { 1.0 } else { f64::from(common) * 2.0 / f64::from(all) }
}

/// True if another test calls most of the functions that a test called.
pub(super) fn calls_the_same(one: &TestCase<'_>, two: &TestCase<'_>) -> bool {
    let (one, two): (BTreeSet<&str>, BTreeSet<&str>) = (one.callees(), two.callees());
    // Other libraries assert with other words.
    let asserts = |name: &str| name.starts_with("assert") || name == "expect";
    let common = one.iter().filter(|name| two.contains(*name) || asserts(name)).count();
    common * 5 >= one.len() * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_nearly_the_same_when_most_of_their_words_are() {
        let check = |one: &str, two: &str, expected: bool| {
            assert_eq!(is_nearly(one, two), expected, "{one} / {two}");
        };
        check("the_sixteen_carts_are_known_and_sorted", "the_carts_are_known_and_sorted", true);
        check("refuses an empty list of items", "refuses an empty list", true);
        check("test_add", "test_add", true);
        check("test_get_u8", "get_u8", true);
        check("test_get_u8", "get_u16", false);
        check("sums_of_one", "sums_of_two", false);
        check("the_total_of_an_order_is_known", "an_empty_cart_can_be_sold", false);
    }
}
