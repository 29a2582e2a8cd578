//! Bash, YAML, JSON and TOML: what is broken is found, what is mended is clean.

use crate::servers::{check, project_in};

/// Broken and mended texts in turn, other clean ones, and the same text twice.
fn check_each(language: &str, file: &str, right: &str, wrong: &str) {
    let sandbox = project_in(&[language]);
    let other = format!("{right}\n");
    for (text, code) in [(right, 0), (wrong, 1), (right, 0), (&other, 0), (wrong, 1), (wrong, 1)] {
        sandbox.write(file, text);
        let (actual, report) = check(&sandbox, file);
        assert_eq!(actual, code, "{text:?} {report:#}");
    }
}

#[test]
fn bash() {
    check_each("bash", "a.sh", "#!/bin/sh\necho good\n", "#!/bin/sh\nif true; then\n");
}

#[test]
fn yaml() {
    check_each("yaml", "a.yaml", "a: 1\nb: [1, 2]\n", "a: 1\nb: [1, 2\n");
}

#[test]
fn json() {
    check_each("json", "a.json", "{\"a\": 1}\n", "{\"a\": 1,}\n");
}

#[test]
fn toml() {
    check_each("toml", "a.toml", "a = 1\n", "a = \n");
}
