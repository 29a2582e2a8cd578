//! Bash, YAML, JSON and TOML: what is broken is found, what is mended is clean.

use serde_json::{Value, json};

use crate::servers::{check, project_with};

/// Broken and mended texts in turn, and the same text twice.
fn check_each(language: &str, file: &str, server: &Value, right: &str, wrong: &str) {
    let extension = file.rsplit('.').next().unwrap_or_default();
    let sandbox = project_with(language, &json!({extension: language}), server);
    let other = format!("{right}\n");
    for (text, code) in [(right, 0), (wrong, 1), (right, 0), (&other, 0), (wrong, 1), (wrong, 1)] {
        sandbox.write(file, text);
        let (actual, report) = check(&sandbox, file);
        assert_eq!(actual, code, "{text:?} {report:#}");
    }
}

#[test]
fn bash() {
    let server =
        json!({"command": "bash-language-server", "args": ["start"], "diagnostics": "push"});
    let wrong = "#!/bin/sh\nif true; then\n";
    check_each("shellscript", "a.sh", &server, "#!/bin/sh\necho good\n", wrong);
}

#[test]
fn yaml() {
    let server = json!({
        "command": "yaml-language-server", "args": ["--stdio"], "diagnostics": "push",
        "publishes": {"clean": true, "quiet_ms": 500},
        "settings": {"yaml": {"validate": true, "schemaStore": {"enable": false}}},
    });
    check_each("yaml", "a.yaml", &server, "a: 1\nb: [1, 2]\n", "a: 1\nb: [1, 2\n");
}

#[test]
fn json_documents() {
    let server = json!({
        "command": "vscode-json-language-server", "args": ["--stdio"], "diagnostics": "pull",
        "initialization_options": {"provideFormatter": false},
        "settings": {"json": {"validate": {"enable": true}}},
    });
    check_each("json", "a.json", &server, "{\"a\": 1}\n", "{\"a\": 1,}\n");
}

#[test]
fn toml() {
    let server = json!({"command": "tombi", "args": ["lsp", "--offline"], "diagnostics": "pull"});
    check_each("toml", "a.toml", &server, "a = 1\n", "a = \n");
}
