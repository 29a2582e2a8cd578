//! The plugin's files without the engine: a trivial hook reaches the model, and every entry of our hooks file
//! runs our launcher with the host's variables.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;

use crate::host::{checkout, run};
use crate::model::Turn;
use crate::support::{Sandbox, json_lines, write_file};

/// Replaces the engine: records each event and its input, and blocks the first Stop. The host also starts the
/// MCP server, which this test ignores.
const RECORDER: &str = r#"#!/bin/sh
[ "$1" = hook ] || exit 0
folder=${0%/*}
printf '%s\n' "$2" >>"$folder/events.txt"
cat >>"$folder/inputs.jsonl"
printf '\n' >>"$folder/inputs.jsonl"
say() {
    printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"[moai-ralph] %s"}}' "$1" "$2"
}
case $2 in
session-start) say SessionStart "session noticed" ;;
user-prompt-expansion) say UserPromptExpansion "arguments noticed" ;;
post-tool-use) say PostToolUse "edit noticed" ;;
stop) mkdir "$folder/blocked" 2>/dev/null && printf '{"decision":"block","reason":"not yet"}' ;;
esac
exit 0
"#;

/// A plugin whose only hook prints a fixed context after every Write.
fn trivial_plugin(sandbox: &Sandbox, context: &str) -> PathBuf {
    let folder = sandbox.base().join("trivial-plugin");
    let manifest = json!({"name": "trivial", "version": "0.0.1", "description": "one hook"});
    write_file(&folder.join(".claude-plugin/plugin.json"), &manifest.to_string());
    let answer = json!({
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": context}
    });
    let hook = json!({
        "type": "command", "command": "printf", "args": ["%s", answer.to_string()], "timeout": 10
    });
    let hooks = json!({"hooks": {"PostToolUse": [{"matcher": "Write", "hooks": [hook]}]}});
    write_file(&folder.join("hooks/hooks.json"), &hooks.to_string());
    folder
}

#[test]
fn the_scripted_model_sees_hook_context() {
    let sandbox = Sandbox::new();
    let plugin = trivial_plugin(&sandbox, "MARK of the trivial hook");
    let turns = vec![Turn::write(&sandbox.path("a.txt"), "one\n"), Turn::text("finished")];
    let run = run(&sandbox, &plugin, "please write", turns);
    run.assert_finished();
    run.assert_first_told_in(2, "MARK of the trivial hook");
    assert_eq!(sandbox.read("a.txt"), "one\n");
    assert!(!run.session_id().is_empty());
}

#[test]
fn every_hook_of_the_plugin_reaches_the_program() {
    let mut sandbox = Sandbox::new();
    let recorder = sandbox.base().join("recorder/program");
    write_file(&recorder, RECORDER);
    fs::set_permissions(&recorder, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    sandbox.set("MOAI_RALPH_BIN", &recorder);
    let turns = vec![
        Turn::write(&sandbox.path("a.py"), "one = 1\n"),
        Turn::text("finished"),
        Turn::text("really finished"),
    ];
    let arguments = "fix \"all\" $(touch x) `touch y` 한글 --max-iterations 5";
    let prompt = format!("/moai-ralph:moai-loop {arguments}");
    let run = run(&sandbox, checkout(), &prompt, turns);
    run.assert_finished();
    run.assert_first_told_in(1, "SessionStart hook additional context: [moai-ralph] session");
    run.assert_first_told_in(1, "UserPromptExpansion hook additional context: [moai-ralph] argu");
    run.assert_first_told_in(2, "PostToolUse:Write hook additional context: [moai-ralph] edit");
    run.assert_first_told_in(3, "Stop hook feedback:\nnot yet");

    let events = fs::read_to_string(recorder.with_file_name("events.txt"));
    let mut events: Vec<_> = events.as_deref().unwrap_or("").lines().collect();
    // An expansion and its prompt are announced in either order.
    events[1..3].sort_unstable();
    let expected = [
        "session-start",
        "user-prompt-expansion",
        "user-prompt-submit",
        "pre-tool-use",
        "post-tool-use",
        "post-tool-batch",
        "stop",
        "stop",
        "session-end",
    ];
    assert_eq!(events, expected);
    let inputs = json_lines(&recorder.with_file_name("inputs.jsonl"));
    let typed = inputs.iter().find_map(|input| input["command_args"].as_str());
    assert_eq!(typed, Some(arguments), "arguments travel as they were typed");
    assert!(inputs.iter().all(|input| input["session_id"] == *run.session_id()));
    let left = ["x", "y"].map(|name| sandbox.path(name).exists());
    assert_eq!(left, [false, false], "nothing in the arguments was executed");
}
