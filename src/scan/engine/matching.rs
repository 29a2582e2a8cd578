//! One walk over a parsed text, and the rules on the nodes that they may match. It must not know
//! where rules or texts come from.

use std::cell::OnceCell;
use std::sync::Arc;

use ast_grep_config::RuleConfig;
use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_core::{AstGrep, Doc, NodeMatch};

use super::Document;
use super::compile::{Compiled, Rule};
use super::grammar::Grammar;
use super::names::Names;
use super::prefilter::Anchors;
use super::suppress::{self, Suppressions};
use crate::base::limits::TREE_DEPTH_MAX;
use crate::scan::language::Language;

/// A node of the parser.
pub(super) type RawNode<'t> = <Document as Doc>::Node<'t>;

/// Rules by the kinds of nodes they may match.
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
pub(super) type Active<'r> = Vec<Option<(&'r Compiled, Option<Anchors>)>>;

/// The imports of one text, for the rules that ask what a capture stands for.
pub(super) struct Imports<'r> {
    rules: &'r [Arc<Rule>],
    language: Language,
    /// Read when a match depends on them.
    names: OnceCell<Names>,
}

impl<'r> Imports<'r> {
    pub(super) fn new(rules: &'r [Arc<Rule>], language: Language) -> Self {
        Self { rules, language, names: OnceCell::new() }
    }

    /// Whether the captures of a rule's match stand for what the rule asks for.
    fn bear_out(
        &self,
        number: usize,
        tree: &AstGrep<Document>,
        place: &NodeMatch<'_, Document>,
    ) -> bool {
        self.rules[number].spec.resolves.iter().all(|(capture, qualified)| {
            let names = self.names.get_or_init(|| Names::of(self.language, tree));
            let captured = place.get_env().get_match(capture);
            captured.is_some_and(|node| names.may_be(&node.text(), qualified))
        })
    }
}

impl Table {
    /// Makes the table of the rules that may match in one text.
    pub(super) fn new(grammar: Grammar, active: &Active<'_>) -> Self {
        let errors = grammar.get_ts_language().node_kind_count();
        let mut by_kind = vec![Vec::new(); errors + 1];
        for (number, rule) in active.iter().enumerate() {
            let kinds = rule.iter().flat_map(|(rule, _)| &rule.kinds);
            for kind in kinds {
                by_kind[(*kind).min(errors)].push(number);
            }
        }
        Self { by_kind }
    }

    /// Walks a tree once: collects the nodes that the rules may match, and the comments when they
    /// are asked for. Where no anchor of any rule is, nothing is looked at.
    pub(super) fn walk<'t>(
        &self,
        tree: &'t AstGrep<Document>,
        active: &Active<'_>,
        with_comments: bool,
    ) -> Result<Walk<'t>, TooDeep> {
        let mut walk = Walk { candidates: Vec::new(), comments: Vec::new() };
        let anchors = active.iter().flatten().map(|(_, anchors)| anchors.as_ref());
        let mut anchors = if with_comments { None } else { Anchors::starts(anchors) };
        for_each_node(tree, |node| {
            if anchors.as_mut().is_some_and(|it| !it.is_next_in(&node.byte_range())) {
                return Below::Skip;
            }
            let slot = usize::from(node.kind_id()).min(self.by_kind.len() - 1);
            if !self.by_kind[slot].is_empty() {
                walk.candidates.push((node, slot));
            }
            if with_comments && suppress::is_comment(node.kind()) {
                walk.comments.push(node);
            }
            Below::Visit
        })?;
        Ok(walk)
    }

    /// Tries the rules on the nodes of a walk, and hands over every match that no comment
    /// suppresses. Returns what the comments did.
    pub(super) fn try_all<'t, 'r>(
        &self,
        tree: &'t AstGrep<Document>,
        (active, imports): (&Active<'r>, &Imports<'_>),
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
                let Some((Compiled { rule, .. }, anchors)) = &active[*number] else { continue };
                if anchors.as_ref().is_some_and(|anchors| !anchors.is_any_in(&bytes)) {
                    continue;
                }
                let place = rule.matcher.match_node(tree.adopt(node));
                tried(&rule.id);
                let place = place.filter(|place| imports.bear_out(*number, tree, place));
                let Some(place) = place else { continue };
                if !suppressions.cover(&rule.id, line) {
                    found(rule, &place);
                }
            }
        }
        suppressions
    }
}

/// What becomes of the nodes below one that was visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    Visit,
    /// They are not visited, unless they are so many that they may be too deep.
    Skip,
}

/// Visits the nodes of a tree in the order of the text, those with children before these.
pub(super) fn for_each_node<'t>(
    tree: &'t AstGrep<Document>,
    mut visit: impl FnMut(RawNode<'t>) -> Below,
) -> Result<(), TooDeep> {
    let mut cursor = tree.root().get_inner_node().walk();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        let is_surely_flat = || depth + node.descendant_count() <= TREE_DEPTH_MAX;
        let is_skipped = visit(node) == Below::Skip && is_surely_flat();
        if !is_skipped && cursor.goto_first_child() {
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
