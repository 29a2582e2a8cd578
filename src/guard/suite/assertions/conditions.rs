//! Conditions: what `a == b`, `x in y` or `f(x)` asserts when it must be true. It must not know who
//! asks for it.

use super::{Assertion, Check, option};
use crate::guard::suite::expression::{
    Relation, Tokens, bare, comparison, is_literal, is_size, is_truth, number, split,
};
use crate::guard::suite::words::{Word, meaning};
use crate::scan::syntax::Node;

/// What a condition asserts, or its contrary.
pub(super) fn of_condition(
    node: Node<'_>,
    condition: Tokens<'_, '_>,
    is_contrary: bool,
) -> Vec<Assertion> {
    let is_pair = node.kind() == "assert_statement" && is_tuple(condition);
    let condition = bare(condition);
    if is_pair {
        return vec![Assertion::new(node, Check::Truthy, condition, &[]).vacuous()];
    }
    let (both, either) = if is_contrary { ("||", "&&") } else { ("&&", "||") };
    let (both_word, either_word) = if is_contrary { ("or", "and") } else { ("and", "or") };
    let parts = split(condition, |token| token == both || token == both_word);
    if parts.len() > 1 {
        return parts.into_iter().flat_map(|part| of_condition(node, part, is_contrary)).collect();
    }
    let alternatives = split(condition, |token| token == either || token == either_word);
    if alternatives.len() > 1 {
        let assertion = Assertion::new(node, Check::Truthy, condition, &[]);
        let always = if is_contrary { Some(false) } else { Some(true) };
        let is_vacuous = alternatives.iter().any(|it| it.len() == 1 && is_truth(it[0]) == always);
        return vec![if is_vacuous { assertion.vacuous() } else { assertion }];
    }
    match condition {
        [] => Vec::new(),
        ["not" | "!", rest @ ..] => of_condition(node, rest, !is_contrary),
        [truth] if is_truth(truth).is_some() => {
            let assertion = Assertion::new(node, Check::Truthy, condition, &[]);
            let holds = is_truth(truth) == Some(!is_contrary);
            vec![if holds { assertion.vacuous() } else { assertion }]
        }
        _ => vec![of_single(node, condition, is_contrary)],
    }
}

/// Whether it is `(a, b)`, which counts as true whatever is in it.
fn is_tuple(condition: Tokens<'_, '_>) -> bool {
    let inner = bare(condition);
    inner.len() < condition.len() && split(inner, |token| token == ",").len() > 1
}

/// A condition without `and`, `or` and `not`.
fn of_single(node: Node<'_>, condition: Tokens<'_, '_>, is_contrary: bool) -> Assertion {
    let new = |check, subject, expected| Assertion::new(node, check, subject, expected);
    if let Some((subject, kind)) = of_type(condition) {
        return new(Check::Shape, subject, kind);
    }
    let Some((left, relation, right)) = comparison(condition) else {
        return of_predicate(node, condition, is_contrary);
    };
    let (left, right) =
        if is_literal(left) && !is_literal(right) { (right, left) } else { (left, right) };
    let relation = match (relation, is_contrary) {
        (Relation::Equal, true) => Relation::Unequal,
        (Relation::Unequal, true) => Relation::Equal,
        (other, _) => other,
    };
    match relation {
        Relation::Equal => of_equality(node, left, right),
        Relation::Unequal => match right {
            [truth] if is_truth(truth).is_some() => new(Check::Truthy, left, &[]),
            _ => Assertion { is_vacuous: false, ..new(Check::Truthy, left, right) },
        },
        Relation::Contained => new(Check::Partial, right, left),
        Relation::Ordered if is_distance(left) => {
            new(Check::Close, left, right).within(number(right))
        }
        Relation::Ordered => {
            let assertion = new(Check::Partial, left, right);
            let never_negative = is_size(left)
                && right == ["0"]
                && !is_contrary
                && condition.contains(&">=")
                && condition.last() == Some(&"0");
            if never_negative { assertion.vacuous() } else { assertion }
        }
    }
}

/// `x instanceof Error`
fn of_type<'a, 't>(condition: Tokens<'a, 't>) -> Option<(Tokens<'a, 't>, Tokens<'a, 't>)> {
    let at = condition.iter().position(|token| *token == "instanceof")?;
    let sides = split(condition, |token| token == "instanceof");
    (sides.len() == 2).then(|| (&condition[..at], &condition[at + 1..]))
}

fn of_equality(node: Node<'_>, left: Tokens<'_, '_>, right: Tokens<'_, '_>) -> Assertion {
    let new = |check, subject, expected| Assertion::new(node, check, subject, expected);
    let right_truth = match right {
        [truth] => is_truth(truth),
        _ => None,
    };
    match right_truth {
        Some(_) if is_literal(left) => new(Check::Equal, left, right),
        Some(true) => new(Check::Truthy, left, &[]),
        Some(false) => new(Check::Falsy, left, &[]),
        None if right.contains(&"approx") => {
            let whole = new(Check::Equal, left, right);
            whole.within(option(right, &["abs", "rel"]).or(Some(1e-6)))
        }
        None => new(Check::Equal, left, right),
    }
}

/// A condition that compares nothing.
fn of_predicate(node: Node<'_>, condition: Tokens<'_, '_>, is_contrary: bool) -> Assertion {
    let new = |check, subject, expected| Assertion::new(node, check, subject, expected);
    let called = condition.iter().enumerate().rev().find_map(|(at, token)| {
        let is_called = condition.get(at + 1) == Some(&"(") || condition.get(at + 1) == Some(&"!");
        (is_called && *token != "!" && ends_behind(condition, at + 1)).then_some((at, *token))
    });
    let Some((at, name)) = called else {
        return new(if is_contrary { Check::Falsy } else { Check::Truthy }, condition, &[]);
    };
    let receiver = condition[..at].strip_suffix(&["."]).unwrap_or_default();
    let inner = condition[at..].iter().position(|it| *it == "(").map_or(at, |it| at + it + 1);
    let list = condition.get(inner..condition.len() - 1).unwrap_or_default();
    let arguments = split(list, |token| token == ",");
    let first = arguments.first().copied().unwrap_or_default();
    let second = arguments.get(1).copied().unwrap_or_default();
    match name {
        "isinstance" | "issubclass" => {
            let assertion = new(Check::Shape, first, second);
            if second == ["object"] { assertion.vacuous() } else { assertion }
        }
        "matches" if receiver.is_empty() => {
            let has_gap = second.iter().any(|it| matches!(*it, "_" | ".." | "|" | "if"));
            let is_whole = !has_gap && !is_contrary && arguments.len() == 2;
            new(if is_whole { Check::Equal } else { Check::Shape }, first, second)
        }
        "is_none" | "is_empty" | "isEmpty" if !is_contrary => new(Check::Equal, receiver, &[name]),
        "DeepEqual" | "Equal" | "EqualFold" | "equals" | "SequenceEqual" | "Equals"
        | "deepEqual" => {
            let (subject, expected) =
                if second.is_empty() { (receiver, first) } else { (first, second) };
            new(if is_contrary { Check::Truthy } else { Check::Equal }, subject, expected)
        }
        "Is" | "As" if receiver == ["errors"] && !is_contrary => new(Check::Raises, first, second),
        "all" | "every" | "All" | "AllSatisfy" => new(Check::Partial, condition, &[]),
        _ if meaning(name).is_some_and(|(word, _)| word == Word::Partial)
            || is_test_of_text(name) =>
        {
            if second.is_empty() {
                new(Check::Partial, receiver, first)
            } else {
                new(Check::Partial, first, second)
            }
        }
        _ => new(if is_contrary { Check::Falsy } else { Check::Truthy }, condition, &[]),
    }
}

fn is_test_of_text(name: &str) -> bool {
    [
        "HasPrefix",
        "HasSuffix",
        "starts_with",
        "ends_with",
        "MatchString",
        "contains_key",
        "has",
        "test",
    ]
    .contains(&name)
}

/// Whether the bracket that opens at a place, or right behind it, closes at the end.
fn ends_behind(tokens: Tokens<'_, '_>, at: usize) -> bool {
    let open = if tokens[at] == "!" { at + 1 } else { at };
    matches!(tokens.get(open..), Some(["(", inner @ .., ")"]) if {
        let mut depth = 0_i32;
        inner.iter().all(|token| {
            depth += match *token { "(" | "[" | "{" => 1, ")" | "]" | "}" => -1, _ => 0 };
            depth >= 0
        })
    })
}

fn is_distance(tokens: Tokens<'_, '_>) -> bool {
    matches!(tokens, ["abs" | "fabs", "(", ..] | [_, ".", "abs" | "fabs" | "Abs", "(", ..])
        || matches!(tokens, [.., ".", "abs", "(", ")"])
}
