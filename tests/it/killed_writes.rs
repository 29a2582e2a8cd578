//! The daemon is killed while it changes many files: after the next start all of them are old or all
//! are new, and nothing is left over.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::failed_writes::assert_nothing_stays;
use crate::mcp_client::Client;
use crate::support::{PATIENCE, Sandbox};

/// Files of one change.
const COUNT: usize = 60;
const OLD: &str = "total = 1\n";
const NEW: &str = "summed = 1\n";

/// Waits for a moment of the daemon's work without a pause, and stops the daemon there. The process that
/// requested the work is killed first, so that it does not retry; then the daemon is.
pub(crate) fn kill_at(daemon: Pid, is_reached: impl Fn() -> bool, end_asker: impl FnOnce()) {
    let started_at = Instant::now();
    while !is_reached() {
        assert!(started_at.elapsed() < PATIENCE, "the moment does not come");
        thread::yield_now();
    }
    kill_process(daemon, Signal::STOP).expect("it is ours");
    end_asker();
    kill(daemon);
}

pub(crate) fn kill(daemon: Pid) {
    kill_process(daemon, Signal::KILL).expect("it is ours");
}

pub(crate) fn daemon(sandbox: &Sandbox) -> Pid {
    let status = sandbox.run(&["daemon", "status", "--json"]).json();
    let pid = status["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    pid.expect("a daemon runs")
}

/// Names in a folder of every project's private folder.
pub(crate) fn recorded(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let projects = fs::read_dir(sandbox.base().join("state/projects")).into_iter().flatten();
    projects.flatten().flat_map(|project| names(&project.path().join(folder))).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

pub(crate) fn is_change_recorded(sandbox: &Sandbox) -> bool {
    recorded(sandbox, "changes").iter().any(|name| name.starts_with("change-"))
}

/// Moments of a change of the files, in their order. One that has passed counts as reached.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Recorded,
    /// So many new texts are next to the files.
    Staged(usize),
    /// So many files are replaced.
    Replaced(usize),
}

impl Moment {
    fn is_reached(self, sandbox: &Sandbox) -> bool {
        match self {
            Self::Recorded => is_change_recorded(sandbox) || is_replaced(sandbox, COUNT - 1),
            Self::Staged(count) => {
                let names = names(&sandbox.root());
                let staged = names.iter().filter(|name| name.starts_with(".moai-ralph-new-"));
                staged.count() >= count || is_replaced(sandbox, 0)
            }
            Self::Replaced(count) => is_replaced(sandbox, count - 1),
        }
    }
}

/// Files are replaced in the order of their names.
fn is_replaced(sandbox: &Sandbox, number: usize) -> bool {
    fs::read_to_string(sandbox.path(&name(number))).is_ok_and(|text| text == NEW)
}

fn name(number: usize) -> String {
    format!("f{number:02}.py")
}

/// Files, and a server that renames in all of them.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let edit = json!({
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 5}},
        "newText": "summed",
    });
    let mut changes = serde_json::Map::new();
    for number in 0..COUNT {
        let file = sandbox.path(&name(number));
        changes.insert(format!("file://{}", file.display()), json!([edit]));
    }
    write_old(&sandbox);
    let script = json!({
        "capabilities": {"renameProvider": true},
        "log_message": "Found 60 source files",
        "answers": {"textDocument/rename": {"changes": changes}},
    });
    sandbox.fake_server("pyright-langserver", script);
    sandbox
}

fn write_old(sandbox: &Sandbox) {
    for number in 0..COUNT {
        sandbox.write(&name(number), OLD);
    }
}

fn request(is_preview: bool) -> Value {
    json!({"path": name(0), "line": 1, "symbol": "total", "new_name": "summed",
        "dry_run": is_preview})
}

#[test]
fn killed_at_any_moment_of_a_rename_all_files_are_old_or_all_are_new() {
    let sandbox = project();
    let mut interrupted = 0;
    for moment in [
        Moment::Recorded,
        Moment::Staged(1),
        Moment::Staged(COUNT / 2),
        Moment::Staged(COUNT),
        Moment::Replaced(1),
        Moment::Replaced(COUNT / 2),
        Moment::Replaced(COUNT),
    ] {
        write_old(&sandbox);
        let mut client = Client::start(&sandbox);
        let preview = client.tool("rename", &request(true));
        assert_eq!(preview["result"]["structuredContent"]["edits"], COUNT, "{preview:#}");
        client.ask_tool("rename", &request(false));
        kill_at(daemon(&sandbox), || moment.is_reached(&sandbox), || client.kill());
        interrupted += usize::from(is_change_recorded(&sandbox));
        assert_eq!(sandbox.run(&["check", &name(0), "--no-lsp"]).code, 0);
        let texts: Vec<String> = (0..COUNT).map(|number| sandbox.read(&name(number))).collect();
        let is_whole = [OLD, NEW].iter().any(|whole| texts.iter().all(|text| text == whole));
        assert!(is_whole, "{moment:?}: {texts:?}");
        assert_nothing_stays(&sandbox.base());
    }
    assert!(interrupted > 0, "the kill always came too late");
}
