//! A finding that the user waives at a terminal no longer holds a loop.

use serde_json::json;

use super::{lacking_a_test, notice, status, stop};
use crate::support::{Output, SESSION, Sandbox, finish};
use crate::terminal::{self, typed};

/// A loop that is held because a test was removed, and the id of that finding.
fn held() -> (Sandbox, String) {
    let sandbox = lacking_a_test();
    let reason = stop(&sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)"), "{reason}");
    let report = sandbox.run(&["guard", "--json"]).json();
    let id = report["findings"][0]["id"].as_str().expect("an id").to_owned();
    let command = format!("at a terminal: moai-ralph guard allow {id} --reason TEXT");
    assert!(reason.contains(&command), "{reason}");
    (sandbox, id)
}

/// A person at a terminal asks for it and types this line.
fn allow(sandbox: &Sandbox, id: &str, line: &str, agent: Option<&str>) -> Output {
    let mut command = sandbox.program();
    command.args(["guard", "allow", id, "--reason", "covered end to end"]);
    for name in ["CLAUDECODE", "AI_AGENT"] {
        command.env_remove(name);
    }
    command.envs(agent.map(|name| (name, "1")));
    typed(&mut command, "again", line)
}

#[test]
fn what_a_person_allows_at_a_terminal_holds_the_loop_no_longer_and_is_named_at_its_end() {
    let (sandbox, id) = held();
    let allowed = allow(&sandbox, &id, &id, None);
    assert_eq!(allowed.code, 0, "{allowed:#?}");
    assert!(allowed.stderr.contains(&format!("Type the id again to allow {id}")), "{allowed:#?}");
    assert!(allowed.stdout.starts_with("allowed: tests/test_app.py: "), "{allowed:#?}");
    let passed = sandbox.run(&["guard"]);
    assert_eq!(passed.code, 0, "{passed:#?}");
    assert!(passed.stderr.contains("guard(G01) is allowed: covered end to end"), "{passed:#?}");
    // The agent was still working, so the user is asked whether they waived it.
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert!(told.contains("guard(G01) in tests/test_app.py was allowed by hand at "), "{told}");
    assert_eq!(status(&sandbox)["pause_reason"], "overridden");
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert!(told.contains("was allowed by hand at "), "{told}");
    let ended = status(&sandbox);
    assert_eq!((&ended["status"], &ended["iteration"]), (&json!("completed"), &json!(2)));
    let sensors = ended["terminal"]["report"]["evidence"].to_string();
    assert!(sensors.contains("guard"), "{ended:#}");
}

#[test]
fn another_line_than_the_id_and_the_terminal_of_an_agent_allow_nothing() {
    let (sandbox, id) = held();
    let other = allow(&sandbox, &id, "yes", None);
    assert_eq!((other.code, other.stdout.as_str()), (1, ""), "{other:#?}");
    assert!(other.stderr.contains("not the same id"), "{other:#?}");
    for agent in ["CLAUDECODE", "AI_AGENT"] {
        let refused = allow(&sandbox, &id, &id, Some(agent));
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{agent}: {refused:#?}");
        assert!(refused.stderr.contains("only a person at a terminal"), "{agent}: {refused:#?}");
    }
    let found = sandbox.run(&["guard", "--json"]).json();
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(1), "{found:#}");
    let reason = stop(&sandbox, "finished");
    assert_eq!((reason, &status(&sandbox)["status"]), (None, &json!("gaming")));
}

#[test]
fn an_unknown_id_is_refused() {
    let (sandbox, id) = held();
    let unknown = "0123456789abcdef";
    assert_ne!(id, unknown);
    let refused = allow(&sandbox, unknown, unknown, None);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("no finding of the guard has the id"), "{refused:#?}");
    assert_eq!(sandbox.run(&["guard"]).code, 1);
}

#[test]
fn the_user_allows_what_ended_a_loop_and_continues_it_and_the_agent_cannot() {
    let (sandbox, id) = held();
    // The finding is against the loop's base, not HEAD.
    sandbox.commit();
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "gaming");
    assert!(told.contains("moai-ralph guard allow ID"), "{told}");
    // The command that it names for the ids lists this one.
    let (_, rest) = told.split_once("ids: moai-ralph ").expect("a command for the ids");
    let words: Vec<&str> = rest.split_once(')').expect("its end").0.split(' ').collect();
    let listed = sandbox.run(&words).json();
    assert_eq!(listed["findings"][0]["id"], id.as_str(), "{words:?}: {listed:#}");
    let mut command = sandbox.program();
    command.args(["loop", "resume"]).env("CLAUDECODE", "1");
    let refused = finish(&mut command, "");
    assert_ne!(refused.code, 0, "{refused:#?}");
    assert!(refused.stderr.contains("only the user can resume it"), "{refused:#?}");
    // As a process that the agent detached.
    let detached = sandbox.run(&["loop", "resume"]);
    assert!(detached.stderr.contains("only the user can resume it"), "{detached:#?}");
    let allowed = allow(&sandbox, &id, &id, None);
    assert_eq!(allowed.code, 0, "{allowed:#?}");
    let resumed = terminal::run(&sandbox, &["loop", "resume"]);
    assert_eq!(resumed.code, 0, "{resumed:#?}");
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "completed", "{told}");
    assert!(told.contains("was allowed by hand at "), "{told}");
}

#[test]
fn an_agent_does_not_leave_a_gaming_loop_by_starting_another_one() {
    for session in [Some(SESSION), Some("another-session"), None] {
        let (sandbox, _) = held();
        sandbox.commit();
        sandbox.hook("stop", &sandbox.payload("Stop"));
        assert_eq!(status(&sandbox)["status"], "gaming");
        let mut command = sandbox.program();
        command.args(["loop", "start", "--prompt", "tidy up"]).env("CLAUDECODE", "1");
        command.args(session.into_iter().flat_map(|id| ["--session", id]));
        let started = finish(&mut command, "");
        assert_eq!(started.code, 0, "{started:#?}");
        let mut input = sandbox.payload("Stop");
        if let Some(session) = session {
            input["session_id"] = json!(session);
        }
        let answer = sandbox.hook("stop", &input).stdout;
        assert!(answer.contains("guard(G01)"), "{session:?}: {answer}");
    }
}
