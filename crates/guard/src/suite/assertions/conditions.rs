//! Conditions: the assertion in `a == b`, `x in y` or `f(x)`.

use super::{Assertion, AssertionKind, option};
use crate::suite::expression::{
    ComparisonKind, TokenSlice, bare, comparison, is_literal, is_size, is_truth, number, split,
};
use crate::suite::words::{MatcherWord, meaning};
use moai_scan::syntax::SyntaxNode;

/// The assertion of a condition, or of its negation.
pub(super) fn of_condition(
    node: SyntaxNode<'_>,
    condition: TokenSlice<'_, '_>,
    is_contrary: bool,
) -> Vec<Assertion> {
    let is_pair = node.kind() == "assert_statement" && is_tuple(condition);
    let condition = bare(condition);
    if is_pair {
        return vec![Assertion::new(node, AssertionKind::Truthy, condition, &[]).vacuous()];
    }
    let (both, either) = if is_contrary { ("||", "&&") } else { ("&&", "||") };
    let (both_word, either_word) = if is_contrary { ("or", "and") } else { ("and", "or") };
    let parts = split(condition, |token| token == both || token == both_word);
    if parts.len() > 1 {
        return parts.into_iter().flat_map(|part| of_condition(node, part, is_contrary)).collect();
    }
    let alternatives = split(condition, |token| token == either || token == either_word);
    if alternatives.len() > 1 {
        let assertion = Assertion::new(node, AssertionKind::Truthy, condition, &[]);
        let always = if is_contrary { Some(false) } else { Some(true) };
        let is_vacuous = alternatives.iter().any(|it| it.len() == 1 && is_truth(it[0]) == always);
        return vec![if is_vacuous { assertion.vacuous() } else { assertion }];
    }
    match condition {
        [] => Vec::new(),
        ["not" | "!", rest @ ..] => of_condition(node, rest, !is_contrary),
        [truth] if is_truth(truth).is_some() => {
            let assertion = Assertion::new(node, AssertionKind::Truthy, condition, &[]);
            let holds = is_truth(truth) == Some(!is_contrary);
            vec![if holds { assertion.vacuous() } else { assertion }]
        }
        _ => vec![of_single(node, condition, is_contrary)],
    }
}

/// True for `(a, b)`, which is always true.
fn is_tuple(condition: TokenSlice<'_, '_>) -> bool {
    let inner = bare(condition);
    inner.len() < condition.len() && split(inner, |token| token == ",").len() > 1
}

/// A condition without `and`, `or` and `not`.
fn of_single(node: SyntaxNode<'_>, condition: TokenSlice<'_, '_>, is_contrary: bool) -> Assertion {
    let new = |check, subject, expected| Assertion::new(node, check, subject, expected);
    if let Some((subject, kind)) = of_type(condition) {
        return new(AssertionKind::Shape, subject, kind);
    }
    let Some((left, relation, right)) = comparison(condition) else {
        return of_predicate(node, condition, is_contrary);
    };
    let (left, right) =
        if is_literal(left) && !is_literal(right) { (right, left) } else { (left, right) };
    let relation = match (relation, is_contrary) {
        (ComparisonKind::Equal, true) => ComparisonKind::Unequal,
        (ComparisonKind::Unequal, true) => ComparisonKind::Equal,
        (other, _) => other,
    };
    match relation {
        ComparisonKind::Equal => of_equality(node, left, right),
        ComparisonKind::Unequal => match right {
            [truth] if is_truth(truth).is_some() => new(AssertionKind::Truthy, left, &[]),
            _ => Assertion { is_vacuous: false, ..new(AssertionKind::Truthy, left, right) },
        },
        ComparisonKind::Contained => new(AssertionKind::Partial, right, left),
        ComparisonKind::Ordered if is_distance(left) => {
            new(AssertionKind::Close, left, right).within(number(right))
        }
        ComparisonKind::Ordered => {
            let assertion = new(AssertionKind::Partial, left, right);
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
fn of_type<'a, 't>(
    condition: TokenSlice<'a, 't>,
) -> Option<(TokenSlice<'a, 't>, TokenSlice<'a, 't>)> {
    let at = condition.iter().position(|token| *token == "instanceof")?;
    let sides = split(condition, |token| token == "instanceof");
    (sides.len() == 2).then(|| (&condition[..at], &condition[at + 1..]))
}

fn of_equality(
    node: SyntaxNode<'_>,
    left: TokenSlice<'_, '_>,
    right: TokenSlice<'_, '_>,
) -> Assertion {
    let new = |check, subject, expected| Assertion::new(node, check, subject, expected);
    let right_truth = match right {
        [truth] => is_truth(truth),
        _ => None,
    };
    match right_truth {
        Some(_) if is_literal(left) => new(AssertionKind::Equal, left, right),
        Some(true) => new(AssertionKind::Truthy, left, &[]),
        Some(false) => new(AssertionKind::Falsy, left, &[]),
        None if right.contains(&"approx") => {
            let whole = new(AssertionKind::Equal, left, right);
            whole.within(option(right, &["abs", "rel"]).or(Some(1e-6)))
        }
        None => new(AssertionKind::Equal, left, right),
    }
}

/// A condition that compares nothing.
fn of_predicate(
    node: SyntaxNode<'_>,
    condition: TokenSlice<'_, '_>,
    is_contrary: bool,
) -> Assertion {
    let new = |check, subject, expected| Assertion::new(node, check, subject, expected);
    let called = condition.iter().enumerate().rev().find_map(|(at, token)| {
        let is_called = condition.get(at + 1) == Some(&"(") || condition.get(at + 1) == Some(&"!");
        (is_called && *token != "!" && ends_behind(condition, at + 1)).then_some((at, *token))
    });
    let Some((at, name)) = called else {
        return new(
            if is_contrary { AssertionKind::Falsy } else { AssertionKind::Truthy },
            condition,
            &[],
        );
    };
    let receiver = condition[..at].strip_suffix(&["."]).unwrap_or_default();
    let inner = condition[at..].iter().position(|it| *it == "(").map_or(at, |it| at + it + 1);
    let list = condition.get(inner..condition.len() - 1).unwrap_or_default();
    let arguments = split(list, |token| token == ",");
    let first = arguments.first().copied().unwrap_or_default();
    let second = arguments.get(1).copied().unwrap_or_default();
    match name {
        "isinstance" | "issubclass" => {
            let assertion = new(AssertionKind::Shape, first, second);
            if second == ["object"] { assertion.vacuous() } else { assertion }
        }
        "matches" if receiver.is_empty() => {
            let has_gap = second.iter().any(|it| matches!(*it, "_" | ".." | "|" | "if"));
            let is_whole = !has_gap && !is_contrary && arguments.len() == 2;
            new(if is_whole { AssertionKind::Equal } else { AssertionKind::Shape }, first, second)
        }
        "is_none" | "is_empty" | "isEmpty" if !is_contrary => {
            new(AssertionKind::Equal, receiver, &[name])
        }
        "DeepEqual" | "Equal" | "EqualFold" | "equals" | "SequenceEqual" | "Equals"
        | "deepEqual" => {
            let (subject, expected) =
                if second.is_empty() { (receiver, first) } else { (first, second) };
            new(
                if is_contrary { AssertionKind::Truthy } else { AssertionKind::Equal },
                subject,
                expected,
            )
        }
        "Is" | "As" if receiver == ["errors"] && !is_contrary => {
            new(AssertionKind::Raises, first, second)
        }
        "all" | "every" | "All" | "AllSatisfy" => new(AssertionKind::Partial, condition, &[]),
        _ if meaning(name).is_some_and(|(word, _)| word == MatcherWord::Partial)
            || is_test_of_text(name) =>
        {
            if second.is_empty() {
                new(AssertionKind::Partial, receiver, first)
            } else {
                new(AssertionKind::Partial, first, second)
            }
        }
        _ => new(
            if is_contrary { AssertionKind::Falsy } else { AssertionKind::Truthy },
            condition,
            &[],
        ),
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

/// True if the bracket that opens at or right after a position closes at the end.
fn ends_behind(tokens: TokenSlice<'_, '_>, at: usize) -> bool {
    let open = if tokens[at] == "!" { at + 1 } else { at };
    matches!(tokens.get(open..), Some(["(", inner @ .., ")"]) if {
        let mut depth = 0_i32;
        inner.iter().all(|token| {
            depth += match *token { "(" | "[" | "{" => 1, ")" | "]" | "}" => -1, _ => 0 };
            depth >= 0
        })
    })
}

fn is_distance(tokens: TokenSlice<'_, '_>) -> bool {
    matches!(tokens, ["abs" | "fabs", "(", ..] | [_, ".", "abs" | "fabs" | "Abs", "(", ..])
        || matches!(tokens, [.., ".", "abs", "(", ")"])
}
