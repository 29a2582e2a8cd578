//! Writes stay out of submodules and other repositories below the root.

use std::process::Command;

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::support::{Output, Sandbox, finish};

const OUTER: &str = "log(1)\n";
const INNER: &str = "log(2)\n";

/// A project with the nested repository `libs/inner`, and `libs/module`, whose git data is elsewhere, as a
/// submodule's is.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.py", OUTER);
    for folder in ["libs/inner", "libs/module"] {
        sandbox.write(&format!("{folder}/deep/b.py"), INNER);
    }
    git(&sandbox, &["init", "-q", "libs/inner"]);
    git(&sandbox, &["init", "-q", "--separate-git-dir=.git/module", "libs/module"]);
    sandbox
}

fn git(sandbox: &Sandbox, arguments: &[&str]) {
    let mut command = Command::new("git");
    sandbox.prepare(&mut command);
    let output = finish(command.args(arguments), "");
    assert_eq!(output.code, 0, "git {arguments:?}: {output:#?}");
}

fn texts(sandbox: &Sandbox) -> [String; 3] {
    ["a.py", "libs/inner/deep/b.py", "libs/module/deep/b.py"].map(|path| sandbox.read(path))
}

fn assert_names_both(output: &Output) {
    for folder in ["libs/inner", "libs/module"] {
        let line = format!("not changed: {folder} is another repository\n");
        assert_eq!(output.stdout.matches(&line).count(), 1, "{output:#?}");
    }
}

const REWRITE: [&str; 5] = ["rewrite", "log($A)", "emit($A)", "--lang", "python"];

#[test]
fn a_rewrite_leaves_other_repositories_out_and_names_them() {
    let sandbox = project();
    let preview = sandbox.run(&REWRITE);
    assert_eq!(preview.code, 0, "{preview:#?}");
    assert_names_both(&preview);
    assert!(preview.stdout.contains("+emit(1)\n"), "{preview:#?}");
    assert!(!preview.stdout.contains("emit(2)"), "{preview:#?}");

    let written = sandbox.run(&[&REWRITE[..], &["--apply"]].concat());
    assert_eq!(written.code, 0, "{written:#?}");
    assert_names_both(&written);
    assert_eq!(texts(&sandbox), ["emit(1)\n", INNER, INNER]);

    let document = sandbox.run(&[&REWRITE[..], &["--apply", "--json"]].concat()).json();
    let skipped = json!([
        {"path": "libs/inner/deep/b.py", "reason": "libs/inner is another repository"},
        {"path": "libs/module/deep/b.py", "reason": "libs/module is another repository"},
    ]);
    assert_eq!(document["files_skipped"], skipped, "{document:#}");
    let found = sandbox.run(&["search", "log($A)", "--lang", "python"]);
    assert!(found.stdout.contains("libs/inner/deep/b.py:1:1"), "a search reads them: {found:#?}");
}

#[test]
fn a_file_of_another_repository_that_is_named_is_not_changed_either() {
    let sandbox = project();
    let inside = ["libs/inner/deep/b.py", "--apply"];
    let output = sandbox.run(&[&REWRITE[..], &inside].concat());
    assert_eq!(output.code, 4, "{output:#?}");
    let line = "not changed: libs/inner is another repository\n";
    assert!(output.stdout.starts_with(line), "{output:#?}");
    assert_eq!(texts(&sandbox), [OUTER, INNER, INNER]);
    // There it is the root, and its own files are changed.
    let mut own = sandbox.program();
    own.args(REWRITE).arg("--apply").current_dir(sandbox.path("libs/inner"));
    let output = finish(&mut own, "");
    assert_eq!(output.code, 0, "{output:#?}");
    assert_eq!(texts(&sandbox), [OUTER, "emit(2)\n", INNER]);
}

#[test]
fn fixes_leave_other_repositories_out_and_name_them() {
    let sandbox = project();
    let rule = "id: own-log\nlanguage: python\nseverity: warning\nmessage: use emit\nmetadata: {fix: safe}\nrule: {pattern: 'log($A)'}\nfix: 'emit($A)'\n";
    sandbox.write("own/own-log.yml", rule);
    let output = sandbox.run(&["scan", "--only-rules", "own", "--fix", "--apply"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert_names_both(&output);
    assert_eq!(texts(&sandbox), ["emit(1)\n", INNER, INNER]);
}

#[test]
fn the_rewrite_tool_leaves_other_repositories_out() {
    let sandbox = project();
    let mut client = Client::start(&sandbox);
    let arguments = json!({"pattern": "log($A)", "replacement": "emit($A)", "lang": "python", "dry_run": false});
    let answer = client.tool("rewrite", &arguments)["result"].clone();
    assert_eq!(answer["structuredContent"]["files"], json!(["a.py"]), "{answer:#}");
    let text = answer["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("not changed: libs/module is another repository"), "{text}");
    let left = &answer["structuredContent"]["not_measured"];
    assert!(left.to_string().contains("libs/inner is another repository"), "{answer:#}");
    assert_eq!(texts(&sandbox), ["emit(1)\n", INNER, INNER]);
    client.end();
}

fn edit(text: &str) -> Value {
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}});
    json!({"range": range, "newText": text})
}

/// A server that answers every rename with these changes of the project's files.
fn rename_server(sandbox: &Sandbox, changes: &Value) {
    let text = changes.to_string().replace("{{ROOT}}", &sandbox.root().to_string_lossy());
    let changes: Value = serde_json::from_str(&text).expect("JSON");
    let script = json!({
        "capabilities": {"renameProvider": true},
        "log_message": "Found 3 source files",
        "answers": {"textDocument/rename": changes},
    });
    sandbox.fake_server("pyright-langserver", script);
}

#[test]
fn a_rename_that_needs_an_edit_in_another_repository_is_refused_as_a_whole() {
    let everywhere = json!({"changes": {
        "file://{{ROOT}}/a.py": [edit("out")],
        "file://{{ROOT}}/libs/module/deep/b.py": [edit("out")],
    }});
    let moved_into = json!({"documentChanges": [
        {"kind": "rename", "oldUri": "file://{{ROOT}}/a.py", "newUri": "file://{{ROOT}}/libs/module/a.py"},
    ]});
    let moved_with_it = json!({"documentChanges": [
        {"kind": "rename", "oldUri": "file://{{ROOT}}/libs", "newUri": "file://{{ROOT}}/other"},
    ]});
    for changes in [everywhere, moved_into, moved_with_it] {
        let sandbox = project();
        rename_server(&sandbox, &changes);
        for more in [&[][..], &["--apply"]] {
            let output = sandbox.run(&[&["rename", "a.py:1:1", "out"], more].concat());
            assert_eq!(output.code, 1, "{output:#?}");
            assert!(output.stderr.contains(" is another repository"), "{changes:#} {output:#?}");
        }
        let document = sandbox.run(&["rename", "a.py:1:1", "out", "--json"]).json();
        assert_eq!(document["kind"], "other_repository", "{document:#}");
        assert_eq!(texts(&sandbox), [OUTER, INNER, INNER]);
    }
}
