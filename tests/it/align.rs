//! The alignment before a loop: the command gives the agent the form, and an open question prevents
//! a start.

use crate::support::{Output, SESSION, Sandbox};

const FILE: &str = ".claude/gulf-align.md";

fn typed(sandbox: &Sandbox, command: &str, arguments: &str) -> Output {
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = format!("moai-ralph:{command}").into();
    input["command_args"] = arguments.into();
    sandbox.hook("user-prompt-expansion", &input)
}

fn is_active(sandbox: &Sandbox) -> bool {
    let status = sandbox.run(&["loop", "status", "--json"]);
    status.code == 0 && status.json()["status"] == "running"
}

#[test]
fn the_command_hands_over_the_task_and_a_form_that_can_be_filled_in() {
    let sandbox = Sandbox::new();
    let text = typed(&sandbox, "moai-align", "log in \"all\" $(users)").context();
    assert!(text.starts_with("[moai-ralph] "), "{text}");
    assert!(text.contains("log in \"all\" $(users)\n"), "{text}");
    for part in ["Specification", "Process", "Evaluation"] {
        assert!(text.contains(&format!("## {part} Alignment\n")), "{text}");
    }
    assert!(text.contains("- **Blocking questions**: "), "{text}");
    assert!(!sandbox.path(FILE).exists(), "the agent writes it");
    sandbox.write(FILE, "## Process Alignment\n");
    let korean = typed(&sandbox, "moai-align", "로그인을 만들어줘").context();
    assert!(korean.contains("이미") && korean.contains("로그인을 만들어줘"), "{korean}");
}

#[test]
fn an_open_question_stops_every_start_until_it_is_answered() {
    let sandbox = Sandbox::new();
    let file = |question: &str| {
        format!("## Gulf of Envisioning — Gap Check\n- **Blocking questions**:\n  - {question}\n")
    };
    sandbox.write(FILE, &file("[ ] Which database?"));
    let start = ["loop", "start", "--session", SESSION, "--prompt", "build it"];
    let output = sandbox.run(&start);
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stderr.contains("\n  - Which database?\n"), "{output:#?}");
    let output = typed(&sandbox, "moai-loop", "build it");
    let answer = output.json();
    assert_eq!(answer["decision"], "block", "{output:#?}");
    let reason = answer["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("[moai-ralph] no loop started"), "{reason}");
    assert!(!is_active(&sandbox));
    let latin = [file("[ ] Which database?").into_bytes(), vec![0xe9]].concat();
    std::fs::write(sandbox.path(FILE), latin).expect("written");
    let output = sandbox.run(&start);
    assert!(output.code == 1 && output.stderr.contains("cannot be read"), "{output:#?}");
    assert!(!is_active(&sandbox), "what cannot be read may ask something");
    sandbox.write(FILE, &file("[x] Which database? → Postgres"));
    let output = sandbox.run(&start);
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(is_active(&sandbox));
}
