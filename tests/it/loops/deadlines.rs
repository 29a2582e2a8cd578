//! A Stop is answered in time even if something hangs.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::crashes::{daemon, kill, stop_beside};
use super::{DIRTY, FIXED, autochecks, blocked, iteration, looping, project, start, status};
use crate::support::{Output, PATIENCE, Sandbox, eventually, silent_daemon};

/// Time that a Stop without a loop may take if the daemon hangs: one second, and some for starting
/// a process on a machine under load.
const WITHOUT_LOOP: Duration = Duration::from_millis(1_500);
/// Time that an edit may take if the daemon hangs.
const EDIT: Duration = Duration::from_secs(6);
/// Time that a Stop with a loop may take if the daemon hangs.
const WITHOUT_DAEMON: Duration = Duration::from_secs(20);

fn set(sandbox: &Sandbox, options: &str) {
    sandbox.write(".moai/config/sections/ralph.yaml", &format!("ralph: {{loop: {{{options}}}}}"));
    sandbox.commit();
}

#[test]
fn checks_that_hang_leave_time_for_the_rest_of_the_stop() {
    let sandbox = project();
    set(&sandbox, "stop_timeout: 6");
    autochecks(&sandbox, "sleep 60");
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", DIRTY);
    let began = Instant::now();
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    let elapsed = began.elapsed();
    assert!(elapsed < Duration::from_secs(6), "{elapsed:?}");
    let reason = blocked(&output).expect("the file is dirty");
    assert!(reason.contains("bad word"), "servers are asked all the same: {reason}");
    assert!(reason.contains("raise loop.stop_timeout"), "{reason}");
}

#[test]
fn a_server_that_hangs_is_a_gap_at_the_end_of_the_time() {
    let sandbox = Sandbox::new();
    sandbox.fake_server("pyright-langserver", json!({"delay_ms": 60_000}));
    sandbox.write("app.py", super::CLEAN);
    set(&sandbox, "stop_timeout: 5, stop_budget_ms: 60000");
    assert_eq!(start(&sandbox, &["--until", "diagnostics", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", FIXED);
    let began = Instant::now();
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    let elapsed = began.elapsed();
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
    let reason = blocked(&output).expect("nothing unmeasured is called completed");
    assert!(reason.contains("pyright"), "{reason}");
}

#[test]
fn a_time_that_cannot_be_is_refused() {
    let sandbox = Sandbox::new();
    set(&sandbox, "stop_timeout: 4");
    let output = sandbox.run(&["check"]);
    assert_eq!(output.code, 3, "{output:#?}");
    assert!(output.stderr.contains("loop.stop_timeout"), "{output:#?}");
}

#[test]
fn without_a_loop_a_hanging_daemon_delays_a_stop_for_a_moment() {
    let sandbox = project();
    assert_eq!(sandbox.hook("stop", &sandbox.payload("Stop")).code, 0);
    let _silent = silent_daemon(&sandbox);
    let began = Instant::now();
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    let elapsed = began.elapsed();
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert!(elapsed < WITHOUT_LOOP, "{elapsed:?}");
}

#[test]
fn another_sessions_loop_does_not_make_a_stop_wait_either() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let _silent = silent_daemon(&sandbox);
    let mut input = sandbox.payload("Stop");
    input["session_id"] = "11111111-0000-4000-8000-000000000000".into();
    let began = Instant::now();
    let output = sandbox.hook("stop", &input);
    let elapsed = began.elapsed();
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    assert!(elapsed < WITHOUT_LOOP, "{elapsed:?}");
}

#[test]
fn with_a_loop_a_stop_is_decided_without_a_daemon_that_answers_nobody() {
    let sandbox = project();
    autochecks(&sandbox, "grep -q better app.py");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", DIRTY);
    let _silent = silent_daemon(&sandbox);
    let began = Instant::now();
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    let elapsed = began.elapsed();
    let reason = blocked(&output).expect("the check fails");
    assert!(reason.contains("autochecks") && reason.contains("is unresponsive"), "{reason}");
    assert!(elapsed < WITHOUT_DAEMON, "{elapsed:?}");
}

#[test]
fn a_slow_stop_is_not_taken_for_one_of_a_hanging_daemon() {
    let sandbox = project();
    let runs = sandbox.base().join("runs");
    autochecks(&sandbox, &format!("echo run >>'{}'\nsleep 13\nexit 1", runs.display()));
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", DIRTY);
    let reason = blocked(&sandbox.hook("stop", &sandbox.payload("Stop"))).expect("it fails");
    assert!(reason.contains("bad word"), "the daemon's servers are asked: {reason}");
    assert_eq!(fs::read_to_string(&runs).expect("it ran").lines().count(), 1);
}

#[test]
fn a_daemon_that_a_signal_stopped_continues_and_the_user_is_told() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    let pid = daemon(&sandbox);
    let is_told = |output: &Output| output.stdout.contains("it was suspended (SIGSTOP)");
    kill_process(pid, Signal::STOP).expect("it is ours");
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    let reason = blocked(&output).expect("the file is dirty");
    assert!(reason.contains("bad word") && is_told(&output), "{output:#?}");
    assert_eq!(iteration(&status(&sandbox)), 1);
    kill_process(pid, Signal::STOP).expect("it is ours");
    let output = sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    assert!(is_told(&output), "{output:#?}");
    assert!(!is_told(&sandbox.hook("stop", &sandbox.payload("Stop"))), "it runs");
    assert_eq!(daemon(&sandbox), pid);
}

#[test]
fn a_hanging_daemon_delays_an_edit_by_little_more_than_its_budget() {
    let sandbox = project();
    assert_eq!(sandbox.tool_write("app.py", FIXED).code, 0);
    let _silent = silent_daemon(&sandbox);
    let began = Instant::now();
    let output = sandbox.tool_write("app.py", DIRTY);
    let elapsed = began.elapsed();
    assert!(
        output.context().contains("not measured: pyright (the daemon is unresponsive"),
        "{output:#?}"
    );
    assert!(elapsed < EDIT, "{elapsed:?}");
}

#[test]
fn a_daemon_that_dies_late_in_a_stop_is_replaced_and_servers_are_asked() {
    let sandbox = project();
    let (runs, release) = (sandbox.base().join("runs"), sandbox.base().join("release"));
    let (noted, awaited) = (runs.display(), release.display());
    let wait = format!("for _ in $(seq 600); do\n  [ -e '{awaited}' ] && break\n  sleep 0.1\ndone");
    autochecks(&sandbox, &format!("echo run >>'{noted}'\n{wait}"));
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", DIRTY);
    let began = Instant::now();
    let stopping = stop_beside(&sandbox);
    let has_begun = || runs.exists().then_some(());
    eventually(PATIENCE, has_begun).expect("the check begins");
    // Longer than the program waits for an old daemon to end.
    let is_late = || (began.elapsed() > Duration::from_millis(10_500)).then_some(());
    eventually(PATIENCE, is_late).expect("time passes");
    kill(daemon(&sandbox));
    fs::write(&release, "").expect("the sandbox is writable");
    let output = stopping.join().expect("the hook ends");
    let reason = blocked(&output).expect("the next daemon decides");
    assert!(reason.contains("bad word"), "{reason}");
    assert_eq!(iteration(&status(&sandbox)), 1);
}
