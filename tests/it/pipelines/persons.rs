//! Decisions that only a person makes: the approval of a plan, `[H]` items, and proposals in conflict with a
//! provisional constraint. An agent asks, and its own answer does not count.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    GOAL, PLAN, approve, approved, begun, notice, pipeline, plan_path, slash, status, stop,
    stop_output,
};
use crate::support::{Output, PROGRAM, SESSION, Sandbox, eventually, finish, write_file};
use crate::terminal;

const WITH_ITEM: &str = "\
# PLAN: a mail

### [ ] TODO 1: the mail
- Acceptance Criteria:
  - [A] `test -f mail.txt` passes
  - [H] it reads well
";

/// The arguments of `AskUserQuestion` that a text tells the agent to use.
fn asked_in(text: &str) -> Value {
    let at = text.find("{\"questions\"").unwrap_or_else(|| panic!("nothing to ask: {text}"));
    let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
    values.next().expect("a value").expect("JSON")
}

/// The host reports the user's choice in its dialog: returns the context for the agent.
fn choose(sandbox: &Sandbox, asked: &Value, label: &str, changes: &[(&str, Value)]) -> String {
    let question = asked["questions"][0]["question"].as_str().expect("a question");
    let mut input = sandbox.payload("PostToolUse-Write");
    input["tool_name"] = "AskUserQuestion".into();
    input["tool_input"] = asked.clone();
    input["tool_response"] = json!({"questions": asked["questions"], "answers": {question: label}});
    for (pointer, value) in changes {
        input[*pointer] = value.clone();
    }
    let output = sandbox.hook("post-tool-use", &input);
    assert_eq!(output.code, 0, "{output:#?}");
    if output.stdout.trim().is_empty() { String::new() } else { output.context() }
}

/// A command that an agent runs in its shell.
fn by_agent(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    finish(sandbox.program().env("CLAUDECODE", "1").arg("pipeline").args(arguments), "")
}

/// The text for an agent that runs `pipeline approve` itself.
fn asked_of_agent(sandbox: &Sandbox) -> Value {
    let output = by_agent(sandbox, &["approve"]);
    assert_eq!(output.code, 1, "{output:#?}");
    asked_in(&output.stderr)
}

#[test]
fn an_agent_cannot_approve_and_the_users_answer_in_the_host_does() {
    let sandbox = begun(GOAL);
    let path = plan_path(&sandbox);
    sandbox.write(&path, PLAN);
    let asked = asked_of_agent(&sandbox);
    assert_eq!(status(&sandbox)["phase"], "plan");
    // A reworded question, a reworded option, a subagent, a dialog that timed out, another answer.
    let mut reworded = asked.clone();
    reworded["questions"][0]["question"] = "Do you like tea?".into();
    let mut twisted = asked.clone();
    twisted["questions"][0]["options"][0]["description"] = "Only shows the plan".into();
    let response = json!({"questions": asked["questions"], "afkTimeoutMs": 60_000,
        "answers": {asked["questions"][0]["question"].as_str().expect("text"): "Approve"}});
    for (question, label, changes, expected) in [
        (&reworded, "Approve", vec![], ""),
        (&twisted, "Approve", vec![], "the answer was ignored"),
        (&asked, "Approve", vec![("agent_id", json!("a1"))], ""),
        (&asked, "Approve", vec![("tool_response", response)], ""),
        (&asked, "Change it", vec![], "does not approve the plan"),
        (&asked, "Approve it later", vec![], "does not approve the plan"),
    ] {
        let told = choose(&sandbox, question, label, &changes);
        assert!(told.contains(expected), "{told}");
        assert_eq!(told.is_empty(), expected.is_empty(), "{label}: {told}");
        assert_eq!(status(&sandbox)["phase"], "plan", "{question} {label}");
    }
    // The plan that was asked about is the plan that is approved.
    sandbox.write(&path, &PLAN.replace("two files", "three files"));
    let told = choose(&sandbox, &asked, "Approve", &[]);
    assert!(
        told.contains("the answer was ignored") && status(&sandbox)["phase"] == "plan",
        "{told}"
    );
    sandbox.write(&path, PLAN);
    let told = choose(&sandbox, &asked, "Approve", &[]);
    assert!(told.contains("is approved"), "{told}");
    let now = status(&sandbox);
    assert_eq!((&now["phase"], &now["approved_by"]), (&json!("sprint"), &json!("question")));
}

#[test]
fn an_agent_learns_that_the_user_declines_what_it_added_to_the_plan() {
    let sandbox = approved(PLAN);
    let more = format!("{PLAN}\n### [ ] TODO 3: a third file\n- [A] `test -f three.txt`\n");
    sandbox.write(&plan_path(&sandbox), &more);
    let asked = asked_of_agent(&sandbox);
    for answer in ["Change it", "two files are enough"] {
        let told = choose(&sandbox, &asked, answer, &[]);
        assert!(told.contains("still not approved: TODO-3 (line"), "{answer}: {told}");
        assert!(told.contains("Change or remove them"), "{answer}: {told}");
    }
}

#[test]
fn a_person_at_a_terminal_approves_with_a_code_and_a_script_does_not() {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), PLAN);
    let refused = pipeline(&sandbox, &["approve"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("stdin is not a terminal"), "{refused:#?}");
    let mut program = terminal::at_own_terminal(&sandbox, &["pipeline", "approve"]);
    let wrong = terminal::at_code_question(&mut program, |_| "AAAAAA".to_owned());
    assert_eq!(wrong.code, 1, "{wrong:#?}");
    assert_eq!(status(&sandbox)["phase"], "plan");
    let output = terminal::with_code(&sandbox, &["pipeline", "approve"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert_eq!(status(&sandbox)["approved_by"], "person");
}

#[test]
fn what_a_person_decides_at_a_terminal_reaches_the_agent_with_its_next_prompt() {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), WITH_ITEM);
    let submit = || sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    submit();
    let decided = |arguments: &[&str]| {
        let output = terminal::with_code(&sandbox, &[&["pipeline"], arguments].concat());
        assert_eq!(output.code, 0, "{output:#?}");
        submit().context()
    };
    let told = decided(&["approve"]);
    assert!(told.contains("(approved by a person)") && told.contains("[ ] TODO-1"), "{told}");
    sandbox.write("mail.txt", "Dear user\n");
    assert!(stop(&sandbox).is_some(), "nobody has read the mail");
    let arguments = ["pipeline", "answer", "TODO-1/AC-2", "no"];
    let shown = terminal::with_code(&sandbox, &arguments);
    assert!(shown.stdout.contains("you declined TODO-1/AC-2"), "{shown:#?}");
    assert!(!shown.stdout.contains("Ask what is missing"), "{shown:#?}");
    let told = submit().context();
    assert!(told.contains("the user does not agree to TODO-1/AC-2"), "{told}");
    assert!(!submit().context().contains("does not agree"), "it is said once");
    let told = decided(&["cancel"]);
    assert!(told.contains("is cancelled, and its files stay"), "{told}");
}

#[test]
fn an_agent_that_plays_the_hook_of_an_answer_is_not_believed() {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), PLAN);
    let asked = asked_of_agent(&sandbox);
    let question = asked["questions"][0]["question"].as_str().expect("a question");
    let mut input = sandbox.payload("PostToolUse-Write");
    input["tool_name"] = "AskUserQuestion".into();
    input["tool_response"] =
        json!({"questions": asked["questions"], "answers": {question: "Approve"}});
    let mut typed = sandbox.payload("UserPromptExpansion");
    typed["command_name"] = "moai-ralph:moai-run".into();
    typed["command_args"] = "".into();
    for (event, input) in [("post-tool-use", input), ("user-prompt-expansion", typed)] {
        // The agent's shell has the host's variables; a script in it starts the hook.
        let mut shell = std::process::Command::new("sh");
        sandbox.prepare(&mut shell);
        shell.env("CLAUDECODE", "1").arg("-c").arg(format!("{PROGRAM} hook {event}; exit $?"));
        let output = finish(&mut shell, &input.to_string());
        assert_eq!(output.code, 0, "{output:#?}");
        assert_eq!(status(&sandbox)["phase"], "plan", "{event}");
    }
    let mut call = sandbox.payload("PreToolUse-Bash");
    call["tool_name"] = "AskUserQuestion".into();
    call["tool_input"] = asked.clone();
    assert_eq!(sandbox.hook("pre-tool-use", &call).stdout, "");
    call["tool_input"]["answers"] = json!({question: "Approve"});
    let denied = sandbox.hook("pre-tool-use", &call).json();
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny", "{denied}");
}

#[test]
fn faults_of_the_specification_keep_its_plan_from_being_approved() {
    let sandbox = begun(GOAL);
    let path = plan_path(&sandbox);
    sandbox.write(&path, &PLAN.replace("none", "none\n- Requirements: REQ-FILES-001"));
    let output = pipeline(&sandbox, &["approve"]);
    let told = format!("{path} line 5: TODO-1 names `REQ-FILES-001`, which spec.md does not have");
    assert_eq!(output.code, 1);
    assert!(output.stderr.replace('"', "`").contains(&told), "{output:#?}");
    let spec = path.replace("plan.md", "spec.md");
    sandbox.write(&spec, "# Files\n\n### REQ-FILES-001: two\n- there are two files\n");
    let reason = stop(&sandbox).expect("the requirement says nothing that the system shall do");
    assert!(reason.contains(&format!("{spec} line 4")), "{reason}");
    sandbox.write(&spec, "# Files\n\n### REQ-FILES-001: two\n- The system shall have two files.\n");
    assert!(notice(&stop_output(&sandbox)).contains("waits for your approval"));
    approve(&sandbox);
}

#[test]
fn an_item_for_a_person_holds_the_end_until_one_agrees() {
    let sandbox = approved(WITH_ITEM);
    sandbox.write("mail.txt", "Dear user\n");
    let reason = stop(&sandbox).expect("nobody has read the mail");
    let asked = asked_in(&reason);
    assert!(reason.contains("TODO-1/AC-2") && reason.contains("it reads well"), "{reason}");
    let refused = by_agent(&sandbox, &["answer", "TODO-1/AC-2", "yes"]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("is for a person"), "{refused:#?}");
    let told = choose(&sandbox, &asked, "Not met", &[]);
    assert!(told.contains("does not agree"), "{told}");
    assert!(stop(&sandbox).is_some(), "it is asked again");
    assert!(stop(&sandbox).is_some());
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("Is TODO-1/AC-2 met (it reads well)?"), "{answer}");
    assert_eq!(status(&sandbox)["phase"], "finalize", "it waits, and has not ended");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("asks you: Is TODO-1/AC-2 met ("), "{shown}");
    // The answer continues the loop that waits for it.
    let output = terminal::with_code(&sandbox, &["pipeline", "answer", "TODO-1/AC-2", "yes"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert_eq!(stop(&sandbox), None);
    let ended = status(&sandbox);
    assert_eq!(ended["outcome"], "completed", "{ended}");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("TODO-1/AC-2: met"), "{report}");
}

#[test]
fn work_that_fails_again_is_shown_to_the_person_again() {
    let sandbox = approved(WITH_ITEM);
    sandbox.write("mail.txt", "Dear user\n");
    assert!(stop(&sandbox).is_some());
    let answer = slash(&sandbox, "pipeline-answer", "TODO-1/AC-2 yes");
    assert!(answer["hookSpecificOutput"]["additionalContext"].is_string(), "{answer}");
    std::fs::remove_file(sandbox.path("mail.txt")).expect("ours");
    assert!(stop(&sandbox).is_some());
    sandbox.write("mail.txt", "Another mail\n");
    let reason = stop(&sandbox).expect("this mail was not read");
    assert!(reason.contains("TODO-1/AC-2"), "{reason}");
    let wrong = slash(&sandbox, "pipeline-answer", "TODO-9/AC-1 yes");
    assert_eq!(wrong["decision"], "block", "{wrong}");
}

#[test]
fn a_pipeline_that_ends_at_a_limit_names_what_no_person_has_agreed_to() {
    let sandbox = approved(WITH_ITEM);
    while stop(&sandbox).is_some() {}
    let ended = status(&sandbox);
    assert_eq!(ended["outcome"], "partial", "{ended}");
    let note = ended["note"].as_str().unwrap_or_default();
    assert!(note.contains("still to be done: TODO-1") && note.contains("TODO-1/AC-2"), "{note}");
}

#[test]
fn a_proposal_against_a_provisional_constraint_holds_the_pipeline_until_a_person_answers() {
    let sandbox = approved(PLAN);
    let arguments = ["spec", "pivot", "add", "no web", "--forbids", "server", "--reason", "x"];
    assert_eq!(sandbox.run(&arguments).code, 0);
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    let mut input = sandbox.payload("SubagentStop");
    input["agent_type"] = "moai-ralph:worker".into();
    input["last_assistant_message"] = json!({
        "todo_id": "TODO-1", "status": "PASS",
        "outputs": {"files_changed": [], "summary": "written"},
        "acceptance_criteria": [{"id": "AC-1", "status": "PASS"}],
        "learnings": [], "issues": [], "decisions": [],
        "discoveries": ["a server is nicer"],
    })
    .to_string()
    .into();
    assert_eq!(sandbox.hook("subagent-stop", &input).stdout, "");
    let reason = stop(&sandbox).expect("the user decides about the proposal");
    assert!(reason.contains("D-1") && reason.contains("PP-1"), "{reason}");
    assert!(stop(&sandbox).is_some());
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("D-1"), "it waits: {answer}");
    // Another session of the project cannot end it either.
    let told = slash(&sandbox, "pipeline-answer", "d-1 no");
    assert!(told.to_string().contains("does not agree to D-1"), "{told}");
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("a server is nicer: rejected by the user: PP-1"), "{report}");
    assert_eq!(input["session_id"], SESSION);
}

#[test]
fn after_the_users_no_a_stop_says_so_and_what_to_change() {
    let sandbox = approved(WITH_ITEM);
    sandbox.write("mail.txt", "Dear user\n");
    let asked = asked_in(&stop(&sandbox).expect("nobody has read the mail"));
    choose(&sandbox, &asked, "Not met", &[]);
    let reason = stop(&sandbox).expect("it is not met");
    assert!(reason.contains("The user has answered no: TODO-1/AC-2 (it reads well)"), "{reason}");
    assert_eq!(asked_in(&reason), asked, "it is asked again in the same words");
    let more = format!("{WITH_ITEM}\n### [ ] TODO 2: a second mail\n- [A] `test -f two.txt`\n");
    sandbox.write(&plan_path(&sandbox), &more);
    choose(&sandbox, &asked_of_agent(&sandbox), "Change it", &[]);
    let reason = stop(&sandbox).expect("it is still there");
    assert!(reason.contains("The user has not approved"), "{reason}");
    assert!(reason.contains("still in it: TODO-2 (line"), "{reason}");
}

#[test]
fn a_plan_that_the_user_declined_is_shown_again_as_such() {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), PLAN);
    let asked = asked_of_agent(&sandbox);
    let told = choose(&sandbox, &asked, "only one file, please", &[]);
    assert!(told.contains("as it is, and says: only one file, please. Change the plan"), "{told}");
    let told = choose(&sandbox, &asked, "Change it", &[]);
    assert!(told.contains("Ask the user what to change, unless that was said"), "{told}");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("still as it was when you did not approve it"), "{answer}");
    sandbox.write(&plan_path(&sandbox), &PLAN.replace("two files", "both files"));
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("waits for your approval"), "{answer}");
}

#[test]
fn a_terminal_shows_what_is_accepted_before_the_code() {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), PLAN);
    let shown = |arguments: &[&str]| {
        let output = terminal::with_code(&sandbox, arguments);
        assert_eq!(output.code, 0, "{output:#?}");
        let (before, _) = output.stderr.split_once("Type ").expect("a code is asked for");
        before.to_owned()
    };
    let first = shown(&["pipeline", "approve"]);
    for command in ["TODO-1 `test -f one.txt`", "TODO-2 `grep -q two two.txt`"] {
        assert!(first.contains(command), "{command}: {first}");
    }
    sandbox.write("ready.sh", "true\n");
    let items = "- [A] `sh check.sh`\n- [A] `sh ready.sh`\n- [H] the third file reads well\n";
    let more = format!("{PLAN}\n### [ ] TODO 3: a third file\n{items}");
    sandbox.write(&plan_path(&sandbox), &more);
    let second = shown(&["pipeline", "approve"]);
    assert!(second.contains("TODO-3 `sh check.sh`") && !second.contains("TODO-1 `"), "{second}");
    assert!(second.contains("TODO-3 [H] the third file reads well"), "{second}");
    assert!(second.contains("frozen as they are now, so read them first: ready.sh"), "{second}");
    sandbox.write("check.sh", "true\n");
    let third = shown(&["loop", "refreeze", "--now"]);
    assert!(third.contains("check.sh"), "{third}");
}

#[test]
fn a_terminal_asks_in_the_language_of_the_goal() {
    let sandbox = begun("파일 두 개를 만들어 주세요");
    sandbox.write(&plan_path(&sandbox), PLAN);
    let output = terminal::with_code(&sandbox, &["pipeline", "approve"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stderr.contains("의 승인(pipeline approve)"), "{output:#?}");
    assert!(!output.stderr.contains("to accept"), "{output:#?}");
    let output = terminal::with_code(&sandbox, &["loop", "refreeze", "--now"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stderr.contains("검사 재고정(loop refreeze)"), "{output:#?}");
}

#[test]
fn a_code_accepts_only_what_was_shown_with_it() {
    let sandbox = begun(GOAL);
    let path = plan_path(&sandbox);
    sandbox.write(&path, &PLAN.replace("grep -q two two.txt", "sh check.sh"));
    sandbox.write("check.sh", "test -f two.txt\n");
    terminal::with_code(&sandbox, &["pipeline", "approve"]);
    sandbox.write("other.sh", "true\n");
    let mut program = terminal::at_own_terminal(&sandbox, &["loop", "refreeze", "--now"]);
    let refused = terminal::at_code_question(&mut program, |code| {
        sandbox.write("check.sh", "true\n");
        code.to_owned()
    });
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("what it accepts has changed since"), "{refused:#?}");
}

#[test]
fn what_was_decided_at_a_terminal_survives_the_daemon() {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), PLAN);
    let submit = || sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    submit();
    for restarts in [true, false] {
        assert_eq!(terminal::with_code(&sandbox, &["pipeline", "approve"]).code, 0);
        if restarts {
            assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        }
        let told = submit().context();
        assert!(told.contains("(approved by a person)"), "{restarts}: {told}");
        assert!(!submit().context().contains("(approved by a person)"), "it is said once");
        assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        assert!(!submit().context().contains("(approved by a person)"), "also later");
    }
}

#[test]
fn a_loop_that_is_cancelled_at_a_terminal_is_over_for_its_agent() {
    for restarts in [false, true] {
        let sandbox = approved(PLAN);
        let output = terminal::run(&sandbox, &["loop", "cancel"]);
        assert_eq!(output.code, 0, "{output:#?}");
        if restarts {
            assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        }
        let submit = || sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
        let told = submit().context();
        assert!(told.contains("the user has cancelled loop loop-"), "{restarts}: {told}");
        assert!(told.contains("is cancelled, and its files stay"), "{restarts}: {told}");
        assert!(!submit().context().contains("has cancelled"), "it is said once");
    }
}

#[test]
fn an_answer_is_no_task_any_more_once_its_pipeline_has_ended() {
    for restarts in [false, true] {
        let sandbox = approved(WITH_ITEM);
        sandbox.write("mail.txt", "Dear user\n");
        assert!(stop(&sandbox).is_some(), "nobody has read the mail");
        let arguments = ["pipeline", "answer", "TODO-1/AC-2", "yes"];
        assert_eq!(terminal::with_code(&sandbox, &arguments).code, 0);
        if restarts {
            assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        }
        assert_eq!(stop(&sandbox), None);
        assert_eq!(status(&sandbox)["outcome"], "completed");
        let input = sandbox.payload("UserPromptSubmit");
        let told = sandbox.hook("user-prompt-submit", &input).context();
        assert!(!told.contains("the user agrees to"), "{restarts}: {told}");
    }
}

#[test]
fn an_answer_during_a_stop_decides_that_stop() {
    let sandbox = begun(GOAL);
    let (slow, began) = (sandbox.base().join("slow"), sandbox.base().join("began"));
    let script = format!(
        "if test -e {slow}; then touch {began}; while test -e {slow}; do sleep 0.05; done; fi\n\
         test -f mail.txt\n",
        slow = slow.display(),
        began = began.display()
    );
    sandbox.write("check.sh", &script);
    let plan = WITH_ITEM.replace("test -f mail.txt", "sh check.sh");
    sandbox.write(&plan_path(&sandbox), &plan);
    approve(&sandbox);
    sandbox.write("mail.txt", "Dear user\n");
    assert!(stop(&sandbox).is_some(), "nobody has read the mail");
    write_file(&slow, "");
    sandbox.write("mail.txt", "Dear user,\n");
    let held = std::thread::scope(|scope| {
        let stopping = scope.spawn(|| stop(&sandbox));
        let is_running = eventually(Duration::from_secs(30), || began.exists().then_some(()));
        assert!(is_running.is_some(), "the check was not run");
        let arguments = ["pipeline", "answer", "TODO-1/AC-2", "yes"];
        assert_eq!(terminal::with_code(&sandbox, &arguments).code, 0);
        std::fs::remove_file(&slow).expect("ours");
        stopping.join().expect("the Stop ends")
    });
    assert_eq!(held, None, "the question was answered");
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

#[test]
fn an_answer_in_another_form_is_refused_with_the_open_questions() {
    let sandbox = approved(WITH_ITEM);
    sandbox.write("mail.txt", "Dear user\n");
    assert!(stop(&sandbox).is_some());
    for typed in ["", "TODO-1/AC-2 maybe", "yes"] {
        let answer = slash(&sandbox, "pipeline-answer", typed);
        let reason = answer["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("Open questions: TODO-1/AC-2"), "{typed}: {answer}");
    }
}

#[test]
fn a_session_learns_that_its_loop_was_moved_to_another_one() {
    for restarts in [false, true] {
        let sandbox = approved(PLAN);
        let other = "22222222-0000-4000-8000-000000000002";
        let output = terminal::run(&sandbox, &["loop", "adopt", "--session", other]);
        assert_eq!(output.code, 0, "{output:#?}");
        if restarts {
            assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        }
        let submit = |session: &str| {
            let mut input = sandbox.payload("UserPromptSubmit");
            input["session_id"] = session.into();
            let output = sandbox.hook("user-prompt-submit", &input);
            if output.stdout.trim().is_empty() { String::new() } else { output.context() }
        };
        let told = submit(SESSION);
        assert!(told.contains("was moved to another session"), "{restarts}: {told}");
        assert!(!submit(SESSION).contains("was moved"), "it is said once");
        let told = submit(other);
        assert!(told.contains("[ ] TODO-1"), "{restarts}: {told}");
        assert!(told.contains("the plan may only grow"), "{restarts}: {told}");
        assert!(!submit(other).contains("the plan may only grow"), "it is said once");
    }
}
