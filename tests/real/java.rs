//! Eclipse's Java server: slow to start, and then its results follow the edits and the disk.

use std::process::Command;

use serde_json::Value;

use crate::servers::{findings, project_of, report, sensor};
use crate::support::{Sandbox, eventually};

const SERVER: &str = "jdtls";
const LIB: &str = "package app;\n\nclass Lib {\n    String greet(String name) {\n        return name;\n    }\n}\n";
const MAIN: &str = "package app;\n\nclass Main {\n    int run() {\n        return new Lib().greet(\"x\").length();\n    }\n}\n";

fn java() -> Sandbox {
    let sandbox = project_of("java", SERVER);
    sandbox.write(".project", "<projectDescription><name>sample</name><buildSpec><buildCommand><name>org.eclipse.jdt.core.javabuilder</name></buildCommand></buildSpec><natures><nature>org.eclipse.jdt.core.javanature</nature></natures></projectDescription>\n");
    write_classpath(&sandbox, &[("src", "src")]);
    sandbox.write(".gitignore", "bin/\nlib/\n");
    sandbox.write("src/app/Lib.java", LIB);
    sandbox.write("src/app/Main.java", MAIN);
    sandbox.commit();
    sandbox
}

/// Entries are their kinds and paths.
fn write_classpath(sandbox: &Sandbox, entries: &[(&str, &str)]) {
    let entry =
        |kind: &str, path: &str| format!("<classpathentry kind=\"{kind}\" path=\"{path}\"/>");
    let own: String = entries.iter().map(|(kind, path)| entry(kind, path)).collect();
    let runtime = entry("con", "org.eclipse.jdt.launching.JRE_CONTAINER");
    let text = format!("<classpath>{own}{runtime}{}</classpath>\n", entry("output", "bin"));
    sandbox.write(".classpath", &text);
}

/// Writes `lib/dep.jar` with a class whose method has this result.
fn write_jar(sandbox: &Sandbox, result: &str, value: &str) {
    let text = format!(
        "package dep;\npublic class Dep {{ public static {result} made() {{ return {value}; }} }}\n"
    );
    sandbox.write("lib/classes/dep/Dep.java", &text);
    let folder = sandbox.path("lib/classes");
    for (program, args) in
        [("javac", &["dep/Dep.java"][..]), ("jar", &["cf", "../dep.jar", "dep/Dep.class"][..])]
    {
        let status = Command::new(program).args(args).current_dir(&folder).status();
        assert!(status.expect("a JDK is installed").success(), "{program}");
    }
}

fn check(sandbox: &Sandbox, paths: &[&str], code: i32) -> Value {
    report(&sandbox.run(&[&["check", "--no-scan", "--json"], paths].concat()), code)
}

fn lines(report: &Value) -> Vec<(String, u64)> {
    findings(report, SERVER).into_iter().map(|(path, _, line)| (path, line)).collect()
}

#[test]
fn its_word_follows_the_edits_and_the_disk() {
    let sandbox = java();
    // An edit while it starts is answered by "it follows" and, later, by the findings.
    let wrong = MAIN.replace("\"x\"", "1");
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph:\n  lsp: {inline_budget_ms: 500}\n");
    let told = sandbox.tool_write("src/app/Main.java", &wrong).context();
    assert!(told.contains("the result follows"), "{told}");
    let late = eventually(std::time::Duration::from_mins(2), || {
        let told = sandbox.hook("post-tool-batch", &sandbox.payload("PostToolBatch")).context();
        (!told.is_empty()).then_some(told)
    });
    assert!(late.as_deref().is_some_and(|told| told.contains("Main.java:5")), "{late:?}");
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph:\n  lsp: {inline_budget_ms: 10000}\n");

    sandbox.write("src/app/Main.java", MAIN);
    let clean = check(&sandbox, &["--all"], 0);
    assert_eq!(clean["files_checked"], 2);
    sandbox.write("src/app/Main.java", &wrong);
    assert_eq!(lines(&check(&sandbox, &["--all"], 1)), [("src/app/Main.java".to_owned(), 4)]);
    sandbox.write("src/app/Main.java", MAIN);
    check(&sandbox, &["--all"], 0);

    // A file that is not open changes on disk, is deleted, and is restored.
    let main = [("src/app/Main.java".to_owned(), 4)];
    sandbox.write("src/app/Lib.java", &LIB.replace("greet", "welcome"));
    assert_eq!(lines(&check(&sandbox, &["src/app/Main.java"], 1)), main);
    sandbox.write("src/app/Lib.java", LIB);
    check(&sandbox, &["src/app/Main.java"], 0);
    std::fs::remove_file(sandbox.path("src/app/Lib.java")).expect("the file is ours");
    assert_eq!(lines(&check(&sandbox, &["src/app/Main.java"], 1)), main);
    sandbox.write("src/app/Lib.java", LIB);
    check(&sandbox, &["src/app/Main.java"], 0);

    let told = sandbox.tool_write("src/app/Main.java", &wrong).context();
    assert!(told.contains("introduced 1 error"), "{told}");
    let told = sandbox.tool_write("src/app/Main.java", MAIN).context();
    assert!(told.contains("fixed 1; now clean"), "{told}");

    sandbox
        .write("Outside.java", "class Outside {\n    int x() {\n        return \"\";\n    }\n}\n");
    let outside = check(&sandbox, &["Outside.java"], 4);
    assert!(
        sensor(&outside, SERVER)["reason"].to_string().contains("source folder"),
        "{outside:#}"
    );
}

#[test]
fn a_changed_jar_or_classpath_counts_at_once() {
    let sandbox = java();
    write_jar(&sandbox, "int", "1");
    write_classpath(&sandbox, &[("src", "src"), ("lib", "lib/dep.jar")]);
    let user =
        "package app;\n\nclass User {\n    int it = dep.Dep.made();\n    made.Made other;\n}\n";
    sandbox.write("src/app/User.java", user);
    sandbox.write("made/made/Made.java", "package made;\n\npublic class Made {}\n");
    let file = "src/app/User.java";
    let at = |line: u64| (file.to_owned(), line);
    assert_eq!(lines(&check(&sandbox, &[file], 1)), [at(4)], "not in the classpath");
    write_classpath(&sandbox, &[("src", "src"), ("src", "made"), ("lib", "lib/dep.jar")]);
    check(&sandbox, &[file], 0);
    write_jar(&sandbox, "String", "\"\"");
    assert_eq!(lines(&check(&sandbox, &[file], 1)), [at(3)]);
    write_jar(&sandbox, "int", "1");
    check(&sandbox, &[file], 0);
    std::fs::remove_file(sandbox.path("lib/dep.jar")).expect("the file is ours");
    let missing: Vec<_> = findings(&check(&sandbox, &[file], 1), SERVER);
    assert!(missing.iter().any(|(path, _, line)| path == file && *line == 3), "{missing:?}");
    write_jar(&sandbox, "int", "1");
    check(&sandbox, &[file], 0);
    write_classpath(&sandbox, &[("src", "src"), ("lib", "lib/dep.jar")]);
    assert_eq!(lines(&check(&sandbox, &[file], 1)), [at(4)]);
}

#[test]
fn packages_without_a_build_file_are_checked_like_those_with_one() {
    let sandbox = project_of("java", SERVER);
    sandbox.write("src/main/java/app/Lib.java", LIB);
    sandbox.write("src/main/java/app/Main.java", MAIN);
    sandbox.write("src/test/java/app/MainTest.java", &MAIN.replace("Main", "MainTest"));
    sandbox.commit();
    assert_eq!(lines(&check(&sandbox, &["--all"], 0)), []);
    // Not reported in a file with a wrong package.
    let call = "return new Lib()";
    let thrown = MAIN.replace(call, "new java.io.FileReader(\"x\");\n        return new Lib()");
    sandbox.write("src/main/java/app/Main.java", &thrown);
    let mut found = lines(&check(&sandbox, &["--all"], 1));
    found.dedup();
    assert_eq!(found, [("src/main/java/app/Main.java".to_owned(), 4)]);
    assert!(!sandbox.path(".project").exists() && !sandbox.path(".classpath").exists());
}

/// Eclipse's server compares the types of files only when it builds; a compiler fails.
#[test]
fn a_type_that_another_file_of_the_folder_declares_is_not_clean() {
    let sandbox = java();
    sandbox
        .write("src/app/Other.java", "package app;\n\nclass Other {}\n\nrecord Lib(int size) {}\n");
    let report = check(&sandbox, &["src/app/Other.java"], 4);
    let reason = sensor(&report, SERVER)["reason"].to_string();
    assert!(reason.contains("app.Lib is also declared in Lib.java"), "{report:#}");
    sandbox.write("src/app/Other.java", "package app;\n\nclass Other {}\n");
    check(&sandbox, &["src/app/Other.java"], 0);
}
