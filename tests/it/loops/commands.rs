//! The loop commands: their output, refusals and exit codes.

use serde_json::{Value, json};

use super::{DIRTY, FIXED, blocked, looping, project, start, status, stop};
use crate::mcp_client::Client;
use crate::support::{SESSION, Sandbox};

/// A slash command of this session.
pub(super) fn expand(sandbox: &Sandbox, name: &str, typed: &str) -> crate::support::Output {
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = format!("moai-ralph:{name}").into();
    input["command_args"] = typed.into();
    sandbox.hook("user-prompt-expansion", &input)
}

#[test]
fn the_status_document_keeps_the_contract() {
    let sandbox = looping(&["--milestone-every", "4", "--max-minutes", "60", "--force-max"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    let status = status(&sandbox);
    for key in [
        "schema",
        "id",
        "session_id",
        "mode",
        "status",
        "iteration",
        "max_iterations",
        "goal",
        "prompt",
        "consecutive_rejections",
        "remaining",
        "forecast_iterations",
        "pause_reason",
        "branch",
        "history",
        "terminal",
    ] {
        assert!(status.get(key).is_some(), "{key} is missing: {status:#}");
    }
    assert_eq!(status["remaining"], json!({"error": 1, "warning": 0, "checks_failed": []}));
    let first = &status["history"][0];
    assert_eq!(
        (&first["n"], &first["errors"], &first["verdict"]),
        (&json!(1), &json!(1), &json!("continue"))
    );
    assert!(first.get("checkpoint").is_some() && first["at"].is_string());
    assert_eq!(status["options"]["milestone_every"], 4);
    assert_eq!(status["options"]["force_max"], true);
    assert_eq!(status["terminal"], Value::Null);
}

#[test]
fn a_prompt_survives_byte_for_byte() {
    let sandbox = project();
    let body = "fix \"all\" $(touch x) `touch y`; 'q'\r\n---\nactive: false\n---\n한글 — ω\n";
    let long = format!("{body}{}", "고치기 ".repeat(10_000));
    for prompt in [body, &long] {
        let arguments = ["loop", "start", "--session", SESSION, "--prompt-file", "-", "--json"];
        let begun = sandbox.run_with(&arguments, prompt);
        assert_eq!(begun.code, 0, "{}", begun.stderr);
        assert_eq!(status(&sandbox)["prompt"], prompt);
        sandbox.run(&["loop", "cancel"]);
    }
    assert!(!sandbox.path("x").exists() && !sandbox.path("y").exists());
}

#[test]
fn options_that_make_no_sense_are_refused_and_nothing_is_started() {
    let sandbox = project();
    for options in [
        &["--milestone-every", "0"] as &[&str],
        &["--max-minutes", "0"],
        &["--max-tokens", "0"],
        &["--hitl-threshold", "0"],
        &["--workers", "2"],
        &["--base-branch", "main"],
        &["--mode", "wild"],
        &["--max-minutes", "soon"],
        &["--research", "--no-research"],
    ] {
        let output = start(&sandbox, options);
        assert_eq!(output.code, 3, "{options:?}: {output:#?}");
    }
    assert_eq!(sandbox.run(&["loop", "status", "--json"]).stdout.trim(), "null");
}

#[test]
fn pausing_and_resuming_twice_is_the_same_as_once() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["loop", "pause"]).code, 0);
        assert_eq!(stop(&sandbox, "finished"), None);
    }
    assert_eq!(status(&sandbox)["pause_reason"], "user");
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["loop", "resume", "--max-iterations", "7"]).code, 0);
    }
    let running = status(&sandbox);
    assert_eq!((&running["status"], &running["max_iterations"]), (&json!("running"), &json!(7)));
    assert_eq!(running["iteration"], 0, "a paused Stop does not count");
    assert!(stop(&sandbox, "finished").is_some());
    sandbox.run(&["loop", "pause"]);
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0, "cancelling works in every state");
    assert_eq!(sandbox.run(&["loop", "pause"]).code, 1);
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 1);
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
}

#[test]
fn a_loop_that_ended_at_its_limit_goes_on_when_it_is_raised() {
    let sandbox = looping(&["--max-iterations", "1"]);
    sandbox.write("app.py", DIRTY);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "max_iterations");
    let refused = sandbox.run(&["loop", "resume"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--max-iterations"), "{refused:#?}");
    let told = expand(&sandbox, "moai-resume", "--max-iterations 3").context();
    assert!(told.contains("iteration 2 of 3") && told.contains("fix it"), "{told}");
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_loop_is_not_resumed_beside_another_one_of_its_session() {
    let sandbox = looping(&["--max-iterations", "1"]);
    sandbox.write("app.py", DIRTY);
    assert_eq!(stop(&sandbox, "finished"), None);
    let ended = status(&sandbox)["id"].as_str().expect("a loop has an id").to_owned();
    assert_eq!(start(&sandbox, &[]).code, 0, "there is room for a new one");
    let resume = ["loop", "resume", &ended, "--max-iterations", "3"];
    let refused = sandbox.run(&resume);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("another active loop"), "{refused:#?}");
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    assert_eq!(sandbox.run(&resume).code, 0);
    assert_eq!(status(&sandbox)["id"], ended);
}

#[test]
fn history_and_report_tell_how_it_went() {
    let sandbox = looping(&["--completion-promise", "DONE", "--max-iterations", "9"]);
    let none = sandbox.run(&["loop", "history"]);
    assert!(none.stdout.contains("no Stop yet"), "{none:#?}");
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "All tests pass.\n<promise>DONE</promise>").is_some());
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "Now it works.\n<promise>DONE</promise>"), None);
    let history = sandbox.run(&["loop", "history"]).stdout;
    assert!(history.contains("  1 ") && history.contains("completed (best)"), "{history}");
    let report = sandbox.run(&["loop", "report"]).stdout;
    for part in [
        "Claim:",
        "Now it works.",
        "Evidence:",
        "pyright 1.0: clean",
        "Before:",
        "at the first Stop: 1 error",
        "Gaps:",
        "Residual risk:",
    ] {
        assert!(report.contains(part), "{part} is not in {report}");
    }
    let document = sandbox.run(&["loop", "report", "--json"]).json();
    assert_eq!((&document["status"], &document["best"]), (&json!("completed"), &json!(2)));
    for part in ["claim", "evidence", "before", "gaps", "residual_risk"] {
        assert!(document[part].as_array().is_some_and(|lines| !lines.is_empty()), "{part}");
    }
    assert_eq!(sandbox.run(&["loop", "report", "loop-00000000"]).code, 1);
    assert_eq!(sandbox.run(&["loop", "history", "loop-00000000"]).code, 1);
}

#[test]
fn slash_commands_tell_the_status_and_refuse_what_they_do_not_know() {
    let sandbox = project();
    assert!(expand(&sandbox, "moai-status", "").context().contains("had no loop"));
    assert!(blocked(&expand(&sandbox, "moai-resume", "")).is_some());
    sandbox.write("RUBRIC.md", "## Judge criteria\n- The word is sensible.\n");
    let typed = "fix it --mode judge --hitl-threshold 2 --no-research --max-minutes 30";
    let begun = expand(&sandbox, "moai-loop", typed).context();
    assert!(begun.starts_with("[moai-ralph]"), "{begun}");
    let status = status(&sandbox);
    assert_eq!(
        (&status["mode"], &status["options"]["hitl_threshold"]),
        (&json!("judge"), &json!(2))
    );
    assert_eq!(status["options"]["research"], false);
    let told = expand(&sandbox, "moai-status", "").context();
    assert!(told.starts_with("[moai-ralph]") && told.contains("judge mode"), "{told}");
    let refused = blocked(&expand(&sandbox, "moai-resume", "please")).expect("no such option");
    assert!(refused.contains("--max-iterations"), "{refused}");
    let again = blocked(&expand(&sandbox, "moai-loop", "more")).expect("one loop per session");
    assert!(again.contains("already active"), "{again}");
    assert!(expand(&sandbox, "cancel-loop", "").context().contains("was cancelled"));
}

#[test]
fn ralph_is_another_name_for_the_commands_of_a_loop() {
    let sandbox = project();
    let begun = expand(&sandbox, "ralph", "start fix it --max-iterations 3").context();
    assert!(begun.starts_with("[moai-ralph]") && begun.contains("fix it"), "{begun}");
    assert_eq!(status(&sandbox)["max_iterations"], 3);
    assert!(expand(&sandbox, "ralph", "status").context().contains("iteration"));
    let options = expand(&sandbox, "ralph", "config").context();
    assert!(options.contains("loop.max_iterations: 10 (default)"), "{options}");
    let shown = expand(&sandbox, "ralph", "config max_iterations 900").context();
    assert!(shown.contains("Not changed") && shown.contains("config set loop.max_iterations"));
    let unchanged = sandbox.run(&["config", "show", "loop.max_iterations"]).stdout;
    assert_eq!(unchanged, "loop.max_iterations: 10 (default)\n");
    assert!(blocked(&expand(&sandbox, "ralph", "config nonsense")).is_some());
    let unknown = blocked(&expand(&sandbox, "ralph", "begin it")).expect("no such subcommand");
    assert!(unknown.contains("start GOAL"), "{unknown}");
    assert!(expand(&sandbox, "ralph", "stop").context().contains("was cancelled"));
}

#[test]
fn an_agent_starts_looks_at_and_cancels_the_loop_of_its_own_session() {
    let mut sandbox = project();
    sandbox.set("CLAUDE_CODE_SESSION_ID", SESSION);
    let mut client = Client::start(&sandbox);
    let none = client.tool("loop_status", &json!({}));
    assert_eq!(none["result"]["structuredContent"], json!({"loop": null}));
    let begun = client.tool("loop_start", &json!({"prompt": "fix it", "max_iterations": 4}));
    let shown = &begun["result"]["structuredContent"]["loop"];
    assert_eq!((&shown["status"], &shown["max_iterations"]), (&json!("running"), &json!(4)));
    assert_eq!(status(&sandbox)["session_id"], SESSION);
    let second = client.tool("loop_start", &json!({"prompt": "more"}));
    assert_eq!(second["result"]["isError"], true, "{second}");
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    let told = client.tool("loop_status", &json!({}));
    assert_eq!(told["result"]["structuredContent"]["loop"]["errors"], 1);
    let other = client.tool("loop_status", &json!({"session": "another"}));
    assert_eq!(other["result"]["isError"], true, "{other}");
    let over = client.tool("loop_cancel", &json!({}));
    assert_eq!(over["result"]["structuredContent"]["loop"]["status"], "cancelled");
    client.end();
    assert_eq!(stop(&sandbox, "finished"), None);
}
