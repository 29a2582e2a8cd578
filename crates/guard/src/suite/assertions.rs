//! The assertions of a test and their strength.

mod arguments;
mod calls;
mod conditions;
mod origins;

use std::ops::Range;

pub(super) use self::origins::settle;
use super::calls::CallNode;
use super::expression::{
    TokenSlice, bare, is_literal, is_name, is_null_literal, joined, number, part_count, shape,
    value_count,
};
use super::words::{MatcherWord, has_wildcard, is_wildcard};
use crate::facts::tokens;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

/// The kinds of assertions, from the weakest to the strongest. Kinds that are not comparable have
/// no strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AssertionKind {
    /// A function of the project or a library, whatever it checks.
    Custom,
    /// The value accepts anything.
    Anything,
    /// It is there, counts as true, or differs from something.
    Truthy,
    /// It counts as false or is empty.
    Falsy,
    Called,
    /// Type or size.
    Shape,
    /// It contains, matches, is larger.
    Partial,
    /// Nearly equal.
    Close,
    Equal,
    /// Throws.
    Raises,
    /// As recorded.
    Snapshot,
    /// In a state, checked by a library's own matcher.
    State,
}

impl AssertionKind {
    pub(super) fn strength(self) -> Option<u8> {
        match self {
            Self::Custom | Self::Snapshot | Self::State => None,
            Self::Anything => Some(1),
            Self::Truthy | Self::Falsy | Self::Called => Some(2),
            Self::Shape | Self::Partial => Some(3),
            Self::Close => Some(4),
            Self::Equal | Self::Raises => Some(5),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Assertion {
    pub(super) check: AssertionKind,
    /// The tokens of the actual value.
    pub(super) subject: Vec<String>,
    /// The tokens of the expected value, or the class and message of an exception. May be empty.
    pub(super) expected: Vec<String>,
    /// Allowed difference of a value.
    pub(super) tolerance: Option<f64>,
    /// The whole, as tokens.
    pub(super) text: String,
    /// The whole without literals and variables.
    pub(super) shape: String,
    pub(super) bytes: Range<usize>,
    /// Number of compared values: repetitions over a list times parts of a literal.
    pub(super) weight: usize,
    /// The same number, with names in a list counted too.
    pub(super) worth: usize,
    /// The subject with the value of the variable that it begins with.
    pub(super) origin: Vec<String>,
    /// The expected value, with a variable replaced by its value.
    pub(super) source: Vec<String>,
    /// Number of assignments to its variables before it.
    pub(super) epoch: usize,
    /// True if it is repeated over a list.
    pub(super) is_repeated: bool,
    /// Repeated an unknown number of times.
    pub(super) is_open: bool,
    /// True if it always holds.
    pub(super) is_vacuous: bool,
}

impl Assertion {
    fn new(
        node: SyntaxNode<'_>,
        check: AssertionKind,
        subject: TokenSlice<'_, '_>,
        expected: TokenSlice<'_, '_>,
    ) -> Self {
        let all = tokens(node);
        let is_exact = matches!(check, AssertionKind::Equal | AssertionKind::Close);
        let is_list = is_exact && is_composite(expected);
        let weight = if is_list { value_count(expected) } else { 1 };
        let worth = if is_list { weight.max(part_count(expected)) } else { 1 };
        let check = match check {
            AssertionKind::Equal | AssertionKind::Partial if is_wildcard(&joined(expected)) => {
                AssertionKind::Anything
            }
            AssertionKind::Equal if is_partly(expected) => AssertionKind::Partial,
            other => other,
        };
        Self {
            check,
            subject: owned(subject),
            expected: owned(expected),
            tolerance: None,
            text: joined(&all),
            shape: shape(&all),
            bytes: node.bytes(),
            weight,
            worth,
            origin: owned(subject),
            source: owned(expected),
            epoch: 0,
            is_repeated: false,
            is_open: false,
            is_vacuous: check == AssertionKind::Equal && is_self_evident(subject, expected),
        }
    }

    /// The names called in its actual value.
    pub(super) fn callees(&self) -> impl Iterator<Item = &str> {
        let called = self.subject.windows(2).filter(|two| two[1] == "(" && is_name(&two[0]));
        called.map(|two| two[0].as_str())
    }

    /// True if another assertion makes the same kind of check of the same expression, in any
    /// library.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let form = |it: &Self| shape(&it.subject.iter().map(String::as_str).collect::<Vec<_>>());
        self.check == other.check && !self.subject.is_empty() && form(self) == form(other)
    }

    fn vacuous(self) -> Self {
        Self { is_vacuous: true, ..self }
    }

    fn within(self, tolerance: Option<f64>) -> Self {
        Self { check: AssertionKind::Close, tolerance, is_vacuous: false, ..self }
    }
}

fn owned(tokens: TokenSlice<'_, '_>) -> Vec<String> {
    tokens.iter().map(|token| (*token).to_owned()).collect()
}

/// True if a value specifies only a part of the actual one.
fn is_partly(expected: TokenSlice<'_, '_>) -> bool {
    let is_matcher = matches!(
        expected,
        ["expect", ".", matcher, ..]
            if matcher.ends_with("Containing") || matcher.ends_with("Matching")
    );
    is_matcher || has_wildcard(&joined(expected))
}

/// True if a literal is a collection.
fn is_composite(tokens: TokenSlice<'_, '_>) -> bool {
    tokens.len() > 2 && tokens.iter().any(|token| matches!(*token, "[" | "{" | "(" | "vec"))
}

/// True if both sides are always equal: two literals, or one name twice. The results of two calls
/// may differ.
fn is_self_evident(left: TokenSlice<'_, '_>, right: TokenSlice<'_, '_>) -> bool {
    let is_same = joined(bare(left)) == joined(bare(right)) && !left.is_empty();
    is_same && (is_literal(left) || !left.iter().any(|token| matches!(*token, "(" | "!" | "++")))
}

/// An assertion of unknown content.
pub(super) fn unknown(node: SyntaxNode<'_>) -> Assertion {
    Assertion {
        is_open: true,
        is_repeated: true,
        ..Assertion::new(node, AssertionKind::Custom, &[], &[])
    }
}

/// An exception that an attribute expects.
pub(super) fn expected_error(node: SyntaxNode<'_>, expected: &str) -> Assertion {
    let expected: Vec<&str> = expected.split(' ').filter(|it| !it.is_empty()).collect();
    Assertion::new(node, AssertionKind::Raises, &[], &expected)
}

/// The assertions of a statement or call; empty for any other node. `is_helper` recognizes the
/// project's asserting functions.
pub(super) fn read(
    node: SyntaxNode<'_>,
    language: ScanLanguage,
    is_helper: &dyn Fn(&str) -> bool,
) -> Vec<Assertion> {
    match node.kind() {
        "assert_statement" => {
            // Java's has its condition first as well.
            let condition = node.named_children().first().map(|it| tokens(*it));
            conditions::of_condition(node, &condition.unwrap_or_default(), false)
        }
        "if_statement" if language == ScanLanguage::Go => of_go_if(node),
        "member_expression" => calls::of_property(node),
        _ => CallNode::read(node)
            .map(|call| calls::of_call(&call, language, is_helper))
            .unwrap_or_default(),
    }
}

/// `if got != want { t.Errorf(…) }`
fn of_go_if(node: SyntaxNode<'_>) -> Vec<Assertion> {
    let (Some(condition), Some(body)) = (node.field("condition"), node.field("consequence")) else {
        return Vec::new();
    };
    let fails = ["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];
    let is_failure = body.named_children().iter().flat_map(|it| it.named_children()).any(|it| {
        let mut calls = vec![it];
        calls.extend(it.named_children());
        calls.into_iter().filter_map(CallNode::read).any(|call| {
            fails.contains(&call.name) && call.receiver.is_some_and(|it| it.text().len() <= 2)
        })
    });
    if is_failure { conditions::of_condition(node, &tokens(condition), true) } else { Vec::new() }
}

/// An assertion by its word.
fn valued(
    node: SyntaxNode<'_>,
    word: MatcherWord,
    is_contrary: bool,
    subject: TokenSlice<'_, '_>,
    expected: TokenSlice<'_, '_>,
) -> Assertion {
    let check = match (word, is_contrary) {
        (MatcherWord::Truthy | MatcherWord::True, false)
        | (
            MatcherWord::Equal
            | MatcherWord::Once
            | MatcherWord::Snapshot
            | MatcherWord::Nothing
            | MatcherWord::Falsy
            | MatcherWord::False
            | MatcherWord::Raises,
            true,
        ) => AssertionKind::Truthy,
        (MatcherWord::Equal | MatcherWord::Once | MatcherWord::Nothing, false)
        | (MatcherWord::Called, true) => AssertionKind::Equal,
        (MatcherWord::Falsy | MatcherWord::False, false)
        | (MatcherWord::Truthy | MatcherWord::True, true) => AssertionKind::Falsy,
        (MatcherWord::Partial, _) => AssertionKind::Partial,
        (MatcherWord::Shape, _) => AssertionKind::Shape,
        (MatcherWord::Close, _) => AssertionKind::Close,
        (MatcherWord::Raises, false) => AssertionKind::Raises,
        (MatcherWord::Snapshot, false) => AssertionKind::Snapshot,
        (MatcherWord::Called, false) => AssertionKind::Called,
        (MatcherWord::State, _) => AssertionKind::State,
    };
    let subject = bare(subject);
    let expected = match word {
        MatcherWord::Nothing | MatcherWord::Called => &["nothing"],
        MatcherWord::Once => &["1"],
        _ => expected,
    };
    let assertion = Assertion::new(node, check, subject, expected);
    // A comparison with null or a literal by a word: `assertNotNone("x")`, `assertTruthy(1)`.
    let holds_anyway = check == AssertionKind::Truthy
        && is_literal(subject)
        && !subject.iter().any(|it| {
            is_null_literal(it) || matches!(*it, "0" | "false" | "False" | "''" | "\"\"")
        })
        && word != MatcherWord::Equal;
    if holds_anyway { assertion.vacuous() } else { assertion }
}

/// The tolerance among the arguments behind the values.
fn with_tolerance(
    assertion: Assertion,
    call: &CallNode<'_>,
    word: MatcherWord,
    arguments: &[TokenSlice<'_, '_>],
) -> Assertion {
    let rest = arguments.get(2..).unwrap_or_default();
    let all: Vec<&str> = rest.iter().flat_map(|it| it.iter().copied()).collect();
    let third = rest.first().and_then(|it| number(it));
    if word == MatcherWord::Close {
        let places = option(&all, &["places", "decimal"]);
        let named = option(&all, &["delta", "atol", "abs_tol", "rtol", "rel_tol", "epsilon"]);
        let tolerance = match (named, places) {
            (Some(named), _) => Some(named),
            (None, Some(places)) => Some(10_f64.powf(-places)),
            (None, None) if call.name.contains("lmost") => {
                Some(third.map_or(1e-7, |places| 10_f64.powf(-places)))
            }
            (None, None) => third,
        };
        return assertion.within(tolerance);
    }
    // `assertEquals(expected, actual, delta)`, `Assert.Equal(expected, actual, precision)`.
    let named = option(&all, &["precision", "tolerance", "delta"]);
    match third.or(named) {
        Some(digits) if call.name == "Equal" && digits >= 1.0 => {
            assertion.within(Some(10_f64.powf(-digits)))
        }
        Some(delta) => assertion.within(Some(delta)),
        None => assertion,
    }
}

/// The number after one of these names and `=` or `:`.
fn option(tokens: TokenSlice<'_, '_>, names: &[&str]) -> Option<f64> {
    tokens.windows(3).find_map(|three| {
        (names.contains(&three[0]) && matches!(three[1], "=" | ":")).then(|| number(&three[2..]))?
    })
}
