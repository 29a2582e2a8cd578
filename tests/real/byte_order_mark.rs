//! Files that begin with a byte order mark. No column counts it: not those of findings, of queries,
//! or of edits in files that a server reads from the disk, where most servers count it.

use serde_json::Value;

use crate::servers::{project_in, report};
use crate::support::Sandbox;

/// A project of one language: an error on the first line of a file, and a symbol `greet` on the
/// first line of another file. Both files begin with a byte order mark.
struct MarkedProject {
    language: &'static str,
    /// Path and text.
    others: &'static [(&'static str, &'static str)],
    /// Path and text with an error, without the mark, and the error's column.
    wrong: (&'static str, &'static str, u64),
    /// Path and text, without the mark.
    library: (&'static str, &'static str),
    /// A use of `greet`, counted from 1.
    usage: &'static str,
    can_rename: bool,
}

fn check_columns(project: &MarkedProject) {
    let sandbox = project_in(&[project.language]);
    for (path, text) in project.others {
        sandbox.write(path, text);
    }
    let (path, text, column) = project.wrong;
    sandbox.write(path, &format!("\u{feff}{text}"));
    let (library, text) = project.library;
    sandbox.write(library, &format!("\u{feff}{text}"));
    write_compile_database(&sandbox);
    let dirty = report(&sandbox.run(&["check", path, "--no-scan", "--json"]), 1);
    assert_eq!(start_of(&dirty["findings"][0]), (0, column), "{dirty:#}");
    std::fs::remove_file(sandbox.path(path)).expect("the file is ours");

    let found = sandbox.run(&["definition", project.usage, "--json"]).json();
    let place = &found["locations"][0];
    assert_eq!(place["path"], library, "{found:#}");
    let name = text.find("greet").unwrap_or_default() as u64;
    if project.language != "cpp" {
        assert_eq!(start_of(place), (0, name), "{found:#}");
    }
    if project.can_rename {
        let renamed = sandbox.run(&["rename", project.usage, "welcome", "--apply"]);
        assert_eq!(renamed.code, 0, "{renamed:#?}");
        let expected = format!("\u{feff}{}", text.replace("greet", "welcome"));
        assert_eq!(sandbox.read(library), expected);
    }
}

fn start_of(place: &Value) -> (u64, u64) {
    let start = &place["range"]["start"];
    let number = |key: &str| start[key].as_u64().unwrap_or(u64::MAX);
    (number("line"), number("character"))
}

/// clangd renames only with a compilation database.
fn write_compile_database(sandbox: &Sandbox) {
    let entry = |file: &str| {
        let (root, command) = (sandbox.root(), format!("c++ -c {file}"));
        serde_json::json!({"directory": root, "file": file, "command": command})
    };
    let database = serde_json::json!([entry("a.cpp"), entry("main.cpp")]);
    sandbox.write("compile_commands.json", &database.to_string());
}

#[test]
fn of_python_files() {
    check_columns(&MarkedProject {
        language: "python",
        others: &[("main.py", "from lib import greet\n\nprint(greet)\n")],
        wrong: ("a.py", "x: str = 1\n", 9),
        library: ("lib.py", "greet = 1\n"),
        usage: "main.py:3:7",
        can_rename: true,
    });
}

#[test]
fn of_typescript_files() {
    check_columns(&MarkedProject {
        language: "typescript",
        others: &[
            ("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n"),
            ("main.ts", "import { greet } from \"./lib\";\nconsole.log(greet);\n"),
        ],
        wrong: ("a.ts", "export const aa: string = 1;\n", 13),
        library: ("lib.ts", "export const greet = 1;\n"),
        usage: "main.ts:2:13",
        can_rename: true,
    });
}

#[test]
fn of_go_files() {
    check_columns(&MarkedProject {
        language: "go",
        others: &[
            ("go.mod", "module example.com/app\n\ngo 1.19\n"),
            ("main.go", "package main\n\nfunc main() { greet() }\n"),
        ],
        wrong: ("a.go", "package main; var x string = 1\n", 29),
        library: ("lib.go", "package main; func greet() {}\n"),
        usage: "main.go:3:15",
        can_rename: true,
    });
}

#[test]
fn of_rust_files() {
    check_columns(&MarkedProject {
        language: "rust",
        others: &[
            ("Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("src/main.rs", "mod lib2;\nfn main() { lib2::greet(); }\n"),
        ],
        wrong: ("src/bin/a.rs", "fn main() { let _a: u8 = bb; }\n", 25),
        library: ("src/lib2.rs", "pub fn greet() {}\n"),
        usage: "src/main.rs:2:19",
        can_rename: true,
    });
}

#[test]
fn of_cpp_files() {
    check_columns(&MarkedProject {
        language: "cpp",
        others: &[("main.cpp", "#include \"lib.h\"\nint x = greet();\n")],
        wrong: ("a.cpp", "int *p = 1;\n", 5),
        library: ("lib.h", "inline int greet() { return 1; }\n"),
        usage: "main.cpp:2:9",
        can_rename: true,
    });
}

#[test]
fn of_php_files() {
    check_columns(&MarkedProject {
        language: "php",
        others: &[("main.php", "<?php\ngreet();\n")],
        wrong: ("a.php", "<?php unknown(1);\n", 6),
        library: ("lib.php", "<?php function greet() {}\n"),
        usage: "main.php:2:1",
        can_rename: false,
    });
}

#[test]
fn of_scanned_files() {
    let sandbox = Sandbox::new();
    for text in ["eval(input())\n", "\u{feff}eval(input())\n"] {
        sandbox.write("a.py", text);
        let found = sandbox.run(&["scan", "a.py", "--json"]).json();
        let findings = found["findings"].as_array().expect("a list");
        assert!(!findings.is_empty(), "{found:#}");
        assert!(findings.iter().all(|finding| start_of(finding) == (0, 0)), "{found:#}");
    }
}
