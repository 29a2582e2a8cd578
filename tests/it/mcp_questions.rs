//! Tools that query a language server: `references`, `definition`, `hover` and `rename` over MCP,
//! with a scripted server in place of pyright.

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::support::Sandbox;

const LIB: &str = "def total(x):\n    return x\n";
const APP: &str = "from lib import total\nprint(total(1), total(2))\n";

fn range(line: u32, from: u32, to: u32) -> Value {
    json!({
        "start": {"line": line, "character": from},
        "end": {"line": line, "character": to},
    })
}

fn edit(line: u32, from: u32, to: u32) -> Value {
    json!({"range": range(line, from, to), "newText": "summed"})
}

/// Two files and a server with this script, in which `{{ROOT}}` is the project.
fn project(script: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lib.py", LIB);
    sandbox.write("app.py", APP);
    let text = script.to_string().replace("{{ROOT}}", &sandbox.root().to_string_lossy());
    let mut script: Value = serde_json::from_str(&text).expect("JSON");
    script["capabilities"] = json!({
        "referencesProvider": true, "definitionProvider": true, "hoverProvider": true,
        "renameProvider": true,
    });
    script["log_message"] = json!("Found 2 source files");
    script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", script);
    sandbox
}

fn answers() -> Value {
    json!({"answers": {
        "textDocument/references": [
            {"uri": "file://{{ROOT}}/lib.py", "range": range(0, 4, 9)},
            {"uri": "file://{{ROOT}}/app.py", "range": range(1, 6, 11)},
        ],
        "textDocument/definition": [{"uri": "file:///nowhere/lib.pyi", "range": range(7, 4, 9)}],
        "textDocument/hover": {"contents": "(function) total"},
        "textDocument/rename": {"changes": {
            "file://{{ROOT}}/app.py": [edit(0, 16, 21), edit(1, 6, 11), edit(1, 16, 21)],
            "file://{{ROOT}}/lib.py": [edit(0, 4, 9)],
        }},
    }})
}

fn result(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let answer = client.tool(tool, arguments);
    assert!(answer["error"].is_null(), "{answer:#}");
    answer["result"].clone()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("a text")
}

#[test]
fn questions_are_answered_in_values_and_words() {
    let sandbox = project(&answers());
    let mut client = Client::start(&sandbox);
    let at = json!({"path": "lib.py", "line": 1, "symbol": "total"});
    let found = result(&mut client, "references", &at);
    let values = &found["structuredContent"];
    assert_eq!((&values["status"], &values["complete"]), (&json!("answered"), &json!(true)));
    let first = json!({"path": "app.py", "line": 2, "column": 7, "text": APP.lines().nth(1)});
    assert_eq!(values["locations"][0], first);
    assert_eq!(
        (&values["locations"][1]["path"], &found["isError"]),
        (&json!("lib.py"), &json!(false))
    );
    assert!(text(&found).contains("2 references in 2 files (pyright"), "{found:#}");

    let by_column = json!({"path": "app.py", "line": 2, "column": 7});
    let found = result(&mut client, "definition", &by_column);
    let place = &found["structuredContent"]["locations"][0];
    assert_eq!((&place["path"], &place["line"]), (&json!("/nowhere/lib.pyi"), &json!(8)));
    let found = result(&mut client, "hover", &by_column);
    assert_eq!(found["structuredContent"]["text"], "(function) total");
    client.end();
}

#[test]
fn of_many_places_the_rest_is_counted() {
    let lines = 0..70;
    let places: Vec<Value> = lines
        .map(|line| json!({"uri": "file:///nowhere/many.py", "range": range(line, 0, 1)}))
        .collect();
    let sandbox = project(&json!({"answers": {"textDocument/references": places}}));
    let mut client = Client::start(&sandbox);
    let at = json!({"path": "lib.py", "line": 1, "symbol": "total"});
    let found = result(&mut client, "references", &at);
    let values = &found["structuredContent"];
    assert_eq!(values["locations"].as_array().map(Vec::len), Some(50));
    assert_eq!(values["locations_omitted"], 20);
    assert!(text(&found).contains("\n… and 20 more\n70 references"), "{found:#}");
    client.end();
}

#[test]
fn a_refusal_is_an_error_with_its_reason_and_nothing_measured_is_an_answer() {
    let sandbox = project(&json!({
        "answers": {"textDocument/hover": "null"}, "never_answer": ["textDocument/references"],
    }));
    let mut client = Client::start(&sandbox);
    let mut refused = |tool: &str, arguments: Value, kind: &str, words: &str| {
        let found = result(&mut client, tool, &arguments);
        let values = &found["structuredContent"];
        assert_eq!((&values["status"], &values["kind"]), (&json!("refused"), &json!(kind)));
        assert_eq!(found["isError"], true, "{found:#}");
        assert!(text(&found).contains(words), "{found:#}");
    };
    let place = |line: u32, symbol: &str| json!({"path": "app.py", "line": line, "symbol": symbol});
    refused("hover", place(1, "total"), "no_symbol", "pyright: nothing is known here");
    refused("hover", place(2, "total"), "ambiguous", "total occurs at columns 7, 17");
    refused("hover", place(9, "total"), "invalid", "there is no line 9");
    refused("hover", place(1, ""), "no_symbol", "app.py:1");
    refused("hover", json!({"path": "../x.py", "line": 1, "column": 1}), "invalid", "x.py");
    let mut nameless = place(1, "total");
    nameless["new_name"] = json!(" ");
    refused("rename", nameless, "invalid", "the new name is empty");

    let mut slow = place(1, "total");
    slow["timeout_secs"] = json!(1);
    let found = result(&mut client, "references", &slow);
    let values = &found["structuredContent"];
    assert_eq!((&values["status"], &found["isError"]), (&json!("unmeasured"), &json!(false)));
    assert!(values["reason"].as_str().is_some_and(|it| it.starts_with("no answer within")));
    assert!(values["locations"].is_null(), "an empty list would read as unused: {values:#}");
    client.end();
}

#[test]
fn a_place_is_named_by_a_column_or_a_symbol() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    for place in [
        json!({"path": "lib.py", "line": 1}),
        json!({"path": "lib.py", "line": 1, "column": 5, "symbol": "total"}),
    ] {
        let found = result(&mut client, "references", &place);
        assert_eq!(found["isError"], true);
        assert_eq!(text(&found), "invalid arguments: either column or symbol");
    }
    let unknown = json!({"path": "lib.py", "line": 1, "column": 5, "apply": true});
    let found = result(&mut client, "references", &unknown);
    assert!(text(&found).contains("apply"), "{found:#}");
    client.end();
}

#[test]
fn a_rename_is_a_preview_until_it_is_told_to_write() {
    let sandbox = project(&answers());
    let mut client = Client::start(&sandbox);
    let mut request = json!({"path": "lib.py", "line": 1, "symbol": "total", "new_name": "summed"});
    let preview = result(&mut client, "rename", &request);
    let values = &preview["structuredContent"];
    assert_eq!((&values["written"], &values["edits"]), (&json!(false), &json!(4)));
    let diff = values["diff"].as_str().expect("a diff");
    assert!(diff.contains("+def summed(x):") && !text(&preview).contains("--apply"), "{preview:#}");
    assert_eq!((sandbox.read("lib.py"), sandbox.read("app.py")), (LIB.into(), APP.into()));

    request["dry_run"] = json!(false);
    let written = result(&mut client, "rename", &request);
    let values = &written["structuredContent"];
    assert_eq!((&values["written"], &values["old_name"]), (&json!(true), &json!("total")));
    assert_eq!(values["files"][1], json!({"path": "lib.py", "action": "edit", "moved_from": null}));
    assert_eq!(values["check"]["introduced"], json!([]));
    assert_eq!(sandbox.read("app.py"), APP.replace("total", "summed"));
    client.end();
}

#[test]
fn what_a_rename_introduced_is_no_error_of_the_tool() {
    let mut script = answers();
    let changes = &mut script["answers"]["textDocument/rename"]["changes"];
    changes["file://{{ROOT}}/lib.py"][0]["newText"] = json!("summed_BAD");
    let sandbox = project(&script);
    let mut client = Client::start(&sandbox);
    let request = json!({"path": "lib.py", "line": 1, "symbol": "total", "new_name": "summed",
        "dry_run": false});
    let written = result(&mut client, "rename", &request);
    let found = &written["structuredContent"]["check"]["introduced"][0];
    assert_eq!((&found["path"], &found["code"]), (&json!("lib.py"), &json!("badWord")));
    assert_eq!(written["isError"], false);
    client.end();
}

#[test]
fn only_rename_and_rewrite_write_and_say_so() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    let list = client.call("tools/list", &json!({}));
    for tool in list["result"]["tools"].as_array().expect("a list of tools") {
        let hints = &tool["annotations"];
        let name = tool["name"].as_str().unwrap_or_default();
        let writes = name == "rename" || name == "rewrite";
        let steers = name == "loop_start" || name == "loop_cancel";
        assert_eq!(
            (&hints["readOnlyHint"], &hints["destructiveHint"]),
            (&json!(!writes && !steers), &json!(writes))
        );
        assert_eq!(tool["inputSchema"]["type"], "object");
    }
    client.end();
}

#[test]
fn each_tool_is_switched_on_by_its_name() {
    let names = ["diagnostics", "references", "definition", "hover", "rename"];
    for name in names.into_iter().chain(["scan", "search_code", "rewrite"]) {
        let mut sandbox = Sandbox::new();
        sandbox.set("MOAI_RALPH_MCP_TOOLS", format!("[{name}]"));
        let mut client = Client::start(&sandbox);
        assert_eq!(client.tool_names(), [name]);
        let other = if name == "hover" { "rename" } else { "hover" };
        let refused = client.tool(other, &json!({}));
        assert_eq!(refused["error"]["code"], -32602, "{refused:#}");
        client.end();
    }
}

#[test]
fn a_call_without_an_answer_holds_up_no_other_and_can_be_cancelled() {
    let mut script = answers();
    script["never_answer"] = json!(["textDocument/hover"]);
    let sandbox = project(&script);
    let mut client = Client::start(&sandbox);
    let place = json!({"path": "lib.py", "line": 1, "symbol": "total", "timeout_secs": 600});
    let stuck: Vec<u64> = (0..4).map(|_| client.ask_tool("hover", &place)).collect();
    let quick: Vec<u64> = (0..4).map(|_| client.ask_tool("references", &place)).collect();
    let mut answered: Vec<u64> = (0..4).filter_map(|_| client.next()["id"].as_u64()).collect();
    answered.sort_unstable();
    assert_eq!(answered, quick);
    for id in &stuck[1..] {
        let params = json!({"requestId": id, "reason": "not needed any more"});
        client.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }
    let found = result(&mut client, "definition", &place);
    assert_eq!(found["structuredContent"]["status"], "answered", "{found:#}");
    // One call is still waiting; the server ends nevertheless.
    client.end();
}
