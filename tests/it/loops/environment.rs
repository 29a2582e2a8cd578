//! Variables in a hook's environment do not silence a running loop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::judged::{calls, judged, says};
use super::{DIRTY, FIXED, blocked, looping, notice, project, start, status};
use crate::support::{Output, SESSION, Sandbox, finish, write_file};

/// A Stop of this session with a variable in the hook's environment.
fn stop_with(sandbox: &Sandbox, name: &str, value: &Path) -> Output {
    let mut command = sandbox.program();
    command.args(["hook", "stop"]).env(name, value);
    finish(&mut command, &sandbox.payload("Stop").to_string())
}

/// A folder for the state of the program.
type Home = fn(&Sandbox) -> PathBuf;

#[test]
fn a_home_that_is_not_the_loops_is_told() {
    let cases: [(&str, Home); 4] = [
        ("relative", |_| "state".into()),
        ("missing", |sandbox| sandbox.base().join("no/such/folder")),
        ("unwritable", |sandbox| {
            write_file(&sandbox.base().join("file"), "");
            sandbox.base().join("file/state")
        }),
        ("another", |sandbox| {
            fs::create_dir(sandbox.base().join("another")).expect("ours");
            sandbox.base().join("another")
        }),
    ];
    for (what, home) in cases {
        let mut sandbox = looping(&["--max-iterations", "5"]);
        sandbox.write("app.py", DIRTY);
        let home = home(&sandbox);
        let told = notice(&stop_with(&sandbox, "MOAI_RALPH_HOME", &home));
        assert!(told.contains("MOAI_RALPH_HOME"), "{what}: {told}");
        let back = sandbox.hook("stop", &sandbox.payload("Stop"));
        assert!(blocked(&back).is_some(), "{what}: the loop still holds: {back:#?}");
        // So that its daemon ends with the sandbox.
        let own = sandbox.base().join("state");
        sandbox.set("MOAI_RALPH_HOME", home);
        sandbox.run(&["daemon", "stop"]);
        sandbox.set("MOAI_RALPH_HOME", own);
    }
}

#[test]
fn the_mark_of_a_judge_does_not_silence_the_session_of_a_loop() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    let output = stop_with(&sandbox, "MOAI_RALPH_JUDGE", Path::new("1"));
    assert!(blocked(&output).is_some(), "{output:#?}");
}

#[test]
fn nor_a_session_that_is_to_claim_one() {
    let sandbox = project();
    let started = sandbox.run(&["loop", "start", "--prompt", "fix it", "--max-iterations", "5"]);
    assert_eq!(started.code, 0, "{started:#?}");
    sandbox.write("app.py", DIRTY);
    let output = stop_with(&sandbox, "MOAI_RALPH_JUDGE", Path::new("1"));
    assert!(blocked(&output).is_some(), "{output:#?}");
    assert_eq!(status(&sandbox)["session_id"], json!(SESSION));
}

#[test]
fn a_sensor_that_a_hooks_environment_changes_is_unmeasured() {
    for (name, value) in [
        ("MOAI_RALPH_LSP_ENABLED", "false"),
        ("MOAI_RALPH_LSP_LANGUAGES", "[go]"),
        ("MOAI_RALPH_LSP_SERVERS", "{pyright: {settings: {python: {analysis: {x: y}}}}}"),
        ("MOAI_RALPH_SCAN_ENABLED", "false"),
        ("MOAI_RALPH_SCAN_DISABLE", "[py-eval]"),
        ("MOAI_RALPH_SCAN_SEVERITY", "{py-eval: off}"),
    ] {
        let sandbox = looping(&["--max-iterations", "5"]);
        sandbox.write("app.py", FIXED);
        let told = notice(&stop_with(&sandbox, name, Path::new(value)));
        let group = &name[.."MOAI_RALPH_LSP".len()];
        assert!(told.contains(group), "{name}: {told}");
        assert_eq!(status(&sandbox)["status"], "completed_unverified", "{name}");
    }
    // The same variables all the time are the user's.
    let mut sandbox = project();
    sandbox.set("MOAI_RALPH_SCAN_DISABLE", "[py-eval]");
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", FIXED);
    assert_eq!(blocked(&sandbox.hook("stop", &sandbox.payload("Stop"))), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn another_judge_than_the_loops_is_not_used_silently() {
    let variables = [
        ("MOAI_RALPH_JUDGE_COMMAND", "[yes-model]"),
        ("MOAI_RALPH_JUDGE_BACKEND", "none"),
        ("MOAI_RALPH_JUDGE_MODEL", "lenient"),
        ("MOAI_RALPH_JUDGE_JUDGES", "[{name: yes, backend: command, command: [yes-model]}]"),
    ];
    for (name, value) in variables {
        let sandbox = judged(&[]);
        let other = sandbox.base().join("bin/yes-model");
        let called = sandbox.base().join("other-called");
        write_file(&other, &format!("#!/bin/sh\necho call >>'{}'\n", called.display()));
        fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("ours");
        says(&sandbox, "met");
        sandbox.write("app.py", FIXED);
        let output = stop_with(&sandbox, name, Path::new(value));
        let told = notice(&output);
        assert!(told.contains("MOAI_RALPH_JUDGE_"), "{name}: {told}");
        assert_eq!(status(&sandbox)["status"], "paused", "{name}");
        assert!(!called.exists() && calls(&sandbox) == 0, "{name}: nobody judges");
        // With its own judge it continues.
        assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
        let output = sandbox.hook("stop", &sandbox.payload("Stop"));
        assert_eq!(blocked(&output), None, "{name}: {output:#?}");
        assert_eq!(status(&sandbox)["status"], json!("completed"), "{name}");
        assert_eq!(status(&sandbox)["session_id"], json!(SESSION));
    }
}
