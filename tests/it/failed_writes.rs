//! State that cannot be written, because the disk is full or the daemon is killed: hooks answer, no
//! project file changes, and the next daemon can use the state.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::{Output, PATIENCE, PROGRAM, Sandbox, eventually, finish};

/// Largest size of any file, in blocks of 512 bytes: nothing, less than an empty database, less
/// than one with a loop.
const LIMITS: [u32; 4] = [0, 7, 24, 150];
/// The project's source.
const SOURCE: &str = "def half(n):\n    return n / 2\n";
const KILLS: u64 = 12;
/// The session after the faults.
const LAST_SESSION: &str = "00000000-0000-4000-8000-00000000000f";

/// The hooks of a short session with a loop.
fn session(sandbox: &Sandbox, id: &str) -> Vec<(&'static str, Value)> {
    let mut command = sandbox.payload("UserPromptExpansion");
    command["command_name"] = json!("moai-ralph:moai-loop");
    command["command_args"] = json!("--max-iterations 3 tidy up");
    let mut edit = sandbox.payload("PostToolUse-Write");
    let file = sandbox.path("a.py");
    edit["tool_input"] = json!({"file_path": file, "content": SOURCE});
    edit["tool_response"]["filePath"] = json!(file);
    let hooks = [
        ("session-start", sandbox.payload("SessionStart-startup")),
        ("user-prompt-expansion", command),
        ("post-tool-use", edit),
        ("stop", sandbox.payload("Stop")),
        ("session-end", sandbox.payload("SessionEnd")),
    ];
    let of_session = |(event, mut input): (&'static str, Value)| {
        input["session_id"] = json!(id);
        (event, input)
    };
    hooks.into_iter().map(of_session).collect()
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.py", SOURCE);
    sandbox.commit();
    sandbox
}

fn assert_valid(event: &str, output: &Output) {
    assert_eq!(output.code, 0, "{event}: {output:#?}");
    if !output.stdout.trim().is_empty() {
        assert!(output.json().is_object(), "{event}: {output:#?}");
    }
}

/// A loop can be started and is found again, and nothing is left over.
fn assert_works(sandbox: &Sandbox) {
    for (event, input) in session(sandbox, LAST_SESSION) {
        assert_valid(event, &sandbox.hook(event, &input));
    }
    let found = sandbox.run(&["loop", "status", "--session", LAST_SESSION, "--json"]);
    assert!(found.stdout.contains("tidy up"), "{found:#?}");
    let status = sandbox.run(&["daemon", "status", "--json"]);
    assert_eq!(status.code, 0, "{status:#?}");
    assert_eq!(sandbox.read("a.py"), SOURCE);
    assert_eq!(left_over(&sandbox.base()), Vec::<String>::new());
}

/// Temporary files and journals.
fn left_over(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if [".tmp", ".new-", ".moai-ralph-", "change-"].iter().any(|it| name.starts_with(it)) {
            found.push(path.display().to_string());
        } else if path.is_dir() && name != ".git" {
            found.extend(left_over(&path));
        }
    }
    found
}

fn largest_file(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => largest_file(&entry.path()),
        found => found.map_or(0, |file| file.len()),
    });
    sizes.max().unwrap_or(0)
}

#[test]
fn on_a_full_disk_hooks_answer_and_once_there_is_room_all_works() {
    for limit in LIMITS {
        let sandbox = project();
        for (event, input) in session(&sandbox, "00000000-0000-4000-8000-00000000000e") {
            let mut limited = Command::new("sh");
            sandbox.prepare(&mut limited);
            // Without the signal, a write beyond the limit fails like one on a full disk.
            let script = format!("trap '' 25; ulimit -f {limit}; exec \"$0\" \"$@\"");
            limited.args(["-c", &script, PROGRAM, "hook", event]);
            assert_valid(event, &finish(&mut limited, &input.to_string()));
        }
        assert_eq!(sandbox.read("a.py"), SOURCE);
        assert_eq!(left_over(&sandbox.base()), Vec::<String>::new(), "limit {limit}");
        let largest = largest_file(&sandbox.base().join("state"));
        assert!(largest <= u64::from(limit) * 512, "not limited: {largest} bytes");
        sandbox.run(&["daemon", "stop"]);
        let gone = eventually(PATIENCE, || sandbox.survivors().is_empty().then_some(()));
        assert!(gone.is_some(), "{:#?}", sandbox.survivors());
        assert_works(&sandbox);
    }
}

/// The sandbox's daemon, started if there is none.
fn running_daemon(sandbox: &Sandbox) -> Pid {
    // The first call starts a daemon without waiting for it.
    let pid = eventually(PATIENCE, || {
        sandbox.hook("session-start", &sandbox.payload("SessionStart-startup"));
        let status = sandbox.run(&["daemon", "status", "--json"]);
        let pid = serde_json::from_str::<Value>(&status.stdout).ok()?["pid"].as_i64()?;
        Pid::from_raw(i32::try_from(pid).ok()?)
    });
    pid.expect("the daemon runs")
}

#[test]
fn a_daemon_killed_at_any_moment_leaves_a_state_that_opens() {
    let sandbox = project();
    for kill in 0..KILLS {
        let pid = running_daemon(&sandbox);
        thread::scope(|scope| {
            for number in 0..3 {
                let sandbox = &sandbox;
                scope.spawn(move || {
                    let id = format!("00000000-0000-4000-8000-{kill:06}{number:06}");
                    for (event, input) in session(sandbox, &id) {
                        assert_valid(event, &sandbox.hook(event, &input));
                    }
                });
            }
            // The moment of the kill is what this test varies.
            thread::sleep(Duration::from_millis(kill * 23 % 170));
            rustix::process::kill_process(pid, Signal::KILL).expect("the daemon is ours");
        });
    }
    let history = sandbox.run(&["loop", "history"]);
    assert!(!format!("{history:?}").contains("damaged"), "{history:#?}");
    assert_works(&sandbox);
}

#[test]
fn a_baseline_that_cannot_be_written_stays_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.write("a.py", "eval(x)\n");
    let check = ["check", "--all", "--no-lsp", "--write-baseline", "known.json"];
    sandbox.run(&check);
    let before = sandbox.read("known.json");
    assert!(before.contains("a.py"), "{before}");
    sandbox.write("b.py", &"eval(x)\n".repeat(50));
    let mut limited = Command::new("sh");
    sandbox.prepare(&mut limited);
    limited.args(["-c", "trap '' 25; ulimit -f 0; exec \"$0\" \"$@\"", PROGRAM]).args(check);
    let output = finish(limited.arg("--no-daemon"), "");
    assert_ne!(output.code, 0, "{output:#?}");
    assert!(output.stderr.contains("known.json"), "{output:#?}");
    assert_eq!(sandbox.read("known.json"), before);
    assert_eq!(left_over(&sandbox.base()), Vec::<String>::new());
    sandbox.run(&check);
    assert!(sandbox.read("known.json").contains("b.py"));
}
