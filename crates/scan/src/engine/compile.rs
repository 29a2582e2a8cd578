//! Compiles rules to matchers, each on its own, so that a broken rule does not affect the others.

use std::error::Error;
use std::sync::{Arc, OnceLock};

use ast_grep_config::{
    DeserializeEnv, GlobalRules, RuleConfig, SerializableGlobalRule, SerializableRuleConfig,
};
use ast_grep_core::Matcher as _;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::enclosing::EnclosingKinds;
use super::globs::RuleGlobs;
use super::grammar::Grammar;
use super::imports::words_of_name;
use super::prefilter::{TextNeed, need_of_rule};
use crate::language::ScanLanguage;
use crate::rules::{RuleFault, RuleSpec};
use moai_base::path::RelPath;

/// One rule in one language, compiled on first use.
pub(crate) struct EngineRule {
    pub(crate) spec: Arc<RuleSpec>,
    language: ScanLanguage,
    globs: Result<RuleGlobs, String>,
    utils: UtilityRules,
    compiled: OnceLock<Result<CompiledRule, RuleFault>>,
}

impl EngineRule {
    /// Creates a rule that may use these utility rules.
    pub(crate) fn new(spec: Arc<RuleSpec>, language: ScanLanguage, utils: &UtilityRules) -> Self {
        let globs = RuleGlobs::from_rule_body(&spec.body);
        Self { spec, language, globs, utils: utils.clone(), compiled: OnceLock::new() }
    }

    /// True if the rule covers this path; one with broken globs covers none.
    pub(crate) fn admits(&self, path: &RelPath) -> bool {
        self.globs.as_ref().is_ok_and(|globs| globs.admit(path))
    }

    /// The compiled rule; compiles it on first use.
    pub(super) fn compiled(&self) -> Result<&CompiledRule, &RuleFault> {
        self.compiled
            .get_or_init(|| self.compile().map_err(|it| self.spec.fault(&it, vec![self.language])))
            .as_ref()
    }

    /// The text content that the rule requires to match.
    pub(super) fn need(&self) -> TextNeed {
        let names = self.spec.resolves.values().map(|names| {
            TextNeed::any(names.iter().map(|name| {
                TextNeed::all(words_of_name(self.language, name).map(TextNeed::anywhere_text))
            }))
        });
        let written = need_of_rule(&self.spec.body, Grammar::from(self.language));
        TextNeed::all(names.chain([written]))
    }

    /// The rule's fault, if any; compiles the rule if necessary.
    pub(crate) fn fault(&self) -> Option<&RuleFault> {
        self.compiled().err()
    }

    /// The rule's fault if the rule was compiled before; never compiles.
    pub(crate) fn known_fault(&self) -> Option<&RuleFault> {
        self.compiled.get()?.as_ref().err()
    }

    fn compile(&self) -> Result<CompiledRule, String> {
        if let Err(reason) = &self.globs {
            return Err(reason.clone());
        }
        let config = SerializableRuleConfig::<Grammar>::deserialize(engine_document(
            &self.spec.body,
            self.language,
        ))
        .map_err(|error| error_chain(&error))?;
        let rule =
            RuleConfig::try_from(config, &self.utils.0).map_err(|error| error_chain(&error))?;
        let captured = rule.matcher.defined_vars();
        let unknown = self.spec.resolves.keys().find(|it| !captured.contains(it.as_str()));
        if let Some(unknown) = unknown {
            return Err(format!("`resolves` names {unknown}, which nothing captures"));
        }
        let kinds = rule.matcher.potential_kinds().unwrap_or_default();
        let enclosing = EnclosingKinds::of_rule(&self.spec.body, Grammar::from(self.language));
        Ok(CompiledRule { kinds: kinds.iter().collect(), enclosing, rule })
    }
}

/// A rule compiled by the engine.
pub(super) struct CompiledRule {
    pub(super) rule: RuleConfig<Grammar>,
    /// Node kinds that the rule may match.
    pub(super) kinds: Vec<usize>,
    /// Kinds of the nodes around those.
    pub(super) enclosing: EnclosingKinds,
}

/// Utility rules shared by the rules of one language.
#[derive(Clone, Default)]
pub(crate) struct UtilityRules(GlobalRules);

impl UtilityRules {
    /// Compiles utility rules; broken ones and those that depend on them become faults.
    pub(crate) fn compile(
        language: ScanLanguage,
        specs: &[Arc<RuleSpec>],
    ) -> (Self, Vec<RuleFault>) {
        let (mut candidates, mut faults) = (Vec::new(), Vec::new());
        for spec in specs.iter().filter(|spec| spec.languages.contains(&language)) {
            match SerializableGlobalRule::<Grammar>::deserialize(engine_document(
                &spec.body, language,
            )) {
                Ok(util) => candidates.push((spec, util)),
                Err(error) => faults.push(spec.fault(&error_chain(&error), vec![language])),
            }
        }
        let all = candidates.iter().map(|(_, util)| util.clone()).collect();
        let is_defined = |reference: &str, spec: &RuleSpec| {
            defines_util(&spec.body, reference)
                || candidates.iter().any(|(it, _)| it.id == reference)
        };
        let are_all_defined = candidates
            .iter()
            .all(|(spec, _)| referenced_utils(&spec.body).iter().all(|it| is_defined(it, spec)));
        if are_all_defined && let Ok(globals) = DeserializeEnv::parse_global_utils(all) {
            return (Self(globals), faults);
        }
        let (globals, broken) = compile_one_by_one(language, candidates);
        faults.extend(broken);
        (Self(globals), faults)
    }
}

type UtilityCandidate<'a> = (&'a Arc<RuleSpec>, SerializableGlobalRule<Grammar>);

/// Adds utility rules one at a time until none compiles any more, because the engine takes all or
/// none.
fn compile_one_by_one(
    language: ScanLanguage,
    mut candidates: Vec<UtilityCandidate<'_>>,
) -> (GlobalRules, Vec<RuleFault>) {
    let (mut taken, mut globals) = (Vec::<SerializableGlobalRule<Grammar>>::new(), None);
    loop {
        let (mut faults, mut left) = (Vec::new(), Vec::new());
        let count = taken.len();
        for (spec, util) in candidates {
            let is_known = |reference: &str| {
                reference == util.id
                    || defines_util(&spec.body, reference)
                    || taken.iter().any(|other| other.id == reference)
            };
            let missing = referenced_utils(&spec.body).into_iter().find(|it| !is_known(it));
            let with_candidate = || taken.iter().cloned().chain([util.clone()]).collect();
            let attempt = match missing {
                Some(missing) => Err(format!("utility rule `{missing}` cannot be used")),
                None => DeserializeEnv::parse_global_utils(with_candidate())
                    .map_err(|error| error_chain(&error)),
            };
            match attempt {
                Ok(extended) => {
                    globals = Some(extended);
                    taken.push(util);
                }
                Err(reason) => {
                    faults.push(spec.fault(&reason, vec![language]));
                    left.push((spec, util));
                }
            }
        }
        if taken.len() == count {
            return (globals.unwrap_or_default(), faults);
        }
        candidates = left;
    }
}

/// True if a utility rule itself defines this name, as a local utility or an argument.
fn defines_util(body: &Map<String, Value>, reference: &str) -> bool {
    body.get("utils").is_some_and(|utils| utils.get(reference).is_some())
        || body
            .get("arguments")
            .and_then(Value::as_array)
            .is_some_and(|arguments| arguments.iter().any(|it| it.as_str() == Some(reference)))
}

/// The names referenced by every `matches` of a document.
fn referenced_utils(body: &Map<String, Value>) -> Vec<&str> {
    let (mut names, mut open): (Vec<&str>, Vec<&Value>) = (Vec::new(), Vec::new());
    let parts = ["rule", "constraints", "utils"].iter().filter_map(|key| body.get(*key));
    open.extend(parts);
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                match map.get("matches") {
                    Some(Value::String(id)) => names.push(id),
                    Some(Value::Object(calls)) => names.extend(calls.keys().map(String::as_str)),
                    _ => {}
                }
                open.extend(map.values());
            }
            _ => {}
        }
    }
    names
}

pub(super) fn engine_document(body: &Map<String, Value>, language: ScanLanguage) -> Value {
    let mut body = body.clone();
    body.insert("language".to_owned(), Value::String(language.as_str().to_owned()));
    Value::Object(body)
}

/// An error with its causes, because the engine's outermost message has neither key nor pattern.
pub(super) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
