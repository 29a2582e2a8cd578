//! G01: removed tests.

use std::collections::BTreeMap;

use super::assertions::Assertion;
use super::goal::{stem, words};
use super::inventory::{TestCase, TestMarker};
use super::kept_values::KeptValues;
use super::pairs::calls_the_same;
use super::surplus::AssertionSurplus;
use super::{SuiteChange, gone};
use crate::Detection;
use crate::facts::ParsedFiles;
use moai_base::finding::Severity;
use moai_base::path::RelPath;
use moai_base::text::contains_identifier;

const CODE: &str = "G01";
/// A shorter name that is not called may be any variable.
const PLAIN_NAME_LENGTH_MIN: usize = 4;

pub(super) fn inspect(
    suite: &SuiteChange<'_>,
    files: &ParsedFiles<'_>,
    surplus: &mut AssertionSurplus,
) -> Vec<Detection> {
    let mut merged: BTreeMap<usize, usize> = BTreeMap::new();
    let mut made = made_by_macros(suite);
    let (mut kept_values, mut unkept) = (KeptValues::new(suite, files), Vec::new());
    let mut by_file: BTreeMap<(&RelPath, Severity), Vec<&TestCase<'_>>> = BTreeMap::new();
    for number in &suite.pairs.gone {
        let test = &suite.before[*number];
        let is_idle = !test.has_body || test.marks.iter().any(TestMarker::is_skip);
        let is_there = is_repeated(suite, *number) || is_called_subtest(suite, test);
        if is_idle || test.is_helper || is_there || is_unread(test, files) {
            continue;
        }
        let is_kept = is_merged(suite, test, &mut merged)
            || is_absorbed(suite, test, surplus)
            || is_made(test, &mut made);
        if is_kept {
            kept_values.use_up(test);
        } else if !may_go(suite, test) {
            unkept.push(test);
        }
    }
    for test in unkept {
        if !kept_values.hold(suite, test) {
            let is_orphan = suite.goal.is_empty() && is_orphan(suite, test, files);
            let severity = if is_orphan { Severity::Warning } else { Severity::Error };
            by_file.entry((test.path, severity)).or_default().push(test);
        }
    }
    by_file.into_iter().flat_map(|(place, tests)| told(place, &tests, files)).collect()
}

/// True if the code under test was removed, too. Without a stated goal, that may be the goal.
fn is_orphan(suite: &SuiteChange<'_>, test: &TestCase<'_>, files: &ParsedFiles<'_>) -> bool {
    let callees = test.callees();
    let mentions = |name: &str| {
        let is_telling = name.len() >= PLAIN_NAME_LENGTH_MIN
            || name.len() > 1 && name.starts_with(char::is_uppercase);
        // Code quoted in a test, and names that it looks up, are strings.
        let is_text = |token: &str| token.contains(['"', '\'']) && contains_identifier(token, name);
        callees.contains(name)
            || is_telling && test.tokens.iter().any(|token| *token == name || is_text(token))
    };
    let is_used = |name: &str| suite.after.iter().any(|other| other.tokens.contains(&name));
    if suite.deleted.iter().any(|name| mentions(name) && !is_used(name)) {
        return true;
    }
    let file = files.files.iter().find(|file| file.change.path_before() == test.path);
    let deleted = file.filter(|file| file.change.after.is_none());
    let imported = deleted.and_then(|file| file.before.as_ref()).map(gone::imported);
    imported.is_some_and(|imported| gone::modules(files).any(|name| imported.contains(name)))
}

/// True if the fate of a test is unknown, because its file or its part of the file does not parse.
/// It then does not count as deleted; the gap or the syntax error is reported.
fn is_unread(test: &TestCase<'_>, files: &ParsedFiles<'_>) -> bool {
    let change = files.files.iter().find(|file| file.change.path_before() == test.path);
    let Some(now) = change.and_then(|file| file.change.after.as_deref()) else { return false };
    match change.and_then(|file| file.after.as_ref()) {
        Some(side) => side.has_error && now.contains(test.simple_name()),
        None => change.is_some_and(|file| crate::is_guarded_path(&file.change.path)),
    }
}

/// True for a function that a Go test ran as a subtest and that tests still mention.
fn is_called_subtest(suite: &SuiteChange<'_>, test: &TestCase<'_>) -> bool {
    let is_subtest =
        test.path.as_str().ends_with("_test.go") && test.name.starts_with(char::is_lowercase);
    is_subtest
        && suite.after.iter().any(|it| it.is_helper && it.path == test.path && it.name == test.name)
        && suite.after.iter().any(|it| !it.is_helper && it.tokens.contains(&test.name.as_str()))
}

/// True if a duplicate of the test remains.
fn is_repeated(suite: &SuiteChange<'_>, number: usize) -> bool {
    let test = &suite.before[number];
    // Those of a macro have one text.
    !test.is_made
        && suite.pairs.both.iter().any(|(before, _)| {
            let other = &suite.before[*before];
            other.tokens == test.tokens && !test.assertions.is_empty() && other.path == test.path
        })
}

/// True if a parametrized test covers it now, with a row for it.
fn is_merged(
    suite: &SuiteChange<'_>,
    test: &TestCase<'_>,
    merged: &mut BTreeMap<usize, usize>,
) -> bool {
    let found = suite.after.iter().enumerate().find(|(number, other)| {
        let is_closed = !other.rows.is_open && !other.assertions.iter().any(|it| it.is_open);
        let most = other.assertions.iter().map(|it| it.weight).max().unwrap_or(1);
        let rows = other.rows.count().max(most) + other.steps();
        let own = suite.pairs.both.iter().find(|(_, after)| after == number);
        let used = own.map_or(0, |(before, _)| suite.before[*before].rows.count())
            + merged.get(number).copied().unwrap_or(0);
        let repeats = other.repeats() || rows > 1;
        let has_room = !is_closed || used + test.rows.count() <= rows;
        let is_real = |it: &Assertion| !it.is_vacuous;
        // The assertions of a test that a macro made are not known.
        let asserts = |one: &Assertion| {
            let fits = |it: &Assertion| it.shape == one.shape || it.is_like(one);
            other.assertions.iter().any(|it| if test.is_made { is_real(it) } else { fits(it) })
        };
        repeats
            && has_room
            && !other.is_helper
            && !(test.is_made && other.is_made)
            && !other.marks.iter().any(TestMarker::is_skip)
            && test.assertions.iter().all(|it| it.is_vacuous || asserts(it))
            && calls_the_same(test, other)
    });
    if let Some((number, _)) = found {
        *merged.entry(number).or_default() += test.rows.count();
    }
    found.is_some()
}

/// The new tests that macros make, whose assertions are not known.
fn made_by_macros<'s, 't>(suite: &'s SuiteChange<'t>) -> Vec<&'s TestCase<'t>> {
    let is_new = |number: usize| suite.pairs.both.iter().all(|(_, after)| *after != number);
    let after = suite.after.iter().enumerate();
    after.filter(|(at, it)| it.is_made && is_new(*at)).map(|(_, it)| it).collect()
}

/// True if a macro generates a test that calls the same instead.
fn is_made(test: &TestCase<'_>, made: &mut Vec<&TestCase<'_>>) -> bool {
    let found = made.iter().position(|it| it.path == test.path && calls_the_same(test, it));
    found.map(|at| made.swap_remove(at)).is_some()
}

/// True if new tests assert everything that it asserted.
fn is_absorbed(
    suite: &SuiteChange<'_>,
    test: &TestCase<'_>,
    surplus: &mut AssertionSurplus,
) -> bool {
    let real: Vec<_> = test.assertions.iter().filter(|it| !it.is_vacuous).collect();
    !real.is_empty()
        && real
            .iter()
            .all(|it| surplus.take(suite, test, it, (None, it.weight * test.rows.count())) == 0)
}

/// True if the user asked for the removal of the code under test.
pub(super) fn may_go(suite: &SuiteChange<'_>, test: &TestCase<'_>) -> bool {
    let gone = suite.deleted.iter().filter(|name| suite.goal.speaks_of(name));
    let is_about = |gone: &String| {
        let about = suite.goal.common_words(gone);
        let is_named = |name: &str| words(name).any(|word| about.contains(&word));
        is_named(&test.name) || is_named(stem(test.path)) || test.tokens.contains(&gone.as_str())
    };
    gone.into_iter().any(is_about) || suite.goal.names_test(&test.name, test.path)
}

fn told(
    (path, severity): (&RelPath, Severity),
    tests: &[&TestCase<'_>],
    files: &ParsedFiles<'_>,
) -> Vec<Detection> {
    let file = files.files.iter().find(|file| file.change.path_before() == path);
    let now = file.map_or(path, |file| &file.change.path);
    let is_gone = file.is_some_and(|file| file.change.after.is_none());
    let hit = |message: String, anchor: &str| Detection {
        code: CODE,
        severity,
        path: now.clone(),
        bytes: 0..0,
        message,
        anchor: anchor.to_owned(),
    };
    if is_gone {
        let what = match tests.len() {
            1 => "a test".to_owned(),
            count => format!("{count} tests"),
        };
        let message = format!("deleted with {what} that nothing else does; restore the file");
        return vec![hit(message, "file")];
    }
    let one = |test: &&TestCase<'_>| {
        let message =
            format!("test `{}` is gone and nothing does what it did; restore it", test.name);
        hit(message, &test.name)
    };
    tests.iter().map(one).collect()
}
