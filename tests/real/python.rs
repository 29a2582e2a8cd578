//! pyright: a type error is found, mended, and told after an edit.

use crate::servers::{findings, project, report, sensor};

const CLEAN: &str = "def half(number: int) -> float:\n    return number / 2\n";
const WRONG: &str = "def half(number: int) -> float:\n    return str(number)\n";

#[test]
fn check_finds_a_type_error_and_its_absence() {
    let sandbox = project();
    sandbox.write("halves.py", WRONG);
    let dirty = report(&sandbox.run(&["check", "--all", "--json"]), 1);
    assert_eq!(dirty["verdict"], "dirty");
    let expected = ("halves.py".to_owned(), "reportReturnType".to_owned(), 1);
    assert_eq!(findings(&dirty, "pyright"), [expected]);

    sandbox.write("halves.py", CLEAN);
    let clean = report(&sandbox.run(&["check", "--all", "--json"]), 0);
    assert_eq!(clean["verdict"], "clean");
    assert_eq!(sensor(&clean, "pyright")["verdict"], "clean");
    assert_eq!(clean["files_checked"], 1);
}

#[test]
fn an_edit_is_told_what_it_introduced_and_what_it_fixed() {
    let sandbox = project();
    sandbox.write("halves.py", CLEAN);
    sandbox.commit();
    // The server is warm after a check, so that the edit is answered within its inline budget.
    report(&sandbox.run(&["check", "--all", "--json"]), 0);
    let told = sandbox.tool_write("halves.py", WRONG).context();
    assert!(told.starts_with("[moai-ralph] halves.py: introduced 1 error"), "{told}");
    assert!(told.contains("halves.py:2:12 pyright(reportReturnType)"), "{told}");
    let told = sandbox.tool_write("halves.py", CLEAN).context();
    assert!(told.contains("halves.py: fixed 1; now clean"), "{told}");
    assert_eq!(sandbox.tool_write("halves.py", CLEAN).context(), "");
}

#[test]
fn without_the_daemon_the_answer_is_the_same() {
    let sandbox = project();
    sandbox.write("halves.py", WRONG);
    let dirty = report(&sandbox.run(&["check", "--all", "--json", "--no-daemon"]), 1);
    assert_eq!(findings(&dirty, "pyright").len(), 1);
}

#[test]
fn a_package_is_checked_by_its_own_configuration() {
    let sandbox = project();
    sandbox.write("pyproject.toml", "[tool.pyright]\nreportReturnType = false\n");
    sandbox.write("strict/pyrightconfig.json", "{\"reportUnusedImport\": \"error\"}\n");
    let text = format!("import os\n\n{WRONG}");
    sandbox.write("a.py", &text);
    sandbox.write("strict/b.py", &text);
    sandbox.write("strict/c.py", "import b\n\nprint(b.half(1))\n");
    let dirty = report(&sandbox.run(&["check", "--all", "--json"]), 1);
    // Hints have no code.
    let found: Vec<(String, String)> = findings(&dirty, "pyright")
        .into_iter()
        .map(|(path, code, _)| (path, code))
        .filter(|(_, code)| !code.is_empty())
        .collect();
    let own = |code: &str| ("strict/b.py".to_owned(), code.to_owned());
    assert_eq!(found, [own("reportUnusedImport"), own("reportReturnType")], "{dirty:#}");
}
