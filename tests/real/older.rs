//! Older findings with real servers: each is shown the base texts, so that an edit in a loop is only
//! compared with its own changes, in the edited file and in an unchanged file that uses it.

use moai_base::limits::OPEN_DOCUMENTS_MAX;
use serde_json::Value;

use crate::rust::rust;
use crate::servers::project_in;
use crate::support::{PATIENCE, SESSION, Sandbox, eventually};

/// A module and its user, both with an error from before.
struct Past {
    module: &'static str,
    text: &'static str,
    user: &'static str,
    user_text: &'static str,
    /// Has the same meaning in other words.
    honest: &'static str,
    /// Breaks the user.
    breaking: &'static str,
    /// Place of the broken call in the user, and of its older error.
    broken_at: &'static str,
    older_at: &'static str,
}

pub(crate) fn stop(sandbox: &Sandbox) -> Value {
    sandbox.hook("stop", &sandbox.payload("Stop")).json()
}

pub(crate) fn start(sandbox: &Sandbox) {
    let output = sandbox.run(&[
        "loop",
        "start",
        "--session",
        SESSION,
        "--prompt",
        "document it",
        "--until",
        "diagnostics",
    ]);
    assert_eq!(output.code, 0, "{output:#?}");
}

/// Waits until the project is measured as it was when the loop began.
pub(crate) fn await_measured_base(sandbox: &Sandbox) {
    let log = || std::fs::read_to_string(sandbox.base().join("state/log/daemon.log"));
    let measured = eventually(PATIENCE, || {
        log().is_ok_and(|log| log.contains("measured the base of a loop")).then_some(())
    });
    assert!(measured.is_some(), "{:?}", log());
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox.run(&["loop", "status", "--json"]).json()
}

/// `is_restarted`: the measurements of the loop's start are lost, and the base texts must be shown.
fn check(past: &Past, is_restarted: bool, prepare: impl FnOnce(&Sandbox)) {
    let sandbox = project_in(&["python", "typescript", "go"]);
    prepare(&sandbox);
    sandbox.write(past.module, past.text);
    sandbox.write(past.user, past.user_text);
    sandbox.commit();
    start(&sandbox);
    if is_restarted {
        assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    }
    sandbox.tool_write(past.module, past.breaking);
    let held = stop(&sandbox);
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(past.broken_at), "{held:#}\n{:#}", status(&sandbox));
    assert!(!reason.contains(past.older_at), "{reason}");
    sandbox.tool_write(past.module, past.honest);
    let ended = stop(&sandbox);
    assert_ne!(ended["decision"], "block", "{ended:#}");
    assert_eq!(status(&sandbox)["status"], "completed", "{ended:#}");
}

const PYTHON: Past = Past {
    module: "prices.py",
    text: "def half(number: int) -> float:\n    return number / 2\n\n\nold: int = 'x'\n",
    user: "cart.py",
    user_text: "from prices import half\n\ntotal: float = half(3)\nolder: int = 'y'\n",
    honest: "def half(number: int) -> float:\n    \"\"\"Half.\"\"\"\n    return number / 2\n\n\nold: int = 'x'\n",
    breaking: "def half(number: int, by: int) -> float:\n    return number / by\n\n\nold: int = 'x'\n",
    broken_at: "cart.py:3:",
    older_at: "cart.py:4:",
};

#[test]
fn pyright_tells_older_errors_from_new_ones() {
    check(&PYTHON, false, |_| {});
}

#[test]
fn pyright_is_shown_the_base_when_its_measurements_are_lost() {
    check(&PYTHON, true, |_| {});
}

/// More files than a server has open documents: the earlier text is not closed among them.
#[test]
fn every_one_of_many_callers_is_compared_with_the_earlier_text() {
    let sandbox = project_in(&["python"]);
    sandbox.write(PYTHON.module, PYTHON.text);
    let callers = OPEN_DOCUMENTS_MAX * 3 / 2;
    for number in 0..callers {
        sandbox.write(&format!("cart_{number:02}.py"), PYTHON.user_text);
    }
    sandbox.commit();
    start(&sandbox);
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    // By a shell command: no hook compares the callers one by one.
    sandbox.write(PYTHON.module, PYTHON.breaking);
    let held = stop(&sandbox);
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(&format!("{callers} errors")), "{held:#}");
}

/// Two servers are shown the earlier text of one file, and the faster one is done with it while the slower
/// one still measures its dependents.
#[test]
fn a_linter_does_not_take_the_earlier_text_away_from_the_type_checker() {
    let sandbox = project_in(&["python"]);
    let unused = "import os\n\n\n";
    sandbox.write(PYTHON.module, &format!("{unused}{}", PYTHON.text));
    sandbox.write(PYTHON.user, PYTHON.user_text);
    sandbox.commit();
    start(&sandbox);
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    // By a shell command: no hook compares the caller first.
    sandbox.write(PYTHON.module, &format!("{unused}{}", PYTHON.breaking));
    let held = stop(&sandbox);
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(reason.contains(PYTHON.broken_at), "{held:#}\n{:#}", status(&sandbox));
    assert!(!reason.contains("may be older"), "{reason}");
}

const TYPESCRIPT: Past = Past {
    module: "src/prices.ts",
    text: "export function half(value: number): number {\n  return value / 2;\n}\nexport const old: number = \"x\";\n",
    user: "src/cart.ts",
    user_text: "import { half } from \"./prices\";\n\nexport const total: number = half(3);\nexport const older: number = \"y\";\n",
    honest: "/** Half. */\nexport function half(value: number): number {\n  return value / 2;\n}\nexport const old: number = \"x\";\n",
    breaking: "export function half(value: number, by: number): number {\n  return value / by;\n}\nexport const old: number = \"x\";\n",
    broken_at: "src/cart.ts:3:",
    older_at: "src/cart.ts:4:",
};

fn tsconfig(sandbox: &Sandbox) {
    sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
}

#[test]
fn typescript_is_shown_the_base_when_its_measurements_are_lost() {
    check(&TYPESCRIPT, true, tsconfig);
}

#[test]
fn typescript_7_is_shown_the_base_when_its_measurements_are_lost() {
    check(&TYPESCRIPT, true, |sandbox| {
        tsconfig(sandbox);
        sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    });
}

#[test]
fn gopls_is_shown_the_base_when_its_measurements_are_lost() {
    let past = Past {
        module: "prices/prices.go",
        text: "package prices\n\nfunc Half(value int) int { return value / 2 }\n\nvar Old int = \"x\"\n",
        user: "cart.go",
        user_text: "package main\n\nimport \"example.com/shop/prices\"\n\nvar Older int = \"y\"\n\nfunc main() { _ = prices.Half(3) }\n",
        honest: "package prices\n\n// Half is half.\nfunc Half(value int) int { return value / 2 }\n\nvar Old int = \"x\"\n",
        breaking: "package prices\n\nfunc Half(value, by int) int { return value / by }\n\nvar Old int = \"x\"\n",
        broken_at: "cart.go:7:",
        older_at: "cart.go:5:",
    };
    check(&past, true, |sandbox| sandbox.write("go.mod", "module example.com/shop\n\ngo 1.19\n"));
}

/// The C++ files are committed, a loop is started, and its measurements are lost; then the header changes. Returns
/// the project after the answer to the Stop.
fn stop_after_header_change(
    files: &[(&str, &str)],
    header: &str,
    changed: &str,
) -> (Sandbox, Value) {
    let sandbox = project_in(&["cpp"]);
    for (path, text) in files {
        sandbox.write(path, text);
    }
    std::os::unix::fs::symlink("include", sandbox.path("linked")).expect("a link can be made");
    sandbox.commit();
    start(&sandbox);
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    sandbox.write(header, changed);
    let answer = stop(&sandbox);
    (sandbox, answer)
}

/// The error names nothing that the change touched, so only the earlier text of the header shows that it is new.
#[test]
fn clangd_is_shown_the_earlier_text_of_a_header() {
    let base =
        "#pragma once\n\nstruct Base {\n  virtual int price() = 0;\n  virtual ~Base() {}\n};\n";
    let files = [
        ("compile_flags.txt", "-std=c++17\n-xc++\n-Iinclude\n"),
        ("include/base.h", base),
        (
            "plain.h",
            "#include \"base.h\"\nstruct Plain : Base {\n  int price() override { return 1; }\n};\n",
        ),
        ("cart.cpp", "#include \"plain.h\"\n\nPlain plain;\n"),
    ];
    let changed = base.replace("= 0;\n", "= 0;\n  virtual int rank() = 0;\n");
    let (sandbox, held) = stop_after_header_change(&files, "include/base.h", &changed);
    assert_eq!(held["decision"], "block", "{held:#}\n{:#}", status(&sandbox));
    assert!(held["reason"].as_str().unwrap_or_default().contains("error cart.cpp:3:"), "{held:#}");
}

/// clangd reads the header through the link from the disk, also when it is shown the earlier text at the header's
/// own path, and then finds the error of the change in the earlier state, too.
#[test]
fn an_error_caused_by_a_header_behind_a_link_is_not_older() {
    let files = [
        ("compile_flags.txt", "-std=c++17\n-xc++\n-Ilinked\n"),
        ("include/made.h", "#pragma once\n\nint made();\n"),
        ("cart.cpp", "#include \"made.h\"\n\nint total = made();\n"),
    ];
    let changed = "#pragma once\n\nint *made();\n";
    let (sandbox, _) = stop_after_header_change(&files, "include/made.h", changed);
    let ended = status(&sandbox);
    assert_eq!(ended["status"], "completed_unverified", "{ended:#}");
}

/// Nothing in the answer of clangd proves that it read the earlier header, so the age of the error stays unknown.
#[test]
fn an_old_error_that_names_what_a_header_edit_touched_does_not_hold_the_stop() {
    let files = [
        ("compile_flags.txt", "-std=c++17\n-xc++\n-Iinclude\n"),
        ("include/made.h", "#pragma once\n\nint made(int a);\n"),
        ("cart.cpp", "#include \"made.h\"\n\nint total = made(\"x\");\n"),
    ];
    let changed = "#pragma once\n\nint made(int amount);\n";
    let (sandbox, _) = stop_after_header_change(&files, "include/made.h", changed);
    let ended = status(&sandbox);
    assert_eq!(ended["status"], "completed_unverified", "{ended:#}");
}

/// No server measures a part of a header itself, and the work changes no other C++ file.
#[test]
fn an_error_in_a_part_of_a_header_is_of_the_work() {
    let sandbox = project_in(&["cpp", "python"]);
    sandbox.write("compile_flags.txt", "-std=c++17\n-xc++\n");
    let part = "inline int Store::size() const { return n; }\n";
    sandbox.write(
        "store.h",
        "#pragma once\nstruct Store { int size() const; int n; };\n#include \"store.tpp\"\n",
    );
    sandbox.write("store.tpp", part);
    sandbox.write("main.cpp", "#include \"store.h\"\n\nint size() { return Store{3}.size(); }\n");
    sandbox.write("main.py", "LIMIT = 1\n");
    sandbox.commit();
    start(&sandbox);
    await_measured_base(&sandbox);
    sandbox.tool_write("main.py", "LIMIT = 2\n");
    sandbox.tool_write("store.tpp", &part.replace("{ return n;", "{ return unknown;"));
    let held = stop(&sandbox);
    assert_eq!(held["decision"], "block", "{held:#}\n{:#}", status(&sandbox));
    assert!(held["reason"].as_str().unwrap_or_default().contains("'unknown'"), "{held:#}");
}

/// cargo check reads only the disk: the base is the measurement before the first edit.
#[test]
fn rust_errors_from_before_the_loop_are_older() {
    let sandbox = rust();
    sandbox.write(
        "Cargo.toml",
        "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    sandbox.write(
        "src/main.rs",
        "mod prices;\n\nfn main() {\n    let older: u32 = \"y\";\n    println!(\"{older}\");\n}\n",
    );
    // As in a library: cargo writes it with the first check.
    sandbox.write(".gitignore", "target/\nCargo.lock\n");
    let text = "pub fn half(value: u32) -> u32 {\n    value / 2\n}\n";
    sandbox.write("src/prices.rs", text);
    sandbox.commit();
    start(&sandbox);
    await_measured_base(&sandbox);
    sandbox.tool_write("src/prices.rs", &format!("/// Half.\n{text}"));
    let ended = stop(&sandbox);
    assert_ne!(ended["decision"], "block", "{ended:#}");
    let changed = "pub fn half(value: u32) -> u32 {\n    value / \"2\"\n}\n";
    sandbox.write("src/prices.rs", text);
    start(&sandbox);
    sandbox.tool_write("src/prices.rs", changed);
    let held = stop(&sandbox);
    assert!(held["reason"].as_str().unwrap_or_default().contains("src/prices.rs:2:"), "{held:#}");
}

#[test]
fn the_user_of_a_crate_with_another_name_than_its_folder_is_broken_by_a_narrowed_reexport() {
    let sandbox = rust();
    let manifest = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{rest}")
    };
    sandbox.write("Cargo.toml", "[workspace]\nmembers = [\"core\", \"app\"]\nresolver = \"2\"\n");
    std::fs::remove_dir_all(sandbox.path("src")).expect("the folder is ours");
    sandbox.write(".gitignore", "target/\nCargo.lock\n");
    sandbox.write("core/Cargo.toml", &manifest("core-lib", ""));
    sandbox.write("core/src/lib.rs", "pub mod model;\npub use model::*;\n");
    sandbox.write("core/src/model.rs", "pub struct Item;\npub struct Kind;\n");
    let dependency = "\n[dependencies]\ncore-lib = { path = \"../core\" }\n";
    sandbox.write("app/Cargo.toml", &manifest("app", dependency));
    let user = "use core_lib::Kind;\n\nfn main() {\n    let _kind = Kind;\n}\n";
    sandbox.write("app/src/main.rs", user);
    sandbox.commit();
    start(&sandbox);
    sandbox.tool_write("core/src/lib.rs", "pub mod model;\npub use model::Item;\n");
    let held = stop(&sandbox);
    assert!(held["reason"].as_str().unwrap_or_default().contains("app/src/main.rs:1:"), "{held:#}");
}

#[test]
fn an_error_that_moves_with_its_code_to_another_file_is_older() {
    let legacy = "def half(n: int) -> str:\n    return n // 2\n";
    let rest = "\n\ndef name() -> str:\n    return \"legacy\"\n";
    for (name, is_new, brings_error) in
        [("new.py", true, false), ("other.py", false, false), ("new.py", true, true)]
    {
        let sandbox = project_in(&["python"]);
        sandbox.write("legacy.py", &format!("{legacy}{rest}"));
        let earlier = "def other() -> int:\n    return 1\n";
        if !is_new {
            sandbox.write(name, earlier);
        }
        sandbox.commit();
        start(&sandbox);
        await_measured_base(&sandbox);
        let added = if brings_error { "\n\nwidth: int = \"wide\"\n" } else { "" };
        let before = if is_new { String::new() } else { format!("{earlier}\n\n") };
        sandbox.tool_write(name, &format!("{before}{legacy}{added}"));
        sandbox.tool_write("legacy.py", rest.trim_start());
        let ended = stop(&sandbox);
        let reason = ended["reason"].as_str().unwrap_or_default();
        assert_eq!(reason.contains("new.py:5:"), brings_error, "{name}: {ended:#}");
        assert!(!reason.contains("return n // 2"), "{name}: {ended:#}");
        let expected = if brings_error { "running" } else { "completed" };
        assert_eq!(status(&sandbox)["status"], expected, "{name}: {ended:#}");
    }
}

#[test]
fn the_errors_of_a_file_that_is_split_into_others_are_older() {
    let parts = ["half", "third", "fourth"]
        .map(|name| format!("def {name}(n: int) -> str:\n    return n // {}\n", name.len()));
    let sandbox = project_in(&["python"]);
    sandbox.write("legacy.py", &parts.join("\n\n"));
    sandbox.commit();
    start(&sandbox);
    await_measured_base(&sandbox);
    for (number, part) in parts.iter().enumerate() {
        sandbox.tool_write(&format!("part{number}.py"), part);
    }
    std::fs::remove_file(sandbox.path("legacy.py")).expect("the file is ours");
    let ended = stop(&sandbox);
    assert_eq!(status(&sandbox)["status"], "completed", "{ended:#}");
}

#[test]
fn a_renamed_file_that_is_judged_alone_keeps_its_older_errors() {
    for (language, old, new, text) in [
        ("yaml", "old.yaml", "new.yaml", "a: [1\n"),
        ("json", "old.json", "new.json", "{\"a\": }\n"),
    ] {
        let sandbox = project_in(&[language]);
        sandbox.write(old, text);
        sandbox.write("README.md", "read\n");
        sandbox.commit();
        start(&sandbox);
        // The measurements of the loop's start are lost.
        assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        sandbox.git(&["mv", old, new]);
        let ended = stop(&sandbox);
        assert_eq!(status(&sandbox)["status"], "completed", "{language}: {ended:#}");
    }
}
