//! New assertions, so that a moved assertion does not count as removed.

use std::collections::BTreeSet;

use super::SuiteChange;
use super::assertions::Assertion;
use super::inventory::TestCase;
use super::pairs::calls_the_same;

/// New assertions, each with the test that makes it.
pub(super) struct AssertionSurplus {
    entries: Vec<SurplusEntry>,
}

struct SurplusEntry {
    owner: usize,
    /// True if its test is new.
    is_new: bool,
    strength: Option<u8>,
    text: String,
    shape: String,
    left: usize,
    is_open: bool,
}

impl AssertionSurplus {
    pub(super) fn new(suite: &SuiteChange<'_>) -> Self {
        let mut entries = Vec::new();
        for (number, test) in suite.after.iter().enumerate() {
            if test.marks.iter().any(super::inventory::TestMarker::is_skip) {
                continue;
            }
            let pair = suite.pairs.both.iter().find(|(_, after)| *after == number);
            let known: BTreeSet<&str> = pair
                .map(|(before, _)| suite.before[*before].assertions.iter())
                .into_iter()
                .flatten()
                .map(|assertion| assertion.text.as_str())
                .collect();
            let is_new = |it: &&Assertion| !it.is_vacuous && !known.contains(it.text.as_str());
            entries.extend(test.assertions.iter().filter(is_new).map(|assertion| SurplusEntry {
                owner: number,
                is_new: pair.is_none(),
                strength: assertion.check.strength(),
                text: assertion.text.clone(),
                shape: assertion.shape.clone(),
                left: assertion.weight * test.rows.count(),
                is_open: assertion.is_open || test.rows.is_open,
            }));
        }
        Self { entries }
    }

    /// Uses up matching assertions of tests other than `owner` for an assertion of `test`; returns
    /// the missing weight.
    pub(super) fn take(
        &mut self,
        suite: &SuiteChange<'_>,
        test: &TestCase<'_>,
        assertion: &Assertion,
        (owner, needed): (Option<usize>, usize),
    ) -> usize {
        let mut needed = needed;
        let same_text = |entry: &SurplusEntry| entry.text == assertion.text;
        let same_shape = |entry: &SurplusEntry| {
            entry.shape == assertion.shape && calls_the_same(test, &suite.after[entry.owner])
        };
        let as_strong = |entry: &SurplusEntry| {
            entry.is_new
                && entry.strength >= assertion.check.strength()
                && match owner {
                    // A part of a test may move to a test that calls the same functions.
                    Some(_) if assertion.callees().next().is_some() => {
                        let called = suite.after[entry.owner].callees();
                        assertion.callees().all(|name| called.contains(name))
                    }
                    _ => calls_the_same(test, &suite.after[entry.owner]),
                }
        };
        let kinds: [&dyn Fn(&SurplusEntry) -> bool; 3] = [&same_text, &same_shape, &as_strong];
        for is_same in kinds {
            for entry in &mut self.entries {
                if needed == 0 {
                    return 0;
                }
                let other = &suite.after[entry.owner];
                // Whole tests that became rows of another one are counted separately.
                let is_row = owner.is_none() && other.repeats();
                let is_foreign = other.is_helper != test.is_helper;
                if Some(entry.owner) == owner || is_row || is_foreign || !is_same(entry) {
                    continue;
                }
                if entry.is_open {
                    return 0;
                }
                let taken = needed.min(entry.left);
                entry.left -= taken;
                needed -= taken;
            }
        }
        needed
    }
}
