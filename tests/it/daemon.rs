//! The daemon: a single one under concurrent requests, and none after `daemon stop`.

use std::thread;

use serde_json::{Value, json};

use crate::support::{PATIENCE, Sandbox, eventually};

fn daemons(sandbox: &Sandbox) -> Vec<(i32, String)> {
    let survivors = sandbox.survivors();
    survivors.into_iter().filter(|(_, command)| command.contains("daemon")).collect()
}

#[test]
fn fifty_first_calls_start_exactly_one() {
    let sandbox = Sandbox::new();
    let input = sandbox.payload("SessionStart-startup");
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| assert_eq!(sandbox.hook("session-start", &input).code, 0));
        }
    });
    // The hooks return at once; the daemon that they asked for comes up behind them.
    let one = eventually(PATIENCE, || {
        let up = sandbox.run(&["daemon", "status"]).code == 0;
        (up && daemons(&sandbox).len() == 1).then_some(())
    });
    assert!(one.is_some(), "{:#?}", daemons(&sandbox));
    let output = sandbox.run(&["daemon", "stop"]);
    assert_eq!(output.code, 0, "{output:#?}");
    let none = eventually(PATIENCE, || sandbox.survivors().is_empty().then_some(()));
    assert!(none.is_some(), "{:#?}", sandbox.survivors());
}

#[test]
fn a_stubborn_server_and_its_child_do_not_outlive_the_daemon() {
    let sandbox = Sandbox::new();
    let script = json!({"ignore_shutdown": true, "spawn_child": true});
    sandbox.fake_server("pyright-langserver", script);
    sandbox.tool_write("app.py", "word = 'good'\n");
    let is_up = eventually(PATIENCE, || {
        let running = sandbox.survivors();
        running.iter().any(|(_, command)| command.starts_with("sleep")).then_some(())
    });
    assert!(is_up.is_some(), "the scripted server was never started: {:#?}", sandbox.survivors());
    let output = sandbox.run(&["daemon", "stop"]);
    assert_eq!(output.code, 0, "{output:#?}");
    let none = eventually(PATIENCE, || sandbox.survivors().is_empty().then_some(()));
    assert!(none.is_some(), "{:#?}", sandbox.survivors());
}

#[test]
fn stopping_without_a_daemon_is_no_failure() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    assert!(sandbox.survivors().is_empty());
}

#[test]
fn stopping_prints_the_document_of_no_daemon() {
    let sandbox = Sandbox::new();
    let stopped = || sandbox.run(&["daemon", "stop", "--json"]);
    let none = stopped();
    assert_eq!((none.code, &none.json()["running"]), (0, &Value::Bool(false)), "{none:#?}");
    assert_eq!(sandbox.run(&["check"]).code, 0);
    let ended = stopped();
    assert_eq!((ended.code, &ended.json()["running"]), (0, &Value::Bool(false)), "{ended:#?}");
}
