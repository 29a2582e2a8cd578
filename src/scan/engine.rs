//! The matching engine. Only this module names the ast-grep crates; everything else speaks of
//! rules, places and gaps. It must not know where rules or texts come from.

mod grammar;
mod names;

use std::collections::HashMap;
use std::error::Error;
use std::ops::Range;
use std::path::Path;

use ast_grep_config::{
    CombinedScan, GlobalRules, RuleCollection, RuleConfig, SerializableRuleConfig,
    Severity as EngineSeverity,
};
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Node, NodeMatch};
use serde::Deserialize as _;
use serde_json::Value;

use self::grammar::Grammar;
use super::language::Language;
use super::rules::{Fault, RuleInfo, RuleSpec};
use crate::base::finding::Severity;
use crate::base::limits::{MESSAGE_CHARS_MAX, TREE_DEPTH_MAX};
use crate::base::path::RelPath;
use crate::base::text::one_line;
use crate::base::verdict::{Cause, Gap};

type Document = StrDoc<Grammar>;

/// The usable rules of one language.
pub(super) struct Engine {
    language: Language,
    rules: Vec<CompiledRule>,
    infos: HashMap<String, RuleInfo>,
}

/// One rule. A collection of its own, because the engine matches a rule's globs only inside a
/// collection, and one bad glob spoils the collection it is in.
struct CompiledRule {
    id: String,
    collection: RuleCollection<Grammar>,
}

/// One match of one rule.
pub(super) struct Match {
    pub(super) id: String,
    pub(super) severity: Severity,
    pub(super) message: String,
    /// Byte offsets in the text.
    pub(super) bytes: Range<usize>,
}

impl Engine {
    /// Compiles the rules of a language; those that cannot be compiled are faults.
    pub(super) fn compile(language: Language, specs: &[RuleSpec]) -> (Self, Vec<Fault>) {
        let mut engine = Self { language, rules: Vec::new(), infos: HashMap::new() };
        let mut faults = Vec::new();
        for spec in specs.iter().filter(|spec| spec.languages.contains(&language)) {
            match compile_rule(spec, language) {
                Ok(collection) => {
                    engine.rules.push(CompiledRule { id: spec.id.clone(), collection });
                    engine.infos.insert(spec.id.clone(), spec.info.clone());
                }
                Err(reason) => faults.push(Fault {
                    source: spec.source.clone(),
                    id: Some(spec.id.clone()),
                    reason: one_line(&reason, MESSAGE_CHARS_MAX),
                    languages: vec![language],
                }),
            }
        }
        (engine, faults)
    }

    /// The ids of the usable rules.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.id.as_str())
    }

    /// What the findings of a rule carry.
    pub(super) fn info(&self, id: &str) -> RuleInfo {
        self.infos.get(id).cloned().unwrap_or_default()
    }

    /// Whether a rule speaks about this path.
    pub(super) fn handles(&self, path: &RelPath) -> bool {
        !self.rules_for(path).is_empty()
    }

    fn rules_for(&self, path: &RelPath) -> Vec<&RuleConfig<Grammar>> {
        let (path, language) = (Path::new(path.as_str()), Grammar::from(self.language));
        let collections = self.rules.iter().map(|rule| &rule.collection);
        collections.flat_map(|rules| rules.get_rule_from_lang(path, language)).collect()
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

/// Makes the engine's document for one language out of a rule for several.
fn compile_rule(spec: &RuleSpec, language: Language) -> Result<RuleCollection<Grammar>, String> {
    let mut body = spec.body.clone();
    body.insert("language".to_owned(), Value::String(language.as_str().to_owned()));
    let config = SerializableRuleConfig::<Grammar>::deserialize(Value::Object(body))
        .map_err(|error| chain(&error))?;
    let rule =
        RuleConfig::try_from(config, &GlobalRules::default()).map_err(|error| chain(&error))?;
    RuleCollection::try_new(vec![rule]).map_err(|error| chain(&error))
}

/// An error with its causes: the engine's outermost text alone names no key and no pattern.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
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
    Match { id: rule.id.clone(), severity, message, bytes: place.range() }
}
