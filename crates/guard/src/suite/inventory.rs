//! The tests of one text: their names, assertions and skip conditions.

mod attributed;
pub(super) mod compiled;
mod conditions;
mod go;
mod inside;
mod javascript;
mod macros;
mod python;
mod reached;
mod rows;

use std::collections::BTreeSet;
use std::ops::Range;

use self::compiled::PackageFeatures;
use self::macros::MacroDefinition;
use self::python::TestClasses;
use super::assertions::{self, Assertion};
use super::expression::{is_name, joined};
use crate::facts::{FunctionNode, SourceSide, is_comment, tokens};
use moai_base::limits::TEST_ROWS_MAX;
use moai_base::path::RelPath;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

/// Between the names of the groups around a test, and its own.
pub(super) const GROUP_SEPARATOR: &str = " > ";

pub(super) struct TestCase<'t> {
    pub(super) path: &'t RelPath,
    /// Qualified by the names of its groups.
    pub(super) name: String,
    pub(super) node: SyntaxNode<'t>,
    pub(super) tokens: Vec<&'t str>,
    /// Markers that skip or select it, or other tests.
    pub(super) marks: Vec<TestMarker>,
    /// Those that are reached.
    pub(super) assertions: Vec<Assertion>,
    /// The sets of values with which it runs.
    pub(super) rows: TestRows,
    /// True if it can assert; a planned test without a body cannot.
    pub(super) has_body: bool,
    /// True for an assertion helper, which is not a test.
    pub(super) is_helper: bool,
    /// True if a macro of the project generates it, so that its assertions are unknown.
    pub(super) is_made: bool,
}

/// Something that keeps tests from running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TestMarker {
    pub(super) kind: TestMarkerKind,
    /// As written in the code.
    pub(super) text: String,
    pub(super) bytes: Range<usize>,
}

/// The effect of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestMarkerKind {
    /// Keeps every other test from running.
    Only,
    /// Keeps it from running on some machines, or where something is not installed.
    Machine,
    /// Keeps it from running under a condition that anybody can make true.
    Conditional,
    /// Keeps it from running, or takes a failure for success.
    Skip,
}

/// The values that a test runs with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TestRows {
    /// One text for each that is known; empty when it runs once.
    pub(super) texts: BTreeSet<String>,
    /// True if further rows are generated elsewhere.
    pub(super) is_open: bool,
}

impl TestMarker {
    /// True if it skips its test unconditionally.
    pub(super) fn is_skip(&self) -> bool {
        self.kind == TestMarkerKind::Skip
    }
}

impl TestRows {
    pub(super) fn count(&self) -> usize {
        self.texts.len().max(1)
    }

    fn with(&mut self, other: Self) {
        self.is_open |= other.is_open;
        if self.texts.is_empty() {
            self.texts = other.texts;
        } else if self.texts.len().saturating_mul(other.texts.len()) > TEST_ROWS_MAX {
            self.is_open = true;
        } else if !other.texts.is_empty() {
            let both =
                |one: &String| other.texts.iter().map(|two| format!("{one} / {two}")).collect();
            self.texts = self.texts.iter().flat_map(|one| -> Vec<String> { both(one) }).collect();
        }
    }
}

impl TestCase<'_> {
    /// Its own name without those around it.
    pub(super) fn simple_name(&self) -> &str {
        self.name.rsplit(GROUP_SEPARATOR).next().unwrap_or(&self.name)
    }

    /// Number of subtests written in it in sequence.
    pub(super) fn steps(&self) -> usize {
        let runs = ["Run", "subTest", "step", "DynamicTest"];
        self.tokens.iter().filter(|token| runs.contains(*token)).count()
    }

    /// True if it repeats the same with several values.
    pub(super) fn repeats(&self) -> bool {
        let is_own = self.rows.is_open || self.rows.count() > 1;
        is_own || self.assertions.iter().any(|assertion| assertion.is_repeated)
    }

    pub(super) fn callees(&self) -> BTreeSet<&str> {
        let called = self.tokens.windows(2).filter(|two| two[1] == "(" && is_name(two[0]));
        called.map(|two| two[0]).filter(|name| !KEYWORDS.contains(name)).collect()
    }
}

/// Keywords before a bracket, which are not functions, and functions that only iterate.
const KEYWORDS: [&str; 16] = [
    "for", "if", "while", "switch", "catch", "return", "in", "of", "with", "foreach", "forEach",
    "for_each", "subTest", "match", "and", "or",
];

/// The project's asserting functions by name, with their assertions.
pub(super) type AssertionHelpers = std::collections::BTreeMap<String, Vec<Assertion>>;

/// What the texts of one side say about the tests of each other.
pub(super) struct ProjectCode<'t> {
    features: PackageFeatures,
    macros: Vec<MacroDefinition<'t>>,
    classes: TestClasses<'t>,
}

impl<'t> ProjectCode<'t> {
    pub(super) fn new<'s>(
        sides: impl Iterator<Item = &'s SourceSide<'t>> + Clone,
        features: PackageFeatures,
    ) -> Self
    where
        't: 's,
    {
        let macros = sides.clone().flat_map(macros::definitions).collect();
        Self { features, macros, classes: TestClasses::new(sides) }
    }
}

/// The tests of a text.
pub(super) fn tests<'t>(
    side: &SourceSide<'t>,
    helpers: &AssertionHelpers,
    code: &ProjectCode<'t>,
) -> Vec<TestCase<'t>> {
    let features = code.features.features(side.path);
    let found = match side.language {
        ScanLanguage::Python => python::tests(side, &code.classes),
        ScanLanguage::Go => go::tests(side),
        ScanLanguage::Rust => {
            let plain = attributed::tests(side, features).into_iter();
            plain.chain(macros::tests(side, &code.macros, features)).collect()
        }
        ScanLanguage::Java | ScanLanguage::CSharp => attributed::tests(side, features),
        _ => javascript::tests(side),
    };
    let is_helper =
        |name: &str| helpers.get(name).is_some_and(|inside| inside.iter().any(|it| !it.is_vacuous));
    let reader = TestReader { side, is_helper: &is_helper };
    let mut tests: Vec<TestCase<'t>> =
        found.into_iter().filter_map(|found| reader.test(found)).collect();
    let functions = side.functions.iter().filter(|function| {
        let bytes = function.node.bytes();
        let is_inside = |test: &TestCase<'_>| {
            test.node.bytes().start <= bytes.start && bytes.end <= test.node.bytes().end
        };
        side.is_test_at(bytes.start) && !tests.iter().any(is_inside)
    });
    let helpers = functions.filter_map(|function| reader.helper(function)).collect::<Vec<_>>();
    tests.extend(helpers);
    tests
}

/// A test as the rules of its language find it.
struct TestNode<'t> {
    name: String,
    node: SyntaxNode<'t>,
    body: Option<SyntaxNode<'t>>,
    marks: Vec<TestMarker>,
    rows: TestRows,
    /// Assertions outside its body.
    assertions: Vec<Assertion>,
    /// The tests and groups in its body, whose contents do not count as its own.
    inner: Vec<SyntaxNode<'t>>,
    /// True if a macro of the project makes it.
    is_made: bool,
}

/// The asserting functions of test code that are not tests.
pub(super) fn helpers(side: &SourceSide<'_>) -> AssertionHelpers {
    let mut helpers = AssertionHelpers::new();
    let never = |_: &str| false;
    let reader = TestReader { side, is_helper: &never };
    for function in &side.functions {
        let simple = function.name.rsplit('.').next().unwrap_or_default().to_owned();
        if side.is_test_at(function.node.bytes().start) || go::takes_test(side, function) {
            let assertions = reader.assertions(function.body, &[]);
            if !assertions.is_empty() {
                helpers.insert(simple, assertions);
            }
        }
    }
    helpers
}

struct TestReader<'s, 't> {
    side: &'s SourceSide<'t>,
    is_helper: &'s dyn Fn(&str) -> bool,
}

impl<'t> TestReader<'_, 't> {
    /// A test; `None` for a group of tests.
    fn test(&self, found: TestNode<'t>) -> Option<TestCase<'t>> {
        let mut assertions = found.assertions;
        let mut marks = found.marks;
        if let Some(body) = found.body {
            assertions.extend(self.assertions(body, &found.inner));
            marks.extend(inside::skips((body, &found.inner), self.side));
        }
        if !found.inner.is_empty() && assertions.iter().all(|it| it.is_vacuous) {
            return None;
        }
        let tokens = tokens_outside(found.body.unwrap_or(found.node), &found.inner);
        let has_body = found.body.is_some() && !tokens.is_empty();
        Some(TestCase {
            path: self.side.path,
            name: found.name,
            node: found.node,
            tokens,
            marks,
            assertions,
            rows: found.rows,
            has_body,
            is_helper: false,
            is_made: found.is_made,
        })
    }

    /// A function that asserts for tests.
    fn helper(&self, function: &FunctionNode<'t>) -> Option<TestCase<'t>> {
        let assertions = self.assertions(function.body, &[]);
        (!assertions.is_empty()).then(|| TestCase {
            path: self.side.path,
            name: function.name.clone(),
            node: function.node,
            tokens: tokens(function.body),
            marks: Vec::new(),
            assertions,
            rows: TestRows::default(),
            has_body: true,
            is_helper: true,
            is_made: false,
        })
    }

    /// The assertions below a node that can be reached, whose failure is not swallowed, and that
    /// are not those of an inner test.
    fn assertions(&self, body: SyntaxNode<'t>, inner: &[SyntaxNode<'t>]) -> Vec<Assertion> {
        let mut found = Vec::new();
        self.collect(body, (body, inner), &mut found);
        assertions::settle(&mut found, body);
        found
    }

    fn collect(
        &self,
        node: SyntaxNode<'t>,
        test: (SyntaxNode<'t>, &[SyntaxNode<'t>]),
        found: &mut Vec<Assertion>,
    ) {
        let (body, others) = test;
        if others.contains(&node) {
            return;
        }
        // Some `if` statements of Go are assertions.
        let is_dead = reached::truth_of(node) == Some(false);
        let mut own = assertions::read(node, self.side.language, self.is_helper);
        own.retain(|_| !is_dead);
        if !own.is_empty() && reached::is_promise_dropped(node) {
            return;
        }
        if !own.is_empty() {
            let rows = rows::around(node, body, self.side.root);
            found.extend(own.into_iter().map(|own| Assertion {
                weight: own.weight * rows.count(),
                worth: own.worth * rows.count(),
                is_repeated: rows.is_open || rows.count() > 1,
                is_open: rows.is_open,
                ..own
            }));
            // Assertions nested in an assertion belong to it, except in blocks.
            for block in node.named_children().into_iter().flat_map(blocks) {
                self.collect(block, test, found);
            }
            return;
        }
        if reached::is_never_called(node, body) || reached::is_left_running(node) {
            return;
        }
        for child in reached::reached_children(node) {
            self.collect(child, test, found);
        }
    }
}

/// The tokens of a node without those of some nodes inside.
fn tokens_outside<'t>(node: SyntaxNode<'t>, others: &[SyntaxNode<'t>]) -> Vec<&'t str> {
    let bytes = node.bytes();
    let is_around = |other: &SyntaxNode<'t>| {
        bytes.start <= other.bytes().start && other.bytes().end <= bytes.end
    };
    if others.contains(&node) {
        Vec::new()
    } else if others.iter().any(is_around) {
        let children = node.children().into_iter();
        children.flat_map(|child| tokens_outside(child, others)).collect()
    } else {
        tokens(node)
    }
}

/// The outermost blocks of functions below a node.
fn blocks(node: SyntaxNode<'_>) -> Vec<SyntaxNode<'_>> {
    let mut blocks = Vec::new();
    node.walk(&mut |node| {
        let is_block = matches!(node.kind(), "statement_block" | "block");
        if is_block {
            blocks.push(node);
        }
        !is_block
    });
    blocks
}

/// The children of a node without comments.
fn parts(node: SyntaxNode<'_>) -> Vec<SyntaxNode<'_>> {
    node.named_children().into_iter().filter(|child| !is_comment(*child)).collect()
}

/// The displayed name of a test, with its groups.
fn qualified(names: &[String]) -> String {
    names.join(GROUP_SEPARATOR)
}

/// The text of the tokens of a node without white space.
fn tight(node: SyntaxNode<'_>) -> String {
    joined(&tokens(node)).replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_of_values_are_bounded() {
        let list = |length: usize| TestRows {
            texts: (0..length).map(|value| value.to_string()).collect(),
            is_open: false,
        };
        let mut rows = list(100);
        rows.with(list(100));
        assert_eq!((rows.count(), rows.is_open), (10_000, false));
        rows.with(list(2));
        assert_eq!((rows.count(), rows.is_open), (10_000, true));
    }
}
