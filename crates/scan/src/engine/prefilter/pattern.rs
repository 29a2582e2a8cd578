//! Derives the text requirements of a pattern: the texts of its names and literals.
//!
//! Only named leaves count, because the engine compares keywords and punctuation by kind alone, and
//! the parser inserts such leaves without text where code is broken.

use std::collections::HashSet;

use ast_grep_core::Pattern;
use ast_grep_core::matcher::PatternNode;
use ast_grep_core::meta_var::MetaVariable;
use serde_json::Value;

use super::TextNeed;
use crate::engine::grammar::Grammar;

/// Texts that a pattern requires, and the meta-variables it always binds.
#[derive(Debug, Default)]
pub(super) struct PatternLeaves {
    texts: Vec<String>,
    pub(super) bound: HashSet<String>,
}

impl PatternLeaves {
    /// Leaves of a `pattern` key; empty for a pattern that is broken or compares only kinds.
    pub(super) fn from_pattern(value: &Value, grammar: Grammar) -> Self {
        let key = |key: &str| value.get(key).and_then(Value::as_str);
        let mut leaves = Self::default();
        let pattern = match (value.as_str(), key("context"), key("selector")) {
            (Some(text), ..) | (None, Some(text), None) => Pattern::try_new(text, grammar),
            (None, Some(context), Some(selector)) => {
                Pattern::contextual(context, selector, grammar)
            }
            (None, None, _) => return leaves,
        };
        if let Ok(pattern) = pattern
            && key("strictness") != Some("signature")
        {
            leaves.collect(&pattern.node);
        }
        leaves
    }

    fn collect(&mut self, node: &PatternNode) {
        match node {
            PatternNode::Terminal { text, is_named: true, .. } => self.texts.push(text.clone()),
            PatternNode::MetaVar { meta_var: MetaVariable::Capture(name, true) } => {
                self.bound.insert(name.clone());
            }
            PatternNode::Terminal { .. } | PatternNode::MetaVar { .. } => {}
            PatternNode::Internal { children, .. } => {
                for child in children {
                    self.collect(child);
                }
            }
        }
    }

    /// Requires all the texts.
    pub(super) fn need(&self) -> TextNeed {
        TextNeed::all(self.texts.iter().map(|text| TextNeed::text(text.as_bytes(), false)))
    }
}
