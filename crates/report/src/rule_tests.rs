//! The output of `scan test`: rules that failed on their own snippets, and how many were tested.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{count_noun, sanitized_name, sanitized_text};
use moai_scan::TrialFailure;

/// Rules tested with their own snippets, and the failures.
#[derive(Clone, Debug, Default)]
pub struct RuleTestReport {
    /// Rules.
    pub rules: usize,
    /// Snippets, each counted in every language of its rule.
    pub snippets: usize,
    /// Rules without any snippet: source and id.
    pub untested: Vec<(String, String)>,
    /// What went wrong.
    pub failures: Vec<TrialFailure>,
}

/// As text; with `verbose`, rules without snippets are named.
#[must_use]
pub fn text(report: &RuleTestReport, verbose: bool) -> String {
    let mut text = String::new();
    for failure in &report.failures {
        let TrialFailure { rule, source, language, reason, snippet } = failure;
        let language = if language.is_empty() { String::new() } else { format!(" in {language}") };
        let (source, rule) = (sanitized_name(source), sanitized_name(rule));
        let _ = writeln!(text, "failed: {source}: {rule}{language}: {}", sanitized_name(reason));
        for line in sanitized_text(snippet).lines() {
            let _ = writeln!(text, "    | {line}");
        }
    }
    if verbose {
        for (source, rule) in &report.untested {
            let _ =
                writeln!(text, "no tests: {}: {}", sanitized_name(source), sanitized_name(rule));
        }
    }
    let (rules, snippets) =
        (count_noun(report.rules, "rule"), count_noun(report.snippets, "snippet"));
    let failed = count_noun(report.failures.len(), "failure");
    let _ = write!(text, "{rules}, {snippets}: {failed}");
    match report.untested.len() {
        0 => text.push('\n'),
        number => {
            let _ = writeln!(text, "; {} without tests", count_noun(number, "rule"));
        }
    }
    text
}

/// `moai-ralph/rule-tests@1`.
#[must_use]
pub fn json(report: &RuleTestReport) -> Value {
    let failures = report.failures.iter().map(|failure| {
        json!({
            "rule": failure.rule, "source": failure.source, "language": failure.language,
            "reason": failure.reason, "snippet": failure.snippet,
        })
    });
    let untested = report.untested.iter();
    let untested = untested.map(|(source, rule)| json!({"rule": rule, "source": source}));
    json!({
        "schema": "moai-ralph/rule-tests@1",
        "rules": report.rules,
        "snippets": report.snippets,
        "failures": failures.collect::<Vec<_>>(),
        "without_tests": untested.collect::<Vec<_>>(),
    })
}
