//! State that cannot be written, because the disk is full or the daemon is killed: hooks answer, no
//! project file changes, and the next daemon can use the state.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::{Output, PATIENCE, PROGRAM, SESSION, Sandbox, eventually, finish};
use crate::terminal::typed;

/// Largest size of any file, in blocks of 512 bytes: nothing, less than an empty database, less
/// than one with a loop.
const LIMITS: [u32; 4] = [0, 7, 24, 150];
const SOURCE: &str = "def half(n):\n    return n / 2\n";
const KILLS: u64 = 12;
/// The session after the faults.
const LAST_SESSION: &str = "00000000-0000-4000-8000-00000000000f";

/// The hooks of a short session with a loop.
pub(crate) fn session(sandbox: &Sandbox, id: &str) -> Vec<(&'static str, Value)> {
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

pub(crate) fn assert_valid(event: &str, output: &Output) {
    assert_eq!(output.code, 0, "{event}: {output:#?}");
    if !output.stdout.trim().is_empty() {
        assert!(output.json().is_object(), "{event}: {output:#?}");
    }
}

/// A loop can be started and is found again, and nothing is left over.
pub(crate) fn assert_works(sandbox: &Sandbox) {
    for (event, input) in session(sandbox, LAST_SESSION) {
        assert_valid(event, &sandbox.hook(event, &input));
    }
    let found = sandbox.run(&["loop", "status", "--session", LAST_SESSION, "--json"]);
    assert!(found.stdout.contains("tidy up"), "{found:#?}");
    let status = sandbox.run(&["daemon", "status", "--json"]);
    assert_eq!(status.code, 0, "{status:#?}");
    assert_eq!(sandbox.read("a.py"), SOURCE);
    assert_nothing_stays(&sandbox.base());
}

/// Temporary files and journals go. A daemon may be writing one at this moment.
pub(crate) fn assert_nothing_stays(folder: &Path) {
    let mut found = Vec::new();
    let gone = eventually(PATIENCE, || {
        found = left_over(folder);
        found.is_empty().then_some(())
    });
    assert!(gone.is_some(), "{found:#?}");
}

/// Temporary files and journals.
pub(crate) fn left_over(folder: &Path) -> Vec<String> {
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
            let mut hook = limited(&sandbox, limit, &["hook", event]);
            assert_valid(event, &finish(&mut hook, &input.to_string()));
        }
        assert_eq!(sandbox.read("a.py"), SOURCE);
        assert_nothing_stays(&sandbox.base());
        let largest = largest_file(&sandbox.base().join("state"));
        assert!(largest <= u64::from(limit) * 512, "not limited: {largest} bytes");
        stop_daemon(&sandbox);
        assert_works(&sandbox);
    }
}

/// The program without a file larger than this many blocks of 512 bytes; a daemon that it starts
/// has the same limit.
fn limited(sandbox: &Sandbox, blocks: u32, arguments: &[&str]) -> Command {
    let mut limited = Command::new("sh");
    sandbox.prepare(&mut limited);
    // Without the signal, a write beyond the limit fails like one on a full disk.
    let script = format!("trap '' 25; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    limited.args(["-c", &script, PROGRAM]).args(arguments);
    limited
}

#[test]
fn an_output_that_cannot_be_written_is_no_success() {
    let sandbox = project();
    assert_eq!(sandbox.run(&["memory", "add", "giraffes stay here"]).code, 0);
    let mut export = Command::new("sh");
    sandbox.prepare(&mut export);
    export.args(["-c", "exec \"$0\" memory export > /dev/full", PROGRAM]);
    let refused = finish(&mut export, "");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("the output is incomplete: "), "{refused:#?}");
}

fn stop_daemon(sandbox: &Sandbox) {
    sandbox.run(&["daemon", "stop"]);
    let gone = eventually(PATIENCE, || sandbox.survivors().is_empty().then_some(()));
    assert!(gone.is_some(), "{:#?}", sandbox.survivors());
}

/// The sandbox's daemon, started if none is running.
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

/// The file of this name in the project's private folder.
pub(crate) fn private_file(sandbox: &Sandbox, name: &str) -> PathBuf {
    let projects = fs::read_dir(sandbox.base().join("state/projects")).into_iter().flatten();
    let mut files = projects.flatten().map(|project| project.path().join(name));
    files.find(|file| file.exists()).expect("written")
}

/// A person at a terminal allows a finding.
pub(crate) fn allow(mut command: Command, id: &str) -> Output {
    for name in ["CLAUDECODE", "AI_AGENT"] {
        command.env_remove(name);
    }
    typed(command.args(["guard", "allow", id, "--reason", "covered elsewhere"]), "again", id)
}

#[test]
fn a_waiver_that_cannot_be_written_allows_nothing_and_the_others_stay() {
    let sandbox = Sandbox::new();
    for number in [1, 2] {
        let text = format!(
            "def test_sum():\n    assert {number} + 2 == sum_of({number}, 2)\n\n\n\
             def test_half():\n    assert half(6) == 3 * {number}\n"
        );
        sandbox.write(&format!("tests/test_{number}.py"), &text);
    }
    sandbox.commit();
    for number in [1, 2] {
        let text = format!("def test_sum():\n    assert {number} + 2 == sum_of({number}, 2)\n");
        sandbox.write(&format!("tests/test_{number}.py"), &text);
    }
    let report = sandbox.run(&["guard", "--json"]).json();
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(2), "{report:#}");
    let id = |at: usize| report["findings"][at]["id"].as_str().expect("an id").to_owned();
    let allowed = allow(sandbox.program(), &id(0));
    assert_eq!(allowed.code, 0, "{allowed:#?}");
    stop_daemon(&sandbox);
    let file = private_file(&sandbox, "waivers.jsonl");
    let mut before = fs::read_to_string(&file).expect("ours");
    let others = (0..500).map(|number| {
        let id = format!("{number:016}");
        format!("{}\n", json!({"id": id, "code": "G01", "reason": "x".repeat(200)}))
    });
    before.extend(others);
    fs::write(&file, &before).expect("ours");
    // The database cannot be written, or only the waivers.
    for (blocks, reason) in [(0, "store is not available"), (100, "File too large")] {
        let refused = allow(limited(&sandbox, blocks, &[]), &id(1));
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:#?}");
        let told = refused.stderr.split_once("not written: ").map_or("", |(_, told)| told);
        assert!(told.contains(reason), "{refused:#?}");
        assert_eq!(fs::read_to_string(&file).expect("ours"), before);
        assert_nothing_stays(&sandbox.base());
    }
    assert_eq!(sandbox.run(&["guard"]).code, 1, "the other finding counts");
    assert_eq!(allow(sandbox.program(), &id(1)).code, 0);
    assert_eq!(sandbox.run(&["guard"]).code, 0);
}

#[test]
fn a_checkpoint_that_cannot_be_copied_is_missing_and_the_next_one_is_whole() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    let large = "x = 1\n".repeat(200_000);
    sandbox.write("a.py", SOURCE);
    sandbox.write("large.txt", &large);
    let prompt = ["--session", SESSION, "--prompt", "tidy up", "--max-iterations", "5"];
    let start = [&["loop", "start"], &prompt[..]].concat();
    let begun = finish(&mut limited(&sandbox, 1_500, &start), "");
    assert_eq!(begun.code, 0, "{begun:#?}");
    let log = fs::read_to_string(sandbox.base().join("state/log/daemon.log")).unwrap_or_default();
    assert!(log.contains("the first checkpoint of a loop was not saved"), "{log}");
    assert!(log.contains("File too large"), "{log}");
    assert_nothing_stays(&sandbox.base());
    let status = sandbox.run(&["loop", "status", "--json"]).json();
    let id = status["id"].as_str().expect("an id").to_owned();
    let restore = |name: &str| sandbox.run(&["loop", "restore", &id, "--to", name, "--apply"]);
    let refused = restore("0");
    assert!(refused.code == 1 && refused.stderr.contains("no checkpoint"), "{refused:#?}");
    stop_daemon(&sandbox);
    sandbox.write("a.py", "def half(n):\n    return n // 2\n");
    sandbox.hook("stop", &sandbox.payload("Stop"));
    sandbox.write("a.py", SOURCE);
    sandbox.write("large.txt", "");
    let restored = restore("1");
    assert_eq!(restored.code, 0, "{restored:#?}");
    assert_eq!(sandbox.read("large.txt"), large);
    assert!(sandbox.read("a.py").contains("n // 2"));
    assert_nothing_stays(&sandbox.base());
}

#[test]
fn scan_results_that_cannot_be_cached_are_told_in_the_log_and_cached_later() {
    /// More than are scanned without a cache.
    const FILES: usize = 120;
    let sandbox = Sandbox::new();
    for number in 0..FILES {
        sandbox.write(&format!("f{number}.py"), "eval(x)\neval(y)\neval(z)\n");
    }
    let check = ["check", "--all", "--no-lsp", "--json"];
    let cached = || {
        let projects = fs::read_dir(sandbox.base().join("state/projects")).into_iter().flatten();
        let folders = projects.flatten().flat_map(|project| fs::read_dir(project.path()));
        let mut names = folders.flatten().flatten().map(|entry| entry.file_name());
        names.any(|name| name.to_string_lossy().starts_with("scans-"))
    };
    let limited = finish(&mut limited(&sandbox, 16, &check), "").json();
    let log = fs::read_to_string(sandbox.base().join("state/log/daemon.log")).unwrap_or_default();
    assert!(log.contains("scan results are not cached error=File too large"), "{log}");
    assert!(!cached());
    assert_nothing_stays(&sandbox.base());
    stop_daemon(&sandbox);
    let again = sandbox.run(&check).json();
    assert!(cached());
    assert_eq!(limited["findings"], again["findings"]);
    assert_eq!(again["findings"].as_array().map(Vec::len), Some(3 * FILES));
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
    let output = finish(limited(&sandbox, 0, &check).arg("--no-daemon"), "");
    assert_ne!(output.code, 0, "{output:#?}");
    assert!(output.stderr.contains("known.json"), "{output:#?}");
    assert_eq!(sandbox.read("known.json"), before);
    assert_nothing_stays(&sandbox.base());
    sandbox.run(&check);
    assert!(sandbox.read("known.json").contains("b.py"));
}
