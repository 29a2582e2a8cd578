//! Calls in any language: callee, receiver and arguments.

use super::expression::{TokenSlice, split};
use crate::facts::tokens;
use moai_scan::syntax::SyntaxNode;

/// One call of a function, method or macro.
pub(super) struct CallNode<'t> {
    pub(super) node: SyntaxNode<'t>,
    /// The part before the last dot of the callee.
    pub(super) receiver: Option<SyntaxNode<'t>>,
    /// The last name of the callee.
    pub(super) name: &'t str,
    /// Type arguments, without their brackets.
    pub(super) generics: Option<&'t str>,
    list: Option<SyntaxNode<'t>>,
    tokens: Vec<&'t str>,
}

impl<'t> CallNode<'t> {
    pub(super) fn read(node: SyntaxNode<'t>) -> Option<Self> {
        let (receiver, name, list) = match node.kind() {
            "call" | "call_expression" | "invocation_expression" => {
                let (receiver, name) = callee(node.field("function")?)?;
                (receiver, name, node.field("arguments"))
            }
            "method_invocation" => {
                (node.field("object"), node.field("name")?, node.field("arguments"))
            }
            "macro_invocation" => {
                let list = node.named_children().into_iter().find(|it| it.kind() == "token_tree");
                (None, last_name(node.field("macro")?), list)
            }
            "object_creation_expression" | "new_expression" => {
                let name = node.field("type").or_else(|| node.field("constructor"))?;
                (None, name, node.field("arguments"))
            }
            _ => return None,
        };
        let tokens = list.map(tokens).unwrap_or_default();
        let (name, generics) = named(name);
        Some(Self { node, receiver, name, generics, list, tokens })
    }

    pub(super) fn arguments(&self) -> Vec<TokenSlice<'_, 't>> {
        let inner = match self.tokens.as_slice() {
            ["(" | "[" | "{", inner @ .., ")" | "]" | "}"] => inner,
            other => other,
        };
        split(inner, |token| token == ",")
    }

    /// The arguments as nodes; empty for macros.
    pub(super) fn argument_nodes(&self) -> Vec<SyntaxNode<'t>> {
        let list = self.list.filter(|list| list.kind() != "token_tree");
        let nodes = list.map(SyntaxNode::named_children).unwrap_or_default();
        nodes.into_iter().filter(|node| !crate::facts::is_comment(*node)).collect()
    }

    /// The names of the callee from the first to the last; calls in between are omitted.
    pub(super) fn path(&self) -> Vec<&'t str> {
        let mut names = vec![self.name];
        let mut at = self.receiver;
        while let Some(node) = at {
            if let Some(call) = Self::read(node) {
                names.push(call.name);
                at = call.receiver;
            } else if let Some((receiver, name)) = callee(node) {
                names.push(named(name).0);
                at = receiver;
            } else {
                break;
            }
        }
        names.reverse();
        names
    }
}

/// The receiver of a callee or member, and its last name.
pub(super) fn callee(node: SyntaxNode<'_>) -> Option<(Option<SyntaxNode<'_>>, SyntaxNode<'_>)> {
    let parts = |object: &str, name: &str| Some((node.field(object), node.field(name)?));
    match node.kind() {
        "attribute" => parts("object", "attribute"),
        "member_expression" => parts("object", "property"),
        "selector_expression" => parts("operand", "field"),
        "field_expression" => parts("value", "field"),
        "field_access" => parts("object", "field"),
        "scoped_identifier" => parts("path", "name"),
        "member_access_expression" => parts("expression", "name"),
        "generic_function" | "call_expression" => callee(node.field("function")?),
        "identifier"
        | "field_identifier"
        | "type_identifier"
        | "generic_name"
        | "this"
        | "property_identifier"
        | "super"
        | "this_expression" => Some((None, node)),
        "await_expression" | "await" | "parenthesized_expression" => {
            node.named_children().first().copied().and_then(callee)
        }
        _ => None,
    }
}

fn last_name(node: SyntaxNode<'_>) -> SyntaxNode<'_> {
    node.field("name").unwrap_or(node)
}

fn named(node: SyntaxNode<'_>) -> (&str, Option<&str>) {
    let Some((name, rest)) = node.text().split_once('<') else { return (node.text(), None) };
    (name, Some(rest.trim_end_matches('>')))
}

/// All calls below a node, the outer before the inner.
pub(super) fn calls(node: SyntaxNode<'_>) -> Vec<CallNode<'_>> {
    let mut calls = Vec::new();
    node.walk(&mut |node| {
        calls.extend(CallNode::read(node));
        true
    });
    calls
}
