//! The MCP server as a client meets it: lines of JSON-RPC on stdin and stdout.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{PROGRAM, Sandbox};

struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
}

impl Client {
    fn start(sandbox: &Sandbox) -> Self {
        let mut command = Command::new(PROGRAM);
        sandbox.prepare(&mut command);
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut client = Self { child, stdin, stdout, next_id: 0 };
        let hello = client.call(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "moai-ralph", "{hello:#}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("the server reads");
    }

    /// The response of one request; notifications in between are not looked at.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            let count = self.stdout.read_line(&mut line).expect("readable");
            assert_ne!(count, 0, "the server ended instead of answering {method}");
            let message: Value = serde_json::from_str(&line).expect("one JSON message a line");
            if message["id"] == id {
                return message;
            }
        }
    }

    fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        self.call("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    fn tool_names(&mut self) -> Vec<String> {
        let list = self.call("tools/list", &json!({}));
        let tools = list["result"]["tools"].as_array().expect("a list of tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Closes stdin; the server ends by itself.
    fn end(mut self) {
        drop(self.stdin);
        let status = self.child.wait().expect("the child is ours");
        assert!(status.success(), "{status}");
    }
}

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
    // pyright is not installed here: said, and never taken for clean.
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
