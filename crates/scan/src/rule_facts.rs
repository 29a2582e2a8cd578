//! Descriptions of rules, for reports that list them.

use serde_json::Value;

use super::builtin;
use super::rule_set::RuleSet;
use super::rules::{RuleSpec, string_list};
use moai_base::finding::Severity;

/// Description of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFacts {
    /// The id in findings; rules of different languages may share one.
    pub id: String,
    pub source: String,
    pub is_built_in: bool,
    pub languages: Vec<&'static str>,
    /// Severity of its findings, with the options applied.
    pub severity: Severity,
    /// The message, with meta-variables not filled in.
    pub message: String,
    pub note: Option<String>,
    /// Main documentation link.
    pub url: Option<String>,
    /// Further links.
    pub references: Vec<String>,
    /// CWE ids such as `CWE-89`.
    pub cwe: Vec<String>,
    /// Categories of the OWASP Top Ten such as `A03:2021`.
    pub owasp: Vec<String>,
    /// `security` or `quality`, if stated.
    pub category: Option<String>,
    /// `high`, `medium` or `low`, if stated.
    pub confidence: Option<String>,
}

impl RuleSet {
    /// The enabled rules, including broken ones, sorted by id and source. Parses all built-in
    /// rules.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleFacts> {
        let built_in = self.sources().built_in.then(builtin::rule_specs).into_iter().flatten();
        let built_in = built_in.filter(|spec| !self.sources().disabled.contains(&spec.id));
        let built_in = built_in.map(|spec| rule_facts(&self.with_severity(spec), true));
        let own = self.project_rules.iter().map(|spec| rule_facts(spec, false));
        let mut rules: Vec<RuleFacts> = built_in.chain(own).flatten().collect();
        rules.sort_by(|a, b| (&a.id, &a.source).cmp(&(&b.id, &b.source)));
        rules
    }
}

/// `None` for a rule of severity `off`.
fn rule_facts(spec: &RuleSpec, is_built_in: bool) -> Option<RuleFacts> {
    if spec.is_off() {
        return None;
    }
    let text = |key: &str| spec.text(key).map(str::to_owned);
    let metadata = |key: &str| spec.body.get("metadata").and_then(|it| it.get(key));
    let metadata_text = |key: &str| metadata(key).and_then(Value::as_str).map(str::to_owned);
    let severity = spec.text("severity").unwrap_or_default();
    let severity = Severity::ALL.into_iter().find(|it| it.as_str() == severity);
    Some(RuleFacts {
        id: spec.id.clone(),
        source: spec.source.clone(),
        is_built_in,
        languages: spec.languages.iter().map(|language| language.as_str()).collect(),
        // The ast-grep program treats a rule without severity as a hint.
        severity: severity.unwrap_or(Severity::Hint),
        message: text("message").unwrap_or_else(|| spec.id.clone()),
        note: text("note"),
        url: spec.info.url.clone(),
        references: string_list(metadata("references")),
        cwe: spec.info.cwe.clone(),
        owasp: string_list(metadata("owasp")),
        category: metadata_text("category"),
        confidence: metadata_text("confidence"),
    })
}
