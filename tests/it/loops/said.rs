//! Messages of a loop: short, not repeated, in the language of the task, with a notice for the
//! user.

use serde_json::{Value, json};

use super::commands::expand;
use super::{
    CLEAN, DIRTY, FIXED, autochecks, blocked, looping, notice, project, start, status, stop,
};
use crate::support::{Output, SESSION, Sandbox};

/// The length limit of a reason without the task.
const REASON_BYTES_MAX: usize = 1_024;

/// A server that reports one error or warning for each line that asks for it.
fn many() -> Sandbox {
    let sandbox = Sandbox::new();
    let errors = json!([
        {"needle": "BAD", "message": "bad word", "code": "badWord"},
        {"needle": "ODD", "message": "odd word", "code": "oddWord", "severity": 2},
    ]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.commit();
    sandbox
}

fn start_with(sandbox: &Sandbox, prompt: &str, options: &[&str]) -> Output {
    let arguments = ["loop", "start", "--session", SESSION, "--prompt", prompt, "--json"];
    let output = sandbox.run(&[&arguments, options].concat());
    assert_eq!(output.code, 0, "{output:#?}");
    output
}

fn lines(word: &str, count: usize) -> String {
    let lines: Vec<String> = (0..count).map(|number| format!("w{number} = '{word}'\n")).collect();
    lines.concat()
}

/// The Stop's whole output.
fn stopped(sandbox: &Sandbox) -> Value {
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

#[test]
fn a_reason_is_short_and_a_later_one_tells_what_is_new() {
    let sandbox = many();
    autochecks(&sandbox, "echo noise; echo 'FAILED test_a.py::test_sum - assert 1 == 2'; exit 1");
    start_with(&sandbox, "fix it", &["--max-iterations", "9"]);
    sandbox.write("app.py", &lines("BAD", 40));
    let first = stop(&sandbox, "done").expect("held");
    assert!(first.len() < REASON_BYTES_MAX, "{} bytes: {first}", first.len());
    assert!(first.contains("Still wrong: 40 errors") && first.contains("app.py:1:"), "{first}");
    let failed = first.find("FAILED test_a.py::test_sum").expect("the failed test is named");
    assert!(failed < first.find("Still wrong").expect("counted"), "{first}");
    assert!(!first.contains("noise"), "{first}");
    sandbox.write("app.py", &format!("{}new = 'BAD'\n", lines("BAD", 40)));
    let second = stop(&sandbox, "done").expect("held");
    assert!(second.contains("New since the last Stop: 1 error\n  error app.py:41:"), "{second}");
    assert!(second.contains("Still wrong: 40 errors"), "{second}");
    assert!(!second.contains("app.py:1:"), "{second}");
}

#[test]
fn warnings_beside_an_unkept_promise_are_counted_and_not_called_wrong() {
    let sandbox = many();
    start_with(&sandbox, "fix it", &["--completion-promise", "DONE", "--max-iterations", "9"]);
    sandbox.write("app.py", &lines("ODD", 3));
    let reason = stop(&sandbox, "done").expect("the promise is missing");
    assert!(reason.contains("Not blocking: 3 warnings"), "{reason}");
    assert!(!reason.contains("Still wrong"), "{reason}");
}

#[test]
fn an_end_names_what_it_rests_on_and_what_was_not_asked() {
    let sandbox = project();
    sandbox.write("Makefile", "test:\n\ttrue\n");
    autochecks(&sandbox, "exit 0");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "diagnostics", "--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", FIXED);
    let end = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "completed");
    let rests_on = "completed after 1 iteration: .claude/autochecks.sh passed, pyright on 1 file, \
                    scan, guard";
    assert!(end.contains(rests_on), "{end}");
    assert!(end.lines().next().expect("a line").ends_with("; not run: tests"), "{end}");
}

#[test]
fn the_user_hears_of_the_start_of_errors_and_of_the_end() {
    let sandbox = project();
    autochecks(&sandbox, "exit 0");
    let started = expand(&sandbox, "moai-loop", "fix it --max-iterations 4");
    let said = notice(&started);
    let id = status(&sandbox)["id"].as_str().expect("a loop").to_owned();
    for part in [id.as_str(), "or after 4 iterations", "checks: .claude/autochecks.sh"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(started.context().contains(".claude/autochecks.sh"), "{started:#?}");
    sandbox.tool_write("app.py", CLEAN);
    let broken = sandbox.tool_write("app.py", DIRTY);
    assert_eq!(notice(&broken), "[moai-ralph] app.py: 1 error introduced");
    assert!(broken.context().contains("introduced 1 error"), "{broken:#?}");
    let mended = sandbox.tool_write("app.py", FIXED);
    assert_eq!(notice(&mended), "[moai-ralph] app.py: 1 error fixed");
    let end = stopped(&sandbox);
    let end = end["systemMessage"].as_str().unwrap_or_default();
    assert!(end.contains("completed after 1 iteration"), "{end}");
}

#[test]
fn a_korean_task_is_answered_in_korean_throughout() {
    let sandbox = project();
    let started = expand(&sandbox, "moai-loop", "로그인 오류를 고쳐줘 --max-iterations 4");
    assert!(started.context().contains("반복 1/4") && !started.context().contains("Task:"));
    assert!(notice(&started).contains("시작"), "{started:#?}");
    sandbox.tool_write("app.py", CLEAN);
    let told = sandbox.tool_write("app.py", DIRTY);
    assert!(told.context().starts_with("[moai-ralph] app.py: 오류 1개 발생\n"), "{told:#?}");
    assert_eq!(notice(&told), "[moai-ralph] app.py: 오류 1개 발생");
    let reason = stop(&sandbox, "끝").expect("held");
    assert!(reason.contains("아직 끝나지 않았습니다"), "{reason}");
    assert!(reason.contains("남은 문제: 오류 1개\n  error app.py:1:9"), "{reason}");
    assert!(!reason.contains("The loop") && reason.contains("작업:\n로그인 오류"), "{reason}");
    sandbox.run(&["daemon", "stop"]);
    sandbox.tool_write("new.py", CLEAN);
    let told = sandbox.tool_write("new.py", DIRTY);
    assert!(told.context().contains("오류 1개 발생"), "a new daemon knows the language: {told:#?}");
    sandbox.write("app.py", FIXED);
    sandbox.write("new.py", CLEAN);
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(blocked(&output), None);
    assert!(notice(&output).contains("완료(반복 2회)"), "{output:#?}");
    // The loop has ended, so the language of the session is unknown.
    let told = sandbox.tool_write("new.py", DIRTY);
    assert!(told.context().contains("introduced 1 error"), "{told:#?}");
}

#[test]
fn older_findings_are_counted_once_for_a_file() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let older = "a = 'BAD'\n";
    sandbox.tool_write("old.py", older);
    let told = sandbox.tool_write("old.py", &format!("{older}b = 'BAD'\n")).context();
    assert!(told.contains("introduced 1 error; 1 older remaining"), "{told}");
    sandbox.tool_write("old.py", older);
    let told = sandbox.tool_write("old.py", &format!("c = 'BAD'\n{older}")).context();
    assert!(told.contains("introduced 1 error") && !told.contains("older"), "{told}");
}

#[test]
fn a_session_hears_once_of_a_loop_that_a_command_started_for_it() {
    let sandbox = project();
    start_with(&sandbox, "fix it", &["--completion-promise", "DONE"]);
    let told = sandbox.tool_write("app.py", FIXED);
    assert!(told.context().contains("is active: iteration 1 of 10"), "{told:#?}");
    assert!(notice(&told).contains("<promise>DONE</promise>"), "{told:#?}");
    let again = sandbox.hook("post-tool-batch", &sandbox.payload("PostToolBatch"));
    assert_eq!(again.stdout, "");
}
