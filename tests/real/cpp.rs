//! clangd: errors are found, repaired files are clean, and includers follow their headers.

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
    // The includer changes, too, and nothing in it shows that the header changed.
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

/// A compiler fails without such a file; clangd reports nothing.
#[test]
fn a_file_that_the_flags_include_must_exist() {
    let sandbox = project_in(&["cpp"]);
    sandbox.write("main.cpp", "int width = 1;\n");
    let write_flags = |flags: &str| {
        let command = format!("c++ {flags} -c main.cpp");
        let entry = serde_json::json!({
            "directory": sandbox.root(), "file": "main.cpp", "command": command,
        });
        sandbox.write("compile_commands.json", &serde_json::json!([entry]).to_string());
    };
    write_flags("-include cstddef");
    expect(&sandbox, "main.cpp", 0);
    write_flags("-Iinc -include pre.h");
    expect(&sandbox, "main.cpp", 4);
    sandbox.write("inc/pre.h", "int length();\n");
    expect(&sandbox, "main.cpp", 0);
    sandbox.write("inc/pre.h", "int *width();\n");
    expect(&sandbox, "main.cpp", 1);
    std::fs::remove_file(sandbox.path("inc/pre.h")).expect("the file is ours");
    expect(&sandbox, "main.cpp", 4);
}

/// A file that is right without the macro of the build and wrong with it, and its exit codes where
/// clangd finds, or does not find, the flags that a database in this place gives it.
fn check_database(config: &str, database: &str, code: i32) {
    let sandbox = project_in(&["cpp"]);
    sandbox.write("src/main.cpp", "#ifdef WIDE\nint *width = 1;\n#else\nint width = 1;\n#endif\n");
    sandbox.write("src/.clangd", config);
    let command = "c++ -DWIDE -c src/main.cpp";
    let entry = serde_json::json!({
        "directory": sandbox.root(), "file": "src/main.cpp", "command": command,
    });
    sandbox.write(database, &serde_json::json!([entry]).to_string());
    expect(&sandbox, "src/main.cpp", code);
}

#[test]
fn a_nearer_configuration_does_not_hide_the_database_above() {
    check_database("CompileFlags: {Add: [-DX]}\n", "compile_commands.json", 1);
}

#[test]
fn a_configuration_can_name_the_database_or_none() {
    check_database("CompileFlags: {CompilationDatabase: ../out}\n", "out/compile_commands.json", 1);
    check_database("CompileFlags: {CompilationDatabase: None}\n", "compile_commands.json", 4);
}

#[test]
fn a_condition_in_the_configuration_is_a_gap() {
    let config = "If: {PathMatch: main.cpp}\nCompileFlags: {CompilationDatabase: None}\n";
    check_database(config, "compile_commands.json", 4);
}

#[test]
fn the_database_of_the_servers_arguments_and_of_the_user_is_found() {
    let sandbox = project_in(&["cpp"]);
    sandbox.write("main.cpp", "int width = 1;\n");
    let entry = serde_json::json!({
        "directory": sandbox.root(), "file": "main.cpp", "command": "c++ -c main.cpp",
    });
    sandbox.write("out/compile_commands.json", &serde_json::json!([entry]).to_string());
    expect(&sandbox, "main.cpp", 4);
    let options =
        "ralph:\n  lsp:\n    servers:\n      clangd:\n        args: [--compile-commands-dir=out]\n";
    sandbox.write(".moai/config/sections/ralph.yaml", options);
    expect(&sandbox, "main.cpp", 0);
    std::fs::remove_file(sandbox.path(".moai/config/sections/ralph.yaml")).expect("ours");
    expect(&sandbox, "main.cpp", 4);
    let folder = sandbox.path("../home/.config/clangd");
    std::fs::create_dir_all(&folder).expect("the home is ours");
    let database = sandbox.path("out").display().to_string();
    let config = format!("CompileFlags: {{CompilationDatabase: {database}}}\n");
    std::fs::write(folder.join("config.yaml"), config).expect("the home is ours");
    expect(&sandbox, "main.cpp", 0);
}

#[test]
fn a_broken_database_gives_no_flags_to_headers() {
    let sandbox = project_in(&["cpp"]);
    sandbox.write("lib.h", "int width();\n");
    sandbox.write("compile_commands.json", "{");
    expect(&sandbox, "lib.h", 4);
}

/// clangd itself notices a changed database or configuration after 5 seconds, a new one after 30.
#[test]
fn changed_flags_count_at_once_wherever_they_are() {
    let sandbox = project_in(&["cpp"]);
    let text = "#ifdef WIDE\nint *width = 1;\n#else\nint width = 1;\n#endif\n";
    for (folder, config) in [("near", ""), ("far", "CompileFlags: {CompilationDatabase: ../out}\n")]
    {
        let file = format!("{folder}/main.cpp");
        sandbox.write(&file, text);
        if !config.is_empty() {
            sandbox.write(&format!("{folder}/.clangd"), config);
        }
        expect(&sandbox, &file, 4);
        let place = if config.is_empty() { folder } else { "out" };
        for (flags, code) in [("-DWIDE", 1), ("-DNONE", 0), ("-DWIDE", 1)] {
            let command = format!("c++ {flags} -c {file}");
            let entry = serde_json::json!({
                "directory": sandbox.root(), "file": file, "command": command,
            });
            let database = serde_json::json!([entry]).to_string();
            sandbox.write(&format!("{place}/compile_commands.json"), &database);
            expect(&sandbox, &file, code);
        }
    }
    sandbox.write("near/.clangd", "CompileFlags: {Add: [-UWIDE]}\n");
    expect(&sandbox, "near/main.cpp", 0);
}

#[test]
fn a_changed_configuration_below_the_database_counts_at_once() {
    let sandbox = project_in(&["cpp"]);
    sandbox.write("compile_flags.txt", "-std=c++17\n");
    sandbox.write("deep/er/main.cpp", "#ifdef WIDE\nint *width = 1;\n#endif\n");
    expect(&sandbox, "deep/er/main.cpp", 0);
    for config in ["deep/er/.clangd", "deep/.clangd"] {
        for (flags, code) in [("-DWIDE", 1), ("-DNONE", 0), ("-DWIDE", 1)] {
            sandbox.write(config, &format!("CompileFlags: {{Add: [{flags}]}}\n"));
            expect(&sandbox, "deep/er/main.cpp", code);
        }
        std::fs::remove_file(sandbox.path(config)).expect("the file is ours");
        expect(&sandbox, "deep/er/main.cpp", 0);
    }
}

#[test]
fn an_error_that_a_changed_build_description_causes_is_not_older() {
    let sandbox = project_in(&["cpp"]);
    let configure = |flags: &str| {
        let folder = sandbox.root().display().to_string();
        let command = format!("c++ {flags} -c main.cpp");
        let entry = serde_json::json!([
            {"directory": folder, "command": command, "file": "main.cpp"}
        ]);
        sandbox.write("build/compile_commands.json", &entry.to_string());
    };
    sandbox.write(".gitignore", "build/\n");
    sandbox.write("CMakeLists.txt", "add_definitions(-DMAX=3)\n");
    sandbox.write("main.cpp", "int main() { return MAX; }\n");
    sandbox.commit();
    sandbox.git(&["branch", "before"]);
    configure("-DMAX=3");
    let checked = || sandbox.run(&["check", "--base", "before", "--json"]);
    sandbox.write("main.cpp", "// why\nint main() { return MAX; }\n");
    assert_eq!(checked().code, 0, "{:#?}", checked());
    sandbox.write("CMakeLists.txt", "add_definitions(-DMIN=3)\n");
    configure("-DMIN=3");
    sandbox.commit();
    let output = checked();
    assert!(matches!(output.code, 1 | 4), "MAX is undeclared now: {output:#?}");
}
