//! G11: escapes from the type system.

use super::facts::{FunctionNode, ParsedFiles, SourceSide, is_comment, normal};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences, occurrences};
use super::{Detection, GuardInput};
use moai_base::finding::Severity;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

const CODE: &str = "G11";

pub(super) fn escape_hits(_: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    let mut hits: Vec<Detection> = new_occurrences(files, escapes).iter().map(hit).collect();
    for file in &files.files {
        let (Some(before), Some(after)) = (&file.before, &file.after) else { continue };
        for function in &after.functions {
            let Some(old) = before.function(&function.name) else { continue };
            let node = widened(after.language, old, function)
                .filter(|it| !after.is_test_at(it.bytes().start));
            hits.extend(node.map(|node| Detection {
                code: CODE,
                severity: Severity::Warning,
                path: file.change.path.clone(),
                bytes: node.bytes(),
                message: message(node.text()),
                anchor: format!("{} {}", function.name, node.text()),
            }));
        }
    }
    hits
}

fn message(what: &str) -> String {
    let what = what.lines().next().unwrap_or_default();
    format!("`{what}` bypasses the type checker: give the real type, or check the value")
}

fn hit(new: &NewOccurrence<'_, '_>) -> Detection {
    let node = new.occurrence.node;
    Detection {
        code: CODE,
        severity: Severity::Warning,
        path: new.file.change.path.clone(),
        bytes: node.bytes(),
        message: message(node.text()),
        anchor: new.occurrence.key.clone(),
    }
}

/// Node kinds that are an escape in any context.
fn escapes<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    occurrences(side, |node| {
        let is_one = match side.language {
            ScanLanguage::TypeScript | ScanLanguage::Tsx => script(node),
            ScanLanguage::Python => python(node),
            ScanLanguage::Rust => rust(side, node),
            ScanLanguage::Go => go(node),
            ScanLanguage::Java => java(node),
            ScanLanguage::CSharp => csharp(node),
            _ => false,
        };
        (is_one && !side.is_test_at(node.bytes().start)).then(|| normal(node))
    })
}

fn script(node: SyntaxNode<'_>) -> bool {
    match node.kind() {
        "as_expression" => {
            let target = node.named_children().last().map_or("", |it| it.text());
            let inner = node.named_children().first().copied();
            let is_double = inner.is_some_and(|it| {
                it.kind() == "as_expression"
                    && it.named_children().last().is_some_and(|it| it.text() == "unknown")
            });
            is_any(target) || is_double
        }
        "type_annotation" => {
            node.named_children().first().is_some_and(|it| is_any(it.text())) && !is_rest(node)
        }
        "non_null_expression" => true,
        _ => false,
    }
}

fn is_any(text: &str) -> bool {
    matches!(text, "any" | "any[]" | "Array<any>" | "Promise<any>")
}

/// Arguments that are only forwarded may have any type, and so may thrown values.
fn is_rest(node: SyntaxNode<'_>) -> bool {
    let around = node.parent();
    around.is_some_and(|it| it.text().starts_with("...") || it.kind() == "catch_clause")
}

fn python(node: SyntaxNode<'_>) -> bool {
    let name = node.field("function").map_or("", SyntaxNode::text);
    let first = node.field("arguments").and_then(|it| it.named_children().first().copied());
    node.kind() == "call"
        && matches!(name, "cast" | "typing.cast" | "t.cast")
        && first.is_some_and(|it| {
            matches!(it.text().trim_matches(['"', '\'']), "Any" | "typing.Any" | "t.Any" | "object")
        })
}

/// Unsafe code without a safety comment.
fn rust(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    match node.kind() {
        "unsafe_block" => !side.comments.iter().any(|comment| {
            let is_near = comment.end_line() + 3 > node.line() && comment.line() <= node.end_line();
            is_near && comment.text().contains("SAFETY")
        }),
        "call_expression" => {
            let name = node.field("function").map_or("", SyntaxNode::text);
            name.split("::<").next().is_some_and(|it| it.ends_with("transmute"))
        }
        _ => false,
    }
}

fn go(node: SyntaxNode<'_>) -> bool {
    node.kind() == "call_expression"
        && node.field("function").is_some_and(|it| it.text() == "unsafe.Pointer")
}

/// `(T) (Object) value`.
fn java(node: SyntaxNode<'_>) -> bool {
    let inner = node.field("value");
    node.kind() == "cast_expression"
        && inner.is_some_and(|it| {
            it.kind() == "cast_expression"
                && it.field("type").is_some_and(|it| it.text() == "Object")
        })
}

fn csharp(node: SyntaxNode<'_>) -> bool {
    match node.kind() {
        "postfix_unary_expression" => node.text().ends_with('!'),
        "cast_expression" => node.field("type").is_some_and(|it| it.text() == "dynamic"),
        "variable_declaration" | "parameter" => {
            node.field("type").is_some_and(|it| it.text() == "dynamic")
        }
        _ => false,
    }
}

/// The position where a function that had a narrower type, or that passed an error on, stops doing
/// so.
fn widened<'t>(
    language: ScanLanguage,
    old: &FunctionNode<'_>,
    new: &FunctionNode<'t>,
) -> Option<SyntaxNode<'t>> {
    let is_wide = |node: SyntaxNode<'_>| match language {
        ScanLanguage::Go => {
            let is_type = node.kind() == "interface_type"
                || node.kind() == "type_identifier" && node.text() == "any";
            is_type && is_go_parameter(node)
        }
        ScanLanguage::Python => {
            node.kind() == "type" && matches!(node.text(), "Any" | "typing.Any" | "object")
        }
        ScanLanguage::Rust => is_call_of(node, "unwrap"),
        ScanLanguage::Java | ScanLanguage::CSharp => {
            matches!(node.kind(), "formal_parameter" | "parameter")
                && node.field("type").is_some_and(|it| matches!(it.text(), "Object" | "object"))
        }
        _ => false,
    };
    let narrow = |function: &FunctionNode<'_>| {
        count(function.node, |node| match language {
            ScanLanguage::Rust => node.kind() == "try_expression",
            _ => is_typed(node) && !is_wide(node),
        })
    };
    let is_worse = narrow(new) < narrow(old) && count(new.node, is_wide) > count(old.node, is_wide);
    let known: Vec<&str> = old
        .node
        .descendants()
        .into_iter()
        .filter(|it| is_wide(*it))
        .map(SyntaxNode::text)
        .collect();
    let found: Vec<SyntaxNode<'t>> =
        new.node.descendants().into_iter().filter(|it| is_wide(*it)).collect();
    found
        .into_iter()
        .rev()
        .find(|it| is_worse && (language != ScanLanguage::Rust || !known.contains(&it.text())))
}

fn is_typed(node: SyntaxNode<'_>) -> bool {
    matches!(
        node.kind(),
        "type"
            | "type_identifier"
            | "pointer_type"
            | "slice_type"
            | "map_type"
            | "formal_parameter"
            | "parameter"
    ) && !is_comment(node)
}

fn is_go_parameter(node: SyntaxNode<'_>) -> bool {
    node.parent()
        .is_some_and(|it| it.kind() == "parameter_declaration" && !it.text().contains("..."))
}

fn is_call_of(node: SyntaxNode<'_>, name: &str) -> bool {
    let called = node.field("function").filter(|it| it.kind() == "field_expression");
    node.kind() == "call_expression"
        && called.and_then(|it| it.field("field")).is_some_and(|it| it.text() == name)
}

fn count(node: SyntaxNode<'_>, is_one: impl Fn(SyntaxNode<'_>) -> bool) -> usize {
    node.descendants().into_iter().filter(|it| is_one(*it)).count()
}
