//! The life of language servers: five slots, eviction, memory, crashes, a killed daemon, and the
//! commands that list and control servers.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpgid, kill_process};
use serde_json::{Value, json};

use crate::support::{Output, PATIENCE, Sandbox, eventually, write_file};

const DIRTY: &str = "word = 'BAD'\n";

fn with_errors(mut script: Value) -> Value {
    script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    script
}

/// The sandbox's project with a scripted pyright.
fn project(script: Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fake_server("pyright-langserver", with_errors(script));
    sandbox.write("app.py", DIRTY);
    sandbox
}

/// One more project, with its own server.
fn another(sandbox: &Sandbox, name: &str, script: Value) -> PathBuf {
    let root = sandbox.base().join(name);
    let command = format!("server-of-{name}");
    sandbox.fake_server(&command, with_errors(script));
    let own = json!({"servers": {"pyright": {"command": command, "diagnostics": "pull"}}});
    write_file(&root.join(".moai/config/lsp.json"), &own.to_string());
    write_file(&root.join("app.py"), DIRTY);
    root
}

fn check_arguments(root: &std::path::Path) -> Vec<String> {
    let file = root.join("app.py").display().to_string();
    ["check", "--no-scan", "--json", "--root", &root.display().to_string(), &file]
        .map(str::to_owned)
        .to_vec()
}

fn check(sandbox: &Sandbox, root: &std::path::Path) -> Output {
    let arguments = check_arguments(root);
    sandbox.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A check in the background.
fn check_behind(sandbox: &Sandbox, root: &std::path::Path) -> Child {
    let mut command = sandbox.program();
    command.args(check_arguments(root)).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().expect("the program starts")
}

fn list(sandbox: &Sandbox) -> Vec<Value> {
    let output = sandbox.run(&["server", "list", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    let document = output.json();
    assert_eq!(document["schema"], "moai-ralph/servers@1");
    document["servers"].as_array().expect("a list").clone()
}

/// Names of the roots that have a running server.
fn running_roots(sandbox: &Sandbox) -> BTreeSet<String> {
    let name = |server: &Value| {
        let root = server["root"].as_str()?;
        server["pid"].as_u64().and(root.rsplit('/').next()).map(str::to_owned)
    };
    list(sandbox).iter().filter_map(name).collect()
}

fn pid_of(sandbox: &Sandbox, name: &str) -> Option<i64> {
    let servers = list(sandbox);
    let is_meant = |it: &&Value| it["root"].as_str().is_some_and(|root| root.ends_with(name));
    servers.iter().find(is_meant)?["pid"].as_i64()
}

/// Process trees of language servers: each has one leader.
fn leaders(sandbox: &Sandbox) -> Vec<i32> {
    let all = sandbox.survivors().into_iter();
    // A process that is just forking looks like two.
    let is_leader = |pid: i32| {
        let pid = Pid::from_raw(pid);
        pid.is_some_and(|pid| getpgid(Some(pid)).is_ok_and(|group| group == pid))
    };
    all.filter(|(_, command)| command.contains(" supervise "))
        .map(|(pid, _)| pid)
        .filter(|pid| is_leader(*pid))
        .collect()
}

fn kill(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a process id");
    kill_process(pid, Signal::KILL).expect("it is ours");
}

fn daemon_pid(sandbox: &Sandbox) -> i32 {
    let status = sandbox.run(&["daemon", "status", "--json"]).json();
    let pid = status["pid"].as_i64().expect("the daemon runs");
    i32::try_from(pid).expect("a process id")
}

#[test]
fn the_sixth_server_takes_the_place_of_the_one_that_costs_least_to_start_again() {
    let sandbox = Sandbox::new();
    let slow = json!({"initialize_delay_ms": 3_000});
    let roots: Vec<PathBuf> =
        ["one", "two", "three", "four"].map(|name| another(&sandbox, name, slow.clone())).to_vec();
    thread::scope(|scope| {
        for root in &roots {
            scope.spawn(|| assert_eq!(check(&sandbox, root).code, 1));
        }
    });
    for root in &roots {
        assert_eq!(check(&sandbox, root).code, 1);
    }
    // Used last, and yet the one to go.
    assert_eq!(check(&sandbox, &another(&sandbox, "quick", json!({}))).code, 1);
    assert_eq!(running_roots(&sandbox).len(), 5);
    assert_eq!(check(&sandbox, &another(&sandbox, "sixth", json!({}))).code, 1);
    let expected = ["four", "one", "sixth", "three", "two"].map(str::to_owned);
    assert_eq!(running_roots(&sandbox), BTreeSet::from(expected));
    // The evicted server restarts when its project is checked again.
    assert_eq!(check(&sandbox, &sandbox.base().join("quick")).code, 1);
    assert_eq!(running_roots(&sandbox).len(), 5);
}

#[test]
fn there_are_never_more_than_five_process_trees_however_many_are_asked() {
    let sandbox = Sandbox::new();
    // They must be killed, so each leaves late.
    let stubborn = json!({"ignore_shutdown": true});
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let roots = names.map(|name| another(&sandbox, name, stubborn.clone()));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut max = 0;
            while !is_over.load(Ordering::Relaxed) {
                max = max.max(leaders(&sandbox).len());
            }
            max
        });
        let checks = roots.each_ref().map(|root| scope.spawn(|| check(&sandbox, root)));
        for check in checks {
            let output = check.join().expect("the check ends");
            assert_eq!(output.code, 1, "{output:#?}");
        }
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(watch.join().expect("the watch ends"), 5);
    });
}

#[test]
fn a_busy_server_keeps_its_place_and_a_question_waits_for_the_first_idle_one() {
    let sandbox = Sandbox::new();
    let silent = json!({"never_answer": ["textDocument/diagnostic"]});
    let mut behind = Vec::new();
    for name in ["one", "two", "three", "four"] {
        behind.push(check_behind(&sandbox, &another(&sandbox, name, silent.clone())));
    }
    let are_busy = |count: usize| {
        let all_busy = eventually(PATIENCE, || {
            let busy = |it: &Value| it["state"] == "busy" && it["pid"].is_u64();
            let servers = list(&sandbox);
            (servers.iter().filter(|it| busy(it)).count() == count).then_some(())
        });
        assert!(all_busy.is_some(), "{:#?}", list(&sandbox));
    };
    are_busy(4);
    behind.push(check_behind(&sandbox, &another(&sandbox, "five", json!({"delay_ms": 4_000}))));
    are_busy(5);
    let before = ["one", "two", "three", "four"].map(|name| pid_of(&sandbox, name));
    let sixth = check(&sandbox, &another(&sandbox, "sixth", json!({})));
    assert_eq!(sixth.code, 1, "{sixth:#?}");
    assert_eq!(["one", "two", "three", "four"].map(|name| pid_of(&sandbox, name)), before);
    assert_eq!(pid_of(&sandbox, "five"), None);
    for mut child in behind {
        let _ = child.kill();
        child.wait().expect("the child is ours");
    }
}

#[test]
fn a_server_beyond_the_hard_limit_is_ended_and_its_question_is_a_gap() {
    let mut sandbox =
        project(json!({"allocate_mib": 200, "never_answer": ["textDocument/diagnostic"]}));
    sandbox.set("MOAI_RALPH_LSP_MEMORY_HARD_MB", "100");
    let output = sandbox.run(&["check", "app.py", "--json"]);
    assert_eq!(output.code, 4, "{output:#?}");
    let report = output.json();
    let reason = report["sensors"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("MiB; the limit is 100 MiB"), "{reason}");
    let servers = list(&sandbox);
    assert_eq!((servers.len(), &servers[0]["state"]), (1, &json!("down")), "{servers:#?}");
    assert!(servers[0]["last_gap"].as_str().is_some_and(|gap| gap.contains("100")));
}

#[test]
fn an_idle_server_beyond_the_soft_limit_is_started_anew_and_stays_at_hand() {
    let mut sandbox = project(json!({"allocate_mib": 200}));
    sandbox.set("MOAI_RALPH_LSP_MEMORY_SOFT_MB", "100");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    let first = pid_of(&sandbox, "project").expect("it runs");
    let anew = eventually(PATIENCE, || {
        let servers = list(&sandbox);
        let is_anew = servers[0]["pid"].as_i64().is_some_and(|pid| pid != first);
        // It is ready before its memory is checked again.
        let is_measured = servers[0]["memory_bytes"].as_u64().is_some_and(|it| it > 200 << 20);
        (is_anew && is_measured && servers[0]["state"] == "ready").then(|| servers[0].clone())
    });
    let anew = anew.expect("it is started anew");
    assert_eq!((&anew["restarts"], &anew["last_gap"]), (&json!(1), &Value::Null));
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    assert_eq!(pid_of(&sandbox, "project"), anew["pid"].as_i64());
}

#[test]
fn a_killed_daemon_leaves_nothing_behind() {
    let script = json!({"ignore_shutdown": true, "spawn_child": true, "spawn_detached": true});
    let sandbox = project(script);
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    let sleeps = |sandbox: &Sandbox| {
        let all = sandbox.survivors();
        all.iter().filter(|(_, command)| command.starts_with("sleep")).count()
    };
    // The supervisor's search of the tree must find the one that left the group, too.
    let has_both = eventually(PATIENCE, || (sleeps(&sandbox) == 2).then_some(()));
    assert!(has_both.is_some(), "{:#?}", sandbox.survivors());
    kill(daemon_pid(&sandbox));
    let gone = eventually(Duration::from_secs(5), || sandbox.survivors().is_empty().then_some(()));
    assert!(gone.is_some(), "{:#?}", sandbox.survivors());
}

#[test]
fn supervisors_killed_with_the_daemon_take_their_servers_along() {
    let sandbox = project(json!({"ignore_shutdown": true}));
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    let supervisors = leaders(&sandbox);
    assert_eq!(supervisors.len(), 1);
    kill(daemon_pid(&sandbox));
    // It may have seen the daemon's end already.
    let pid = Pid::from_raw(supervisors[0]).expect("a process id");
    let _ = kill_process(pid, Signal::KILL);
    let gone = eventually(Duration::from_secs(5), || sandbox.survivors().is_empty().then_some(()));
    assert!(gone.is_some(), "{:#?}", sandbox.survivors());
}

#[test]
fn a_killed_supervisor_counts_as_a_crash() {
    let sandbox = project(json!({"ignore_shutdown": true}));
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    let first = leaders(&sandbox);
    kill(first[0]);
    let told = eventually(PATIENCE, || list(&sandbox)[0]["last_gap"].as_str().map(str::to_owned));
    assert!(told.is_some_and(|gap| gap.contains("SIGKILL")), "{:#?}", list(&sandbox));
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    assert_eq!(leaders(&sandbox).len(), 1);
    assert_ne!(leaders(&sandbox), first);
}

#[test]
fn after_a_crash_one_question_is_tried_before_the_others() {
    let crash = json!({"method": "textDocument/diagnostic", "n": 2});
    let sandbox = project(json!({"crash_at": crash, "delay_ms": 300}));
    for name in ["b.py", "c.py"] {
        sandbox.write(name, DIRTY);
    }
    // Asked side by side, none would ever be answered: the second question kills the server.
    let report = sandbox.run(&["check", "--no-scan", "--json", "--all"]).json();
    assert!(report["files_checked"].as_u64().is_some_and(|count| count >= 1), "{report:#}");
}

#[test]
fn a_server_that_always_crashes_stops_no_other() {
    let sandbox = Sandbox::new();
    let crash = json!({"method": "initialize", "n": 1});
    let broken = another(&sandbox, "broken", json!({"crash_at": crash}));
    let whole = another(&sandbox, "whole", json!({}));
    assert_eq!(check(&sandbox, &broken).code, 4);
    assert_eq!(check(&sandbox, &whole).code, 1);
    let servers = list(&sandbox);
    let broken = servers.iter().find(|it| it["pid"].is_null()).expect("the broken one is listed");
    assert_eq!(broken["state"], "down");
    assert!(broken["last_gap"].as_str().is_some_and(|gap| gap.contains("crashing as scripted")));
}

#[test]
fn servers_are_started_listed_restarted_and_stopped_by_name() {
    let sandbox = project(json!({"log_message": "hello\n\u{1b}[31mworld"}));
    let start = sandbox.run(&["server", "start", "python"]);
    assert_eq!(start.code, 0, "{start:#?}");
    assert!(start.stdout.starts_with("pyright: started, "), "{start:#?}");
    let servers = list(&sandbox);
    let shown = ["id", "languages", "answered", "restarts"].map(|key| servers[0][key].clone());
    assert_eq!(shown, [json!("pyright"), json!(["python"]), json!(0), json!(0)]);
    let first = pid_of(&sandbox, "project").expect("it runs");
    let logs = eventually(PATIENCE, || {
        let logs = sandbox.run(&["server", "logs", "pyright"]);
        logs.stdout.contains("world").then_some(logs)
    });
    let logs = logs.expect("the log message arrives").stdout;
    assert!(logs.contains(" info: hello\n") && !logs.contains('\u{1b}'), "{logs}");
    assert_eq!(sandbox.run(&["server", "restart", "pyright"]).code, 0);
    let second = pid_of(&sandbox, "project").expect("it runs");
    assert_ne!(first, second);
    // Its document is opened again by itself.
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    let stop = sandbox.run(&["server", "stop"]);
    assert_eq!((stop.code, stop.stdout.starts_with("pyright: stopped, ")), (0, true), "{stop:#?}");
    assert_eq!(leaders(&sandbox), [0; 0]);
    assert_eq!(sandbox.run(&["server", "list"]).stdout, "no language server is running\n");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
}

#[test]
fn what_is_not_there_cannot_be_started_stopped_or_read() {
    let sandbox = Sandbox::new();
    // Without a daemon, none is started for an answer.
    assert_eq!(sandbox.run(&["server", "list"]).stdout, "no language server is running\n");
    assert_eq!(sandbox.run(&["server", "stop"]).code, 0);
    let stop = sandbox.run(&["server", "stop", "pyright"]);
    assert_eq!(stop.code, 1);
    assert!(stop.stderr.contains("no language server pyright runs"), "{stop:#?}");
    assert_eq!(sandbox.run(&["server", "logs", "pyright"]).code, 1);
    let survivors = sandbox.survivors();
    // git may still tidy up behind the sandbox's first commit.
    let has_daemon = survivors.iter().any(|(_, command)| command.contains("daemon run"));
    assert!(!has_daemon, "{survivors:#?}");
    assert_eq!(sandbox.run(&["server", "start", "pyhton"]).code, 3);
    // PATH has only the sandbox's programs: no server of the machine is found.
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", sandbox.base().join("bin").into_os_string());
    let start = sandbox.run(&["server", "start", "python"]);
    assert_eq!(start.code, 1, "{start:#?}");
    assert!(start.stdout.contains("not installed: moai-ralph server install"), "{start:#?}");
    assert!(fs::read_dir(sandbox.base().join("bin")).expect("a folder").next().is_none());
}
