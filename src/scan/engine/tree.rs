//! A parsed text as others may walk it. It must not know rules; who wants what from the nodes is
//! not known here either.

use std::fmt;
use std::ops::Range;

use ast_grep_core::AstGrep;

use super::matching::{Below, RawNode, for_each_node};
use super::{Document, is_unparsed, parse, too_deep, unparsed};
use crate::base::limits::SOURCE_BYTES_MAX;
use crate::base::verdict::{Cause, Gap};
use crate::scan::language::Language;

/// The syntax tree of one text.
pub struct Tree {
    inner: AstGrep<Document>,
    language: Language,
}

/// One node of a [`Tree`].
#[derive(Clone, Copy)]
pub struct Node<'t> {
    raw: RawNode<'t>,
    tree: &'t Tree,
}

impl Tree {
    /// Parses a text; a gap when it is larger than [`SOURCE_BYTES_MAX`], nested too deeply to be
    /// walked, or not parsable as a whole. A syntax error beside parsed code is no gap.
    pub fn parse(language: Language, text: &str) -> Result<Self, Gap> {
        if text.len() as u64 > SOURCE_BYTES_MAX {
            let detail = format!("larger than {SOURCE_BYTES_MAX} bytes");
            return Err(Gap::new(Cause::Skipped, detail));
        }
        let inner = parse(language, text)?;
        for_each_node(&inner, |_| Below::Visit).map_err(|_| too_deep())?;
        if is_unparsed(&inner) {
            return Err(unparsed(language));
        }
        Ok(Self { inner, language })
    }

    /// The language it was parsed as.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// The node of the whole text.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node { raw: self.inner.root().get_inner_node(), tree: self }
    }

    /// The text that was parsed.
    #[must_use]
    pub fn text(&self) -> &str {
        self.inner.source()
    }
}

impl<'t> Node<'t> {
    fn at(self, raw: RawNode<'t>) -> Self {
        Self { raw, tree: self.tree }
    }

    /// Its kind, in the words of the grammar.
    #[must_use]
    pub fn kind(self) -> &'t str {
        self.raw.kind()
    }

    /// The child in a field of the grammar.
    #[must_use]
    pub fn field(self, name: &str) -> Option<Self> {
        self.raw.child_by_field_name(name).map(|raw| self.at(raw))
    }

    /// All children, in the order of the text; punctuation is among them.
    #[must_use]
    pub fn children(self) -> Vec<Self> {
        let mut cursor = self.raw.walk();
        self.raw.children(&mut cursor).map(|raw| self.at(raw)).collect()
    }

    /// The children that the grammar gives a name.
    #[must_use]
    pub fn named_children(self) -> Vec<Self> {
        let mut cursor = self.raw.walk();
        self.raw.named_children(&mut cursor).map(|raw| self.at(raw)).collect()
    }

    /// The node around it.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        self.raw.parent().map(|raw| self.at(raw))
    }

    /// The named node before it among the children of its parent.
    #[must_use]
    pub fn previous(self) -> Option<Self> {
        self.raw.prev_named_sibling().map(|raw| self.at(raw))
    }

    /// The named node behind it among the children of its parent.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.raw.next_named_sibling().map(|raw| self.at(raw))
    }

    /// The nodes around it, the nearest first.
    pub fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |node| node.parent())
    }

    /// It and every node below it, in the order of the text.
    #[must_use]
    pub fn descendants(self) -> Vec<Self> {
        let mut found = Vec::new();
        self.walk(&mut |node| {
            found.push(node);
            true
        });
        found
    }

    /// Visits it and what is below it in the order of the text; below a node only when `visit`
    /// says so.
    pub fn walk(self, visit: &mut dyn FnMut(Self) -> bool) {
        let mut cursor = self.raw.walk();
        let mut depth = 0_usize;
        loop {
            if visit(self.at(cursor.node())) && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            loop {
                if depth == 0 {
                    return;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                cursor.goto_parent();
                depth -= 1;
            }
        }
    }

    /// Its part of the text.
    #[must_use]
    pub fn text(self) -> &'t str {
        self.tree.text().get(self.bytes()).unwrap_or_default()
    }

    /// Byte offsets in the text.
    #[must_use]
    pub fn bytes(self) -> Range<usize> {
        self.raw.byte_range()
    }

    /// 0-based line on which it starts.
    #[must_use]
    pub fn line(self) -> usize {
        self.raw.start_position().row
    }

    /// 0-based line on which it ends.
    #[must_use]
    pub fn end_line(self) -> usize {
        self.raw.end_position().row
    }

    /// Whether the grammar gives it a name; punctuation has none.
    #[must_use]
    pub fn is_named(self) -> bool {
        self.raw.is_named()
    }

    /// Whether the parser made nothing of this part of the text.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.raw.is_error()
    }

    /// Whether nothing is below it.
    #[must_use]
    pub fn is_leaf(self) -> bool {
        self.raw.child_count() == 0
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Node<'_> {}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {:?}", self.kind(), self.bytes())
    }
}
