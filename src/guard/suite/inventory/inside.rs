//! What ends a test as skipped from inside its body. It must not know what stands around a test.

use super::conditions::kind_inside;
use super::{Mark, MarkKind};
use crate::guard::facts::{Side, normal};
use crate::guard::suite::calls::Call;
use crate::scan::syntax::{Language, Node};

/// Calls in a test's body that end it as skipped; those of inner tests are left out.
pub(super) fn skips<'t>((body, inner): (Node<'t>, &[Node<'t>]), side: &Side<'t>) -> Vec<Mark> {
    let mut marks = Vec::new();
    body.walk(&mut |node| {
        if inner.contains(&node) {
            return false;
        }
        let is_end = if node.kind() == "raise_statement" {
            node.text().contains("SkipTest")
        } else {
            Call::read(node).is_some_and(|call| is_skip(&call, side.language))
        };
        if is_end {
            let around = node.ancestors().take_while(|around| *around != body);
            let kinds = around.filter_map(|around| kind_around(around, body, side.root));
            let kind = kinds.chain(assumption(node, body, side.root)).max();
            let kind = kind.unwrap_or(MarkKind::Skip);
            marks.push(Mark { kind, text: normal(node), bytes: node.bytes() });
        }
        true
    });
    marks
}

/// What a statement around a skip makes of it.
fn kind_around<'t>(around: Node<'t>, body: Node<'t>, root: Node<'t>) -> Option<MarkKind> {
    match around.kind() {
        "if_statement" | "if_expression" => {
            let condition = around.field("condition");
            Some(condition.map_or(MarkKind::Conditional, |it| kind_inside(it, body, root)))
        }
        "except_clause" => {
            let head = around.text().lines().next().unwrap_or_default();
            let is_import = head.contains("ImportError") || head.contains("ModuleNotFoundError");
            Some(if is_import { MarkKind::Machine } else { MarkKind::Conditional })
        }
        "switch_statement" | "catch_clause" => Some(MarkKind::Conditional),
        _ => None,
    }
}

/// What a call makes of the condition that it is given.
fn assumption<'t>(node: Node<'t>, body: Node<'t>, root: Node<'t>) -> Option<MarkKind> {
    let call = Call::read(node)?;
    if call.name == "importorskip" {
        return Some(MarkKind::Machine);
    }
    let condition = call.argument_nodes().first().copied();
    let is_never = condition.is_some_and(|it| it.text() == "false");
    let is_assumption = call.name.starts_with("assum") || call.name.contains("If");
    (is_assumption && !is_never)
        .then(|| condition.map_or(MarkKind::Conditional, |it| kind_inside(it, body, root)))
}

fn is_skip(call: &Call<'_>, language: Language) -> bool {
    let path = call.path();
    match language {
        Language::Python => {
            matches!(
                path.as_slice(),
                ["pytest", "skip" | "xfail" | "importorskip"] | ["self", "skipTest"]
            )
        }
        Language::Go => {
            matches!(path.as_slice(), ["t" | "b" | "s" | "tb", "Skip" | "Skipf" | "SkipNow"])
        }
        Language::Java => {
            matches!(call.name, "assumeTrue" | "assumeFalse" | "assumingThat" | "assumeThat")
        }
        Language::CSharp => matches!(
            path.as_slice(),
            ["Assert", "Ignore" | "Inconclusive" | "Skip" | "SkipWhen" | "SkipUnless"]
                | ["Skip", "If" | "IfNot"]
                | ["Assume", "That"]
        ),
        Language::Rust => false,
        _ => matches!(
            path.as_slice(),
            ["t" | "this" | "ctx" | "context" | "test", "skip" | "todo" | "fixme"] | ["pending"]
        ),
    }
}
