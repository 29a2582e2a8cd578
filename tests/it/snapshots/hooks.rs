//! Hook outputs: context for the agent, reason of a held Stop, notice for the user.

use std::fs;

use serde_json::Value;

use super::{
    CLEAN, Case, DIRTY, FEWER, FIXED, PRICES, TESTS, assert_snapshots, project, redacted, stop,
};
use crate::support::{Output, Sandbox};

/// A slash command of the session.
fn slash(sandbox: &Sandbox, name: &str, arguments: &str) -> Output {
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = format!("moai-ralph:{name}").into();
    input["command_args"] = arguments.into();
    sandbox.hook("user-prompt-expansion", &input)
}

/// Starts a loop as the user does, with a task in English.
fn start(sandbox: &Sandbox) -> Output {
    slash(sandbox, "moai-loop", "fix it --max-iterations 9")
}

/// A Stop with this text in `app.py`.
fn stop_with(sandbox: &Sandbox, text: &str) -> Output {
    sandbox.write("app.py", text);
    stop(sandbox)
}

fn assert_hook_texts(folder: &str, cases: &[Case]) {
    let text_of = |(name, steps): &Case| {
        let sandbox = project();
        let output = steps(&sandbox);
        assert_eq!(output.code, 0, "{name}: {output:#?}");
        let mut text = String::new();
        append_leaves(&mut text, "", &output.json());
        ((*name).to_owned(), redacted(&text, &sandbox))
    };
    assert_snapshots(folder, cases.iter().map(text_of).collect());
}

/// One paragraph for each value of a document, below its path; unlike in JSON, lines stay lines.
fn append_leaves(text: &mut String, path: &str, value: &Value) {
    if let Some(object) = value.as_object() {
        for (key, part) in object {
            append_leaves(text, &format!("{path}.{key}"), part);
        }
        return;
    }
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.extend([path, ":\n", shown.trim_end(), "\n\n"]);
}

#[test]
fn edits() {
    assert_hook_texts(
        "hooks_edits",
        &[
            ("introduced", |sandbox| sandbox.tool_write("app.py", DIRTY)),
            ("fixed", |sandbox| {
                sandbox.tool_write("app.py", DIRTY);
                sandbox.tool_write("app.py", CLEAN)
            }),
            ("breaks_another_file", |sandbox| {
                sandbox.tool_write("prices.py", &PRICES.replace("number", "number, by"))
            }),
            ("server_missing", |sandbox| {
                fs::remove_file(sandbox.base().join("bin/pyright-langserver"))
                    .expect("it was there");
                sandbox.tool_write("app.py", DIRTY)
            }),
            ("introduced_korean", |sandbox| {
                slash(sandbox, "moai-loop", "로그인 오류를 고쳐줘");
                sandbox.tool_write("app.py", DIRTY)
            }),
        ],
    );
}

#[test]
fn commands() {
    assert_hook_texts(
        "hooks_commands",
        &[
            ("start", start),
            ("start_korean", |sandbox| slash(sandbox, "moai-loop", "로그인 오류를 고쳐줘")),
            ("start_second", |sandbox| {
                start(sandbox);
                start(sandbox)
            }),
            ("session_start", |sandbox| {
                start(sandbox);
                sandbox.hook("session-start", &sandbox.payload("SessionStart-startup"))
            }),
            ("session_start_after_compaction", |sandbox| {
                start(sandbox);
                sandbox.hook("session-start", &sandbox.payload("SessionStart-compact"))
            }),
            ("status_without_a_loop", |sandbox| slash(sandbox, "moai-status", "")),
            ("status", |sandbox| {
                start(sandbox);
                stop_with(sandbox, DIRTY);
                slash(sandbox, "moai-status", "")
            }),
            ("cancel", |sandbox| {
                start(sandbox);
                slash(sandbox, "cancel-loop", "")
            }),
            ("resume", |sandbox| {
                start(sandbox);
                sandbox.run(&["loop", "pause"]);
                slash(sandbox, "moai-resume", "")
            }),
        ],
    );
}

#[test]
fn stops() {
    assert_hook_texts(
        "hooks_stops",
        &[
            ("held", |sandbox| {
                start(sandbox);
                stop_with(sandbox, DIRTY)
            }),
            ("held_again", |sandbox| {
                start(sandbox);
                stop_with(sandbox, DIRTY);
                stop_with(sandbox, &DIRTY.repeat(2))
            }),
            ("held_korean", |sandbox| {
                slash(sandbox, "moai-loop", "로그인 오류를 고쳐줘");
                stop_with(sandbox, DIRTY)
            }),
            ("held_without_a_change", |sandbox| {
                start(sandbox);
                stop(sandbox)
            }),
            ("held_by_a_removed_test", |sandbox| {
                sandbox.write("tests/test_app.py", TESTS);
                sandbox.commit();
                start(sandbox);
                sandbox.tool_write("tests/test_app.py", FEWER);
                stop_with(sandbox, FIXED)
            }),
            ("paused", |sandbox| {
                start(sandbox);
                sandbox.run(&["loop", "pause"]);
                stop_with(sandbox, DIRTY)
            }),
            ("completed", |sandbox| {
                start(sandbox);
                stop_with(sandbox, FIXED)
            }),
            ("completed_korean", |sandbox| {
                slash(sandbox, "moai-loop", "로그인 오류를 고쳐줘");
                stop_with(sandbox, FIXED)
            }),
            ("completed_unverified", |sandbox| {
                sandbox.write("tests/test_app.py", TESTS);
                sandbox.commit();
                start(sandbox);
                stop_with(sandbox, FIXED)
            }),
            ("max_iterations", |sandbox| {
                slash(sandbox, "moai-loop", "fix it --max-iterations 1");
                stop_with(sandbox, DIRTY)
            }),
            ("held_before_a_stall", |sandbox| {
                start(sandbox);
                stop_with(sandbox, DIRTY);
                stop(sandbox);
                stop(sandbox)
            }),
            ("stalled", |sandbox| {
                start(sandbox);
                stop_with(sandbox, DIRTY);
                stop(sandbox);
                stop(sandbox);
                stop(sandbox)
            }),
        ],
    );
}
