//! Findings from before the work began are older: they are not repeated after each edit and do not
//! hold a Stop. Introduced findings stay introduced until they are fixed.

use std::fs;

use serde_json::{Value, json};

use crate::support::{PATIENCE, SESSION, Sandbox, eventually};

const OLD: &str =
    "import os\n\nword = 'BAD'\nother = 'BAD'\n\n\ndef half(number):\n    return number\n";

/// A committed file with two findings of a scripted server, and one that calls into it.
fn project(script: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut script = script.clone();
    let signature = json!({"file": "app.py", "has": "def half(number):"});
    script["errors"] = json!([
        {"needle": "BAD", "message": "bad word", "code": "badWord"},
        {"needle": "half(", "message": "half takes two arguments", "code": "call",
         "unless": signature},
    ]);
    sandbox.fake_server("pyright-langserver", script);
    sandbox.write("app.py", OLD);
    sandbox.write("cart.py", "from app import half\n\ntotal = half(9)\nold = 'BAD'\n");
    sandbox.commit();
    sandbox
}

fn start(sandbox: &Sandbox) {
    let arguments =
        ["loop", "start", "--session", SESSION, "--prompt", "add a docstring", "--until"];
    let output = sandbox.run(&[&arguments[..], &["diagnostics"]].concat());
    assert_eq!(output.code, 0, "{output:#?}");
}

fn stop(sandbox: &Sandbox) -> Value {
    sandbox.hook("stop", &sandbox.payload("Stop")).json()
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox.run(&["loop", "status", "--json"]).json()
}

#[test]
fn the_first_edit_of_a_file_with_a_past_names_nothing_old() {
    let sandbox = project(&json!({}));
    let edited = OLD.replace("number):\n", "number):\n    \"\"\"Half of it.\"\"\"\n");
    let told = sandbox.tool_write("app.py", &edited).context();
    assert!(!told.contains("bad word") && !told.contains("introduced"), "{told}");
}

#[test]
fn the_first_edit_of_a_file_with_a_past_names_what_it_introduced() {
    let sandbox = project(&json!({}));
    let told = sandbox.tool_write("app.py", &format!("{OLD}third = 'BAD'\n")).context();
    assert!(told.contains("introduced 1 error"), "{told}");
    assert!(told.contains("app.py:9:10") && !told.contains("app.py:3:9"), "{told}");
}

/// The text before is measured after the edit, which here takes longer than the hook waits.
#[test]
fn an_older_finding_on_a_changed_line_is_not_introduced_while_the_text_before_is_measured() {
    let sandbox = project(&json!({"delay_ms": 1_400}));
    let edited = OLD.replace("word = 'BAD'", "word = 'BAD'  # again");
    let feedback = sandbox.tool_write("app.py", &edited).context();
    assert!(feedback.contains("the result follows"), "{feedback}");
    assert!(!feedback.contains("introduced"), "{feedback}");
    let batch = sandbox.payload("PostToolBatch");
    let late = eventually(PATIENCE, || {
        Some(sandbox.hook("post-tool-batch", &batch).context()).filter(|text| !text.is_empty())
    });
    assert_eq!(late.expect("a late report"), "[moai-ralph] app.py (pyright, late): nothing new");
}

#[test]
fn older_findings_do_not_hold_a_stop() {
    let sandbox = project(&json!({}));
    start(&sandbox);
    let edited = OLD.replace("number):\n", "number):\n    \"\"\"Half of it.\"\"\"\n");
    sandbox.tool_write("app.py", &edited);
    let ended = stop(&sandbox);
    assert_ne!(ended["decision"], "block", "{ended:#}");
    assert_eq!(status(&sandbox)["status"], "completed", "{ended:#}");
}

#[test]
fn what_a_loop_introduced_holds_its_stop_after_further_edits_too() {
    let sandbox = project(&json!({}));
    start(&sandbox);
    let broken = format!("{OLD}third = 'BAD'\n");
    sandbox.tool_write("app.py", &broken);
    sandbox.tool_write("app.py", &format!("# a comment\n{broken}"));
    let held = stop(&sandbox);
    assert_eq!(held["decision"], "block", "{held:#}");
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("app.py:10:10") && !reason.contains("app.py:4:9"), "{reason}");
    sandbox.tool_write("app.py", &format!("# a comment\n{OLD}"));
    let ended = stop(&sandbox);
    assert_ne!(ended["decision"], "block", "{ended:#}");
}

#[test]
fn what_the_loop_broke_in_another_file_holds_and_what_was_wrong_there_does_not() {
    let sandbox = project(&json!({}));
    start(&sandbox);
    sandbox.tool_write("app.py", &OLD.replace("half(number)", "half(number, part)"));
    let held = stop(&sandbox);
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("cart.py:3:9"), "{held:#}");
    assert!(!reason.contains("cart.py:4"), "{reason}");
}

/// A Stop of a loop that renamed a file with an old error and wrote more above and below it.
fn stop_after_rename(above: &str, below: &str) -> Value {
    let sandbox = project(&json!({}));
    let text = "first = 'BAD'\nsecond = 2\nthird = 3\n";
    sandbox.write("lone.py", text);
    sandbox.commit();
    start(&sandbox);
    fs::remove_file(sandbox.path("lone.py")).expect("there");
    sandbox.write("alone.py", &format!("{above}{text}{below}"));
    stop(&sandbox)
}

#[test]
fn what_was_wrong_in_a_file_that_was_renamed_is_older() {
    for above in ["", "# moved\n"] {
        let ended = stop_after_rename(above, "");
        assert_ne!(ended["decision"], "block", "{above}{ended:#}");
    }
}

#[test]
fn what_is_wrong_on_the_new_lines_of_a_renamed_file_holds() {
    let held = stop_after_rename("", "fourth = 'BAD'\n");
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("alone.py:4:") && !reason.contains("alone.py:1:"), "{held:#}");
}

#[test]
fn an_uncommitted_finding_of_the_user_is_older_as_well() {
    let sandbox = project(&json!({}));
    let uncommitted = format!("{OLD}mine = 'BAD'\n");
    sandbox.write("app.py", &uncommitted);
    start(&sandbox);
    sandbox.tool_write("app.py", &format!("# a comment\n{uncommitted}"));
    let ended = stop(&sandbox);
    assert_ne!(ended["decision"], "block", "{ended:#}");
}

#[test]
fn a_killed_daemon_does_not_turn_old_findings_into_new_ones() {
    let sandbox = project(&json!({}));
    start(&sandbox);
    sandbox.tool_write("app.py", &format!("# a comment\n{OLD}"));
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    let ended = stop(&sandbox);
    assert_ne!(ended["decision"], "block", "{ended:#}");
    assert_eq!(status(&sandbox)["status"], "completed", "{ended:#}");
}

#[test]
fn files_that_are_as_before_again_are_no_work() {
    let sandbox = project(&json!({}));
    // More than a Stop measures.
    let write_all = |text: &str| {
        for number in 0..600 {
            sandbox.write(&format!("many/file{number}.py"), &format!("{text} = {number}\n"));
        }
    };
    write_all("first");
    sandbox.commit();
    start(&sandbox);
    sandbox.hook("post-tool-use", &sandbox.payload("PostToolUse-Bash"));
    write_all("second");
    sandbox.hook("post-tool-use", &sandbox.payload("PostToolUse-Bash"));
    write_all("first");
    sandbox.hook("post-tool-use", &sandbox.payload("PostToolUse-Bash"));
    sandbox.tool_write("app.py", &format!("# a comment\n{OLD}"));
    let ended = stop(&sandbox);
    assert_ne!(ended["decision"], "block", "{ended:#}");
    assert_eq!(status(&sandbox)["status"], "completed", "{ended:#}");
}

#[test]
fn without_a_baseline_older_findings_hold() {
    let sandbox = project(&json!({}));
    let arguments =
        ["loop", "start", "--session", SESSION, "--prompt", "fix it", "--baseline", "none"];
    assert_eq!(sandbox.run(&arguments).code, 0);
    sandbox.tool_write("app.py", &format!("# a comment\n{OLD}"));
    let held = stop(&sandbox);
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("app.py:4:9"), "{held:#}");
}

#[test]
fn without_a_baseline_callers_broken_before_the_loop_hold() {
    let sandbox = project(&json!({}));
    let broken = OLD.replace("half(number)", "half(number, part)");
    sandbox.write("app.py", &broken.replace("BAD", "good"));
    let arguments =
        ["loop", "start", "--session", SESSION, "--prompt", "fix it", "--baseline", "none"];
    assert_eq!(sandbox.run(&arguments).code, 0);
    let held = stop(&sandbox);
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("cart.py:3:9"), "{held:#}");
}

#[test]
fn a_check_measures_the_callers_of_what_changed() {
    let sandbox = project(&json!({}));
    sandbox.write("app.py", &OLD.replace("half(number)", "half(number, part)"));
    let output = sandbox.run(&["check", "--json"]);
    assert_eq!(output.code, 1, "{output:#?}");
    let report = output.json();
    let findings = report["findings"].as_array().expect("a report lists its findings");
    let of_cart: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["path"] == "cart.py")
        .filter_map(|finding| finding["message"].as_str())
        .collect();
    assert_eq!(of_cart, ["half takes two arguments"], "{report:#}");
}

/// The session remembers errors in the callers of its edits; errors from before a loop are a different
/// matter.
#[test]
fn what_the_session_fixed_before_a_loop_holds_when_the_loop_breaks_it_again() {
    // So slow that the first edit of the loop comes before its beginning is measured.
    let sandbox = project(&json!({"delay_ms": 300}));
    let broken = OLD.replace("half(number)", "half(number, part)");
    sandbox.write("app.py", &broken);
    sandbox.commit();
    assert_eq!(sandbox.run(&["check", "--all"]).code, 1);
    sandbox.tool_write("app.py", OLD);
    start(&sandbox);
    // Other settings: the server cannot be shown the beginning of the loop any more.
    sandbox.tool_write("pyrightconfig.json", "{}\n");
    sandbox.tool_write("app.py", &broken);
    let held = stop(&sandbox);
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("cart.py:3:9"), "{held:#}\n{:#}", status(&sandbox));
}
