//! Syntax trees for users other than rules: a text parsed once, its nodes by kind and field.

pub use super::engine::tree::{SyntaxNode, SyntaxTree};
pub use super::language::ScanLanguage;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_walked_by_kind_field_and_place() {
        let text = "def f(a):\n    return a\n\n\nf(1)\n";
        let tree = SyntaxTree::parse(ScanLanguage::Python, text).expect("it parses");
        let function = tree.root().named_children()[0];
        assert_eq!(function.kind(), "function_definition");
        assert_eq!(function.field("name").map(SyntaxNode::text), Some("f"));
        assert_eq!((function.line(), function.end_line()), (0, 1));
        let body = function.field("body").expect("a body");
        assert_eq!(body.parent(), Some(function));
        assert_eq!(function.next_sibling().map(SyntaxNode::text), Some("f(1)"));
        assert_eq!(body.descendants().last().map(|node| node.text()), Some("a"));
        assert_eq!(tree.root().descendants().len(), {
            let mut count = 0;
            tree.root().walk(&mut |_| {
                count += 1;
                true
            });
            count
        });
    }

    #[test]
    fn unparsable_and_too_deep_texts_are_gaps() {
        let gap =
            |text: &str| SyntaxTree::parse(ScanLanguage::Python, text).err().map(|gap| gap.detail);
        assert!(gap(&"(".repeat(5_000)).is_some_and(|it| it.contains("nested deeper")));
        assert!(gap(&("-".repeat(1_000) + "1")).is_some());
        assert!(gap(&" ".repeat(1024 * 1024 + 1)).is_some_and(|it| it.contains("larger")));
        assert_eq!(gap(""), None);
    }
}
