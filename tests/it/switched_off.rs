//! Files that the project's configuration excludes from a server's checking: listed and counted, never plain
//! clean, and not a failure.

use serde_json::{Value, json};

use crate::support::Sandbox;

const IGNORED: &str = "excluded by the project's configuration: \"ignore\" in pyrightconfig.json";

/// A scripted server that reports nothing in `gen`, which its configuration ignores.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let bad = json!({"needle": "BAD", "message": "bad word", "code": "badWord"});
    sandbox.fake_server("pyright-langserver", json!({"errors": [bad]}));
    sandbox.write("pyrightconfig.json", "{\"ignore\": [\"gen\"]}\n");
    sandbox.write("gen/a.py", "word = 'fine'\n");
    sandbox
}

fn report(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Value {
    let output = sandbox.run(&[&["check", "--json"], arguments].concat());
    assert_eq!(output.code, code, "{output:#?}");
    output.json()
}

#[test]
fn ignored_files_alone_are_unmeasured_without_being_a_failure() {
    let sandbox = project();
    let alone = report(&sandbox, &["gen/a.py"], 0);
    assert_eq!((&alone["verdict"], &alone["files_checked"]), (&json!("unmeasured"), &json!(1)));
    let listed = &alone["files_switched_off"][0];
    assert_eq!((&listed["path"], &listed["sensor"]), (&json!("gen/a.py"), &json!("pyright")));
    assert!(listed["reason"].as_str().is_some_and(|it| it.starts_with(IGNORED)), "{alone:#}");
    assert_eq!(alone["sensors"][0]["verdict"], "unmeasured");
    report(&sandbox, &["gen/a.py", "--no-scan"], 4);

    sandbox.write("app.py", "word = 'fine'\n");
    let mixed = report(&sandbox, &["app.py", "gen/a.py"], 0);
    assert_eq!((&mixed["verdict"], &mixed["files_checked"]), (&json!("clean"), &json!(2)));
    assert_eq!(mixed["files_switched_off"][0]["path"], "gen/a.py");
    let text = sandbox.run(&["check", "app.py", "gen/a.py"]).stdout;
    assert!(text.contains("switched off: gen/a.py (pyright: excluded by"), "{text}");
    assert!(text.contains("2 of 2 files checked, 1 switched off,"), "{text}");
}

#[test]
fn an_edit_of_an_ignored_file_says_once_that_it_is_not_checked() {
    let sandbox = project();
    let told = sandbox.tool_write("gen/a.py", "word = 'good'\n").context();
    assert!(told.contains(IGNORED), "{told}");
    assert_eq!(sandbox.tool_write("gen/a.py", "word = 'better'\n").context(), "");
}
