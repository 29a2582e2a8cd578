//! The least a client of a language server must do, for comparison: one process, one open
//! document, a change and a pull at a time. It keeps no state and checks nothing.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use moai_ralph::base::path::to_uri;
use moai_ralph::wire::framing::{Decoder, encode};
use moai_ralph::wire::jsonrpc::{Id, Message};
use serde_json::{Value, json};

use crate::support::{PATIENCE, Sandbox};

/// Bytes taken from the server at once.
const READ_BYTES: usize = 64 * 1024;

/// LSP's `DiagnosticSeverity.Error`.
const ERROR: u64 = 1;

/// A language server with one open document.
pub(crate) struct RawClient {
    child: Child,
    stdin: ChildStdin,
    messages: Receiver<Message>,
    settings: Value,
    uri: String,
    version: i64,
    last_id: i64,
}

impl RawClient {
    /// Starts the server in the sandbox's project and opens the document.
    pub(crate) fn start(
        sandbox: &Sandbox,
        program: &Path,
        settings: Value,
        file: &Path,
        text: &str,
    ) -> Self {
        let mut command = Command::new(program);
        sandbox.prepare(&mut command);
        command.arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the language server starts");
        let stdin = child.stdin.take().expect("stdin is piped");
        let mut stdout = child.stdout.take().expect("stdout is piped");
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut decoder = Decoder::default();
            let mut piece = vec![0; READ_BYTES];
            while let Ok(count @ 1..) = stdout.read(&mut piece) {
                decoder.push(&piece[..count]);
                while let Ok(Some(frame)) = decoder.next_frame() {
                    let Some(message) = Message::parse(&frame) else { continue };
                    if sender.send(message).is_err() {
                        return;
                    }
                }
            }
        });
        let uri = to_uri(file);
        let mut client = Self { child, stdin, messages, settings, uri, version: 1, last_id: 0 };
        let root = to_uri(&sandbox.root());
        client.request("initialize", initialize_params(&root));
        client.notify("initialized", json!({}));
        client.notify("workspace/didChangeConfiguration", json!({"settings": client.settings}));
        client.notify(
            "textDocument/didOpen",
            json!({"textDocument": {
                "uri": client.uri, "languageId": "python", "version": 1, "text": text,
            }}),
        );
        client
    }

    /// Changes the document and pulls; the answer is the number of errors.
    pub(crate) fn edit(&mut self, text: &str) -> usize {
        self.version += 1;
        let document = json!({"uri": self.uri, "version": self.version});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [{"text": text}]}),
        );
        let params = json!({"textDocument": {"uri": self.uri}});
        let report = self.request("textDocument/diagnostic", params);
        let items = report["items"].as_array().expect("the report is whole");
        items.iter().filter(|item| item["severity"] == ERROR).count()
    }

    /// Sends a request and waits for its answer; answers what the server asks meanwhile.
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = Id::Number(self.last_id);
        self.send(&Message::Request { id: id.clone(), method: method.to_owned(), params });
        loop {
            match self.messages.recv_timeout(PATIENCE).expect("the language server answers") {
                Message::Response { id: of, result } if of == id => {
                    return result.expect("the language server does not refuse");
                }
                Message::Request { id, method, params } => {
                    let result = Ok(self.answer(&method, &params));
                    self.send(&Message::Response { id, result });
                }
                Message::Response { .. } | Message::Notification { .. } => {}
            }
        }
    }

    fn answer(&self, method: &str, params: &Value) -> Value {
        if method != "workspace/configuration" {
            return Value::Null;
        }
        let sections = params["items"].as_array().map_or(&[][..], Vec::as_slice);
        let of = |item: &Value| self.settings[item["section"].as_str().unwrap_or_default()].clone();
        sections.iter().map(of).collect()
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&Message::Notification { method: method.to_owned(), params });
    }

    fn send(&mut self, message: &Message) {
        let frame = encode(&message.to_bytes());
        self.stdin.write_all(&frame).expect("the language server reads");
    }
}

impl Drop for RawClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The capabilities that decide what the server does on an edit.
fn initialize_params(root: &str) -> Value {
    json!({
        "processId": std::process::id(),
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": "project"}],
        "capabilities": {
            "workspace": {
                "configuration": true, "workspaceFolders": true,
                "didChangeWatchedFiles": {"dynamicRegistration": true},
            },
            "textDocument": {"diagnostic": {"dynamicRegistration": true}},
        },
    })
}
