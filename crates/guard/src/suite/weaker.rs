//! G03, G04 and G05: a test with fewer or weaker assertions, or different expectations.

mod implied;
mod left_out;
mod strength;

use std::cmp::Reverse;

use self::implied::CurrentAssertions;
use self::strength::{gains_message, is_weaker, says_no_error, still_compares};
use super::assertions::{Assertion, AssertionKind};
use super::deletions::may_go;
use super::expression::{TokenSlice, is_literal, is_name, unquoted};
use super::inventory::{TestCase, TestMarker};
use super::surplus::AssertionSurplus;
use super::{SuiteChange, hit};
use crate::{Detection, GuardInput, SourceChange};
use moai_base::finding::Severity;

pub(super) fn inspect(
    suite: &SuiteChange<'_>,
    input: &GuardInput<'_>,
    surplus: &mut AssertionSurplus,
) -> Vec<Detection> {
    let mut hits = Vec::new();
    for (one, two) in &suite.pairs.both {
        let (before, after) = (&suite.before[*one], &suite.after[*two]);
        let is_idle = |test: &TestCase<'_>| test.marks.iter().any(TestMarker::is_skip);
        // Types are checked by compilers, whatever a test of them asserts.
        let is_of_types = after.path.as_str().contains(".test-d.");
        if is_idle(before) || is_idle(after) || is_of_types || may_go(suite, before) {
            continue;
        }
        let differences = AssertionDifferences::find(before, after, suite);
        hits.extend(fewer(suite, (before, after, *two), &differences, surplus));
        hits.extend(weakened(suite, (before, after, *two), &differences, surplus));
        hits.extend(strength::inverted(before, after));
        hits.extend(left_out::inspect(before, after));
        if suite.has_changed_code {
            hits.extend(edited(input, before, after, &differences));
        }
    }
    hits
}

/// The assertions of one test that are not the same before and after.
struct AssertionDifferences<'a> {
    /// Those that seem to be one and the same, edited.
    edited: Vec<(&'a Assertion, &'a Assertion)>,
    /// The removed assertions, each with its missing weight.
    gone: Vec<(&'a Assertion, usize)>,
    /// Weight of the added assertions; `None`: unknown.
    added: Option<usize>,
    /// True if fewer sets of values mean fewer assertions.
    has_fewer_rows: bool,
}

impl<'a> AssertionDifferences<'a> {
    fn find(before: &'a TestCase<'_>, after: &'a TestCase<'_>, suite: &SuiteChange<'_>) -> Self {
        let mut gone: Vec<&Assertion> = distinct(before);
        let mut new: Vec<&Assertion> = settled(after);
        let was_settled = settled(before);
        let mut lost = Vec::new();
        let mut has_fewer_rows = false;
        let (rows_before, rows_after) = (before.rows.count(), after.rows.count());
        gone.retain(|one| {
            let Some(at) = new.iter().position(|two| two.text == one.text) else { return true };
            let two = new.remove(at);
            // Repetitions with different values of its variables count as new only beyond their
            // earlier number.
            let others = was_settled.iter().filter(|it| it.text == one.text).count() - 1;
            let mut kept = 0..others;
            new.retain(|two| two.text != one.text || kept.next().is_none());
            let (was, now) = (one.weight * rows_before, two.weight * rows_after);
            has_fewer_rows |= now < was;
            let is_open = two.is_open || one.is_open || after.rows.is_open;
            if two.weight < one.weight && now < was && !is_open {
                lost.push((*one, was - now));
            }
            false
        });
        let mut found = Self { edited: Vec::new(), gone: lost, added: Some(0), has_fewer_rows };
        found.pair(&mut gone, &mut new);
        let mut taken = 0;
        let present = CurrentAssertions::new(before, after, suite);
        gone.retain(|one| {
            let implied = present.implies(one);
            taken += if implied == Some(true) { one.weight * rows_before } else { 0 };
            implied.is_none()
        });
        found.gone.extend(gone.into_iter().map(|one| (one, one.weight * rows_before)));
        let now = |two: &Assertion| weight(two, suite).map(|weight| weight * rows_after);
        for (one, two) in &found.edited {
            let was = one.weight * rows_before;
            let message = usize::from(gains_message(one, two));
            let more = now(two).map(|now| now.saturating_sub(was) + message);
            found.has_fewer_rows |= now(two).is_some_and(|now| now < was);
            found.added = found.added.zip(more).map(|(sum, more)| sum + more);
        }
        for two in new {
            found.added = found.added.zip(now(two)).map(|(sum, more)| sum + more);
        }
        found.added = found.added.map(|added| added.saturating_sub(taken));
        if after.rows.is_open && !before.rows.is_open {
            found.added = None;
        }
        found
    }

    /// Pairs edited assertions: the most similar first, and of equally similar ones an equally
    /// strong one with the same kind of check.
    fn pair(&mut self, gone: &mut Vec<&'a Assertion>, new: &mut Vec<&'a Assertion>) {
        // The most specific ones are matched first.
        gone.sort_by_key(|one| (says_no_error(one), Reverse(one.expected.len())));
        let replaces_error = gone.iter().any(|one| says_no_error(one));
        for needed in [4, 3, 2, 1] {
            let is_even = gone.len() == new.len();
            if (needed == 2 && !is_even) || (needed == 1 && gone.len() + new.len() != 2) {
                continue;
            }
            let is_strong = |it: &&&Assertion| it.check.strength().is_some_and(|it| it >= 3);
            let strong = gone.iter().filter(is_strong).count();
            gone.retain(|one| {
                let fits = |two: &Assertion| {
                    // That a result is there takes the place of there being no error.
                    let is_presence = two.check == AssertionKind::Truthy && two.subject.len() == 1;
                    likeness(one, two) >= needed && !(replaces_error && is_presence)
                        || needed >= 3 && continues(one, two)
                };
                let fitting = new.iter().enumerate().filter(|(_, two)| fits(two));
                let best = fitting.max_by_key(|(at, two)| {
                    let is_same = one.check == two.check && one.expected == two.expected;
                    let as_strong = !is_weaker(one, two);
                    (as_strong, likeness(one, two), is_same, two.check.strength(), usize::MAX - at)
                });
                let Some((at, two)) = best else { return true };
                // A different one of equal strength may be its replacement.
                let is_as_strong = |it: &&&Assertion| {
                    it.check.strength() >= one.check.strength() && !is_weaker(one, it)
                };
                let left = new.iter().filter(is_as_strong).count();
                let is_elsewhere = needed < 4 && is_weaker(one, two) && left >= strong.max(1);
                if !is_elsewhere {
                    self.edited.push((one, new.remove(at)));
                }
                is_elsewhere
            });
        }
    }
}

/// True if an equally strong assertion is about a part of the other's actual value, or about a
/// variable with that value.
fn continues(one: &Assertion, two: &Assertion) -> bool {
    let is_of_literal = one.expected.len() > 1 || two.expected.len() > 1;
    let has_origin =
        holds(&two.origin, &one.subject) || (is_of_literal && holds(&one.origin, &two.subject));
    let is_part = two.subject.len() > one.subject.len() && two.subject.starts_with(&one.subject);
    !is_weaker(one, two) && !one.subject.is_empty() && (is_part || has_origin)
}

fn holds(whole: &[String], part: &[String]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|window| window == part)
}

/// Likelihood that two assertions have the same subject: 4 certain, 1 possible, 0 none.
fn likeness(one: &Assertion, two: &Assertion) -> u8 {
    let (subject, other) = (&one.subject, &two.subject);
    if one.subject == two.subject && !one.subject.is_empty()
        || one.subject == two.expected && !two.expected.is_empty()
    {
        4
    } else if one.check == AssertionKind::Raises && two.check == AssertionKind::Raises
        || holds(subject, other)
        || holds(other, subject)
    {
        3
    } else if subject.first() == other.first() && !one.subject.is_empty() {
        if subject.get(1).is_some_and(|it| it == "(") && subject.get(1) == other.get(1) {
            3
        } else {
            2
        }
    } else {
        let shares = other.iter().any(|it| is_name(it) && subject.contains(it));
        u8::from(shares || subject.len() == 1 || other.len() == 1)
    }
}

/// The real assertions of a test, each text once.
fn distinct<'a>(test: &'a TestCase<'_>) -> Vec<&'a Assertion> {
    distinct_by(test, |one, two| one.text == two.text)
}

/// The real assertions of a test, each text once for the same values of its variables.
fn settled<'a>(test: &'a TestCase<'_>) -> Vec<&'a Assertion> {
    distinct_by(test, |one, two| one.text == two.text && one.epoch == two.epoch)
}

fn distinct_by<'a>(
    test: &'a TestCase<'_>,
    is_same: impl Fn(&Assertion, &Assertion) -> bool,
) -> Vec<&'a Assertion> {
    let mut distinct: Vec<&Assertion> = Vec::new();
    for assertion in test.assertions.iter().filter(|it| !it.is_vacuous) {
        if !distinct.iter().any(|it| is_same(it, assertion)) {
            distinct.push(assertion);
        }
    }
    distinct
}

/// Weight of an assertion, including that of the project's helper; `None` if unknown.
fn weight(assertion: &Assertion, suite: &SuiteChange<'_>) -> Option<usize> {
    if assertion.is_open {
        return None;
    }
    if assertion.check != AssertionKind::Custom {
        return Some(assertion.worth);
    }
    let head = assertion.text.split(" (").next().unwrap_or_default();
    let name = head.rsplit([' ', '.', ':']).find(|it| !it.is_empty() && *it != "!")?;
    let inside = suite.helpers.get(name)?;
    inside.iter().filter(|it| !it.is_vacuous).map(weight_inside).sum()
}

fn weight_inside(assertion: &Assertion) -> Option<usize> {
    (!assertion.is_open && assertion.check != AssertionKind::Custom).then_some(assertion.weight)
}

/// G03: fewer assertions.
fn fewer(
    suite: &SuiteChange<'_>,
    (before, after, number): (&TestCase<'_>, &TestCase<'_>, usize),
    differences: &AssertionDifferences<'_>,
    surplus: &mut AssertionSurplus,
) -> Option<Detection> {
    let mut room = differences.added?;
    let mut missing = 0;
    for (assertion, weight) in &differences.gone {
        let needed = weight.saturating_sub(room);
        room = room.saturating_sub(*weight);
        missing += surplus.take(suite, before, assertion, (Some(number), needed));
    }
    let rows = if differences.has_fewer_rows {
        lost_rows(suite, (before, after, number), room, surplus)
    } else {
        0
    };
    let is_empty = after.assertions.iter().all(|it| it.is_vacuous);
    let message = if missing == 0 && rows == 0 {
        return None;
    } else if missing == 0 {
        let (old, new) = (before.rows.count(), after.rows.count());
        format!(
            "test `{}` runs with {new} instead of {old} sets of values; restore the others",
            after.name
        )
    } else if is_empty {
        format!("test `{}` asserts nothing any more; restore its assertions", after.name)
    } else {
        let count = differences.gone.len();
        let what = if count == 1 { "assertion is" } else { "assertions are" };
        let example = differences.gone.first().map_or("", |(it, _)| it.text.as_str());
        format!(
            "test `{}` asserts less: {count} {what} gone (`{example}`); restore them",
            after.name
        )
    };
    Some(hit("G03", Severity::Error, after, &message))
}

/// Number of lost sets of values without a replacement.
fn lost_rows(
    suite: &SuiteChange<'_>,
    (before, after, number): (&TestCase<'_>, &TestCase<'_>, usize),
    room: usize,
    surplus: &mut AssertionSurplus,
) -> usize {
    let fewer = before.rows.count().saturating_sub(after.rows.count());
    if fewer == 0 || before.rows.is_open || after.rows.is_open || fewer <= room {
        return 0;
    }
    let Some(assertion) = before.assertions.first() else { return fewer };
    surplus.take(suite, before, assertion, (Some(number), fewer))
}

/// G04: the same is asserted more weakly.
fn weakened(
    suite: &SuiteChange<'_>,
    (before, after, number): (&TestCase<'_>, &TestCase<'_>, usize),
    differences: &AssertionDifferences<'_>,
    surplus: &mut AssertionSurplus,
) -> Vec<Detection> {
    let weaker = differences.edited.iter().filter(|(one, two)| is_weaker(one, two));
    let still = weaker.filter(|(one, two)| {
        !still_compares(one, two, after)
            && surplus.take(suite, before, one, (Some(number), one.weight)) > 0
    });
    let tell = |(one, two): &(&Assertion, &Assertion)| {
        let message = format!(
            "test `{}` asserts more weakly: `{}` was `{}`; restore it",
            after.name, two.text, one.text
        );
        Detection {
            bytes: two.bytes.clone(),
            anchor: format!("{} {}", after.name, two.text),
            ..hit("G04", Severity::Error, after, &message)
        }
    };
    still.map(tell).collect()
}

/// G05: another value is expected while the code changed as well.
fn edited(
    input: &GuardInput<'_>,
    before: &TestCase<'_>,
    after: &TestCase<'_>,
    differences: &AssertionDifferences<'_>,
) -> Option<Detection> {
    let is_edit = |(one, two): &&(&Assertion, &Assertion)| {
        let is_value = |tokens: &[String]| is_literal(&borrowed(tokens));
        let is_wished = || {
            let value = two.expected.iter().map(|token| unquoted(token)).collect::<String>();
            !value.is_empty() && input.goal.contains(&value)
        };
        one.check == two.check
            && one.subject == two.subject
            && one.expected != two.expected
            && (is_value(&one.expected) || is_value(&two.expected))
            && !is_wished()
    };
    let edits: Vec<_> = differences.edited.iter().filter(is_edit).collect();
    let (one, two) = edits.first()?;
    let only_values = {
        let mut old = before.tokens.clone();
        let mut new = after.tokens.clone();
        for (one, two) in &edits {
            take_out(&mut old, &borrowed(&one.expected));
            take_out(&mut new, &borrowed(&two.expected));
        }
        old.sort_unstable();
        new.sort_unstable();
        old == new
    };
    let message = format!(
        "test `{}` expects `{}` instead of `{}`, and the code changed as well; explain whether the test or the code was wrong",
        after.name,
        two.expected.concat(),
        one.expected.concat()
    );
    only_values.then(|| Detection {
        bytes: two.bytes.clone(),
        ..hit("G05", Severity::Warning, after, &message)
    })
}

fn borrowed(tokens: &[String]) -> Vec<&str> {
    tokens.iter().map(String::as_str).collect()
}

/// Removes the first occurrence of some tokens from others.
fn take_out(tokens: &mut Vec<&str>, part: TokenSlice<'_, '_>) {
    let found = tokens.windows(part.len().max(1)).position(|window| window == part);
    if let Some(at) = found {
        tokens.drain(at..at + part.len());
    }
}

/// G04 as a warning: recorded results that were recorded again.
pub(super) fn snapshots(input: &GuardInput<'_>, suite: &SuiteChange<'_>) -> Vec<Detection> {
    if !suite.has_changed_code {
        return Vec::new();
    }
    let is_snapshot = |change: &&SourceChange| {
        let path = change.path.as_str();
        let ends = [".snap", ".ambr", ".approved.txt", ".verified.txt", ".golden"];
        ends.iter().any(|end| path.ends_with(end)) || path.contains("/__snapshots__/")
    };
    let is_rewritten = |change: &&SourceChange| {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
        let mut lines = after.lines();
        !before.lines().all(|line| lines.any(|other| other == line))
    };
    let changes = input.changes.iter().filter(is_snapshot).filter(is_rewritten);
    changes
        .map(|change| Detection {
            code: "G04",
            severity: Severity::Warning,
            path: change.path.clone(),
            bytes: 0..0,
            message:
                "snapshots were recorded again together with a change of the code; review their difference"
                    .to_owned(),
            anchor: "snapshot".to_owned(),
        })
        .collect()
}
