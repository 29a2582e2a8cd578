//! Runs rules against their own tests: the snippets in a rule file (`tests: {valid, invalid}`), and
//! the test files of the ast-grep program (`id`, `valid`, `invalid`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::language::ScanLanguage;
use super::rule_set::{RuleSet, RuleSources};
use super::rules::{read_yaml, split_documents, string_list};
use super::{file_name_in_language, scan_text};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;

/// A rule with its test snippets.
#[derive(Clone, Debug)]
pub struct RuleTrial {
    pub rule: String,
    pub source: String,
    /// The rule without tests and globs, because a snippet has no path for globs to match.
    document: Value,
    languages: Vec<String>,
    snippets: Vec<TrialSnippet>,
}

#[derive(Clone, Debug)]
struct TrialSnippet {
    text: String,
    expected: SnippetExpectation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SnippetExpectation {
    Clean,
    /// Exactly one finding: for snippets in rule files, so that duplicate findings are noticed.
    Once,
    /// At least one finding: for test files of the ast-grep program, as that program does.
    AnyMatch,
}

/// A snippet on which a rule failed its test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFailure {
    pub rule: String,
    pub source: String,
    /// The snippet's language; empty if there is no snippet.
    pub language: String,
    /// The expected and the actual result, as a lower-case fragment.
    pub reason: String,
    /// The snippet; empty if the rule itself is broken.
    pub snippet: String,
}

/// A test file of the ast-grep program.
#[derive(Clone, Debug)]
pub struct RuleTestFile {
    pub rule: String,
    valid: Vec<String>,
    invalid: Vec<String>,
}

/// The rules of a file with their own snippets. A document that is not a rule becomes a failure.
#[must_use]
pub fn parse_trials(source: &str, text: &str) -> (Vec<RuleTrial>, Vec<TrialFailure>) {
    let (mut trials, mut failures) = (Vec::new(), Vec::new());
    for document in split_documents(text) {
        match parse_trial(source, &document) {
            Ok(trial) => trials.extend(trial),
            Err(reason) => failures.push(TrialFailure {
                rule: String::new(),
                source: source.to_owned(),
                language: String::new(),
                reason,
                snippet: String::new(),
            }),
        }
    }
    (trials, failures)
}

fn parse_trial(source: &str, text: &str) -> Result<Option<RuleTrial>, String> {
    let mut body = match read_yaml(text)? {
        Value::Object(body) => body,
        Value::Null => return Ok(None),
        _ => return Err("a rule must be a mapping".to_owned()),
    };
    if body.get("severity").and_then(Value::as_str) == Some("off") {
        return Ok(None);
    }
    let tests = body.remove("tests").unwrap_or_default();
    for key in ["files", "ignores"] {
        body.remove(key);
    }
    let stem = source.rsplit('/').next().unwrap_or(source);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let rule = body.get("id").and_then(Value::as_str).unwrap_or(stem).to_owned();
    let languages = string_list(body.get("languages").or_else(|| body.get("language")));
    let mut trial = RuleTrial {
        rule,
        source: source.to_owned(),
        document: Value::Object(body),
        languages,
        snippets: Vec::new(),
    };
    trial.add(string_list(tests.get("valid")), SnippetExpectation::Clean);
    trial.add(string_list(tests.get("invalid")), SnippetExpectation::Once);
    Ok(Some(trial))
}

/// Parses a test file of the ast-grep program; the error is one line.
pub fn parse_test_file(text: &str) -> Result<Vec<RuleTestFile>, String> {
    split_documents(text)
        .iter()
        .map(|document| {
            let body = read_yaml(document)?;
            let rule =
                body.get("id").and_then(Value::as_str).ok_or("a test needs the `id` of a rule")?;
            let (valid, invalid) =
                (string_list(body.get("valid")), string_list(body.get("invalid")));
            Ok(RuleTestFile { rule: rule.to_owned(), valid, invalid })
        })
        .collect()
}

impl RuleTrial {
    fn add(&mut self, snippets: Vec<String>, expected: SnippetExpectation) {
        self.snippets.extend(snippets.into_iter().map(|text| TrialSnippet { text, expected }));
    }

    /// Adds the snippets of a test file about this rule.
    pub fn add_tests(&mut self, tests: &RuleTestFile) {
        self.add(tests.valid.clone(), SnippetExpectation::Clean);
        self.add(tests.invalid.clone(), SnippetExpectation::AnyMatch);
    }

    /// Number of snippets, counted once per language of the rule.
    #[must_use]
    pub fn snippet_count(&self) -> usize {
        self.snippets.len() * self.languages.len()
    }

    /// Runs the rule on all its snippets in each of its languages, with these utility rules and
    /// this `sgconfig.yml` (name and text each).
    #[must_use]
    pub fn run(
        &self,
        utils: &[(String, String)],
        config: Option<&(String, String)>,
    ) -> Vec<TrialFailure> {
        let rules = vec![(self.source.clone(), self.document.to_string())];
        let rules = RuleSet::new(RuleSources {
            rules,
            utils: utils.to_vec(),
            config: config.cloned(),
            ..RuleSources::default()
        });
        let mut failures = Vec::new();
        for word in &self.languages {
            let name =
                file_name_in_language("snippet", word).and_then(|name| RelPath::parse(&name));
            let Some(path) = name else {
                failures.push(self.failure(word, format!("unknown language {word}"), ""));
                continue;
            };
            let failed = self.snippets.iter().filter_map(|snippet| {
                let reason = self.failure_reason(&rules, &path, snippet)?;
                Some(self.failure(word, reason, &snippet.text))
            });
            failures.extend(failed);
        }
        failures
    }

    /// The reason why the rule fails on a snippet, if it does.
    fn failure_reason(
        &self,
        rules: &RuleSet,
        path: &RelPath,
        snippet: &TrialSnippet,
    ) -> Option<String> {
        let hash = ContentHash::of_bytes(snippet.text.as_bytes());
        let outcome = scan_text(rules, path, &snippet.text, hash);
        if let Some(gap) = outcome.gap {
            return Some(gap.to_string());
        }
        let count = outcome.findings.iter().filter(|finding| finding.code == self.rule).count();
        match (snippet.expected, count) {
            (SnippetExpectation::Clean, 0) | (SnippetExpectation::Once, 1) => None,
            (SnippetExpectation::AnyMatch, count) if count > 0 => None,
            (SnippetExpectation::Clean, count) => Some(format!("valid, but found {count} ×")),
            (_, 0) => Some("invalid, and not found".to_owned()),
            (_, count) => Some(format!("invalid, and found {count} ×, not once")),
        }
    }

    fn failure(&self, language: &str, reason: String, snippet: &str) -> TrialFailure {
        let (rule, source) = (self.rule.clone(), self.source.clone());
        let known = ScanLanguage::from_name(language).map(ScanLanguage::as_str);
        let language = known.unwrap_or(language).to_owned();
        TrialFailure { rule, source, language, reason, snippet: snippet.to_owned() }
    }
}

/// Assigns each test file to the rules with its id. Returns the ids without a rule.
#[must_use]
pub fn assign_tests(trials: &mut [RuleTrial], tests: Vec<RuleTestFile>) -> Vec<String> {
    let mut by_id: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, trial) in trials.iter().enumerate() {
        by_id.entry(trial.rule.clone()).or_default().push(index);
    }
    let mut unknown = Vec::new();
    for test in tests {
        match by_id.get(&test.rule) {
            Some(indexes) => indexes.iter().for_each(|index| trials[*index].add_tests(&test)),
            None => unknown.push(test.rule),
        }
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "id: no-bad\nlanguages: [python, javascript]\nfiles: ['src/**']\n\
        rule: { pattern: bad($X) }\n\
        tests: { valid: ['good(1)'], invalid: ['bad(1)'] }\n";

    fn reasons(trial: &RuleTrial) -> Vec<String> {
        let failures = trial.run(&[], None).into_iter();
        failures.map(|it| format!("{}: {}", it.language, it.reason)).collect()
    }

    #[test]
    fn a_rule_runs_in_each_of_its_languages_regardless_of_globs() {
        let (trials, failures) = parse_trials("r/no-bad.yml", RULE);
        assert_eq!((trials.len(), failures.len()), (1, 0));
        assert_eq!(trials[0].snippet_count(), 4);
        assert_eq!(reasons(&trials[0]), Vec::<String>::new());
        let wrong = RULE.replace("good(1)", "bad(2)").replace("'bad(1)'", "'x', 'bad(bad(1))'");
        let reasons = reasons(&parse_trials("r.yml", &wrong).0[0]);
        let expected = [
            "python: valid, but found 1 ×",
            "python: invalid, and not found",
            "python: invalid, and found 2 ×, not once",
        ];
        assert_eq!(reasons[..3], expected);
    }

    #[test]
    fn ast_grep_test_files_accept_any_number_of_matches() {
        let (mut trials, _) =
            parse_trials("no-bad.yml", "language: Python\nrule: { pattern: bad($X) }\n");
        let tests =
            parse_test_file("id: no-bad\nvalid: [good(1)]\ninvalid: ['bad(bad(1))', good(2)]\n");
        let unknown = parse_test_file("id: other\nvalid: [x]\n").expect("readable");
        let tests = [tests.expect("readable"), unknown].concat();
        assert_eq!(assign_tests(&mut trials, tests), ["other"]);
        assert_eq!(reasons(&trials[0]), ["python: invalid, and not found"]);
        assert!(parse_test_file("valid: [x]\n").is_err_and(|error| error.contains("`id`")));
    }

    #[test]
    fn a_broken_rule_fails_with_its_reason() {
        let text = RULE.replace("pattern: bad($X)", "kind: no_such_kind");
        let reasons = reasons(&parse_trials("r.yml", &text).0[0]);
        assert!(reasons[0].contains("no_such_kind"), "{reasons:?}");
        let (_, failures) = parse_trials("r.yml", "- a list\n");
        assert_eq!(failures[0].reason, "a rule must be a mapping");
    }
}
