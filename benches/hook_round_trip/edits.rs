//! The engine's own share of an edit's answer: compares a whole `PostToolUse` hook with a minimal client
//! of the same language server, for the same edits, alternately, both warm.
//!
//! share = (p50 of the hook − p50 of the raw client) / p50 of the raw client. The hook's time
//! begins before its process starts and ends when the process has ended; so it holds the process
//! start, which every hook of the host pays, whatever it does. The second reading takes that out:
//! the start of the smallest program, measured in the same run, is subtracted from the hook.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use moai_host::servers::resolve::program_on_path;
use serde_json::{Value, json};

use crate::raw_client::{RawClient, Start};
use crate::support::{Sandbox, finish};
use crate::table::{Figure, Samples, Table};

/// Name of the figures.
const NAME: &str = "edit with pyright";
/// Folders next to the edited file, one module in each: a young project and a large one, because the poll for
/// other changes goes through all of them.
const TREES: [(&str, usize); 2] = [("100 folders", 100), ("2,000 folders", 2_000)];
/// Edits measured with each client.
const EDITS: usize = 30;
/// Edits before the first that counts: the first answers load the standard library's types.
const WARM_UP: usize = 4;
/// Pause between two edits, so that no measurement includes a server's work after its answer.
const PAUSE: Duration = Duration::from_millis(250);
/// Functions of the edited file; with these it has about as many lines as a module usually has.
pub(crate) const FUNCTIONS: usize = 16;
/// The engine's own share.
const SHARE_BUDGET: Figure = Figure::Share(0.10);

/// Fills the table, or reports why it cannot.
pub(crate) fn measure(process_start: Duration, table: &mut Table) {
    for (tree, folders) in TREES {
        let name = format!("{NAME}, {tree}");
        match with_pyright() {
            Ok((sandbox, program)) => {
                let edits = alternate(&sandbox, &program, folders);
                if edits.late > 0 {
                    table.note(format!("{name}: {} hooks did not wait for the answer", edits.late));
                }
                fill(table, &name, process_start, &edits.hook, &edits.raw);
            }
            Err(reason) => table.unmeasured(&name, &reason),
        }
    }
    let lines = source(0, FUNCTIONS).lines().count();
    table.note(format!(
        "{NAME}: {EDITS} edits of a file of {lines} lines; share = (p50 hook − p50 raw) / p50 raw"
    ));
}

/// The same edits with each client.
struct PairedEdits {
    hook: Samples,
    raw: Samples,
    /// Hooks that replied before the server did, because it took longer than a hook waits. They count with
    /// the time that they waited.
    late: usize,
}

/// The same edits by the hook and by the raw client.
fn alternate(sandbox: &Sandbox, program: &Path, folders: usize) -> PairedEdits {
    for folder in 0..folders {
        sandbox.write(&format!("part_{folder}/module.py"), &source(folder, 1));
    }
    let file = sandbox.path("edited.py");
    sandbox.write("edited.py", &source(0, FUNCTIONS));
    sandbox.commit();
    let environment = std::env::vars().collect();
    let python = program_on_path("python3", &environment).map(|path| path.display().to_string());
    let settings = json!({"python": {"pythonPath": python}});
    let mut command = Command::new(program);
    sandbox.prepare(&mut command);
    command.arg("--stdio");
    let mut raw = RawClient::start(Start {
        command,
        root: &sandbox.root(),
        settings,
        options: Value::Null,
        is_pulling: true,
        wants_progress: false,
        language_id: "python",
        file: &file,
        text: &source(0, FUNCTIONS),
    });
    let (mut hook_samples, mut raw_samples, mut late) = (Vec::new(), Vec::new(), 0);
    let mut was_late = false;
    for edit in 1..=WARM_UP + EDITS {
        let hook = by_hook(sandbox, &file, edit);
        // A hook reports the difference from the last report to the agent, and the last one was empty.
        let is_judged = edit > WARM_UP && !hook.is_late && !was_late;
        let expected = if edit.is_multiple_of(2) { "fixed 1" } else { "1 error" };
        assert!(!is_judged || hook.context.contains(expected), "edit {edit}: {}", hook.context);
        was_late = hook.is_late;
        let by_hand = with_raw(&mut raw, edit);
        if edit > WARM_UP {
            late += usize::from(hook.is_late);
            hook_samples.push(hook.elapsed);
            raw_samples.push(by_hand);
        }
    }
    PairedEdits { hook: Samples::new(hook_samples), raw: Samples::new(raw_samples), late }
}

fn fill(table: &mut Table, name: &str, process_start: Duration, hook: &Samples, raw: &Samples) {
    let share = |hook: Duration| {
        Figure::Share((hook.as_secs_f64() - raw.p50().as_secs_f64()) / raw.p50().as_secs_f64())
    };
    table.base(&format!("{name}: raw client"), raw);
    table.budgeted(&format!("{name}: hook"), Some(hook), share(hook.p50()), SHARE_BUDGET);
    let less = hook.p50().saturating_sub(process_start);
    table.budgeted(&format!("{name}: hook less /bin/true"), None, share(less), SHARE_BUDGET);
}

/// A sandbox with the pinned pyright: from the tests' downloads, else installed into the sandbox.
pub(crate) fn with_pyright() -> Result<(Sandbox, PathBuf), String> {
    let sandbox = downloads().map_or_else(Sandbox::new, |data| Sandbox::with_data(&data));
    let installed = sandbox.run(&["server", "install", "python"]);
    if installed.code != 0 {
        return Err(installed.stderr.trim().to_owned());
    }
    let data = downloads().unwrap_or_else(|| sandbox.base().join("data"));
    let program = server(&data).ok_or("the installed program is not where it is looked for")?;
    Ok((sandbox, program))
}

/// The data folder that the tests keep between runs, when it holds a server already.
fn downloads() -> Option<PathBuf> {
    let folder = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
    };
    let cache = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let base =
        folder("MOAI_RALPH_TEST_CACHE").or_else(|| Some(cache()?.join("moai-ralph-test")))?;
    Some(base.join("data")).filter(|data| server(data).is_some())
}

/// The language server's program in a data folder.
fn server(data: &Path) -> Option<PathBuf> {
    let installed = data.join("servers").read_dir().ok()?.flatten();
    let pinned = installed.filter(|it| it.file_name().to_string_lossy().starts_with("pyright@"));
    let program = |it: std::fs::DirEntry| it.path().join("node_modules/.bin/pyright-langserver");
    pinned.map(program).find(|program| program.is_file())
}

/// The file after an edit: an odd edit introduces an error, the next one fixes it, so that an answer about
/// other bytes shows.
fn edited(edit: usize) -> String {
    let value = if edit.is_multiple_of(2) { format!("{edit}") } else { format!("\"{edit}\"") };
    source(0, FUNCTIONS).replace("LIMIT: int = 0", &format!("LIMIT: int = {value}"))
}

/// An edit reported by a hook.
pub(crate) struct HookEdit {
    pub(crate) elapsed: Duration,
    context: String,
    /// True if the hook replied before the server did.
    is_late: bool,
}

pub(crate) fn by_hook(sandbox: &Sandbox, file: &Path, edit: usize) -> HookEdit {
    sleep(PAUSE);
    let (before, after) = (edited(edit - 1), edited(edit));
    std::fs::write(file, &after).expect("the sandbox is writable");
    let mut input = sandbox.payload("PostToolUse-Edit");
    let change =
        |text: &str| text.lines().find(|line| line.starts_with("LIMIT")).map(str::to_owned);
    let (old, new) = (change(&before), change(&after));
    input["tool_input"] = json!({
        "file_path": file, "old_string": old, "new_string": new, "replace_all": false,
    });
    for (key, value) in [
        ("filePath", json!(file)),
        ("oldString", json!(old)),
        ("newString", json!(new)),
        ("originalFile", Value::String(before)),
    ] {
        input["tool_response"][key] = value;
    }
    let (mut command, input) = (sandbox.program(), input.to_string());
    command.args(["hook", "post-tool-use"]);
    let begun = Instant::now();
    let output = finish(&mut command, &input);
    let elapsed = begun.elapsed();
    let context = output.context();
    let is_late = context.contains("no answer within");
    HookEdit { elapsed, context, is_late }
}

fn with_raw(raw: &mut RawClient, edit: usize) -> Duration {
    sleep(PAUSE);
    let after = edited(edit);
    let begun = Instant::now();
    raw.change(&after);
    let errors = raw.pull();
    let elapsed = begun.elapsed();
    assert_eq!(errors.len(), edit % 2, "edit {edit}");
    elapsed
}

/// A module of the kinds of code that real modules consist of.
pub(crate) fn source(module: usize, functions: usize) -> String {
    let mut text = String::from(
        "\"\"\"Orders and what becomes of them.\"\"\"\n\nimport json\nimport re\n\
         from collections import defaultdict\nfrom dataclasses import dataclass, field\n\
         from pathlib import Path\nfrom typing import Iterable\n\nLIMIT: int = 0\n\n\n",
    );
    for function in 0..functions {
        let name = format!("{module}_{function}");
        let _ = write!(
            text,
            "@dataclass\nclass Order{name}:\n    name: str\n    cents: int = 0\n    \
             tags: list[str] = field(default_factory=list)\n\n    \
             def label(self) -> str:\n        return f\"{{self.name}}: {{self.cents / 100:.2f}}\"\n\n\n\
             def read_{name}(path: Path) -> dict[str, list[Order{name}]]:\n    \
             orders: dict[str, list[Order{name}]] = defaultdict(list)\n    \
             for entry in json.loads(path.read_text()):\n        \
             order = Order{name}(entry[\"name\"], int(entry[\"cents\"]), entry.get(\"tags\", []))\n        \
             if re.match(r\"[a-z]+\", order.name) and order.cents > LIMIT:\n            \
             orders[order.name].append(order)\n    return orders\n\n\n\
             def total_{name}(orders: Iterable[Order{name}]) -> int:\n    \
             return sum(order.cents for order in orders if order.tags)\n\n\n",
        );
    }
    text
}
