//! Skips from inside a test's body.

use super::conditions::kind_inside;
use super::{TestMarker, TestMarkerKind, parts};
use crate::blocks::statements;
use crate::facts::{SourceSide, normal};
use crate::suite::calls::CallNode;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

/// Calls in a test's body that end it as skipped; those of inner tests are left out.
pub(super) fn skips<'t>(
    (body, inner): (SyntaxNode<'t>, &[SyntaxNode<'t>]),
    side: &SourceSide<'t>,
) -> Vec<TestMarker> {
    let mut marks: Vec<TestMarker> = early_return(body, side).into_iter().collect();
    body.walk(&mut |node| {
        if inner.contains(&node) {
            return false;
        }
        let is_end = if node.kind() == "raise_statement" {
            node.text().contains("SkipTest")
        } else {
            CallNode::read(node).is_some_and(|call| is_skip(&call, side.language))
        };
        if is_end {
            let around = node.ancestors().take_while(|around| *around != body);
            let kinds = around.filter_map(|around| kind_around(around, body, side.root));
            let kind = kinds.chain(assumption(node, body, side.root)).max();
            let kind = kind.unwrap_or(TestMarkerKind::Skip);
            marks.push(TestMarker { kind, text: normal(node), bytes: node.bytes() });
        }
        true
    });
    marks
}

/// A conditional return that only declarations precede.
fn early_return<'t>(body: SyntaxNode<'t>, side: &SourceSide<'t>) -> Option<TestMarker> {
    let mut all = statements(body).into_iter();
    let first = all.find(|it| !is_declaration(*it))?;
    let first = match first.kind() {
        "expression_statement" => parts(first).first().copied()?,
        _ => first,
    };
    let condition = first.field("condition").filter(|_| first.kind().starts_with("if_"))?;
    let block = first.field("consequence")?;
    let inner = statements(block);
    let [one] = inner.as_slice() else { return None };
    let is_return = matches!(one.text().trim_end_matches(';').trim(), "return" | "return Ok(())");
    let is_last = all.next().is_none() || first.field("alternative").is_some();
    (is_return && !is_last).then(|| TestMarker {
        kind: kind_inside(condition, body, side.root),
        text: normal(condition),
        bytes: condition.bytes(),
    })
}

fn is_declaration(node: SyntaxNode<'_>) -> bool {
    matches!(node.kind(), "let_declaration" | "short_var_declaration" | "var_declaration")
        || node.kind().starts_with("import_")
}

/// The effect of a statement around a skip.
fn kind_around<'t>(
    around: SyntaxNode<'t>,
    body: SyntaxNode<'t>,
    root: SyntaxNode<'t>,
) -> Option<TestMarkerKind> {
    match around.kind() {
        "if_statement" | "if_expression" => {
            let condition = around.field("condition");
            Some(condition.map_or(TestMarkerKind::Conditional, |it| kind_inside(it, body, root)))
        }
        "except_clause" => {
            let head = around.text().lines().next().unwrap_or_default();
            let is_import = head.contains("ImportError") || head.contains("ModuleNotFoundError");
            Some(if is_import { TestMarkerKind::Machine } else { TestMarkerKind::Conditional })
        }
        "switch_statement" | "catch_clause" => Some(TestMarkerKind::Conditional),
        _ => None,
    }
}

/// The effect of a call on its condition.
fn assumption<'t>(
    node: SyntaxNode<'t>,
    body: SyntaxNode<'t>,
    root: SyntaxNode<'t>,
) -> Option<TestMarkerKind> {
    let call = CallNode::read(node)?;
    if call.name == "importorskip" {
        return Some(TestMarkerKind::Machine);
    }
    let condition = call.argument_nodes().first().copied();
    let is_never = condition.is_some_and(|it| it.text() == "false");
    let is_assumption = call.name.starts_with("assum") || call.name.contains("If");
    (is_assumption && !is_never)
        .then(|| condition.map_or(TestMarkerKind::Conditional, |it| kind_inside(it, body, root)))
}

fn is_skip(call: &CallNode<'_>, language: ScanLanguage) -> bool {
    let path = call.path();
    match language {
        ScanLanguage::Python => {
            matches!(
                path.as_slice(),
                ["pytest", "skip" | "xfail" | "importorskip"] | ["self", "skipTest"]
            )
        }
        ScanLanguage::Go => {
            matches!(path.as_slice(), ["t" | "b" | "s" | "tb", "Skip" | "Skipf" | "SkipNow"])
        }
        ScanLanguage::Java => {
            matches!(call.name, "assumeTrue" | "assumeFalse" | "assumingThat" | "assumeThat")
        }
        ScanLanguage::CSharp => matches!(
            path.as_slice(),
            ["Assert", "Ignore" | "Inconclusive" | "Skip" | "SkipWhen" | "SkipUnless"]
                | ["Skip", "If" | "IfNot"]
                | ["Assume", "That"]
        ),
        ScanLanguage::Rust => false,
        _ => matches!(
            path.as_slice(),
            ["t" | "this" | "ctx" | "context" | "test", "skip" | "todo" | "fixme"] | ["pending"]
        ),
    }
}
