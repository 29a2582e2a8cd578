//! The document of `scan test`.

use serde::Serialize;

/// `moai-ralph/rule-tests@1`: rules tested with their own snippets.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/rule-tests@1")]
pub struct RuleTestsDocument {
    pub rules: usize,
    /// Number of snippets, each counted in every language of its rule.
    pub snippets: usize,
    pub failures: Vec<RuleTestFailure>,
    /// Rules without any snippet.
    pub without_tests: Vec<UntestedRule>,
}

/// A snippet with the wrong findings, or a broken rule or test file.
#[derive(Clone, Debug, Serialize)]
pub struct RuleTestFailure {
    /// The rule's id; empty if a file cannot be parsed.
    pub rule: String,
    pub source: String,
    /// The snippet's language; empty if there is no snippet.
    pub language: String,
    /// The expected and the actual result, as a lower-case fragment.
    pub reason: String,
    /// The snippet; empty if the rule itself is broken.
    pub snippet: String,
}

/// A rule without any snippet.
#[derive(Clone, Debug, Serialize)]
pub struct UntestedRule {
    pub rule: String,
    pub source: String,
}
