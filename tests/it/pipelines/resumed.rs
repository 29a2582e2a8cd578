//! Pipelines that are refused, cancelled and continued.

use std::time::Duration;

use serde_json::json;

use super::{
    GOAL, PLAN, approve, approved, begun, notice, pipeline, plan_path, slash, status, stop,
    stop_output,
};
use crate::killed_writes::{daemon, kill};
use crate::support::{SESSION, Sandbox, write_file};

#[test]
fn a_session_that_takes_over_a_pipeline_learns_what_is_to_be_done() {
    let sandbox = approved(PLAN);
    let mut input = sandbox.payload("UserPromptExpansion");
    input["session_id"] = "33333333-0000-4000-8000-000000000003".into();
    input["command_name"] = "moai-ralph:moai-adopt".into();
    input["command_args"] = status(&sandbox)["loop_id"].clone();
    let told = sandbox.hook("user-prompt-expansion", &input).context();
    assert!(told.contains("[ ] TODO-1") && told.contains(&plan_path(&sandbox)), "{told}");
    assert!(told.contains("the plan may only grow"), "{told}");
}

#[test]
fn a_session_that_claims_or_resumes_a_pipeline_learns_what_is_to_be_done() {
    let sandbox = Sandbox::new();
    sandbox.commit();
    assert_eq!(pipeline(&sandbox, &["start", "--kind", "small", "--goal", GOAL]).code, 0);
    let submit = || sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    let told = submit().context();
    let path = plan_path(&sandbox);
    assert!(told.contains("write the plan to") && told.contains(&path), "{told}");
    sandbox.write(&path, PLAN);
    approve(&sandbox);
    assert_eq!(sandbox.run(&["loop", "pause"]).code, 0);
    let told = slash(&sandbox, "moai-resume", "").to_string();
    assert!(told.contains("[ ] TODO-1") && told.contains("the plan may only grow"), "{told}");
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    assert_eq!(pipeline(&sandbox, &["resume"]).code, 0);
    let told = submit().context();
    assert!(told.contains("[ ] TODO-1") && told.contains("the plan may only grow"), "{told}");
}

#[test]
fn a_daemon_that_is_killed_during_a_stop_loses_no_box() {
    for delay_ms in (0..160).step_by(20) {
        let sandbox = approved(PLAN);
        sandbox.write("one.txt", "one\n");
        sandbox.write("two.txt", "two\n");
        let killed = daemon(&sandbox);
        std::thread::scope(|scope| {
            scope.spawn(|| sandbox.hook("stop", &sandbox.payload("Stop")));
            std::thread::sleep(Duration::from_millis(delay_ms));
            kill(killed);
        });
        let path = plan_path(&sandbox);
        while stop(&sandbox).is_some() {}
        let ended = status(&sandbox);
        let boxes = sandbox.read(&path).matches("### [x]").count();
        assert_eq!(ended["todos"]["done"], boxes, "{delay_ms} ms: {ended}");
        assert_eq!(ended["phase"], "ended", "{delay_ms} ms: {ended}");
    }
}

#[test]
fn a_second_pipeline_is_refused_with_the_id_of_the_first() {
    let sandbox = begun(GOAL);
    let id = status(&sandbox)["id"].as_str().expect("an id").to_owned();
    let second = pipeline(&sandbox, &["start", "--goal", "something else"]);
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains(&id), "{second:#?}");
}

#[test]
fn a_cancelled_pipeline_holds_nobody_and_can_be_continued_where_it_was() {
    let sandbox = approved(PLAN);
    let path = plan_path(&sandbox);
    sandbox.write("one.txt", "one\n");
    assert!(stop(&sandbox).is_some());
    let before = sandbox.read(&path);
    for _ in 0..2 {
        let output = pipeline(&sandbox, &["cancel"]);
        assert_eq!(output.code, 0, "{output:#?}");
    }
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "cancelled");
    assert_eq!(sandbox.read(&path), before);

    let output = pipeline(&sandbox, &["resume", "--session", SESSION]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert_eq!(status(&sandbox)["phase"], "sprint");
    let reason = stop(&sandbox).expect("the approved commands are examined again");
    assert!(reason.contains("two.txt"), "{reason}");
    sandbox.write("two.txt", "two\n");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
    assert_eq!(pipeline(&sandbox, &["resume"]).code, 1, "it is done");
}

fn assert_names_cancelled_pipeline(told: &str) {
    let parts = ["[moai-ralph] loop loop-", "was cancelled", "is cancelled, and its files stay"];
    assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    assert!(told.contains("/moai-ralph:pipeline-resume"), "{told}");
}

#[test]
fn cancelling_the_loop_ends_its_pipeline() {
    let sandbox = approved(PLAN);
    let cancelled = sandbox.run(&["loop", "cancel"]);
    assert_eq!(cancelled.code, 0, "{cancelled:#?}");
    assert_names_cancelled_pipeline(&cancelled.stdout);
    let ended = status(&sandbox);
    assert_eq!((&ended["phase"], &ended["outcome"]), (&json!("ended"), &json!("cancelled")));
    assert_eq!(pipeline(&sandbox, &["resume", "--session", SESSION]).code, 0);
    assert_names_cancelled_pipeline(&slash(&sandbox, "cancel-loop", "").to_string());
    assert_eq!(status(&sandbox)["outcome"], "cancelled");
    assert_eq!(pipeline(&sandbox, &["start", "--goal", "the next one"]).code, 0);
}

#[test]
fn a_pipeline_that_has_not_ended_names_what_continues_it_or_takes_it_over() {
    let sandbox = approved(PLAN);
    let loop_id = status(&sandbox)["loop_id"].as_str().expect("an id").to_owned();
    let own = slash(&sandbox, "pipeline-resume", "").to_string();
    assert!(own.contains("is active already") && !own.contains("moai-adopt"), "{own}");
    let mut input = sandbox.payload("UserPromptExpansion");
    input["session_id"] = "33333333-0000-4000-8000-000000000003".into();
    input["command_name"] = "moai-ralph:pipeline-resume".into();
    input["command_args"] = "".into();
    let other = sandbox.hook("user-prompt-expansion", &input).json().to_string();
    assert!(other.contains(&format!("is active in session {SESSION}")), "{other}");
    assert!(other.contains(&format!("/moai-ralph:moai-adopt {loop_id}")), "{other}");
    assert_eq!(sandbox.run(&["loop", "pause"]).code, 0);
    let paused = slash(&sandbox, "pipeline-resume", "").to_string();
    assert!(paused.contains("is paused: `/moai-ralph:moai-resume`"), "{paused}");
    let refused = pipeline(&sandbox, &["resume", "--session", SESSION]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains(&format!("moai-ralph loop resume {loop_id}")), "{refused:#?}");
}

#[test]
fn a_loop_that_ends_without_success_leaves_a_partial_pipeline() {
    let sandbox = approved(PLAN);
    sandbox.write("one.txt", "one\n");
    while stop(&sandbox).is_some() {}
    let status = status(&sandbox);
    assert_eq!(status["outcome"], "partial", "{status}");
    assert_eq!(
        status["note"],
        "there was no progress in 3 iterations; 1 of 2 TODOs passes; still to be done: TODO-2"
    );
    let resumed = sandbox.run(&["loop", "resume", status["loop_id"].as_str().unwrap_or_default()]);
    assert!(resumed.stderr.contains("moai-ralph pipeline resume pipeline-"), "{resumed:#?}");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("[ ] TODO-2") && report.contains("two.txt"), "{report}");
}

#[test]
fn a_resumed_pipeline_that_ends_in_the_same_way_says_so_again() {
    let sandbox = approved(PLAN);
    sandbox.write("one.txt", "one\n");
    for _ in 0..2 {
        let mut answer = stop_output(&sandbox);
        while answer["decision"] == "block" {
            answer = stop_output(&sandbox);
        }
        let told = notice(&answer);
        assert!(told.contains("ended unfinished (partial): there was no progress"), "{told}");
        assert!(told.contains("still to be done: TODO-2. `/moai-ralph:pipeline-resume`"), "{told}");
        let output = pipeline(&sandbox, &["resume", "--session", SESSION]);
        assert_eq!(output.code, 0, "{output:#?}");
    }
}

#[test]
fn commands_that_pass_after_a_resume_are_not_said_to_pass_before_any_change() {
    for is_measured in [true, false] {
        let sandbox = approved(PLAN);
        assert!(!is_measured || stop(&sandbox).is_some());
        assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
        sandbox.write("one.txt", "one\n");
        assert_eq!(pipeline(&sandbox, &["resume", "--session", SESSION]).code, 0);
        let reason = stop(&sandbox).expect("the second file is missing");
        assert!(!reason.contains("although nothing was changed"), "{reason}");
        sandbox.write("two.txt", "two\n");
        let answer = stop_output(&sandbox);
        let told = notice(&answer);
        assert!(told.contains("is completed") && !told.contains("prove nothing"), "{told}");
    }
}

#[test]
fn a_restarted_daemon_still_knows_the_pipeline() {
    let sandbox = approved(PLAN);
    sandbox.write("one.txt", "one\n");
    assert!(stop(&sandbox).is_some());
    sandbox.run(&["daemon", "stop"]);
    sandbox.write("two.txt", "two\n");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

#[test]
fn a_limit_of_tokens_ends_a_pipeline_as_partial_and_names_what_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("readme.txt", "a project\n");
    sandbox.commit();
    let arguments = ["start", "--goal", GOAL, "--kind", "small", "--max-tokens", "1000"];
    let output = pipeline(&sandbox, &[&arguments[..], &["--session", SESSION]].concat());
    assert_eq!(output.code, 0, "{output:#?}");
    sandbox.write(&plan_path(&sandbox), PLAN);
    approve(&sandbox);
    sandbox.write("one.txt", "one\n");
    let usage = json!({"input_tokens": 0, "output_tokens": 1_200});
    let message = json!({"id": "m1", "model": "claude-opus-4-6", "usage": usage});
    let at = "2999-01-01T00:00:00Z";
    let line = json!({"type": "assistant", "requestId": "m1", "message": message, "timestamp": at});
    let transcript = sandbox.base().join("transcript.jsonl");
    write_file(&transcript, &format!("{line}\n"));
    let mut input = sandbox.payload("Stop");
    input["transcript_path"] = json!(transcript);
    let answer = sandbox.hook("stop", &input).json();
    assert_ne!(answer["decision"], "block", "{answer}");
    let ended = status(&sandbox);
    assert_eq!(ended["outcome"], "partial", "{ended}");
    assert_eq!(
        ended["note"],
        "the token limit is reached; 1 of 2 TODOs passes; still to be done: TODO-2"
    );
    let resumed = pipeline(&sandbox, &["resume", "--max-tokens", "5000", "--session", SESSION]);
    assert_eq!(resumed.code, 0, "{resumed:#?}");
    sandbox.write("two.txt", "two\n");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}
