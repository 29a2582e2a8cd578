//! Full pipelines: gates that fail, rounds of fixes, and what is left for later work.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{PLAN, notice, pipeline, plan_path, status, stop, stop_output};
use crate::support::{SESSION, Sandbox, write_file};

/// A judge as a program that finds the criterion met when the change greets, by quoting it.
const JUDGE: &str = r#"#!/bin/sh
prompt=$(cat)
nonce=$(printf '%s\n' "$prompt" | sed -n 's/^<evidence \([0-9a-f]*\)>$/\1/p')
quote=$(printf '%s\n' "$prompt" | sed -n 's/^+ *[0-9]*| \(hello .*\)$/\1/p' | head -n 1)
verdict=unmet evidence=
[ "$quote" ] && verdict=met evidence="{\"path\":\"one.txt\",\"line_start\":1,\"line_end\":1,\"quote\":\"$quote\"}"
printf '{"schema":1,"nonce":"%s","criteria":[{"id":"C1","verdict":"%s","evidence":[%s],"reason":"as it is","fix_hint":null}],"suspicions":[],"unread":[],"confidence":0.9}' "$nonce" "$verdict" "$evidence"
"#;

/// An approved full pipeline in a project whose own check wants `ok.txt`.
fn full(plan: &str, has_judge: bool) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut options =
        "ralph:\n  loop:\n    checks: [{name: unit, command: [test, -f, ok.txt]}]\n".to_owned();
    if has_judge {
        let program = sandbox.base().join("bin/ask-model");
        write_file(&program, JUDGE);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
        options.push_str("  judge: {backend: command, command: [ask-model]}\n");
        sandbox.write("RUBRIC.md", "## Judge criteria\n- People are greeted.\n");
    }
    sandbox.write(".moai/config/sections/ralph.yaml", &options);
    sandbox.commit();
    let arguments = ["start", "--goal", "greet people", "--session", SESSION];
    let output = pipeline(&sandbox, &arguments);
    assert_eq!(output.code, 0, "{output:#?}");
    sandbox.write(&plan_path(&sandbox), plan);
    let output = pipeline(&sandbox, &["approve"]);
    assert_eq!(output.code, 0, "{output:#?}");
    sandbox
}

#[test]
fn a_gate_that_fails_begins_a_round_of_fixes_and_a_skipped_review_is_no_pass() {
    let sandbox = full(PLAN, false);
    sandbox.write("one.txt", "hello one\n");
    assert!(stop(&sandbox).is_some());
    assert_eq!(status(&sandbox)["phase"], "sprint");
    sandbox.write("two.txt", "two\n");
    let reason = stop(&sandbox).expect("the project's own check fails");
    assert!(reason.contains("round 1 of 10"), "{reason}");
    assert_eq!(status(&sandbox)["phase"], "fix");
    sandbox.write("ok.txt", "");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("2 of 2"), "{answer}");
    let ended = status(&sandbox);
    let gates = json!({"tests": "passed", "review": "skipped", "scenarios": "none"});
    assert_eq!((&ended["outcome"], &ended["gates"]), (&json!("completed_unverified"), &gates));
    assert_eq!(ended["note"], "review skipped");
    let metrics = sandbox.read("docs/learnings/two-files/metrics.md");
    assert!(metrics.contains("review skipped"), "{metrics}");
}

#[test]
fn a_review_that_rejects_begins_a_round_and_one_that_approves_completes() {
    let plan =
        PLAN.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- [S] a user is met");
    let sandbox = full(&plan, true);
    sandbox.write("ok.txt", "");
    sandbox.write("one.txt", "good bye\n");
    sandbox.write("two.txt", "two\n");
    let reason = stop(&sandbox).expect("the Stop is held");
    assert!(reason.contains("People are greeted"), "{reason}");
    let now = status(&sandbox);
    assert_eq!((&now["phase"], &now["gates"]["review"]), (&json!("fix"), &json!("failed")));
    fs::remove_file(sandbox.path("two.txt")).expect("ours");
    let reason = stop(&sandbox).expect("a TODO fails again");
    assert!(reason.contains("round 2 of 10"), "{reason}");
    sandbox.write("two.txt", "two\n");
    sandbox.write("one.txt", "hello people\n");
    assert_eq!(stop(&sandbox), None);
    let ended = status(&sandbox);
    assert_eq!(ended["gates"]["review"], "passed", "{ended}");
    assert_eq!(ended["gates"]["scenarios"], "skipped", "nothing plays scenarios: {ended}");
    assert_eq!(ended["outcome"], "completed_unverified");
    assert_eq!(ended["fix_loops"], 2);
    let resumed = pipeline(&sandbox, &["resume", "--session", SESSION]);
    assert_eq!(resumed.code, 0, "{resumed:#?}");
    let gates = status(&sandbox)["gates"].clone();
    assert_eq!((&gates["tests"], &gates["review"]), (&json!("open"), &json!("open")), "{gates}");
}
