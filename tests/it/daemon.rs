//! The daemon: a single one under concurrent requests, and none after `daemon stop`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::killed_writes::{daemon, kill};
use crate::support::{PATIENCE, Sandbox, eventually, finish};

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
fn a_process_without_the_runtime_folder_uses_the_same_daemon() {
    let sandbox = Sandbox::new();
    let pid = address(&sandbox)["pid"].clone();
    // As cron and su start it.
    let elsewhere = |args: &[&str]| {
        let mut command = sandbox.program();
        command.args(args).env_remove("XDG_RUNTIME_DIR");
        finish(&mut command, "")
    };
    let checked = elsewhere(&["check"]);
    assert_eq!(checked.stderr, "");
    assert_eq!(elsewhere(&["daemon", "status", "--json"]).json()["pid"], pid);
    assert_eq!(daemons(&sandbox).len(), 1, "{:#?}", daemons(&sandbox));
    assert_eq!(elsewhere(&["daemon", "stop"]).code, 0);
    let none = eventually(PATIENCE, || daemons(&sandbox).is_empty().then_some(()));
    assert!(none.is_some(), "{:#?}", daemons(&sandbox));
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

/// The daemon's process and socket.
#[test]
fn a_daemon_that_hangs_is_killed_when_it_is_to_stop() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.tool_write("app.py", "word = 1\n").code, 0);
    let pid = daemon(&sandbox);
    let is_over = AtomicBool::new(false);
    let stopped = thread::scope(|scope| {
        scope.spawn(|| {
            // Whatever continues it, it is stopped again.
            while !is_over.load(Ordering::Relaxed) && kill_process(pid, Signal::STOP).is_ok() {
                thread::yield_now();
            }
        });
        let stopped = sandbox.run(&["daemon", "stop"]);
        is_over.store(true, Ordering::Relaxed);
        stopped
    });
    assert!(stopped.code == 0 && stopped.stdout.contains("was killed"), "{stopped:#?}");
    assert_eq!(sandbox.survivors(), []);
}

fn address(sandbox: &Sandbox) -> Value {
    sandbox.tool_write("app.py", "word = 1\n");
    sandbox.run(&["daemon", "status", "--json"]).json()
}

fn connect(status: &Value) -> UnixStream {
    let socket = status["socket"].as_str().expect("a path");
    UnixStream::connect(socket).expect("the daemon listens")
}

#[test]
fn connections_that_send_nothing_or_half_a_line_do_not_stop_hooks() {
    let sandbox = Sandbox::new();
    let status = address(&sandbox);
    let mut silent = Vec::new();
    for number in 0..300 {
        let mut stream = connect(&status);
        if number % 2 == 0 {
            stream.write_all(b"{\"protocol\":").expect("the daemon reads");
        }
        silent.push(stream);
    }
    let feedback = sandbox.tool_write("app.py", "import pickle\nword = pickle.loads(b'')\n");
    assert!(feedback.context().contains("app.py"), "{feedback:#?}");
    // The daemon closes them.
    for mut stream in silent {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("closed in time");
    }
}

#[test]
fn calls_without_an_end_are_bounded_in_memory() {
    let sandbox = Sandbox::new();
    let status = address(&sandbox);
    let before = resident_mib(&status);
    let part = vec![b'x'; 1024 * 1024];
    let peak = thread::scope(|scope| {
        let mut senders = Vec::new();
        for _ in 0..10 {
            let mut stream = connect(&status);
            let part = &part;
            senders.push(scope.spawn(move || {
                stream.set_write_timeout(Some(Duration::from_secs(1))).expect("a time limit");
                while stream.write_all(part).is_ok() {}
            }));
        }
        let mut peak = before;
        while senders.iter().any(|sender| !sender.is_finished()) {
            peak = peak.max(resident_mib(&status));
        }
        peak
    });
    // Two large calls, with the buffers that they grow from, and the first part of each other one.
    assert!(peak < before + 300, "{before} MiB, then {peak} MiB");
    assert_eq!(sandbox.run(&["scan", "app.py"]).code, 0);
}

/// Resident memory of the daemon.
fn resident_mib(status: &Value) -> u64 {
    let file = format!("/proc/{}/status", status["pid"]);
    let text = fs::read_to_string(file).expect("the daemon runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let kib = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kib / 1_024
}

#[test]
fn folders_of_runs_that_a_killed_daemon_left_are_removed_at_the_next_start() {
    let sandbox = Sandbox::new();
    let temporary = sandbox.base().join("temporary");
    fs::create_dir_all(&temporary).expect("ours");
    let status = || {
        let mut program = sandbox.program();
        program.env("TMPDIR", &temporary).args(["loop", "status"]);
        finish(&mut program, "")
    };
    status();
    // No process has this id: the largest one of Linux is smaller.
    let left = [
        sandbox.base().join("state/bytecode/moai-ralph-bytecode-999999999-aB"),
        temporary.join("moai-ralph-judge-999999999-aB"),
    ];
    for folder in &left {
        fs::create_dir_all(folder).expect("ours");
    }
    let used = temporary.join("moai-ralph-judge-999999999-used");
    fs::create_dir_all(&used).expect("ours");
    let mut judge = Command::new("sleep").arg("600").current_dir(&used).spawn().expect("sleep");
    kill(daemon(&sandbox));
    status();
    let are_gone = || left.iter().all(|folder| !folder.exists()).then_some(());
    assert!(eventually(PATIENCE, are_gone).is_some(), "{left:?}");
    assert!(used.exists(), "a program works there");
    judge.kill().expect("ours");
    judge.wait().expect("ours");
}
