//! The output of `scan test`: rules that failed on their own snippets, and how many were tested.

use std::fmt::Write as _;

use super::{count_noun, sanitized_line, sanitized_name, sanitized_text};
use moai_protocol::documents::rule_tests::{RuleTestFailure, RuleTestsDocument, UntestedRule};

/// As text; with `verbose`, rules without snippets are listed.
#[must_use]
pub fn text(report: &RuleTestsDocument, verbose: bool) -> String {
    let mut text = String::new();
    for failure in &report.failures {
        let RuleTestFailure { rule, source, language, reason, snippet } = failure;
        let language = if language.is_empty() { String::new() } else { format!(" in {language}") };
        let (source, rule) = (sanitized_name(source), sanitized_name(rule));
        let _ = writeln!(text, "failed: {source}: {rule}{language}: {}", sanitized_line(reason));
        for line in sanitized_text(snippet).lines() {
            let _ = writeln!(text, "    | {line}");
        }
    }
    if verbose {
        for UntestedRule { rule, source } in &report.without_tests {
            let _ =
                writeln!(text, "no tests: {}: {}", sanitized_name(source), sanitized_name(rule));
        }
    }
    let (rules, snippets) =
        (count_noun(report.rules, "rule"), count_noun(report.snippets, "snippet"));
    let failed = count_noun(report.failures.len(), "failure");
    let _ = write!(text, "{rules}, {snippets}: {failed}");
    match report.without_tests.len() {
        0 => text.push('\n'),
        number => {
            let _ = writeln!(text, "; {} without tests", count_noun(number, "rule"));
        }
    }
    text
}
