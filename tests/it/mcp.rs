//! The MCP server from a client's view: the tool `diagnostics`, invalid calls, options.

use moai_base::limits::MCP_LINE_BYTES_MAX;
use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::support::Sandbox;

const INJECTION: &str = "def run(text):\n    return eval(text)\n";

#[test]
fn diagnostics_are_told_in_words_and_in_values() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", INJECTION);
    let mut client = Client::start(&sandbox);
    let list = client.call("tools/list", &json!({}));
    let tool = &list["result"]["tools"][0];
    assert_eq!(tool["name"], "diagnostics");
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    assert!(tool["inputSchema"]["properties"]["paths"].is_object());
    assert!(tool["outputSchema"]["properties"]["findings"].is_object());

    let answer = client.tool("diagnostics", &json!({"paths": ["app.py"]}))["result"].clone();
    assert_ne!(answer["isError"], true, "{answer:#}");
    let values = &answer["structuredContent"];
    assert_eq!(values["verdict"], "dirty", "{answer:#}");
    let finding = &values["findings"][0];
    assert_eq!((&finding["path"], &finding["line"]), (&json!("app.py"), &json!(2)));
    // pyright is not installed here: reported as a gap, never as clean.
    assert_eq!(values["not_measured"][0]["what"], "pyright", "{values:#}");
    let text = answer["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("error app.py:2:") && text.contains("not measured: pyright"), "{text}");
    client.end();
}

#[test]
fn wrong_calls_are_answered_in_words_that_help() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    let unknown = client.call("completely/unheard", &json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown:#}");
    let unknown = client.tool("renam", &json!({}));
    let message = unknown["error"]["message"].as_str().expect("a message");
    assert!(message.contains("renam"), "{unknown:#}");
    let wrong = client.tool("diagnostics", &json!({"paths": "app.py"}))["result"].clone();
    assert_eq!(wrong["isError"], true, "{wrong:#}");
    let text = wrong["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("paths"), "{text}");
    let gone = client.tool("diagnostics", &json!({"paths": ["gone.py"]}))["result"].clone();
    assert_eq!(gone["structuredContent"]["verdict"], "unmeasured", "{gone:#}");
    // After all that it still serves.
    assert_eq!(client.tool_names()[0], "diagnostics");
    client.end();
}

#[test]
fn parameters_that_do_not_fit_are_invalid_parameters_of_their_request() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    for wrong in [json!({}), json!({"name": 7}), json!({"name": "scan", "arguments": [1]})] {
        let refused = client.call("tools/call", &wrong);
        assert_eq!(refused["error"]["code"], -32602, "{wrong}: {refused:#}");
    }
    for (method, wrong) in
        [("tools/call", json!(["scan"])), ("tools/list", json!("x")), ("ping", json!(7))]
    {
        let refused = client.call(method, &wrong);
        assert_eq!(refused["error"]["code"], -32602, "{method} {wrong}: {refused:#}");
    }
    let unknown = client.call("tools/explode", &json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown:#}");
    client.end();
}

#[test]
fn lines_that_are_no_messages_are_answered_and_survived() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    let deep = "[".repeat(200_000);
    let unparsable: [&[u8]; 5] = [
        b"not json",
        b"{\"jsonrpc\": \"2.0\", \"id\"",
        "\u{1f980}\0".as_bytes(),
        b"\xff\xfe",
        deep.as_bytes(),
    ];
    let too_long = vec![b'x'; usize::try_from(MCP_LINE_BYTES_MAX).expect("64 bits") + 1];
    let unknown: [&[u8]; 4] = [b"[]", b"null", b"{}", &too_long];
    let lines = unparsable.map(|it| (it, -32700)).into_iter();
    for (line, code) in lines.chain(unknown.map(|it| (it, -32600))) {
        client.write(line);
        let answer = client.next();
        let shown = String::from_utf8_lossy(&line[..line.len().min(20)]).into_owned();
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer:#}");
        assert_eq!(answer.get("id"), Some(&Value::Null), "{shown}: {answer:#}");
    }
    client.send(&json!({"jsonrpc": "2.0", "id": {"a": 1}, "method": 5}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/unheard", "params": [1]}));
    assert_eq!(client.tool_names()[0], "diagnostics");
    client.end();
}

#[test]
fn nothing_to_measure_is_said_in_the_values_too() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    let answer = client.tool("diagnostics", &json!({}))["result"].clone();
    let values = &answer["structuredContent"];
    assert_eq!((&values["verdict"], &values["files_total"]), (&json!("unmeasured"), &json!(0)));
    let note = values["note"].as_str().expect("a note");
    assert!(note.contains("no source file differs from HEAD"), "{answer:#}");
    client.end();
}

#[test]
fn paths_are_meant_from_the_root_wherever_the_server_was_started() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", INJECTION);
    sandbox.write("deep/er/other.py", "one = 1\n");
    let mut client = Client::start_in(&sandbox, "deep/er");
    let answer = client.tool("diagnostics", &json!({"paths": ["app.py"]}))["result"].clone();
    let values = &answer["structuredContent"];
    assert_eq!(values["findings"][0]["path"], "app.py", "{answer:#}");
    client.end();
}

#[test]
fn a_tool_that_is_switched_off_is_neither_listed_nor_called() {
    let mut sandbox = Sandbox::new();
    sandbox.set("MOAI_RALPH_MCP_TOOLS", "[]");
    let mut client = Client::start(&sandbox);
    assert_eq!(client.tool_names(), [""; 0]);
    let refused = client.tool("diagnostics", &json!({}));
    let message = refused["error"]["message"].as_str().expect("a message");
    assert!(message.contains("switched off"), "{refused:#}");
    client.end();
}

/// Names of the requests that the daemon answered, in order.
fn answered_requests(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.base().join("state/log/daemon.log");
    let log = std::fs::read_to_string(log).expect("the daemon's log");
    let answered = log.lines().filter(|line| line.contains("answered request="));
    let named = answered.map(|line| line.split('"').nth(1).expect("a quoted name").to_owned());
    named.collect()
}

#[test]
fn a_tool_switched_off_between_two_calls_is_refused_without_a_further_request() {
    let sandbox = Sandbox::new();
    let options = ".moai/config/sections/ralph.yaml";
    let mut client = Client::start(&sandbox);
    let call = |client: &mut Client| {
        client.call("tools/call", &json!({"name": "loop_status", "arguments": {}}))
    };
    let answer = call(&mut client);
    assert_eq!(answer["result"]["structuredContent"]["loop"], json!(null), "{answer:#}");
    assert_eq!(answered_requests(&sandbox), ["loop status"], "one request for one call");

    sandbox.write(options, "ralph:\n  mcp:\n    tools: [diagnostics]\n");
    let refused = call(&mut client);
    assert_eq!(refused["error"]["code"], -32602, "{refused:#}");
    assert_eq!(refused["error"]["message"], "there is no tool loop_status, or it is switched off");

    sandbox.write(options, "ralph:\n  mcp:\n    tools: [loop_status\n");
    let broken = call(&mut client);
    assert_eq!(broken["error"]["code"], -32603, "{broken:#}");
    let message = broken["error"]["message"].as_str().expect("a message");
    assert!(message.contains("ralph.yaml"), "{message}");

    sandbox.write(options, "ralph:\n  mcp:\n    tools: all\n");
    let answer = call(&mut client);
    assert_ne!(answer["result"]["isError"], true, "{answer:#}");
    assert_eq!(answered_requests(&sandbox), ["loop status"; 4], "one request for one call");
    client.end();
}

#[test]
fn a_broken_option_is_named_and_nothing_is_offered() {
    let sandbox = Sandbox::new();
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph:\n  mcp:\n    tools: [diagnosis]\n");
    let mut client = Client::start(&sandbox);
    let list = client.call("tools/list", &json!({}));
    let message = list["error"]["message"].as_str().expect("a message");
    assert!(message.contains("ralph.yaml:3") && message.contains("diagnosis"), "{message}");
    client.end();
}
