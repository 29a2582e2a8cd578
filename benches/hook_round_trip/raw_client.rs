//! The least a client of a language server must do, for comparison: one process, one open
//! document, a change and a pull at a time. It keeps no state and checks nothing.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use moai_base::path::{from_uri, to_uri};
use moai_lsp::framing::{FrameDecoder, encode_frame};
use moai_lsp::jsonrpc::{RpcId, RpcMessage};
use serde_json::{Value, json};

use crate::support::PATIENCE;

/// Time between two messages of a server that has to answer: rust-analyzer's first message on a busy machine
/// takes most of a minute.
const ANSWER_MAX: Duration = Duration::from_mins(2);
/// Bytes taken from the server at once.
const READ_BYTES: usize = 64 * 1024;

const PUBLISH: &str = "textDocument/publishDiagnostics";

/// LSP's `DiagnosticSeverity.Error`.
const ERROR: u64 = 1;

/// Parameters for starting a client.
pub(crate) struct Start<'a> {
    /// The server's process, with its arguments and environment.
    pub(crate) command: Command,
    pub(crate) root: &'a Path,
    /// Answers to `workspace/configuration`.
    pub(crate) settings: Value,
    /// `initializationOptions`.
    pub(crate) options: Value,
    /// True if it declares that it can pull diagnostics; some servers then publish none.
    pub(crate) is_pulling: bool,
    /// True if it wants to be notified when work begins and ends.
    pub(crate) wants_progress: bool,
    pub(crate) language_id: &'a str,
    pub(crate) file: &'a Path,
    pub(crate) text: &'a str,
}

/// A language server with one open document.
pub(crate) struct RawClient {
    child: Child,
    stdin: ChildStdin,
    messages: Receiver<RpcMessage>,
    settings: Value,
    uri: String,
    version: i64,
    last_id: i64,
    /// The last diagnostics published for the document: 0-based lines of the errors.
    published: Vec<u64>,
}

impl RawClient {
    /// Starts the server and opens the document.
    pub(crate) fn start(start: Start<'_>) -> Self {
        let mut command = start.command;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the language server starts");
        let stdin = child.stdin.take().expect("stdin is piped");
        let messages = receive(&mut child);
        let (uri, settings) = (to_uri(start.file), start.settings);
        let (version, last_id, published) = (1, 0, Vec::new());
        let mut client =
            Self { child, stdin, messages, settings, uri, version, last_id, published };
        let mut params = initialize_params(&to_uri(start.root), start.is_pulling);
        if start.wants_progress {
            params["capabilities"]["window"] = json!({"workDoneProgress": true});
            params["capabilities"]["experimental"] = json!({"serverStatusNotification": true});
        }
        params["initializationOptions"] = start.options;
        client.request("initialize", params);
        client.notify("initialized", json!({}));
        client.notify("workspace/didChangeConfiguration", json!({"settings": client.settings}));
        client.open(start.file, start.language_id, start.text);
        client
    }

    /// Opens one more document, which is never changed.
    pub(crate) fn open(&mut self, file: &Path, language_id: &str, text: &str) {
        let document =
            json!({"uri": to_uri(file), "languageId": language_id, "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Changes the document, and forgets the server's earlier messages.
    pub(crate) fn change(&mut self, text: &str) {
        while let Ok(message) = self.messages.try_recv() {
            self.hear(message);
        }
        self.version += 1;
        let document = json!({"uri": self.uri, "version": self.version});
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [{"text": text}]}),
        );
    }

    /// Notifies the server that the document was saved.
    pub(crate) fn save(&mut self) {
        self.notify("textDocument/didSave", json!({"textDocument": {"uri": self.uri}}));
    }

    /// Pulls diagnostics; 0-based lines of the errors.
    pub(crate) fn pull(&mut self) -> Vec<u64> {
        error_lines(&self.report())
    }

    /// Pulls diagnostics; LSP's diagnostics.
    pub(crate) fn report(&mut self) -> Value {
        let params = json!({"textDocument": {"uri": self.uri}});
        let mut report = self.request("textDocument/diagnostic", params);
        assert!(report["items"].is_array(), "the report is whole: {report}");
        report["items"].take()
    }

    /// Waits for the next publish about the document; 0-based lines of the errors. `None` if none arrives
    /// before the time limit.
    pub(crate) fn published(&mut self) -> Option<Vec<u64>> {
        self.published_within(PATIENCE)
    }

    /// The same, for so long.
    pub(crate) fn published_within(&mut self, limit: Duration) -> Option<Vec<u64>> {
        let end = Instant::now() + limit;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).ok()?;
            if let Some((method, params)) = self.hear(message)
                && method == PUBLISH
                && self.is_about_document(&params)
            {
                return Some(error_lines(&params["diagnostics"]));
            }
        }
    }

    /// Waits for a notification that is this; false when it does not come before patience ends.
    pub(crate) fn wait_for(&mut self, is_it: impl Fn(&str, &Value) -> bool) -> bool {
        while let Ok(message) = self.messages.recv_timeout(PATIENCE) {
            if self.hear(message).is_some_and(|(method, params)| is_it(&method, &params)) {
                return true;
            }
        }
        false
    }

    /// Waits until rust-analyzer reports that it has loaded everything.
    pub(crate) fn wait_until_loaded(&mut self) -> bool {
        self.wait_for(|method, params| {
            method == "experimental/serverStatus" && params["quiescent"] == true
        })
    }

    /// The last diagnostics published for the document; 0-based lines of the errors.
    pub(crate) fn last_published(&self) -> &[u64] {
        &self.published
    }

    /// Answers a request, remembers a publish, and yields a notification.
    fn hear(&mut self, message: RpcMessage) -> Option<(String, Value)> {
        match message {
            RpcMessage::Request { id, method, params } => self.reply(id, &method, &params),
            RpcMessage::Notification { method, params } => {
                if method == PUBLISH && params["uri"] == self.uri {
                    self.published = error_lines(&params["diagnostics"]);
                }
                return Some((method, params));
            }
            RpcMessage::Response { .. } => {}
        }
        None
    }

    /// True if a publish is about the present text of the document.
    fn is_about_document(&self, params: &Value) -> bool {
        let is_current = |version: i64| version == self.version;
        params["uri"] == self.uri && params["version"].as_i64().is_none_or(is_current)
    }

    /// The last published 0-based lines of errors of each file, once nothing is published any more.
    pub(crate) fn all_published(&mut self, quiet: Duration) -> BTreeMap<PathBuf, Vec<u64>> {
        let mut files = BTreeMap::new();
        while let Ok(message) = self.messages.recv_timeout(quiet) {
            if let Some((method, params)) = self.hear(message)
                && method == PUBLISH
                && let Some(file) = params["uri"].as_str().and_then(from_uri)
            {
                files.insert(file, error_lines(&params["diagnostics"]));
            }
        }
        files
    }

    /// Sends a request and waits for its answer; answers the server's own requests meanwhile.
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = RpcId::Number(self.last_id);
        self.send(&RpcMessage::Request { id: id.clone(), method: method.to_owned(), params });
        loop {
            match self.messages.recv_timeout(ANSWER_MAX).expect("the language server answers") {
                RpcMessage::Response { id: of, result } if of == id => {
                    return result.expect("the language server does not refuse");
                }
                other => drop(self.hear(other)),
            }
        }
    }

    fn reply(&mut self, id: RpcId, method: &str, params: &Value) {
        let result = Ok(self.answer(method, params));
        self.send(&RpcMessage::Response { id, result });
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
        self.send(&RpcMessage::Notification { method: method.to_owned(), params });
    }

    fn send(&mut self, message: &RpcMessage) {
        let frame = encode_frame(&message.to_bytes());
        self.stdin.write_all(&frame).expect("the language server reads");
    }
}

impl Drop for RawClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads messages in a separate thread until the server ends.
fn receive(child: &mut Child) -> Receiver<RpcMessage> {
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let (sender, messages) = channel();
    thread::spawn(move || {
        let mut decoder = FrameDecoder::default();
        let mut piece = vec![0; READ_BYTES];
        while let Ok(count @ 1..) = stdout.read(&mut piece) {
            decoder.push(&piece[..count]);
            while let Ok(Some(frame)) = decoder.next_frame() {
                let Some(message) = RpcMessage::parse(&frame) else { continue };
                if sender.send(message).is_err() {
                    return;
                }
            }
        }
    });
    messages
}

fn error_lines(items: &Value) -> Vec<u64> {
    let items = items.as_array().map_or(&[][..], Vec::as_slice);
    let errors = items.iter().filter(|item| item["severity"] == ERROR);
    errors.filter_map(|item| item["range"]["start"]["line"].as_u64()).collect()
}

/// The capabilities that decide what the server does on an edit.
fn initialize_params(root: &str, is_pulling: bool) -> Value {
    let mut params = json!({
        "processId": std::process::id(),
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": "project"}],
        "capabilities": {
            "workspace": {
                "configuration": true, "workspaceFolders": true,
                "didChangeWatchedFiles": {"dynamicRegistration": true},
            },
            "textDocument": {"synchronization": {"didSave": true}, "publishDiagnostics": {}},
        },
    });
    if is_pulling {
        params["capabilities"]["textDocument"]["diagnostic"] = json!({"dynamicRegistration": true});
    }
    params
}
