//! How user options, project files and installations select the servers of a check, and how
//! unusable servers are reported.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{PATIENCE, Sandbox, eventually, json_lines};

const OPTIONS: &str = ".moai/config/sections/ralph.yaml";

fn server(sandbox: &Sandbox, program: &str) -> std::path::PathBuf {
    let script = json!({"errors": [{"needle": "BAD", "message": "bad word"}]});
    sandbox.fake_server(program, script)
}

/// `name verdict` of every sensor but the scan.
fn sensors(sandbox: &Sandbox) -> Vec<String> {
    let output = sandbox.run(&["check", "--all", "--no-scan", "--json"]);
    let report = output.json();
    let sensors = report["sensors"].as_array().unwrap_or_else(|| panic!("{output:#?}"));
    let word = |sensor: &Value| {
        format!("{} {}", sensor["name"].as_str()?, sensor["verdict"].as_str()?).into()
    };
    sensors.iter().filter_map(word).collect()
}

#[test]
fn companions_and_alternatives_are_asked_where_they_are_installed() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "word = 'BAD'\n");
    server(&sandbox, "ty");
    assert_eq!(sensors(&sandbox), ["ty dirty"]);
    server(&sandbox, "pyright-langserver");
    assert_eq!(sensors(&sandbox), ["pyright dirty"]);
    server(&sandbox, "ruff");
    assert_eq!(sensors(&sandbox), ["pyright dirty", "ruff dirty"]);
}

#[test]
fn chosen_servers_are_asked_in_place_of_the_languages_own() {
    let mut sandbox = Sandbox::new();
    sandbox.write("app.py", "word = 'BAD'\n");
    for program in ["ty", "ruff", "pyright-langserver"] {
        server(&sandbox, program);
    }
    sandbox.write(OPTIONS, "ralph:\n  lsp:\n    choose:\n      python: [ty, basedpyright]\n");
    assert_eq!(sensors(&sandbox), ["basedpyright unmeasured", "ty dirty"]);
    let gap = sandbox.run(&["check", "--all"]).stdout;
    assert!(
        gap.contains("basedpyright (not installed: moai-ralph server install basedpyright)"),
        "{gap}"
    );
    sandbox.set("MOAI_RALPH_LSP_CHOOSE", "{python: [ruff]}");
    assert_eq!(sensors(&sandbox), ["ruff dirty"]);
}

#[test]
fn a_missing_server_of_an_auxiliary_language_spoils_nothing_until_it_is_asked_for() {
    let sandbox = Sandbox::new();
    server(&sandbox, "pyright-langserver");
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write("data.json", "[\"BAD\"]\n");
    let report = sandbox.run(&["check", "--all", "--json"]).json();
    assert_eq!((&report["verdict"], &report["files_total"]), (&json!("clean"), &json!(1)));
    sandbox.write(OPTIONS, "ralph: {lsp: {languages: [python, json]}}\n");
    assert_eq!(sensors(&sandbox), ["pyright clean", "vscode-json-language-server unmeasured"]);
    fs::remove_file(sandbox.path(OPTIONS)).expect("the sandbox is writable");
    server(&sandbox, "vscode-json-language-server");
    assert_eq!(sensors(&sandbox), ["pyright clean", "vscode-json-language-server dirty"]);
}

#[test]
fn fields_of_a_server_are_set_one_by_one() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "word = 'BAD'\n");
    let script =
        json!({"ask_configuration": 2, "errors": [{"needle": "BAD", "message": "bad word"}]});
    let log = sandbox.fake_server("real-one", script);
    let wrapper = "#!/bin/sh\n[ \"$1 $MARK\" = '--flag here' ] || exit 1\nexec real-one\n";
    sandbox.write("tools/wrapper", wrapper);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path("tools/wrapper"), mode).expect("the sandbox is writable");
    let first = "ralph:\n  lsp:\n    servers:\n      pyright:\n        command: tools/wrapper\n";
    sandbox.write(OPTIONS, first);
    // Without its argument and its variable the program ends at once.
    assert_eq!(sensors(&sandbox), ["pyright unmeasured"]);
    let rest = "        args: [--flag]\n        env: {MARK: here}\n        settings: {fake: {'0': told}}\n        initialization_options: {depth: {a: 1}}\n";
    sandbox.write(OPTIONS, &format!("{first}{rest}"));
    assert_eq!(sensors(&sandbox), ["pyright dirty"]);
    let lines = json_lines(&log);
    let initialize = lines.iter().find(|line| line["method"] == "initialize").expect("it began");
    assert_eq!(initialize["params"]["initializationOptions"], json!({"depth": {"a": 1}}));
    let told = json!(["told", null]);
    // The server may publish before it reads the answer to its own question.
    let was_told = || json_lines(&log).iter().any(|line| line["answer"]["result"] == told);
    assert!(eventually(PATIENCE, || was_told().then_some(())).is_some(), "{lines:#?}");
}

#[test]
fn a_projects_file_in_the_hosts_format_brings_its_servers() {
    let sandbox = Sandbox::new();
    sandbox.write("app.zig", "word BAD\n");
    sandbox.write("app.py", "word = 'BAD'\n");
    for program in ["zls", "mine", "pyright-langserver"] {
        server(&sandbox, program);
    }
    let file = json!({
        "zls": {"command": "zls", "extensionToLanguage": {".zig": "zig"}, "maxRestarts": 3},
        "looks": {"command": "mine", "extensionToLanguage": {".py": "python"}, "diagnostics": false},
    });
    sandbox.write(".lsp.json", &file.to_string());
    assert_eq!(sensors(&sandbox), ["pyright dirty", "zls dirty"]);
    sandbox.write(".lsp.json", "{\n  \"zls\": {\"command\": [\"zls\"]}\n}\n");
    let output = sandbox.run(&["check"]);
    assert_eq!(output.code, 3, "{output:#?}");
    for part in [".lsp.json", "line 2", "zls.command"] {
        assert!(output.stderr.contains(part), "{output:#?}");
    }
}

#[test]
fn what_speaks_of_the_servers_own_means_is_not_told() {
    let sandbox = Sandbox::new();
    sandbox.write("a.json", "[\"NET\", \"BAD\"]\n");
    let errors = json!([
        {"needle": "NET", "message": "Unable to load schema", "code": "65536"},
        {"needle": "BAD", "message": "bad word", "code": "519"},
    ]);
    sandbox.fake_server("vscode-json-language-server", json!({"errors": errors}));
    let report = sandbox.run(&["check", "--all", "--json"]).json();
    let findings = report["findings"].as_array().expect("a report lists its findings");
    let codes: Vec<&str> = findings.iter().filter_map(|it| it["code"].as_str()).collect();
    assert_eq!(codes, ["519"]);
}

#[test]
fn options_about_servers_that_cannot_be_used_are_named() {
    let sandbox = Sandbox::new();
    for (line, options, parts) in [
        (4, "    choose:\n      pyhton: [ty]\n", ["ralph.lsp.choose.pyhton", "known: bash, cpp"]),
        (
            4,
            "    choose:\n      python: [tyy]\n",
            ["ralph.lsp.choose.python", "unknown language server tyy"],
        ),
        (4, "    choose:\n      python: []\n", ["ralph.lsp.choose.python", "at least one"]),
        (
            4,
            "    servers:\n      pyrite: {command: x}\n",
            ["ralph.lsp.servers.pyrite", "known: basedpyright"],
        ),
        (5, "    servers:\n      ty:\n        comand: x\n", ["ralph.lsp.servers.ty", "comand"]),
        (5, "    servers:\n      ty:\n        args: x\n", ["ralph.lsp.servers.ty.args", ""]),
    ] {
        sandbox.write(OPTIONS, &format!("ralph:\n  lsp:\n{options}"));
        let output = sandbox.run(&["check"]);
        assert_eq!(output.code, 3, "{options}: {output:#?}");
        let place = format!("ralph.yaml:{line}");
        for part in [&place, parts[0], parts[1]] {
            assert!(output.stderr.contains(part), "{options}: {part} is not in {output:#?}");
        }
    }
}

#[test]
fn what_cannot_be_installed_is_refused_before_anything_is_fetched() {
    let mut sandbox = Sandbox::new();
    for (name, part) in [
        ("cobol", "unknown language or language server cobol; known: bash, cpp"),
        ("ruby", "moai-ralph cannot install Ruby: gem install ruby-lsp"),
        ("metals", "moai-ralph cannot install metals: cs install metals"),
    ] {
        let output = sandbox.run(&["server", "install", "python", name]);
        assert_eq!((output.code, output.stdout.as_str()), (3, ""), "{output:#?}");
        assert!(output.stderr.contains(part), "{output:#?}");
    }
    assert!(fs::read_dir(sandbox.base().join("data")).is_ok_and(|mut it| it.next().is_none()));
    // A failed server does not delay the others, and every failure is reported.
    let empty = sandbox.base().join("empty");
    fs::create_dir(&empty).expect("the sandbox is writable");
    sandbox.set("PATH", empty.into_os_string());
    let output = sandbox.run(&["server", "install", "python", "ruff"]);
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:#?}");
    for part in ["pyright: npm is needed to install pyright@1.1.414", "ruff: python3 is needed"] {
        assert!(output.stderr.contains(part), "{output:#?}");
    }
}
