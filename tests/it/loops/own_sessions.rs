//! An agent changes only the loops of its own session, whatever it sets in its environment.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use super::{FEWER, FIXED, TESTS, looping, project, start};
use crate::fake_host::FakeHost;
use crate::support::{Output, PATIENCE, PROGRAM, SESSION, Sandbox, eventually};

/// The session of another agent.
const OTHER: &str = "22222222-0000-4000-8000-000000000000";

/// A loop of each session, both of which have called a hook; the id of the other session's.
fn two_loops() -> (Sandbox, String) {
    let sandbox = looping(&["--max-iterations", "5"]);
    let arguments = ["loop", "start", "--session", OTHER, "--prompt", "other work", "--json"];
    let id = sandbox.run(&arguments).json()["id"].as_str().expect("an id").to_owned();
    let mut prompt = sandbox.payload("UserPromptSubmit");
    prompt["session_id"] = OTHER.into();
    assert_eq!(sandbox.hook("user-prompt-submit", &prompt).code, 0);
    (sandbox, id)
}

/// A host whose user has just sent a prompt.
fn host_of<'s>(sandbox: &'s Sandbox, session: &str) -> FakeHost<'s> {
    let mut host = FakeHost::start(sandbox, session);
    ask(sandbox, &mut host);
    host
}

fn ask(sandbox: &Sandbox, host: &mut FakeHost<'_>) {
    let asked = host.hook("user-prompt-submit", sandbox.payload("UserPromptSubmit"));
    assert_eq!(asked.code, 0, "{asked:#?}");
}

fn status_of(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.run(&["loop", "status", id, "--json"]).json()["status"].clone()
}

fn is_refused(sandbox: &Sandbox, output: &Output, id: &str, why: &str) {
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stderr.contains(why), "{why}: {output:#?}");
    assert_eq!(status_of(sandbox, id), "running");
}

#[test]
fn a_variable_does_not_give_an_agent_the_loop_of_another_session() {
    let (sandbox, id) = two_loops();
    let mut host = host_of(&sandbox, SESSION);
    for act in ["pause", "cancel"] {
        let script = format!("CLAUDE_CODE_SESSION_ID={OTHER} '{PROGRAM}' loop {act} {id}; exit $?");
        let why = "run the command again without setting the variable";
        is_refused(&sandbox, &host.agent(&script), &id, why);
        let script = format!("'{PROGRAM}' loop {act} --session {OTHER}; exit $?");
        is_refused(&sandbox, &host.agent(&script), &id, "belongs to another session");
    }
    let paused = host.agent(&format!("'{PROGRAM}' loop pause --session {SESSION}; exit $?"));
    assert_eq!(paused.code, 0, "{paused:#?}");
    let by_person = sandbox.run(&["loop", "pause", &id]);
    assert_eq!(by_person.code, 0, "a person is free: {by_person:#?}");
}

#[test]
fn what_changes_after_a_stop_that_the_agent_called_itself_is_named() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", "x = 2\n");
    let stop = sandbox.payload("Stop");
    let called = sandbox.hook("stop", &stop);
    assert!(called.stdout.contains("completed"), "{called:#?}");
    // The next Stop of the same turn, once without a change.
    assert_eq!(sandbox.hook("stop", &stop).stdout, "");
    sandbox.write("app.py", "x = 3  # as before\n");
    let named = sandbox.hook("stop", &stop).json();
    let notice = named["systemMessage"].as_str().expect("a notice");
    assert!(notice.contains("app.py") && notice.contains("not measured"), "{notice}");
    assert_eq!(sandbox.hook("stop", &stop).stdout, "", "once");
}

#[test]
fn work_after_the_next_prompt_is_not_the_loops() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", "x = 2\n");
    let stop = sandbox.payload("Stop");
    assert!(sandbox.hook("stop", &stop).stdout.contains("completed"));
    sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    sandbox.write("app.py", "x = 3\n");
    assert_eq!(sandbox.hook("stop", &stop).stdout, "");
}

#[test]
fn a_loop_that_its_agent_cancelled_is_the_base_of_the_next_one() {
    let named = format!("--session {SESSION}");
    for (is_by_agent, session) in [(true, named.as_str()), (true, ""), (false, named.as_str())] {
        let sandbox = project();
        sandbox.write("tests/test_app.py", TESTS);
        sandbox.commit();
        let begin = ["--max-iterations", "5", "--until", "diagnostics"];
        let first = start(&sandbox, &begin).json()["id"].as_str().expect("an id").to_owned();
        let mut host = host_of(&sandbox, SESSION);
        let cancelled = if is_by_agent {
            host.agent(&format!("'{PROGRAM}' loop cancel --session {SESSION}; exit $?"))
        } else {
            sandbox.run(&["loop", "cancel", "--session", SESSION])
        };
        assert_eq!(cancelled.code, 0, "{cancelled:#?}");
        sandbox.write("tests/test_app.py", FEWER);
        sandbox.commit();
        let options = format!("--prompt more {session} {}", begin.join(" "));
        let again = host.agent(&format!("'{PROGRAM}' loop start {options}; exit $?"));
        assert_eq!(again.code, 0, "{again:#?}");
        sandbox.write("app.py", FIXED);
        let mut stopped = host.hook("stop", sandbox.payload("Stop")).stdout;
        assert_eq!(stopped.contains("guard(G01)"), is_by_agent, "{stopped}");
        if is_by_agent {
            // The author of the change to the tests between the loops is unknown.
            assert!(stopped.contains("is paused"), "{stopped}");
            sandbox.write("tests/test_app.py", TESTS);
            assert_eq!(sandbox.run(&["loop", "resume", "--session", SESSION]).code, 0);
            stopped = host.hook("stop", sandbox.payload("Stop")).stdout;
        }
        assert!(stopped.contains("completed"), "{stopped}");
        let names_it = format!("after it had cancelled loop {first}");
        assert_eq!(stopped.contains(&names_it), is_by_agent, "{stopped}");
    }
}

#[test]
fn an_agent_gives_its_loop_to_no_other_session() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let id =
        sandbox.run(&["loop", "status", "--json"]).json()["id"].as_str().expect("an id").to_owned();
    let mut host = host_of(&sandbox, SESSION);
    assert_eq!(host.hook("session-end", sandbox.payload("SessionEnd")).code, 0);
    let adopted = host.agent(&format!("'{PROGRAM}' loop adopt --session {OTHER}; exit $?"));
    assert_eq!(adopted.code, 1, "{adopted:#?}");
    assert!(adopted.stderr.contains("its own session only"), "{adopted:#?}");
    let status = sandbox.run(&["loop", "status", &id, "--json"]).json();
    assert_eq!(status["session_id"], SESSION);
}

#[test]
fn an_agent_starts_a_loop_for_no_other_session() {
    let sandbox = project();
    let mut host = host_of(&sandbox, SESSION);
    for command in ["loop start --prompt x", "pipeline start --kind small --goal x"] {
        let refused = host.agent(&format!("'{PROGRAM}' {command} --session {OTHER}; exit $?"));
        assert_eq!(refused.code, 1, "{refused:#?}");
        assert!(refused.stderr.contains("its own session only"), "{refused:#?}");
    }
    let started = host.agent(&format!("'{PROGRAM}' loop start --prompt x --session {SESSION}"));
    assert_eq!(started.code, 0, "{started:#?}");
}

#[test]
fn an_agent_that_drops_its_variables_is_no_person() {
    let (sandbox, id) = two_loops();
    let mut host = host_of(&sandbox, SESSION);
    let clean = format!("exec env -u CLAUDECODE -u CLAUDE_CODE_SESSION_ID '{PROGRAM}'");
    let paused = host.agent(&format!("{clean} loop pause {id}"));
    is_refused(&sandbox, &paused, &id, "belongs to another session");
    let trusted = host.agent(&format!("{clean} trust"));
    assert_eq!(trusted.code, 1, "{trusted:#?}");
    assert!(trusted.stderr.contains("is for a person"), "{trusted:#?}");
}

#[test]
fn hooks_that_an_agent_calls_name_no_session() {
    let (sandbox, id) = two_loops();
    let mut host = host_of(&sandbox, SESSION);
    let mut input = sandbox.payload("UserPromptSubmit");
    input["session_id"] = OTHER.into();
    let script = format!(
        "export CLAUDE_CODE_SESSION_ID={OTHER} CLAUDE_PID=$$\n\
         '{PROGRAM}' hook user-prompt-submit <<'END'\n{input}\nEND\n\
         '{PROGRAM}' loop pause {id}\n"
    );
    is_refused(&sandbox, &host.agent(&script), &id, "but this agent works in session");
    // Also not from a shell that shows no agent.
    let script = format!(
        "cat >$$.sh <<'SCRIPT'\nexport CLAUDECODE=1\n{script}SCRIPT\nexec env -u CLAUDECODE sh $$.sh\n"
    );
    is_refused(&sandbox, &host.agent(&script), &id, "but this agent works in session");
}

#[test]
fn a_daemon_that_knows_no_host_waits_for_a_hook_of_the_session() {
    let (sandbox, id) = two_loops();
    let mut host = host_of(&sandbox, SESSION);
    let hosts = sandbox.base().join("state/hosts/hosts.json");
    let script = format!(
        "'{PROGRAM}' daemon stop; rm '{}'\n\
         CLAUDE_CODE_SESSION_ID={OTHER} '{PROGRAM}' loop pause {id}",
        hosts.display()
    );
    is_refused(
        &sandbox,
        &host.agent(&script),
        &id,
        "run the command again with the next tool call",
    );
    let script = format!("CLAUDE_CODE_SESSION_ID={OTHER} '{PROGRAM}' loop pause {id} --no-daemon");
    let refused = host.agent(&script);
    assert_ne!(refused.code, 0, "{refused:#?}");
    assert_eq!(status_of(&sandbox, &id), "running");
    ask(&sandbox, &mut host);
    let paused = host.agent(&format!("'{PROGRAM}' loop pause --session {SESSION}"));
    assert_eq!(paused.code, 0, "{paused:#?}");
}

#[test]
fn a_host_that_goes_on_to_another_session_has_the_loop_of_that_one() {
    let (sandbox, id) = two_loops();
    let mut host = host_of(&sandbox, SESSION);
    let (mut server, answers) = host.server(&format!("'{PROGRAM}' mcp"));
    host.go_on_to(OTHER);
    ask(&sandbox, &mut host);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    for request in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "loop_cancel", "arguments": {}}}),
    ] {
        writeln!(server, "{request}").expect("the server reads");
    }
    let answered = eventually(PATIENCE, || {
        let said = fs::read_to_string(&answers).unwrap_or_default();
        said.contains("\"id\":2").then_some(said)
    });
    let answered = answered.expect("the server answers");
    assert!(answered.contains("cancelled") && answered.contains(&id), "{answered}");
    drop(server);
    let refused = host.agent(&format!("'{PROGRAM}' loop pause --session {SESSION}; exit $?"));
    assert!(refused.stderr.contains("belongs to another session"), "{refused:#?}");
}
