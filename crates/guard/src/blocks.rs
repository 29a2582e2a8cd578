//! Blocks of code and their enclosing classes, shared by detectors.

use super::facts::is_comment;
use moai_scan::syntax::SyntaxNode;

/// The statements of a block, without comments and Python docstrings.
pub(super) fn statements(block: SyntaxNode<'_>) -> Vec<SyntaxNode<'_>> {
    let is_text = |node: &SyntaxNode<'_>| {
        let first = node.named_children().first().copied();
        node.kind() == "expression_statement" && first.is_some_and(|it| it.kind() == "string")
    };
    let children = block.named_children();
    // Go's grammar has a list node between a block and its statements.
    let children = match children.as_slice() {
        [list] if list.kind() == "statement_list" => list.named_children(),
        _ => children,
    };
    children.into_iter().filter(|it| !is_comment(*it) && !is_text(it)).collect()
}

/// True if a node is a class or a similar construct with methods.
pub(super) fn is_class(node: SyntaxNode<'_>) -> bool {
    matches!(
        node.kind(),
        "class"
            | "class_definition"
            | "class_declaration"
            | "abstract_class_declaration"
            | "record_declaration"
            | "struct_declaration"
            | "trait_item"
    )
}
