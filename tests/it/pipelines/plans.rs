//! Plans that cannot be approved, and plans that change after their approval.

use serde_json::json;

use crate::loops::escapes::database;

use super::{
    GOAL, PLAN, approve, approved, begun, notice, pipeline, plan_path, status, stop, stop_output,
};

/// Why a plan is not approved.
fn refusal(plan: &str) -> String {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), plan);
    let output = pipeline(&sandbox, &["approve"]);
    assert_eq!((output.code, status(&sandbox)["phase"].as_str()), (1, Some("plan")));
    output.stderr
}

#[test]
fn a_plan_that_the_engine_cannot_check_is_not_approved_and_says_which_line() {
    let without = PLAN.replace("[A] `test -f one.txt` passes", "[H] it looks right");
    let text = refusal(&without);
    assert!(text.contains("line 5: TODO-1 has no command"), "{text}");
    let shell = PLAN.replace("test -f one.txt", "test -f one.txt && rm -rf x");
    let text = refusal(&shell);
    assert_eq!(text.matches("line 8").count(), 1, "one reason is enough: {text}");
    let twice = PLAN.replace("TODO 2", "TODO 1");
    let text = refusal(&twice);
    assert!(text.contains("TODO-1 is also on line 5"), "{text}");
    let cycle = PLAN.replace("Dependencies: none", "Dependencies: TODO-2");
    let text = refusal(&cycle);
    assert!(text.contains("cycle"), "{text}");
    assert!(refusal("# PLAN: nothing\n").contains("has no TODO"));
}

#[test]
fn without_a_plan_the_agent_is_held_a_few_times_and_then_the_user_is_told() {
    let sandbox = begun(GOAL);
    for _ in 0..5 {
        assert!(stop(&sandbox).is_some());
    }
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("no usable plan"), "{answer}");
}

#[test]
fn what_was_approved_counts_whatever_the_plan_says_later() {
    let sandbox = approved(PLAN);
    let path = plan_path(&sandbox);
    sandbox.write("one.txt", "one\n");
    sandbox.write(&path, &PLAN.replace("grep -q two two.txt", "true"));
    let reason = stop(&sandbox).expect("the frozen command decides");
    assert!(reason.contains("AC-1 was changed") && reason.contains("two.txt"), "{reason}");
    sandbox.write("two.txt", "two\n");
    let reason = stop(&sandbox).expect("the plan is not as it was approved");
    assert!(reason.contains("AC-1 was changed"), "{reason}");
    sandbox.write(&path, PLAN);
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

#[test]
fn an_added_todo_needs_the_users_word_and_is_then_examined_too() {
    let sandbox = approved(PLAN);
    let path = plan_path(&sandbox);
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    let more = format!("{PLAN}\n### [x] TODO 3: a third file\n- [A] `test -f three.txt`\n");
    sandbox.write(&path, &more);
    let reason = stop(&sandbox).expect("the third is not approved");
    assert!(reason.contains("not approved: TODO-3 (line"), "{reason}");
    assert!(sandbox.read(&path).contains("### [ ] TODO 3"), "its box is not the agent's to set");
    approve(&sandbox);
    let reason = stop(&sandbox).expect("the third file is missing");
    assert!(reason.contains("three.txt"), "{reason}");
    sandbox.write("three.txt", "");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["todos"]["done"], 3);
}

#[test]
fn an_added_todo_that_nobody_approves_pauses_the_loop_until_it_is_approved() {
    let sandbox = approved(PLAN);
    let path = plan_path(&sandbox);
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    let more = format!("{PLAN}\n### [ ] TODO 3: a third file\n- [A] `test -f three.txt`\n");
    sandbox.write(&path, &more);
    for _ in 0..2 {
        let reason = stop(&sandbox).expect("the third is not approved");
        assert!(reason.contains("not approved: TODO-3 (line"), "{reason}");
        assert!(reason.contains("change or remove them"), "{reason}");
    }
    let answer = stop_output(&sandbox);
    let told = notice(&answer);
    assert!(told.contains("your answer is needed. Not approved yet: TODO-3 (line"), "{told}");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("its loop is paused until you have answered"), "{shown}");
    assert!(shown.contains("not approved yet: TODO-3 (line"), "{shown}");
    approve(&sandbox);
    let reason = stop(&sandbox).expect("the loop goes on, and the third file is missing");
    assert!(reason.contains("three.txt"), "{reason}");
    sandbox.write("three.txt", "");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

#[test]
fn an_item_that_is_added_to_an_approved_todo_needs_the_users_word_too() {
    for item in ["[A] `test -f more.txt`", "[H] it reads well"] {
        let sandbox = approved(PLAN);
        let path = plan_path(&sandbox);
        sandbox.write("one.txt", "one\n");
        sandbox.write("two.txt", "two\n");
        sandbox.write(&path, &format!("{PLAN}  - {item}\n"));
        let reason = stop(&sandbox).expect("the item is not approved");
        assert!(reason.contains("not approved: TODO-2 AC-2 (line"), "{reason}");
        approve(&sandbox);
        assert!(stop(&sandbox).is_some(), "{item}");
    }
}

#[test]
fn a_plan_edited_into_nonsense_names_the_line_then_pauses_and_loses_nothing() {
    let sandbox = approved(PLAN);
    let path = plan_path(&sandbox);
    sandbox.write("one.txt", "one\n");
    let broken = PLAN.replace("### [ ] TODO 2", "### [maybe] TODO 2");
    sandbox.write(&path, &broken);
    let reason = stop(&sandbox).expect("the plan cannot be read");
    assert!(reason.contains("line 10"), "{reason}");
    assert!(stop(&sandbox).is_some());
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("the plan cannot be used"), "{answer}");
    assert_eq!(sandbox.read(&path), broken, "it is the user's to repair");
    sandbox.write(&path, PLAN);
    sandbox.write("two.txt", "two\n");
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], json!("completed"));
}

#[test]
fn a_program_that_is_not_installed_holds_twice_and_is_named_at_the_end() {
    let sandbox = approved(&PLAN.replace("grep -q two two.txt", "no-such-program two.txt"));
    sandbox.write("one.txt", "one\n");
    let missing = "`no-such-program two.txt` has no result: no-such-program was not found on PATH";
    for _ in 0..2 {
        let reason = stop(&sandbox).expect("the program is missing");
        assert!(reason.contains(&format!("TODO-2 cannot be accepted: {missing}")), "{reason}");
    }
    let answer = stop_output(&sandbox);
    let told = notice(&answer);
    assert!(told.contains("a program is missing") && told.contains(missing), "{told}");
    assert!(told.contains("Install what is missing; then"), "{told}");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("why: still to be done: TODO-2") && shown.contains(missing), "{shown}");
    assert_eq!(status(&sandbox)["outcome"], "partial");
}

#[test]
fn a_command_that_hangs_is_ended_and_is_no_pass() {
    let sandbox = begun(GOAL);
    sandbox.write(
        ".moai/config/sections/ralph.yaml",
        "ralph:\n  loop:\n    check_timeout_secs: 1\n    stop_timeout: 60\n",
    );
    let plan = PLAN.replace("test -f one.txt", "sleep 1000");
    sandbox.write(&plan_path(&sandbox), &plan);
    approve(&sandbox);
    sandbox.write("two.txt", "two\n");
    let _ = stop_output(&sandbox);
    let status = status(&sandbox);
    assert_eq!(status["todos"]["done"], 1, "{status}");
}

#[test]
fn a_status_names_the_faults_of_the_plan_as_a_stop_does() {
    let sandbox = begun(GOAL);
    let path = plan_path(&sandbox);
    let shown = || pipeline(&sandbox, &["status"]).stdout;
    assert!(shown().contains(&format!("the agent has not written {path} yet")), "{}", shown());
    sandbox.write(&path, &PLAN.replace("test -f one.txt", "ls | wc"));
    let faulty = shown();
    assert!(faulty.contains("the plan cannot be approved yet:"), "{faulty}");
    assert!(faulty.contains(&format!("{path} line 8:")), "{faulty}");
    assert!(!faulty.contains("approves the plan as it is"), "{faulty}");
    sandbox.write(&path, PLAN);
    assert!(shown().contains("approves the plan as it is"), "{}", shown());
    approve(&sandbox);

    sandbox.write(&path, &PLAN.replace("### [ ] TODO 2", "### [maybe] TODO 2"));
    let faulty = shown();
    assert!(faulty.contains("to fix in the plan:"), "{faulty}");
    assert!(faulty.contains(&format!("{path} line 10:")), "{faulty}");
    let more = format!("{PLAN}\n### [ ] TODO 3: a third file\n- [H] it is fine\n");
    sandbox.write(&path, &more.replace("grep -q two two.txt", "true"));
    let faulty = shown();
    assert!(faulty.contains("AC-1 was changed"), "{faulty}");
    assert!(faulty.contains("TODO-3 has no command"), "{faulty}");
    assert!(faulty.contains("not approved yet: TODO-3 (line"), "{faulty}");
    assert!(!faulty.contains("approves the plan as it is"), "{faulty}");
    std::fs::remove_file(sandbox.path(&path)).expect("ours");
    assert!(shown().contains(&format!("{path} is missing")), "{}", shown());
    sandbox.write(&path, PLAN);
    assert!(!shown().contains("to be put right"), "{}", shown());
}

#[test]
fn a_deleted_plan_is_written_again_as_it_was_approved() {
    let sandbox = begun(GOAL);
    let path = plan_path(&sandbox);
    sandbox.write(&path, PLAN);
    let early = pipeline(&sandbox, &["plan"]);
    assert!(early.code == 1 && early.stderr.contains("was not approved yet"), "{early:#?}");
    approve(&sandbox);
    sandbox.write("one.txt", "one\n");
    sandbox.write(&path, &PLAN.replace("grep -q two two.txt", "true"));
    let reason = stop(&sandbox).expect("the plan was changed");
    assert!(reason.contains("restore it: `moai-ralph pipeline plan` prints it"), "{reason}");
    std::fs::remove_file(sandbox.path(&path)).expect("ours");
    let reason = stop(&sandbox).expect("the plan is missing");
    assert!(
        reason.contains(&format!("`moai-ralph pipeline plan > {path}` writes it again")),
        "{reason}"
    );
    sandbox.write(&path, "");
    let reason = stop(&sandbox).expect("the plan is empty");
    assert!(
        reason.contains("no TODO any more. The approved plan still applies")
            && reason.contains(&format!("`moai-ralph pipeline plan > {path}` writes it again")),
        "{reason}"
    );
    let printed = pipeline(&sandbox, &["plan"]);
    assert_eq!(printed.stdout, PLAN.replace("### [ ] TODO 1", "### [x] TODO 1"));
    let document = pipeline(&sandbox, &["plan", "--json"]).json();
    assert_eq!(
        (&document["schema"], &document["path"]),
        (&json!("moai-ralph/plan@1"), &json!(path))
    );
    assert_eq!(document["text"], printed.stdout.as_str());
    sandbox.write(&path, &printed.stdout);
    sandbox.write("two.txt", "two\n");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

#[test]
fn a_pipeline_that_cannot_be_read_does_not_let_its_loop_complete() {
    let sandbox = approved(PLAN);
    sandbox.write("one.txt", "one\n");
    let store = rusqlite::Connection::open(database(&sandbox)).expect("a database");
    store.execute("UPDATE pipelines SET state = '{}'", []).expect("it is not locked for long");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("this Stop could not be decided"), "{answer}");
    let held = sandbox.run(&["loop", "status", "--json"]).json();
    assert_eq!(held["status"], "running", "{held}");
}
