//! One walk over a parsed text, and the rules on the nodes that they may match. It must not know
//! where rules or texts come from.

use ast_grep_config::RuleConfig;
use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_core::{AstGrep, Doc, Matcher as _, NodeMatch};

use super::Document;
use super::grammar::Grammar;
use super::prefilter::Anchors;
use super::suppress::{self, Suppressions};
use crate::base::limits::TREE_DEPTH_MAX;

/// A node of the parser.
pub(super) type RawNode<'t> = <Document as Doc>::Node<'t>;

/// The rules of one language by the kinds of nodes they may match.
pub(super) struct Table {
    /// Numbers of rules by kind; the last slot is the kind of syntax errors, whose number is far
    /// above all others.
    by_kind: Vec<Vec<usize>>,
}

/// What a walk brings back.
pub(super) struct Walk<'t> {
    /// Nodes that a rule may match, with the slot of their kind, in the order of the text.
    candidates: Vec<(RawNode<'t>, usize)>,
    comments: Vec<RawNode<'t>>,
}

/// The tree has more levels than can be matched. The engine recurses along the tree and walks from
/// the root again for every relation, so a hundred thousand brackets would exhaust stack or
/// patience; the parser itself is linear and takes them.
#[derive(Debug)]
pub(super) struct TooDeep;

/// The rules that may match in one text, by number; those that do not speak about the path or
/// cannot match are missing.
pub(super) type Active<'r> = Vec<Option<(&'r RuleConfig<Grammar>, Option<Anchors>)>>;

impl Table {
    /// Makes the table of these rules, which are known by their place in the list.
    pub(super) fn new<'r>(
        grammar: Grammar,
        rules: impl Iterator<Item = Option<&'r RuleConfig<Grammar>>>,
    ) -> Self {
        let errors = grammar.get_ts_language().node_kind_count();
        let mut by_kind = vec![Vec::new(); errors + 1];
        for (number, rule) in rules.enumerate() {
            let Some(kinds) = rule.and_then(|rule| rule.matcher.potential_kinds()) else {
                continue;
            };
            for kind in &kinds {
                by_kind[kind.min(errors)].push(number);
            }
        }
        Self { by_kind }
    }

    /// Walks a tree once: collects the nodes that the rules may match, and the comments when they
    /// are asked for.
    pub(super) fn walk<'t>(
        &self,
        tree: &'t AstGrep<Document>,
        active: &Active<'_>,
        with_comments: bool,
    ) -> Result<Walk<'t>, TooDeep> {
        let is_active = |rules: &Vec<usize>| rules.iter().any(|rule| active[*rule].is_some());
        let wanted: Vec<bool> = self.by_kind.iter().map(is_active).collect();
        let mut walk = Walk { candidates: Vec::new(), comments: Vec::new() };
        for_each_node(tree, |node| {
            let slot = usize::from(node.kind_id()).min(wanted.len() - 1);
            if wanted[slot] {
                walk.candidates.push((node, slot));
            }
            if with_comments && suppress::is_comment(node.kind()) {
                walk.comments.push(node);
            }
        })?;
        Ok(walk)
    }

    /// Tries the rules on the nodes of a walk, and hands over every match that no comment
    /// suppresses. Returns what the comments did.
    pub(super) fn try_all<'t, 'r>(
        &self,
        tree: &'t AstGrep<Document>,
        active: &Active<'r>,
        walk: Walk<'t>,
        mut found: impl FnMut(&'r RuleConfig<Grammar>, &NodeMatch<'t, Document>),
        tried: &mut impl FnMut(&str),
    ) -> Suppressions<'t> {
        let mut suppressions = Suppressions::among(walk.comments, tree.source());
        if suppressions.cover_all() {
            return suppressions;
        }
        for (node, slot) in walk.candidates {
            let (bytes, line) = (node.byte_range(), node.start_position().row);
            for number in &self.by_kind[slot] {
                let Some((rule, anchors)) = &active[*number] else { continue };
                if anchors.as_ref().is_some_and(|anchors| !anchors.is_any_in(&bytes)) {
                    continue;
                }
                let place = rule.matcher.match_node(tree.adopt(node));
                tried(&rule.id);
                let Some(place) = place else { continue };
                if !suppressions.cover(&rule.id, line) {
                    found(rule, &place);
                }
            }
        }
        suppressions
    }
}

/// Visits every node of a tree in the order of the text, those with children before these.
pub(super) fn for_each_node<'t>(
    tree: &'t AstGrep<Document>,
    mut visit: impl FnMut(RawNode<'t>),
) -> Result<(), TooDeep> {
    let mut cursor = tree.root().get_inner_node().walk();
    let mut depth = 0;
    loop {
        visit(cursor.node());
        if cursor.goto_first_child() {
            depth += 1;
            if depth > TREE_DEPTH_MAX {
                return Err(TooDeep);
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
            depth -= 1;
        }
    }
}
