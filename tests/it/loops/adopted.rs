//! A loop whose session has ended is offered to the next session, and adopted only on request.

use serde_json::Value;

use super::commands::expand;
use super::{DIRTY, blocked, looping, project, start, status, stop};
use crate::support::{Output, SESSION, Sandbox};

const OTHER: &str = "11111111-0000-4000-8000-000000000000";

fn loop_id(sandbox: &Sandbox) -> String {
    status(sandbox)["id"].as_str().expect("a loop has an id").to_owned()
}

fn hook_of(sandbox: &Sandbox, event: &str, payload: &str, session: &str) -> Output {
    let mut input = sandbox.payload(payload);
    input["session_id"] = session.into();
    sandbox.hook(event, &input)
}

fn end(sandbox: &Sandbox, reason: &str) {
    let mut input = sandbox.payload("SessionEnd");
    input["reason"] = reason.into();
    sandbox.hook("session-end", &input);
}

fn begin(sandbox: &Sandbox, source: &str) -> Output {
    let mut input = sandbox.payload("SessionStart-startup");
    (input["session_id"], input["source"]) = (OTHER.into(), source.into());
    sandbox.hook("session-start", &input)
}

/// A loop that has held one Stop.
fn held() -> Sandbox {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    sandbox
}

#[test]
fn after_clear_user_and_agent_are_offered_the_loop_and_adopting_goes_on_with_it() {
    let sandbox = held();
    let id = loop_id(&sandbox);
    end(&sandbox, "clear");
    let output = begin(&sandbox, "clear");
    let told = output.json()["systemMessage"].as_str().unwrap_or_default().to_owned();
    for text in [&told, &output.context()] {
        let command = format!("moai-ralph loop adopt {id}");
        for part in [id.as_str(), "fix it", "iteration 2 of 5", &command] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
    let free = hook_of(&sandbox, "stop", "Stop", OTHER);
    assert_eq!(blocked(&free), None, "an offer holds nobody");
    let prompt = hook_of(&sandbox, "user-prompt-submit", "UserPromptSubmit", OTHER);
    assert_eq!(prompt.stdout, "", "it is offered once");
    let adopted = sandbox.run(&["loop", "adopt", &id, "--session", OTHER]);
    assert_eq!(adopted.code, 0, "{adopted:#?}");
    assert!(adopted.stdout.contains(OTHER), "{adopted:#?}");
    assert!(adopted.stdout.contains("unless the daemon is stopped"), "{adopted:#?}");
    let prompt = hook_of(&sandbox, "user-prompt-submit", "UserPromptSubmit", OTHER).context();
    assert!(prompt.contains("iteration 2 of 5") && prompt.contains("fix it"), "{prompt}");
    assert!(blocked(&hook_of(&sandbox, "stop", "Stop", OTHER)).is_some());
    assert_eq!(stop(&sandbox, "finished"), None, "its old session is let go");
    assert_eq!(status(&sandbox)["iteration"], 2);
}

#[test]
fn clear_without_a_daemon_still_offers_the_loop() {
    let sandbox = held();
    sandbox.run(&["daemon", "stop"]);
    let output = begin(&sandbox, "clear");
    assert!(output.context().contains("moai-ralph loop adopt"), "{output:#?}");
}

#[test]
fn an_exit_is_offered_to_the_next_session_at_its_first_prompt() {
    let sandbox = held();
    end(&sandbox, "prompt_input_exit");
    let output = hook_of(&sandbox, "user-prompt-submit", "UserPromptSubmit", OTHER);
    assert!(output.context().contains("moai-ralph loop adopt"), "{output:#?}");
}

#[test]
fn the_loop_of_a_session_that_lives_is_not_offered() {
    let sandbox = held();
    for source in ["clear", "startup", "resume"] {
        let told = begin(&sandbox, source).stdout;
        assert!(!told.contains("loop adopt"), "{source}: {told}");
    }
    end(&sandbox, "other");
    hook_of(&sandbox, "session-start", "SessionStart-compact", SESSION);
    let told = begin(&sandbox, "clear").stdout;
    assert!(!told.contains("loop adopt"), "it was resumed: {told}");
}

#[test]
fn a_session_with_a_loop_of_its_own_is_offered_none() {
    let sandbox = held();
    let own = ["loop", "start", "--session", OTHER, "--prompt", "other work", "--json"];
    let own = sandbox.run(&own).json()["id"].as_str().expect("an id").to_owned();
    end(&sandbox, "clear");
    let output = begin(&sandbox, "resume");
    assert!(!output.stdout.contains("loop adopt"), "{output:#?}");
    let refused =
        sandbox.run(&["loop", "adopt", &loop_id_of(&sandbox, SESSION), "--session", OTHER]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    for part in [own.as_str(), "moai-ralph loop cancel"] {
        assert!(refused.stderr.contains(part), "{refused:#?}");
    }
}

fn loop_id_of(sandbox: &Sandbox, session: &str) -> String {
    let status = sandbox.run(&["loop", "status", "--session", session, "--json"]).json();
    status["id"].as_str().expect("a loop has an id").to_owned()
}

#[test]
fn what_cannot_be_adopted_is_refused_with_what_to_do() {
    let sandbox = project();
    let refusal = |arguments: &[&str]| {
        let output = sandbox.run(&[&["loop", "adopt", "--session", OTHER], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:#?}");
        output.stderr
    };
    assert!(refusal(&[]).contains("no active loop"));
    assert!(refusal(&["loop-00000000"]).contains("no such loop"));
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    let first = loop_id(&sandbox);
    let third = "33333333-0000-4000-8000-000000000000";
    let second = ["loop", "start", "--session", third, "--prompt", "other work", "--json"];
    let second = sandbox.run(&second).json()["id"].as_str().expect("an id").to_owned();
    let several = refusal(&[]);
    for part in [first.as_str(), &second, SESSION, third] {
        assert!(several.contains(part), "{several}");
    }
    assert_eq!(sandbox.run(&["loop", "cancel", &first]).code, 0);
    let over = refusal(&[&first]);
    assert!(over.contains("is over (cancelled)") && over.contains("start a new one"), "{over}");
    // The only remaining loop needs no id, and adopting twice has the effect of once.
    for _ in 0..2 {
        let adopted = sandbox.run(&["loop", "adopt", "--session", OTHER, "--json"]);
        assert_eq!(adopted.code, 0, "{adopted:#?}");
        assert_eq!(adopted.json()["session_id"], OTHER);
    }
}

#[test]
fn without_a_session_it_is_that_of_the_host_or_the_next_one() {
    let mut sandbox = held();
    let adopted = sandbox.run(&["loop", "adopt", "--json"]);
    assert_eq!(adopted.json()["session_id"], Value::Null, "{adopted:#?}");
    let prompt = hook_of(&sandbox, "user-prompt-submit", "UserPromptSubmit", OTHER).context();
    assert!(
        prompt.contains("iteration 2 of 5") && prompt.contains("Last Stop: 1 error"),
        "{prompt}"
    );
    assert_eq!(status(&sandbox)["session_id"], OTHER);
    sandbox.set("CLAUDE_CODE_SESSION_ID", SESSION);
    let adopted = sandbox.run(&["loop", "adopt", "--json"]);
    assert_eq!(adopted.json()["session_id"], SESSION, "{adopted:#?}");
}

#[test]
fn a_slash_command_adopts_for_its_session() {
    let sandbox = held();
    end(&sandbox, "clear");
    let mut input = sandbox.payload("UserPromptExpansion");
    input["session_id"] = OTHER.into();
    input["command_name"] = "moai-ralph:moai-adopt".into();
    input["command_args"] = "".into();
    let told = sandbox.hook("user-prompt-expansion", &input).context();
    assert!(told.starts_with("[moai-ralph]") && told.contains("iteration 2 of 5"), "{told}");
    assert_eq!(status(&sandbox)["session_id"], OTHER);
    let refused = blocked(&expand(&sandbox, "moai-adopt", "loop-00000000"));
    assert!(refused.is_some_and(|reason| reason.contains("no such loop")));
}

#[test]
fn a_loop_of_another_work_tree_is_not_adopted_from_here() {
    let sandbox = held();
    let worktree = sandbox.base().join("worktree");
    let at = worktree.to_str().expect("a path");
    super::git(&sandbox, &["worktree", "add", "-q", "-b", "side", at]);
    let id = loop_id(&sandbox);
    let mut command = sandbox.program();
    command.current_dir(&worktree).args(["loop", "adopt", &id, "--session", OTHER]);
    let refused = crate::support::finish(&mut command, "");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("another work tree"), "{refused:#?}");
}

#[test]
fn an_agent_does_not_rid_itself_of_its_loop() {
    let sandbox = held();
    let id = loop_id(&sandbox);
    let refused = adopt_as_agent(&sandbox, &id, "ghost");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(
        refused.stderr.contains("belongs to a session that seems to be still running"),
        "{refused:#?}"
    );
    assert!(stop(&sandbox, "finished").is_some(), "the loop still holds");
    end(&sandbox, "clear");
    let adopted = adopt_as_agent(&sandbox, &id, OTHER);
    assert_eq!(adopted.code, 0, "its session has ended: {adopted:#?}");
}

/// `loop adopt` as the shell of an agent runs it.
fn adopt_as_agent(sandbox: &Sandbox, id: &str, session: &str) -> Output {
    let mut command = sandbox.program();
    command.args(["loop", "adopt", id, "--session", session]).env("CLAUDECODE", "1");
    crate::support::finish(&mut command, "")
}

#[test]
fn a_new_daemon_does_not_free_an_agent_of_its_loop() {
    let sandbox = held();
    let id = loop_id(&sandbox);
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    let refused = adopt_as_agent(&sandbox, &id, "ghost");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(stop(&sandbox, "finished").is_some(), "the loop still holds");
    // The session that is offered the loop takes it.
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    assert!(begin(&sandbox, "clear").context().contains("moai-ralph loop adopt"));
    let adopted = adopt_as_agent(&sandbox, &id, OTHER);
    assert_eq!(adopted.code, 0, "{adopted:#?}");
}

#[test]
fn loops_of_sessions_that_live_do_not_crowd_out_an_offer() {
    let sandbox = held();
    let id = loop_id(&sandbox);
    for number in 2..5 {
        let session = format!("{number}{}", &OTHER[1..]);
        let begun = ["loop", "start", "--session", &session, "--prompt", "other work"];
        assert_eq!(sandbox.run(&begun).code, 0);
    }
    end(&sandbox, "clear");
    let output = begin(&sandbox, "startup");
    assert!(output.context().contains(&id), "{output:#?}");
}

#[test]
fn what_is_no_session_takes_no_loop() {
    let sandbox = held();
    for session in ["", "a\nb", "two words"] {
        let refused = sandbox.run(&["loop", "adopt", "--session", session]);
        assert_eq!(refused.code, 1, "{refused:#?}");
        assert!(refused.stderr.contains("--session takes the id"), "{refused:#?}");
    }
}
