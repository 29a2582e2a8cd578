//! Tests every built-in rule against the snippets in its file.

use serde_json::Value;

use super::*;
use crate::builtin::FILES;
use crate::rules::{parse_rule_file, read_yaml};

fn texts(rule: &Value, kind: &str) -> Vec<String> {
    let list = rule["tests"][kind].as_array().cloned().unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Faults of one rule file, in its metadata and against its snippets.
fn rule_file_faults(name: &str, text: &str) -> Vec<String> {
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
    must(is_quality || !cwe.is_empty(), "no weakness id");
    for id in &cwe {
        must(
            id.as_str().is_some_and(is_cwe),
            &format!("{id} is no weakness id that is known here"),
        );
    }
    let owasp = rule["metadata"]["owasp"].as_array().cloned().unwrap_or_default();
    must(is_quality || !owasp.is_empty(), "no place in the OWASP Top Ten");
    for place in &owasp {
        must(place.as_str().is_some_and(is_owasp), &format!("{place} is no place like A03:2021"));
    }
    let references = rule["metadata"]["references"].as_array().cloned().unwrap_or_default();
    let is_url = |url: &Value| url.as_str().is_some_and(|url| url.starts_with("https://"));
    must(is_quality || !references.is_empty(), "no reference");
    must(references.iter().all(is_url), "a reference that is no https address");
    let is_safe = rule["metadata"]["fix"].as_str();
    must(is_safe.is_none() || !rule["fix"].is_null(), "a kind of fix without a fix");
    must(is_safe.is_none_or(|it| it == "safe"), "another kind of fix than safe");
    must(
        !has_wide_class(&rule),
        r"\w or \d in a regex: [A-Za-z0-9_] and [0-9] take far less memory",
    );
    let (valid, invalid) = (texts(&rule, "valid"), texts(&rule, "invalid"));
    must(valid.len() >= 3 && invalid.len() >= 3, "fewer than three snippets of a kind");
    wrong.extend(failed_snippets(&rule, &rules(&[(name, text)]), &valid, false));
    wrong.extend(failed_snippets(&rule, &rules(&[(name, text)]), &invalid, true));
    wrong
}

/// True if a regular expression has a Unicode-wide class such as `\w`. Each takes tens of kilobytes
/// for as long as the program runs.
fn has_wide_class(value: &Value) -> bool {
    let is_wide = |text: &str| {
        let escapes = text.replace(r"\\", "");
        [r"\w", r"\W", r"\d", r"\D"].iter().any(|class| escapes.contains(class))
    };
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| match value {
            Value::String(text) => key == "regex" && is_wide(text),
            _ => key != "tests" && has_wide_class(value),
        }),
        Value::Array(items) => items.iter().any(has_wide_class),
        _ => false,
    }
}

/// CWE numbers that rules may use; verify a new one before adding it.
#[rustfmt::skip]
const CWES: &[u32] = &[
    14, 22, 78, 79, 89, 90, 94, 95, 98, 120, 131, 134, 190, 193, 200, 208,
    209, 242, 252, 276, 285, 295, 297, 319, 321, 322, 326, 327, 328, 329, 330, 335,
    337, 338, 346, 347, 352, 367, 377, 379, 390, 391, 396, 400, 401, 415, 416, 434,
    467, 470, 473, 477, 481, 489, 494, 502, 561, 562, 570, 571, 572, 584, 597, 601,
    605, 611, 614, 617, 621, 643, 662, 663, 670, 676, 697, 732, 749, 762, 770, 772,
    776, 778, 787, 789, 798, 806, 829, 843, 908, 915, 916, 917, 918, 942, 943, 1004,
    1025, 1071, 1164, 1188, 1204, 1321, 1333, 1336,
];

fn is_cwe(id: &str) -> bool {
    let number = id.strip_prefix("CWE-").and_then(|number| number.parse().ok());
    number.is_some_and(|number| CWES.contains(&number))
}

/// A category of the lists of 2021 or 2025, such as `A03:2021`.
fn is_owasp(place: &str) -> bool {
    let Some((rank, year)) = place.split_once(':') else { return false };
    let rank: Option<u32> =
        rank.strip_prefix('A').filter(|it| it.len() == 2).and_then(|it| it.parse().ok());
    rank.is_some_and(|rank| (1..=10).contains(&rank)) && ["2021", "2025"].contains(&year)
}

/// Snippets that, in some language of the rule, do not have the expected number of findings.
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
fn every_rule_matches_its_invalid_and_no_valid_snippets() {
    let wrong: Vec<String> =
        FILES.iter().flat_map(|file| rule_file_faults(file.name, file.text)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn built_in_rules_compile_and_have_unique_ids() {
    let rules = RuleSet::built_in();
    assert_eq!(rules.broken(), []);
    assert_eq!(rules.rule_count(), FILES.len());
}

/// The build script's index decides whether a file is parsed at all.
#[test]
fn the_index_of_the_rule_files_matches_their_content() {
    for (index, file) in FILES.iter().enumerate() {
        let [spec] = builtin::parsed_file(index).specs.as_slice() else { panic!("{}", file.name) };
        let covered: Vec<ScanLanguage> = ScanLanguage::ALL
            .into_iter()
            .filter(|language| file.covers_language(*language))
            .collect();
        let mut languages = spec.languages.clone();
        languages.sort_unstable();
        assert!(!file.languages.is_empty(), "{}: `languages` is not on one line", file.name);
        assert_eq!(covered, languages, "{}", file.name);
        assert_eq!(file.has_globs, spec.has_globs(), "{}", file.name);
        assert_eq!(file.id(), spec.id, "{}", file.name);
        // The snippets, which are cut off, come last.
        let whole = parse_rule_file(file.name, file.text);
        assert_eq!(whole.specs[0].body, spec.body, "{}", file.name);
    }
}

/// Proves that the test above can fail.
#[test]
fn an_incomplete_rule_is_reported() {
    let text = "id: py-x\nlanguages: [python]\nrule: { pattern: bad($X) }\n\
                tests: { valid: [\"bad(1)\", a, b], invalid: [c] }\n";
    let wrong = rule_file_faults("python/py-y.yml", text);
    let expected = [
        "another name",
        "no short note",
        "no message",
        "no severity",
        "no confidence",
        "no category",
        "no weakness id",
        "no place in the OWASP",
        "no reference",
        "fewer than three",
        "1 findings, None\nbad(1)",
        "0 findings, None\nc",
    ];
    assert_eq!(wrong.len(), expected.len(), "{wrong:#?}");
    for (wrong, expected) in wrong.iter().zip(expected) {
        assert!(wrong.contains(expected), "{wrong} lacks {expected}");
    }
}
