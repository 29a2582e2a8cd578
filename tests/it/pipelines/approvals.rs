//! The approved plan decides, and no later change of it.

use super::{
    GOAL, PLAN, approve, approved, begun, notice, pipeline, plan_path, slash, status, stop,
    stop_output,
};
use crate::support::{SESSION, Sandbox};

/// A plan with one TODO that is accepted by this command.
fn plan_of(command: &str) -> String {
    format!(
        "# PLAN: x\n\n## TODOs\n\n### [ ] TODO 1: a\n- Acceptance Criteria:\n  - [A] `{command}` passes\n"
    )
}

#[test]
fn a_typed_command_approves_only_the_version_that_the_user_was_shown() {
    let sandbox = begun(GOAL);
    let path = plan_path(&sandbox);
    sandbox.write(&path, &plan_of("sh check.sh"));
    let shown = stop_output(&sandbox);
    assert!(notice(&shown).contains("TODO-1 `sh check.sh`"), "{shown}");
    sandbox.write(&path, &plan_of("true"));
    let refused = slash(&sandbox, "moai-run", "");
    let reason = refused["reason"].as_str().unwrap_or_default();
    assert_eq!(refused["decision"], "block", "{refused}");
    assert!(reason.contains("new acceptance commands: TODO-1 `true`"), "{reason}");
    assert!(reason.contains("no longer there: TODO-1 `sh check.sh`"), "{reason}");
    assert_eq!(status(&sandbox)["phase"], "plan");
    sandbox.write(&path, &plan_of("false"));
    assert_eq!(slash(&sandbox, "moai-run", "")["decision"], "block", "it changed once more");
    let told = slash(&sandbox, "moai-run", "").to_string();
    assert!(told.contains("frozen (1): TODO-1 `false`"), "{told}");
    assert_eq!(status(&sandbox)["phase"], "sprint");
}

#[test]
fn a_plan_that_nobody_was_shown_is_shown_first() {
    let sandbox = begun(GOAL);
    let commands: Vec<String> =
        (1..=12).map(|number| format!("- [A] `test -f {number}`\n")).collect();
    let plan = format!("# PLAN: x\n### [ ] TODO 1: a\n{}", commands.concat());
    sandbox.write(&plan_path(&sandbox), &plan);
    let refused = slash(&sandbox, "moai-run", "");
    let reason = refused["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("were not shown this plan"), "{refused}");
    assert!(reason.contains("TODO-1 `test -f 10` and 2 more"), "{reason}");
    assert!(approve(&sandbox).contains("frozen (12)"));
}

#[test]
fn a_command_that_was_added_after_the_approval_is_shown_first() {
    let plan = plan_of("test -f readme.txt");
    let sandbox = approved(&plan);
    let added = "### [ ] TODO 2: b\n- Acceptance Criteria:\n  - [A] `true` passes\n";
    sandbox.write(&plan_path(&sandbox), &format!("{plan}\n{added}"));
    let refused = slash(&sandbox, "moai-run", "").to_string();
    assert!(refused.contains("new acceptance commands: TODO-2 `true`"), "{refused}");
    let told = slash(&sandbox, "moai-run", "").to_string();
    assert!(told.contains("frozen (2)") && told.contains("TODO-2 `true`"), "{told}");
}

#[test]
fn a_plan_alone_is_no_work() {
    let sandbox = approved(&plan_of("test -f readme.txt"));
    while stop(&sandbox).is_some() {}
    let ended = status(&sandbox);
    assert_eq!(ended["outcome"], "completed_unverified", "{ended}");
    assert_eq!(ended["note"], "nothing but specifications was changed");
}

#[test]
fn a_script_that_is_written_after_the_approval_is_named_and_proves_nothing() {
    for (files, outcome) in [("", "completed_unverified"), ("- Files: run.sh\n", "completed")] {
        let sandbox = begun(GOAL);
        let plan = plan_of("sh run.sh").replace("- Acceptance", &format!("{files}- Acceptance"));
        sandbox.write(&plan_path(&sandbox), &plan);
        let told = approve(&sandbox);
        assert!(told.contains("not frozen: run.sh"), "{told}");
        sandbox.write("run.sh", "echo 1 passed\n");
        assert_eq!(stop(&sandbox), None);
        let ended = status(&sandbox);
        assert_eq!(ended["outcome"], outcome, "{ended}");
        let note = ended["note"].as_str().unwrap_or_default();
        assert_eq!(note.contains("run.sh"), files.is_empty(), "{note}");
    }
}

#[test]
fn documents_of_the_specification_stay_as_they_were_approved() {
    let sandbox = begun(GOAL);
    let path = plan_path(&sandbox);
    sandbox.write(&path, &format!("{PLAN}  - [S] SC-1: a user\n"));
    let acceptance = path.replace("plan.md", "acceptance.md");
    let scenario = "### SC-1: a user\n- When the user comes in\n- Then the program says hello\n";
    sandbox.write(&acceptance, scenario);
    approve(&sandbox);
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    sandbox.write(&acceptance, &scenario.replace("says hello", "is nice"));
    let reason = stop(&sandbox).expect("the scenario is another one");
    assert!(reason.contains(&format!("{acceptance} is not as it was approved")), "{reason}");
    sandbox.write(&acceptance, scenario);
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

#[test]
fn a_loop_that_ended_with_its_pipeline_goes_on_with_it_alone() {
    let sandbox = approved(PLAN);
    sandbox.write("one.txt", "one\n");
    let mut last = stop_output(&sandbox);
    while last["decision"] == "block" {
        last = stop_output(&sandbox);
    }
    let shown = notice(&last);
    assert!(shown.contains("continue: moai-ralph pipeline resume"), "{shown}");
    let refused = sandbox.run(&["loop", "resume"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("moai-ralph pipeline resume"), "{refused:#?}");
    assert_eq!(pipeline(&sandbox, &["resume", "--session", SESSION]).code, 0);
    sandbox.write("two.txt", "two\n");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
    let answer = slash(&sandbox, "pipeline-cancel", "").to_string();
    assert!(answer.contains("completed") && !answer.contains("is cancelled"), "{answer}");
}

#[test]
fn commands_that_need_several_stops_are_all_run() {
    let sandbox = Sandbox::new();
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph: {loop: {stop_timeout: 6}}\n");
    let names = ["a", "b", "c"];
    let todo = |name: &str| {
        sandbox.write(&format!("checks/{name}.sh"), &format!("sleep 2\ntest -f {name}.txt\n"));
        format!("### [ ] TODO {name}\n- [A] `sh checks/{name}.sh` passes\n")
    };
    let todos: Vec<String> = names.iter().map(|name| todo(name)).collect();
    let numbered = (1..)
        .zip(&todos)
        .map(|(number, text)| text.replacen("TODO ", &format!("TODO {number}: "), 1));
    let plan = format!("# PLAN: x\n\n{}", numbered.collect::<String>());
    sandbox.commit();
    let start = ["start", "--kind", "small", "--goal", GOAL, "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &start).code, 0);
    sandbox.write(&plan_path(&sandbox), &plan);
    approve(&sandbox);
    for name in names {
        sandbox.write(&format!("{name}.txt"), "x\n");
    }
    let stops = (0..4).take_while(|_| stop(&sandbox).is_some()).count();
    assert!(stops >= 1, "the time of one Stop does not suffice");
    assert_eq!(status(&sandbox)["outcome"], "completed", "{}", status(&sandbox));
}

#[test]
fn another_approval_keeps_what_was_frozen_before() {
    let sandbox = Sandbox::new();
    sandbox.write("checks/one.sh", "grep -q right one.txt\n");
    sandbox.commit();
    let start = ["start", "--kind", "small", "--goal", GOAL, "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &start).code, 0);
    let (path, plan) = (plan_path(&sandbox), plan_of("sh checks/one.sh"));
    sandbox.write(&path, &plan);
    approve(&sandbox);
    sandbox.write("one.txt", "wrong\n");
    sandbox.write("checks/one.sh", "true\n");
    let second = "\n### [ ] TODO 2: b\n- Acceptance Criteria:\n  - [A] `test -f two.txt` passes\n";
    sandbox.write(&path, &format!("{plan}{second}"));
    approve(&sandbox);
    sandbox.write("two.txt", "two\n");
    let answer = stop_output(&sandbox).to_string();
    assert!(answer.contains("checks/one.sh"), "{answer}");
    assert_ne!(status(&sandbox)["outcome"], "completed");
}
