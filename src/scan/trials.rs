//! Rules against their own tests: the snippets in a rule file (`tests: {valid, invalid}`), and the
//! test files of the ast-grep program (`id`, `valid`, `invalid`). It must not know files: texts come
//! in, failures go out.

use std::collections::BTreeMap;

use serde_json::Value;

use super::language::ScanLanguage;
use super::rule_set::{RuleSet, RuleSources};
use super::rules::{read_yaml, split_documents, string_list};
use super::{file_name_in_language, scan_text};
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;

/// A rule with the snippets that it is tried on.
#[derive(Clone, Debug)]
pub struct RuleTrial {
    /// Its id.
    pub rule: String,
    /// The rule file.
    pub source: String,
    /// The rule alone, without tests and globs: a snippet has no path that globs could admit.
    document: Value,
    languages: Vec<String>,
    snippets: Vec<TrialSnippet>,
}

/// One snippet.
#[derive(Clone, Debug)]
struct TrialSnippet {
    text: String,
    expected: SnippetExpectation,
}

/// What a rule must find in a snippet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SnippetExpectation {
    Clean,
    /// In rule files of ours, so that a rule that finds a thing twice is noticed.
    Once,
    /// In test files of the ast-grep program, as that program has it.
    AnyMatch,
}

/// A snippet in which a rule found something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFailure {
    /// The rule's id.
    pub rule: String,
    /// The rule file.
    pub source: String,
    /// The snippet's language; empty where there is no snippet.
    pub language: String,
    /// What was expected and what came, as a lower-case fragment.
    pub reason: String,
    /// The snippet; empty when the rule itself is broken.
    pub snippet: String,
}

/// Snippets of a test file of the ast-grep program.
#[derive(Clone, Debug)]
pub struct RuleTestFile {
    /// The rule they are about.
    pub rule: String,
    valid: Vec<String>,
    invalid: Vec<String>,
}

/// The rules of a file with the snippets that stand in it. A document that is no rule is a failure.
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

/// Reads a test file of the ast-grep program; the error is one line.
pub fn parse_test_file(text: &str) -> Result<Vec<RuleTestFile>, String> {
    let read = |document: &String| {
        let body = read_yaml(document)?;
        let rule =
            body.get("id").and_then(Value::as_str).ok_or("a test needs the `id` of a rule")?;
        let (valid, invalid) = (string_list(body.get("valid")), string_list(body.get("invalid")));
        Ok(RuleTestFile { rule: rule.to_owned(), valid, invalid })
    };
    split_documents(text).iter().map(read).collect()
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

    /// How many snippets there are, each counted in every language of the rule.
    #[must_use]
    pub fn snippet_count(&self) -> usize {
        self.snippets.len() * self.languages.len()
    }

    /// Tries the rule on all its snippets, in each of its languages, with these utility rules and
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
            let tried = self.snippets.iter().filter_map(|snippet| {
                let reason = self.complaint(&rules, &path, snippet)?;
                Some(self.failure(word, reason, &snippet.text))
            });
            failures.extend(tried);
        }
        failures
    }

    /// What is wrong with what the rule finds in a snippet.
    fn complaint(&self, rules: &RuleSet, path: &RelPath, snippet: &TrialSnippet) -> Option<String> {
        let hash = ContentHash::of_bytes(snippet.text.as_bytes());
        let outcome = scan_text(rules, path, &snippet.text, hash);
        if let Some(gap) = outcome.gap {
            return Some(gap.to_string());
        }
        let count = outcome.findings.iter().filter(|finding| finding.code == self.rule).count();
        match (snippet.expected, count) {
            (SnippetExpectation::Clean, 0) | (SnippetExpectation::Once, 1) => None,
            (SnippetExpectation::AnyMatch, found) if found > 0 => None,
            (SnippetExpectation::Clean, found) => Some(format!("valid, and found {found} times")),
            (_, 0) => Some("invalid, and not found".to_owned()),
            (_, found) => Some(format!("invalid, and found {found} times, not once")),
        }
    }

    fn failure(&self, language: &str, reason: String, snippet: &str) -> TrialFailure {
        let (rule, source) = (self.rule.clone(), self.source.clone());
        let known = ScanLanguage::from_name(language).map(ScanLanguage::as_str);
        let language = known.unwrap_or(language).to_owned();
        TrialFailure { rule, source, language, reason, snippet: snippet.to_owned() }
    }
}

/// Gives each test file to the rule it is about, of several of one id to all. What is about no rule
/// comes back, by id.
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
    fn a_rule_is_tried_in_each_of_its_languages_whatever_its_globs_say() {
        let (trials, failures) = parse_trials("r/no-bad.yml", RULE);
        assert_eq!((trials.len(), failures.len()), (1, 0));
        assert_eq!(trials[0].snippet_count(), 4);
        assert_eq!(reasons(&trials[0]), Vec::<String>::new());
        let wrong = RULE.replace("good(1)", "bad(2)").replace("'bad(1)'", "'x', 'bad(bad(1))'");
        let reasons = reasons(&parse_trials("r.yml", &wrong).0[0]);
        let expected = [
            "python: valid, and found 1 times",
            "python: invalid, and not found",
            "python: invalid, and found 2 times, not once",
        ];
        assert_eq!(reasons[..3], expected);
    }

    #[test]
    fn test_files_of_ast_grep_want_a_match_and_not_exactly_one() {
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
