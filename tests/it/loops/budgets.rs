//! Limits that a project sets on a loop between two Stops: a share of the context, and a pace.

use std::fs;

use serde_json::{Value, json};

use super::crashes::{daemon, kill, stop_beside};
use super::{DIRTY, FIXED, blocked, iteration, notice, project, start, status};
use crate::support::{Output, PATIENCE, Sandbox, eventually, write_file};

const OPTIONS: &str = ".moai/config/sections/ralph.yaml";
const COMPACTED: &str = "{\"type\":\"system\",\"subtype\":\"compact_boundary\"}\n";

fn set(sandbox: &Sandbox, options: &str) {
    sandbox.write(OPTIONS, &format!("ralph: {{loop: {{{options}}}}}\n"));
}

/// A loop in a project with these options.
fn looping(options: &str) -> Sandbox {
    let sandbox = project();
    set(&sandbox, options);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", DIRTY);
    sandbox
}

/// A line of a transcript: a reply that read this many tokens, most of them from the cache.
fn reply(id: &str, model: &str, tokens: u64) -> String {
    let usage = json!({
        "input_tokens": 1_000, "cache_read_input_tokens": tokens - 2_500,
        "cache_creation_input_tokens": 1_000, "output_tokens": 500,
    });
    let message = json!({"id": id, "model": model, "usage": usage});
    format!("{}\n", json!({"type": "assistant", "requestId": id, "message": message}))
}

/// One Stop whose session has this transcript; an empty one does not exist.
fn stop_with(sandbox: &Sandbox, transcript: &str) -> Output {
    let path = sandbox.base().join("transcript.jsonl");
    if !transcript.is_empty() {
        write_file(&path, transcript);
    }
    let mut input = sandbox.payload("Stop");
    input["transcript_path"] = json!(path);
    sandbox.hook("stop", &input)
}

#[test]
fn a_full_context_pauses_the_loop_until_there_is_room() {
    let sandbox = looping("context_budget: 0.6");
    // Each time a little better, or the loop would stall.
    let bad =
        |count: usize| sandbox.write("app.py", &format!("word = [{}]\n", "'BAD', ".repeat(count)));
    bad(4);
    let half = reply("m1", "claude-opus-4-5", 100_000);
    assert!(blocked(&stop_with(&sandbox, &half)).is_some(), "half of it is filled");
    bad(3);
    let full = half + &reply("m2", "claude-opus-4-5", 152_340);
    let output = stop_with(&sandbox, &full);
    assert_eq!(blocked(&output), None);
    let told = notice(&output);
    assert!(told.contains("152,340 of the 200,000 tokens of claude-opus-4-5"), "{told}");
    assert!(told.contains("76 %; the budget is 60 %") && told.contains("/compact"), "{told}");
    assert!(told.contains("/moai-ralph:moai-resume"), "{told}");
    let paused = status(&sandbox);
    assert_eq!(
        (&paused["status"], &paused["pause_reason"]),
        (&json!("paused"), &json!("context_budget"))
    );
    let text = sandbox.run(&["loop", "status"]).stdout;
    assert!(text.contains("paused: context_budget (/compact, then moai-ralph loop resume)"));
    assert!(text.contains("152,340 of the 200,000"), "{text}");
    // Resumed without a higher limit, the next Stop finds the same.
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    bad(2);
    assert_eq!(blocked(&stop_with(&sandbox, &full)), None);
    assert_eq!(status(&sandbox)["pause_reason"], "context_budget");
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    let compacted = full + COMPACTED + &reply("m3", "claude-opus-4-5", 20_000);
    bad(1);
    assert!(blocked(&stop_with(&sandbox, &compacted)).is_some(), "there is room again");
    // A loop that is done completes, however full the context is.
    sandbox.write("app.py", FIXED);
    let full = compacted + &reply("m4", "claude-opus-4-5", 199_000);
    assert!(notice(&stop_with(&sandbox, &full)).contains("completed"));
}

/// The notice of a held Stop.
fn aside(output: &Output) -> Value {
    assert!(blocked(output).is_some(), "{output:#?}");
    output.json()["systemMessage"].clone()
}

#[test]
fn a_context_that_nobody_can_measure_is_told_once_and_holds_nothing_up() {
    let sandbox = looping("context_budget: 0.6");
    let told = aside(&stop_with(&sandbox, "")).to_string();
    assert!(told.contains("loop.context_budget has no effect"), "{told}");
    assert!(told.contains("a transcript cannot be read"), "{told}");
    let unknown = reply("m1", "gpt-9", 900_000);
    let told = aside(&stop_with(&sandbox, &unknown)).to_string();
    assert!(told.contains("gpt-9 is unknown: set loop.context_window"), "{told}");
    sandbox.write("app.py", "word = ['BAD', 1]\n");
    assert_eq!(aside(&stop_with(&sandbox, &unknown)), Value::Null, "it was told already");

    let sandbox = looping("context_budget: 0.6, context_window: 1000000");
    let told = notice(&stop_with(&sandbox, &unknown));
    assert!(told.contains("900,000 of the 1,000,000 tokens of gpt-9"), "{told}");
    // Without a budget, the context is not measured.
    let sandbox = looping("context_window: 1000000");
    assert_eq!(aside(&stop_with(&sandbox, &unknown)), Value::Null);
}

fn until_decided(sandbox: &Sandbox) {
    let decided = || (iteration(&status(sandbox)) == 1).then_some(());
    eventually(PATIENCE, decided).expect("the Stop is decided and saved");
}

#[test]
fn what_happens_to_a_loop_while_its_answer_is_held_back_counts() {
    let cooling = "cooldown_ms: 15000";
    let (ended, paused) = (looping(cooling), looping(cooling));
    let stops = [stop_beside(&ended), stop_beside(&paused)];
    for (sandbox, act) in [(&ended, "cancel"), (&paused, "pause")] {
        until_decided(sandbox);
        assert_eq!(sandbox.run(&["loop", act]).code, 0);
    }
    let [ended, paused] = stops.map(|stop| stop.join().expect("the hook ends"));
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""));
    assert_eq!(blocked(&paused), None);
    assert!(notice(&paused).contains("paused after 1 iteration: by the user"), "{paused:#?}");
}

#[test]
fn killed_while_its_answer_is_held_back_a_stop_is_answered_as_it_was_decided() {
    let sandbox = looping("cooldown_ms: 60000");
    let stopping = stop_beside(&sandbox);
    until_decided(&sandbox);
    assert!(!stopping.is_finished(), "the answer is held back");
    // The next daemon need not wait.
    fs::remove_file(sandbox.path(OPTIONS)).expect("there");
    kill(daemon(&sandbox));
    let reason = blocked(&stopping.join().expect("the hook ends")).expect("it goes on");
    assert!(reason.contains("Iteration 2 of 5"), "{reason}");
    assert_eq!(iteration(&status(&sandbox)), 1);
}
