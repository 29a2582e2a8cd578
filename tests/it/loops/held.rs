//! Requirements on a loop: the tests and checks it began with, and the states it was in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{
    DIRTY, FEWER, FIXED, TESTS, autochecks, blocked, git, lacking_a_test, notice, project, shell,
    start, status, stop,
};
use crate::support::{Sandbox, write_file};

#[test]
fn a_deleted_test_is_refused_and_the_second_time_is_gaming() {
    let sandbox = lacking_a_test();
    let reason = stop(&sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)") && reason.contains("test_empty"), "{reason}");
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert!(told.contains("weakened again") && told.contains("G01"), "{told}");
    let status = status(&sandbox);
    assert_eq!(status["status"], "gaming");
    assert!(status["terminal"]["report"]["residual_risk"].to_string().contains("G01"));
}

#[test]
fn a_test_that_is_put_back_is_forgiven() {
    let sandbox = project();
    sandbox.write("tests/test_app.py", TESTS);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "diagnostics"]).code, 0);
    sandbox.write("app.py", FIXED);
    shell(&sandbox, || fs::remove_file(sandbox.path("tests/test_app.py")).expect("there"));
    assert!(stop(&sandbox, "finished").expect("all tests are gone").contains("guard(G0"));
    sandbox.write("tests/test_app.py", TESTS);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn without_git_the_first_checkpoint_is_what_tests_are_compared_with() {
    let sandbox = project();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    sandbox.write("tests/test_app.py", TESTS);
    assert_eq!(start(&sandbox, &["--until", "diagnostics"]).code, 0);
    sandbox.write("app.py", FIXED);
    sandbox.tool_write("tests/test_app.py", FEWER);
    let reason = stop(&sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)"), "{reason}");
    sandbox.write("tests/test_app.py", TESTS);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn an_edited_script_of_checks_does_not_decide_and_is_a_finding() {
    let sandbox = project();
    autochecks(&sandbox, "echo 'not yet'; exit 1");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks"]).code, 0);
    sandbox.write("app.py", FIXED);
    shell(&sandbox, || autochecks(&sandbox, "exit 0"));
    let reason = stop(&sandbox, "finished").expect("the frozen checks fail");
    assert!(reason.contains("not yet"), "{reason}");
    assert!(reason.contains("guard(G19)") && reason.contains("autochecks.sh"), "{reason}");
}

/// A check that is a script of the project.
fn scripted() -> Sandbox {
    let sandbox = project();
    sandbox.write("check.sh", "echo 'not yet'; exit 1\n");
    sandbox.write("RUBRIC.md", "# Rubric\n\n## Checks\n\n- sh ./check.sh\n");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks"]).code, 0);
    sandbox.write("app.py", FIXED);
    sandbox
}

#[test]
fn the_script_that_a_check_runs_is_no_work_of_the_loop() {
    let sandbox = scripted();
    sandbox.tool_write("check.sh", "exit 0\n");
    let reason = stop(&sandbox, "finished").expect("the script was edited");
    assert!(reason.contains("guard(G19)") && reason.contains("check.sh"), "{reason}");
}

#[test]
fn checks_that_can_no_longer_be_run_still_decide() {
    let sandbox = project();
    autochecks(&sandbox, "echo 'not yet'; exit 1");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks"]).code, 0);
    sandbox.write("app.py", FIXED);
    let mode = fs::Permissions::from_mode(0o644);
    let script = sandbox.path(".claude/autochecks.sh");
    shell(&sandbox, || fs::set_permissions(script, mode).expect("ours"));
    let reason = stop(&sandbox, "finished").expect("the frozen checks fail");
    assert!(reason.contains("not yet") && reason.contains("guard(G19)"), "{reason}");
}

#[test]
fn neither_marks_in_the_index_nor_private_rules_hide_a_change() {
    let sandbox = project();
    sandbox.write("tests/test_app.py", TESTS);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", FIXED);
    git(&sandbox, &["update-index", "--assume-unchanged", "tests/test_app.py"]);
    sandbox.tool_write("tests/test_app.py", FEWER);
    let reason = stop(&sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)") && reason.contains("test_empty"), "{reason}");
    sandbox.write("tests/test_app.py", TESTS);
    shell(&sandbox, || sandbox.write(".git/info/exclude", "/conftest.py\n"));
    let reason = stop(&sandbox, "finished").expect("a file may be hidden");
    assert!(reason.contains("guard(G19)") && reason.contains("info/exclude"), "{reason}");
}

#[test]
fn each_stop_leaves_a_checkpoint_and_the_best_one_comes_back() {
    let sandbox = project();
    assert_eq!(start(&sandbox, &["--max-iterations", "3"]).code, 0);
    let better = "word = 'BAD'\n";
    let worse = "word = 'BAD' + 'BAD'\n";
    let head = git(&sandbox, &["rev-parse", "HEAD"]);
    for text in [worse, better, worse] {
        sandbox.write("app.py", text);
        let _held = stop(&sandbox, "on it");
    }
    let ended = status(&sandbox);
    assert_eq!((&ended["status"], &ended["best"]), (&json!("max_iterations"), &json!(2)));
    let kept: Vec<&Value> = ended["history"]
        .as_array()
        .expect("a history")
        .iter()
        .map(|it| &it["checkpoint"])
        .collect();
    let id = ended["id"].as_str().expect("an id");
    assert_eq!(kept[1], &json!(format!("refs/moai-ralph/{id}/2")));
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), head, "HEAD stays where it is");
    let preview = sandbox.run(&["loop", "restore", id, "--to", "best"]);
    assert_eq!((preview.code, sandbox.read("app.py").as_str()), (0, worse), "{preview:#?}");
    assert_eq!(sandbox.run(&["loop", "restore", id, "--to", "best", "--apply"]).code, 0);
    assert_eq!(sandbox.read("app.py"), better);
    assert_eq!(sandbox.run(&["loop", "restore", id, "--to", "0", "--apply"]).code, 0);
    assert_ne!(sandbox.read("app.py"), better, "what was there at the start is kept, too");
}

#[test]
fn what_the_agent_says_is_held_against_what_was_measured() {
    let sandbox = project();
    assert_eq!(start(&sandbox, &[]).code, 0);
    sandbox.write("app.py", DIRTY);
    let reason = stop(&sandbox, "There are no errors left.").expect("it is dirty");
    assert!(reason.contains("Your message contradicts the measurement:"), "{reason}");
    assert!(reason.contains("measured: 1 error"), "{reason}");
}

/// A line of a transcript with this many fresh tokens.
fn line(id: &str, tokens: u64) -> String {
    let usage = json!({"input_tokens": 0, "output_tokens": tokens});
    let message = json!({"id": id, "model": "claude-opus-4-6", "usage": usage});
    let at = "2999-01-01T00:00:00Z";
    let line = json!({"type": "assistant", "requestId": id, "message": message, "timestamp": at});
    format!("{line}\n")
}

#[test]
fn tokens_of_the_session_are_counted_and_bound_the_loop() {
    let sandbox = project();
    assert_eq!(start(&sandbox, &["--max-tokens", "1000"]).code, 0);
    sandbox.write("app.py", DIRTY);
    let path = sandbox.base().join("transcript.jsonl");
    let stop_with = |text: &str| {
        write_file(&path, text);
        let mut input = sandbox.payload("Stop");
        input["transcript_path"] = json!(path);
        sandbox.hook("stop", &input)
    };
    assert!(blocked(&stop_with(&line("m1", 400))).is_some());
    assert_eq!(status(&sandbox)["tokens"], 400);
    let told = notice(&stop_with(&(line("m1", 400) + &line("m2", 800))));
    assert!(told.contains("token limit reached") && told.contains("used 1,200 fresh"), "{told}");
    assert_eq!(status(&sandbox)["status"], "budget");
}
