//! The matching engine. Only this module names the ast-grep crates; everything else speaks of
//! rules, places and gaps. It must not know where rules or texts come from.

mod compile;
pub(super) mod fix;
mod globs;
mod grammar;
mod inject;
pub(super) mod pattern;

use std::ops::Range;
use std::sync::Arc;

use ast_grep_config::{CombinedScan, RuleConfig, Severity as EngineSeverity};
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Node, NodeMatch};

pub(super) use self::compile::{Rule, Utils};
pub(super) use self::globs::NameGlobs;
use self::grammar::Grammar;
pub(super) use self::inject::Injector;
use super::edits::Edit;
use super::language::Language;
use super::rules::RuleInfo;
use crate::base::finding::Severity;
use crate::base::limits::TREE_DEPTH_MAX;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};

type Document = StrDoc<Grammar>;

/// The rules of one language.
pub(super) struct Engine {
    language: Language,
    pub(super) rules: Vec<Arc<Rule>>,
}

/// One match of one rule.
pub(super) struct Match {
    pub(super) id: String,
    pub(super) severity: Severity,
    pub(super) message: String,
    /// Byte offsets in the text.
    pub(super) bytes: Range<usize>,
    /// What the rule would put there.
    pub(super) edit: Option<Edit>,
}

impl Engine {
    pub(super) fn new(language: Language, rules: Vec<Arc<Rule>>) -> Self {
        Self { language, rules }
    }

    /// What the findings of a rule carry.
    pub(super) fn info(&self, id: &str) -> RuleInfo {
        let rule = self.rules.iter().find(|rule| rule.spec.id == id);
        rule.map(|rule| rule.spec.info.clone()).unwrap_or_default()
    }

    /// Whether a rule speaks about this path.
    pub(super) fn handles(&self, path: &RelPath) -> bool {
        self.rules.iter().any(|rule| rule.admits(path))
    }

    /// The rules that speak about this path and work; the others know what is wrong with them.
    fn rules_for(&self, path: &RelPath) -> Vec<&RuleConfig<Grammar>> {
        let admitting = self.rules.iter().filter(|rule| rule.admits(path));
        admitting.filter_map(|rule| rule.config().ok()).collect()
    }

    /// All matches that no comment suppresses, in no particular order, and what kept the text from
    /// being measured wholly.
    pub(super) fn matches(&self, path: &RelPath, text: &str) -> (Vec<Match>, Option<Gap>) {
        let rules = self.rules_for(path);
        let Ok(document) = Document::try_new(text, Grammar::from(self.language)) else {
            return (Vec::new(), Some(unparsed(self.language)));
        };
        let tree = AstGrep::doc(document);
        if is_deeper_than(&tree, TREE_DEPTH_MAX) {
            let detail = format!("code nested deeper than {TREE_DEPTH_MAX} levels");
            return (Vec::new(), Some(Gap::new(Cause::Skipped, detail)));
        }
        let gap = is_unparsed(&tree).then(|| unparsed(self.language));
        let scan = CombinedScan::new(rules);
        let mut matches = Vec::new();
        for (rule, places) in scan.scan(&tree, false).matches {
            matches.extend(places.iter().map(|place| to_match(rule, place)));
        }
        (matches, gap)
    }
}

fn unparsed(language: Language) -> Gap {
    Gap::new(Cause::Skipped, format!("the text does not parse as {}", language.as_str()))
}

/// Whether the parser made nothing of the text: the root is an error or has nothing but errors.
/// An error beside parsed code is no reason to distrust the matches in that code.
fn is_unparsed(tree: &AstGrep<Document>) -> bool {
    let root = tree.root();
    let mut children = root.children().filter(Node::is_named).peekable();
    root.is_error() || (children.peek().is_some() && children.all(|child| child.is_error()))
}

/// Whether the tree has more levels. The engine recurses along the tree and walks from the root
/// again for every relation, so a hundred thousand brackets would exhaust stack or patience; the
/// parser itself is linear and takes them.
fn is_deeper_than(tree: &AstGrep<Document>, depth_max: usize) -> bool {
    let root = tree.root();
    let mut cursor = root.get_inner_node().walk();
    let mut depth = 0;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > depth_max {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}

fn to_match(rule: &RuleConfig<Grammar>, place: &NodeMatch<'_, Document>) -> Match {
    let message = if rule.message.is_empty() {
        rule.id.clone()
    } else if rule.message.contains('$') {
        rule.get_message(place)
    } else {
        rule.message.clone()
    };
    let severity = match rule.severity {
        EngineSeverity::Error => Severity::Error,
        EngineSeverity::Warning => Severity::Warning,
        EngineSeverity::Info => Severity::Info,
        EngineSeverity::Hint | EngineSeverity::Off => Severity::Hint,
    };
    let edit = fix::edit_of(rule, place);
    Match { id: rule.id.clone(), severity, message, bytes: place.range(), edit }
}
