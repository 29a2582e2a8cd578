//! A project without its packages: one line instead of many findings, never clean, and real errors
//! stay visible.

use serde_json::json;

use crate::support::Sandbox;

const GAP: &str = "imports cannot be resolved: create a virtual environment";

/// A scripted server that resolves no import and finds `BAD`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let missing = |name: &str| {
        let message = format!("Import \"{name}\" could not be resolved");
        json!({"needle": format!("import {name}"), "message": message, "code": "reportMissingImports"})
    };
    let bad = json!({"needle": "BAD", "message": "bad word", "code": "badWord"});
    let errors = json!([missing("numpy"), missing("pandas"), bad]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("requirements.txt", "numpy\npandas\n");
    sandbox
}

const IMPORTS: &str = "import numpy\nimport pandas\n";

#[test]
fn a_check_names_the_fault_and_what_is_really_wrong() {
    let sandbox = project();
    sandbox.write("app.py", &format!("{IMPORTS}word = 'BAD'\n"));
    for _ in 0..2 {
        let output = sandbox.run(&["check", "app.py", "--json"]);
        assert_eq!(output.code, 1, "{output:#?}");
        let report = output.json();
        let messages: Vec<_> = report["findings"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| &it["message"])
            .collect();
        assert_eq!(messages, ["bad word"]);
        let reason = report["sensors"][0]["reason"].as_str().unwrap_or_default();
        assert!(reason.starts_with(GAP), "{report:#}");
        assert_eq!(report["files_checked"], 1, "{report:#}");
    }
    sandbox.write("app.py", IMPORTS);
    let output = sandbox.run(&["check", "app.py", "--json"]);
    assert_eq!((output.code, &output.json()["verdict"]), (4, &json!("unmeasured")), "{output:#?}");
}

#[test]
fn an_edit_is_told_the_fault_once_and_its_own_errors_always() {
    let sandbox = project();
    let told = sandbox.tool_write("app.py", IMPORTS).context();
    assert!(told.contains(GAP) && !told.contains("numpy"), "{told}");
    assert_eq!(sandbox.tool_write("app.py", &format!("{IMPORTS}x = 1\n")).context(), "");
    let told = sandbox.tool_write("app.py", &format!("{IMPORTS}x = 'BAD'\n")).context();
    assert!(told.contains("introduced 1 error") && told.contains("bad word"), "{told}");
    assert!(!told.contains("clean"), "{told}");
    assert_eq!(sandbox.tool_write("app.py", &format!("\n{IMPORTS}x = 'BAD'\n")).context(), "");
    let told = sandbox.tool_write("app.py", &format!("{IMPORTS}x = 2\n")).context();
    assert!(!told.contains("clean"), "{told}");
}

#[test]
fn once_the_fault_is_mended_the_verdict_is_whole() {
    let sandbox = project();
    sandbox.write("app.py", "word = 1\n");
    sandbox.tool_write("app.py", IMPORTS);
    let output = sandbox.tool_write("app.py", "word = 2\n");
    assert_eq!(output.context(), "");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 0);
}
