//! Names removed from the code under test.

use std::collections::BTreeSet;

use super::goal::stem;
use crate::facts::{ParsedFile, ParsedFiles, SourceSide, tokens};
use moai_scan::syntax::SyntaxNode;

/// The names of functions, their parameters, types, constants and files outside tests that no
/// longer occur anywhere.
pub(super) fn names(files: &ParsedFiles<'_>) -> BTreeSet<String> {
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    for file in &files.files {
        kept.extend(file.after.iter().flat_map(given));
        gone.extend(file.before.iter().flat_map(given));
    }
    gone.extend(modules(files));
    gone.difference(&kept).map(|name| (*name).to_owned()).collect()
}

/// The names of removed files outside tests.
pub(super) fn modules<'s>(files: &'s ParsedFiles<'_>) -> impl Iterator<Item = &'s str> {
    let is_test = |file: &ParsedFile<'_>| file.before.as_ref().is_some_and(|side| side.is_test);
    let gone = files.files.iter().filter(move |it| it.change.after.is_none() && !is_test(it));
    gone.map(|file| stem(&file.change.path))
}

/// The names that the code of a side defines: each part of a function's name, parameters, types,
/// constants.
fn given<'s>(side: &'s SourceSide<'_>) -> BTreeSet<&'s str> {
    let is_code = |node: SyntaxNode<'_>| !side.is_test_at(node.bytes().start);
    let own = side.functions.iter().filter(|it| is_code(it.node));
    let mut names: BTreeSet<&str> = own.flat_map(|function| function.name.split('.')).collect();
    side.root.walk(&mut |node| {
        names.extend(declared(node).filter(|_| is_code(node)).map(SyntaxNode::text));
        if node.kind() == "parameters" && is_code(node) {
            names.extend(
                node.named_children().into_iter().filter_map(parameter).map(SyntaxNode::text),
            );
        }
        true
    });
    names
}

/// The name of a parameter that callers of Python write down.
fn parameter(node: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    match node.kind() {
        "identifier" => Some(node),
        "default_parameter" | "typed_default_parameter" => node.field("name"),
        "typed_parameter" => node.named_children().first().copied(),
        _ => None,
    }
}

/// The name of the type or constant that a node declares.
fn declared(node: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    match node.kind() {
        "class_definition"
        | "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "struct_declaration"
        | "type_alias_declaration"
        | "struct_item"
        | "enum_item"
        | "union_item"
        | "trait_item"
        | "type_item"
        | "const_item"
        | "static_item"
        | "macro_definition"
        | "type_spec"
        | "const_spec"
        | "var_spec" => node.field("name"),
        "variable_declarator" => {
            let value = node.field("value");
            let is_import = value.is_some_and(|it| it.text().starts_with("require("));
            let is_inside = node.ancestors().any(|it| it.kind() == "statement_block");
            node.field("name").filter(|_| !is_import && !is_inside)
        }
        "assignment" => {
            let statement = node.parent()?;
            let is_outside = statement.parent().is_some_and(|it| it.kind() == "module");
            node.field("left").filter(|name| is_outside && name.kind() == "identifier")
        }
        _ => None,
    }
}

/// The names imported by a test file.
pub(super) fn imported<'t>(side: &SourceSide<'t>) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    side.root.walk(&mut |node| {
        let is_import = node.kind().starts_with("import") || node.kind() == "use_declaration";
        if is_import {
            names.extend(tokens(node));
        }
        !is_import
    });
    names
}
