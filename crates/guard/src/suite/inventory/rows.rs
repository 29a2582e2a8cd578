//! Repetitions with different values: lists in the code, and loops over them.

use std::collections::BTreeSet;

use super::{TestRows, parts};
use crate::facts::normal;
use crate::facts::tokens;
use crate::suite::calls::CallNode;
use crate::suite::expression::split;
use moai_scan::syntax::SyntaxNode;

/// The values of a list; open when it is not written in the code.
pub(super) fn of_list<'t>(list: SyntaxNode<'t>, root: SyntaxNode<'t>) -> TestRows {
    written(list).or_else(|| written(definition(list, root)?)).unwrap_or_else(open)
}

fn open() -> TestRows {
    TestRows { texts: BTreeSet::new(), is_open: true }
}

/// The values of a list that is written where it is used.
fn written(list: SyntaxNode<'_>) -> Option<TestRows> {
    let of = |nodes: Vec<SyntaxNode<'_>>| -> TestRows {
        let is_open = nodes.iter().any(|node| {
            matches!(node.kind(), "list_splat" | "spread_element" | "dictionary_splat")
        });
        TestRows { texts: nodes.into_iter().map(normal).collect(), is_open }
    };
    match list.kind() {
        "list"
        | "tuple"
        | "set"
        | "array"
        | "array_expression"
        | "dictionary"
        | "object"
        | "array_initializer"
        | "initializer_expression"
        | "collection_expression"
        | "element_value_array_initializer"
        | "literal_value" => Some(of(parts(list))),
        "composite_literal" => written(list.field("body")?),
        "reference_expression"
        | "parenthesized_expression"
        | "array_creation_expression"
        | "implicit_array_creation_expression"
        | "as_expression"
        | "satisfies_expression" => list.named_children().into_iter().rev().find_map(written),
        "macro_invocation" => {
            let call = CallNode::read(list).filter(|call| call.name == "vec")?;
            let texts = call.arguments().into_iter().map(|it| it.join(" ")).collect();
            Some(TestRows { texts, is_open: false })
        }
        "call_expression" | "call" | "method_invocation" | "invocation_expression" => {
            let call = CallNode::read(list)?;
            let takes_receiver = [
                "iter",
                "into_iter",
                "items",
                "entries",
                "map",
                "asList",
                "enumerate",
                "copied",
                "cloned",
            ];
            match call.receiver {
                Some(receiver) if takes_receiver.contains(&call.name) => written(receiver),
                _ if matches!(call.name, "of" | "asList") => Some(of(call.argument_nodes())),
                _ if matches!(call.name, "enumerate" | "sorted" | "list") => {
                    written(*call.argument_nodes().first()?)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The value that a name was given in this text.
fn definition<'t>(name: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Option<SyntaxNode<'t>> {
    matches!(name.kind(), "identifier").then(|| named(name.text(), root)).flatten()
}

/// The first value assigned to a name below a node.
pub(super) fn named<'t>(name: &str, root: SyntaxNode<'t>) -> Option<SyntaxNode<'t>> {
    let mut found = None;
    root.walk(&mut |node| {
        let target = ["left", "name", "pattern"].iter().find_map(|field| node.field(field));
        let value = ["right", "value"].iter().find_map(|field| node.field(field));
        if let (Some(target), Some(value)) = (target, value)
            && target.text() == name
            && !node.kind().contains("operator")
            && !node.kind().starts_with("binary")
            && found.is_none()
        {
            // Go has lists on both sides.
            let value = if value.kind() == "expression_list" {
                parts(value).first().copied()
            } else {
                Some(value)
            };
            found = value;
        }
        found.is_none()
    });
    found
}

/// The repetitions of a node, by the loops between it and its body.
pub(super) fn around<'t>(
    node: SyntaxNode<'t>,
    body: SyntaxNode<'t>,
    root: SyntaxNode<'t>,
) -> TestRows {
    let mut rows = TestRows::default();
    for around in node.ancestors().take_while(|around| *around != body) {
        let list = match around.kind() {
            "for_statement" | "for_in_statement" | "foreach_statement" => iterated(around),
            "for_expression" | "enhanced_for_statement" => around.field("value"),
            "while_statement" | "while_expression" | "loop_expression" => None,
            "call_expression" => match for_each(around) {
                Some(list) => Some(list),
                None => continue,
            },
            _ => continue,
        };
        rows.with(list.map_or_else(open, |list| of_list(list, root)));
    }
    rows
}

/// The values that a loop iterates over; `None` when it only counts.
fn iterated(node: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    let range = || node.named_children().into_iter().find(|it| it.kind() == "range_clause");
    node.field("right").or_else(|| range()?.field("right"))
}

/// The list of `list.forEach(…)`.
fn for_each(node: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    let call = CallNode::read(node).filter(|call| matches!(call.name, "forEach" | "for_each"))?;
    call.receiver
}

/// The rows of a text that holds them as tokens: those of a macro or attribute.
pub(super) fn of_tokens(node: SyntaxNode<'_>) -> TestRows {
    let all = tokens(node);
    let inner = all.get(1..all.len().saturating_sub(1)).unwrap_or_default();
    let texts = split(inner, |token| token == ",").into_iter().map(|it| it.join(" ")).collect();
    TestRows { texts, is_open: false }
}
