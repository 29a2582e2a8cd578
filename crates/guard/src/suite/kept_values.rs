//! Removed tests whose values a file still has, as rows of a table in any form: a list next to the test, in
//! a variable or a fixture, arguments of a helper, or one test that asserts them all.

use std::collections::{BTreeMap, BTreeSet};

use super::SuiteChange;
use super::expression::{is_null_literal, is_truth, is_value};
use super::inventory::{TestCase, TestMarker};
use super::words::meaning;
use crate::facts::{FunctionNode, ParsedFiles, tokens};
use moai_base::path::RelPath;

/// Functions that report a failure; a test calls them and does not test them.
const REPORTS: [&str; 8] = ["Error", "Errorf", "Fail", "FailNow", "Fatal", "Fatalf", "Run", "fail"];

/// How often each value is written.
type ValueCounts<'t> = BTreeMap<&'t str, usize>;

/// The values that one file has gained, those of its removed tests included.
struct GainedValues<'t> {
    all: ValueCounts<'t>,
    /// Those that no removed test has used up.
    left: ValueCounts<'t>,
}

/// The values that each file has gained.
pub(super) struct KeptValues<'t> {
    by_file: BTreeMap<&'t RelPath, GainedValues<'t>>,
    /// How many of the removed tests have each value.
    owners: ValueCounts<'t>,
    /// The bodies of all functions that are not tests: a removed test may be one of them now.
    bodies: BTreeSet<String>,
}

impl<'t> KeptValues<'t> {
    pub(super) fn new(suite: &SuiteChange<'t>, files: &ParsedFiles<'t>) -> Self {
        let (mut by_file, mut bodies) = (BTreeMap::new(), BTreeSet::new());
        for file in &files.files {
            let Some(after) = &file.after else { continue };
            bodies.extend(after.functions.iter().map(FunctionNode::normal_body));
            let mut gained = values(&tokens(after.root));
            let mut before = file.before.as_ref().map(|it| values(&tokens(it.root)));
            for number in &suite.pairs.gone {
                let test = &suite.before[*number];
                if test.path == file.change.path_before()
                    && let Some(before) = &mut before
                {
                    take(before, &values(&test.tokens));
                }
            }
            take(&mut gained, &before.unwrap_or_default());
            by_file.insert(after.path, GainedValues { all: gained.clone(), left: gained });
        }
        let mut owners = ValueCounts::new();
        for number in &suite.pairs.gone {
            for value in values(&suite.before[*number].tokens).into_keys() {
                *owners.entry(value).or_default() += 1;
            }
        }
        for test in suite.after.iter().filter(|test| !test.is_helper) {
            bodies.remove(&test.tokens.join(" "));
        }
        Self { by_file, owners, bodies }
    }

    /// Uses up the values of a removed test that is kept in another way.
    pub(super) fn use_up(&mut self, test: &TestCase<'_>) {
        let used = values(&test.tokens);
        if let Some(gained) = self.by_file.values_mut().find(|gained| has(&gained.left, &used)) {
            take(&mut gained.left, &used);
        } else if let Some(gained) = self.by_file.get_mut(test.path) {
            take(&mut gained.left, &used);
        }
    }

    /// True if a file has gained all values of a removed test, and a new or changed test there calls what
    /// it called and asserts as much. Uses the values up.
    pub(super) fn hold(&mut self, suite: &SuiteChange<'_>, test: &TestCase<'_>) -> bool {
        let wanted = values(&test.tokens);
        if wanted.is_empty() || test.is_made || self.bodies.contains(&test.tokens.join(" ")) {
            return false;
        }
        let is_as_before = |number: usize, other: &TestCase<'_>| {
            let pair = suite.pairs.both.iter().find(|(_, after)| *after == number);
            let before = pair.map(|(before, _)| &suite.before[*before]);
            before.is_some_and(|it| it.tokens == other.tokens && it.rows == other.rows)
        };
        let found = suite.after.iter().enumerate().find(|(number, other)| {
            let gained = self.by_file.get(other.path);
            !other.is_helper
                && !is_as_before(*number, other)
                && !other.marks.iter().any(TestMarker::is_skip)
                && gained.is_some_and(|gained| self.has_gained(gained, &wanted))
                && calls_its_subject(test, other)
                && asserts_as_much(test, other)
        });
        let gained = found.and_then(|(_, other)| self.by_file.get_mut(other.path));
        gained.map(|gained| take(&mut gained.left, &wanted)).is_some()
    }

    /// True if the values are there as often as the test has them. Those that it shares with other removed
    /// tests may have become one, in a function that makes the rows.
    fn has_gained(&self, gained: &GainedValues<'_>, wanted: &ValueCounts<'_>) -> bool {
        let is_own = |value: &str| self.owners.get(value) == Some(&1);
        let mut own = wanted.clone();
        own.retain(|value, _| is_own(value));
        let has_each =
            || wanted.keys().all(|value| gained.all.get(value).is_some_and(|it| *it > 0));
        if own.is_empty() {
            has(&gained.left, wanted)
        } else {
            has(&gained.left, &own) && has_each()
        }
    }
}

/// The numbers and strings among some tokens. A string with blanks or `%` may be the message of a failure,
/// which a table words differently.
fn values<'t>(tokens: &[&'t str]) -> ValueCounts<'t> {
    let mut values = ValueCounts::new();
    let telling = tokens.iter().filter(|token| {
        is_value(token)
            && is_truth(token).is_none()
            && !is_null_literal(token)
            && !token.contains([' ', '%'])
    });
    for token in telling {
        let value = token.trim_matches(['"', '\'', '`']);
        *values.entry(value).or_default() += 1;
    }
    values
}

fn has(all: &ValueCounts<'_>, part: &ValueCounts<'_>) -> bool {
    part.iter().all(|(value, count)| all.get(value).is_some_and(|left| left >= count))
}

fn take(all: &mut ValueCounts<'_>, part: &ValueCounts<'_>) {
    for (value, left) in all {
        *left = left.saturating_sub(part.get(value).copied().unwrap_or_default());
    }
}

/// True if the other test calls a function that a test called to test it.
fn calls_its_subject(test: &TestCase<'_>, other: &TestCase<'_>) -> bool {
    let is_subject = |name: &&str| {
        !name.starts_with("assert")
            && *name != "expect"
            && meaning(name).is_none()
            && !REPORTS.contains(name)
    };
    let callees: BTreeSet<&str> = test.callees().into_iter().filter(is_subject).collect();
    other.tokens.iter().any(|token| callees.contains(token))
}

/// True if the other test has an assertion as strong as each of a test.
fn asserts_as_much(test: &TestCase<'_>, other: &TestCase<'_>) -> bool {
    let real = other.assertions.iter().filter(|it| !it.is_vacuous);
    let strengths: Vec<Option<u8>> = real.map(|it| it.check.strength()).collect();
    let asked = test.assertions.iter().filter(|it| !it.is_vacuous);
    asked.map(|it| it.check.strength()).all(|asked| {
        strengths.iter().any(|given| match (given, asked) {
            (Some(given), Some(asked)) => *given >= asked,
            _ => true,
        })
    }) && !strengths.is_empty()
}
