//! Loops: a Stop is decided on evidence, for exactly one session.

mod adopted;
mod bases;
mod branches;
mod budgets;
mod changing_files;
mod commands;
mod crashes;
mod damage;
mod deadlines;
mod deliveries;
mod ends;
mod environment;
pub(crate) mod escapes;
mod examined;
mod forgotten;
mod gitless;
mod held;
mod hidden;
mod honest;
mod judged;
mod killed_merges;
mod killed_restores;
mod left_trees;
mod linked;
mod locked;
mod lost;
mod lost_bases;
mod marks;
mod measured_merges;
mod next_branches;
mod notes;
mod own_sessions;
mod owners;
mod packages;
mod played_hooks;
mod refused;
mod said;
mod unread;
mod used_files;
mod waiting;
mod waived;
mod workers;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Output, SESSION, Sandbox, finish, write_file};

const CLEAN: &str = "word = 'good'\n";
const DIRTY: &str = "word = 'BAD'\n";
/// Clean, and different from the committed text: so there is something to measure.
const FIXED: &str = "word = 'better'\n";
const TESTS: &str =
    "def test_sum():\n    assert 1 + 2 == 3\n\n\ndef test_empty():\n    assert 0 == 0\n";
const FEWER: &str = "def test_sum():\n    assert 1 + 2 == 3\n";

/// A committed clean file and a scripted server that finds `BAD`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let errors = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("app.py", CLEAN);
    sandbox.commit();
    sandbox
}

/// The same with a loop for this session.
fn looping(options: &[&str]) -> Sandbox {
    let sandbox = project();
    let output = start(&sandbox, options);
    assert_eq!(output.code, 0, "{output:#?}");
    sandbox
}

fn start(sandbox: &Sandbox, options: &[&str]) -> Output {
    let arguments = ["loop", "start", "--session", SESSION, "--prompt", "fix it", "--json"];
    sandbox.run(&[&arguments, options].concat())
}

/// A loop whose agent dropped a test.
fn lacking_a_test() -> Sandbox {
    let sandbox = project();
    sandbox.write("tests/test_app.py", TESTS);
    sandbox.commit();
    let options = ["--max-iterations", "9", "--until", "diagnostics"];
    assert_eq!(start(&sandbox, &options).code, 0);
    sandbox.write("app.py", FIXED);
    sandbox.tool_write("tests/test_app.py", FEWER);
    sandbox
}

/// The project's own checks.
fn autochecks(sandbox: &Sandbox, body: &str) {
    sandbox.write(".claude/autochecks.sh", &format!("#!/bin/sh\n{body}\n"));
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path(".claude/autochecks.sh"), mode).expect("the file is ours");
}

fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    git_in(sandbox, &sandbox.root(), arguments)
}

/// Output of git in a folder.
fn git_in(sandbox: &Sandbox, folder: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    sandbox.prepare(&mut command);
    let output = finish(command.args(arguments).current_dir(folder), "");
    assert_eq!(output.code, 0, "{arguments:?}: {output:#?}");
    output.stdout.trim().to_owned()
}

fn commit_in(sandbox: &Sandbox, folder: &Path, message: &str) -> String {
    git_in(sandbox, folder, &["add", "-A"]);
    git_in(sandbox, folder, &["commit", "-q", "-m", message]);
    git_in(sandbox, folder, &["rev-parse", "HEAD"])
}

/// A hook of the repository.
fn git_hook(sandbox: &Sandbox, name: &str, body: &str) {
    let hook = sandbox.path(".git/hooks").join(name);
    write_file(&hook, &format!("#!/bin/sh\n{body}\n"));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("the hook is ours");
}

/// A second worktree with `main` checked out, where other people work.
fn beside(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.base().join("beside");
    let at = folder.to_str().expect("a path");
    git(sandbox, &["worktree", "add", "-q", at, "main"]);
    folder
}

/// Changes that the agent's shell makes to the project, in one tool call.
fn shell(sandbox: &Sandbox, work: impl FnOnce()) -> Output {
    let begun = Instant::now();
    work();
    let mut input = sandbox.payload("PostToolUse-Bash");
    // The host's own time around the command is longer.
    let took = begun.elapsed() + Duration::from_secs(3);
    input["duration_ms"] = json!(u64::try_from(took.as_millis()).expect("short"));
    sandbox.hook("post-tool-use", &input)
}

/// One Stop of this session; the reason when it is blocked.
fn stop(sandbox: &Sandbox, last_words: &str) -> Option<String> {
    let mut input = sandbox.payload("Stop");
    input["last_assistant_message"] = last_words.into();
    blocked(&sandbox.hook("stop", &input))
}

fn blocked(output: &Output) -> Option<String> {
    assert_eq!(output.code, 0, "{output:#?}");
    if output.stdout.trim().is_empty() {
        return None;
    }
    let answer = output.json();
    (answer["decision"] == "block").then(|| answer["reason"].as_str().unwrap_or("").to_owned())
}

fn status(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["loop", "status", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

/// The same in the middle of a turn.
fn stop_again(sandbox: &Sandbox, last_words: &str) -> Output {
    let mut input = sandbox.payload("Stop-active");
    input["last_assistant_message"] = last_words.into();
    sandbox.hook("stop", &input)
}

/// The user's notice at the end of a turn.
fn notice(output: &Output) -> String {
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()["systemMessage"].as_str().unwrap_or_default().to_owned()
}

fn iteration(status: &Value) -> u64 {
    status["iteration"].as_u64().expect("a loop counts its iterations")
}

#[test]
fn without_a_loop_a_stop_is_not_our_business() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", DIRTY);
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
}

#[test]
fn a_dirty_file_blocks_and_a_clean_one_completes() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "5"]);
    let before = iteration(&status(&sandbox));
    sandbox.write("app.py", DIRTY);
    let reason = stop(&sandbox, "finished").expect("dirty evidence blocks");
    assert!(reason.contains("app.py:1:9") && reason.contains("bad word"), "{reason}");
    let running = status(&sandbox);
    assert_eq!((&running["status"], iteration(&running)), (&json!("running"), before + 1));
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
    assert_eq!(stop(&sandbox, "after the loop"), None);
}

#[test]
fn a_promise_is_necessary_but_never_sufficient() {
    let sandbox = looping(&["--completion-promise", "DONE", "--max-iterations", "9"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "<promise>DONE</promise>").is_some(), "the file is dirty");
    sandbox.write("app.py", FIXED);
    for words in ["finished", "`<promise>DONE</promise>`", "```\n<promise>DONE</promise>\n```"] {
        assert!(stop(&sandbox, words).is_some(), "{words:?} is no promise");
    }
    assert_eq!(stop(&sandbox, "It works.\n\n<promise>DONE</promise>"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn the_last_iteration_counts() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "2"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "one").is_some());
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "two"), None);
    assert_eq!(status(&sandbox)["status"], "completed");

    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "2"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "one").is_some());
    assert_eq!(stop(&sandbox, "two"), None);
    assert_eq!(status(&sandbox)["status"], "max_iterations");
}

#[test]
fn other_sessions_and_waiting_turns_are_left_alone() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "5"]);
    let before = iteration(&status(&sandbox));
    sandbox.write("app.py", DIRTY);
    for session in ["11111111-0000-4000-8000-000000000000", ""] {
        let mut input = sandbox.payload("Stop");
        input["session_id"] = session.into();
        assert_eq!(blocked(&sandbox.hook("stop", &input)), None, "{session:?}");
    }
    assert_eq!(blocked(&sandbox.hook("stop", &sandbox.payload("Stop-bgtask"))), None);
    let after = status(&sandbox);
    assert_eq!((&after["status"], iteration(&after)), (&json!("running"), before));
}

#[test]
fn failing_checks_of_the_project_are_fed_back() {
    let sandbox = project();
    autochecks(&sandbox, "test -f total || { echo 'test_total: expected 3, got 4'; exit 1; }");
    sandbox.write("app.py", FIXED);
    let output = start(&sandbox, &["--until", "checks", "--max-iterations", "5"]);
    assert_eq!(output.code, 0, "{output:#?}");
    let reason = stop(&sandbox, "finished").expect("a failing check blocks");
    assert!(reason.contains("expected 3, got 4"), "{reason}");
    sandbox.write("total", "");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn cancelling_takes_effect_at_once_and_twice_is_no_harm() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    for _ in 0..2 {
        let output = sandbox.run(&["loop", "cancel"]);
        assert_eq!(output.code, 0, "{output:#?}");
    }
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "cancelled");
    assert_eq!(sandbox.read("app.py"), DIRTY);
}

#[test]
fn a_second_loop_and_an_unbounded_one_are_refused() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let id = status(&sandbox)["id"].as_str().expect("a loop has an id").to_owned();
    let second = start(&sandbox, &["--max-iterations", "5"]);
    assert_eq!(second.code, 1, "{second:#?}");
    assert!(format!("{}{}", second.stdout, second.stderr).contains(&id), "{second:#?}");
    sandbox.run(&["loop", "cancel"]);
    let unbounded = start(&sandbox, &["--max-iterations", "0"]);
    assert!([1, 3].contains(&unbounded.code), "{unbounded:#?}");
}

#[test]
fn a_slash_command_starts_the_loop_with_its_arguments_as_typed() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.run(&["loop", "cancel"]);
    let typed =
        "fix \"all\" $(touch x) `touch y` 한글 --max-iterations 3 --completion-promise DONE";
    for name in ["moai-ralph:moai-loop", "moai-loop"] {
        let mut input = sandbox.payload("UserPromptExpansion");
        input["command_name"] = name.into();
        input["command_args"] = typed.into();
        input["prompt"] = format!("/{name} {typed}").into();
        let told = sandbox.hook("user-prompt-expansion", &input).context();
        assert!(told.starts_with("[moai-ralph]"), "{told}");
        let status = status(&sandbox);
        assert_eq!((&status["status"], &status["max_iterations"]), (&json!("running"), &json!(3)));
        assert_eq!(status["session_id"], SESSION);
        let prompt = status["prompt"].as_str().unwrap_or_default();
        assert!(prompt.contains("fix \"all\" $(touch x) `touch y` 한글"), "{prompt}");
        assert!(!prompt.contains("--max-iterations"), "{prompt}");
        sandbox.run(&["loop", "cancel"]);
    }
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = "moai-ralph:moai-loop".into();
    input["command_args"] = "fix --max-iterations many".into();
    assert!(blocked(&sandbox.hook("user-prompt-expansion", &input)).is_some());
    assert!(!sandbox.path("x").exists() && !sandbox.path("y").exists());
}
