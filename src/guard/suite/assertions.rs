//! What a test asserts, and how strongly. It must not know what the test was before.

use std::ops::Range;

use super::calls::{Call, callee};
use super::expression::{
    Relation, Tokens, bare, comparison, is_literal, is_name, is_nothing, is_truth, joined, number,
    shape, split, value_count,
};
use super::words::{Word, is_wildcard, meaning};
use crate::guard::facts::tokens;
use crate::scan::syntax::{Language, Node};

/// How an assertion checks, from what proves little to what proves much. Those that are not
/// comparable have no strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// A function of the project or a library, whatever it checks.
    Custom,
    /// The value accepts anything.
    Anything,
    /// It is there, counts as true, or differs from something.
    Truthy,
    /// It counts as false or is empty.
    Falsy,
    /// It was called.
    Called,
    /// Type or size.
    Shape,
    /// It contains, matches, is larger.
    Partial,
    /// Nearly equal.
    Close,
    /// Equal.
    Equal,
    /// Throws.
    Raises,
    /// As recorded.
    Snapshot,
}

impl Check {
    pub(super) fn strength(self) -> Option<u8> {
        match self {
            Self::Custom | Self::Snapshot => None,
            Self::Anything => Some(1),
            Self::Truthy | Self::Falsy | Self::Called => Some(2),
            Self::Shape | Self::Partial => Some(3),
            Self::Close => Some(4),
            Self::Equal | Self::Raises => Some(5),
        }
    }
}

/// One assertion.
#[derive(Clone, Debug)]
pub(super) struct Assertion {
    pub(super) check: Check,
    /// What is asserted about, as tokens.
    pub(super) subject: Vec<String>,
    /// What it is compared with; the class and message of an exception. May be empty.
    pub(super) expected: Vec<String>,
    /// How far a value may be away.
    pub(super) tolerance: Option<f64>,
    /// The whole, as tokens.
    pub(super) text: String,
    /// The whole without literals and variables.
    pub(super) shape: String,
    pub(super) bytes: Range<usize>,
    /// How many values it compares: repetitions over a list times parts of a literal.
    pub(super) weight: usize,
    /// Whether it is repeated over a list.
    pub(super) is_repeated: bool,
    /// Whether it is repeated nobody knows how often.
    pub(super) is_open: bool,
    /// Whether it holds whatever the code does.
    pub(super) is_vacuous: bool,
}

impl Assertion {
    fn new(
        node: Node<'_>,
        check: Check,
        subject: Tokens<'_, '_>,
        expected: Tokens<'_, '_>,
    ) -> Self {
        let all = tokens(node);
        let is_exact = matches!(check, Check::Equal | Check::Close);
        let weight = if is_exact && is_composite(expected) { value_count(expected) } else { 1 };
        let check = match check {
            Check::Equal | Check::Partial if is_wildcard(&joined(expected)) => Check::Anything,
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
            is_repeated: false,
            is_open: false,
            is_vacuous: check == Check::Equal && is_self_evident(subject, expected),
        }
    }

    fn vacuous(self) -> Self {
        Self { is_vacuous: true, ..self }
    }

    fn within(self, tolerance: Option<f64>) -> Self {
        Self { check: Check::Close, tolerance, is_vacuous: false, ..self }
    }
}

fn owned(tokens: Tokens<'_, '_>) -> Vec<String> {
    tokens.iter().map(|token| (*token).to_owned()).collect()
}

/// Whether a literal is a collection.
fn is_composite(tokens: Tokens<'_, '_>) -> bool {
    tokens.len() > 2 && tokens.iter().any(|token| matches!(*token, "[" | "{" | "(" | "vec"))
}

/// Whether both sides are the same whatever the code does: two literals, or one name twice. What is
/// called twice may differ.
fn is_self_evident(left: Tokens<'_, '_>, right: Tokens<'_, '_>) -> bool {
    let is_same = joined(bare(left)) == joined(bare(right)) && !left.is_empty();
    is_same && (is_literal(left) || !left.iter().any(|token| matches!(*token, "(" | "!" | "++")))
}

/// An exception that an attribute expects.
pub(super) fn expected_error(node: Node<'_>, expected: &str) -> Assertion {
    let expected: Vec<&str> = expected.split(' ').filter(|it| !it.is_empty()).collect();
    Assertion::new(node, Check::Raises, &[], &expected)
}

/// The assertions of a statement or call; empty for any other node. `is_helper` tells the functions
/// of the project that assert.
pub(super) fn read(
    node: Node<'_>,
    language: Language,
    is_helper: &dyn Fn(&str) -> bool,
) -> Vec<Assertion> {
    match node.kind() {
        "assert_statement" => {
            // Java's has its condition first as well.
            let condition = node.named_children().first().map(|it| tokens(*it));
            of_condition(node, &condition.unwrap_or_default(), false)
        }
        "if_statement" if language == Language::Go => of_go_if(node),
        "member_expression" => of_property(node),
        _ => Call::read(node).map(|call| of_call(&call, language, is_helper)).unwrap_or_default(),
    }
}

/// `if got != want { t.Errorf(…) }`
fn of_go_if(node: Node<'_>) -> Vec<Assertion> {
    let (Some(condition), Some(body)) = (node.field("condition"), node.field("consequence")) else {
        return Vec::new();
    };
    let fails = ["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];
    let is_failure = body.named_children().iter().flat_map(|it| it.named_children()).any(|it| {
        let mut calls = vec![it];
        calls.extend(it.named_children());
        calls.into_iter().filter_map(Call::read).any(|call| {
            fails.contains(&call.name) && call.receiver.is_some_and(|it| it.text().len() <= 2)
        })
    });
    if is_failure { of_condition(node, &tokens(condition), true) } else { Vec::new() }
}

/// What a condition asserts, or its contrary.
fn of_condition(node: Node<'_>, condition: Tokens<'_, '_>, is_contrary: bool) -> Vec<Assertion> {
    let condition = bare(condition);
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

/// A condition without `and`, `or` and `not`.
fn of_single(node: Node<'_>, condition: Tokens<'_, '_>, is_contrary: bool) -> Assertion {
    let new = |check, subject, expected| Assertion::new(node, check, subject, expected);
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
        (is_called && ends_behind(condition, at + 1)).then_some((at, *token))
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
        "matches" if receiver.is_empty() => new(Check::Shape, first, second),
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

fn is_size(tokens: Tokens<'_, '_>) -> bool {
    matches!(tokens, ["len", "(", ..] | [.., ".", "length" | "Length" | "Count" | "size"])
        || matches!(tokens, [.., ".", "len" | "size" | "length" | "Count", "(", ")"])
}

/// The number behind one of some names and `=` or `:`.
fn option(tokens: Tokens<'_, '_>, names: &[&str]) -> Option<f64> {
    tokens.windows(3).find_map(|three| {
        (names.contains(&three[0]) && matches!(three[1], "=" | ":")).then(|| number(&three[2..]))?
    })
}

/// A property that asserts: `expect(x).to.be.true`.
fn of_property(node: Node<'_>) -> Vec<Assertion> {
    let is_whole = node.parent().is_some_and(|parent| parent.kind() == "expression_statement");
    if !is_whole {
        return Vec::new();
    }
    let Some((_, name)) = callee(node) else { return Vec::new() };
    chained(node, name.text(), &[], None)
}

fn of_call(
    call: &Call<'_>,
    language: Language,
    is_helper: &dyn Fn(&str) -> bool,
) -> Vec<Assertion> {
    let path = call.path();
    let root = path.first().copied().unwrap_or_default();
    if call.name == "expect" || call.name == "Should" || call.name == "should" {
        return Vec::new();
    }
    if is_fluent(root, &path) && path.len() > 1 {
        return chained(call.node, call.name, &call.arguments(), call.generics);
    }
    if path.len() == 1 && is_helper(call.name) {
        return custom(call, is_helper);
    }
    let mut arguments = call.arguments();
    let lower = call.name.to_lowercase();
    let is_assert = lower.starts_with("assert")
        || lower.starts_with("prop_assert")
        || lower.starts_with("debug_assert");
    let is_library = path.len() > 1
        && matches!(
            path[path.len() - 2],
            "assert"
                | "Assert"
                | "Assertions"
                | "require"
                | "chai"
                | "CollectionAssert"
                | "StringAssert"
                | "ClassicAssert"
                | "is"
        );
    let is_pytest = matches!(path.as_slice(), ["pytest", "raises" | "warns"] | ["raises"]);
    let is_tap =
        language != Language::Go && path.len() == 2 && root == "t" && !is_runner(call.name);
    if !(is_assert || is_library || is_pytest || is_tap) {
        return custom(call, is_helper);
    }
    if language == Language::Go && is_library && arguments.first().is_some_and(|it| it.len() == 1) {
        arguments.remove(0);
    }
    if matches!(call.name, "assertThat" | "That" | "assert_that") {
        return of_matcher(call, &arguments);
    }
    let name = if path.as_slice() == ["assert"] { "assertTrue" } else { call.name };
    let Some((word, is_contrary)) = meaning(name) else { return custom(call, is_helper) };
    let expects_first = matches!(language, Language::Java | Language::CSharp | Language::Go);
    direct(call, (word, is_contrary), &arguments, expects_first)
}

/// Methods of a test's own object that assert nothing.
fn is_runner(name: &str) -> bool {
    meaning(name).is_none()
        || ["test", "plan", "end", "skip", "todo", "is", "calls", "value", "any"].contains(&name)
}

/// Whether the names of a chain are those of a fluent library.
fn is_fluent(root: &str, path: &[&str]) -> bool {
    matches!(root, "expect" | "assertThat" | "expectTypeOf" | "assert_that" | "expectThat")
        || matches!(path, ["Assert", "That", ..] | ["Assertions", "assertThat", ..] if path.len() > 2)
        || path[..path.len() - 1].iter().any(|name| matches!(*name, "Should" | "should"))
}

/// A function that asserts by its name, or because it is one of the project's own.
fn custom(call: &Call<'_>, is_helper: &dyn Fn(&str) -> bool) -> Vec<Assertion> {
    let lower = call.name.to_lowercase();
    let is_named = ["assert", "verify", "expect"].iter().any(|word| lower.starts_with(word));
    if !is_named && !is_helper(call.name) {
        return Vec::new();
    }
    let subject = call.arguments().first().map(|it| it.to_vec()).unwrap_or_default();
    let check = if lower == "verify" { Check::Called } else { Check::Custom };
    vec![Assertion::new(call.node, check, &subject, &[])]
}

/// An assertion with its values as arguments.
fn direct(
    call: &Call<'_>,
    (word, is_contrary): (Word, bool),
    arguments: &[Tokens<'_, '_>],
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
        Word::True => of_condition(call.node, first, is_contrary),
        Word::False => of_condition(call.node, first, !is_contrary),
        Word::Equal | Word::Close => {
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
        Word::Partial => {
            // `assertIn(part, whole)`, `Assert.Contains(part, whole)`, and all others.
            let part_first = matches!(call.name, "assertIn" | "assertNotIn")
                || (expects_first && call.name == "Contains" && !is_literal(second));
            let (subject, expected) = if part_first { (second, first) } else { (first, second) };
            vec![valued(call.node, word, is_contrary, subject, expected)]
        }
        Word::Raises => {
            let class = call.generics.map(|it| vec![it]);
            let is_class_first = class.is_none();
            let class = class.as_deref().unwrap_or(first).to_vec();
            let what = if is_class_first { second } else { first };
            vec![raising(call, &class, what, is_contrary)]
        }
        Word::Shape if call.generics.is_some() => {
            let kind: Vec<&str> = call.generics.into_iter().collect();
            vec![valued(call.node, word, is_contrary, first, &kind)]
        }
        _ => vec![valued(call.node, word, is_contrary, first, second)],
    }
}

/// An exception: its class, and the message where one is asked for.
fn raising(
    call: &Call<'_>,
    class: Tokens<'_, '_>,
    what: Tokens<'_, '_>,
    is_contrary: bool,
) -> Assertion {
    let check = if is_contrary { Check::Truthy } else { Check::Raises };
    let class: Vec<&str> =
        class.iter().copied().filter(|it| !matches!(*it, "class" | ".")).collect();
    let arguments = call.arguments();
    let message = arguments.iter().find(|it| it.first() == Some(&"match"));
    let regex = call.name.contains("egex").then(|| what.to_vec()).unwrap_or_default();
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
fn of_matcher(call: &Call<'_>, arguments: &[Tokens<'_, '_>]) -> Vec<Assertion> {
    let (subject, matcher) = match arguments {
        [] => return Vec::new(),
        [_] if call.name != "That" => return Vec::new(),
        [condition] => return of_condition(call.node, condition, false),
        [subject, matcher, ..] if matcher.iter().any(|it| *it == "(" || *it == ".") => {
            (*subject, *matcher)
        }
        [condition, ..] => return of_condition(call.node, condition, false),
    };
    let mut is_contrary = false;
    let mut found = None;
    for (at, name) in matcher.iter().enumerate() {
        match *name {
            "is" | "Is" | "Has" | "Does" | "Matchers" | "CoreMatchers" | "Throws"
                if *name != "Throws" => {}
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
                return vec![Assertion::new(call.node, Check::Raises, subject, &class)];
            }
            _ => {
                found = found.or_else(|| {
                    let (word, contrary) = meaning(name).filter(|_| name.len() > 2)?;
                    is_contrary ^= contrary;
                    Some((word, at))
                })
            }
        }
    }
    let (word, at) = found.unwrap_or((Word::Equal, 0));
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

/// The last link of a chain that began with the value.
fn chained(
    node: Node<'_>,
    name: &str,
    arguments: &[Tokens<'_, '_>],
    generics: Option<&str>,
) -> Vec<Assertion> {
    let Some((word, mut is_contrary)) = meaning(name) else { return Vec::new() };
    let (mut at, mut subject) = (callee_of(node), Vec::new());
    while let Some(link) = at {
        if let Some(call) = Call::read(link) {
            if matches!(call.name, "expect" | "assertThat" | "That" | "assert_that") {
                subject = call.arguments().first().map(|it| it.to_vec()).unwrap_or_default();
                break;
            }
            if matches!(call.name, "Should" | "should") {
                subject = call.receiver.map(tokens).unwrap_or_default();
                break;
            }
            at = call.receiver;
            continue;
        }
        let Some((receiver, name)) = callee(link) else { break };
        match name.text() {
            "not" | "Not" | "never" => is_contrary = !is_contrary,
            "should" => {
                subject = receiver.map(tokens).unwrap_or_default();
                break;
            }
            _ => {}
        }
        at = receiver;
    }
    if subject.is_empty() {
        return Vec::new();
    }
    let expected = match generics {
        Some(kind) => vec![kind],
        None => arguments.first().map(|it| it.to_vec()).unwrap_or_default(),
    };
    let assertion = match word {
        Word::True | Word::False => {
            return of_condition(node, &subject, is_contrary ^ (word == Word::False));
        }
        Word::Equal
            if expected.len() == 1 && is_truth(expected[0]).is_some() && !is_literal(&subject) =>
        {
            let is_false = is_truth(expected[0]) == Some(false);
            return of_condition(node, &subject, is_contrary ^ is_false);
        }
        _ => valued(node, word, is_contrary, bare(&subject), &expected),
    };
    let is_never_negative = word == Word::Partial
        && is_size(&subject)
        && expected == ["0"]
        && name.to_lowercase().contains("orequal");
    let assertion = if is_never_negative { assertion.vacuous() } else { assertion };
    if word != Word::Close {
        return vec![assertion];
    }
    let digits = arguments.get(1).and_then(|it| it.iter().rev().find_map(|it| number(&[it])));
    let tolerance = match name {
        "toBeCloseTo" => Some(digits.map_or(0.005, |digits| 10_f64.powf(-digits) / 2.0)),
        _ => digits,
    };
    vec![assertion.within(tolerance)]
}

/// What the last name of a chain is taken of.
fn callee_of(node: Node<'_>) -> Option<Node<'_>> {
    match Call::read(node) {
        Some(call) => call.receiver,
        None => callee(node)?.0,
    }
}

/// An assertion by its word.
fn valued(
    node: Node<'_>,
    word: Word,
    is_contrary: bool,
    subject: Tokens<'_, '_>,
    expected: Tokens<'_, '_>,
) -> Assertion {
    let check = match (word, is_contrary) {
        (Word::Equal | Word::Snapshot, true) | (Word::Truthy | Word::True, false) => Check::Truthy,
        (Word::Nothing | Word::Falsy | Word::False | Word::Raises, true) => Check::Truthy,
        (Word::Equal, false) => Check::Equal,
        (Word::Nothing, false) => Check::Equal,
        (Word::Falsy | Word::False, false) | (Word::Truthy | Word::True, true) => Check::Falsy,
        (Word::Partial, _) => Check::Partial,
        (Word::Shape, _) => Check::Shape,
        (Word::Close, _) => Check::Close,
        (Word::Raises, false) => Check::Raises,
        (Word::Snapshot, false) => Check::Snapshot,
        (Word::Called, false) => Check::Called,
        (Word::Called, true) => Check::Equal,
    };
    let is_value = matches!(word, Word::Nothing | Word::Called);
    let subject = bare(subject);
    let assertion =
        Assertion::new(node, check, subject, if is_value { &["nothing"] } else { expected });
    // A comparison with null or a literal by a word: `assertNotNone("x")`, `assertTruthy(1)`.
    let holds_anyway = check == Check::Truthy
        && is_literal(subject)
        && !subject
            .iter()
            .any(|it| is_nothing(it) || matches!(*it, "0" | "false" | "False" | "''" | "\"\""))
        && word != Word::Equal;
    if holds_anyway { assertion.vacuous() } else { assertion }
}

/// The tolerance among the arguments behind the values.
fn with_tolerance(
    assertion: Assertion,
    call: &Call<'_>,
    word: Word,
    arguments: &[Tokens<'_, '_>],
) -> Assertion {
    let rest = arguments.get(2..).unwrap_or_default();
    let all: Vec<&str> = rest.iter().flat_map(|it| it.iter().copied()).collect();
    let third = rest.first().and_then(|it| number(it));
    if word == Word::Close {
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
