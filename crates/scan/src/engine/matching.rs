//! Walks a parsed text once and tries each rule on the nodes it may match.

use std::cell::OnceCell;
use std::sync::Arc;

use ast_grep_config::RuleConfig;
use ast_grep_core::matcher::MatcherExt as _;
use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_core::{AstGrep, Doc, NodeMatch};

use super::EngineDocument;
use super::bounded_parse::CpuBound;
use super::compile::{CompiledRule, EngineRule};
use super::enclosing::OpenNodes;
use super::grammar::Grammar;
use super::imports::ImportedNames;
use super::prefilter::MatchAnchors;
use super::suppressions::{self, Suppressions};
use crate::language::ScanLanguage;
use moai_base::limits::TREE_DEPTH_MAX;

/// A node of the parser.
pub(super) type RawNode<'t> = <EngineDocument as Doc>::Node<'t>;

/// Rules by the node kinds they may match.
pub(super) struct KindTable {
    /// Rule indexes by node kind; the last slot is for syntax errors, whose kind id is far above
    /// all others.
    by_kind: Vec<Vec<usize>>,
    /// The nodes that some rule may match.
    nodes: WalkNodes,
}

/// Nodes collected by one walk.
pub(super) struct TreeWalk<'t> {
    /// Nodes and the index of a rule that may match there, in text order.
    candidates: Vec<(RawNode<'t>, usize)>,
    comments: Vec<RawNode<'t>>,
}

/// The tree is too deep to be matched. The engine recurses along the tree and walks from the root
/// again for every relation, so a hundred thousand brackets would exhaust the stack or take too
/// long; the parser itself is linear.
#[derive(Debug)]
pub(super) struct TooDeep;

/// The rules that may match in one text, by rule index; `None` for rules that do not cover the path
/// or cannot match.
pub(super) type ActiveRules<'r> = Vec<Option<(&'r CompiledRule, Option<MatchAnchors>)>>;

/// The imports of one text, for rules with `resolves`.
pub(super) struct ImportResolver<'r> {
    rules: &'r [Arc<EngineRule>],
    language: ScanLanguage,
    /// Read when the first match depends on them.
    names: OnceCell<ImportedNames>,
}

impl<'r> ImportResolver<'r> {
    pub(super) fn new(rules: &'r [Arc<EngineRule>], language: ScanLanguage) -> Self {
        Self { rules, language, names: OnceCell::new() }
    }

    /// True if the captures of a match resolve to the names that the rule lists.
    fn confirms_match(
        &self,
        number: usize,
        tree: &AstGrep<EngineDocument>,
        place: &NodeMatch<'_, EngineDocument>,
    ) -> bool {
        self.rules[number].spec.resolves.iter().all(|(capture, qualified)| {
            let names = self.names.get_or_init(|| ImportedNames::from_tree(self.language, tree));
            let captured = place.get_env().get_match(capture);
            captured.is_some_and(|node| names.may_stand_for(&node.text(), qualified))
        })
    }
}

/// One text and the rules to match in it.
pub(super) struct MatchInput<'t, 'a, 'r> {
    pub(super) tree: &'t AstGrep<EngineDocument>,
    pub(super) active: &'a ActiveRules<'r>,
    pub(super) imports: &'a ImportResolver<'a>,
    /// Limit of processor time.
    pub(super) bound: &'a CpuBound,
}

/// The outcome of matching all rules in one text.
pub(super) struct MatchedRules<'t> {
    /// With their use recorded.
    pub(super) suppressions: Suppressions<'t>,
    /// The rule being tried when the time ran out; the remaining nodes are untried.
    pub(super) slow_rule: Option<String>,
}

impl KindTable {
    /// Builds the table of the rules that may match in one text.
    pub(super) fn new(grammar: Grammar, active: &ActiveRules<'_>) -> Self {
        let language = grammar.get_ts_language();
        let errors = language.node_kind_count();
        let mut table = Self { by_kind: vec![Vec::new(); errors + 1], nodes: WalkNodes::Named };
        for (number, rule) in active.iter().enumerate() {
            for kind in rule.iter().flat_map(|(rule, _)| &rule.kinds) {
                table.by_kind[(*kind).min(errors)].push(number);
                let kind = u16::try_from(*kind).unwrap_or(u16::MAX);
                // A comment can be between the words of an operator such as Python's `not in`.
                let is_comment =
                    language.node_kind_for_id(kind).is_some_and(suppressions::is_comment);
                if is_comment || !language.node_kind_is_named(kind) {
                    table.nodes = WalkNodes::All;
                }
            }
        }
        table
    }

    fn slot(&self, node: RawNode<'_>) -> usize {
        usize::from(node.kind_id()).min(self.by_kind.len() - 1)
    }

    /// Collects the nodes that rules may match, and the comments if requested. Subtrees without an
    /// anchor of any rule are skipped.
    pub(super) fn walk<'t>(
        &self,
        tree: &'t AstGrep<EngineDocument>,
        active: &ActiveRules<'_>,
        collect_comments: bool,
    ) -> Result<TreeWalk<'t>, TooDeep> {
        let mut walk = TreeWalk { candidates: Vec::new(), comments: Vec::new() };
        let anchors = active.iter().flatten().map(|(_, anchors)| anchors.as_ref());
        let mut anchors = if collect_comments { None } else { MatchAnchors::starts(anchors) };
        let nodes = if collect_comments { WalkNodes::All } else { self.nodes };
        let mut open = OpenNodes::new(self.by_kind.len());
        for_each_node(tree, nodes, |node, depth| {
            if anchors.as_mut().is_some_and(|it| !it.is_next_in(&node.byte_range())) {
                return WalkDescent::Skip;
            }
            let slot = self.slot(node);
            open.close_to(depth);
            if !self.by_kind[slot].is_empty() {
                let bytes = node.byte_range();
                let may_match = |number: &&usize| {
                    let Some((rule, anchors)) = &active[**number] else { return false };
                    anchors.as_ref().is_none_or(|anchors| anchors.is_any_in(&bytes))
                        && (bytes.is_empty() || rule.enclosing.admits(&open))
                };
                let numbers = self.by_kind[slot].iter().filter(may_match);
                walk.candidates.extend(numbers.map(|number| (node, *number)));
            }
            if collect_comments && suppressions::is_comment(node.kind()) {
                walk.comments.push(node);
            }
            open.open(slot);
            WalkDescent::Visit
        })?;
        Ok(walk)
    }

    /// Tries the rules on the collected nodes, within a bound on processor time, and calls `on_match`
    /// for every unsuppressed match.
    pub(super) fn match_rules<'t, 'r>(
        input: &MatchInput<'t, '_, 'r>,
        walk: TreeWalk<'t>,
        mut on_match: impl FnMut(&'r RuleConfig<Grammar>, &NodeMatch<'t, EngineDocument>),
        tried: &mut impl FnMut(&str),
    ) -> MatchedRules<'t> {
        let MatchInput { tree, active, imports, bound } = input;
        let mut suppressions = Suppressions::from_comments(walk.comments, tree.source());
        if suppressions.covers_file() {
            return MatchedRules { suppressions, slow_rule: None };
        }
        for (node, number) in walk.candidates {
            let Some((CompiledRule { rule, .. }, _)) = &active[number] else { continue };
            let place = rule.matcher.match_node(tree.adopt(node));
            tried(&rule.id);
            if bound.is_exceeded() {
                return MatchedRules { suppressions, slow_rule: Some(rule.id.clone()) };
            }
            let place = place.filter(|place| imports.confirms_match(number, tree, place));
            let Some(place) = place else { continue };
            if !suppressions.try_suppress(&rule.id, node.start_position().row) {
                on_match(rule, &place);
            }
        }
        MatchedRules { suppressions, slow_rule: None }
    }
}

/// The decision to descend below a visited node or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkDescent {
    Visit,
    /// Skip the subtree, unless it has so many nodes that it may be too deep.
    Skip,
}

/// The nodes that a walk visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkNodes {
    All,
    /// Those with a name in the grammar, which punctuation does not have, in other such nodes.
    Named,
}

impl WalkNodes {
    fn contains(self, node: RawNode<'_>) -> bool {
        self == Self::All || node.is_named()
    }

    fn count_children(self, node: RawNode<'_>) -> usize {
        match self {
            Self::All => node.child_count() as usize,
            Self::Named => node.named_child_count(),
        }
    }
}

/// Visits nodes of a tree, with their depth, in text order, parents before children.
pub(super) fn for_each_node<'t>(
    tree: &'t AstGrep<EngineDocument>,
    nodes: WalkNodes,
    mut visit: impl FnMut(RawNode<'t>, usize) -> WalkDescent,
) -> Result<(), TooDeep> {
    let mut cursor = tree.root().get_inner_node().walk();
    // For each open node, the number of its children that are still to be visited. It spares the cursor
    // the search for a sibling after the last one, which costs more than all its other steps.
    let mut left: Vec<usize> = Vec::new();
    loop {
        let node = cursor.node();
        let mut is_visited = nodes.contains(node);
        if is_visited {
            let depth = left.len();
            let is_depth_safe = || depth + node.descendant_count() <= TREE_DEPTH_MAX;
            let is_skipped = visit(node, depth) == WalkDescent::Skip && is_depth_safe();
            let children = if is_skipped { 0 } else { nodes.count_children(node) };
            if children > 0 && cursor.goto_first_child() {
                left.push(children);
                if left.len() > TREE_DEPTH_MAX {
                    return Err(TooDeep);
                }
                continue;
            }
        }
        loop {
            let Some(left_here) = left.last_mut() else { return Ok(()) };
            *left_here -= usize::from(is_visited);
            if *left_here > 0 && cursor.goto_next_sibling() {
                break;
            }
            left.pop();
            cursor.goto_parent();
            is_visited = true;
        }
    }
}
