//! Tests of jest, vitest, mocha, jasmine, playwright and node:test.

use super::{TestMarker, TestMarkerKind, TestNode, TestRows, conditions, qualified, rows};
use crate::facts::{SourceSide, normal};
use crate::suite::calls::CallNode;
use crate::suite::expression::unquoted;
use moai_scan::syntax::SyntaxNode;

pub(super) fn tests<'t>(side: &SourceSide<'t>) -> Vec<TestNode<'t>> {
    if !side.is_test {
        return Vec::new();
    }
    let mut found = Vec::new();
    collect(side.root, &GroupContext::default(), side.root, &mut found);
    found
}

/// The markers of the groups around a test.
#[derive(Clone, Default)]
struct GroupContext<'t> {
    names: Vec<String>,
    marks: Vec<TestMarker>,
    rows: TestRows,
    /// The body of the test that they are steps of.
    test: Option<SyntaxNode<'t>>,
}

const GROUPS: [&str; 6] = ["describe", "suite", "context", "fdescribe", "xdescribe", "ddescribe"];
const TESTS: [&str; 9] =
    ["it", "test", "specify", "fit", "xit", "xtest", "xspecify", "iit", "bench"];

fn collect<'t>(
    node: SyntaxNode<'t>,
    around: &GroupContext<'t>,
    root: SyntaxNode<'t>,
    found: &mut Vec<TestNode<'t>>,
) {
    let Some(block) = block(node, around, root) else {
        for child in node.named_children() {
            collect(child, around, root, found);
        }
        return;
    };
    let body = block.body.and_then(|function| function.field("body"));
    if block.is_group {
        if let Some(body) = body {
            collect(body, &block.own, root, found);
        }
        return;
    }
    let mut inner = Vec::new();
    if let Some(body) = body {
        collect(body, &GroupContext { test: Some(body), ..block.own.clone() }, root, &mut inner);
    }
    let nodes = inner.iter().map(|test| test.node).collect();
    found.push(TestNode {
        name: qualified(&block.own.names),
        node,
        body,
        marks: block.own.marks,
        rows: block.own.rows,
        assertions: Vec::new(),
        inner: nodes,
        is_made: false,
    });
    found.extend(inner);
}

struct TestBlock<'t> {
    is_group: bool,
    own: GroupContext<'t>,
    body: Option<SyntaxNode<'t>>,
}

/// A group or a test: `it("…", () => {…})`, `describe.only("…", …)`, `test.each([…])("…", …)`; a
/// step of a test as well: `t.test("…", t => {…})`.
fn block<'t>(
    node: SyntaxNode<'t>,
    around: &GroupContext<'t>,
    root: SyntaxNode<'t>,
) -> Option<TestBlock<'t>> {
    let call = CallNode::read(node).filter(|_| node.kind() == "call_expression")?;
    let function = node.field("function")?;
    let mut own = around.clone();
    let mut path = call.path();
    if function.kind() == "call_expression" {
        // The list of `each` is a separate call, whose result is called.
        let each = CallNode::read(function)?;
        if each.name == "each" || each.name == "for" {
            let list = each.argument_nodes().first().copied();
            own.rows.with(list.map_or_else(
                || TestRows { is_open: true, ..TestRows::default() },
                |list| rows::of_list(list, root),
            ));
        }
        path = each.path();
    }
    let arguments = call.argument_nodes();
    let body = arguments.iter().copied().find(|it| {
        matches!(
            it.kind(),
            "arrow_function" | "function_expression" | "function" | "generator_function"
        )
    });
    let is_step = body.is_some() && matches!(path.get(1), Some(&("test" | "it")));
    if is_step && !TESTS.contains(path.first()?) {
        path.remove(0);
    }
    let base = *path.first()?;
    let is_group = GROUPS.contains(&base) || path.get(1) == Some(&"describe");
    if !is_group && (!TESTS.contains(&base) || (around.test.is_some() && body.is_none())) {
        return None;
    }
    let title = arguments.first().filter(|it| {
        matches!(
            it.kind(),
            "string"
                | "template_string"
                | "identifier"
                | "binary_expression"
                | "member_expression"
                | "call_expression"
        )
    })?;
    if let Some(test) = around.test {
        own.rows.with(rows::around(node, test, root));
    }
    own.names.push(unquoted(title.text()).to_owned());
    own.marks.extend(mark(&path, node, (function, root)));
    own.marks.extend(
        arguments.iter().filter(|it| it.kind() == "object").filter_map(|it| option(*it, root)),
    );
    if body.is_none() && arguments.len() == 1 && own.marks.is_empty() {
        let text = normal(node);
        own.marks.push(TestMarker { kind: TestMarkerKind::Skip, text, bytes: node.bytes() });
    }
    Some(TestBlock { is_group, own, body })
}

fn mark<'t>(
    path: &[&str],
    node: SyntaxNode<'t>,
    (function, root): (SyntaxNode<'t>, SyntaxNode<'t>),
) -> Option<TestMarker> {
    let bytes = function.bytes();
    let of = |kind| Some(TestMarker { kind, text: path.join("."), bytes: bytes.clone() });
    let first = path.first().copied().unwrap_or_default();
    if matches!(first, "fit" | "fdescribe" | "ddescribe" | "iit") {
        return of(TestMarkerKind::Only);
    }
    if first.starts_with('x') {
        return of(TestMarkerKind::Skip);
    }
    let is_planned = path.contains(&"todo") && node.parent().is_some();
    if path.contains(&"only") {
        of(TestMarkerKind::Only)
    } else if path.iter().any(|name| matches!(*name, "skip" | "failing" | "fails" | "fixme"))
        || is_planned
    {
        of(TestMarkerKind::Skip)
    } else if path.iter().any(|name| matches!(*name, "skipIf" | "runIf")) {
        let arguments =
            CallNode::read(function).map(|call| call.argument_nodes()).unwrap_or_default();
        let condition = arguments.first().copied();
        of(condition.map_or(TestMarkerKind::Conditional, |it| conditions::kind(it, root)))
    } else {
        None
    }
}

/// `{ skip: true }`, `{ todo: "later" }`, `{ only: true }`
fn option<'t>(options: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Option<TestMarker> {
    options.named_children().into_iter().find_map(|pair| {
        let (key, value) = (pair.field("key")?, pair.field("value")?);
        let kind = match key.text() {
            _ if value.text() == "false" => return None,
            "skip" | "todo" if matches!(value.kind(), "true" | "string") => TestMarkerKind::Skip,
            "skip" | "todo" => conditions::kind(value, root),
            "only" => TestMarkerKind::Only,
            _ => return None,
        };
        Some(TestMarker { kind, text: normal(pair), bytes: pair.bytes() })
    })
}
