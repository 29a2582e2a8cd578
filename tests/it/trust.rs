//! Trust: a cloned repository runs nothing until its user trusts it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{PATIENCE, PROGRAM, SESSION, Sandbox, eventually};
use crate::terminal::{self, typed};

const GAP: &str = "project not trusted: moai-ralph trust";
const OPTIONS: &str = ".moai/config/sections/ralph.yaml";

/// A project that is not trusted.
fn clone() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("MOAI_RALPH_TRUST", "");
    sandbox
}

/// A program of the project that leaves a trace when it runs.
fn trap(sandbox: &Sandbox, relative: &str) {
    let script = format!("#!/bin/sh\necho \"$0\" >>'{}'\n", trace(sandbox).display());
    sandbox.write(relative, &script);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path(relative), mode).expect("the file is ours");
}

fn trace(sandbox: &Sandbox) -> PathBuf {
    sandbox.base().join("trace")
}

/// The traps' records; empty if none ran.
fn traces(sandbox: &Sandbox) -> String {
    fs::read_to_string(trace(sandbox)).unwrap_or_default()
}

fn check(sandbox: &Sandbox) -> Value {
    sandbox.run(&["check", "--all", "--json"]).json()
}

/// The reason of one sensor of a report.
fn reason(report: &Value, sensor: &str) -> String {
    let sensors = report["sensors"].as_array().expect("sensors");
    let found = sensors.iter().find(|it| it["name"] == sensor);
    found.unwrap_or_else(|| panic!("no {sensor}: {report:#}"))["reason"].to_string()
}

fn host_file(command: &str) -> String {
    json!({"evil": {"command": command, "extensionToLanguage": {".py": "python"}}}).to_string()
}

#[test]
fn a_server_that_the_clone_names_runs_only_after_trust_and_until_its_file_changes() {
    let sandbox = clone();
    trap(&sandbox, "tools/evil");
    sandbox.write(".lsp.json", &host_file("${CLAUDE_PROJECT_DIR}/tools/evil"));
    let told = sandbox.tool_write("app.py", "x = 1\n").context();
    assert!(told.contains(&format!("not measured: evil ({GAP})")), "{told}");
    assert_eq!(traces(&sandbox), "");

    let granted = terminal::run(&sandbox, &["trust"]);
    assert_eq!(granted.code, 0, "{granted:#?}");
    assert!(granted.stdout.contains("server evil: "), "{}", granted.stdout);
    assert!(granted.stdout.contains("/tools/evil"), "{}", granted.stdout);
    check(&sandbox);
    assert!(traces(&sandbox).contains("tools/evil"), "it runs once it is trusted");

    fs::remove_file(trace(&sandbox)).expect("it was written");
    sandbox.write(".lsp.json", &(host_file("${CLAUDE_PROJECT_DIR}/tools/evil") + "\n"));
    let reason = reason(&check(&sandbox), "evil");
    assert!(reason.contains("project not trusted since .lsp.json changed"), "{reason}");
    assert_eq!(traces(&sandbox), "");
}

#[test]
fn every_way_to_name_a_program_is_withheld() {
    let sandbox = clone();
    for program in ["own/ls", ".venv/bin/python", "node_modules/.bin/tsc", "bin/clangd"] {
        trap(&sandbox, program);
    }
    sandbox.write(OPTIONS, "ralph:\n  lsp:\n    servers:\n      gopls: { command: ./own/ls }\n");
    sandbox.write(
        ".moai/config/lsp.json",
        r#"{"languages": {"odd": {"name": "Odd", "extensions": {"odd": "odd"}, "servers": ["odd-ls"]}},
            "servers": {"odd-ls": {"command": "${root}/own/ls", "diagnostics": "pull"}}}"#,
    );
    sandbox.write("package.json", r#"{"devDependencies": {"typescript": "^7.0.0"}}"#);
    sandbox.write("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\n");
    let sources = ["a.go", "a.odd", "a.ts", "a.py", "src/lib.rs", "a.c"];
    for source in sources {
        sandbox.write(source, "\n");
    }
    sandbox.fake_server("pyright-langserver", json!({}));
    sandbox.fake_server("rust-analyzer", json!({}));
    sandbox.fake_server("go", json!({}));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("./bin:{}:{path}", sandbox.path("bin").display());
    let mut command = sandbox.program();
    let own = sandbox.base().join("bin");
    command.env("PATH", format!("{path}:{}", own.display())).args(["check", "--all", "--json"]);
    let report = crate::support::finish(&mut command, "").json();
    for sensor in ["gopls", "odd-ls", "typescript-native", "rust-analyzer"] {
        assert!(reason(&report, sensor).contains(GAP), "{sensor}: {report:#}");
    }
    // pyright is the user's own; it runs without the project's interpreter, and reports that.
    assert!(reason(&report, "pyright").contains(GAP), "{report:#}");
    assert_eq!(traces(&sandbox), "", "{report:#}");
}

#[test]
fn checks_of_the_clone_do_not_run_at_a_stop() {
    let sandbox = clone();
    trap(&sandbox, ".claude/autochecks.sh");
    trap(&sandbox, "own/check");
    sandbox.write(OPTIONS, "ralph:\n  loop:\n    checks:\n      - command: ./own/check\n");
    sandbox.write("app.py", "x = 1\n");
    sandbox.commit();
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "go", "--json"]);
    assert_eq!(started.code, 0, "{started:#?}");
    sandbox.tool_write("app.py", "x = 2\n");
    let checked = sandbox.run(&["loop", "checks", "--json"]);
    assert!(checked.stdout.contains(GAP), "{checked:#?}");
    let mut stop = sandbox.payload("Stop");
    stop["stop_hook_active"] = false.into();
    let stopped = sandbox.hook("stop", &stop);
    assert_eq!(traces(&sandbox), "", "{stopped:#?}");
    let ended = sandbox.run(&["loop", "status", "--json"]).stdout;
    assert!(!ended.contains("\"completed\""), "{ended}");
    assert!(stopped.stdout.contains("project not trusted"), "{stopped:#?}");
}

#[test]
fn a_judge_that_the_clone_names_is_not_asked() {
    let sandbox = clone();
    trap(&sandbox, "own/judge");
    sandbox.write(OPTIONS, "ralph:\n  judge: { backend: command, command: [./own/judge] }\n");
    sandbox.write("RUBRIC.md", "# Rubric\n\n## Judge criteria\n- It is right.\n");
    sandbox.write("app.py", "x = 1\n");
    let judged = sandbox.run(&["judge", "--json"]);
    assert!((judged.stdout.clone() + &judged.stderr).contains("not trusted"), "{judged:#?}");
    assert_eq!(traces(&sandbox), "");
}

#[test]
fn the_hosts_record_trusts_and_a_variable_trusts_one_call() {
    let sandbox = clone();
    trap(&sandbox, "tools/evil");
    sandbox.write(".lsp.json", &host_file("${CLAUDE_PROJECT_DIR}/tools/evil"));
    sandbox.write("app.py", "x = 1\n");
    let mut command = sandbox.program();
    command.env("MOAI_RALPH_TRUST", "1").args(["check", "--all", "--json"]);
    let report = crate::support::finish(&mut command, "").json();
    assert!(!reason(&report, "evil").contains("not trusted"), "{report:#}");
    assert!(reason(&check(&sandbox), "evil").contains(GAP));

    let root = sandbox.root().display().to_string();
    let record = json!({"projects": {root: {"hasTrustDialogAccepted": true}}});
    fs::write(sandbox.base().join("home/.claude.json"), record.to_string()).expect("ours");
    assert!(!reason(&check(&sandbox), "evil").contains("not trusted"));
    let shown = sandbox.run(&["trust", "--show", "--json"]).json();
    assert_eq!((&shown["trusted"], &shown["by"]), (&json!(true), &json!("host")), "{shown:#}");
    let revoked = sandbox.run(&["trust", "--revoke"]);
    assert_eq!(revoked.code, 1, "{revoked:#?}");
    assert!(revoked.stderr.contains("still trusted by the host"), "{revoked:#?}");
}

#[test]
fn an_agent_neither_registers_nor_removes_hooks() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["init", "--host", "claude-code"]).code, 0);
    let settings = sandbox.read(".claude/settings.json");
    for more in [&["--remove"][..], &[]] {
        let mut command = sandbox.program();
        command.env("CLAUDECODE", "1").args(["init", "--host", "claude-code"]).args(more);
        let refused = crate::support::finish(&mut command, "");
        assert_eq!(refused.code, 1, "{refused:#?}");
        assert!(refused.stderr.contains("an agent started this shell"), "{refused:#?}");
        assert_eq!(sandbox.read(".claude/settings.json"), settings);
    }
}

#[test]
fn trust_is_shown_revoked_and_refused_to_an_agent() {
    let sandbox = clone();
    sandbox.write("package.json", r#"{"scripts": {"test": "echo no"}}"#);
    trap(&sandbox, ".venv/bin/python");
    let shown = sandbox.run(&["trust", "--show", "--json"]).json();
    assert_eq!((&shown["trusted"], &shown["by"]), (&json!(false), &Value::Null), "{shown:#}");
    let programs = shown["programs"].as_array().expect("programs");
    let kinds: Vec<_> = programs.iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, ["interpreter", "check"], "{shown:#}");

    let mut command = sandbox.program();
    command.env("CLAUDECODE", "1").arg("trust");
    let refused = crate::support::finish(&mut command, "");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("an agent started this shell"), "{refused:#?}");

    let is_trusted = || sandbox.run(&["trust", "--show", "--json"]).json()["trusted"] == true;
    assert!(!is_trusted());
    // As a process that an agent has detached from itself.
    let mut command = Command::new("setsid");
    sandbox.prepare(&mut command);
    let detached = crate::support::finish(command.args(["--wait", PROGRAM, "trust"]), "");
    assert_eq!(detached.code, 1, "{detached:#?}");
    assert!(detached.stderr.contains("this process has no terminal"), "{detached:#?}");
    assert!(!is_trusted());
    assert_eq!(terminal::run(&sandbox, &["trust"]).code, 0);
    assert!(is_trusted());
    assert_eq!(sandbox.run(&["trust", "--revoke"]).code, 0);
    assert!(!is_trusted());

    // A file that cannot be read any more does not prevent the end of the trust.
    assert_eq!(terminal::run(&sandbox, &["trust"]).code, 0);
    sandbox.write(".lsp.json", "{");
    let broken = sandbox.run(&["trust", "--revoke"]);
    assert!(broken.stderr.contains(".lsp.json"), "{broken:#?}");
    fs::remove_file(sandbox.path(".lsp.json")).expect("ours");
    assert!(!is_trusted());
}

#[test]
fn a_person_at_a_terminal_is_asked_once() {
    let sandbox = clone();
    trap(&sandbox, "tools/evil");
    sandbox.write(".lsp.json", &host_file("${CLAUDE_PROJECT_DIR}/tools/evil"));
    sandbox.write("app.py", "x = 1\n");
    let check_and_type = |line: &str| {
        let mut command = terminal::at_own_terminal(&sandbox, &["check", "--all"]);
        typed(&mut command, "[y/n]", line)
    };
    let declined = check_and_type("n");
    assert!(declined.stderr.contains("server evil: "), "{declined:#?}");
    assert_eq!(traces(&sandbox), "");
    let again = check_and_type("y");
    assert!(!again.stderr.contains("[y/n]"), "the decision stands: {again:#?}");
    assert_eq!(traces(&sandbox), "");

    sandbox.write(".lsp.json", &(host_file("${CLAUDE_PROJECT_DIR}/tools/evil") + "\n"));
    let accepted = check_and_type("y");
    assert!(accepted.stderr.contains("[y/n]"), "{accepted:#?}");
    assert!(traces(&sandbox).contains("tools/evil"), "{accepted:#?}");
}

#[test]
fn git_runs_nothing_of_a_clone() {
    let sandbox = clone();
    trap(&sandbox, "hk/post-checkout");
    trap(&sandbox, "hk/reference-transaction");
    let mut command = Command::new("git");
    sandbox.prepare(&mut command);
    crate::support::finish(command.args(["config", "core.hooksPath", "hk"]), "");
    let begun = sandbox.run(&["loop", "start", "--mode", "autonomous", "--prompt", "go"]);
    assert_eq!(begun.code, 1, "{begun:#?}");
    assert!(begun.stderr.contains(GAP), "{begun:#?}");
    let begun = sandbox.run(&["loop", "start", "--workers", "2", "--prompt", "go"]);
    assert_ne!(begun.code, 0, "{begun:#?}");
    assert_eq!(traces(&sandbox), "");
}

#[test]
fn a_root_inside_a_clone_does_not_free_the_rest_of_it() {
    let sandbox = clone();
    trap(&sandbox, ".venv/bin/python");
    trap(&sandbox, "node_modules/.bin/gopls");
    sandbox.write("sub/.moai/rules/a.txt", "");
    sandbox.write("sub/a.py", "x = 1\n");
    sandbox.write("sub/a.go", "package a\n");
    sandbox.fake_server("pyright-langserver", json!({}));
    sandbox.fake_server("go", json!({}));
    let mut path = sandbox.path("node_modules/.bin").into_os_string();
    path.push(":");
    path.push(sandbox.base().join("bin"));
    for (arguments, told) in [
        (&["check", "--all"][..], ""),
        (&["doctor", "--servers"][..], "are not probed here: project not trusted"),
    ] {
        let mut command = sandbox.program();
        command.env("PATH", &path).env("VIRTUAL_ENV", sandbox.path(".venv"));
        let output =
            crate::support::finish(command.current_dir(sandbox.path("sub")).args(arguments), "");
        assert_eq!(traces(&sandbox), "", "{output:#?}");
        assert!(output.stderr.contains(told), "{output:#?}");
    }
}

#[test]
fn a_caller_that_has_ended_is_no_person() {
    let sandbox = clone();
    check(&sandbox);
    let status = sandbox.run(&["daemon", "status", "--json"]).json();
    let socket = status["socket"].as_str().expect("a daemon").to_owned();
    let file = |name: &str| sandbox.base().join(name).display().to_string();
    let (go, call, unfinished, answer) =
        (file("go"), file("call"), file("answer-"), file("answer"));
    let caller = json!({"cwd": sandbox.root(), "root": sandbox.root(), "env": {}});
    let request = json!({"name": "trust", "action": "grant", "json": false});
    let line = json!({"protocol": 1, "caller": caller, "request": request});
    fs::write(&call, format!("{line}\n")).expect("ours");
    assert!(Command::new("mkfifo").arg(&go).status().expect("it runs").success());
    let script = format!(
        "read line <'{go}'; cat '{call}'; head -n 1 >'{unfinished}'; mv '{unfinished}' '{answer}'"
    );
    let program = Path::new(PROGRAM).with_file_name("examples").join("gone-caller");
    assert!(program.is_file(), "run `cargo build --examples` first: {}", program.display());
    let mut command = Command::new(program);
    sandbox.prepare(&mut command);
    let ended = command.args([&socket, &script]).status().expect("it runs");
    assert!(ended.success(), "{ended}");
    // The process that connected has ended, and its terminal and ancestors are unknown now.
    fs::write(&go, "\n").expect("the script reads");
    let answered = eventually(PATIENCE, || fs::read_to_string(&answer).ok());
    let answered = answered.expect("the daemon answers");
    assert!(answered.contains("is for a person"), "{answered}");
    assert_eq!(sandbox.run(&["trust", "--show", "--json"]).json()["trusted"], false);
}
