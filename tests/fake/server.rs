//! The scripted behavior: one message in, some messages out, now or later.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::document::{Document, Encoding, changed, diagnostics, other_encoding, text_hash};
use crate::framing;
use crate::script::{Mode, Needle, Script};

/// Exit code that ends the loop.
type Step = Option<u8>;

const REQUEST_CANCELLED: i64 = -32_800;
const SERVER_CANCELLED: i64 = -32_802;
const METHOD_NOT_FOUND: i64 = -32_601;
const INTERNAL_ERROR: i64 = -32_603;

/// A message that waits for its moment.
struct Due {
    at: Instant,
    order: u64,
    message: Value,
}

/// All state of the fake.
pub(crate) struct Server {
    script: Script,
    encoding: Encoding,
    documents: BTreeMap<String, Document>,
    /// Documents with findings in their last publish: `push_only_nonempty` clears only these.
    published: HashMap<String, bool>,
    received: HashMap<String, u64>,
    due: Vec<Due>,
    order: u64,
    started_at: Instant,
    own_id: u64,
    analyses: u64,
    empty_left: u64,
    cancel_left: u64,
    refresh_left: u64,
    shut_down: bool,
    log: Option<File>,
    child: Option<Child>,
    /// Held, so that the process has the size in the script.
    _ballast: Vec<u8>,
}

impl Server {
    pub(crate) fn new(script: Script) -> Self {
        let log = script
            .get("log")
            .as_str()
            .and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
        let child = script.flag("spawn_child").then(|| {
            Command::new("sleep")
                .arg("600")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .expect("`sleep` is on PATH")
        });
        if script.flag("spawn_detached") {
            // Leaves the process group and its parent, as build daemons do.
            let mut shell = Command::new("setsid");
            shell.args(["-f", "sleep", "600"]).stdin(Stdio::null()).stdout(Stdio::null());
            let _ = shell.stderr(Stdio::null()).status();
        }
        // Written, because untouched pages use no memory.
        let ballast = vec![1; usize::try_from(script.number("allocate_mib")).unwrap_or(0) << 20];
        Self {
            _ballast: ballast,
            encoding: Encoding::parse(script.get("position_encoding").as_str().unwrap_or("utf-16")),
            documents: BTreeMap::new(),
            published: HashMap::new(),
            received: HashMap::new(),
            due: Vec::new(),
            order: 0,
            started_at: Instant::now(),
            own_id: 0,
            analyses: 0,
            empty_left: script.number("empty_first"),
            cancel_left: script.number("cancel_first"),
            refresh_left: script.number("refresh_first"),
            shut_down: false,
            log,
            child,
            script,
        }
    }

    /// How long until the next waiting message is due.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        let next = self.due.iter().map(|due| due.at).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Sends everything that is due, in the order in which it was planned.
    pub(crate) fn release_due(&mut self) {
        let now = Instant::now();
        let (mut ready, waiting): (Vec<Due>, Vec<Due>) =
            std::mem::take(&mut self.due).into_iter().partition(|due| due.at <= now);
        self.due = waiting;
        ready.sort_by_key(|due| (due.at, due.order));
        for due in ready {
            self.send(&due.message);
        }
    }

    /// Handles one message of the client.
    pub(crate) fn receive(&mut self, message: &Value) -> Step {
        self.record(message);
        let method = message["method"].as_str()?.to_owned();
        let count = self.received.entry(method.clone()).or_insert(0);
        *count += 1;
        let crash = self.script.get("crash_at");
        if crash["method"] == *method && crash["n"].as_u64() == Some(*count) {
            framing::complain(&format!("crashing as scripted at {method} number {count}"));
            return Some(1);
        }
        if message.get("id").is_some() {
            self.request(&method, message);
            return None;
        }
        self.notification(&method, &message["params"])
    }

    fn request(&mut self, method: &str, message: &Value) {
        let id = &message["id"];
        if self.script.flag("id_collision") && method.starts_with("textDocument/") {
            let probe = json!({"token": format!("collision-{id}")});
            self.send(&framed_request(id, "window/workDoneProgress/create", &probe));
        }
        if self.script.never_answers(method) {
            return;
        }
        match method {
            "initialize" => {
                let answer = self.initialize_answer(id);
                self.send_after(self.script.millis("initialize_delay_ms"), answer);
            }
            "shutdown" => {
                self.shut_down = true;
                self.send(&response(id, &Value::Null));
            }
            "textDocument/diagnostic" => self.pull(id, &message["params"]),
            // The result of every request of this method; `{"error": …}` refuses.
            _ if !self.script.get("answers")[method].is_null() => {
                let answer = self.script.get("answers")[method].clone();
                let answer = match answer["error"].as_str() {
                    Some(error) => failure(id, INTERNAL_ERROR, error, &Value::Null),
                    // A scripted null looks like a method without an answer.
                    None if answer == "null" => response(id, &Value::Null),
                    None => response(id, &answer),
                };
                self.send_after(self.script.millis("delay_ms"), answer);
            }
            _ => self.send(&failure(id, METHOD_NOT_FOUND, "not in the script", &Value::Null)),
        }
    }

    fn notification(&mut self, method: &str, params: &Value) -> Step {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default().to_owned();
        match method {
            "initialized" => self.after_initialized(),
            "textDocument/didOpen" => {
                let text = params["textDocument"]["text"].as_str().unwrap_or_default();
                self.update(method, &uri, &params["textDocument"]["version"], text);
            }
            "textDocument/didChange" => {
                let Some(text) = self.text_after(&uri, &params["contentChanges"]) else {
                    framing::complain("a change of another kind than was announced");
                    return Some(3);
                };
                self.update(method, &uri, &params["textDocument"]["version"], &text);
            }
            "textDocument/didClose" => {
                self.documents.remove(&uri);
                if self.script.mode == Mode::Push {
                    self.publish(Duration::ZERO, &uri, None, &[]);
                }
            }
            "$/cancelRequest" => self.cancel(&params["id"]),
            "exit" => return self.exit(),
            _ => {}
        }
        None
    }

    /// The document's text after the changes; some servers die of a change of the wrong kind, as
    /// this one does.
    fn text_after(&mut self, uri: &str, changes: &Value) -> Option<String> {
        let changes = changes.as_array()?;
        if !self.script.flag("incremental") {
            return changes.last().and_then(full_text).map(str::to_owned);
        }
        let mut text = self.documents.get(uri)?.text.clone();
        for change in changes {
            text = changed(&text, change, self.encoding)?;
        }
        if let Some(log) = &mut self.log {
            let _ = writeln!(log, "{}", json!({"applied": uri, "hash": text_hash(&text)}));
        }
        Some(text)
    }

    fn exit(&mut self) -> Step {
        if self.script.flag("ignore_shutdown") {
            return None;
        }
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        Some(u8::from(!self.shut_down))
    }

    fn initialize_answer(&self, id: &Value) -> Value {
        if self.script.flag("fail_initialize") {
            return failure(id, INTERNAL_ERROR, "initialize fails as scripted", &Value::Null);
        }
        let kind = if self.script.flag("incremental") { 2 } else { 1 };
        let save = json!({"includeText": false});
        let mut capabilities = json!({
            "positionEncoding": self.encoding.name(),
            "textDocumentSync": {"openClose": true, "change": kind, "save": save},
        });
        if self.script.mode == Mode::Pull {
            capabilities["diagnosticProvider"] = diagnostic_options();
        }
        // Announced in addition: the capabilities that `answers` need.
        for (name, value) in self.script.get("capabilities").as_object().into_iter().flatten() {
            capabilities[name.as_str()] = value.clone();
        }
        let info = json!({"name": "fake-language-server", "version": "1.0"});
        response(id, &json!({"capabilities": capabilities, "serverInfo": info}))
    }

    fn after_initialized(&mut self) {
        let items = self.script.number("ask_configuration");
        if items > 0 {
            let items: Vec<Value> =
                (0..items).map(|number| json!({"section": format!("fake.{number}")})).collect();
            self.ask(Duration::ZERO, "workspace/configuration", &json!({"items": items}));
        }
        if self.script.mode == Mode::PullDynamic {
            let registration = json!({
                "id": "fake-diagnostics",
                "method": "textDocument/diagnostic",
                "registerOptions": diagnostic_options(),
            });
            let wait = self.script.millis("register_after_ms");
            let params = json!({"registrations": [registration]});
            self.ask(wait, "client/registerCapability", &params);
        }
        if let Some(text) = self.script.get("log_message").as_str() {
            let params = json!({"type": 3, "message": text});
            self.send(&notification("window/logMessage", &params));
        }
        // True means everything, a list means these watchers.
        let watchers = match self.script.get("watch_files") {
            Value::Bool(true) => json!([{"globPattern": "**"}]),
            other => other.clone(),
        };
        if watchers.is_array() {
            let registration = json!({
                "id": "fake-watcher",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": {"watchers": watchers},
            });
            let params = json!({"registrations": [registration]});
            self.ask(Duration::ZERO, "client/registerCapability", &params);
        }
        // One progress, or a list of them.
        let progress = self.script.get("progress").clone();
        let shown = progress.as_array().cloned().unwrap_or_else(|| vec![progress]);
        for (index, progress) in shown.iter().enumerate() {
            let Some(title) = progress["title"].as_str() else { continue };
            let token = format!("fake-progress-{index}");
            let begin = Duration::from_millis(progress["begin_after_ms"].as_u64().unwrap_or(0));
            let end = Duration::from_millis(progress["end_after_ms"].as_u64().unwrap_or(0));
            self.ask(begin, "window/workDoneProgress/create", &json!({"token": token}));
            self.progress(begin, &token, &json!({"kind": "begin", "title": title}));
            self.progress(end, &token, &json!({"kind": "end"}));
        }
    }

    fn update(&mut self, method: &str, uri: &str, version: &Value, text: &str) {
        let version = version.as_i64().unwrap_or(0);
        let document = Document { version, text: text.to_owned() };
        let previous = self.documents.insert(uri.to_owned(), document.clone());
        if self.script.mode != Mode::Push || self.script.never_answers(method) {
            return;
        }
        if let Some(previous) = previous.filter(|_| self.script.flag("stale_version")) {
            let stale = self.findings(&previous.text);
            self.publish(Duration::ZERO, uri, Some(previous.version), &stale);
        }
        while self.empty_left > 0 {
            self.empty_left -= 1;
            self.publish(Duration::ZERO, uri, None, &[]);
        }
        let wait = self.analysis_delay();
        let findings = self.findings(&document.text);
        let had_findings =
            self.published.insert(uri.to_owned(), !findings.is_empty()).unwrap_or(false);
        let silent = self.script.flag("push_only_nonempty") && findings.is_empty() && !had_findings;
        if !silent {
            let versioned = self.script.get("publish_version").as_bool().unwrap_or(true);
            self.publish(wait, uri, versioned.then_some(version), &findings);
        }
    }

    fn pull(&mut self, id: &Value, params: &Value) {
        if self.refresh_left > 0 {
            // This request is never answered: its result would be outdated.
            self.refresh_left -= 1;
            self.ask(Duration::ZERO, "workspace/diagnostic/refresh", &Value::Null);
            return;
        }
        let wait = self.analysis_delay();
        if self.cancel_left > 0 {
            self.cancel_left -= 1;
            let data = json!({"retriggerRequest": true});
            self.send_after(wait, failure(id, SERVER_CANCELLED, "server cancelled", &data));
            return;
        }
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        // A document that is not open is answered by an empty list, as real servers do.
        let open = self.documents.get(uri).cloned().filter(|_| self.empty_left == 0);
        self.empty_left = self.empty_left.saturating_sub(1);
        let items = open.map(|document| self.findings(&document.text)).unwrap_or_default();
        let result_id = text_hash(&Value::from(items.clone()).to_string());
        let unchanged =
            self.script.flag("result_unchanged") && params["previousResultId"] == *result_id;
        let report = if unchanged {
            json!({"kind": "unchanged", "resultId": result_id})
        } else {
            json!({"kind": "full", "resultId": result_id, "items": items})
        };
        self.send_after(wait, response(id, &report));
    }

    fn cancel(&mut self, id: &Value) {
        let before = self.due.len();
        self.due.retain(|due| due.message.get("method").is_some() || due.message["id"] != *id);
        if self.due.len() < before {
            self.send(&failure(id, REQUEST_CANCELLED, "cancelled", &Value::Null));
        }
    }

    /// Nothing is found in the first `blind_ms`.
    fn findings(&self, text: &str) -> Vec<Value> {
        if self.started_at.elapsed() < self.script.millis("blind_ms") {
            return Vec::new();
        }
        let is_wrong = |needle: &&Needle| {
            needle.unless.as_ref().is_none_or(|(file, has)| !self.text_of(file).contains(has))
        };
        let needles: Vec<Needle> = self.script.needles.iter().filter(is_wrong).cloned().collect();
        diagnostics(text, &needles, self.encoding)
    }

    /// A file as the client has it open, else from disk.
    fn text_of(&self, file: &str) -> String {
        let is_it = |uri: &&String| uri.ends_with(&format!("/{file}"));
        let open = self.documents.keys().find(is_it).and_then(|uri| self.documents.get(uri));
        let on_disk = || std::fs::read_to_string(file).unwrap_or_default();
        open.map_or_else(on_disk, |document| document.text.clone())
    }

    /// The first analysis is the cold one.
    fn analysis_delay(&mut self) -> Duration {
        self.analyses += 1;
        let cold = self.analyses == 1 && !self.script.get("first_delay_ms").is_null();
        self.script.millis(if cold { "first_delay_ms" } else { "delay_ms" })
    }

    fn publish(&mut self, wait: Duration, uri: &str, version: Option<i64>, findings: &[Value]) {
        let wrong = self.script.flag("wrong_uri");
        let uri = if wrong { other_encoding(uri) } else { uri.to_owned() };
        let mut params = json!({"uri": uri, "diagnostics": findings});
        if let Some(version) = version {
            params["version"] = version.into();
        }
        self.send_after(wait, notification("textDocument/publishDiagnostics", &params));
    }

    fn progress(&mut self, wait: Duration, token: &str, value: &Value) {
        let params = json!({"token": token, "value": value});
        self.send_after(wait, notification("$/progress", &params));
    }

    fn ask(&mut self, wait: Duration, method: &str, params: &Value) {
        self.own_id += 1;
        let id = format!("fake-{}", self.own_id);
        self.send_after(wait, framed_request(&id.into(), method, params));
    }

    fn send(&self, message: &Value) {
        framing::write_message(message, self.script.flag("junk_on_stdout"));
    }

    fn send_after(&mut self, wait: Duration, message: Value) {
        if wait.is_zero() {
            self.send(&message);
            return;
        }
        self.order += 1;
        self.due.push(Due { at: Instant::now() + wait, order: self.order, message });
    }

    /// Appends a received message; texts as hash and length, so that the log stays readable.
    fn record(&mut self, message: &Value) {
        let Some(log) = &mut self.log else { return };
        let params = &message["params"];
        let document = &params["textDocument"];
        let mut entry = json!({"id": message["id"], "method": message["method"]});
        let text = document["text"]
            .as_str()
            .or_else(|| params["contentChanges"].as_array()?.last().and_then(full_text));
        if document.is_object() {
            entry["uri"] = document["uri"].clone();
            entry["version"] = document["version"].clone();
        }
        match text {
            Some(text) => {
                entry["hash"] = text_hash(text).into();
                entry["bytes"] = text.len().into();
            }
            None if message.get("method").is_some() => entry["params"] = params.clone(),
            None => {
                entry["answer"] = json!({"result": message["result"], "error": message["error"]});
            }
        }
        let _ = writeln!(log, "{entry}");
    }
}

fn full_text(change: &Value) -> Option<&str> {
    change["text"].as_str().filter(|_| change["range"].is_null())
}

fn diagnostic_options() -> Value {
    json!({
        "identifier": "fake",
        "interFileDependencies": true,
        "workspaceDiagnostics": false,
        "documentSelector": null,
    })
}

fn response(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn failure(id: &Value, code: i64, message: &str, data: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": data}})
}

fn framed_request(id: &Value, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}
