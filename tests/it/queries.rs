//! `references`, `definition`, `hover` and `symbols` with a scripted server in pyright's place.

use serde_json::{Value, json};

use crate::support::Sandbox;

const LIB: &str = "def total(x):\n    return x\n";
const APP: &str = "from lib import total\nprint(total(1), total(2))\n";

fn place(line: u32, from: u32, to: u32) -> Value {
    json!({
        "start": {"line": line, "character": from},
        "end": {"line": line, "character": to},
    })
}

/// Two files and a server that gives these answers, with `{{ROOT}}` for the project.
fn project(answers: &Value) -> Sandbox {
    project_with(&json!({"answers": answers}))
}

fn project_with(script: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lib.py", LIB);
    sandbox.write("app.py", APP);
    let text = script.to_string().replace("{{ROOT}}", &sandbox.root().to_string_lossy());
    let mut script: Value = serde_json::from_str(&text).expect("JSON");
    if script["capabilities"].is_null() {
        script["capabilities"] = json!({
            "referencesProvider": true, "definitionProvider": {}, "hoverProvider": true,
            "documentSymbolProvider": true, "workspaceSymbolProvider": true,
        });
    }
    if script["log_message"].is_null() {
        script["log_message"] = json!("Found 2 source files");
    }
    sandbox.fake_server("pyright-langserver", script);
    sandbox
}

fn references() -> Value {
    json!({"textDocument/references": [
        {"uri": "file://{{ROOT}}/lib.py", "range": place(0, 4, 9)},
        {"uri": "file://{{ROOT}}/app.py", "range": place(1, 6, 11)},
        {"uri": "file://{{ROOT}}/app.py", "range": place(0, 16, 21)},
        {"uri": "file://{{ROOT}}/app.py", "range": place(0, 16, 21)},
    ]})
}

#[test]
fn references_are_sorted_unique_and_shown_with_their_lines() {
    let sandbox = project(&references());
    let output = sandbox.run(&["references", "lib.py:1:5"]);
    assert_eq!(output.code, 0, "{output:#?}");
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "app.py:1:17: from lib import total",
            "app.py:2:7: print(total(1), total(2))",
            "lib.py:1:5: def total(x):",
        ]
    );
    assert!(lines[3].starts_with("3 references in 2 files (pyright"), "{output:#?}");
    let document = sandbox.run(&["references", "lib.py:1:5", "--json"]).json();
    assert_eq!(document["schema"], "moai-ralph/locations@1");
    assert_eq!((&document["status"], &document["complete"]), (&json!("done"), &json!(true)));
    assert_eq!(document["locations"][2]["range"], place(0, 4, 9));
    assert_eq!(document["at"], json!({"path": "lib.py", "position": {"line": 0, "character": 4}}));
}

#[test]
fn a_name_takes_the_place_of_a_column_when_it_stands_there_once() {
    let sandbox = project(&references());
    let by_name = sandbox.run(&["references", "lib.py:1", "--symbol", "total", "--json"]).json();
    assert_eq!(by_name["at"]["position"], json!({"line": 0, "character": 4}));
    let refused = |arguments: &[&str], code: i32, line: &str| {
        let output = sandbox.run(arguments);
        assert_eq!((output.code, output.stderr.as_str()), (code, line), "{output:#?}");
        assert_eq!(output.stdout, "");
    };
    refused(
        &["references", "app.py:2", "--symbol", "total"],
        1,
        "moai-ralph: app.py:2: total occurs at columns 7, 17\n",
    );
    refused(
        &["references", "app.py:1", "--symbol", "tot"],
        1,
        "moai-ralph: app.py:1: tot is not there\n",
    );
    refused(&["hover", "app.py:9:1"], 3, "moai-ralph: app.py: there is no line 9 (last: 3)\n");
    refused(&["hover", "app.py:1:99"], 3, "moai-ralph: app.py:1: there is no column 99\n");
    refused(&["hover", "none.py:1:1"], 3, "moai-ralph: none.py: does not exist\n");
    refused(
        &["hover", "app.py:1"],
        3,
        "moai-ralph: name a column (FILE:LINE:COL) or --symbol NAME\n",
    );
}

#[test]
fn links_and_places_outside_the_root_are_understood() {
    let sandbox = project(&json!({"textDocument/definition": [{
        "targetUri": "file:///nowhere/lib.pyi", "targetRange": place(0, 0, 90),
        "targetSelectionRange": place(7, 4, 9),
    }]}));
    let output = sandbox.run(&["definition", "app.py:2:7"]);
    assert!(
        output.stdout.starts_with("/nowhere/lib.pyi:8:5\n1 definition in 1 file"),
        "{output:#?}"
    );
}

#[test]
fn nothing_known_and_nothing_offered_are_refusals() {
    let sandbox = project(&json!({
        "textDocument/hover": "null", "textDocument/references": [],
        "textDocument/definition": {"error": "not now"},
    }));
    let refused = |command: &str, line: &str| {
        let output = sandbox.run(&[command, "lib.py:1:5"]);
        assert_eq!((output.code, output.stderr.as_str()), (1, line), "{output:#?}");
    };
    refused("hover", "moai-ralph: pyright: nothing is known here\n");
    refused("references", "moai-ralph: pyright: no symbol is known here\n");
    refused("definition", "moai-ralph: pyright: the server refused: not now\n");
    let document = sandbox.run(&["hover", "lib.py:1:5", "--json"]).json();
    assert_eq!((&document["status"], &document["kind"]), (&json!("refused"), &json!("no_symbol")));
    let silent = project_with(&json!({
        "capabilities": {"hoverProvider": false}, "never_answer": ["textDocument/hover"],
    }));
    let output = silent.run(&["hover", "lib.py:1:5"]);
    let line = "moai-ralph: pyright: the server does not offer textDocument/hover\n";
    assert_eq!((output.code, output.stderr.as_str()), (1, line), "{output:#?}");
}

#[test]
fn an_answer_that_does_not_come_in_time_is_a_gap() {
    let sandbox = project_with(&json!({"never_answer": ["textDocument/references"]}));
    let output = sandbox.run(&["references", "lib.py:1:5", "--timeout", "1"]);
    assert_eq!(output.code, 4, "{output:#?}");
    let line = "moai-ralph: not measured: pyright (no answer within ";
    assert!(output.stderr.starts_with(line), "{output:#?}");
    let output = sandbox.run(&["references", "lib.py:1:5", "--timeout", "1", "--json"]);
    assert_eq!((output.code, &output.json()["status"]), (4, &json!("unmeasured")));
}

#[test]
fn a_server_that_has_not_listed_the_files_is_not_believed() {
    let mut script = json!({"answers": references()});
    script["log_message"] = json!("Loading configuration");
    let sandbox = project_with(&script);
    let output = sandbox.run(&["references", "lib.py:1:5", "--timeout", "1"]);
    assert_eq!(output.code, 4, "{output:#?}");
}

#[test]
fn without_a_server_the_gap_names_the_command_that_mends_it() {
    let sandbox = Sandbox::new();
    sandbox.write("lib.py", LIB);
    let output = sandbox.run(&["references", "lib.py:1:5"]);
    assert_eq!(output.code, 4, "{output:#?}");
    assert!(output.stderr.contains("moai-ralph server install python"), "{output:#?}");
}

#[test]
fn symbols_of_a_file_and_of_the_project() {
    let sandbox = project(&json!({
        "textDocument/documentSymbol": [{
            "name": "total", "kind": 12, "range": place(0, 0, 13), "selectionRange": place(0, 4, 9),
            "children": [{"name": "x", "kind": 13, "range": place(0, 10, 11),
                "selectionRange": place(0, 10, 11)}],
        }],
        "workspace/symbol": [{"name": "total", "kind": 12, "containerName": "lib",
            "location": {"uri": "file://{{ROOT}}/lib.py", "range": place(0, 4, 9)}}],
    }));
    let output = sandbox.run(&["symbols", "lib.py"]);
    let expected = "lib.py:1:5: function total\nlib.py:1:11: variable x (in total)\n2 symbols";
    assert!(output.stdout.starts_with(expected), "{output:#?}");
    let output = sandbox.run(&["symbols", "tot"]);
    assert!(
        output.stdout.starts_with("lib.py:1:5: function total (in lib)\n1 symbol"),
        "{output:#?}"
    );
    let document = sandbox.run(&["symbols", "tot", "--json"]).json();
    assert_eq!(document["schema"], "moai-ralph/symbols@1");
    assert_eq!(document["symbols"][0]["name"], "total");
    let output = sandbox.run(&["symbols", "nowhere.py"]);
    assert_eq!(output.code, 3, "a path that leads nowhere is no name: {output:#?}");
}

#[test]
fn a_hover_text_is_printed_as_the_server_wrote_it() {
    let sandbox = project(&json!({
        "textDocument/hover": {"contents": {"kind": "plaintext", "value": "(function) total\n"}},
    }));
    let output = sandbox.run(&["hover", "app.py:2:7"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "(function) total\n"), "{output:#?}");
    let document = sandbox.run(&["hover", "app.py:2:7", "--json"]).json();
    assert_eq!(
        (&document["schema"], &document["text"]),
        (&json!("moai-ralph/hover@1"), &json!("(function) total"))
    );
}

#[test]
fn a_file_that_was_just_written_is_opened_before_the_answer_is_believed() {
    let sandbox = project(&references());
    sandbox.write("new.py", "from lib import total\n");
    let log = sandbox.base().join("pyright-langserver.jsonl");
    sandbox.run(&["references", "lib.py:1:5"]);
    let opened = |name: &str| {
        crate::support::json_lines(&log).iter().any(|line| {
            line["method"] == "textDocument/didOpen"
                && line["uri"].as_str().is_some_and(|uri| uri.ends_with(name))
        })
    };
    assert!(opened("new.py"));
    assert!(!opened("app.py"), "what is in the answer is known");
}
