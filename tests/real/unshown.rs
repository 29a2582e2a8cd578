//! Changes that no open document can show to a server as they were: links, generated code that git ignores, bases of
//! a configuration. A loop never takes what they broke for older. And modules that appear outside pyright's project.

use std::fs;
use std::os::unix::fs::symlink;

use crate::servers::{project, report};
use crate::support::{SESSION, Sandbox};

const GOOD: &str = "def half(number: int) -> int:\n    return number\n";
const OTHER: &str = "def half(number: int) -> str:\n    return str(number)\n";
const USER: &str = "from lib import half\n\ntotal: int = half(1)\n";
/// The user of the other module.
const BROKEN: &str = "app.py";

/// A loop that was just started: the start is still being measured.
fn started(sandbox: &Sandbox) {
    sandbox.commit();
    let start = ["loop", "start", "--session", SESSION, "--until", "diagnostics"];
    let output = sandbox.run(&[&start[..], &["--prompt", "change it"]].concat());
    assert_eq!(output.code, 0, "{output:#?}");
}

/// A loop in a project with these files, whose measurements of the loop's start are lost.
fn looping(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = project();
    for (path, text) in files {
        sandbox.write(path, text);
    }
    started(&sandbox);
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    sandbox
}

/// The Stop is held, or the loop ends unverified; both name the file with the error.
fn is_not_taken_for_older(sandbox: &Sandbox) {
    let stopped = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    let status = sandbox.run(&["loop", "status", "--json"]).json();
    let told = if stopped["decision"] == "block" {
        &stopped["reason"]
    } else {
        assert_eq!(status["status"], "completed_unverified", "{stopped:#}");
        &stopped["systemMessage"]
    };
    assert!(told.as_str().unwrap_or_default().contains(BROKEN), "{stopped:#}");
}

#[test]
fn a_module_that_became_a_link() {
    let sandbox = looping(&[("lib.py", GOOD), ("other.py", OTHER), ("app.py", USER)]);
    fs::remove_file(sandbox.root().join("lib.py")).unwrap();
    symlink("other.py", sandbox.root().join("lib.py")).unwrap();
    is_not_taken_for_older(&sandbox);
}

#[test]
fn a_folder_that_became_a_link() {
    let user = USER.replace("lib", "sub.lib");
    let sandbox =
        looping(&[("sub/lib.py", GOOD), ("other/lib.py", OTHER), ("app.py", user.as_str())]);
    fs::remove_dir_all(sandbox.root().join("sub")).unwrap();
    symlink("other", sandbox.root().join("sub")).unwrap();
    sandbox.tool_write("app.py", &format!("{user}more = 1\n"));
    is_not_taken_for_older(&sandbox);
}

/// The code is imported by the file `app.py`; the agent edits that file or another one.
fn generated_code(edited: &str) {
    let user = USER.replace("lib", "gen.lib");
    let sandbox = project();
    sandbox.write(".gitignore", "gen/\n");
    sandbox.write("gen/lib.py", GOOD);
    sandbox.write("app.py", &user);
    sandbox.write("other.py", "one = 1\n");
    started(&sandbox);
    sandbox.write("gen/lib.py", OTHER);
    let text = fs::read_to_string(sandbox.root().join(edited)).expect("it was written");
    sandbox.tool_write(edited, &format!("{text}more = 1\n"));
    is_not_taken_for_older(&sandbox);
}

#[test]
fn generated_code_that_git_ignores_in_an_edited_file() {
    generated_code("app.py");
}

#[test]
fn generated_code_that_git_ignores_in_an_unchanged_file() {
    generated_code("other.py");
}

/// The error was measured once, before another program repaired the code.
#[test]
fn generated_code_that_is_broken_again() {
    let sandbox = project();
    sandbox.write(".gitignore", "gen/\n");
    sandbox.write("gen/lib.py", "");
    sandbox.write("app.py", &USER.replace("lib", "gen.lib"));
    sandbox.commit();
    assert_eq!(sandbox.run(&["check", "--all"]).code, 1);
    sandbox.write("gen/lib.py", GOOD);
    started(&sandbox);
    sandbox.tool_write("gen/lib.py", &GOOD.replace("half", "halved"));
    is_not_taken_for_older(&sandbox);
}

#[test]
fn a_link_to_another_folder() {
    let sandbox = project();
    for (folder, text) in [("one", GOOD), ("two", OTHER)] {
        sandbox.write(&format!("{folder}/lib.py"), text);
    }
    symlink("one", sandbox.root().join("now")).unwrap();
    sandbox.write("app.py", &USER.replace("lib", "now.lib"));
    sandbox.write("other.py", "one = 1\n");
    started(&sandbox);
    fs::remove_file(sandbox.root().join("now")).unwrap();
    symlink("two", sandbox.root().join("now")).unwrap();
    sandbox.tool_write("other.py", "one = 1\nmore = 1\n");
    is_not_taken_for_older(&sandbox);
}

#[test]
fn a_base_of_the_configuration() {
    let base = |folder: &str| format!("{{\"extraPaths\": [\"../{folder}\"]}}\n");
    let sandbox = looping(&[
        ("pyrightconfig.json", "{\"extends\": \"conf/base.json\", \"include\": [\"src\"]}\n"),
        ("conf/base.json", &base("one")),
        ("one/lib.py", GOOD),
        ("two/lib.py", OTHER),
        ("src/app.py", USER),
    ]);
    assert_eq!(report(&sandbox.run(&["check", "--all", "--json"]), 0)["verdict"], "clean");
    sandbox.write("conf/base.json", &base("two"));
    report(&sandbox.run(&["check", "--all", "--json"]), 1);
    is_not_taken_for_older(&sandbox);
}

#[test]
fn a_module_that_appears_outside_the_project_is_imported_at_once() {
    let sandbox = project();
    let config = "{\"include\": [\"src\"], \"extraPaths\": [\"one\", \"two\"]}\n";
    sandbox.write("pyrightconfig.json", config);
    sandbox.write("two/lib.py", GOOD);
    sandbox.write("src/app.py", USER);
    sandbox.commit();
    let check = |code| report(&sandbox.run(&["check", "--all", "--json"]), code);
    assert_eq!(check(0)["verdict"], "clean");
    for module in ["one/lib.py", "typings/lib.pyi", "two/lib.pyi", "one/lib/__init__.py"] {
        sandbox.write(module, OTHER);
        check(1);
        fs::remove_file(sandbox.root().join(module)).unwrap();
        check(0);
    }
}

#[test]
fn a_module_outside_the_project_that_changes_in_place_is_read_again() {
    let sandbox = project();
    sandbox.write("pyrightconfig.json", "{\"include\": [\"src\"], \"extraPaths\": [\"one\"]}\n");
    sandbox.write("one/lib.py", GOOD);
    sandbox.write("src/app.py", USER);
    sandbox.commit();
    let check = |code| report(&sandbox.run(&["check", "src/app.py", "--json"]), code);
    assert_eq!(check(0)["verdict"], "clean");
    // The module is never measured itself, so the server has it from the disk.
    for (text, code) in [(OTHER, 1), (GOOD, 0), (OTHER, 1)] {
        sandbox.write("one/lib.py", text);
        check(code);
    }
}
