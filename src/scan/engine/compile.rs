//! Makes matchers out of rules, each on its own, so that a broken one spoils no other. It must not
//! know texts.

use std::error::Error;
use std::path::Path;

use ast_grep_config::{GlobalRules, RuleCollection, RuleConfig, SerializableRuleConfig};
use serde::Deserialize as _;
use serde_json::Value;

use super::grammar::Grammar;
use crate::base::limits::MESSAGE_CHARS_MAX;
use crate::base::path::RelPath;
use crate::base::text::one_line;
use crate::scan::language::Language;
use crate::scan::rules::{Fault, RuleInfo, RuleSpec};

/// One rule. A collection of its own, because the engine matches a rule's globs only inside a
/// collection, and one bad glob spoils the collection it is in.
pub(super) struct CompiledRule {
    pub(super) id: String,
    /// What its findings carry.
    pub(super) info: RuleInfo,
    collection: RuleCollection<Grammar>,
}

impl CompiledRule {
    /// The engine's rule, when it speaks about this path.
    pub(super) fn for_path(
        &self,
        path: &RelPath,
        grammar: Grammar,
    ) -> Option<&RuleConfig<Grammar>> {
        self.collection.get_rule_from_lang(Path::new(path.as_str()), grammar).pop()
    }
}

/// Compiles the rules of a language; those that cannot be compiled are faults.
pub(super) fn compile(language: Language, specs: &[RuleSpec]) -> (Vec<CompiledRule>, Vec<Fault>) {
    let (mut rules, mut faults) = (Vec::new(), Vec::new());
    for spec in specs.iter().filter(|spec| spec.languages.contains(&language)) {
        let (id, info) = (spec.id.clone(), spec.info.clone());
        match compile_rule(spec, language) {
            Ok(collection) => rules.push(CompiledRule { id, info, collection }),
            Err(reason) => faults.push(Fault {
                source: spec.source.clone(),
                id: Some(id),
                reason: one_line(&reason, MESSAGE_CHARS_MAX),
                languages: vec![language],
            }),
        }
    }
    (rules, faults)
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
