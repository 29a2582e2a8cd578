//! Full pipelines: gates that fail, rounds of fixes, and work that is left for later.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use super::{PLAN, approve, notice, pipeline, plan_path, status, stop, stop_output};
use crate::support::{SESSION, Sandbox, write_file};

/// What the end says about a review without judges.
const SKIPPED_REVIEW: &str = "the review was skipped (judge.backend is none)";

/// A judge as a program: people are greeted when the change says hello, the change is insecure when it has a
/// password, and planted claims are rejected. Everything else is met, by quoting `one.txt`.
const JUDGE: &str = r#"#!/bin/sh
prompt=$(cat)
nonce=$(printf '%s\n' "$prompt" | sed -n 's/^<evidence \([0-9a-f]*\)>$/\1/p')
lines() { printf '%s\n' "$prompt" | awk '/^file \| one.txt/{f=1;next} /^----/{f=0} f&&/^\+/{sub(/^\+ *[0-9]*\| /,"");print}'; }
quote=$(lines | head -n 1)
hello=$(lines | grep hello | head -n 1)
password=$(printf '%s\n' "$prompt" | grep -c '| password')
sep=
printf '{"schema":1,"nonce":"%s","criteria":[' "$nonce"
printf '%s\n' "$prompt" | sed '/^<evidence/q' | sed -n 's/^\(C[0-9]*\): \(.*\)$/\1|\2/p' | while IFS='|' read -r id text; do
  verdict=met shown=$quote
  case "$text" in
    *greeted*) shown=$hello; [ "$hello" ] || verdict=unmet ;;
    *Security*) [ "$password" = 0 ] || verdict=unmet ;;
    *total_*) verdict=unmet ;;
  esac
  printf '%s{"id":"%s","verdict":"%s","evidence":[{"path":"one.txt","line_start":1,"line_end":1,"quote":"%s"}],"reason":"as it is","fix_hint":null}' "$sep" "$id" "$verdict" "$shown"
  sep=,
done
printf '],"suspicions":[],"unread":[],"confidence":0.9}'
"#;

/// The scenario of an `[S]` item.
const SCENARIO: &str = "\
# Acceptance

```gherkin
Scenario: SC-1: a user is met
  When a user comes in
  Then the program says hello
```
";

/// An approved full pipeline in a project whose own check wants `ok.txt`.
fn full(plan: &str, has_judge: bool, more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut options =
        "ralph:\n  loop:\n    checks: [{name: unit, command: [test, -f, ok.txt]}]\n".to_owned();
    if has_judge {
        let program = sandbox.base().join("bin/ask-model");
        write_file(&program, JUDGE);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
        options.push_str("  judge: {backend: command, command: [ask-model]}\n");
        sandbox.write("RUBRIC.md", "## Judge criteria\n- People are greeted.\n");
    } else {
        options.push_str("  judge: {backend: none}\n");
    }
    options.push_str(more);
    sandbox.write(".moai/config/sections/ralph.yaml", &options);
    sandbox.commit();
    let arguments = ["start", "--goal", "greet people", "--session", SESSION];
    let output = pipeline(&sandbox, &arguments);
    assert_eq!(output.code, 0, "{output:#?}");
    let path = plan_path(&sandbox);
    sandbox.write(&path, plan);
    if plan.contains("SC-1") {
        sandbox.write(&path.replace("plan.md", "acceptance.md"), SCENARIO);
    }
    approve(&sandbox);
    sandbox
}

#[test]
fn a_gate_that_fails_begins_a_round_of_fixes_and_a_skipped_review_is_no_pass() {
    let sandbox = full(PLAN, false, "");
    sandbox.write("one.txt", "hello one\n");
    assert!(stop(&sandbox).is_some());
    assert_eq!(status(&sandbox)["phase"], "sprint");
    sandbox.write("two.txt", "two\n");
    let reason = stop(&sandbox).expect("the project's own check fails");
    assert!(reason.contains("round 1 of 10"), "{reason}");
    assert_eq!(status(&sandbox)["phase"], "fix");
    sandbox.write("ok.txt", "");
    let answer = stop_output(&sandbox);
    assert!(
        notice(&answer).contains("2 of 2 TODOs pass, but the review was skipped ("),
        "{answer}"
    );
    let ended = status(&sandbox);
    let gates = json!({"tests": "passed", "review": "skipped", "scenarios": "none"});
    assert_eq!((&ended["outcome"], &ended["gates"]), (&json!("completed_unverified"), &gates));
    assert_eq!(ended["note"], SKIPPED_REVIEW);
    let metrics = sandbox.read("docs/learnings/two-files/metrics.md");
    assert!(metrics.contains("review skipped"), "{metrics}");
}

#[test]
fn a_review_that_rejects_begins_a_round_and_one_that_approves_completes() {
    let sandbox = full(PLAN, true, "");
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
    assert_eq!(ended["gates"]["scenarios"], "none", "{ended}");
    assert_eq!((&ended["outcome"], &ended["fix_loops"]), (&json!("completed"), &json!(2)));
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains("gate 2: SHIP, critical 0, warnings 0 (command: approved)"), "{text}");
}

#[test]
fn a_resumed_pipeline_has_open_gates() {
    let sandbox = full(PLAN, false, "");
    for name in ["ok.txt", "one.txt"] {
        sandbox.write(name, "hello\n");
    }
    sandbox.write("two.txt", "two\n");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed_unverified");
    let resumed = pipeline(&sandbox, &["resume", "--session", SESSION]);
    assert_eq!(resumed.code, 0, "{resumed:#?}");
    let gates = status(&sandbox)["gates"].clone();
    assert_eq!((&gates["tests"], &gates["review"]), (&json!("open"), &json!("open")), "{gates}");
}

#[test]
fn a_critical_finding_of_the_review_begins_a_round() {
    let sandbox = full(PLAN, true, "");
    sandbox.write("ok.txt", "");
    sandbox.write("one.txt", "hello people\n");
    sandbox.write("two.txt", "two\npassword = 'x'\n");
    let reason = stop(&sandbox).expect("the change is insecure");
    assert!(reason.contains("Review, security (critical)"), "{reason}");
    assert!(reason.contains("round 1 of 10"), "{reason}");
    let now = status(&sandbox);
    assert_eq!((&now["phase"], &now["gates"]["review"]), (&json!("fix"), &json!("failed")));
    sandbox.write("two.txt", "two\n");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

/// A plan with a scenario whose steps contain commands.
fn with_scenario() -> Sandbox {
    let plan = PLAN.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- [S] SC-1");
    let sandbox = Sandbox::new();
    let options = "ralph:\n  judge: {backend: none}\n";
    sandbox.write(".moai/config/sections/ralph.yaml", options);
    sandbox.commit();
    let arguments = ["start", "--goal", "greet people", "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &arguments).code, 0);
    let path = plan_path(&sandbox);
    sandbox.write(&path, &plan);
    let acceptance = "### SC-1: a user is greeted\n- When the user runs `cat one.txt`\n\
                      - Then `grep -q hello one.txt` passes\n";
    sandbox.write(&path.replace("plan.md", "acceptance.md"), acceptance);
    approve(&sandbox);
    sandbox.write("one.txt", "hello\n");
    sandbox.write("two.txt", "two\n");
    sandbox
}

/// Agents that have played a scenario; each run needs a new one.
static PLAYERS: AtomicU32 = AtomicU32::new(0);

/// The end of an agent that played the scenario once: the reason when it is held.
fn plays(sandbox: &Sandbox, status: &str, steps: usize) -> Option<String> {
    let mut input = sandbox.payload("SubagentStop");
    input["agent_type"] = "moai-ralph:scenario-runner".into();
    let player = PLAYERS.fetch_add(1, Ordering::Relaxed);
    input["agent_id"] = format!("player-{player}").into();
    let step = json!({"status": status, "observed": "it says hello"});
    let report = json!({"scenario": "SC-1", "status": status, "steps": vec![step; steps]});
    input["last_assistant_message"] = report.to_string().into();
    let output = sandbox.hook("subagent-stop", &input);
    assert_eq!(output.code, 0, "{output:#?}");
    let is_silent = output.stdout.trim().is_empty();
    (!is_silent).then(|| output.json()["reason"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn scenarios_are_played_three_times_and_the_engine_runs_their_commands_itself() {
    let sandbox = with_scenario();
    let reason = stop(&sandbox).expect("nobody has played it");
    assert!(reason.contains("SC-1 (a user is greeted; not played yet)"), "{reason}");
    let reason = plays(&sandbox, "PASS", 1).expect("a step is missing");
    assert!(reason.contains("SC-1 has 2 steps"), "{reason}");
    for _ in 0..2 {
        assert_eq!(plays(&sandbox, "PASS", 2), None);
    }
    let reason = stop(&sandbox).expect("two runs are not enough");
    assert!(reason.contains("2 of 2 runs passed"), "{reason}");
    assert_eq!(plays(&sandbox, "PASS", 2), None);
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("2 of 2"), "{answer}");
    let ended = status(&sandbox);
    assert_eq!(
        (&ended["gates"]["scenarios"], &ended["note"]),
        (&json!("passed"), &json!(SKIPPED_REVIEW))
    );
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains("gate 3: SC-1: 3 of 3 runs passed"), "{text}");
}

#[test]
fn a_run_that_is_reported_as_passed_but_fails_here_is_a_failed_run() {
    let sandbox = with_scenario();
    assert!(stop(&sandbox).is_some());
    sandbox.write("one.txt", "good bye\n");
    for _ in 0..2 {
        assert_eq!(plays(&sandbox, "PASS", 2), None, "a failure is a result");
    }
    let reason = stop(&sandbox).expect("at best three of five pass");
    assert!(reason.contains("Too few runs of SC-1 (a user is greeted)"), "{reason}");
    assert!(reason.contains("round 1 of 10"), "{reason}");
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert_eq!(text.matches("a run of SC-1 was reported as PASS").count(), 2, "{text}");
    // Runs with other files count no more.
    sandbox.write("one.txt", "hello again\n");
    let reason = stop(&sandbox).expect("it must be played again");
    assert!(reason.contains("not played yet"), "{reason}");
    for _ in 0..3 {
        assert_eq!(plays(&sandbox, "PASS", 2), None);
    }
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["gates"]["scenarios"], "passed");
}

#[test]
fn scenarios_that_nobody_plays_are_skipped_and_never_passed() {
    let sandbox = with_scenario();
    for _ in 0..3 {
        // Something changes, or the loop itself ends as stalled.
        let reason = stop(&sandbox).expect("the agent is asked to play it");
        assert!(reason.contains("SC-1"), "{reason}");
    }
    assert_eq!(stop(&sandbox), None);
    let ended = status(&sandbox);
    assert_eq!(ended["gates"]["scenarios"], "skipped", "{ended}");
    assert_eq!(ended["outcome"], "completed_unverified");
}

#[test]
fn without_other_agents_scenarios_are_skipped_at_once_and_that_is_said() {
    let plan = PLAN.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- [S] SC-1");
    let sandbox = Sandbox::new();
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph:\n  judge: {backend: none}\n");
    sandbox.commit();
    let arguments =
        ["start", "--kind", "full", "--solo", "--goal", "greet people", "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &arguments).code, 0);
    let path = plan_path(&sandbox);
    sandbox.write(&path, &plan);
    let acceptance =
        "### SC-1: a user is greeted\n- When the user runs `cat one.txt`\n- Then it says hello\n";
    sandbox.write(&path.replace("plan.md", "acceptance.md"), acceptance);
    let told = approve(&sandbox);
    assert!(told.contains("Its scenarios are not played, because --solo"), "{told}");
    sandbox.write("one.txt", "hello\n");
    sandbox.write("two.txt", "two\n");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("the scenarios were not played, because --solo"), "{answer}");
    assert_eq!(status(&sandbox)["outcome"], "completed_unverified");
}

#[test]
fn a_document_that_no_gate_wrote_is_named_and_so_is_one_that_is_not_there() {
    let sandbox = full(PLAN, false, "");
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    assert!(stop(&sandbox).is_some(), "the project's own check fails");
    let gates = plan_path(&sandbox).replace("plan.md", "gates");
    sandbox.write(&format!("{gates}/scenarios.json"), "{\"status\": \"passed\"}\n");
    fs::remove_file(sandbox.path(&format!("{gates}/tests.json"))).expect("a gate wrote it");
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains("scenarios.json was written by no gate"), "{text}");
    assert!(text.contains("tests.json is not there: it could not be written"), "{text}");
    assert!(!text.contains("was edited after its gate wrote it"), "{text}");
}

/// A container engine as a program: it answers, and its container lacks `two.txt` when configured so.
const DOCKER: &str = r#"#!/bin/sh
echo "$@" >> docker-calls.local
case "$1" in
  version) [ ! -e docker-is-broken.local ] || { echo 'Cannot connect to the Docker daemon'; exit 1; } ;;
  run)
    while [ "$1" != python:3.12 ]; do shift; done
    shift
    [ ! -e docker-has-no-two.local ] || case "$*" in *two*) echo no two; exit 1 ;; esac
    exec "$@" ;;
esac
"#;

fn with_docker() -> Sandbox {
    let more = "  pipeline: {sandbox: docker, image: 'python:3.12'}\n";
    let sandbox = full(PLAN, false, more);
    let program = sandbox.base().join("bin/docker");
    write_file(&program, DOCKER);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    sandbox.write("ok.txt", "");
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    sandbox
}

#[test]
fn gate_1_runs_again_in_a_container_without_network() {
    let sandbox = with_docker();
    sandbox.write("docker-has-no-two.local", "");
    let reason = stop(&sandbox).expect("a command fails in the container");
    assert!(reason.contains("passes here but fails in the container: no two"), "{reason}");
    assert_eq!(status(&sandbox)["gates"]["tests"], "failed");
    fs::remove_file(sandbox.path("docker-has-no-two.local")).expect("ours");
    assert_eq!(stop(&sandbox), None);
    let calls = sandbox.read("docker-calls.local");
    assert!(calls.contains("--network none") && calls.contains("--pull never"), "{calls}");
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains("gate 1: in a container of python:3.12"), "{text}");
}

#[test]
fn a_container_engine_that_is_broken_leaves_the_host_and_that_is_said() {
    let sandbox = with_docker();
    sandbox.write("docker-is-broken.local", "");
    assert_eq!(stop(&sandbox), None);
    let ended = status(&sandbox);
    assert_eq!(ended["gates"]["tests"], "passed", "on the host: {ended}");
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains("gate 1: on the host: docker did not answer: Cannot connect"), "{text}");
}

#[test]
fn a_gates_document_that_is_edited_later_is_named_and_written_again() {
    let sandbox = full(PLAN, false, "");
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    assert!(stop(&sandbox).is_some(), "the project's own check fails");
    let path = plan_path(&sandbox).replace("plan.md", "gates/tests.json");
    let written = sandbox.read(&path);
    assert!(written.contains("\"status\": \"failed\""), "{written}");
    sandbox.write(&path, &written.replace("failed", "passed"));
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains(&format!("{path} was edited after its gate wrote it")), "{text}");
    let answer = stop_output(&sandbox);
    assert!(answer.to_string().contains("was changed after the gate had written it"), "{answer}");
    assert_eq!(sandbox.read(&path), written);
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains(&format!("changed after it was written: {path}")), "{text}");
}

#[test]
fn a_stronger_model_is_proposed_by_the_projects_rules() {
    let plan = PLAN.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- Complexity: M");
    let more = "  pipeline: {escalate_after: 1, escalate_sizes: [M], escalate_model: fable}\n";
    let sandbox = full(&plan, false, more);
    let mut input = sandbox.payload("SubagentStop");
    input["agent_type"] = "moai-ralph:worker".into();
    let report = json!({
        "todo_id": "TODO-1", "status": "FAIL",
        "outputs": {"files_changed": [], "summary": "nothing"},
        "acceptance_criteria": [{"id": "AC-1", "status": "FAIL"}],
        "learnings": [], "issues": [], "decisions": [],
    });
    input["last_assistant_message"] = report.to_string().into();
    assert_eq!(sandbox.hook("subagent-stop", &input).code, 0);
    let reason = stop(&sandbox).expect("nothing is done");
    assert!(
        reason.contains("1 attempt at TODO-1 failed: give it to a worker with model fable"),
        "{reason}"
    );
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    let reason = stop(&sandbox).expect("the project's own check fails");
    assert!(
        reason.contains("let the agent debugger find the cause first, with model fable"),
        "{reason}"
    );
    let approved = approve(&sandbox);
    assert!(!approved.contains("size M"), "TODO-2 passes already: {approved}");
}

#[test]
fn work_that_mostly_fails_goes_back_to_a_plan_that_must_grow_and_be_approved_again() {
    let sandbox = full(PLAN, false, "");
    let path = plan_path(&sandbox);
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    assert!(stop(&sandbox).expect("ok.txt is missing").contains("round 1 of 10"));
    fs::remove_file(sandbox.path("one.txt")).expect("ours");
    fs::remove_file(sandbox.path("two.txt")).expect("ours");
    let reason = stop(&sandbox).expect("everything fails");
    assert!(reason.contains("back at its plan") && reason.contains("TODO-1"), "{reason}");
    assert_eq!(status(&sandbox)["phase"], "plan");
    let reason = stop(&sandbox).expect("the plan is as it was");
    assert!(reason.contains("has nothing new"), "{reason}");
    assert_eq!(pipeline(&sandbox, &["approve"]).code, 1);
    let more = format!(
        "{}\n### [ ] TODO 3: a third way\n- [A] `test -f three.txt`\n",
        sandbox.read(&path)
    );
    sandbox.write(&path, &more);
    assert!(notice(&stop_output(&sandbox)).contains("waits for your approval"));
    approve(&sandbox);
    assert_eq!(status(&sandbox)["phase"], "sprint");
    for file in ["one.txt", "two.txt", "three.txt", "ok.txt"] {
        sandbox.write(file, "two\n");
    }
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed_unverified");
}

#[test]
fn the_same_failure_three_times_asks_for_a_fresh_worker_and_names_what_was_tried() {
    let sandbox = full(PLAN, false, "");
    sandbox.write("one.txt", "one\n");
    let mut input = sandbox.payload("SubagentStop");
    input["agent_type"] = "moai-ralph:worker".into();
    input["agent_id"] = "a1".into();
    let report = json!({"todo_id": "TODO-2", "status": "FAIL",
        "outputs": {"files_changed": [], "summary": "wrote it by hand"},
        "acceptance_criteria": [{"id": "AC-1", "status": "FAIL"}],
        "learnings": [], "issues": [], "decisions": []});
    input["last_assistant_message"] = report.to_string().into();
    assert_eq!(sandbox.hook("subagent-stop", &input).json()["decision"], "block");
    sandbox.write("two.txt", "two\n");
    for round in 1..=2 {
        sandbox.write("try.txt", &format!("{round}\n"));
        assert!(stop(&sandbox).expect("ok.txt is missing").contains("fix what is reported"));
    }
    sandbox.write("try.txt", "3\n");
    let reason = stop(&sandbox).expect("ok.txt is missing again");
    assert!(reason.contains("another approach") && reason.contains("wrote it by hand"), "{reason}");
    let mut write = sandbox.payload("PreToolUse-Edit");
    write["tool_name"] = "Write".into();
    write["tool_input"] = json!({"file_path": sandbox.path("src/a.py"), "content": "x"});
    for (agent, is_denied) in [("a1", true), ("a2", false)] {
        write["agent_id"] = agent.into();
        let answer = sandbox.hook("pre-tool-use", &write).stdout;
        assert_eq!(answer.contains("fresh worker"), is_denied, "{agent}: {answer}");
    }
}
