//! Node kinds that start with a keyword, in every language that has the kind.
//!
//! Where code is broken, the parser inserts a leaf without text only if the leaf completes a node.
//! So every keyword here precedes something else in its node.

/// Node kind and keyword.
const KEYWORDS: &[(&str, &str)] = &[
    ("assert_statement", "assert"),
    ("catch_clause", "catch"),
    ("debugger_statement", "debugger"),
    ("defer_statement", "defer"),
    ("delete_expression", "delete"),
    ("elif_clause", "elif"),
    ("except_clause", "except"),
    ("finally_clause", "finally"),
    ("switch_statement", "switch"),
    ("throw_statement", "throw"),
    ("unsafe_block", "unsafe"),
    ("with_statement", "with"),
];

/// The keyword that every node of a kind contains.
pub(super) fn keyword_of_kind(kind: &str) -> Option<&'static str> {
    KEYWORDS.iter().find(|(it, _)| *it == kind).map(|(_, keyword)| *keyword)
}
