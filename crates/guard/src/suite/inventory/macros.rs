//! Tests in macros of Rust, which are not parsed: in the tokens of a call such as `proptest!`, and those that
//! a macro of the project makes for its calls. They exist, but their assertions are unknown.

use super::attributed::{EnabledFeatures, mark_in_macro};
use super::{TestNode, TestRows, qualified};
use crate::facts::{SourceSide, normal, tokens};
use crate::suite::assertions::unknown;
use crate::suite::expression::split;
use moai_base::path::RelPath;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

/// Macros that call other macros are followed this far.
const NESTED_CALLS_MAX: usize = 3;

/// A macro of the project.
#[derive(Clone, Copy)]
pub(in crate::suite) struct MacroDefinition<'t> {
    path: &'t RelPath,
    name: &'t str,
    node: SyntaxNode<'t>,
}

/// The macros that a text defines.
pub(in crate::suite) fn definitions<'t>(side: &SourceSide<'t>) -> Vec<MacroDefinition<'t>> {
    let mut found = Vec::new();
    if side.language == ScanLanguage::Rust {
        side.root.walk(&mut |node| {
            let name = node.field("name").filter(|_| node.kind() == "macro_definition");
            let path = side.path;
            found.extend(name.map(|name| MacroDefinition { path, name: name.text(), node }));
            true
        });
    }
    found
}

/// `#[test] fn name(…) {…}` among the tokens of a macro.
#[derive(Clone)]
struct TestTokens<'t> {
    /// Its name, or the variable of the macro that holds it.
    name: &'t str,
    /// Its body, or the variable of the macro that holds it.
    body: SyntaxNode<'t>,
    /// The attributes before it, without `#`.
    attributes: Vec<SyntaxNode<'t>>,
}

/// The tests that calls of macros hold or make in a text.
pub(super) fn tests<'t>(
    side: &SourceSide<'t>,
    known: &[MacroDefinition<'t>],
    features: EnabledFeatures<'_>,
) -> Vec<TestNode<'t>> {
    let mut found: Vec<TestNode<'t>> = Vec::new();
    if side.language != ScanLanguage::Rust {
        return found;
    }
    side.root.walk(&mut |node| {
        let is_call = node.kind() == "macro_invocation";
        if is_call {
            found.extend(tests_of_call(node, side, known, features));
        }
        !is_call && node.kind() != "macro_definition"
    });
    found
}

fn tests_of_call<'t>(
    call: SyntaxNode<'t>,
    side: &SourceSide<'t>,
    known: &[MacroDefinition<'t>],
    features: EnabledFeatures<'_>,
) -> Vec<TestNode<'t>> {
    let called = call.field("macro").map_or("", SyntaxNode::text);
    let called = called.rsplit("::").next().unwrap_or(called);
    let fitting = known.iter().filter(|it| it.name == called);
    let definition =
        fitting.clone().find(|it| it.path == side.path).or_else(|| fitting.clone().next());
    let node_of = |node: SyntaxNode<'t>, is_made: bool| TestPlace { node, call, is_made };
    let mut found = Vec::new();
    if definition.is_none_or(|it| passes_on(it.node)) {
        let held = call.descendants().into_iter().flat_map(tests_in_tree);
        found.extend(held.map(|test| node_of(test.body, false).test(test.name, &test, features)));
    }
    let Some(definition) = definition else { return found };
    for test in made(definition, known, NESTED_CALLS_MAX) {
        let is_own = definition.path == side.path;
        let place = |body: SyntaxNode<'t>| node_of(if is_own { body } else { call }, true);
        if !test.name.starts_with('$') {
            found.push(place(test.body).test(test.name, &test, features));
            continue;
        }
        for name in names_in_call(definition.node, test.name, call) {
            let given = std::iter::successors(name.next_sibling(), |it| it.next_sibling())
                .find(|it| it.text().starts_with('{'));
            let own = given.filter(|_| test.body.text().starts_with('$'));
            let test = TestTokens { body: own.unwrap_or(test.body), ..test.clone() };
            let place = if own.is_some() { node_of(test.body, true) } else { place(test.body) };
            found.push(place.test(name.text(), &test, features));
        }
    }
    found
}

/// Where a test is shown and counted.
struct TestPlace<'t> {
    node: SyntaxNode<'t>,
    call: SyntaxNode<'t>,
    is_made: bool,
}

impl<'t> TestPlace<'t> {
    fn test(
        &self,
        name: &str,
        test: &TestTokens<'t>,
        features: EnabledFeatures<'_>,
    ) -> TestNode<'t> {
        let name = qualified(&[modules(self.call).as_slice(), &[name.to_owned()]].concat());
        let may_fail = may_fail(test.body);
        let rows = TestRows { is_open: may_fail, ..TestRows::default() };
        let assertions = if may_fail { vec![unknown(test.body)] } else { Vec::new() };
        let marks = test.attributes.iter().filter_map(|it| mark_in_macro(*it, features)).collect();
        TestNode {
            name,
            node: self.node,
            body: Some(test.body),
            marks,
            rows,
            assertions,
            inner: Vec::new(),
            is_made: self.is_made,
        }
    }
}

/// True if a macro uses anything that it is given.
fn passes_on(definition: SyntaxNode<'_>) -> bool {
    let rules = definition.named_children().into_iter().filter(|it| it.kind() == "macro_rule");
    rules.filter_map(|rule| rule.field("right")).any(|right| right.text().contains('$'))
}

/// True if the body of a test in a macro may fail before it returns.
fn may_fail(body: SyntaxNode<'_>) -> bool {
    let reached: Vec<SyntaxNode<'_>> =
        body.children().into_iter().take_while(|it| it.text() != "return").collect();
    let fails = ["assert", "check", "expect", "panic", "unwrap", "verify", "?"];
    let is_vacuous = |at: usize| {
        let is_equality = matches!(reached[at].text(), "assert_eq" | "debug_assert_eq");
        let given = reached.get(at + 2).map(|it| tokens(*it)).unwrap_or_default();
        let given = given.get(1..given.len().saturating_sub(1)).unwrap_or_default();
        let sides = split(given, |token| token == ",");
        is_equality && sides.first().zip(sides.get(1)).is_some_and(|(left, right)| left == right)
    };
    let vacuous: Vec<usize> = (0..reached.len()).filter(|at| is_vacuous(*at)).collect();
    let is_of_vacuous = |at: usize| vacuous.iter().any(|start| (*start..=start + 2).contains(&at));
    (0..reached.len()).filter(|at| !is_of_vacuous(*at)).any(|at| {
        let text = normal(reached[at]);
        fails.iter().any(|word| text.contains(word))
    })
}

/// The tests that a macro makes for a call, whatever macros of the project it calls.
fn made<'t>(
    definition: &MacroDefinition<'t>,
    known: &[MacroDefinition<'t>],
    depth: usize,
) -> Vec<TestTokens<'t>> {
    let trees = definition.node.descendants();
    let mut found: Vec<TestTokens<'t>> = trees.iter().flat_map(|it| tests_in_tree(*it)).collect();
    for parts in trees.iter().filter(|_| depth > 0).map(|it| it.children()) {
        for three in parts.windows(3).filter(|three| three[1].text() == "!") {
            let inner = known.iter().find(|it| it.name == three[0].text());
            for test in inner.into_iter().flat_map(|inner| made(inner, known, depth - 1)) {
                let names = inner.filter(|_| test.name.starts_with('$')).map(|inner| {
                    NamePlace::of(inner.node, test.name)
                        .map(|it| it.names(three[2]))
                        .unwrap_or_default()
                });
                match names {
                    None => found.push(test),
                    Some(names) => found.extend(
                        names.into_iter().map(|it| TestTokens { name: it.text(), ..test.clone() }),
                    ),
                }
            }
        }
    }
    found
}

fn tests_in_tree(tree: SyntaxNode<'_>) -> Vec<TestTokens<'_>> {
    let parts = tree.children();
    let starts = (0..parts.len()).filter(|at| parts[*at].text() == "fn");
    let test = |at: usize| {
        let name = parts.get(at + 1)?.text();
        let behind = parts[at + 2..].iter().take_while(|part| part.text() != "fn");
        let mut behind = behind.skip_while(|part| !part.text().starts_with('(')).skip(1).peekable();
        // A variable right behind the parameters is the body.
        let given = behind.next_if(|part| part.text().starts_with('$'));
        let body = given.or_else(|| behind.find(|part| part.text().starts_with('{')))?;
        let before = parts[..at].iter().rev().take_while(|part| {
            let text = part.text();
            text.starts_with(['#', '[']) || matches!(text, "pub" | "async" | "unsafe")
        });
        let attributes: Vec<SyntaxNode<'_>> =
            before.filter(|it| it.text().starts_with('[')).copied().collect();
        let is_test = |it: &SyntaxNode<'_>| it.text() == "[test]" || it.text().ends_with("::test]");
        attributes.iter().any(is_test).then_some(TestTokens { name, body: *body, attributes })
    };
    starts.filter_map(test).collect()
}

/// The names that a call of a macro passes as `$name`.
fn names_in_call<'t>(
    definition: SyntaxNode<'t>,
    variable: &str,
    call: SyntaxNode<'t>,
) -> Vec<SyntaxNode<'t>> {
    let place = NamePlace::of(definition, variable);
    let trees = call.named_children().into_iter().filter(|it| it.kind() == "token_tree");
    trees.flat_map(|tree| place.as_ref().map(|it| it.names(tree)).unwrap_or_default()).collect()
}

/// The position of a name in calls of a macro.
struct NamePlace<'t> {
    is_repeated: bool,
    /// True if brackets are around it and what belongs to it.
    is_nested: bool,
    /// The number of commas before it.
    index: usize,
    /// The token after it in each call.
    next: Option<&'t str>,
}

impl<'t> NamePlace<'t> {
    /// Where a macro takes this variable.
    fn of(definition: SyntaxNode<'t>, variable: &str) -> Option<Self> {
        let bindings = definition.descendants().into_iter();
        let mut bindings = bindings.filter(|it| it.kind() == "token_binding_pattern");
        let binding =
            bindings.find(|it| it.field("name").is_some_and(|it| it.text() == variable))?;
        let before = std::iter::successors(binding.previous_sibling(), |it| it.previous_sibling());
        let next = binding.next_sibling().map(SyntaxNode::text);
        let around = binding.parent()?;
        let is_rule = |it: SyntaxNode<'_>| it.parent().is_some_and(|it| it.kind() == "macro_rule");
        Some(Self {
            is_repeated: around.kind() == "token_repetition_pattern",
            is_nested: around.kind() == "token_tree_pattern" && !is_rule(around),
            index: before.filter(|it| it.text() == ",").count(),
            next: next.filter(|it| !it.starts_with(['$', '(', '[', '{', ')', ']', '}', ',', ';'])),
        })
    }

    fn names(&self, tree: SyntaxNode<'t>) -> Vec<SyntaxNode<'t>> {
        let inner = tree.children().into_iter().filter(|it| it.kind() == "token_tree");
        let trees = if self.is_nested { inner.collect() } else { vec![tree] };
        trees.into_iter().flat_map(|tree| self.names_between(tree)).collect()
    }

    /// The names in one pair of brackets; in a macro's own call of another one, its variables.
    fn names_between(&self, tree: SyntaxNode<'t>) -> Vec<SyntaxNode<'t>> {
        let parts = tree.children();
        let inner = parts.get(1..parts.len().saturating_sub(1)).unwrap_or_default();
        let commas = |at: usize| inner[..at].iter().filter(|it| it.text() == ",").count();
        let is_name = |at: &usize| {
            let is_first = *at == 0 || matches!(inner[at - 1].text(), "," | ";" | "}");
            matches!(inner[*at].kind(), "identifier" | "metavariable")
                && is_first
                && (self.is_repeated || commas(*at) == self.index)
                && self
                    .next
                    .is_none_or(|next| inner.get(at + 1).is_some_and(|it| it.text() == next))
        };
        (0..inner.len()).filter(is_name).map(|at| inner[at]).collect()
    }
}

/// The modules around a node, the outermost first.
fn modules(node: SyntaxNode<'_>) -> Vec<String> {
    let around = node.ancestors().filter(|it| it.kind() == "mod_item");
    let mut names: Vec<String> =
        around.filter_map(|it| Some(it.field("name")?.text().to_owned())).collect();
    names.reverse();
    names
}
