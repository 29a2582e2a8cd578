//! clangd: what is broken is found, what is mended is clean, and includers follow their headers.

use crate::servers::{check, findings, project_in};
use crate::support::Sandbox;

const MAIN: &str = "#include \"lib.h\"\n\nint main() {\n  int it = made();\n  return it;\n}\n";
const RIGHT: &str = "#pragma once\n\nint made();\n";
const WRONG: &str = "#pragma once\n\nint *made();\n";

fn cpp() -> Sandbox {
    let sandbox = project_in(&["cpp"]);
    sandbox.write("compile_flags.txt", "-std=c++17\n-xc++\n");
    sandbox.write("lib.h", RIGHT);
    sandbox.write("main.cpp", MAIN);
    sandbox
}

fn expect(sandbox: &Sandbox, file: &str, code: i32) {
    let (actual, report) = check(sandbox, file);
    assert_eq!(actual, code, "{file}: {report:#}");
}

#[test]
fn clangd_finds_and_forgets_at_once() {
    let sandbox = cpp();
    expect(&sandbox, "main.cpp", 0);
    expect(&sandbox, "main.cpp", 0);
    sandbox.write("main.cpp", &MAIN.replace("int it", "int *it"));
    let (code, report) = check(&sandbox, "main.cpp");
    assert_eq!(code, 1, "{report:#}");
    assert_eq!(findings(&report, "clangd")[0].2, 3);
    expect(&sandbox, "main.cpp", 1);
    sandbox.write("main.cpp", MAIN);
    expect(&sandbox, "main.cpp", 0);
}

#[test]
fn an_includer_follows_its_header_on_disk() {
    let sandbox = cpp();
    expect(&sandbox, "main.cpp", 0);
    sandbox.write("lib.h", WRONG);
    expect(&sandbox, "main.cpp", 1);
    // The includer changes, too, and nothing in it says that it is the header that changed.
    sandbox.write("lib.h", RIGHT);
    sandbox.write("main.cpp", &format!("{MAIN}// a remark\n"));
    expect(&sandbox, "main.cpp", 0);
    std::fs::remove_file(sandbox.path("lib.h")).expect("the file is ours");
    expect(&sandbox, "main.cpp", 1);
    sandbox.write("lib.h", RIGHT);
    expect(&sandbox, "main.cpp", 0);
}

#[test]
fn an_includer_follows_its_header_through_edits() {
    let sandbox = cpp();
    expect(&sandbox, "main.cpp", 0);
    expect(&sandbox, "lib.h", 0);
    for (text, code) in [(WRONG, 1), (RIGHT, 0), (WRONG, 1)] {
        sandbox.tool_write("lib.h", text);
        expect(&sandbox, "main.cpp", code);
    }
}

#[test]
fn a_changed_include_is_measured_with_the_new_header() {
    let sandbox = cpp();
    sandbox.write("other.h", WRONG);
    expect(&sandbox, "main.cpp", 0);
    for (header, code) in [("other.h", 1), ("lib.h", 0), ("missing.h", 1), ("lib.h", 0)] {
        sandbox.write("main.cpp", &MAIN.replace("lib.h", header));
        expect(&sandbox, "main.cpp", code);
    }
}

#[test]
fn a_burst_ends_with_the_truth_about_the_last_text() {
    let sandbox = cpp();
    expect(&sandbox, "main.cpp", 0);
    let broken = MAIN.replace("int it", "int *it");
    for (last, code) in [(broken.as_str(), 1), (MAIN, 0)] {
        std::thread::scope(|scope| {
            for round in 0..10 {
                let text = if round % 2 == 0 { MAIN } else { &broken };
                let sandbox = &sandbox;
                scope.spawn(move || sandbox.tool_write("main.cpp", text));
            }
        });
        sandbox.write("main.cpp", last);
        expect(&sandbox, "main.cpp", code);
    }
}

#[test]
fn without_the_flags_of_the_build_nothing_is_clean() {
    let sandbox = project_in(&["cpp"]);
    // Right without the macro that the build defines, wrong with it.
    let text = "#ifdef WIDE\nint *width = 1;\n#else\nint width = 1;\n#endif\n";
    sandbox.write("main.cpp", text);
    sandbox.write("other.cpp", text);
    expect(&sandbox, "main.cpp", 4);
    let entry = |file: &str, flags: &str| {
        let root = sandbox.root();
        let command = format!("c++ {flags} -c {file}");
        serde_json::json!({"directory": root, "file": file, "command": command})
    };
    let database = serde_json::json!([entry("other.cpp", "")]);
    sandbox.write("compile_commands.json", &database.to_string());
    expect(&sandbox, "other.cpp", 0);
    expect(&sandbox, "main.cpp", 4);
    let database = serde_json::json!([entry("other.cpp", ""), entry("main.cpp", "-DWIDE")]);
    sandbox.write("compile_commands.json", &database.to_string());
    expect(&sandbox, "other.cpp", 0);
    expect(&sandbox, "main.cpp", 1);
}
