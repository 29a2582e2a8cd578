//! The built-in rules, each against the snippets in its own file.

use serde_json::Value;

use super::*;
use crate::scan::builtin::FILES;
use crate::scan::rules::read_yaml;

fn texts(rule: &Value, kind: &str) -> Vec<String> {
    let list = rule["tests"][kind].as_array().cloned().unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What is wrong with one rule file, on its own and against its snippets.
fn complaints(name: &str, text: &str) -> Vec<String> {
    let rule = read_yaml(text).expect("YAML");
    let id = rule["id"].as_str().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{id}: {what}"));
        }
    };
    must(name.ends_with(&format!("/{id}.yml")), "the file has another name than the rule");
    must(rule["note"].as_str().is_some_and(|note| note.len() <= 100), "no short note");
    let message = rule["message"].as_str().unwrap_or_default();
    must(!message.is_empty() && !message.contains('\n'), "no message of one line");
    let severity = rule["severity"].as_str().unwrap_or_default();
    must(["error", "warning", "info", "hint"].contains(&severity), "no severity");
    let confidence = rule["metadata"]["confidence"].as_str().unwrap_or_default();
    must(["high", "medium", "low"].contains(&confidence), "no confidence");
    must(severity != "error" || confidence == "high", "an error without high confidence");
    let category = rule["metadata"]["category"].as_str().unwrap_or_default();
    must(["security", "quality"].contains(&category), "no category");
    let is_quality = category == "quality";
    let cwe = rule["metadata"]["cwe"].as_array().cloned().unwrap_or_default();
    let is_cwe = |id: &Value| id.as_str().is_some_and(|id| id.starts_with("CWE-"));
    must((is_quality || !cwe.is_empty()) && cwe.iter().all(is_cwe), "no weakness id");
    let (valid, invalid) = (texts(&rule, "valid"), texts(&rule, "invalid"));
    must(valid.len() >= 3 && invalid.len() >= 3, "fewer than three snippets of a kind");
    wrong.extend(failed_snippets(&rule, &rules(&[(name, text)]), &valid, false));
    wrong.extend(failed_snippets(&rule, &rules(&[(name, text)]), &invalid, true));
    wrong
}

/// The snippets, in every language of the rule, that are not found exactly once or not at all.
fn failed_snippets(
    rule: &Value,
    rules: &RuleSet,
    snippets: &[String],
    is_invalid: bool,
) -> Vec<String> {
    let mut failed = Vec::new();
    let languages = rule["languages"].as_array().cloned().unwrap_or_default();
    for language in languages.iter().filter_map(Value::as_str) {
        let extension = match language {
            "csharp" => "cs",
            "elixir" => "ex",
            "javascript" => "js",
            "kotlin" => "kt",
            "python" => "py",
            "ruby" => "rb",
            "rust" => "rs",
            "typescript" => "ts",
            same => same,
        };
        for snippet in snippets {
            let outcome = outcome(rules, &format!("snippet.{extension}"), snippet);
            let count = outcome.findings.len();
            if count != usize::from(is_invalid) || outcome.gap.is_some() {
                let (id, gap) = (&rule["id"], outcome.gap);
                failed.push(format!("{id} in {language}: {count} findings, {gap:?}\n{snippet}"));
            }
        }
    }
    failed
}

#[test]
fn every_rule_finds_its_invalid_snippets_and_spares_its_valid_ones() {
    let wrong: Vec<String> =
        FILES.iter().flat_map(|file| complaints(file.name, file.text)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_built_in_rule_is_broken_and_no_id_is_taken_twice() {
    let rules = RuleSet::built_in();
    assert_eq!(rules.broken(), []);
    assert_eq!(rules.rule_count(), FILES.len());
}

/// What is known of a file before it is read decides whether it is read at all.
#[test]
fn the_index_of_the_rule_files_agrees_with_what_is_in_them() {
    for (index, file) in FILES.iter().enumerate() {
        let [spec] = builtin::parsed(index).specs.as_slice() else { panic!("{}", file.name) };
        let spoken: Vec<Language> =
            Language::ALL.into_iter().filter(|language| file.speaks(*language)).collect();
        let mut languages = spec.languages.clone();
        languages.sort_unstable();
        assert!(!file.languages.is_empty(), "{}: `languages` is not on one line", file.name);
        assert_eq!(spoken, languages, "{}", file.name);
        assert_eq!(file.has_globs, spec.has_globs(), "{}", file.name);
        assert_eq!(file.id(), spec.id, "{}", file.name);
    }
}

/// A rule with missing parts or wrong snippets is complained about, so the test above can fail.
#[test]
fn an_incomplete_rule_is_noticed() {
    let text = "id: py-x\nlanguages: [python]\nrule: { pattern: bad($X) }\n\
                tests: { valid: [\"bad(1)\", a, b], invalid: [c] }\n";
    let wrong = complaints("python/py-y.yml", text);
    let expected = [
        "another name",
        "no short note",
        "no message",
        "no severity",
        "no confidence",
        "no category",
        "no weakness id",
        "fewer than three",
        "1 findings, None\nbad(1)",
        "0 findings, None\nc",
    ];
    assert_eq!(wrong.len(), expected.len(), "{wrong:#?}");
    for (wrong, expected) in wrong.iter().zip(expected) {
        assert!(wrong.contains(expected), "{wrong} lacks {expected}");
    }
}
