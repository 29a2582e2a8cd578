//! Pipelines: a plan, its approval, and boxes that only the engine's own runs set.

mod approvals;
mod commands;
mod commits;
mod gates;
mod persons;
mod plans;
mod reports;
mod resumed;
mod texts;
mod unsound_worktrees;
mod workers;
mod worktree_notes;
mod worktrees;

use serde_json::{Value, json};

use crate::support::{Output, SESSION, Sandbox};

const GOAL: &str = "write two files";
const PLAN: &str = "\
# PLAN: two files

## TODOs

### [ ] TODO 1: the first file
- Dependencies: none
- Acceptance Criteria:
  - [A] `test -f one.txt` passes

### [ ] TODO 2: the second file
- Dependencies: TODO-1
- Acceptance Criteria:
  - [A] `grep -q two two.txt` passes
";
const ONE_DONE: &str = "### [x] TODO 1: the first file";
const TWO_DONE: &str = "### [x] TODO 2: the second file";

fn pipeline(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.run(&[&["pipeline"], arguments].concat())
}

/// A project whose pipeline has begun in this session.
fn begun(goal: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("readme.txt", "a project\n");
    sandbox.commit();
    let output =
        pipeline(&sandbox, &["start", "--kind", "small", "--goal", goal, "--session", SESSION]);
    assert_eq!(output.code, 0, "{output:#?}");
    sandbox
}

/// The same with an approved plan.
fn approved(plan: &str) -> Sandbox {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), plan);
    approve(&sandbox);
    sandbox
}

/// A slash command that the user types.
fn slash(sandbox: &Sandbox, name: &str, arguments: &str) -> Value {
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = format!("moai-ralph:{name}").into();
    input["command_args"] = arguments.into();
    let output = sandbox.hook("user-prompt-expansion", &input);
    assert_eq!(output.code, 0, "{output:#?}");
    if output.stdout.trim().is_empty() { Value::Null } else { output.json() }
}

/// The user approves the plan, once it was shown: returns the agent's context.
fn approve(sandbox: &Sandbox) -> String {
    let mut answer = slash(sandbox, "moai-run", "");
    let reason = answer["reason"].as_str().unwrap_or_default();
    if ["Give the command again", "명령을 다시"].iter().any(|asked| reason.contains(asked)) {
        answer = slash(sandbox, "moai-run", "");
    }
    let context = &answer["hookSpecificOutput"]["additionalContext"];
    context.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn status(sandbox: &Sandbox) -> Value {
    let output = pipeline(sandbox, &["status", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

fn plan_path(sandbox: &Sandbox) -> String {
    status(sandbox)["plan"].as_str().expect("a pipeline has a plan").to_owned()
}

/// One Stop: the reason when the turn is held.
fn stop(sandbox: &Sandbox) -> Option<String> {
    let output = stop_output(sandbox);
    (output["decision"] == "block").then(|| output["reason"].as_str().unwrap_or("").to_owned())
}

fn stop_output(sandbox: &Sandbox) -> Value {
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(output.code, 0, "{output:#?}");
    if output.stdout.trim().is_empty() { Value::Null } else { output.json() }
}

fn notice(answer: &Value) -> &str {
    assert_ne!(answer["decision"], "block", "{answer}");
    answer["systemMessage"].as_str().unwrap_or_default()
}

#[test]
fn a_small_pipeline_goes_from_a_plan_to_boxes_that_the_engine_sets() {
    let sandbox = begun(GOAL);
    let path = plan_path(&sandbox);
    let reason = stop(&sandbox).expect("the plan is missing");
    assert!(reason.contains(&path) && reason.contains("### [ ] TODO 1"), "{reason}");

    sandbox.write(&path, PLAN);
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("moai-ralph pipeline approve"), "{answer}");
    assert_eq!(status(&sandbox)["phase"], "plan");

    approve(&sandbox);
    let checks = sandbox.run(&["loop", "checks", "--list"]);
    assert!(checks.stdout.contains("test -f one.txt"), "part of the exam: {checks:#?}");

    sandbox.write("one.txt", "one\n");
    let reason = stop(&sandbox).expect("the second file is missing");
    assert!(reason.contains("two.txt"), "{reason}");
    let text = sandbox.read(&path);
    assert_eq!(text, PLAN.replace("### [ ] TODO 1: the first file", ONE_DONE));

    sandbox.write("two.txt", "two\n");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("2 of 2 TODOs pass"), "{answer}");
    assert!(sandbox.read(&path).contains(TWO_DONE));
    let ended = status(&sandbox);
    assert_eq!((&ended["phase"], &ended["outcome"]), (&json!("ended"), &json!("completed")));
    assert_eq!(ended["convergence"], json!([1, 2]));
    let report = pipeline(&sandbox, &["report"]);
    assert!(report.stdout.contains("[x] TODO-2 the second file"), "{report:#?}");
    assert_eq!(stop(&sandbox), None, "nothing holds any more");
}

#[test]
fn a_box_that_the_agent_sets_without_a_passing_run_is_set_back_and_reported() {
    let sandbox = approved(PLAN);
    let path = plan_path(&sandbox);
    let lie = PLAN.replace("### [ ]", "### [x]");
    sandbox.write("one.txt", "one\n");
    sandbox.write(&path, &lie);
    let reason = stop(&sandbox).expect("one TODO does not pass");
    assert!(reason.contains("TODO-2 was marked [x]"), "{reason}");
    let expected = PLAN.replace("### [ ] TODO 1: the first file", ONE_DONE);
    assert_eq!(sandbox.read(&path), expected, "every other byte is as it was");
    // A failure that only the agent declares does not count either.
    sandbox.write(&path, &PLAN.replace("### [ ] TODO 2", "### [FAILED] TODO 2"));
    let reason = stop(&sandbox).expect("it is still to be done");
    assert!(reason.contains("TODO-2 was marked [FAILED]"), "{reason}");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert_eq!(report.matches("\n    TODO-2:").count(), 2, "{report}");
}

#[test]
fn a_file_that_is_lost_again_opens_its_todo_again() {
    let sandbox = approved(PLAN);
    sandbox.write("one.txt", "one\n");
    assert!(stop(&sandbox).is_some());
    std::fs::remove_file(sandbox.path("one.txt")).expect("ours");
    sandbox.write("two.txt", "two\n");
    let reason = stop(&sandbox).expect("the first TODO fails again");
    assert!(reason.contains("TODO-1 passed before and fails now"), "{reason}");
    assert!(sandbox.read(&plan_path(&sandbox)).contains("### [ ] TODO 1"));
}

#[test]
fn a_goal_is_data_whatever_it_says_and_korean_is_answered_in_korean() {
    let goal = "파일 $(touch hacked) `touch hacked` \"둘\"을 만들어 주세요; touch hacked";
    let sandbox = begun(goal);
    assert_eq!(status(&sandbox)["goal"], goal);
    let reason = stop(&sandbox).expect("the plan is missing");
    assert!(reason.contains("계획이 준비되지 않았습니다"), "{reason}");
    let path = plan_path(&sandbox);
    sandbox.write(&path, &PLAN.replace("the first file", "첫 번째 $(touch hacked)"));
    approve(&sandbox);
    assert!(stop(&sandbox).is_some());
    assert!(!sandbox.path("hacked").exists());
}

#[test]
fn after_a_compaction_the_agent_learns_where_the_pipeline_is() {
    let sandbox = begun(GOAL);
    let told = sandbox.hook("session-start", &sandbox.payload("SessionStart-compact")).context();
    assert!(told.contains("### [ ] TODO 1") && told.contains(GOAL), "{told}");
    sandbox.write(&plan_path(&sandbox), PLAN);
    approve(&sandbox);
    sandbox.write("one.txt", "one\n");
    assert!(stop(&sandbox).is_some());
    let told = sandbox.hook("session-start", &sandbox.payload("SessionStart-compact")).context();
    assert!(told.contains("[x] TODO-1") && told.contains("[ ] TODO-2"), "{told}");
    assert!(!told.contains("3. "), "there is no list: {told}");
}
