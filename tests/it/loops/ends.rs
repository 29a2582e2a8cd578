//! Each way to end, pause or yield has its own status.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{CLEAN, FIXED, blocked, looping, notice, project, start, status, stop, stop_again};
use crate::support::Sandbox;

/// Stops with these texts of the file, one after the other; whether each was held.
fn play(sandbox: &Sandbox, texts: &[&str]) -> Vec<bool> {
    let held = |text: &&str| {
        sandbox.write("app.py", text);
        stop(sandbox, "finished").is_some()
    };
    texts.iter().map(held).collect()
}

#[test]
fn a_loop_that_gets_nowhere_stalls_and_is_never_called_done() {
    let sandbox = looping(&["--max-iterations", "20"]);
    let first = "word = 'BAD'\n";
    assert_eq!(play(&sandbox, &[first, first]), [true, true]);
    let reason = stop(&sandbox, "finished").expect("two iterations without progress are told");
    assert!(reason.contains("Take another approach"), "{reason}");
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    let told = notice(&output);
    assert!(
        told.contains("no progress in 3 iterations") && told.contains("not completed"),
        "{told}"
    );
    assert_eq!(status(&sandbox)["status"], "stalled");
    let report = sandbox.run(&["loop", "report"]);
    assert!(!report.stdout.contains("completed after"), "{report:#?}");
}

#[test]
fn going_back_and_forth_is_told_and_then_ends() {
    let sandbox = looping(&["--max-iterations", "20"]);
    let (a, b) = ("word = 'BAD'\n", "word = 'BAD' + 'BAD'\n");
    assert_eq!(play(&sandbox, &[a, b]), [true, true]);
    sandbox.write("app.py", a);
    let reason = stop(&sandbox, "finished").expect("the first time it is told");
    let back = "Back at the problems or the files of iteration 1; iteration 2 had others.";
    assert!(reason.contains(back), "{reason}");
    assert_eq!(play(&sandbox, &[b]), [false]);
    let status = status(&sandbox);
    assert_eq!((&status["status"], &status["best"]), (&json!("oscillating"), &json!(3)));
}

#[test]
fn progress_never_stalls() {
    let sandbox = looping(&["--max-iterations", "20"]);
    let text = |count: usize| format!("word = [{}]\n", "'BAD', ".repeat(count));
    for count in (1..=6).rev() {
        sandbox.write("app.py", &text(count));
        assert!(stop(&sandbox, "on it").is_some(), "{count} left");
    }
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    let status = status(&sandbox);
    assert_eq!(status["status"], "completed");
    let errors: Vec<&Value> =
        status["history"].as_array().expect("a history").iter().map(|it| &it["errors"]).collect();
    assert_eq!(errors, [6, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn a_milestone_pauses_and_resuming_goes_on() {
    let sandbox = looping(&["--milestone-every", "2", "--max-iterations", "9"]);
    assert_eq!(play(&sandbox, &["word = 'BAD'\n", "word = ['BAD', 1]\n"]), [true, false]);
    let paused = status(&sandbox);
    assert_eq!(
        (&paused["status"], &paused["pause_reason"]),
        (&json!("paused"), &json!("milestone"))
    );
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert!(told.contains("loop resume"), "{told}");
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    assert_eq!(play(&sandbox, &["word = ['BAD', 2]\n"]), [true]);
    assert_eq!(status(&sandbox)["iteration"], 3);
    // Done on a milestone is done.
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn forced_iterations_acknowledge_what_is_done_and_go_on_to_the_last() {
    let sandbox = looping(&["--force-max", "--max-iterations", "3"]);
    sandbox.write("app.py", FIXED);
    for _ in 0..2 {
        let reason = stop(&sandbox, "finished").expect("it goes on");
        assert!(reason.contains("All iterations were requested"), "{reason}");
    }
    assert_eq!(stop(&sandbox, "finished"), None);
    let status = status(&sandbox);
    assert_eq!((&status["status"], &status["iteration"]), (&json!("completed"), &json!(3)));
}

#[test]
fn a_judged_loop_without_a_judge_is_never_called_completed() {
    let sandbox = project();
    sandbox.write("RUBRIC.md", "## Judge criteria\n- The word is sensible.\n");
    sandbox.commit();
    let begun = start(&sandbox, &["--mode", "judge", "--no-research", "--max-iterations", "5"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    let held: Vec<bool> = (0..4).map(|_| stop(&sandbox, "finished").is_some()).collect();
    let status = status(&sandbox);
    assert_ne!(status["status"], "completed", "{held:?}");
    assert_eq!(status["mode"], "judge");
}

#[test]
fn the_host_would_end_the_turn_so_the_loop_yields_and_stays() {
    let sandbox = looping(&["--completion-promise", "DONE", "--max-iterations", "50"]);
    sandbox.write("app.py", FIXED);
    assert!(stop(&sandbox, "hm").is_some());
    for _ in 0..7 {
        assert!(blocked(&stop_again(&sandbox, "hm")).is_some());
    }
    let yielded = stop_again(&sandbox, "hm");
    assert_eq!(blocked(&yielded), None);
    let told = notice(&yielded);
    assert!(told.contains("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"), "{told}");
    assert!(told.contains("is not done"), "{told}");
    assert_eq!(status(&sandbox)["status"], "running");
    // A new turn, and the message after a tool call, reset the count.
    assert!(stop(&sandbox, "hm").is_some());
    for _ in 0..7 {
        assert!(blocked(&stop_again(&sandbox, "hm")).is_some());
    }
    sandbox.hook("post-tool-batch", &sandbox.payload("PostToolBatch"));
    assert!(blocked(&stop_again(&sandbox, "hm")).is_some());
}

#[test]
fn a_raised_cap_of_the_host_is_used() {
    let mut sandbox = looping(&["--completion-promise", "DONE", "--max-iterations", "50"]);
    sandbox.write("app.py", FIXED);
    sandbox.set("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "2");
    assert!(stop(&sandbox, "hm").is_some());
    assert!(blocked(&stop_again(&sandbox, "hm")).is_some());
    assert_eq!(blocked(&stop_again(&sandbox, "hm")), None);
    sandbox.set("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "0");
    for _ in 0..10 {
        assert!(blocked(&stop_again(&sandbox, "hm")).is_some());
    }
}

#[test]
fn a_turn_that_must_end_is_not_counted() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", "word = 'BAD'\n");
    for (key, value) in [
        ("stop_reason", json!("user_abort")),
        ("stop_reason", json!("context_limit")),
        ("agent_id", json!("hook-agent-1")),
    ] {
        let mut input = sandbox.payload("Stop");
        input[key] = value;
        assert_eq!(blocked(&sandbox.hook("stop", &input)), None, "{key}");
    }
    assert_eq!(status(&sandbox)["iteration"], 0);
    assert!(stop(&sandbox, "finished").is_some());
}

#[test]
fn what_is_saved_survives_the_daemon() {
    let sandbox = looping(&["--max-iterations", "3"]);
    assert_eq!(play(&sandbox, &["word = 'BAD'\n"]), [true]);
    let daemon = sandbox.run(&["daemon", "status", "--json"]).json();
    let pid = daemon["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    kill_process(pid.expect("a daemon runs"), Signal::KILL).expect("it is ours");
    assert_eq!(status(&sandbox)["iteration"], 1, "it was saved before the reply");
    assert_eq!(play(&sandbox, &["word = ['BAD', 1]\n"]), [true]);
    sandbox.run(&["daemon", "stop"]);
    assert_eq!(play(&sandbox, &["word = ['BAD', 2]\n"]), [false]);
    assert_eq!(status(&sandbox)["status"], "max_iterations");
}

#[test]
fn a_removed_state_is_not_made_again() {
    let sandbox = looping(&["--max-iterations", "3"]);
    sandbox.run(&["daemon", "stop"]);
    std::fs::remove_dir_all(sandbox.base().join("state")).expect("the state is ours");
    sandbox.write("app.py", "word = 'BAD'\n");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(sandbox.run(&["loop", "status", "--json"]).stdout.trim(), "null");
}

#[test]
fn a_missing_server_that_is_required_pauses_and_goes_on_when_it_is_there() {
    let mut sandbox = project();
    sandbox.set("MOAI_RALPH_LSP_REQUIRED", "true");
    std::fs::remove_file(sandbox.base().join("bin/pyright-langserver")).expect("it was there");
    sandbox.set("MOAI_RALPH_DATA", sandbox.base().join("empty"));
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    let paused = status(&sandbox);
    assert_eq!(
        (&paused["status"], &paused["pause_reason"]),
        (&json!("paused"), &json!("lsp_required"))
    );
    sandbox.fake_server("pyright-langserver", json!({}));
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    sandbox.write("app.py", CLEAN);
    sandbox.write("more.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}
