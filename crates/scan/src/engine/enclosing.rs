//! Rules out nodes by the kinds of the nodes around them.
//!
//! A rule with `inside: { kind: K }` cannot match a node that no node of the kind K encloses. The walk
//! knows that of each node; the engine searches for the parents of one from the root.

use ast_grep_core::Language as _;
use serde_json::{Map, Value};

use super::grammar::Grammar;

/// Kinds of enclosing nodes required for a match: a necessary condition, not a sufficient one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EnclosingKinds {
    /// Kinds of the parent.
    parents: Vec<usize>,
    /// Kinds of some ancestor each.
    ancestors: Vec<usize>,
}

impl EnclosingKinds {
    /// The kinds that a rule requires.
    pub(super) fn of_rule(body: &Map<String, Value>, grammar: Grammar) -> Self {
        let mut kinds = Self::default();
        kinds.add(body.get("rule"), grammar);
        kinds
    }

    fn add(&mut self, rule: Option<&Value>, grammar: Grammar) {
        let Some(rule) = rule.and_then(Value::as_object) else { return };
        let inside = rule.get("inside");
        let kind = inside.and_then(|inside| inside["kind"].as_str());
        // A selector is no kind of the grammar, whose numbers begin with 1.
        let kind = kind.map(|kind| usize::from(grammar.kind_to_id(kind))).filter(|id| *id > 0);
        let is_parent =
            |inside: &Value| inside.get("stopBy").is_none_or(|it| it.as_str() == Some("neighbor"));
        if inside.is_some_and(is_parent) {
            self.parents.extend(kind);
        } else {
            self.ancestors.extend(kind);
        }
        for part in rule.get("all").and_then(Value::as_array).into_iter().flatten() {
            self.add(Some(part), grammar);
        }
    }

    /// True if a node below these nodes may match.
    pub(super) fn admits(&self, open: &OpenNodes) -> bool {
        let is_parent = |kind: &usize| open.kinds.last() == Some(&open.slot(*kind));
        let is_ancestor = |kind: &usize| open.counts[open.slot(*kind)] > 0;
        self.parents.iter().all(is_parent) && self.ancestors.iter().all(is_ancestor)
    }
}

/// The kinds of the nodes around the next node of a walk.
pub(super) struct OpenNodes {
    /// From the root.
    kinds: Vec<usize>,
    /// The number of open nodes of each kind; the last is for syntax errors.
    counts: Vec<usize>,
}

impl OpenNodes {
    /// No nodes, of a grammar with this many kinds.
    pub(super) fn new(kinds: usize) -> Self {
        Self { kinds: Vec::new(), counts: vec![0; kinds] }
    }

    fn slot(&self, kind: usize) -> usize {
        kind.min(self.counts.len() - 1)
    }

    /// Adds the innermost node.
    pub(super) fn open(&mut self, slot: usize) {
        self.kinds.push(slot);
        self.counts[slot] += 1;
    }

    /// Removes the innermost nodes, until there are this many.
    pub(super) fn close_to(&mut self, depth: usize) {
        for slot in self.kinds.drain(depth.min(self.kinds.len())..) {
            self.counts[slot] -= 1;
        }
    }
}
