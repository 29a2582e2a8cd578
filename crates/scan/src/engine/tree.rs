//! A parsed text with its nodes in one table in text order, so that walking needs no parser.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use ast_grep_core::AstGrep;

use super::matching::{RawNode, TooDeep};
use super::{EngineDocument, is_unparsed, parse_tree, too_deep_gap, unparsed_gap};
use crate::language::ScanLanguage;
use moai_base::limits::{SOURCE_BYTES_MAX, TREE_DEPTH_MAX};
use moai_base::verdict::{Cause, Gap};

/// The syntax tree of one text.
pub struct SyntaxTree {
    text: String,
    language: ScanLanguage,
    nodes: NodeTable,
}

/// All nodes of a text in text order; a node precedes its descendants.
#[derive(Default)]
struct NodeTable {
    entries: Vec<NodeEntry>,
    kinds: NameTable,
    fields: NameTable,
}

/// Names from a grammar that occur in a tree.
#[derive(Default)]
struct NameTable {
    names: Vec<String>,
    /// Index of the name with a grammar's id.
    index_by_id: BTreeMap<u16, u16>,
}

/// One node. Offsets are bytes; a text has at most [`SOURCE_BYTES_MAX`] of them, so that four bytes
/// hold every number.
struct NodeEntry {
    /// Index of its kind's name.
    kind: u16,
    /// Index of the field name it has in its parent.
    field: Option<u16>,
    start: u32,
    end: u32,
    line: u32,
    end_line: u32,
    /// Index of the parent; the root's is its own.
    parent: u32,
    /// Index after the last descendant.
    subtree_end: u32,
    is_named: bool,
    is_error: bool,
}

/// One node of a [`SyntaxTree`].
#[derive(Clone, Copy)]
pub struct SyntaxNode<'t> {
    tree: &'t SyntaxTree,
    index: usize,
}

impl SyntaxTree {
    /// Parses a text. Fails with a gap if it is larger than [`SOURCE_BYTES_MAX`], nested too
    /// deeply, or unparsable as a whole; a syntax error next to parsed code leaves no gap.
    pub fn parse(language: ScanLanguage, text: &str) -> Result<Self, Gap> {
        if text.len() as u64 > SOURCE_BYTES_MAX {
            let detail = format!("larger than {SOURCE_BYTES_MAX} bytes");
            return Err(Gap::new(Cause::Skipped, detail));
        }
        let parsed = parse_tree(language, text)?;
        let nodes = NodeTable::from_parsed(&parsed).map_err(|_| too_deep_gap())?;
        if is_unparsed(&parsed) {
            return Err(unparsed_gap(language));
        }
        Ok(Self { text: text.to_owned(), language, nodes })
    }

    /// The language that the text was parsed as.
    #[must_use]
    pub fn language(&self) -> ScanLanguage {
        self.language
    }

    /// The node of the whole text.
    #[must_use]
    pub fn root(&self) -> SyntaxNode<'_> {
        SyntaxNode { tree: self, index: 0 }
    }

    /// The text that was parsed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl NodeTable {
    fn from_parsed(parsed: &AstGrep<EngineDocument>) -> Result<Self, TooDeep> {
        let mut cursor = parsed.root().get_inner_node().walk();
        let mut table = Self::default();
        table.add(cursor.node(), None, 0);
        // Indexes of the ancestors of the next node.
        let mut ancestors = vec![0];
        loop {
            if cursor.goto_first_child() {
                if ancestors.len() > TREE_DEPTH_MAX {
                    return Err(TooDeep);
                }
            } else {
                loop {
                    // All its descendants have been added.
                    let Some(done) = ancestors.pop() else { return Ok(table) };
                    table.entries[done].subtree_end = to_u32(table.entries.len());
                    if cursor.goto_next_sibling() {
                        break;
                    }
                    if !cursor.goto_parent() {
                        return Ok(table);
                    }
                }
            }
            let field = cursor.field_id().map(u16::from).zip(cursor.field_name());
            let parent = ancestors.last().copied().unwrap_or_default();
            ancestors.push(table.entries.len());
            table.add(cursor.node(), field, parent);
        }
    }

    fn add(&mut self, node: RawNode<'_>, field: Option<(u16, &str)>, parent: usize) {
        let bytes = node.byte_range();
        self.entries.push(NodeEntry {
            kind: self.kinds.intern(node.kind_id(), || node.kind()),
            field: field.map(|(id, word)| self.fields.intern(id, || word)),
            start: to_u32(bytes.start),
            end: to_u32(bytes.end),
            line: to_u32(node.start_position().row),
            end_line: to_u32(node.end_position().row),
            parent: to_u32(parent),
            subtree_end: 0,
            is_named: node.is_named(),
            is_error: node.is_error(),
        });
    }
}

impl NameTable {
    fn intern<'w>(&mut self, id: u16, word: impl FnOnce() -> &'w str) -> u16 {
        *self.index_by_id.entry(id).or_insert_with(|| {
            self.names.push(word().to_owned());
            // A grammar's ids are 16 bits wide.
            u16::try_from(self.names.len() - 1).unwrap_or(u16::MAX)
        })
    }

    fn name(&self, place: u16) -> &str {
        &self.names[usize::from(place)]
    }
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl<'t> SyntaxNode<'t> {
    fn node_at(self, index: usize) -> Self {
        Self { index, ..self }
    }

    fn entry(self) -> &'t NodeEntry {
        &self.tree.nodes.entries[self.index]
    }

    /// Index after the last descendant.
    fn subtree_end(self) -> usize {
        self.entry().subtree_end as usize
    }

    fn each_child(self) -> impl Iterator<Item = Self> {
        let is_below = move |child: &Self| child.index < self.subtree_end();
        let first = Some(self.node_at(self.index + 1)).filter(is_below);
        std::iter::successors(first, move |child| {
            Some(child.node_at(child.subtree_end())).filter(is_below)
        })
    }

    /// The grammar's name of its kind.
    #[must_use]
    pub fn kind(self) -> &'t str {
        self.tree.nodes.kinds.name(self.entry().kind)
    }

    /// The child with this field name.
    #[must_use]
    pub fn field(self, name: &str) -> Option<Self> {
        self.each_child().find(|child| {
            child.entry().field.map(|place| self.tree.nodes.fields.name(place)) == Some(name)
        })
    }

    /// All children in text order, including punctuation.
    #[must_use]
    pub fn children(self) -> Vec<Self> {
        self.each_child().collect()
    }

    /// The named children, without punctuation.
    #[must_use]
    pub fn named_children(self) -> Vec<Self> {
        self.each_child().filter(|child| child.is_named()).collect()
    }

    /// The parent; `None` for the root.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        (self.index > 0).then(|| self.node_at(self.entry().parent as usize))
    }

    /// The previous named node among the parent's children.
    #[must_use]
    pub fn previous_sibling(self) -> Option<Self> {
        let before = self.parent()?.each_child().take_while(|child| child.index < self.index);
        before.filter(|child| child.is_named()).last()
    }

    /// The next named node among the parent's children.
    #[must_use]
    pub fn next_sibling(self) -> Option<Self> {
        let mut following =
            self.parent()?.each_child().skip_while(|child| child.index <= self.index);
        following.find(|child| child.is_named())
    }

    /// The ancestors, nearest first.
    pub fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |node| node.parent())
    }

    /// The node and its descendants, in text order.
    #[must_use]
    pub fn descendants(self) -> Vec<Self> {
        (self.index..self.subtree_end()).map(|place| self.node_at(place)).collect()
    }

    /// Visits the node and its descendants in text order; descends below a node only if `visit`
    /// returns true.
    pub fn walk(self, visit: &mut dyn FnMut(Self) -> bool) {
        let mut place = self.index;
        while place < self.subtree_end() {
            let node = self.node_at(place);
            place = if visit(node) { place + 1 } else { node.subtree_end() };
        }
    }

    /// The source text of the node.
    #[must_use]
    pub fn text(self) -> &'t str {
        self.tree.text().get(self.bytes()).unwrap_or_default()
    }

    /// Byte offsets in the text.
    #[must_use]
    pub fn bytes(self) -> Range<usize> {
        self.entry().start as usize..self.entry().end as usize
    }

    /// 0-based line of its start.
    #[must_use]
    pub fn line(self) -> usize {
        self.entry().line as usize
    }

    /// 0-based line of its end.
    #[must_use]
    pub fn end_line(self) -> usize {
        self.entry().end_line as usize
    }

    /// True if the grammar has a name for its kind; punctuation is unnamed.
    #[must_use]
    pub fn is_named(self) -> bool {
        self.entry().is_named
    }

    /// True if the parser could not parse this part of the text.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.entry().is_error
    }

    /// True if it has no children.
    #[must_use]
    pub fn is_leaf(self) -> bool {
        self.subtree_end() == self.index + 1
    }
}

impl PartialEq for SyntaxNode<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.index == other.index
    }
}

impl Eq for SyntaxNode<'_> {}

impl fmt::Debug for SyntaxNode<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {:?}", self.kind(), self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts with fields, comments in odd positions, unparsable parts, and an empty one.
    const TEXTS: [(ScanLanguage, &str); 9] = [
        (ScanLanguage::Python, ""),
        (
            ScanLanguage::Python,
            "# a\nimport os, sys\n@x\ndef f(a, *b, c: int = 1) -> int: # b\n    return (a\n      # c\n      + c)\n",
        ),
        (
            ScanLanguage::Python,
            "def f(:\n  return 1\nx = f(1, 'ü')\nif x: pass\nelif y: z()\nelse: w()\n",
        ),
        (
            ScanLanguage::TypeScript,
            "import {a} from 'b'; // c\nclass A<T> { @d() m?(x: T = 1): void { it('a', () => { x! as any }) } }",
        ),
        (ScanLanguage::Tsx, "const a = () => <b c={1}>{/* d */ e}</b>;"),
        (
            ScanLanguage::Go,
            "package p\nfunc (r *R) f(a, b int) (c string, err error) { if x := g(); x > 1 { return } ; switch { case a: } }",
        ),
        (
            ScanLanguage::Rust,
            "/// d\n#[cfg(test)] mod t { use super::*; #[test] fn f<T: A>(x: &T) -> R where T: B { assert_eq!(x?, 1); } }",
        ),
        (
            ScanLanguage::Java,
            "class A { @Test void f(int... a) throws E { for (int i = 0, j = 1; i < j; i++) { try { g(); } catch (E | F e) { } } } }",
        ),
        (
            ScanLanguage::CSharp,
            "class A { [Fact] public async Task F(int a = 1) => await G(x: a); int P { get; set; } }",
        ),
    ];

    #[test]
    fn every_node_equals_the_parsers_node() {
        for (language, text) in TEXTS {
            let parsed = parse_tree(language, text).expect("it parses");
            let tree = SyntaxTree::parse(language, text).expect("it parses");
            compare(parsed.root().get_inner_node(), tree.root());
        }
    }

    fn compare(raw: RawNode<'_>, node: SyntaxNode<'_>) {
        assert_eq!((raw.kind(), raw.byte_range()), (node.kind(), node.bytes()));
        assert_eq!(
            (raw.start_position().row, raw.end_position().row),
            (node.line(), node.end_line())
        );
        assert_eq!((raw.is_named(), raw.is_error()), (node.is_named(), node.is_error()));
        assert_eq!(raw.child_count() == 0, node.is_leaf(), "{node:?}");
        let place = |raw: RawNode<'_>| (raw.kind().to_owned(), raw.byte_range());
        let own = |node: SyntaxNode<'_>| (node.kind().to_owned(), node.bytes());
        assert_eq!(raw.parent().map(place), node.parent().map(own));
        assert_eq!(raw.prev_named_sibling().map(place), node.previous_sibling().map(own));
        assert_eq!(raw.next_named_sibling().map(place), node.next_sibling().map(own));
        let language = raw.language();
        let count = u16::try_from(language.field_count()).expect("few fields");
        for name in (1..=count).filter_map(|id| language.field_name_for_id(id)) {
            let field = raw.child_by_field_name(name).map(place);
            assert_eq!(field, node.field(name).map(own), "{name} of {node:?}");
        }
        let mut cursor = raw.walk();
        let raw_children: Vec<RawNode<'_>> = raw.children(&mut cursor).collect();
        let children = node.children();
        assert_eq!(raw_children.len(), children.len());
        for (raw, node) in raw_children.into_iter().zip(children) {
            compare(raw, node);
        }
    }

    #[test]
    fn a_walk_visits_descendants_and_skips_declined_subtrees() {
        let text = "def f(a):\n    return a\ndef g(b):\n    return b\n";
        let tree = SyntaxTree::parse(ScanLanguage::Python, text).expect("it parses");
        let mut seen = Vec::new();
        tree.root().named_children()[0].walk(&mut |node| {
            seen.push(node.kind());
            node.kind() != "parameters"
        });
        let known = ["function_definition", "def", "identifier", "parameters", ":", "block"];
        assert_eq!(seen, [&known[..], &["return_statement", "return", "identifier"]].concat());
    }
}
