//! Callers with different environments: they share a server when their PATHs lead to the same
//! programs, and never get a result that was measured in another environment.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Sandbox, eventually, fake_language_server, json_lines, write_file};

const IMPORT: &str = "import thing\n";

fn executable(path: &Path, text: &str) {
    write_file(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// The environment's script, in which these needles are errors; returns the server's log.
fn scripted(folder: &Path, needles: &[&str]) -> PathBuf {
    let log = folder.join("log.jsonl");
    let errors: Vec<Value> = needles
        .iter()
        .map(|needle| json!({"needle": needle, "message": "not found", "code": "missing"}))
        .collect();
    let script = json!({"log": log, "errors": errors, "watch_files": true});
    write_file(&folder.join("script.json"), &script.to_string());
    log
}

/// A version of node, which runs every server as the scripted one.
fn node(folder: &Path, needles: &[&str]) {
    scripted(folder, needles);
    let (fake, script) = (fake_language_server(), folder.join("script.json"));
    let text = format!("#!/bin/sh\nexec '{}' '{}'\n", fake.display(), script.display());
    executable(&folder.join("bin/node"), &text);
}

/// Two versions of node, and a pyright that runs with the one on PATH.
fn project_of_node() -> Sandbox {
    let sandbox = Sandbox::new();
    executable(&sandbox.base().join("bin/pyright-langserver"), "#!/usr/bin/env node\n");
    node(&sandbox.base().join("versions/v20"), &["thing"]);
    node(&sandbox.base().join("versions/v22"), &[]);
    sandbox.write("app.py", IMPORT);
    sandbox
}

/// Makes later processes those of another shell: its PATH begins with a separate link to a version of node,
/// as fnm makes one for each shell.
fn enter_shell(sandbox: &mut Sandbox, shell: &str, version: &str) -> PathBuf {
    let link = sandbox.base().join("shells").join(shell);
    fs::create_dir_all(sandbox.base().join("shells")).expect("the sandbox is writable");
    symlink(sandbox.base().join("versions").join(version), &link).expect("a link");
    let path = std::env::var("PATH").expect("a PATH");
    let own = sandbox.base().join("bin");
    sandbox.set("PATH", format!("{}/bin:{}:{path}", link.display(), own.display()));
    link
}

/// A pyright that reads the script in the caller's virtual environment: `with` has the package,
/// `without` lacks it. Returns the logs of both.
fn project_of_environments() -> (Sandbox, PathBuf, PathBuf) {
    let sandbox = Sandbox::new();
    let text = format!(
        "#!/bin/sh\nexec '{}' \"$VIRTUAL_ENV/script.json\"\n",
        fake_language_server().display()
    );
    executable(&sandbox.base().join("bin/pyright-langserver"), &text);
    let (with, without) = (sandbox.base().join("with"), sandbox.base().join("without"));
    let logs = (scripted(&with, &[]), scripted(&without, &["thing"]));
    for folder in [with, without] {
        executable(&folder.join("bin/python"), "#!/bin/sh\n");
    }
    sandbox.write("app.py", "pass\n");
    sandbox.commit();
    (sandbox, logs.0, logs.1)
}

fn activate(sandbox: &mut Sandbox, name: &str) {
    let folder = sandbox.base().join(name);
    sandbox.set("VIRTUAL_ENV", folder.into_os_string());
}

fn check(sandbox: &Sandbox) -> i32 {
    sandbox.run(&["check", "--no-scan", "app.py"]).code
}

fn servers(sandbox: &Sandbox) -> Vec<i64> {
    let list = sandbox.run(&["server", "list", "--json"]).json();
    let servers = list["servers"].as_array().expect("a list").clone();
    servers.iter().filter_map(|server| server["pid"].as_i64()).collect()
}

/// A hook after a shell command of this session.
fn after_shell(sandbox: &Sandbox, session: &str) -> String {
    let mut input = sandbox.payload("PostToolUse-Bash");
    input["session_id"] = session.into();
    sandbox.hook("post-tool-use", &input).context()
}

fn pulls(log: &Path) -> usize {
    let lines = json_lines(log);
    lines.iter().filter(|message| message["method"] == "textDocument/diagnostic").count()
}

#[test]
fn shells_whose_paths_lead_to_the_same_programs_share_a_server() {
    let mut sandbox = project_of_node();
    enter_shell(&mut sandbox, "1", "v20");
    assert_eq!(check(&sandbox), 1);
    let first = servers(&sandbox);
    assert_eq!(first.len(), 1);
    enter_shell(&mut sandbox, "2", "v20");
    assert_eq!(check(&sandbox), 1);
    assert_eq!(servers(&sandbox), first);
    enter_shell(&mut sandbox, "3", "v22");
    assert_eq!(check(&sandbox), 0, "another version of node, another server");
    assert_eq!(servers(&sandbox).len(), 2);
}

#[test]
fn a_server_outlives_the_links_of_the_shell_that_started_it() {
    let mut sandbox = project_of_node();
    let link = enter_shell(&mut sandbox, "1", "v20");
    assert_eq!(check(&sandbox), 1);
    let [first] = servers(&sandbox)[..] else { panic!("one server") };
    enter_shell(&mut sandbox, "2", "v20");
    fs::remove_file(link).expect("the shell ends");
    let environment = fs::read(format!("/proc/{first}/environ")).expect("it runs");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let path = environment.split('\0').find(|entry| entry.starts_with("PATH="));
    assert!(path.is_some_and(|path| !path.contains("/shells/")), "{path:?}");
    assert_eq!(sandbox.run(&["server", "restart", "pyright"]).code, 0);
    assert_eq!(check(&sandbox), 1);
    let [second] = servers(&sandbox)[..] else { panic!("one server") };
    assert_ne!(first, second);
}

#[test]
fn a_program_replaced_at_its_place_is_another_program() {
    let mut sandbox = project_of_node();
    let link = enter_shell(&mut sandbox, "1", "v20");
    assert_eq!(check(&sandbox), 1);
    fs::remove_file(&link).expect("ours");
    symlink(sandbox.base().join("versions/v22"), &link).expect("`fnm use`");
    assert_eq!(check(&sandbox), 0);
}

#[test]
fn a_change_that_another_environment_measured_is_still_reported() {
    let (mut sandbox, ..) = project_of_environments();
    for (environment, session) in [("with", "a"), ("without", "b")] {
        activate(&mut sandbox, environment);
        assert_eq!(check(&sandbox), 0);
        assert_eq!(after_shell(&sandbox, session), "");
    }
    sandbox.write("app.py", IMPORT);
    activate(&mut sandbox, "with");
    assert_eq!(after_shell(&sandbox, "a"), "");
    activate(&mut sandbox, "without");
    let told = after_shell(&sandbox, "b");
    assert!(told.contains("error app.py:1:8 pyright(missing): not found"), "{told:?}");
    assert_eq!(servers(&sandbox).len(), 2);
}

#[test]
fn an_edit_is_not_compared_with_findings_of_another_environment() {
    let (mut sandbox, _, log) = project_of_environments();
    activate(&mut sandbox, "without");
    sandbox.write("app.py", IMPORT);
    assert_eq!(check(&sandbox), 1);
    // In this environment the file is clean before and after.
    activate(&mut sandbox, "with");
    let asked = pulls(&log);
    assert_eq!(sandbox.tool_write("app.py", "import thing\nx = 1\n").context(), "");
    assert_eq!(pulls(&log), asked, "the other server is left alone");
}

#[test]
fn what_one_server_measures_the_others_of_its_kind_learn_of() {
    let (mut sandbox, _, log) = project_of_environments();
    for environment in ["without", "with"] {
        activate(&mut sandbox, environment);
        assert_eq!(check(&sandbox), 0);
    }
    let opened = json_lines(&log).into_iter().find(|message| message["hash"].is_string());
    let first = opened.expect("the file was opened")["hash"].clone();
    sandbox.write("app.py", "pass\npass\n");
    assert_eq!(check(&sandbox), 0);
    // As an open document with other bytes, or as a file that changed on disk.
    let learns_of_it = |message: &Value| {
        let changes = message["params"]["changes"].as_array().cloned().unwrap_or_default();
        let mut uris = changes.iter().filter_map(|change| change["uri"].as_str());
        let is_changed = message["hash"].as_str().is_some_and(|hash| hash != first);
        is_changed || uris.any(|uri| uri.ends_with("/app.py"))
    };
    let learned = eventually(PATIENCE, || json_lines(&log).iter().any(learns_of_it).then_some(()));
    assert!(learned.is_some(), "{:#?}", json_lines(&log));
}
