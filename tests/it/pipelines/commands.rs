//! Slash commands, the keyword in a prompt, and bug fixes without a plan.

use serde_json::{Value, json};

use super::{PLAN, notice, pipeline, plan_path, status, stop, stop_output};
use crate::support::{Output, SESSION, Sandbox};

fn command(sandbox: &Sandbox, name: &str, typed: &str) -> Output {
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = name.into();
    input["command_args"] = typed.into();
    input["prompt"] = format!("/{name} {typed}").into();
    sandbox.hook("user-prompt-expansion", &input)
}

fn prompt(sandbox: &Sandbox, text: &str) -> String {
    let mut input = sandbox.payload("UserPromptSubmit");
    input["prompt"] = text.into();
    sandbox.hook("user-prompt-submit", &input).context()
}

fn state(sandbox: &Sandbox) -> Value {
    let output = pipeline(sandbox, &["status", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

#[test]
fn a_pipeline_is_led_by_slash_commands_and_the_seeds_names_mean_the_same() {
    for (start, run) in [("moai-ralph:alfred", "moai-run"), ("uam-small", "uam-run")] {
        let sandbox = Sandbox::new();
        sandbox.commit();
        let told = command(&sandbox, start, "write $(touch x) \"two\" files").context();
        assert!(told.starts_with("[moai-ralph]") && told.contains("### [ ] TODO 1"), "{told}");
        assert_eq!(status(&sandbox)["goal"], "write $(touch x) \"two\" files");
        sandbox.write(&plan_path(&sandbox), PLAN);
        assert_eq!(command(&sandbox, run, "").json()["decision"], "block", "it is shown first");
        let told = command(&sandbox, run, "").context();
        assert!(told.contains("frozen"), "{told}");
        assert_eq!(status(&sandbox)["approved_by"], "person");
        let told = command(&sandbox, "pipeline-status", "").context();
        assert!(told.contains("TODO-1"), "{told}");
        assert!(!command(&sandbox, "pipeline-cancel", "").context().is_empty());
        assert_eq!(status(&sandbox)["outcome"], "cancelled");
        let told = command(&sandbox, "uam-resume", "").context();
        assert!(told.contains("TODO-2"), "{told}");
        let second = command(&sandbox, "alfred", "another").json();
        assert_eq!(second["decision"], "block", "{second}");
        assert!(!sandbox.path("x").exists());
    }
}

#[test]
fn the_keyword_starts_a_pipeline_unless_it_is_quoted_denied_or_part_of_something() {
    let sandbox = Sandbox::new();
    sandbox.commit();
    for text in ["fix `uam` in the docs", "do not use uam here", "open src/uam/main.rs", "hello"] {
        assert!(!prompt(&sandbox, text).contains("pipeline"), "{text}");
    }
    assert_eq!(state(&sandbox), Value::Null);
    let told = prompt(&sandbox, "uam small 로 파일 두 개를 만들어 줘");
    assert!(told.contains("계획"), "{told}");
    assert_eq!(status(&sandbox)["kind"], "small");
    let told = prompt(&sandbox, "uam bugfix the crash");
    assert!(told.contains("already active"), "{told}");
}

#[test]
fn a_fault_that_is_not_fixed_in_three_attempts_is_escalated() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".moai/config/sections/ralph.yaml",
        "ralph:\n  loop:\n    checks: [{name: unit, command: [test, -f, fixed.txt]}]\n",
    );
    sandbox.commit();
    let arguments = ["start", "--kind", "bugfix", "--goal", "the crash", "--session", SESSION];
    let output = pipeline(&sandbox, &arguments);
    assert!(output.stdout.contains("3 attempts"), "{output:#?}");
    for attempt in 1..=2 {
        sandbox.write("try.txt", &format!("{attempt}\n"));
        assert!(stop(&sandbox).is_some(), "attempt {attempt}");
    }
    sandbox.write("try.txt", "3\n");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("may need a plan"), "{answer}");
    assert!(notice(&answer).contains("--kind full"), "{answer}");
    assert_eq!(status(&sandbox)["outcome"], "escalated");
    // Continued, it has its attempts again.
    assert_eq!(pipeline(&sandbox, &["resume", "--session", SESSION]).code, 0);
    sandbox.write("fixed.txt", "");
    assert_eq!(stop(&sandbox), None);
    let status = status(&sandbox);
    assert_eq!((&status["phase"], &status["outcome"]), (&json!("ended"), &json!("completed")));
}
