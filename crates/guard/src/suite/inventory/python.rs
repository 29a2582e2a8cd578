//! Tests as pytest and unittest collect them.

use super::{
    TestMarker, TestMarkerKind, TestNode, TestRows, conditions, parts, qualified, rows, tight,
};
use crate::facts::{SourceSide, is_string, normal, tokens};
use crate::suite::calls::CallNode;
use moai_base::path::RelPath;
use moai_scan::syntax::SyntaxNode;

pub(super) fn tests<'t>(side: &SourceSide<'t>) -> Vec<TestNode<'t>> {
    if !is_collected(side.path) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let around = ClassContext {
        names: Vec::new(),
        marks: module_marks(side.root, side.root),
        rows: TestRows::default(),
        is_case: false,
        is_plain_case: false,
    };
    collect(side.root, &around, side.root, &mut found);
    found
}

/// True if runners look into a file by its name.
fn is_collected(path: &RelPath) -> bool {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    stem.starts_with("test") || stem.ends_with("_test") || stem.ends_with("_tests")
}

/// The facts about a test from its classes.
#[derive(Clone, Default)]
struct ClassContext {
    names: Vec<String>,
    marks: Vec<TestMarker>,
    rows: TestRows,
    is_case: bool,
    /// True if it is a `TestCase` of unittest, which runs no coroutine.
    is_plain_case: bool,
}

fn collect<'t>(
    scope: SyntaxNode<'t>,
    around: &ClassContext,
    root: SyntaxNode<'t>,
    found: &mut Vec<TestNode<'t>>,
) {
    for node in parts(scope) {
        let (definition, decorators) = match node.kind() {
            "decorated_definition" => {
                let decorators: Vec<SyntaxNode<'t>> =
                    parts(node).into_iter().filter(|it| it.kind() == "decorator").collect();
                (node.field("definition"), decorators)
            }
            "if_statement" | "try_statement" | "with_statement" => {
                for block in parts(node).into_iter().filter(|it| it.kind() == "block") {
                    collect(block, around, root, found);
                }
                continue;
            }
            _ => (Some(node), Vec::new()),
        };
        let Some(definition) = definition else { continue };
        let Some(name) = definition.field("name").map(SyntaxNode::text) else { continue };
        let mut own = around.clone();
        own.names.push(name.to_owned());
        for decorator in &decorators {
            own.marks.extend(mark(*decorator, root));
            own.rows.with(parametrized(*decorator, root));
        }
        match definition.kind() {
            "class_definition" if is_case(definition, root) => {
                let bases = definition.field("superclasses").map_or("", SyntaxNode::text);
                own.is_case = true;
                own.is_plain_case = is_plain_case(bases, root);
                if let Some(body) = definition.field("body") {
                    own.marks.extend(module_marks(body, root));
                    collect(body, &own, root, found);
                }
            }
            "function_definition"
                if name.starts_with("test") && (around.is_case || around.names.is_empty()) =>
            {
                if decorators.is_empty() {
                    own.marks.extend(never_run(definition, around.is_plain_case));
                }
                found.push(TestNode {
                    name: qualified(&own.names),
                    node,
                    body: definition.field("body"),
                    marks: own.marks,
                    rows: own.rows,
                    assertions: Vec::new(),
                    inner: Vec::new(),
                });
            }
            _ => {}
        }
    }
}

/// Bases that never make a class a test case; a base from another file may be a test case there.
const PLAIN_BASES: &[&str] = &[
    "ABC",
    "BaseException",
    "Enum",
    "Exception",
    "Generic",
    "NamedTuple",
    "Protocol",
    "TypedDict",
    "dict",
    "int",
    "list",
    "object",
    "set",
    "str",
    "tuple",
    "type",
];

/// True if runners may look for tests in a class: by its name, or because one of its bases, as far
/// as this text shows them, may be a test case. Its name alone does not say which, so renaming a
/// base changes nothing.
fn is_case(class: SyntaxNode<'_>, root: SyntaxNode<'_>) -> bool {
    let name = class.field("name").map_or("", SyntaxNode::text);
    let is_named = name.starts_with("Test") || name.ends_with("Test") || name.ends_with("Tests");
    let bases = class.field("superclasses").map(parts).unwrap_or_default();
    let mut bases = bases.into_iter().filter(|base| base.kind() != "keyword_argument");
    is_named
        || bases.any(|base| {
            let base = base.field("value").unwrap_or(base);
            let own = class_of(base.text(), root);
            if let Some(own) = own.filter(|own| own.bytes().end <= class.bytes().start) {
                return is_case(own, root);
            }
            let last = base.text().rsplit('.').next().unwrap_or_default();
            !PLAIN_BASES.contains(&last)
        })
}

/// The class of this name at the top of a text.
fn class_of<'t>(name: &str, root: SyntaxNode<'t>) -> Option<SyntaxNode<'t>> {
    let classes = parts(root).into_iter().map(|it| it.field("definition").unwrap_or(it));
    let mut classes = classes.filter(|it| it.kind() == "class_definition");
    classes.find(|it| it.field("name").is_some_and(|own| own.text() == name))
}

/// True if the only base of a class is `TestCase` of unittest.
fn is_plain_case(bases: &str, root: SyntaxNode<'_>) -> bool {
    let imports = || root.text().lines().any(|line| line.starts_with("from unittest import"));
    match bases.trim_matches(['(', ')', ' ']) {
        "unittest.TestCase" => true,
        "TestCase" => imports(),
        _ => false,
    }
}

/// Marks a test whose body never runs, because calling it only creates a coroutine or a generator.
fn never_run(definition: SyntaxNode<'_>, is_plain_case: bool) -> Option<TestMarker> {
    let marker = |text: &str, bytes| {
        let (kind, text) = (TestMarkerKind::Skip, text.to_owned());
        Some(TestMarker { kind, text, bytes })
    };
    let is_coroutine = definition.text().starts_with("async");
    if is_coroutine && is_plain_case {
        let start = definition.bytes().start;
        return marker("async def", start..start + "async def".len());
    }
    let is_inner = |node: SyntaxNode<'_>| {
        let mut around = node.ancestors().take_while(|it| *it != definition);
        around.any(|it| matches!(it.kind(), "function_definition" | "lambda"))
    };
    let body = definition.field("body").filter(|_| !is_coroutine)?;
    let own = body.descendants().into_iter().find(|it| it.kind() == "yield" && !is_inner(*it))?;
    marker("yield", own.bytes())
}

/// `@pytest.mark.skip`, `@unittest.skipIf(…)`, `@unittest.expectedFailure`.
fn mark<'t>(decorator: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Option<TestMarker> {
    let kind = mark_of(parts(decorator).first().copied()?, root)?;
    Some(TestMarker { kind, text: normal(decorator), bytes: decorator.bytes() })
}

/// The effect of a marker, with or without arguments.
fn mark_of<'t>(mark: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Option<TestMarkerKind> {
    let call = CallNode::read(mark);
    let name = call.as_ref().map_or_else(|| mark.text(), |call| call.name);
    let arguments = call.map(|call| call.argument_nodes()).unwrap_or_default();
    let named = |key: &str| {
        let is_named =
            |it: &&SyntaxNode<'t>| it.field("name").is_some_and(|name| name.text() == key);
        arguments.iter().find(is_named).and_then(|it| it.field("value"))
    };
    let first = arguments.first().copied().filter(|it| it.kind() != "keyword_argument");
    let condition = named("condition").or(first);
    match name.rsplit('.').next().unwrap_or_default() {
        "skip" | "expectedFailure" => Some(TestMarkerKind::Skip),
        "xfail" => match condition.filter(|it| !is_string(*it)) {
            Some(condition) => Some(conditions::kind(condition, root)),
            None if named("raises").is_some() => Some(TestMarkerKind::Conditional),
            None => Some(TestMarkerKind::Skip),
        },
        "skipif" | "skipIf" | "skipUnless" => {
            Some(condition.map_or(TestMarkerKind::Skip, |it| conditions::kind(it, root)))
        }
        _ => None,
    }
}

/// `pytestmark = pytest.mark.skip`, `__test__ = False`, `pytest.skip(…, allow_module_level=True)`.
fn module_marks<'t>(scope: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Vec<TestMarker> {
    let mut marks = Vec::new();
    for statement in parts(scope).into_iter().filter(|it| it.kind() == "expression_statement") {
        let Some(inner) = parts(statement).first().copied() else { continue };
        let text = tight(inner);
        let kind = match inner.kind() {
            "assignment" if text == "__test__=False" => Some(TestMarkerKind::Skip),
            "assignment" if text.starts_with("pytestmark=") => {
                inner.field("right").and_then(|it| {
                    let is_list = matches!(it.kind(), "list" | "tuple");
                    let all = if is_list { parts(it) } else { vec![it] };
                    all.into_iter().filter_map(|it| mark_of(it, root)).max()
                })
            }
            "call" if text.starts_with("pytest.skip(") => Some(TestMarkerKind::Skip),
            _ => None,
        };
        marks.extend(kind.map(|kind| TestMarker {
            kind,
            text: normal(inner),
            bytes: inner.bytes(),
        }));
    }
    marks
}

/// `@pytest.mark.parametrize("a, b", [(1, 2), (3, 4)])`
fn parametrized<'t>(decorator: SyntaxNode<'t>, root: SyntaxNode<'t>) -> TestRows {
    let call = parts(decorator).first().copied().and_then(CallNode::read);
    let Some(call) =
        call.filter(|call| matches!(call.name, "parametrize" | "expand" | "data" | "parameters"))
    else {
        return TestRows::default();
    };
    let arguments = call.argument_nodes();
    let place = usize::from(call.name == "parametrize");
    match arguments.get(place) {
        Some(_) if matches!(call.name, "data" | "parameters") => {
            let texts = arguments.iter().map(|it| normal(*it)).collect();
            TestRows { texts, is_open: false }
        }
        Some(list) => {
            let list =
                if list.kind() == "keyword_argument" { list.field("value") } else { Some(*list) };
            list.map(|list| rows::of_list(list, root)).unwrap_or_default()
        }
        None => TestRows { is_open: true, ..TestRows::default() },
    }
}

/// True if a `with` of Python ignores or expects a failing assertion.
pub(super) fn suppresses(node: SyntaxNode<'_>) -> bool {
    let body = node.field("body");
    let items = node.named_children().into_iter().filter(|child| Some(*child) != body);
    let head: Vec<&str> = items.flat_map(tokens).collect();
    let catches = |name: &&str| matches!(*name, "AssertionError" | "Exception" | "BaseException");
    let is_any = head.iter().any(catches);
    let asserts = |body: SyntaxNode<'_>| {
        body.named_children().iter().any(|it| it.kind() == "assert_statement")
    };
    let expects = ["raises", "assertRaises"].iter().any(|it| head.contains(it));
    let is_expected = expects && head.contains(&"AssertionError") && body.is_some_and(asserts);
    is_any && (head.contains(&"suppress") || is_expected)
}
