//! The engine in the host: feedback about an edit reaches the model with its next request, and a
//! Stop is decided on evidence.

use std::path::Path;

use crate::host::{checkout, run};
use crate::model::Turn;
use crate::support::{Sandbox, test_cache};

/// Found by the in-process scan alone: user text in a query and in `eval`.
const INJECTION: &str = "import sqlite3


def find(connection: sqlite3.Connection, name: str) -> int:
    connection.execute(f\"SELECT id FROM users WHERE name = '{name}'\")
    eval(name)
    return 1
";

/// The same with an error that only a type checker sees.
const INJECTION_AND_TYPE_ERROR: &str = "import sqlite3


def find(connection: sqlite3.Connection, name: str) -> int:
    connection.execute(f\"SELECT id FROM users WHERE name = '{name}'\")
    eval(name)
    return name
";

/// The same query asked safely; different from the committed text, so there is something to measure.
const FIXED: &str = "import sqlite3


def find(connection: sqlite3.Connection, name: str) -> int:
    rows = connection.execute(\"SELECT id FROM users WHERE name = ?\", (name,)).fetchall()
    return len(rows)
";

/// Nothing to say about this one.
const CLEAN: &str = "import sqlite3


def find(connection: sqlite3.Connection, name: str) -> int:
    connection.execute(\"SELECT id FROM users WHERE name = ?\", (name,))
    return 1
";

/// A Python project; with the shared data folder when a type checker has been installed there.
fn python_project() -> (Sandbox, bool) {
    let data = test_cache().join("data");
    let typed = contains(&data, "pyright-langserver", 6);
    let sandbox = if typed { Sandbox::with_data(&data) } else { Sandbox::new() };
    sandbox.write("app.py", CLEAN);
    sandbox.commit();
    (sandbox, typed)
}

fn contains(folder: &Path, name: &str, depth: usize) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        entry.file_name() == name
            || (depth > 0
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
                && contains(&entry.path(), name, depth - 1))
    })
}

#[test]
fn an_introduced_injection_is_told_with_the_next_request() {
    let (sandbox, _) = python_project();
    let turns = vec![Turn::write(&sandbox.path("app.py"), INJECTION), Turn::text("finished")];
    let run = run(&sandbox, checkout(), "please change the query", turns);
    run.assert_finished();
    run.assert_first_told_in(2, "[moai-ralph] app.py: introduced");
    run.assert_first_told_in(2, "CWE-89");
}

#[test]
fn an_introduced_type_error_is_told_once() {
    let (sandbox, typed) = python_project();
    // While the model is busy with a command, a cold type checker can finish. The first check ends with the
    // answer about the edit; the second waits for the server, which measures the text before the edit in
    // between, to attribute the error.
    let measure = "for run in 1 2; do \"$MOAI_RALPH_BIN\" check app.py >/dev/null 2>&1; done; true";
    let turns = vec![
        Turn::write(&sandbox.path("app.py"), INJECTION_AND_TYPE_ERROR),
        Turn::bash(measure),
        Turn::text("finished"),
    ];
    let run = run(&sandbox, checkout(), "please change the query", turns);
    run.assert_finished();
    run.assert_first_told_in(2, "[moai-ralph] app.py: introduced");
    let told = run.told_in(3);
    // Without a type checker this finding is missing; the gate always installs one.
    let times = usize::from(typed);
    if told.matches("pyright(reportReturnType)").count() != times {
        run.fail(&format!("the type error must be told {times} times"));
    }
}

#[test]
fn a_promise_is_refused_while_the_file_is_dirty_and_kept_when_it_is_clean() {
    let (sandbox, typed) = python_project();
    let file = sandbox.path("app.py");
    let turns = vec![
        Turn::write(&file, INJECTION),
        Turn::text("All good.\n\n<promise>DONE</promise>"),
        Turn::write(&file, FIXED),
        Turn::text("Fixed.\n\n<promise>DONE</promise>"),
    ];
    let prompt = "/moai-ralph:moai-loop fix it --max-iterations 5 --completion-promise DONE";
    let run = run(&sandbox, checkout(), prompt, turns);
    run.assert_finished();
    run.assert_first_told_in(1, "UserPromptExpansion hook additional context: [moai-ralph]");
    run.assert_first_told_in(3, "Stop hook feedback");
    let requests = run.model.requests().len();
    if requests != 4 {
        run.fail(&format!("blocked once means 4 requests, there were {requests}"));
    }
    let status = sandbox.run(&["loop", "status", "--json"]);
    // Without a language server the loop's status reports the gap instead of `completed`.
    let expected = if typed { "completed" } else { "completed_unverified" };
    if status.code != 0 || status.json()["status"] != *expected {
        run.fail(&format!("the loop is not {expected}: {status:#?}"));
    }
    assert_eq!(sandbox.read("app.py"), FIXED);
}
