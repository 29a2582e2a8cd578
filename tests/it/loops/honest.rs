//! A loop ends honestly: the project's checks ran, files changed, and each failed measurement was
//! repeated until it passed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{FIXED, TESTS, blocked, iteration, notice, project, start, status, stop};
use crate::support::{Sandbox, write_file};

const SCRIPTS: &str = r#"{"scripts": {"test": "runner", "lint": "linter"}}"#;

/// Puts a program on the PATH of the sandbox, outside the project. The file stays the same and runs the
/// latest `body`.
fn program(sandbox: &Sandbox, name: &str, body: &str) {
    let text = sandbox.base().join("bodies").join(name);
    write_file(&text, body);
    let file = sandbox.base().join("bin").join(name);
    if file.exists() {
        return;
    }
    write_file(&file, &format!("#!/bin/sh\n. '{}'\n", text.display()));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A project whose only check, `unit`, is a program outside of it.
fn with_unit(body: &str, options: &[&str]) -> Sandbox {
    let sandbox = project();
    program(&sandbox, "unit", body);
    let check = "{name: unit, command: [unit], kind: test_pass, timeout_secs: 1}";
    let text = format!("ralph:\n  loop:\n    checks: [{check}]\n");
    sandbox.write(".moai/config/sections/ralph.yaml", &text);
    sandbox.commit();
    assert_eq!(start(&sandbox, options).code, 0);
    sandbox.write("app.py", FIXED);
    sandbox
}

/// A project with scripts for npm, of which this is the program.
fn with_npm(body: &str, options: &[&str]) -> (Sandbox, Value) {
    let sandbox = project();
    program(&sandbox, "npm", body);
    sandbox.write("package.json", SCRIPTS);
    sandbox.commit();
    let started = start(&sandbox, options);
    assert_eq!(started.code, 0, "{started:#?}");
    (sandbox, started.json())
}

#[test]
fn a_loop_that_asks_for_nothing_runs_the_tests_that_the_project_suggests() {
    let (sandbox, started) = with_npm("echo 'sum is wrong'; exit 1", &[]);
    assert_eq!((&started["until"], &started["checks"]), (&json!("clean"), &json!(["npm test"])));
    sandbox.write("app.py", FIXED);
    let reason = stop(&sandbox, "finished").expect("a test fails");
    assert!(
        reason.contains("Check failed: npm test") && reason.contains("sum is wrong"),
        "{reason}"
    );
    program(&sandbox, "npm", "echo '=== 3 passed in 0.01s ==='");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_recipe_that_hides_the_exit_code_of_its_tests_hides_no_failed_test() {
    let (sandbox, _) = with_npm("echo '=== 1 failed, 2 passed in 0.01s ==='; exit 0", &[]);
    sandbox.write("app.py", FIXED);
    let reason = stop(&sandbox, "finished").expect("a test fails");
    assert!(reason.contains("Check failed: npm test (1 of 3 failed)"), "{reason}");
    assert!(reason.contains("exit code 0, but 1 test failed"), "{reason}");
    program(&sandbox, "npm", "echo '=== 3 passed in 0.01s ==='");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_promise_is_not_kept_while_a_test_fails_that_nobody_named() {
    let promise = ["--completion-promise", "DONE"];
    let (sandbox, _) = with_npm("echo 'sum is wrong'; exit 1", &promise);
    sandbox.write("app.py", FIXED);
    let reason = stop(&sandbox, "<promise>DONE</promise>").expect("a test fails");
    assert!(reason.contains("sum is wrong"), "{reason}");
}

#[test]
fn diagnostics_alone_are_what_they_were() {
    let (sandbox, started) = with_npm("exit 1", &["--until", "diagnostics"]);
    assert_eq!(started["checks"], json!([]));
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn work_that_the_configuration_takes_out_of_checking_is_not_verified() {
    for (is_mixed, expected) in [(false, "completed_unverified"), (true, "completed")] {
        let sandbox = project();
        sandbox.write("pyrightconfig.json", "{\"ignore\": [\"app.py\"]}\n");
        sandbox.commit();
        assert_eq!(start(&sandbox, &[]).code, 0);
        sandbox.write("app.py", FIXED);
        if is_mixed {
            sandbox.write("other.py", FIXED);
        }
        assert_eq!(stop(&sandbox, "finished"), None, "the agent is not held");
        let ended = status(&sandbox);
        assert_eq!(ended["status"], expected, "{ended:#}");
        let gaps = ended["terminal"]["report"]["gaps"].to_string();
        assert!(gaps.contains("excluded by the project's configuration"), "{ended:#}");
    }
}

#[test]
fn tests_that_no_known_command_runs_are_a_gap_and_their_absence_is_none() {
    let sandbox = project();
    sandbox.write("tests/test_app.py", TESTS);
    sandbox.commit();
    assert_eq!(start(&sandbox, &[]).code, 0);
    sandbox.write("app.py", FIXED);
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert!(told.contains("tests/test_app.py is a test"), "{told}");
    assert!(told.contains("loop.checks"), "{told}");
    assert_eq!(status(&sandbox)["status"], "completed_unverified");

    let sandbox = project();
    assert_eq!(start(&sandbox, &[]).code, 0);
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_suggested_program_that_is_not_installed_or_finds_no_test_is_no_failure() {
    let (sandbox, _) = with_npm("echo 'runner: not found'; exit 127", &[]);
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    let ended = status(&sandbox);
    assert_eq!(ended["status"], "completed_unverified");
    assert!(ended["note"].as_str().is_some_and(|note| note.contains("npm test")), "{ended:#}");

    let (sandbox, _) = with_npm("echo '=== no tests ran in 0.01s ==='; exit 5", &[]);
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed", "there is no test that could run");
}

/// Held once because nothing changed; the next Stop ends the turn.
fn is_asked_once(sandbox: &Sandbox, last_words: &str) {
    let reason = stop(sandbox, last_words).expect("nothing was done");
    assert!(reason.contains("No file changed since the loop started"), "{reason}");
    let mut input = sandbox.payload("Stop");
    input["last_assistant_message"] = last_words.into();
    let told = notice(&sandbox.hook("stop", &input));
    assert!(told.contains("no file changed") && !told.contains("completed"), "{told}");
    assert_eq!(status(sandbox)["status"], "completed_unverified");
}

#[test]
fn a_loop_in_which_nothing_was_changed_is_asked_once_and_not_completed() {
    let sandbox = project();
    assert_eq!(start(&sandbox, &["--completion-promise", "DONE"]).code, 0);
    is_asked_once(&sandbox, "<promise>DONE</promise>");
}

#[test]
fn notes_of_the_loop_and_output_of_tools_are_no_work() {
    let leaves = "echo x > Cargo.lock; mkdir -p target __pycache__; echo x > target/app; \
                  echo x > __pycache__/a.pyc; echo '=== 3 passed in 0.01s ==='";
    let (sandbox, _) = with_npm(leaves, &[]);
    sandbox.write("progress.txt", "REMAINING:\nNone.\n");
    sandbox.write(".claude/memory/notes.md", "# Notes\n");
    is_asked_once(&sandbox, "finished");
}

#[test]
fn work_in_a_submodule_is_not_called_unchanged() {
    let (sandbox, inner) = (project(), project());
    let url = inner.root().display().to_string();
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "sub"];
    sandbox.git(&add);
    sandbox.commit();
    assert_eq!(start(&sandbox, &[]).code, 0);
    sandbox.write("sub/app.py", "count = 1\n");
    assert_eq!(stop(&sandbox, "finished"), None, "not asked why nothing changed");
    let ended = status(&sandbox);
    assert_eq!(ended["status"], "completed_unverified");
    let note = ended["note"].as_str().expect("why");
    assert!(note.contains("sub (a nested repository)"), "{note}");
    assert!(note.contains("sub is not part of a checkpoint"), "{note}");
}

#[test]
fn without_git_the_first_copy_tells_that_nothing_was_changed() {
    let sandbox = project();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    assert_eq!(start(&sandbox, &[]).code, 0);
    is_asked_once(&sandbox, "finished");
    assert_eq!(start(&sandbox, &[]).code, 0);
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_stop_while_planning_neither_counts_nor_completes() {
    let sandbox = project();
    assert_eq!(start(&sandbox, &["--max-iterations", "2"]).code, 0);
    sandbox.write("app.py", FIXED);
    let mut input = sandbox.payload("Stop");
    input["permission_mode"] = "plan".into();
    let output = sandbox.hook("stop", &input);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    let now = status(&sandbox);
    assert_eq!((iteration(&now), &now["status"]), (0, &json!("running")));
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_check_that_was_red_and_cannot_be_run_any_more_stays_red() {
    let sandbox = with_unit("echo 'sum is wrong'; exit 1", &["--max-iterations", "9"]);
    assert!(stop(&sandbox, "finished").is_some());
    fs::remove_file(sandbox.base().join("bin/unit")).expect("there");
    let reason = stop(&sandbox, "finished").expect("it was measured before");
    assert!(reason.contains("unit was measured earlier"), "{reason}");
    program(&sandbox, "unit", "echo half; sleep 1000");
    for _ in 0..2 {
        let reason = stop(&sandbox, "finished").expect("it may end in time yet");
        assert!(reason.contains("End your turn again shortly"), "{reason}");
    }
    let reason = stop(&sandbox, "finished").expect("it was measured before");
    assert!(reason.contains("unit was measured earlier"), "{reason}");
    assert!(reason.contains("| half"), "what it printed so far is shown: {reason}");
    assert_eq!(status(&sandbox)["remaining"]["checks_failed"], json!(["unit"]));
    program(&sandbox, "unit", "exit 0");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "the program is a new one");
}

#[test]
fn a_check_that_prints_no_totals_any_more_is_a_finding() {
    let failing = "echo '=== 1 failed, 29 passed in 0.01s ==='; exit 1";
    let sandbox = with_unit(failing, &["--max-iterations", "9"]);
    assert!(stop(&sandbox, "finished").is_some());
    program(&sandbox, "unit", "echo fine");
    let reason = stop(&sandbox, "finished").expect("nothing shows that tests ran");
    assert!(reason.contains("guard(G17)"), "{reason}");
    assert!(reason.contains("no test totals were printed; 30 tests ran before"), "{reason}");
    program(&sandbox, "unit", "echo '=== 30 passed in 0.01s ==='");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn fewer_failing_tests_each_time_are_no_stall_and_a_stall_is_resumed() {
    let failing = |count: u32| format!("echo '=== {count} failed in 0.01s ==='; exit 1");
    let sandbox = with_unit(&failing(20), &["--max-iterations", "20"]);
    for count in [20, 16, 12, 8] {
        program(&sandbox, "unit", &failing(count));
        assert!(stop(&sandbox, "on it").is_some(), "{count} tests fail");
    }
    for _ in 0..2 {
        assert!(stop(&sandbox, "on it").is_some());
    }
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert!(told.contains("no progress in 3 iterations") && told.contains("loop resume"), "{told}");
    assert_eq!(status(&sandbox)["status"], "stalled");
    let resumed = sandbox.run(&["loop", "resume", "--json"]);
    assert_eq!((resumed.code, &resumed.json()["status"]), (0, &json!("running")), "{resumed:#?}");
    assert!(stop(&sandbox, "on it").is_some(), "it is counted anew");
    program(&sandbox, "unit", "echo '=== 20 passed in 0.01s ==='");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_fix_on_a_project_that_is_clean_asks_once() {
    let sandbox = project();
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = "moai-ralph:moai-fix".into();
    input["command_args"] = "".into();
    let begun = sandbox.hook("user-prompt-expansion", &input);
    assert_eq!(blocked(&begun), None, "{begun:#?}");
    is_asked_once(&sandbox, "finished");
}
