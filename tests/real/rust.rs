//! rust-analyzer: its own results and those of the compiler, which alone knows borrows and types.

use serde_json::Value;

use crate::servers::{findings, report, sensor};
use crate::support::{PATIENCE, Sandbox, eventually, write_file};

const SERVER: &str = "rust-analyzer";
const MOVED: &str =
    "pub fn a() -> usize {\n    let text = String::new();\n    drop(text);\n    text.len()\n}\n";
const RIGHT: &str = "pub fn a() -> usize {\n    1\n}\n";
const CHANGED: &str = "pub fn a() -> &'static str {\n    \"\"\n}\n";

/// A crate without dependencies. The server comes with the toolchain, whose folders are set because the
/// sandbox has another home.
pub(crate) fn rust() -> Sandbox {
    let mut sandbox = Sandbox::new();
    let options = "ralph:\n  lsp: {inline_budget_ms: 10000}\n";
    sandbox.write(".moai/config/sections/ralph.yaml", options);
    let home = std::env::var("HOME").unwrap_or_default();
    for (variable, folder) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
        let folder = std::env::var(variable).unwrap_or_else(|_| format!("{home}/{folder}"));
        sandbox.set(variable, folder);
    }
    sandbox.write(
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    sandbox.write(".gitignore", "target/\n");
    sandbox.write("src/lib.rs", "pub mod a;\npub mod b;\n");
    sandbox.write("src/a.rs", RIGHT);
    sandbox.write("src/b.rs", "pub fn b() -> usize {\n    crate::a::a()\n}\n");
    sandbox.commit();
    sandbox
}

fn check(sandbox: &Sandbox, paths: &[&str], code: i32) -> Value {
    report(&sandbox.run(&[&["check", "--no-scan", "--json"], paths].concat()), code)
}

fn codes(report: &Value) -> Vec<(String, String)> {
    findings(report, SERVER).into_iter().map(|(path, code, _)| (path, code)).collect()
}

fn one(path: &str, code: &str) -> Vec<(String, String)> {
    vec![(path.to_owned(), code.to_owned())]
}

#[test]
fn the_compilers_word_is_waited_for_and_follows_the_disk() {
    let sandbox = rust();
    // Cold: no answer arrives before the project is loaded and compiled.
    let clean = check(&sandbox, &["--all"], 0);
    assert_eq!(
        (clean["verdict"].as_str(), clean["files_checked"].as_u64()),
        (Some("clean"), Some(3))
    );

    // Only the borrow checker knows.
    sandbox.write("src/a.rs", MOVED);
    assert_eq!(codes(&check(&sandbox, &["src/a.rs"], 1)), one("src/a.rs", "E0382"));
    sandbox.write("src/a.rs", RIGHT);
    check(&sandbox, &["src/a.rs"], 0);

    // The native diagnostics and cargo both find it; it is reported once, in the file that is wrong now.
    sandbox.write("src/a.rs", CHANGED);
    assert_eq!(codes(&check(&sandbox, &["src/b.rs"], 1)), one("src/b.rs", "E0308"));
    // The file that broke it has no error of its own, but the compiler may not have seen everything.
    let broken = check(&sandbox, &["src/a.rs"], 4);
    let gap = sensor(&broken, SERVER)["reason"].to_string();
    assert!(gap.contains("src/b.rs"), "{broken:#}");
    sandbox.write("src/a.rs", RIGHT);
    check(&sandbox, &["--all"], 0);

    // A new server finds everything compiled, and cargo reports nothing.
    sandbox.run(&["server", "restart", SERVER]);
    check(&sandbox, &["--all"], 0);

    let told = sandbox.tool_write("src/a.rs", MOVED).context();
    assert!(told.contains("introduced 1 error") && told.contains("E0382"), "{told}");
    let told = sandbox.tool_write("src/a.rs", RIGHT).context();
    assert!(told.contains("src/a.rs: fixed 1; now clean"), "{told}");

    // A burst: each write follows before the answer to the previous one.
    std::thread::scope(|scope| {
        for text in [MOVED, CHANGED, MOVED, CHANGED] {
            sandbox.write("src/a.rs", text);
            scope.spawn(|| sandbox.run(&["check", "src/a.rs"]));
        }
    });
    sandbox.write("src/a.rs", MOVED);
    assert_eq!(codes(&check(&sandbox, &["src/a.rs", "src/b.rs"], 1)), one("src/a.rs", "E0382"));
    sandbox.write("src/a.rs", RIGHT);
    check(&sandbox, &["--all"], 0);
}

#[test]
fn an_edit_is_not_silent_while_cargo_stops_at_errors_elsewhere() {
    let sandbox = rust();
    check(&sandbox, &["--all"], 0);
    sandbox.tool_write("src/a.rs", &RIGHT.replace('}', ""));
    // Only the borrow checker finds this error, and it does not run.
    for name in ["text", "word"] {
        let moved = MOVED.replace("fn a", "fn b").replace("text", name);
        let told = sandbox.tool_write("src/b.rs", &moved).context();
        assert!(told.contains("cargo check stops at errors in src/a.rs"), "{name}: {told}");
    }
    sandbox.tool_write("src/a.rs", RIGHT);
    assert_eq!(codes(&check(&sandbox, &["src/b.rs"], 1)), one("src/b.rs", "E0382"));
}

#[test]
fn what_cargo_cannot_check_is_a_gap() {
    let sandbox = rust();
    let manifest = sandbox.read("Cargo.toml");
    std::fs::remove_file(sandbox.path("Cargo.toml")).expect("the file is ours");
    let alone = check(&sandbox, &["src/a.rs"], 4);
    assert!(sensor(&alone, SERVER)["reason"].to_string().contains("cargo project"), "{alone:#}");
    sandbox.write("Cargo.toml", &manifest);
    check(&sandbox, &["src/a.rs"], 0);
    sandbox.write("src/stray.rs", "pub fn stray() -> u8 {\n    \"\"\n}\n");
    let stray = check(&sandbox, &["src/stray.rs"], 4);
    assert!(sensor(&stray, SERVER)["reason"].to_string().contains("no crate"), "{stray:#}");
    sandbox.write("Cargo.toml", "[package\n");
    let broken = check(&sandbox, &["src/a.rs"], 4);
    assert!(sensor(&broken, SERVER)["reason"].to_string().contains("cargo project"), "{broken:#}");
    sandbox.write("Cargo.toml", &manifest);
    check(&sandbox, &["src/a.rs"], 0);
}

#[test]
fn a_file_outside_the_loaded_workspace_is_not_clean_and_a_nested_workspace_has_a_server() {
    let sandbox = rust();
    let manifest = sandbox.read("Cargo.toml");
    sandbox.write("Cargo.toml", &format!("{manifest}\n[workspace]\nexclude = [\"extra\"]\n"));
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    };
    sandbox.write("extra/Cargo.toml", &package("extra"));
    sandbox.write("extra/src/lib.rs", MOVED);
    sandbox.write("nested/Cargo.toml", &format!("{}\n[workspace]\n", package("nested")));
    sandbox.write("nested/src/lib.rs", MOVED);
    let outside = check(&sandbox, &["extra/src/lib.rs"], 4);
    assert_eq!(codes(&outside), [], "{outside:#}");
    let nested = check(&sandbox, &["nested/src/lib.rs"], 1);
    assert_eq!(codes(&nested), one("nested/src/lib.rs", "E0382"), "{nested:#}");
    check(&sandbox, &["src/a.rs"], 0);
}

/// Makes cargo compile the crate: the text is new, so its result is not known.
fn compile_again(sandbox: &Sandbox) {
    let text = sandbox.read("src/b.rs");
    sandbox.write("src/b.rs", &format!("{text}\n// again\n"));
    check(sandbox, &["src/b.rs"], 0);
}

/// Puts another text at `src/a.rs` whose time is older than cargo's last run, as the name says.
fn put_with_old_time(sandbox: &Sandbox, name: &str) {
    let (file, other) = (sandbox.path("src/a.rs"), sandbox.path("other.txt"));
    sandbox.write("other.txt", MOVED);
    let past = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    let set_back = |path: &std::path::Path| {
        let written = std::fs::File::options().write(true).open(path).expect("the file is ours");
        written.set_modified(past).expect("the time is set");
    };
    match name {
        "mv" => {
            set_back(&other);
            std::fs::rename(&other, &file).expect("moved");
        }
        "cp -p" => {
            std::fs::copy(&other, &file).expect("copied");
            set_back(&file);
        }
        // The new text is written before the last run and takes the old one's place after it.
        "rename" => {
            compile_again(sandbox);
            std::fs::rename(&other, &file).expect("moved");
        }
        "folder" => {
            let (source, moved) = (sandbox.path("src"), sandbox.path("moved"));
            std::fs::create_dir(&moved).expect("created");
            for entry in std::fs::read_dir(&source).expect("a folder").flatten() {
                let copy = moved.join(entry.file_name());
                std::fs::copy(entry.path(), &copy).expect("copied");
                set_back(&copy);
            }
            std::fs::rename(&other, moved.join("a.rs")).expect("moved");
            compile_again(sandbox);
            std::fs::rename(&source, sandbox.path("before")).expect("moved");
            std::fs::rename(&moved, &source).expect("moved");
            std::fs::remove_dir_all(sandbox.path("before")).expect("removed");
        }
        _ => unreachable!("{name}"),
    }
}

#[test]
fn a_file_with_a_time_before_cargos_last_run_is_compiled() {
    let sandbox = rust();
    for (name, is_restarted) in [
        ("mv", false),
        ("cp -p", false),
        ("rename", false),
        ("folder", false),
        ("mv", true),
        ("rename", true),
        ("folder", true),
    ] {
        sandbox.write("src/a.rs", RIGHT);
        check(&sandbox, &["--all"], 0);
        put_with_old_time(&sandbox, name);
        if is_restarted {
            sandbox.run(&["daemon", "stop"]);
        }
        let report = sandbox.run(&["check", "--no-scan", "--json", "src/a.rs"]).json();
        let expected = one("src/a.rs", "E0382");
        assert_eq!(codes(&report), expected, "{name}, restarted: {is_restarted}: {report:#}");
    }
}

#[test]
fn an_included_file_and_an_input_of_a_build_script_are_compiled_whatever_their_time() {
    let sandbox = rust();
    let script = "fn main() {\n    println!(\"cargo:rerun-if-changed=input.txt\");\n    \
        let input = std::fs::read_to_string(\"input.txt\").unwrap();\n    \
        println!(\"cargo:rustc-env=INPUT={}\", input.trim());\n}\n";
    sandbox.write("build.rs", script);
    sandbox.write("src/data.txt", "1");
    sandbox.write("input.txt", "1");
    let library = "pub mod a;\npub mod b;\nconst _: () = assert!(include_str!(\"data.txt\").len() == 1);\n\
        const _: () = assert!(env!(\"INPUT\").len() == 1);\n";
    sandbox.write("src/lib.rs", library);
    check(&sandbox, &["--all"], 0);
    for name in ["src/data.txt", "input.txt"] {
        sandbox.write("other.txt", "22");
        compile_again(&sandbox);
        std::fs::rename(sandbox.path("other.txt"), sandbox.path(name)).expect("moved");
        assert_eq!(
            codes(&check(&sandbox, &["src/lib.rs"], 1)),
            one("src/lib.rs", "E0080"),
            "{name}"
        );
        sandbox.write(name, "1");
        check(&sandbox, &["src/lib.rs"], 0);
    }
}

#[test]
fn a_package_outside_the_root_that_could_not_be_loaded_counts_again() {
    let sandbox = rust();
    let lib = sandbox.base().join("lib");
    let manifest = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    };
    write_file(&lib.join("Cargo.toml"), &manifest("lib"));
    write_file(&lib.join("src/lib.rs"), "pub fn half() -> usize {\n    1\n}\n");
    let dependency = format!("\n[dependencies]\nlib = {{ path = {:?} }}\n", lib.display());
    sandbox.write("Cargo.toml", &(manifest("sample") + &dependency));
    sandbox.write("src/a.rs", "pub fn a() -> usize {\n    lib::half()\n}\n");
    check(&sandbox, &["--all"], 0);
    let hidden = lib.join("src/other.rs");
    std::fs::rename(lib.join("src/lib.rs"), &hidden).expect("the folder is ours");
    check(&sandbox, &["--all"], 4);
    std::fs::rename(&hidden, lib.join("src/lib.rs")).expect("the folder is ours");
    // The project is reloaded every few seconds at most.
    let is_clean = || sandbox.run(&["check", "--no-scan", "--all"]).code == 0;
    assert!(eventually(PATIENCE, || is_clean().then_some(())).is_some(), "still not measured");
}
