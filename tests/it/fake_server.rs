//! The scripted language server itself: each behavior once, over raw framing.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{PATIENCE, fake_language_server, json_lines, write_file};

const URI: &str = "file:///project/app.py";

/// A bare client: it frames messages and keeps the received ones.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    unread: Vec<Value>,
    folder: TempDir,
}

impl Client {
    /// Starts the server with a script; findings are always "BAD".
    fn start(mut script: Value) -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        script["log"] = json!(folder.path().join("log.jsonl"));
        if script["errors"].is_null() {
            script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "x"}]);
        }
        let file = folder.path().join("script.json");
        write_file(&file, &script.to_string());
        let mut child = Command::new(fake_language_server())
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the fake starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let (sender, messages) = mpsc::channel();
        thread::spawn(move || {
            let mut input = BufReader::new(stdout);
            while let Some(message) = read_message(&mut input) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, messages, unread: Vec::new(), folder }
    }

    /// Starts and initializes the server with a script.
    fn ready(script: Value) -> Self {
        let mut client = Self::start(script);
        client.request(1, "initialize", &json!({"capabilities": {}}));
        client.answer(1);
        client.notify("initialized", &json!({}));
        client
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log.jsonl")
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let stdin = self.stdin.as_mut().expect("stdin is open");
        write!(stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    fn request(&mut self, id: u64, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn open(&mut self, text: &str) {
        let document = json!({"uri": URI, "languageId": "python", "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({"textDocument": document}));
    }

    fn change(&mut self, version: i64, text: &str) {
        let document = json!({"uri": URI, "version": version});
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        self.notify("textDocument/didChange", &params);
    }

    fn pull(&mut self, id: u64, previous: Option<&str>) -> Value {
        self.ask_pull(id, previous);
        self.answer(id)
    }

    fn ask_pull(&mut self, id: u64, previous: Option<&str>) {
        let params = json!({"textDocument": {"uri": URI}, "previousResultId": previous});
        self.request(id, "textDocument/diagnostic", &params);
    }

    /// The first message that fits, whatever arrives before it.
    fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.unread.iter().position(&fits) {
            return self.unread.remove(at);
        }
        let start = Instant::now();
        while let Some(rest) = PATIENCE.checked_sub(start.elapsed()) {
            let Ok(message) = self.messages.recv_timeout(rest) else { break };
            if fits(&message) {
                return message;
            }
            self.unread.push(message);
        }
        panic!("never arrived: {what}; unread: {:#?}", self.unread);
    }

    fn answer(&mut self, id: u64) -> Value {
        self.wait_for(&format!("answer {id}"), |message| {
            message["id"] == id && message.get("method").is_none()
        })
    }

    fn server_request(&mut self, method: &str) -> Value {
        self.wait_for(method, |message| message["method"] == *method)
    }

    fn published(&mut self) -> Value {
        self.server_request("textDocument/publishDiagnostics")["params"].clone()
    }

    /// Closes stdin and waits for the end.
    fn end(&mut self) -> (Option<i32>, String) {
        self.stdin = None;
        let status = self.child.wait().expect("the child is ours to wait for");
        let mut text = String::new();
        let mut stderr = self.child.stderr.take().expect("stderr is piped");
        stderr.read_to_string(&mut text).expect("stderr is text");
        (status.code(), text)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads one message; lines that are not headers are noise and skipped.
fn read_message(input: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn items(report: &Value) -> usize {
    report["result"]["items"].as_array().map_or(usize::MAX, Vec::len)
}

fn count(published: &Value) -> usize {
    published["diagnostics"].as_array().map_or(usize::MAX, Vec::len)
}

#[test]
fn every_occurrence_of_a_needle_is_one_diagnostic_of_the_current_text() {
    let mut client = Client::ready(json!({}));
    client.open("a = 1\nb = '한글😀' BAD BAD\n");
    let report = client.pull(2, None);
    assert_eq!(items(&report), 2);
    let first = &report["result"]["items"][0];
    assert_eq!(first["range"]["start"], json!({"line": 1, "character": 11}));
    assert_eq!((&first["severity"], &first["code"]), (&json!(1), &json!("x")));
    client.change(2, "a = 1\n");
    assert_eq!(items(&client.pull(3, None)), 0);
}

#[test]
fn positions_follow_the_announced_encoding() {
    for (encoding, character) in [("utf-8", 17), ("utf-16", 11), ("utf-32", 10)] {
        let mut client = Client::ready(json!({"position_encoding": encoding}));
        client.open("b = '한글😀' BAD\n");
        let report = client.pull(2, None);
        assert_eq!(report["result"]["items"][0]["range"]["start"]["character"], character);
    }
}

#[test]
fn a_closed_document_is_answered_by_an_empty_list() {
    let mut client = Client::ready(json!({}));
    assert_eq!(items(&client.pull(2, None)), 0);
}

#[test]
fn empty_cancelled_and_unchanged_answers_come_as_scripted() {
    let mut client =
        Client::ready(json!({"empty_first": 2, "cancel_first": 1, "result_unchanged": true}));
    client.open("BAD\n");
    let cancelled = client.pull(2, None);
    assert_eq!(cancelled["error"]["code"], -32_802);
    assert_eq!(cancelled["error"]["data"]["retriggerRequest"], true);
    assert_eq!(items(&client.pull(3, None)), 0);
    assert_eq!(items(&client.pull(4, None)), 0);
    let full = client.pull(5, None);
    assert_eq!(items(&full), 1);
    let result_id = full["result"]["resultId"].as_str().map(str::to_owned);
    let again = client.pull(6, result_id.as_deref());
    assert_eq!(again["result"]["kind"], "unchanged");
}

#[test]
fn a_stale_publish_precedes_the_true_one() {
    let mut client = Client::ready(json!({"mode": "push", "stale_version": true, "delay_ms": 50}));
    client.open("BAD\n");
    assert_eq!(client.published()["version"], 1);
    client.change(2, "good\n");
    let stale = client.published();
    assert_eq!((&stale["version"], count(&stale)), (&json!(1), 1));
    let fresh = client.published();
    assert_eq!((&fresh["version"], count(&fresh)), (&json!(2), 0));
}

#[test]
fn empty_publishes_without_a_version_precede_the_real_one() {
    let mut client = Client::ready(json!({"mode": "push", "empty_first": 2}));
    client.open("BAD\n");
    for _ in 0..2 {
        let empty = client.published();
        assert_eq!((&empty["version"], count(&empty)), (&Value::Null, 0));
    }
    assert_eq!(count(&client.published()), 1);
}

#[test]
fn a_server_that_pushes_only_findings_is_silent_about_a_clean_text() {
    let script = json!({"mode": "push", "push_only_nonempty": true, "publish_version": false});
    let mut client = Client::ready(script);
    client.open("good\n");
    client.change(2, "still good\n");
    client.change(3, "BAD\n");
    let first = client.published();
    assert_eq!((&first["version"], count(&first)), (&Value::Null, 1));
    client.change(4, "good\n");
    assert_eq!(count(&client.published()), 0);
}

#[test]
fn the_uri_comes_back_in_another_encoding() {
    let mut client = Client::ready(json!({"mode": "push", "wrong_uri": true}));
    client.open("BAD\n");
    assert_eq!(client.published()["uri"], "file:///project/%61pp.py");
}

#[test]
fn a_crash_happens_at_the_scripted_message() {
    let crash = json!({"method": "textDocument/didChange", "n": 2});
    let mut client = Client::ready(json!({"crash_at": crash}));
    client.open("one\n");
    client.change(2, "two\n");
    assert_eq!(items(&client.pull(2, None)), 0);
    client.change(3, "three\n");
    let (code, stderr) = client.end();
    assert_eq!(code, Some(1));
    assert!(stderr.contains("textDocument/didChange number 2"), "{stderr}");
}

#[test]
fn registration_configuration_and_progress_are_asked_for() {
    let mut client = Client::ready(json!({
        "mode": "pull-dynamic", "register_after_ms": 20, "ask_configuration": 3,
        "progress": {"title": "Indexing", "end_after_ms": 20},
    }));
    let asked = client.server_request("workspace/configuration");
    assert_eq!(asked["params"]["items"].as_array().map(Vec::len), Some(3));
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": [1, 2, 3]}));
    client.server_request("window/workDoneProgress/create");
    let begin = client.server_request("$/progress");
    assert_eq!(begin["params"]["value"], json!({"kind": "begin", "title": "Indexing"}));
    let registered = client.server_request("client/registerCapability");
    assert_eq!(registered["params"]["registrations"][0]["method"], "textDocument/diagnostic");
    let end = client.server_request("$/progress");
    assert_eq!(end["params"]["value"]["kind"], "end");
    client.request(2, "shutdown", &Value::Null);
    client.answer(2);
    let answers = json_lines(&client.log());
    assert!(answers.iter().any(|entry| entry["answer"]["result"] == json!([1, 2, 3])));
}

#[test]
fn a_server_request_reuses_the_clients_id() {
    let mut client = Client::ready(json!({"id_collision": true}));
    client.open("BAD\n");
    client.ask_pull(7, None);
    let request = client.server_request("window/workDoneProgress/create");
    assert_eq!(request["id"], 7);
    assert_eq!(items(&client.answer(7)), 1);
}

#[test]
fn noise_precedes_frames_and_silence_is_kept() {
    let script = json!({"junk_on_stdout": true, "never_answer": ["textDocument/diagnostic"]});
    let mut client = Client::ready(script);
    client.open("BAD\n");
    client.ask_pull(2, None);
    client.request(3, "textDocument/hover", &json!({}));
    assert_eq!(client.answer(3)["error"]["code"], -32_601);
    assert!(client.unread.iter().all(|message| message["id"] != 2), "{:#?}", client.unread);
}

#[test]
fn a_waiting_pull_can_be_cancelled() {
    let mut client = Client::ready(json!({"first_delay_ms": 600_000}));
    client.open("BAD\n");
    client.ask_pull(2, None);
    client.notify("$/cancelRequest", &json!({"id": 2}));
    assert_eq!(client.answer(2)["error"]["code"], -32_800);
    assert_eq!(items(&client.pull(3, None)), 1);
}

#[test]
fn initialize_fails_or_is_late_as_scripted() {
    let mut failing = Client::start(json!({"fail_initialize": true}));
    failing.request(1, "initialize", &json!({}));
    assert_eq!(failing.answer(1)["error"]["code"], -32_603);

    let start = Instant::now();
    let mut late = Client::start(json!({"initialize_delay_ms": 80}));
    late.request(1, "initialize", &json!({}));
    assert!(late.answer(1)["result"]["capabilities"]["diagnosticProvider"].is_object());
    assert!(start.elapsed() >= Duration::from_millis(80));
}

#[test]
fn an_ignored_shutdown_outlives_its_client() {
    let mut stubborn = Client::ready(json!({"ignore_shutdown": true}));
    stubborn.request(2, "shutdown", &Value::Null);
    stubborn.answer(2);
    stubborn.notify("exit", &Value::Null);
    // Answered after `exit`, so the message was read and ignored.
    assert_eq!(items(&stubborn.pull(3, None)), 0);
    stubborn.stdin = None;
    assert_eq!(stubborn.child.try_wait().expect("the child is ours"), None);

    let mut polite = Client::ready(json!({}));
    polite.request(2, "shutdown", &Value::Null);
    polite.answer(2);
    polite.notify("exit", &Value::Null);
    assert_eq!(polite.end().0, Some(0));
}

#[test]
fn a_child_of_the_server_lives_and_ends_with_a_polite_exit() {
    let mut client = Client::ready(json!({"spawn_child": true}));
    let children = format!("/proc/{0}/task/{0}/children", client.child.id());
    let child = fs::read_to_string(children).expect("the kernel lists children");
    let child = child.trim().to_owned();
    assert!(Path::new(&format!("/proc/{child}")).exists());
    client.request(2, "shutdown", &Value::Null);
    client.answer(2);
    client.notify("exit", &Value::Null);
    assert_eq!(client.end().0, Some(0));
    assert!(!Path::new(&format!("/proc/{child}")).exists());
}

#[test]
fn the_log_says_which_text_was_sent() {
    let mut client = Client::ready(json!({}));
    client.open("BAD\n");
    client.change(2, "good\n");
    client.pull(2, None);
    let log = json_lines(&client.log());
    let methods: Vec<_> = log.iter().filter_map(|entry| entry["method"].as_str()).collect();
    assert_eq!(
        methods,
        [
            "initialize",
            "initialized",
            "textDocument/didOpen",
            "textDocument/didChange",
            "textDocument/diagnostic"
        ]
    );
    assert_eq!((&log[2]["version"], &log[2]["bytes"]), (&json!(1), &json!(4)));
    assert_eq!((&log[3]["version"], &log[3]["bytes"]), (&json!(2), &json!(5)));
    assert_ne!(log[2]["hash"], log[3]["hash"]);
}

#[test]
fn ranged_changes_are_applied_and_whole_ones_kill() {
    let mut client = Client::ready(json!({"incremental": true, "position_encoding": "utf-16"}));
    client.open("🦀 good\n");
    let place = |character: u64| json!({"line": 0, "character": character});
    let range = json!({"start": place(3), "end": place(7)});
    let document = json!({"uri": URI, "version": 2});
    let changes = json!([{"range": range, "text": "BAD"}]);
    let params = json!({"textDocument": document, "contentChanges": changes});
    client.notify("textDocument/didChange", &params);
    assert_eq!(items(&client.pull(2, None)), 1);
    client.change(3, "whole\n");
    assert_eq!(client.end().0, Some(3));
}

#[test]
fn a_pull_is_answered_by_a_refresh_first() {
    let mut client = Client::ready(json!({"refresh_first": 1}));
    client.open("BAD\n");
    client.ask_pull(2, None);
    client.server_request("workspace/diagnostic/refresh");
    assert_eq!(items(&client.pull(3, None)), 1);
}

#[test]
fn a_mistyped_script_is_refused() {
    let mut client = Client::start(json!({"delay": 5}));
    let (code, stderr) = client.end();
    assert_eq!(code, Some(1));
    assert!(stderr.contains("unknown key \"delay\""), "{stderr}");
}
