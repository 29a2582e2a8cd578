//! A client of the MCP server: lines of JSON-RPC on its stdin and stdout.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::{PATIENCE, PROGRAM, Sandbox, eventually};

pub(crate) struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
    /// Results' schemas by tool, once they were listed.
    schemas: BTreeMap<String, Validator>,
}

impl Client {
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        Self::start_in(sandbox, "")
    }

    /// Starts the server in a folder of the project.
    pub(crate) fn start_in(sandbox: &Sandbox, folder: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        sandbox.prepare(&mut command);
        command.current_dir(sandbox.path(folder));
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut client = Self { child, stdin, stdout, next_id: 0, schemas: BTreeMap::new() };
        let hello = client.call(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "moai-ralph", "{hello:#}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(crate) fn write(&mut self, line: &[u8]) {
        let written = self.stdin.write_all(line).and_then(|()| self.stdin.write_all(b"\n"));
        written.expect("the server reads");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes());
    }

    /// Sends a request and does not wait; its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends the call of a tool and does not wait; its id.
    pub(crate) fn ask_tool(&mut self, name: &str, arguments: &Value) -> u64 {
        self.ask("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// The next message of the server.
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        let count = self.stdout.read_line(&mut line).expect("readable");
        assert_ne!(count, 0, "the server ended instead of answering");
        serde_json::from_str(&line).expect("one JSON message a line")
    }

    /// The response of one request; messages before it are ignored.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The response of a tool, whose values match the schema that is listed for it.
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let answer = self.call("tools/call", &json!({"name": name, "arguments": arguments}));
        let values = &answer["result"]["structuredContent"];
        if !values.is_null() {
            let errors: Vec<String> =
                self.schema(name).iter_errors(values).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{name}: {}: {values:#}", errors.join("; "));
        }
        answer
    }

    fn schema(&mut self, name: &str) -> &Validator {
        if self.schemas.is_empty() {
            let list = self.call("tools/list", &json!({}));
            for tool in list["result"]["tools"].as_array().expect("a list of tools") {
                let name = tool["name"].as_str().expect("a name").to_owned();
                let schema = jsonschema::validator_for(&tool["outputSchema"]).expect("a schema");
                self.schemas.insert(name, schema);
            }
        }
        &self.schemas[name]
    }

    pub(crate) fn tool_names(&mut self) -> Vec<String> {
        let list = self.call("tools/list", &json!({}));
        let tools = list["result"]["tools"].as_array().expect("a list of tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Kills the server at once: one that ends by itself may let a stopped daemon continue first.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the child is ours");
        self.child.wait().expect("the child is ours");
    }

    /// Vanishes: closes both ends. The server ends by itself, whatever it is doing.
    pub(crate) fn end(self) {
        let Self { mut child, stdin, stdout, .. } = self;
        drop((stdin, stdout));
        let status = eventually(PATIENCE, || child.try_wait().expect("the child is ours"));
        let status = status.unwrap_or_else(|| {
            child.kill().expect("the child is ours");
            panic!("the server does not end");
        });
        assert!(status.success(), "{status}");
    }
}
