//! Hook events that the agent plays: a script hides the call from the check before a tool call.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use super::{looping, notice, status};
use crate::fake_host::FakeHost;
use crate::support::{Output, PATIENCE, PROGRAM, SESSION, Sandbox, eventually};

/// The session of another agent.
const OTHER: &str = "22222222-0000-4000-8000-000000000000";
/// The report's line about a Stop that was imitated once.
const IGNORED_STOP: &str = "hook events ignored, because the host did not send them: Stop (1)";

/// A loop whose files look right, and the running host of its session.
fn finished_work() -> Sandbox {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", "x = 2\n");
    sandbox
}

fn host_of<'s>(sandbox: &'s Sandbox, session: &str) -> FakeHost<'s> {
    let mut host = FakeHost::start(sandbox, session);
    let asked = host.hook("user-prompt-submit", sandbox.payload("UserPromptSubmit"));
    assert_eq!(asked.code, 0, "{asked:#?}");
    host
}

/// The file of a recorded event, as the agent can write it.
fn payload_file(sandbox: &Sandbox, name: &str, session: &str) -> String {
    let mut input = sandbox.payload(name);
    input["session_id"] = session.into();
    if name == "UserPromptExpansion" {
        input["command_name"] = "moai-ralph:cancel-loop".into();
    }
    let file = sandbox.base().join(format!("{name}-{session}.json"));
    fs::write(&file, input.to_string()).expect("the sandbox is writable");
    file.display().to_string()
}

fn real_stop(sandbox: &Sandbox, host: &mut FakeHost<'_>) -> Output {
    host.hook("stop", sandbox.payload("Stop"))
}

/// True if an event that the agent imitates is ignored, and the loop continues.
fn is_ignored(sandbox: &Sandbox, played: &Output) {
    assert_eq!((played.code, played.stdout.as_str()), (0, ""), "{played:#?}");
    assert_eq!(status(sandbox)["status"], "running");
}

fn report(sandbox: &Sandbox) -> String {
    sandbox.run(&["loop", "report"]).stdout
}

#[test]
fn a_stop_from_a_script_of_the_agent_decides_nothing_and_is_named() {
    let sandbox = finished_work();
    let mut host = host_of(&sandbox, SESSION);
    let input = payload_file(&sandbox, "Stop", SESSION);
    is_ignored(&sandbox, &host.agent(&format!("'{PROGRAM}' hook stop <'{input}'")));
    let shown = sandbox.run(&["loop", "status"]).stdout;
    assert!(shown.contains(IGNORED_STOP), "{shown}");
    let ended = notice(&real_stop(&sandbox, &mut host));
    assert!(ended.contains("a Stop event was ignored"), "{ended}");
    assert!(ended.contains("completed after"), "{ended}");
    assert!(report(&sandbox).contains(IGNORED_STOP), "{}", report(&sandbox));
    let log = fs::read_to_string(sandbox.base().join("state/log/daemon.log")).expect("a log");
    let lines = log.lines().filter(|line| line.contains("the host did not send"));
    assert_eq!(lines.count(), 1, "{log}");
}

#[test]
fn a_stop_with_the_input_of_another_event_decides_nothing() {
    let sandbox = finished_work();
    let mut host = host_of(&sandbox, SESSION);
    // A skill may register the command for its own tool calls.
    let played = host.hook("stop", sandbox.payload("PostToolUse-Write"));
    is_ignored(&sandbox, &played);
    real_stop(&sandbox, &mut host);
    assert_ne!(status(&sandbox)["status"], "running");
}

#[test]
fn a_shell_that_becomes_the_hook_is_not_the_host() {
    let sandbox = finished_work();
    let mut host = host_of(&sandbox, SESSION);
    let input = payload_file(&sandbox, "Stop", SESSION);
    is_ignored(&sandbox, &host.agent(&format!("exec '{PROGRAM}' hook stop <'{input}'")));
}

#[test]
fn a_new_daemon_still_knows_the_host() {
    let sandbox = finished_work();
    let mut host = host_of(&sandbox, SESSION);
    let input = payload_file(&sandbox, "Stop", SESSION);
    let script =
        format!("'{PROGRAM}' daemon stop >'{input}.out'\n'{PROGRAM}' hook stop <'{input}'\n");
    is_ignored(&sandbox, &host.agent(&script));
    let ended = notice(&real_stop(&sandbox, &mut host));
    assert!(ended.contains(IGNORED_STOP), "{ended}");
}

#[test]
fn a_detached_process_is_not_the_host() {
    let sandbox = finished_work();
    let mut host = host_of(&sandbox, SESSION);
    let input = payload_file(&sandbox, "Stop", SESSION);
    // Its parent has ended when it calls, and the variables of a host do not help it.
    let played = format!(
        "sleep 0.3; exec env CLAUDECODE=1 CLAUDE_PID=1 '{PROGRAM}' hook stop <'{input}' >'{input}.out'"
    );
    let started = host.agent(&format!("setsid -f sh -c \"{played}; echo\" </dev/null"));
    assert_eq!(started.code, 0, "{started:#?}");
    let named = eventually(PATIENCE, || report(&sandbox).contains(IGNORED_STOP).then_some(()));
    assert!(named.is_some(), "{}", report(&sandbox));
    assert_eq!(status(&sandbox)["status"], "running");
}

#[test]
fn the_loop_of_another_session_cannot_be_cancelled_by_playing_its_user() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let _owner = host_of(&sandbox, SESSION);
    let mut other = host_of(&sandbox, OTHER);
    let input = payload_file(&sandbox, "UserPromptExpansion", SESSION);
    let play = format!("'{PROGRAM}' hook user-prompt-expansion <'{input}'");
    is_ignored(&sandbox, &other.agent(&play));
    let script = format!("'{PROGRAM}' daemon stop >'{input}.out'\n{play}\n");
    is_ignored(&sandbox, &other.agent(&script));
    let told = notice(&other.hook("stop", sandbox.payload("Stop")));
    assert!(told.contains("a UserPromptExpansion event was ignored"), "{told}");
    let shown = report(&sandbox);
    assert!(shown.contains("did not send them: UserPromptExpansion (2)"), "{shown}");
}

#[test]
fn a_shell_that_becomes_a_command_stays_an_agents_after_the_daemon_was_stopped() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let _owner = host_of(&sandbox, SESSION);
    let mut other = host_of(&sandbox, OTHER);
    let id = status(&sandbox)["id"].as_str().expect("an id").to_owned();
    let base = sandbox.base().display().to_string();
    let clean = format!(
        "env -i HOME='{base}/home' MOAI_RALPH_HOME='{base}/state' XDG_RUNTIME_DIR='{base}/run'"
    );
    let cancelled = other
        .agent(&format!("'{PROGRAM}' daemon stop\nexec {clean} '{PROGRAM}' loop cancel {id}\n"));
    assert_eq!(cancelled.code, 1, "{cancelled:#?}");
    assert!(cancelled.stderr.contains("belongs to another session"), "{cancelled:#?}");
    assert_eq!(status(&sandbox)["status"], "running");
}

#[test]
fn a_second_host_of_a_session_is_obeyed_and_named() {
    let sandbox = finished_work();
    let _first = host_of(&sandbox, SESSION);
    let mut second = host_of(&sandbox, SESSION);
    real_stop(&sandbox, &mut second);
    assert_ne!(status(&sandbox)["status"], "running");
    let shown = report(&sandbox);
    assert!(shown.contains("came from a second host process: Stop (1)"), "{shown}");
}

#[test]
fn a_session_that_is_resumed_after_its_host_has_ended_is_nothing_special() {
    let sandbox = finished_work();
    drop(host_of(&sandbox, SESSION));
    let mut again = host_of(&sandbox, SESSION);
    let ended = notice(&real_stop(&sandbox, &mut again));
    assert!(!ended.contains("host"), "{ended}");
    assert_ne!(status(&sandbox)["status"], "running");
}

#[test]
fn the_last_stop_of_a_host_that_ends_before_it_is_answered_is_decided() {
    // OpenCode does not wait for its plugin, and passes no process id to its hooks.
    for command in [PROGRAM.to_owned(), format!("env -u CLAUDE_PID '{PROGRAM}'")] {
        let sandbox = finished_work();
        let mut host = host_of(&sandbox, SESSION);
        let (mut input, _) = host.server(&format!("{command} hook stop"));
        host.end();
        let mut payload = sandbox.payload("Stop");
        payload["session_id"] = SESSION.into();
        input.write_all(payload.to_string().as_bytes()).expect("the hook reads");
        drop(input);
        let decided =
            eventually(PATIENCE, || (status(&sandbox)["status"] != "running").then_some(()));
        assert!(decided.is_some(), "{command}: {}", report(&sandbox));
    }
}

#[test]
fn a_process_that_adopts_a_played_hook_is_no_host() {
    let sandbox = finished_work();
    drop(host_of(&sandbox, SESSION));
    let mut other = host_of(&sandbox, OTHER);
    let fifo = |name: &str| {
        let path = sandbox.base().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().expect("it runs").success());
        path
    };
    let (input, output) = (fifo("played-in"), fifo("played-out"));
    let (from, to) = (input.display(), output.display());
    let played =
        format!("exec env CLAUDECODE=1 '{PROGRAM}' hook user-prompt-submit <'{from}' >'{to}'");
    assert_eq!(other.agent(&format!("setsid -f sh -c \"{played}\"")).code, 0);
    let mut payload = sandbox.payload("UserPromptSubmit");
    payload["session_id"] = "a new one".into();
    // Its shell waits for this; the process that started that shell has ended.
    fs::write(&input, payload.to_string()).expect("the hook reads");
    fs::read(&output).expect("the hook ends");
    // Everything is below the process that adopted the hook, also this host.
    let mut again = host_of(&sandbox, SESSION);
    real_stop(&sandbox, &mut again);
    assert_ne!(status(&sandbox)["status"], "running", "{}", report(&sandbox));
}

#[test]
fn a_host_that_an_agent_starts_has_loops_of_its_own() {
    let sandbox = Sandbox::new();
    let mut outer = host_of(&sandbox, SESSION);
    let mut input = sandbox.payload("UserPromptExpansion");
    input["session_id"] = OTHER.into();
    input["command_name"] = "moai-ralph:moai-loop".into();
    input["command_args"] = "tidy up --max-iterations 3".into();
    let file = sandbox.base().join("inner.json");
    fs::write(&file, input.to_string()).expect("the sandbox is writable");
    let started =
        outer.agent(&format!("'{PROGRAM}' hook user-prompt-expansion <'{}'", file.display()));
    assert!(started.context().contains("loop-"), "{started:#?}");
    let list: Value = sandbox.run(&["loop", "status", "--json"]).json();
    assert_eq!(list["session_id"], OTHER);
}

#[test]
fn changes_after_a_complete_stop_are_named_although_the_daemon_was_stopped() {
    let sandbox = finished_work();
    let mut host = host_of(&sandbox, SESSION);
    real_stop(&sandbox, &mut host);
    assert_ne!(status(&sandbox)["status"], "running");
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    sandbox.write("app.py", "x = 3  # as before\n");
    let named = notice(&real_stop(&sandbox, &mut host));
    assert!(named.contains("app.py") && named.contains("not measured"), "{named}");
    let shown = report(&sandbox);
    assert!(shown.contains("after the loop was complete, not measured: app.py"), "{shown}");
    assert_eq!(real_stop(&sandbox, &mut host).stdout, "", "once");
}
