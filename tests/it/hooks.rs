//! Hooks with the host's recorded inputs: their output, its frequency, and robustness against bad
//! input.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{PATIENCE, Sandbox, eventually, json_lines};

const CLEAN: &str = "word = 'good'\n";
const DIRTY: &str = "word = 'BAD'\n";
const INJECTION: &str = "import sqlite3


def find(connection: sqlite3.Connection, name: str) -> None:
    connection.execute(f\"SELECT id FROM users WHERE name = '{name}'\")
";

/// A committed clean file, and a scripted server that finds `BAD`.
fn project(mut script: Value) -> Sandbox {
    let sandbox = Sandbox::new();
    script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", script);
    sandbox.write("app.py", CLEAN);
    sandbox.commit();
    sandbox
}

#[test]
fn an_edit_is_told_what_it_introduced_once_and_what_it_fixed() {
    let sandbox = project(json!({}));
    assert_eq!(sandbox.tool_write("app.py", "word = 'fine'\n").context(), "");
    let told = sandbox.tool_write("app.py", DIRTY).context();
    let expected = "[moai-ralph] app.py: introduced 1 error\n  \
                    error app.py:1:9 pyright(badWord): bad word";
    assert_eq!(told.trim_end(), expected);
    let told = sandbox.tool_write("app.py", CLEAN).context();
    assert!(told.starts_with("[moai-ralph] app.py: fixed 1; now clean"), "{told}");
    assert_eq!(sandbox.tool_write("app.py", CLEAN).context(), "");
}

#[test]
fn what_others_wrote_meanwhile_is_part_of_the_answer() {
    let sandbox = Sandbox::new();
    let log = sandbox.fake_server("pyright-langserver", json!({"watch_files": true}));
    // Files that mention the same names are measured as well.
    let is_pull = |message: &Value| {
        let uri = message["uri"].as_str().unwrap_or_default();
        message["method"] == "textDocument/diagnostic" && uri.ends_with("app.py")
    };
    let pulls = |text: &str| {
        sandbox.tool_write("app.py", text);
        json_lines(&log).iter().filter(|message| is_pull(message)).count()
    };
    let first = pulls("word = 1\n");
    assert_eq!(pulls("word = 2\n"), first + 1, "nobody else wrote");
    sandbox.write("other.py", "word = 3\n");
    let third = pulls("word = 4\n");
    let messages = json_lines(&log);
    let is_told = |message: &Value| {
        message["method"] == "workspace/didChangeWatchedFiles"
            && message["params"].to_string().contains("other.py")
    };
    let told = messages.iter().position(is_told).expect("the server hears of other.py");
    assert!(messages[told..].iter().any(is_pull), "asked when it knew");
    assert_eq!(pulls("word = 5\n"), third + 1, "nobody else wrote");
}

#[test]
fn the_recorded_edit_is_understood() {
    let sandbox = project(json!({}));
    sandbox.tool_write("app.py", CLEAN);
    sandbox.write("app.py", DIRTY);
    let mut input = sandbox.payload("PostToolUse-Edit");
    input["tool_input"]["file_path"] = json!(sandbox.path("app.py"));
    input["tool_response"]["filePath"] = json!(sandbox.path("app.py"));
    let told = sandbox.hook("post-tool-use", &input).context();
    assert!(told.starts_with("[moai-ralph] app.py: introduced 1 error"), "{told}");
}

#[test]
fn the_scan_speaks_without_any_server() {
    let sandbox = Sandbox::new();
    let told = sandbox.tool_write("app.py", INJECTION).context();
    assert!(told.starts_with("[moai-ralph] app.py: introduced"), "{told}");
    assert!(told.contains("app.py:5:") && told.contains("CWE-89"), "{told}");
}

#[test]
fn a_late_verdict_is_told_exactly_once() {
    let sandbox = project(json!({"delay_ms": 4000}));
    let mut told = vec![sandbox.tool_write("new.py", DIRTY).context()];
    let batch = sandbox.payload("PostToolBatch");
    let is_told = |texts: &[String]| texts.iter().any(|text| text.contains("bad word"));
    eventually(PATIENCE, || {
        if !is_told(&told) {
            told.push(sandbox.hook("post-tool-batch", &batch).context());
        }
        is_told(&told).then_some(())
    });
    for _ in 0..2 {
        told.push(sandbox.hook("post-tool-batch", &batch).context());
    }
    let times = told.iter().filter(|text| text.contains("bad word")).count();
    assert_eq!(times, 1, "{told:#?}");
}

#[test]
fn a_server_that_never_answers_does_not_hold_the_session() {
    let sandbox = project(json!({"never_answer": ["initialize", "textDocument/diagnostic"]}));
    let start = Instant::now();
    let output = sandbox.tool_write("app.py", DIRTY);
    assert_eq!(output.code, 0, "{output:#?}");
    // The hook's own time-out in hooks.json: after it the host throws the answer away.
    assert!(start.elapsed().as_secs() < 15, "{:?}", start.elapsed());
    assert!(!output.context().contains("clean"), "{output:#?}");
}

#[test]
fn a_long_list_stays_below_the_hosts_limit() {
    let sandbox = project(json!({}));
    sandbox.tool_write("app.py", CLEAN);
    let told = sandbox.tool_write("app.py", &"word = 'BAD'\n".repeat(2000)).context();
    assert!(told.starts_with("[moai-ralph] app.py: introduced "), "{told}");
    assert!(told.chars().count() <= 9_500, "{} characters", told.chars().count());
}

#[test]
fn broken_input_is_met_with_silence() {
    let sandbox = Sandbox::new();
    let huge = format!("{{\"session_id\":\"{}\"}}", "x".repeat(17 * 1024 * 1024));
    let inputs =
        ["", "{", "[]", "null", "{}", "\u{0}\u{1}", "{\"cwd\": 5, \"tool_input\": []}", &huge];
    for event in ["session-start", "user-prompt-submit", "post-tool-use", "stop", "no-such-event"] {
        for input in inputs {
            let output = sandbox.run_with(&["hook", event], input);
            let shown: String = input.chars().take(40).collect();
            assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{event} {shown:?}");
        }
    }
}

#[test]
fn half_a_character_in_a_payload_hides_no_error() {
    let sandbox = project(json!({}));
    assert_eq!(sandbox.tool_write("app.py", "word = 'fine'\n").context(), "");
    sandbox.write("app.py", DIRTY);
    let mut input = sandbox.payload("PostToolUse-Write");
    input["tool_input"]["file_path"] = json!(sandbox.path("app.py"));
    input["tool_response"]["filePath"] = json!(sandbox.path("app.py"));
    input["tool_input"]["content"] = json!("cut here");
    // Output of a program that cuts a text by UTF-16 units.
    let text = input.to_string().replace("cut here", "cut \\ud83d");
    let told = sandbox.run_with(&["hook", "post-tool-use"], &text).context();
    assert!(told.contains("introduced 1 error"), "{told:?}");
}

#[test]
fn files_that_cannot_be_read_are_no_reason_to_fail() {
    let sandbox = project(json!({}));
    let mut input = sandbox.payload("PostToolUse-Write");
    let outside = sandbox.base().join("outside.py");
    for path in [sandbox.path("gone.py"), sandbox.root(), outside] {
        input["tool_input"]["file_path"] = json!(path);
        let output = sandbox.hook("post-tool-use", &input);
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{}", path.display());
    }
}

#[test]
fn the_recorded_inputs_of_every_event_are_accepted() {
    let sandbox = project(json!({}));
    for (event, name) in [
        ("session-start", "SessionStart-startup"),
        ("session-start", "SessionStart-compact"),
        ("user-prompt-submit", "UserPromptSubmit"),
        ("user-prompt-expansion", "UserPromptExpansion"),
        ("post-tool-use", "PostToolUse-Bash"),
        ("post-tool-batch", "PostToolBatch"),
        ("stop", "Stop"),
        ("stop", "Stop-bgtask"),
        ("session-end", "SessionEnd"),
    ] {
        let output = sandbox.hook(event, &sandbox.payload(name));
        assert_eq!(output.code, 0, "{name}: {output:#?}");
        if !output.stdout.is_empty() {
            assert_ne!(output.json()["decision"], "block", "{name}: {output:#?}");
        }
    }
}
