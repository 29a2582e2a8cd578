//! pyright: a type error is found, reported after an edit, and fixed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::older;
use crate::servers::{findings, project, project_of, report, sensor};
use crate::support::{Sandbox, finish, write_file};

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

/// A virtual environment without packages.
fn virtual_environment(sandbox: &Sandbox, name: &str) -> PathBuf {
    let folder = sandbox.base().join(name);
    let mut command = Command::new("python3");
    sandbox.prepare(&mut command);
    command.args(["-m", "venv", "--without-pip"]).arg(&folder);
    assert_eq!(finish(&mut command, "").code, 0, "python3 -m venv");
    folder
}

/// The folder of an environment's packages.
fn site_packages(environment: &Path) -> PathBuf {
    let libraries = fs::read_dir(environment.join("lib")).expect("a folder");
    let library = libraries.flatten().next().expect("that of the version");
    library.path().join("site-packages")
}

fn after_shell(sandbox: &Sandbox, session: &str) -> String {
    let mut input = sandbox.payload("PostToolUse-Bash");
    input["session_id"] = session.into();
    sandbox.hook("post-tool-use", &input).context()
}

#[test]
fn what_one_virtual_environment_has_is_missing_in_another() {
    let mut sandbox = project_of("python", "pyright");
    let (with, without) =
        (virtual_environment(&sandbox, "with"), virtual_environment(&sandbox, "without"));
    let packages = site_packages(&with);
    write_file(&packages.join("thing.py"), "SIZE: int = 3\n");
    sandbox.write("app.py", "size = 0\n");
    sandbox.commit();
    for (folder, session) in [(&with, "a"), (&without, "b")] {
        sandbox.set("VIRTUAL_ENV", folder.as_os_str());
        report(&sandbox.run(&["check", "--all", "--json"]), 0);
        assert_eq!(after_shell(&sandbox, session), "");
    }
    sandbox.write("app.py", "import thing\n\nsize: int = thing.SIZE\n");
    sandbox.set("VIRTUAL_ENV", with.as_os_str());
    assert_eq!(after_shell(&sandbox, "a"), "");
    sandbox.set("VIRTUAL_ENV", without.as_os_str());
    let told = after_shell(&sandbox, "b");
    assert!(told.contains("app.py:1:8 pyright(reportMissingImports)"), "{told:?}");
    report(&sandbox.run(&["check", "--all", "--json"]), 1);
    sandbox.set("VIRTUAL_ENV", with.as_os_str());
    report(&sandbox.run(&["check", "--all", "--json"]), 0);
    let list = sandbox.run(&["server", "list", "--json"]).json();
    assert_eq!(list["servers"].as_array().map(Vec::len), Some(2), "{list:#}");
}

#[test]
fn a_package_installed_in_place_counts_again_when_its_folder_is_back() {
    let mut sandbox = project_of("python", "pyright");
    let environment = virtual_environment(&sandbox, "environment");
    let packages = site_packages(&environment);
    let source = sandbox.base().join("thing/src");
    write_file(&source.join("thing.py"), "SIZE: int = 3\n");
    let listed = format!("{}\n", source.display());
    write_file(&packages.join("__editable__.thing.pth"), &listed);
    sandbox.write("app.py", "import thing\n\nsize: int = thing.SIZE\n");
    sandbox.set("VIRTUAL_ENV", environment.as_os_str());
    let check = |code| report(&sandbox.run(&["check", "--all", "--json"]), code);
    check(0);
    for _ in 0..2 {
        let elsewhere = sandbox.base().join("elsewhere");
        fs::rename(sandbox.base().join("thing"), &elsewhere).expect("the folder is ours");
        check(1);
        fs::rename(&elsewhere, sandbox.base().join("thing")).expect("the folder is ours");
        check(0);
    }
}

/// The configuration, not the interpreter, names the environment whose packages count.
fn a_package_in_a_configured_environment_counts(server: &str) {
    let sandbox = project_of("python", server);
    let environment = virtual_environment(&sandbox, "configured");
    let pyright = serde_json::json!({"venvPath": sandbox.base(), "venv": "configured"});
    sandbox.write("pyrightconfig.json", &pyright.to_string());
    sandbox.write("ty.toml", &format!("[environment]\npython = \"{}\"\n", environment.display()));
    sandbox.write("app.py", "import thing\n\nsize: int = thing.SIZE\n");
    let source = sandbox.base().join("thing/src");
    write_file(&source.join("thing.py"), "SIZE: int = 3\n");
    let check = |code| report(&sandbox.run(&["check", "--all", "--json"]), code);
    check(1);
    let list = site_packages(&environment).join("__editable__.thing.pth");
    write_file(&list, &format!("{}\n", source.display()));
    check(0);
    fs::remove_file(&list).expect("the file is ours");
    check(1);
}

#[test]
fn pyright_follows_packages_in_a_configured_environment() {
    a_package_in_a_configured_environment_counts("pyright");
}

#[test]
fn basedpyright_follows_packages_in_a_configured_environment() {
    a_package_in_a_configured_environment_counts("basedpyright");
}

#[test]
fn ty_follows_packages_in_a_configured_environment() {
    a_package_in_a_configured_environment_counts("ty");
}

/// A new package shadows a module of the same name, and a new folder is a package without `__init__.py`.
fn new_folders_are_packages(server: &str) {
    let sandbox = project_of("python", server);
    let check = |code| report(&sandbox.run(&["check", "--all", "--json"]), code);
    let module =
        |kind: &str| format!("def half(number: int) -> {kind}:\n    return {kind}(number)\n");
    let importer = |name: &str| format!("from {name} import half\n\ntotal: int = half(1)\n");
    sandbox.write("lib.py", &module("int"));
    sandbox.write("app.py", &importer("lib"));
    check(0);
    let come_and_go = |folder: &str, file: &str, kind: &str, code_with: i32, code_without: i32| {
        for _ in 0..2 {
            sandbox.write(file, &module(kind));
            check(code_with);
            fs::remove_dir_all(sandbox.path(folder)).expect("it exists");
            check(code_without);
        }
    };
    come_and_go("lib", "lib/__init__.py", "str", 1, 0);
    // A folder `src` is searched for modules.
    fs::create_dir(sandbox.path("src")).expect("the folder is ours");
    fs::rename(sandbox.path("lib.py"), sandbox.path("src/lib.py")).expect("the folder is ours");
    check(0);
    sandbox.write("app.py", &importer("parts.inner.lib"));
    check(1);
    come_and_go("parts", "parts/inner/lib.py", "int", 0, 1);
}

#[test]
fn pyright_imports_new_folders() {
    new_folders_are_packages("pyright");
}

#[test]
fn basedpyright_imports_new_folders() {
    new_folders_are_packages("basedpyright");
}

#[test]
fn ty_imports_new_folders() {
    new_folders_are_packages("ty");
}

#[test]
fn an_edited_package_is_read_again() {
    let mut sandbox = project_of("python", "pyright");
    let environment = virtual_environment(&sandbox, "environment");
    let packages = site_packages(&environment);
    let source = packages.join("thing/sizes.py");
    write_file(&source, "SIZE: int = 3\n");
    sandbox.set("VIRTUAL_ENV", environment.as_os_str());
    sandbox.write("app.py", "from thing.sizes import SIZE\n\nsize: int = SIZE\n");
    report(&sandbox.run(&["check", "--all", "--json"]), 0);
    // In place, as a shell's redirection writes it.
    write_file(&source, "SIZE: str = ''\n");
    let dirty = report(&sandbox.run(&["check", "--all", "--json"]), 1);
    let found: Vec<String> =
        findings(&dirty, "pyright").into_iter().map(|(_, code, _)| code).collect();
    assert_eq!(found, ["reportAssignmentType"], "{dirty:#}");
    fs::remove_file(&source).expect("it is there");
    write_file(&source, "SIZE: int = 4\n");
    report(&sandbox.run(&["check", "--all", "--json"]), 0);
}

#[test]
fn shells_with_links_of_their_own_to_one_node_share_a_server() {
    let mut sandbox = project_of("python", "pyright");
    let path = std::env::var_os("PATH").expect("a PATH");
    let found = std::env::split_paths(&path).find(|folder| folder.join("node").is_file());
    let node = found.expect("node is on PATH").canonicalize().expect("it is there");
    sandbox.write("halves.py", WRONG);
    let mut pids = Vec::new();
    for shell in ["1", "2", "3"] {
        let link = sandbox.base().join(shell);
        std::os::unix::fs::symlink(&node, &link).expect("a link");
        let folders = std::iter::once(link.clone()).chain(std::env::split_paths(&path));
        sandbox.set("PATH", std::env::join_paths(folders).expect("no colon"));
        report(&sandbox.run(&["check", "--all", "--json"]), 1);
        let list = sandbox.run(&["server", "list", "--json"]).json();
        assert_eq!(list["servers"].as_array().map(Vec::len), Some(1), "{list:#}");
        pids.push(list["servers"][0]["pid"].clone());
        fs::remove_file(link).expect("the shell ends");
    }
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    // Started again by a caller of today, with the PATH of the first shell.
    assert_eq!(sandbox.run(&["server", "restart", "pyright"]).code, 0);
    report(&sandbox.run(&["check", "--all", "--json"]), 1);
}

#[test]
fn a_package_that_the_work_removes_breaks_its_users() {
    let mut sandbox = project_of("python", "pyright");
    let environment = virtual_environment(&sandbox, "environment");
    let package = site_packages(&environment).join("thing.py");
    write_file(&package, "SIZE: int = 3\n");
    sandbox.write("app.py", "import thing\n\nsize: int = thing.SIZE\n");
    sandbox.write("other.py", "number = 1\n");
    sandbox.set("VIRTUAL_ENV", environment.as_os_str());
    sandbox.commit();
    older::start(&sandbox);
    older::await_measured_base(&sandbox);
    fs::remove_file(&package).expect("the file is ours");
    sandbox.tool_write("other.py", "number = 2\n");
    let held = older::stop(&sandbox);
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("app.py:1:8 pyright(reportMissingImports)"), "{held:#}");
}
