//! Asserting calls of the libraries, and the actual value in a chain of calls.

use super::arguments::{direct, of_matcher};
use super::conditions::of_condition;
use super::{Assertion, AssertionKind, valued};
use crate::facts::tokens;
use crate::suite::calls::{CallNode, callee};
use crate::suite::expression::{TokenSlice, bare, is_literal, is_name, is_size, is_truth, number};
use crate::suite::words::{MatcherWord, meaning, meaning_in_chain};
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

/// A property that asserts: `expect(x).to.be.true`.
pub(super) fn of_property(node: SyntaxNode<'_>) -> Vec<Assertion> {
    let is_whole = node.parent().is_some_and(|parent| parent.kind() == "expression_statement");
    if !is_whole {
        return Vec::new();
    }
    let Some((_, name)) = callee(node) else { return Vec::new() };
    // Matchers of jest and vitest must be called: `expect(x).toBe;` asserts nothing.
    let is_called =
        name.text().strip_prefix("to").is_some_and(|it| it.starts_with(char::is_uppercase));
    let is_property = |word: MatcherWord| {
        matches!(
            word,
            MatcherWord::True
                | MatcherWord::False
                | MatcherWord::Truthy
                | MatcherWord::Falsy
                | MatcherWord::Nothing
                | MatcherWord::Called
                | MatcherWord::Once
        )
    };
    if is_called || !meaning(name.text()).is_some_and(|(word, _)| is_property(word)) {
        return Vec::new();
    }
    chained(node, name.text(), &[], None)
}

pub(super) fn of_call(
    call: &CallNode<'_>,
    language: ScanLanguage,
    is_helper: &dyn Fn(&str) -> bool,
) -> Vec<Assertion> {
    let path = call.path();
    let root = path.first().copied().unwrap_or_default();
    if matches!(call.name, "expect" | "Should" | "should") {
        // Rust's `expect` takes a value out of a result.
        return if language == ScanLanguage::Rust { Vec::new() } else { of_chain_start(call) };
    }
    if let ("Expect" | "Eventually", "To" | "NotTo" | "ToNot" | "Should" | "ShouldNot") =
        (root, call.name)
    {
        return of_gomega(call);
    }
    if let Some(found) = of_shouldly(call, language) {
        return found;
    }
    if is_fluent(root, &path) && path.len() > 1 {
        return chained(call.node, call.name, &call.arguments(), call.generics);
    }
    let is_own = path.len() == 1 || matches!(path.as_slice(), ["self" | "this", _]);
    if is_own && is_helper(call.name) {
        return custom(call, is_helper);
    }
    let mut arguments = call.arguments();
    if let Some(found) = of_checker(call, &arguments, language) {
        return found;
    }
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
                | "Require"
                | "ClassicAssert"
                | "is"
        );
    let is_pytest = matches!(path.as_slice(), ["pytest", "raises" | "warns"] | ["raises"]);
    let is_tap =
        language != ScanLanguage::Go && path.len() == 2 && root == "t" && !is_runner(call.name);
    let is_suite = language == ScanLanguage::Go
        && matches!(path.as_slice(), ["s" | "suite" | "ts", name] if name.starts_with(char::is_uppercase));
    if !(is_assert || is_library || is_pytest || is_tap || is_suite) {
        return custom(call, is_helper);
    }
    let is_test = |it: &&[&str]| matches!(it, ["t" | "b" | "tb"] | [_, ".", "T", "(", ")"]);
    if language == ScanLanguage::Go && arguments.first().is_some_and(is_test) {
        arguments.remove(0);
    }
    if matches!(call.name, "assertThat" | "That" | "assert_that") {
        return of_matcher(call, &arguments, false);
    }
    let is_script =
        matches!(language, ScanLanguage::JavaScript | ScanLanguage::TypeScript | ScanLanguage::Tsx);
    let name = match call.name {
        _ if path.as_slice() == ["assert"] => "assertTrue",
        "ok" | "isOk" if is_script => "assertTrue",
        "error" if is_tap => "ifError",
        name => name,
    };
    let Some((word, is_contrary)) = meaning(name) else { return custom(call, is_helper) };
    let expects_first =
        matches!(language, ScanLanguage::Java | ScanLanguage::CSharp | ScanLanguage::Go);
    direct(call, (word, is_contrary), &arguments, expects_first)
}

/// `expect(x)` asserts nothing yet; `request.get("/").expect(200)` and `cy.get("a").should("exist")`
/// do.
fn of_chain_start(call: &CallNode<'_>) -> Vec<Assertion> {
    let Some(receiver) = call.receiver.filter(|_| !call.arguments().is_empty()) else {
        return Vec::new();
    };
    let expected = call.arguments().join(&",");
    let check = if call.name == "expect" { AssertionKind::Equal } else { AssertionKind::Custom };
    vec![Assertion::new(call.node, check, &tokens(receiver), &expected)]
}

/// `Expect(x).To(Equal(3))`
fn of_gomega(call: &CallNode<'_>) -> Vec<Assertion> {
    let Some(start) = call.receiver.and_then(CallNode::read) else { return Vec::new() };
    let (values, matchers) = (start.arguments(), call.arguments());
    let (Some(subject), Some(matcher)) = (values.first(), matchers.first()) else {
        return Vec::new();
    };
    let is_contrary = call.name.contains("Not");
    of_matcher(call, &[subject, matcher], is_contrary)
}

/// `c.Assert(x, qt.Equals, 3)` of quicktest and gocheck.
fn of_checker(
    call: &CallNode<'_>,
    arguments: &[TokenSlice<'_, '_>],
    language: ScanLanguage,
) -> Option<Vec<Assertion>> {
    let is_call = language == ScanLanguage::Go && matches!(call.name, "Assert" | "Check");
    let [subject, checker, rest @ ..] = arguments else { return None };
    let is_checker = checker.first() == Some(&"qt") || checker == &["Equals"];
    if !is_call || !is_checker {
        return None;
    }
    let is_not = checker.contains(&"Not");
    let name = checker.iter().rev().find(|it| is_name(it))?;
    let expected = rest.first().copied().unwrap_or_default();
    let known = meaning(name).or_else(|| meaning(name.trim_end_matches('s')));
    Some(match known {
        Some((MatcherWord::True, is_contrary)) => {
            of_condition(call.node, subject, is_contrary ^ is_not)
        }
        Some((MatcherWord::False, is_contrary)) => {
            of_condition(call.node, subject, is_contrary == is_not)
        }
        Some((word, is_contrary)) => {
            vec![valued(call.node, word, is_contrary ^ is_not, subject, expected)]
        }
        None => vec![Assertion::new(call.node, AssertionKind::Custom, subject, expected)],
    })
}

/// `x.ShouldBe(3)`
fn of_shouldly(call: &CallNode<'_>, language: ScanLanguage) -> Option<Vec<Assertion>> {
    let receiver = call.receiver.filter(|_| language == ScanLanguage::CSharp)?;
    let rest = call.name.strip_prefix("Should").filter(|rest| !rest.is_empty())?;
    let (word, is_contrary) = meaning(rest)?;
    let first = call.arguments().first().map(|it| it.to_vec()).unwrap_or_default();
    let expected = call.generics.map_or(first, |kind| vec![kind]);
    Some(vec![valued(call.node, word, is_contrary, &tokens(receiver), &expected)])
}

/// Methods of a test's own object that assert nothing.
fn is_runner(name: &str) -> bool {
    meaning(name).is_none()
        || ["test", "plan", "end", "skip", "todo", "is", "calls", "value", "any"].contains(&name)
}

/// True if the names of a chain are those of a fluent library.
fn is_fluent(root: &str, path: &[&str]) -> bool {
    matches!(root, "expect" | "assertThat" | "expectTypeOf" | "assert_that" | "expectThat")
        || matches!(path, ["Assert", "That", ..] | ["Assertions", "assertThat", ..] if path.len() > 2)
        || path[..path.len() - 1].iter().any(|name| matches!(*name, "Should" | "should"))
}

/// A function that asserts by its name, or as one of the project's helpers.
fn custom(call: &CallNode<'_>, is_helper: &dyn Fn(&str) -> bool) -> Vec<Assertion> {
    let lower = call.name.to_lowercase();
    // A check by the compiler alone is not an assertion at run time.
    let is_of_types = lower.starts_with("expect") && lower.contains("type")
        || ["expectassignable", "expectunknown", "asserttype"].contains(&lower.as_str());
    if is_of_types {
        return Vec::new();
    }
    let words = ["assert", "verify", "expect", "andexpect"];
    let helpers = ["check", "ensure", "must", "should", "require", "validate"];
    let is_any = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    let is_helper = is_helper(call.name);
    if !is_any(&words) && !is_helper {
        return Vec::new();
    }
    // A preparing function asserts only incidentally, so its removal is no loss.
    let weight = usize::from(is_any(&words) || is_any(&helpers));
    let subject = call.arguments().first().map(|it| it.to_vec()).unwrap_or_default();
    let check = if lower == "verify" { AssertionKind::Called } else { AssertionKind::Custom };
    vec![Assertion { weight, ..Assertion::new(call.node, check, &subject, &[]) }]
}

/// The part of a chain before its last link.
#[derive(Default)]
struct CallChain<'t> {
    subject: Vec<&'t str>,
    is_contrary: bool,
    /// True if another link of it asserts.
    has_other: bool,
}

impl<'t> CallChain<'t> {
    /// Reads the links from the last to the value.
    fn read(node: SyntaxNode<'t>) -> Self {
        let (mut chain, mut at) = (Self::default(), callee_of(node));
        while let Some(link) = at {
            if let Some(call) = CallNode::read(link) {
                if matches!(call.name, "expect" | "assertThat" | "That" | "assert_that") {
                    let first = call.arguments().first().map(|it| it.to_vec());
                    chain.subject = first.unwrap_or_default();
                    break;
                }
                if matches!(call.name, "Should" | "should") {
                    chain.subject = call.receiver.map(tokens).unwrap_or_default();
                    break;
                }
                chain.has_other |= meaning_in_chain(call.name).is_some();
                at = call.receiver;
                continue;
            }
            let Some((receiver, name)) = callee(link) else { break };
            match name.text() {
                "not" | "Not" | "never" => chain.is_contrary = !chain.is_contrary,
                "should" => {
                    chain.subject = receiver.map(tokens).unwrap_or_default();
                    break;
                }
                _ => {}
            }
            at = receiver;
        }
        chain
    }
}

/// The last link of a chain that began with the value.
fn chained(
    node: SyntaxNode<'_>,
    name: &str,
    arguments: &[TokenSlice<'_, '_>],
    generics: Option<&str>,
) -> Vec<Assertion> {
    let CallChain { subject, is_contrary, has_other } = CallChain::read(node);
    if subject.is_empty() {
        return Vec::new();
    }
    let Some((word, is_turned)) = meaning_in_chain(name) else {
        // A matcher of an unknown library, unless a known one precedes it.
        let is_last = node.parent().is_some_and(|parent| ENDS.contains(&parent.kind()));
        let expected = arguments.join(&",");
        let own = Assertion::new(node, AssertionKind::Custom, bare(&subject), &expected);
        return if is_last && !has_other { vec![own] } else { Vec::new() };
    };
    let is_contrary = is_contrary ^ is_turned;
    let expected = match generics {
        Some(kind) => vec![kind],
        None if takes_all(name) => arguments.join(&","),
        None => arguments.first().map(|it| it.to_vec()).unwrap_or_default(),
    };
    let assertion = match word {
        MatcherWord::True | MatcherWord::False => {
            return of_condition(node, &subject, is_contrary ^ (word == MatcherWord::False));
        }
        MatcherWord::Equal
            if expected.len() == 1 && is_truth(expected[0]).is_some() && !is_literal(&subject) =>
        {
            let is_false = is_truth(expected[0]) == Some(false);
            return of_condition(node, &subject, is_contrary ^ is_false);
        }
        _ => valued(node, word, is_contrary, bare(&subject), &expected),
    };
    let is_never_negative = word == MatcherWord::Partial
        && is_size(&subject)
        && expected == ["0"]
        && name.to_lowercase().contains("orequal");
    let assertion = if is_never_negative { assertion.vacuous() } else { assertion };
    if takes_all(name) {
        let worth = assertion.worth.max(arguments.len());
        return vec![Assertion { worth, ..assertion }];
    }
    if word != MatcherWord::Close {
        return vec![assertion];
    }
    let digits = arguments.get(1).and_then(|it| it.iter().rev().find_map(|it| number(&[it])));
    let tolerance = match name {
        "toBeCloseTo" => Some(digits.map_or(0.005, |digits| 10_f64.powf(-digits) / 2.0)),
        _ => digits,
    };
    vec![assertion.within(tolerance)]
}

/// The ends of a chain.
const ENDS: [&str; 5] =
    ["expression_statement", "await_expression", "return_statement", "arrow_function", "await"];

/// True if all arguments of a matcher are expected values: `containsExactly("a", "b")`.
fn takes_all(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.contains("calledwith")
        || lower.contains("oncewith")
        || lower.starts_with("containsexactly")
}

/// The receiver of a chain's last name.
fn callee_of(node: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    match CallNode::read(node) {
        Some(call) => call.receiver,
        None => callee(node)?.0,
    }
}
