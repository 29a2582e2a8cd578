//! Rules that both can read: probes of every kind of matcher, and the built-in rules without this program's
//! own keys, one per language, except those that resolve names.

use std::path::Path;

use moai_scan::RuleSet;
use serde_json::{Map, Value};

use crate::support::write_file;

/// Rules in the form of the ast-grep program, by file.
const PROBES: &[(&str, &str)] = &[
    ("go.yml", include_str!("probes/go.yml")),
    ("python.yml", include_str!("probes/python.yml")),
    ("rust.yml", include_str!("probes/rust.yml")),
    ("typescript.yml", include_str!("probes/typescript.yml")),
];

/// Keys of a rule that the program supports.
const KEYS: &[&str] = &[
    "constraints",
    "files",
    "fix",
    "ignores",
    "labels",
    "message",
    "rewriters",
    "rule",
    "severity",
    "transform",
    "utils",
];

/// Languages whose grammar the program does not have.
const FOREIGN: &[&str] = &["r"];

/// The probes, by name of their file.
pub(crate) fn probes() -> Vec<(String, String)> {
    let owned = |(name, text): &(&str, &str)| (format!("probes/{name}"), (*text).to_owned());
    PROBES.iter().map(owned).collect()
}

/// The built-in rules, by name of a file, one for each language of a rule.
pub(crate) fn built_in() -> Vec<(String, String)> {
    RuleSet::built_in_sources().flat_map(|(_, text)| expanded(&text)).collect()
}

fn expanded(text: &str) -> Vec<(String, String)> {
    let rule: Map<String, Value> = serde_saphyr::from_str(text).expect("a built-in rule is YAML");
    // The program has no key for resolving names.
    if rule.contains_key("resolves") {
        return Vec::new();
    }
    let id = rule["id"].as_str().expect("a rule has an id");
    let languages = rule["languages"].as_array().expect("a rule has languages");
    let words = languages.iter().filter_map(Value::as_str).filter(|it| !FOREIGN.contains(it));
    let one = |language: &str| {
        let is_known = |(key, _): &(&String, &Value)| KEYS.contains(&key.as_str());
        let mut own: Map<String, Value> =
            rule.iter().filter(is_known).map(|(key, value)| (key.clone(), value.clone())).collect();
        own.insert("id".to_owned(), format!("{id}--{language}").into());
        own.insert("language".to_owned(), language.into());
        (format!("built-in/{id}--{language}.yml"), Value::Object(own).to_string())
    };
    words.map(one).collect()
}

/// Writes rules, and the configuration with their folder, into a project.
pub(crate) fn lay(project: &Path, rules: &[(String, String)]) {
    for (name, text) in rules {
        write_file(&project.join("rules").join(name), text);
    }
    write_file(&project.join("sgconfig.yml"), "ruleDirs: [rules]\n");
}
