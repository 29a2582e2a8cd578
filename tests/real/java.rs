//! Eclipse's Java server: slow to start, and then its results follow the edits and the disk.

use serde_json::Value;

use crate::servers::{findings, project_of, report, sensor};
use crate::support::{Sandbox, eventually};

const SERVER: &str = "jdtls";
const LIB: &str = "package app;\n\nclass Lib {\n    String greet(String name) {\n        return name;\n    }\n}\n";
const MAIN: &str = "package app;\n\nclass Main {\n    int run() {\n        return new Lib().greet(\"x\").length();\n    }\n}\n";

fn java() -> Sandbox {
    let sandbox = project_of("java", SERVER);
    sandbox.write(".project", "<projectDescription><name>sample</name><buildSpec><buildCommand><name>org.eclipse.jdt.core.javabuilder</name></buildCommand></buildSpec><natures><nature>org.eclipse.jdt.core.javanature</nature></natures></projectDescription>\n");
    sandbox.write(".classpath", "<classpath><classpathentry kind=\"src\" path=\"src\"/><classpathentry kind=\"con\" path=\"org.eclipse.jdt.launching.JRE_CONTAINER\"/><classpathentry kind=\"output\" path=\"bin\"/></classpath>\n");
    sandbox.write(".gitignore", "bin/\n");
    sandbox.write("src/app/Lib.java", LIB);
    sandbox.write("src/app/Main.java", MAIN);
    sandbox.commit();
    sandbox
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
