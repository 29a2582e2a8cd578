//! Bash, YAML, JSON, TOML, CSS and HTML: errors are found, and repaired files are clean.

use std::path::Path;

use crate::servers::{check, findings, project_in, report};
use crate::support::write_file;

/// Broken and repaired texts in turn, other clean ones, and the same text twice.
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

/// What other programs read is neither YAML, JSON nor a script of a known shell, or has names that only they know.
#[test]
fn files_of_other_programs_have_no_errors() {
    for (language, file, text, code) in [
        ("yaml", "a.yaml", "job: !reference [.setup, script]\nname: !Sub '${A}'\n", 0),
        ("yaml", "chart/templates/a.yaml", "{{ if .A }}\na: {{ .B }}\n{{ end }}\n", 4),
        ("json", ".vscode/settings.json", "// why\n{\"a\": 1,}\n", 0),
        ("json", ".eslintrc.json", "{\n  // why\n  \"root\": true\n}\n", 0),
        ("bash", "a.sh", "#!/usr/bin/env zsh\nprint ${(k)options}\n", 0),
    ] {
        let sandbox = project_in(&[language]);
        sandbox.write(file, text);
        let (got, report) = check(&sandbox, file);
        assert_eq!(got, code, "{file}: {report:#}");
    }
}

#[test]
fn toml() {
    check_each("toml", "a.toml", "a = 1\n", "a = \n");
}

#[test]
fn css() {
    check_each("css", "a.css", "a { color: red; }\n", "a { color: \n");
}

#[test]
fn html() {
    let page = |style: &str| format!("<!doctype html>\n<style>{style}</style>\n");
    check_each("html", "a.html", &page("a { color: red; }"), &page("a { color: "));
}

/// A schema in the project, in a hidden folder or outside: servers register for it late, or not at all.
fn follows_its_schema(language: &str, file: &str, text: &str) {
    let sandbox = project_in(&[language]);
    let outside = sandbox.base().join("schemas/s.json");
    let places = [sandbox.path("schemas/s.json"), sandbox.path(".hidden/s.json"), outside];
    for place in &places {
        let place = place.display().to_string();
        sandbox.write(file, &text.replace("SCHEMA", &place));
        for (kind, count) in [("integer", 0), ("string", 1), ("integer", 0), ("string", 1)] {
            let schema =
                format!(r#"{{"type": "object", "properties": {{"n": {{"type": "{kind}"}}}}}}"#);
            write_file(Path::new(&place), &schema);
            let (_, report) = check(&sandbox, file);
            let found = report["findings"].as_array().map_or(0, Vec::len);
            assert_eq!(found, count, "{kind} in {place}: {report:#}");
        }
    }
}

/// Such a document is compared with no schema. Schemas on the net are never read.
#[test]
fn without_its_schema_nothing_is_clean() {
    for (language, file, text) in [
        ("json", "a.json", "{\"$schema\": \"SCHEMA\", \"n\": 1}\n"),
        ("toml", "a.toml", "#:schema SCHEMA\nn = 1\n"),
    ] {
        let sandbox = project_in(&[language]);
        sandbox.write(file, &text.replace("SCHEMA", "./s.json"));
        let (code, report) = check(&sandbox, file);
        assert_eq!(code, 4, "{report:#}");
        assert!(report.to_string().contains("the file's schema cannot be read"), "{report:#}");
        sandbox.write("s.json", "{\"type\": \"object\"}");
        let (code, report) = check(&sandbox, file);
        assert_eq!(code, 0, "{report:#}");
        sandbox.write(file, &text.replace("SCHEMA", "https://json.schemastore.org/none.json"));
        let (code, report) = check(&sandbox, file);
        assert_eq!(code, 0, "{report:#}");
    }
}

#[test]
fn json_follows_its_schema() {
    follows_its_schema("json", "a.json", "{\"$schema\": \"SCHEMA\", \"n\": 1}\n");
}

#[test]
fn yaml_follows_its_schema() {
    follows_its_schema("yaml", "a.yaml", "# yaml-language-server: $schema=SCHEMA\nn: 1\n");
}

#[test]
fn toml_follows_its_schema() {
    follows_its_schema("toml", "a.toml", "#:schema SCHEMA\nn = 1\n");
}

/// tombi handles several messages at a time. A pull that arrives while it stores another document gets an empty list.
#[test]
fn toml_files_at_once_get_a_verdict_each_from_new_servers() {
    let sandbox = project_in(&["toml"]);
    sandbox.write("s.json", r#"{"type": "object", "properties": {"n": {"type": "string"}}}"#);
    let files: Vec<String> = (0..12).map(|number| format!("f{number}.toml")).collect();
    for (number, file) in files.iter().enumerate() {
        sandbox.write(file, &format!("#:schema ./s.json\nn = {number}\n"));
    }
    for _ in 0..40 {
        let report = report(&sandbox.run(&["check", "--no-scan", "--json", "--all"]), 1);
        let found = findings(&report, "tombi");
        for file in &files {
            assert!(found.iter().any(|it| it.0 == *file), "{file}: {report:#}");
        }
        sandbox.run(&["server", "stop", "tombi"]);
    }
}

#[test]
fn several_shell_files_at_once_get_a_verdict_each_also_by_a_new_server() {
    let sandbox = project_in(&["bash"]);
    let files = ["a.sh", "b.sh", "c.sh", "d.sh", "e.sh"];
    let wrong = |file: &str| matches!(file, "b.sh" | "d.sh");
    for file in files {
        let text =
            if wrong(file) { "#!/bin/sh\nif true; then\n" } else { "#!/bin/sh\necho good\n" };
        sandbox.write(file, text);
    }
    // The first time the server keeps only the last document that is opened before it is set up.
    for _ in 0..2 {
        let report = report(&sandbox.run(&["check", "--no-scan", "--json", "--all"]), 1);
        assert_eq!(report["files_checked"], 5, "{report:#}");
        let found = findings(&report, "bash-language-server");
        for file in files {
            assert_eq!(found.iter().any(|it| it.0 == file), wrong(file), "{file}: {report:#}");
        }
    }
}
