//! Assertions with their values as arguments, in the orders of the libraries.

use super::conditions::of_condition;
use super::{Assertion, AssertionKind, valued, with_tolerance};
use crate::facts::tokens;
use crate::suite::calls::CallNode;
use crate::suite::expression::{TokenSlice, is_literal, is_name, is_truth, number};
use crate::suite::words::{MatcherWord, meaning};

/// An assertion with its values as arguments.
pub(super) fn direct(
    call: &CallNode<'_>,
    (word, is_contrary): (MatcherWord, bool),
    arguments: &[TokenSlice<'_, '_>],
    expects_first: bool,
) -> Vec<Assertion> {
    let first = arguments.first().copied().unwrap_or_default();
    let second = arguments.get(1).copied().unwrap_or_default();
    let lower = call.name.to_lowercase();
    if let Some(mock) =
        call.receiver.filter(|_| lower.contains("called") || lower.contains("awaited"))
    {
        let expected = arguments.join(&",");
        return vec![valued(call.node, word, is_contrary, &tokens(mock), &expected)];
    }
    match word {
        MatcherWord::True
            if is_literal(first) && !first.iter().any(|it| is_truth(it).is_some()) =>
        {
            vec![valued(call.node, MatcherWord::Truthy, is_contrary, first, &[])]
        }
        MatcherWord::True => of_condition(call.node, first, is_contrary),
        MatcherWord::False => of_condition(call.node, first, !is_contrary),
        MatcherWord::Equal | MatcherWord::Close => {
            let is_swapped = match (is_literal(first), is_literal(second)) {
                (true, false) => true,
                (false, true) => false,
                _ => expects_first,
            };
            let (subject, expected) = if is_swapped { (second, first) } else { (first, second) };
            if let [truth] = expected
                && let Some(truth) = is_truth(truth).filter(|_| !is_literal(subject))
            {
                return of_condition(call.node, subject, is_contrary == truth);
            }
            let assertion = valued(call.node, word, is_contrary, subject, expected);
            vec![with_tolerance(assertion, call, word, arguments)]
        }
        MatcherWord::Partial => {
            // `assertIn(part, whole)`, `Assert.Contains(part, whole)`, and all others.
            let part_first = matches!(call.name, "assertIn" | "assertNotIn")
                || (expects_first && call.name == "Contains" && !is_literal(second));
            let (subject, expected) = if part_first { (second, first) } else { (first, second) };
            vec![valued(call.node, word, is_contrary, subject, expected)]
        }
        MatcherWord::Raises => {
            let class = call.generics.map(|it| vec![it]);
            let is_class_first = class.is_none();
            let class = class.as_deref().unwrap_or(first).to_vec();
            let what = if is_class_first { second } else { first };
            if class == ["None"] {
                // `pytest.warns(None)` records and asserts nothing.
                return Vec::new();
            }
            if is_contrary && second.is_empty() {
                // `assertDoesNotThrow(() -> f(1))`
                return vec![valued(call.node, word, true, body_of(first), &[])];
            }
            vec![raising(call, &class, what, is_contrary)]
        }
        MatcherWord::Shape if call.generics.is_some() => {
            let kind: Vec<&str> = call.generics.into_iter().collect();
            vec![valued(call.node, word, is_contrary, first, &kind)]
        }
        _ => vec![valued(call.node, word, is_contrary, first, second)],
    }
}

/// The expression that a lambda gives.
fn body_of<'a, 't>(lambda: TokenSlice<'a, 't>) -> TokenSlice<'a, 't> {
    match lambda {
        ["(", ")", "->" | "=>", body @ ..] | ["async", "(", ")", "=>", body @ ..] => body,
        other => other,
    }
}

/// An exception: its class, and the message where one is asked for.
fn raising(
    call: &CallNode<'_>,
    class: TokenSlice<'_, '_>,
    what: TokenSlice<'_, '_>,
    is_contrary: bool,
) -> Assertion {
    let check = if is_contrary { AssertionKind::Truthy } else { AssertionKind::Raises };
    let class: Vec<&str> =
        class.iter().copied().filter(|it| !matches!(*it, "class" | ".")).collect();
    let arguments = call.arguments();
    let message = arguments.iter().find(|it| it.first() == Some(&"match"));
    let regex = if call.name.contains("egex") { what.to_vec() } else { Vec::new() };
    let subject = if message.is_some() || !regex.is_empty() { Vec::new() } else { what.to_vec() };
    let mut expected = class;
    for part in message.map(|it| it.to_vec()).into_iter().chain([regex]).filter(|it| !it.is_empty())
    {
        expected.push("matching");
        expected.extend(part);
    }
    Assertion { is_vacuous: false, ..Assertion::new(call.node, check, &subject, &expected) }
}

/// `assertThat(x, is(5))`, `Assert.That(x, Is.EqualTo(5))`, `assertThat(condition)`.
pub(super) fn of_matcher(
    call: &CallNode<'_>,
    arguments: &[TokenSlice<'_, '_>],
    mut is_contrary: bool,
) -> Vec<Assertion> {
    let (subject, matcher) = match arguments {
        [] => return Vec::new(),
        [_] if call.name != "That" => return Vec::new(),
        [subject, matcher, ..] if matcher.iter().any(|it| *it == "(" || *it == ".") => {
            (*subject, *matcher)
        }
        [condition, ..] => return of_condition(call.node, condition, false),
    };
    let mut found = None;
    for (at, name) in matcher.iter().enumerate() {
        match *name {
            "is" | "Is" | "Has" | "Does" | "Matchers" | "CoreMatchers" => {}
            "not" | "Not" | "No" => is_contrary = !is_contrary,
            "Throws" => {
                let class: Vec<&str> = matcher[at + 1..]
                    .iter()
                    .copied()
                    .filter(|it| {
                        is_name(it)
                            && !matches!(*it, "TypeOf" | "InstanceOf" | "Exception" | "With")
                    })
                    .take(1)
                    .collect();
                return vec![Assertion::new(call.node, AssertionKind::Raises, subject, &class)];
            }
            _ => {
                found = found.or_else(|| {
                    let (word, contrary) = meaning(name).filter(|_| name.len() > 2)?;
                    is_contrary ^= contrary;
                    Some((word, at))
                });
            }
        }
    }
    let (word, at) = found.unwrap_or((MatcherWord::Equal, 0));
    let list = matcher[at..].iter().position(|it| *it == "(").map(|it| at + it + 1);
    let expected = list.and_then(|start| matcher.get(start..matcher.len() - 1)).unwrap_or_default();
    let assertion = valued(call.node, word, is_contrary, subject, expected);
    let within = matcher.iter().position(|it| matches!(*it, "Within" | "closeTo"));
    match within {
        Some(at) => {
            let tolerance = matcher[at..].iter().rev().find_map(|it| number(&[it]));
            vec![assertion.within(tolerance)]
        }
        None => vec![assertion],
    }
}
