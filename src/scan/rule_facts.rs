//! What rules say of themselves, for reports that list them. It must not know what they match.

use serde_json::Value;

use super::builtin;
use super::rule_set::RuleSet;
use super::rules::{RuleSpec, string_list};
use crate::base::finding::Severity;

/// One rule of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFacts {
    /// The id in findings. Rules of different languages may share one.
    pub id: String,
    /// The rule file.
    pub source: String,
    /// Whether the program brings it.
    pub is_built_in: bool,
    /// Words of its languages.
    pub languages: Vec<&'static str>,
    /// The severity of its findings, as the options have it.
    pub severity: Severity,
    /// What is wrong; meta-variables are not filled in.
    pub message: String,
    /// What to do about it.
    pub note: Option<String>,
    /// Where to read more.
    pub url: Option<String>,
    /// Where to read more, beside that.
    pub references: Vec<String>,
    /// Weakness ids such as `CWE-89`.
    pub cwe: Vec<String>,
    /// Places in the OWASP Top Ten such as `A03:2021`.
    pub owasp: Vec<String>,
    /// `security` or `quality`, where it says so.
    pub category: Option<String>,
    /// `high`, `medium` or `low`, where it says so.
    pub confidence: Option<String>,
}

impl RuleSet {
    /// The rules that are on, also those that turn out to be broken, sorted by id and source. Reads
    /// all built-in rules.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleFacts> {
        let built_in = self.has_built_in.then(builtin::rule_specs).into_iter().flatten();
        let built_in = built_in.filter(|spec| !self.disabled.contains(&spec.id));
        let built_in = built_in.map(|spec| rule_facts(&self.with_severity(spec), true));
        let own = self.project_rules.iter().map(|spec| rule_facts(spec, false));
        let mut rules: Vec<RuleFacts> = built_in.chain(own).flatten().collect();
        rules.sort_by(|a, b| (&a.id, &a.source).cmp(&(&b.id, &b.source)));
        rules
    }
}

/// `None` for a rule that is off.
fn rule_facts(spec: &RuleSpec, is_built_in: bool) -> Option<RuleFacts> {
    if spec.is_off() {
        return None;
    }
    let text = |key: &str| spec.text(key).map(str::to_owned);
    let metadata = |key: &str| spec.body.get("metadata").and_then(|it| it.get(key));
    let word = |key: &str| metadata(key).and_then(Value::as_str).map(str::to_owned);
    let severity = spec.text("severity").unwrap_or_default();
    let severity = Severity::ALL.into_iter().find(|it| it.as_str() == severity);
    Some(RuleFacts {
        id: spec.id.clone(),
        source: spec.source.clone(),
        is_built_in,
        languages: spec.languages.iter().map(|language| language.as_str()).collect(),
        // The ast-grep program takes a rule without one as a hint.
        severity: severity.unwrap_or(Severity::Hint),
        message: text("message").unwrap_or_else(|| spec.id.clone()),
        note: text("note"),
        url: spec.info.url.clone(),
        references: string_list(metadata("references")),
        cwe: spec.info.cwe.clone(),
        owasp: string_list(metadata("owasp")),
        category: word("category"),
        confidence: word("confidence"),
    })
}
