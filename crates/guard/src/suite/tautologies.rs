//! G06: new assertions that always hold.

use super::assertions::{Assertion, AssertionKind};
use super::expression::is_literal;
use super::goal::words;
use super::inventory::TestCase;
use super::{SuiteChange, hit};
use crate::Detection;
use moai_base::finding::Severity;

/// A test about one of these may legitimately compare a value with itself.
const REFLEXIVE: [&str; 10] = [
    "eq",
    "equal",
    "equality",
    "reflexive",
    "hash",
    "identity",
    "same",
    "itself",
    "self",
    "symmetric",
];

pub(super) fn inspect(suite: &SuiteChange<'_>) -> Vec<Detection> {
    let mut hits = Vec::new();
    for (number, test) in suite.after.iter().enumerate() {
        let pair = suite.pairs.both.iter().find(|(_, after)| *after == number);
        let before = pair.map(|(before, _)| &suite.before[*before]);
        let is_known = |assertion: &Assertion| {
            before.is_some_and(|test| test.assertions.iter().any(|it| it.text == assertion.text))
        };
        let mut room = before.map_or(0, |before| room_for(before, test));
        for assertion in &test.assertions {
            let is_mock = is_mock_itself(assertion, test);
            if (assertion.is_vacuous || is_mock)
                && !is_known(assertion)
                && !is_about_equality(assertion, test)
            {
                if assertion.is_vacuous && room > 0 {
                    room -= 1;
                    continue;
                }
                hits.push(Detection {
                    severity: severity(test, assertion),
                    ..told(test, assertion, is_mock)
                });
            }
        }
    }
    hits
}

/// Number of always-true assertions that replace equally weak ones.
fn room_for(before: &TestCase<'_>, after: &TestCase<'_>) -> usize {
    let is_gone = |it: &&Assertion| {
        it.is_vacuous && !after.assertions.iter().any(|other| other.text == it.text)
    };
    let replaced = before.assertions.iter().filter(is_gone).count();
    replaced + arrivals(before).saturating_sub(arrivals(after))
}

/// Number of assertions that only mark a reached position: `t.pass()`.
fn arrivals(test: &TestCase<'_>) -> usize {
    let passes = test.tokens.windows(2).filter(|two| matches!(two, ["pass", "("]));
    passes.count()
}

/// In a callback of a test that counts its assertions, an always-true one proves that the callback
/// was called.
fn severity(test: &TestCase<'_>, assertion: &Assertion) -> Severity {
    let counts = |two: &[&str]| matches!(two, ["plan" | "assertions", "("]);
    let mut depth = 0_usize;
    test.node.walk(&mut |node| {
        let bytes = node.bytes();
        let is_around = bytes.start <= assertion.bytes.start && assertion.bytes.end <= bytes.end;
        depth += usize::from(
            is_around && matches!(node.kind(), "arrow_function" | "function_expression"),
        );
        is_around
    });
    let is_counted = depth > 1 && test.tokens.windows(2).any(counts);
    if is_counted { Severity::Warning } else { Severity::Error }
}

fn is_about_equality(assertion: &Assertion, test: &TestCase<'_>) -> bool {
    let subject: Vec<&str> = assertion.subject.iter().map(String::as_str).collect();
    assertion.check == AssertionKind::Equal
        && !is_literal(&subject)
        && words(&test.name).any(|word| REFLEXIVE.contains(&word.as_str()))
}

/// True if the result of a mock is compared with the result that the test gave it.
fn is_mock_itself(assertion: &Assertion, test: &TestCase<'_>) -> bool {
    let subject = assertion.subject.iter().map(String::as_str).filter(|it| *it != "await");
    let subject: Vec<&str> = subject.collect();
    let Some(open) = subject.iter().position(|it| *it == "(") else { return false };
    let callee = &subject[..open];
    let expected: Vec<&str> = assertion.expected.iter().map(String::as_str).collect();
    if assertion.check != AssertionKind::Equal || callee.is_empty() || expected.is_empty() {
        return false;
    }
    let given = |rest: &[&str]| {
        let gives: [&[&str]; 6] = [
            &[".", "return_value", "="],
            &[".", "mockReturnValue", "("],
            &[".", "mockResolvedValue", "("],
            &[".", "mockReturnValueOnce", "("],
            &[".", "returns", "("],
            &[".", "resolves", "("],
        ];
        gives.iter().any(|give| rest.starts_with(give) && rest[give.len()..].starts_with(&expected))
    };
    let made = |rest: &[&str]| {
        let end = rest
            .iter()
            .position(|it| matches!(*it, ";" | "assert" | "expect"))
            .unwrap_or(rest.len());
        let makes = rest.starts_with(&["="])
            && rest[..end.min(8)]
                .iter()
                .any(|it| matches!(*it, "Mock" | "MagicMock" | "AsyncMock" | "fn" | "stub"));
        makes && rest[..end].windows(expected.len()).any(|window| window == expected)
    };
    let is_given = test.tokens.windows(callee.len()).enumerate().any(|(at, window)| {
        let rest = &test.tokens[at + callee.len()..];
        window == callee && (given(rest) || made(rest))
    });
    is_given || is_stubbed(&test.tokens, callee, &expected)
}

/// `when(mock.method()).thenReturn(value)`
fn is_stubbed(tokens: &[&str], callee: &[&str], expected: &[&str]) -> bool {
    let whens = tokens.windows(2).enumerate().filter(|(_, two)| matches!(two, ["when", "("]));
    whens.into_iter().any(|(at, _)| {
        let rest = &tokens[at + 2..];
        let end = rest.iter().position(|it| *it == ";").unwrap_or(rest.len());
        let returns = rest[..end].iter().position(|it| *it == "thenReturn");
        rest.starts_with(callee)
            && returns
                .is_some_and(|at| rest.get(at + 2..).is_some_and(|it| it.starts_with(expected)))
    })
}

fn told(test: &TestCase<'_>, assertion: &Assertion, is_mock: bool) -> Detection {
    let why = if is_mock {
        "asks a mock for what the test gave it"
    } else {
        "holds whatever the code does"
    };
    let message = format!("`{}` {why}; assert a result of the code", assertion.text);
    Detection {
        bytes: assertion.bytes.clone(),
        anchor: assertion.text.clone(),
        ..hit("G06", Severity::Error, test, &message)
    }
}
