//! The sandbox itself: separate state, and a surviving process is found and reported.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{PATIENCE, Sandbox, eventually, finish};

#[test]
fn nothing_of_the_developer_leaks_in() {
    let sandbox = Sandbox::new();
    let mut command = Command::new("env");
    sandbox.prepare(&mut command);
    let output = finish(&mut command, "");
    let base = sandbox.base().display().to_string();
    for name in ["HOME", "MOAI_RALPH_HOME", "MOAI_RALPH_DATA", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"]
    {
        let line = output.stdout.lines().find(|line| line.starts_with(&format!("{name}=")));
        assert!(line.is_some_and(|line| line.contains(&base)), "{name}: {line:?}");
    }
    assert!(!output.stdout.contains("ANTHROPIC"), "{}", output.stdout);
}

#[test]
fn a_project_has_files_and_commits() {
    let sandbox = Sandbox::new();
    sandbox.write("deep/er/file.txt", "text\n");
    sandbox.commit();
    assert_eq!(sandbox.read("deep/er/file.txt"), "text\n");
    let mut command = Command::new("git");
    sandbox.prepare(&mut command);
    let output = finish(command.args(["status", "--porcelain"]), "");
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
}

#[test]
fn a_survivor_is_found() {
    let sandbox = Sandbox::new();
    let mut command = Command::new("sleep");
    sandbox.prepare(&mut command);
    let mut child = command.arg("600").stdin(Stdio::null()).spawn().expect("`sleep` is on PATH");
    let found = eventually(PATIENCE, || {
        let survivors = sandbox.survivors();
        survivors.iter().any(|(_, command)| command.contains("sleep")).then_some(survivors)
    });
    child.kill().expect("the child is ours");
    child.wait().expect("the child is ours");
    let found = found.expect("the child is found");
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_scripted_server_answers_under_a_real_servers_name() {
    let sandbox = Sandbox::new();
    sandbox.fake_server("pyright-langserver", json!({"delay": 1}));
    let mut command = Command::new(sandbox.base().join("bin/pyright-langserver"));
    sandbox.prepare(&mut command);
    let output = finish(&mut command, "");
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("unknown key"), "{output:#?}");
}
