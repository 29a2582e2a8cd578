//! Extracts the literal parts of a configuration written as code; the rest is null.

use serde_json::{Map, Value};

use super::rules::LIST;
use moai_base::limits::SETTINGS_DEPTH_MAX;
use moai_scan::syntax::SyntaxNode;

/// The value that a JavaScript module exports; a list is stored under its own key.
pub(super) fn exported_config(root: SyntaxNode<'_>) -> Value {
    let exported = root.named_children().into_iter().rev().find_map(|node| match node.kind() {
        "export_statement" => node.field("value").or_else(|| node.field("declaration")),
        "expression_statement" => {
            let assigned = *node.named_children().first()?;
            let is_export = assigned.field("left").is_some_and(|it| it.text().contains("exports"));
            assigned.field("right").filter(|_| is_export)
        }
        _ => None,
    });
    let value = exported.map(|node| read_literal(resolved(node, root), 0));
    match value {
        Some(Value::Array(list)) => {
            let flat = list.into_iter().flat_map(|item| match item {
                Value::Array(items) => items,
                other => vec![other],
            });
            Value::Object(Map::from_iter([(LIST.to_owned(), Value::Array(flat.collect()))]))
        }
        Some(value @ Value::Object(_)) => value,
        _ => Value::Object(Map::new()),
    }
}

/// The value of a constant that a name refers to.
fn resolved<'t>(node: SyntaxNode<'t>, root: SyntaxNode<'t>) -> SyntaxNode<'t> {
    if node.kind() != "identifier" {
        return node;
    }
    let declared = root.descendants().into_iter().find(|it| {
        it.kind() == "variable_declarator"
            && it.field("name").map(SyntaxNode::text) == Some(node.text())
    });
    declared.and_then(|it| it.field("value")).unwrap_or(node)
}

fn read_literal(node: SyntaxNode<'_>, depth: usize) -> Value {
    if depth > SETTINGS_DEPTH_MAX {
        return Value::Null;
    }
    match node.kind() {
        "object" => Value::Object(entries(node, depth)),
        "array" => {
            let items = node.named_children().into_iter().filter(|it| it.kind() != "comment");
            Value::Array(items.map(|it| read_literal(it, depth + 1)).collect())
        }
        "string" | "template_string" => {
            Value::String(node.text().trim_matches(['"', '\'', '`']).to_owned())
        }
        "number" => node.text().replace('_', "").parse::<f64>().map_or(Value::Null, Value::from),
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "regex" => Value::String(node.text().to_owned()),
        // `defineConfig({…})` and similar functions return their argument; several arguments mean a
        // list.
        "call_expression" => {
            let arguments =
                node.field("arguments").map(SyntaxNode::named_children).unwrap_or_default();
            match arguments.as_slice() {
                [one] => read_literal(*one, depth + 1),
                many => Value::Array(many.iter().map(|it| read_literal(*it, depth + 1)).collect()),
            }
        }
        "arrow_function" => {
            node.field("body").map_or(Value::Null, |body| read_literal(body, depth + 1))
        }
        "satisfies_expression" | "as_expression" | "parenthesized_expression" => node
            .named_children()
            .first()
            .map_or(Value::Null, |inner| read_literal(*inner, depth + 1)),
        _ => Value::Null,
    }
}

fn entries(object: SyntaxNode<'_>, depth: usize) -> Map<String, Value> {
    object
        .named_children()
        .into_iter()
        .filter_map(|node| {
            let (key, value) = (node.field("key")?, node.field("value")?);
            let key = key.text().trim_matches(['"', '\'', '`']).to_owned();
            Some((key, read_literal(value, depth + 1)))
        })
        .collect()
}
