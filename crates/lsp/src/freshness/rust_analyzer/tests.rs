//! Sessions with rust-analyzer, replayed message by message as observed with version 1.95.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::jsonrpc::{RpcId, RpcMessage};
use crate::registry::Catalogue;
use crate::session::{
    DiskChange, DocumentRequest, LspSession, MeasureLane, ServerFolders, SessionEffect,
};
use moai_base::hash::ContentHash;
use moai_base::limits::{FLYCHECK_START_MS_MAX, RUST_RELOAD_MS, RUST_RELOADS_APART_MS};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};

struct Play {
    session: LspSession,
    now: Instant,
    answers: Vec<String>,
    /// The answer to requests for the manifest of a file's crate.
    manifest: Value,
    /// Number of these requests that are cancelled first.
    cancelled_count: usize,
    /// Requests that reload the project.
    reload_count: u64,
    /// The outcome of the preparation of runs.
    prepared: Result<(), Gap>,
}

impl Play {
    /// A server that has answered `initialize` and is loading the project.
    fn loading() -> Self {
        let text = r#"{"servers": {"rust-analyzer": {"command": "rust-analyzer",
            "diagnostics": "rust-analyzer", "ready": "server-status"}}}"#;
        let catalogue = Catalogue::parse(text).expect("valid");
        let spec = catalogue.server("rust-analyzer").expect("described");
        let root = PathBuf::from("/r");
        let place = ServerFolders {
            workspace: root.clone(),
            root,
            has_cargo_manifest: true,
            ..ServerFolders::default()
        };
        let session = LspSession::start("rust-analyzer", spec, Value::Null, place, 1);
        let manifest = json!({"uri": "file:///r/Cargo.toml"});
        let (now, answers) = (Instant::now(), Vec::new());
        let mut play = Self {
            session,
            now,
            answers,
            manifest,
            cancelled_count: 0,
            reload_count: 0,
            prepared: Ok(()),
        };
        play.sent();
        play.receive(json!({"id": 0, "result": {"capabilities": {"textDocumentSync": 2}}}));
        play.sent();
        play
    }

    fn ready() -> Self {
        let mut play = Self::loading();
        play.status("ok", true, None);
        play
    }

    fn receive(&mut self, message: Value) {
        let content = message.to_string().into_bytes();
        drop(message);
        self.session.on_message(RpcMessage::parse(&content).expect("a message"), self.now);
    }

    fn status(&mut self, health: &str, quiescent: bool, message: Option<&str>) {
        let params = json!({"health": health, "quiescent": quiescent, "message": message});
        self.receive(json!({"method": "experimental/serverStatus", "params": params}));
    }

    fn flycheck(&mut self, kind: &str) {
        let value = json!({"kind": kind, "title": "cargo check", "message": "sample (lib)"});
        let params = json!({"token": "rust-analyzer/flycheck/0", "value": value});
        self.receive(json!({"method": "$/progress", "params": params}));
    }

    /// A run that publishes nothing is repeated once.
    fn silent_run(&mut self) {
        self.flycheck("begin");
        self.flycheck("end");
        assert_eq!(self.answer_requests(&nothing()), 1, "the run may have been broken off");
        self.flycheck("begin");
        self.flycheck("end");
    }

    fn publish(&mut self, file: &str, items: Value) {
        let params = json!({"uri": format!("file://{file}"), "diagnostics": items});
        self.receive(json!({"method": "textDocument/publishDiagnostics", "params": params}));
        drop(items);
    }

    fn ask(&mut self, ticket: u64, path: &str) {
        let root = PathBuf::from("/r");
        let path = RelPath::below(&root, &root.join(path)).expect("relative");
        let text = format!("// {ticket}\n\n\n");
        let hash = ContentHash::of_bytes(text.as_bytes());
        let language_id = "rust".to_owned();
        let question = DocumentRequest {
            ticket,
            path,
            language_id,
            text: text.into(),
            hash,
            lane: MeasureLane::Batch,
        };
        self.session.measure(question, self.now);
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.session.tick(self.now);
    }

    /// Requests and notifications since the last call; verdicts go to `answers`.
    fn sent(&mut self) -> Vec<(String, i64)> {
        let mut sent = Vec::new();
        for effect in self.session.take_effects() {
            match effect {
                SessionEffect::Send(RpcMessage::Request {
                    id: RpcId::Number(id), method, ..
                }) => {
                    sent.push((method, id));
                }
                SessionEffect::Send(RpcMessage::Notification { method, .. }) => {
                    sent.push((method, -1));
                }
                SessionEffect::DiagnosticsReady(ticket, Ok(found)) => {
                    let found: Vec<&str> =
                        found.iter().map(|finding| finding.message.as_str()).collect();
                    self.answers.push(format!("{ticket}: {found:?}"));
                }
                SessionEffect::DiagnosticsReady(ticket, Err(gap)) => {
                    self.answers.push(format!("{ticket}: {:?} {gap}", gap.cause));
                }
                SessionEffect::PrepareFlycheck => {
                    self.session.start_flycheck(self.prepared.clone(), self.now);
                    sent.extend(self.sent());
                }
                _ => {}
            }
        }
        sent
    }

    /// Answers every pull with these items and every barrier; returns how many runs were started.
    fn answer_requests(&mut self, native: &Value) -> usize {
        let mut run_count = 0;
        loop {
            let sent = self.sent();
            if sent.is_empty() {
                return run_count;
            }
            for (method, id) in sent {
                match method.as_str() {
                    "textDocument/diagnostic" => {
                        let report = json!({"kind": "full", "items": native});
                        self.receive(json!({"id": id, "result": report}));
                    }
                    "textDocument/documentSymbol" => {
                        self.receive(json!({"id": id, "result": []}));
                    }
                    "experimental/openCargoToml" if self.cancelled_count > 0 => {
                        self.cancelled_count -= 1;
                        let error = json!({"code": -32801, "message": "content modified"});
                        self.receive(json!({"id": id, "error": error}));
                    }
                    "experimental/openCargoToml" => {
                        let manifest = self.manifest.clone();
                        self.receive(json!({"id": id, "result": manifest}));
                    }
                    "rust-analyzer/runFlycheck" => run_count += 1,
                    "rust-analyzer/reloadWorkspace" => self.reload_count += 1,
                    _ => {}
                }
            }
        }
    }

    fn answers(&mut self) -> Vec<String> {
        self.sent();
        std::mem::take(&mut self.answers)
    }
}

fn item(source: &str, severity: u64, code: &str, message: &str) -> Value {
    let range = json!({"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}});
    json!({"range": range, "severity": severity, "source": source, "code": code,
        "message": message})
}

fn nothing() -> Value {
    json!([])
}

/// One request and one run that publishes `published` for its file; returns the answer.
fn verdict(native: &Value, published: Value) -> String {
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    assert_eq!(play.answer_requests(native), 1, "a run is asked for");
    play.flycheck("begin");
    play.flycheck("report");
    play.publish("/r/src/a.rs", published);
    play.flycheck("end");
    play.answer_requests(native);
    play.answers().join("; ")
}

#[test]
fn clean_requires_native_diagnostics_and_a_complete_run() {
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), [""; 0], "nothing is proven before the compiler has run");
    play.flycheck("begin");
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), [""; 0], "nor while it runs");
    play.flycheck("report");
    play.flycheck("end");
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), ["1: []"]);
}

#[test]
fn a_problem_from_both_sources_is_reported_once_and_hints_are_omitted() {
    let own = json!([item("rust-analyzer", 1, "E0308", "expected i32, found &str")]);
    let compiler = json!([
        item("rustc", 1, "E0308", "mismatched types"),
        item("rustc", 4, "E0308", "expected because of this"),
        item("clippy", 2, "clippy::eq_op", "equal expressions"),
    ]);
    assert_eq!(verdict(&own, compiler), r#"1: ["mismatched types", "equal expressions"]"#);
    assert_eq!(verdict(&own, nothing()), r#"1: ["expected i32, found &str"]"#);
}

#[test]
fn no_request_is_sent_while_the_project_is_loading() {
    let mut play = Play::loading();
    play.ask(1, "src/a.rs");
    let methods: Vec<String> = play.sent().into_iter().map(|(method, _)| method).collect();
    assert_eq!(methods, ["textDocument/didOpen"]);
    play.status("ok", true, None);
    assert_eq!(play.sent()[0].0, "textDocument/diagnostic");
}

#[test]
fn items_of_an_earlier_run_under_a_new_version_are_no_proof() {
    let mut play = Play::ready();
    play.publish("/r/src/a.rs", json!([item("rustc", 1, "E0308", "old")]));
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    play.publish("/r/src/a.rs", json!([item("rustc", 1, "E0308", "old")]));
    play.flycheck("begin");
    play.publish("/r/src/a.rs", nothing());
    play.flycheck("report");
    play.flycheck("end");
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), ["1: []"]);
}

#[test]
fn fifty_measurements_share_one_run() {
    let mut play = Play::ready();
    for ticket in 1..=50 {
        play.ask(ticket, &format!("src/{ticket}.rs"));
    }
    assert_eq!(play.answer_requests(&nothing()), 1);
    play.flycheck("begin");
    play.flycheck("report");
    play.flycheck("end");
    assert_eq!(play.answer_requests(&nothing()), 0, "all were asked before the run began");
    assert_eq!(play.answers().len(), 50);
}

#[test]
fn a_measurement_started_during_a_run_waits_for_the_next_one() {
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    play.flycheck("begin");
    play.ask(2, "src/b.rs");
    assert_eq!(play.answer_requests(&nothing()), 0);
    play.flycheck("report");
    play.flycheck("end");
    assert_eq!(play.answer_requests(&nothing()), 1);
    assert_eq!(play.answers(), ["1: []"]);
    play.flycheck("begin");
    play.flycheck("report");
    play.flycheck("end");
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), ["2: []"]);
}

#[test]
fn errors_elsewhere_may_hide_others_so_an_empty_list_is_not_clean() {
    for file in ["/r/src/b.rs", "/elsewhere/dependency.rs"] {
        let mut play = Play::ready();
        play.ask(1, "src/a.rs");
        play.answer_requests(&nothing());
        play.flycheck("begin");
        play.publish(file, json!([item("rustc", 1, "E0432", "unresolved import")]));
        play.flycheck("end");
        play.answer_requests(&nothing());
        let file = file.trim_start_matches("/r/");
        let expected = format!(
            "1: ProjectFault cargo check stops at errors in {file} (line 2: unresolved import): \
             fix those first"
        );
        assert_eq!(play.answers(), [expected]);
    }
}

#[test]
fn a_failed_run_reports_its_cause_until_the_next_run() {
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    play.silent_run();
    let words = "cargo check failed to start: no valid metadata:\nerror: unclosed table\n";
    play.status("error", true, Some(words));
    play.answer_requests(&nothing());
    let expected = "1: ProjectFault the cargo project has a fault: error: unclosed table";
    assert_eq!(play.answers(), [expected]);
    play.ask(2, "src/a.rs");
    assert_eq!(play.answer_requests(&nothing()), 1, "the fault may be mended by now");
    play.flycheck("begin");
    play.flycheck("report");
    play.flycheck("end");
    play.status("ok", true, None);
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), ["2: []"]);
}

#[test]
fn a_project_that_does_not_load_is_one_gap_after_a_delay() {
    let mut play = Play::loading();
    play.status("error", true, Some("Failed to load workspaces."));
    for (ticket, reload_count) in [(1, 1), (2, 1), (3, 2)] {
        if reload_count == 2 {
            play.wait(RUST_RELOADS_APART_MS);
        }
        play.ask(ticket, "src/a.rs");
        play.answer_requests(&nothing());
        assert_eq!(play.reload_count, reload_count, "the fault may be corrected by now");
        assert_eq!(play.answers(), [""; 0]);
        play.wait(RUST_RELOAD_MS);
        assert_eq!(play.answer_requests(&nothing()), 0);
        let fault = "ProjectFault the cargo project has a fault: Failed to load workspaces.";
        assert_eq!(play.answers(), [format!("{ticket}: {fault}")]);
    }
}

#[test]
fn a_faulty_project_is_reloaded_once_for_all_requests_so_far() {
    let mut play = Play::loading();
    play.status("error", true, Some("Failed to load workspaces."));
    play.ask(1, "src/a.rs");
    play.ask(2, "src/b.rs");
    play.answer_requests(&nothing());
    assert_eq!(play.reload_count, 1);
    play.status("ok", false, None);
    play.status("ok", true, None);
    play.wait(RUST_RELOAD_MS);
    play.answer_requests(&nothing());
    play.flycheck("begin");
    play.flycheck("report");
    play.flycheck("end");
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), ["1: []", "2: []"]);
}

#[test]
fn a_project_that_is_created_later_is_discovered() {
    let mut play = Play::loading();
    play.status("warning", true, Some("Failed to discover workspace.\nConsider …"));
    let change = |name: &str| [(PathBuf::from(name), DiskChange::Created)];
    play.session.files_changed(&change("/r/src/a.rs"), &[]);
    assert_eq!(play.sent(), []);
    play.session.files_changed(&change("/r/Cargo.toml"), &[]);
    assert_eq!(play.sent(), [("workspace/didChangeWorkspaceFolders".to_owned(), -1)]);
}

#[test]
fn a_run_that_never_begins_is_a_gap() {
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    play.wait(FLYCHECK_START_MS_MAX - 1);
    assert_eq!(play.answers(), [""; 0]);
    play.wait(1);
    assert_eq!(play.answers(), ["1: TimedOut cargo check did not start"]);
    play.ask(2, "src/b.rs");
    assert_eq!(play.answer_requests(&nothing()), 1, "the next question asks for a run again");
}

#[test]
fn a_silent_run_is_enough_for_a_crate_compiled_before() {
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    play.silent_run();
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), ["1: []"]);
}

#[test]
fn a_run_ended_by_a_project_reload_is_requested_again() {
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    play.flycheck("begin");
    play.status("ok", false, None);
    play.flycheck("report");
    play.flycheck("end");
    play.status("ok", true, None);
    assert_eq!(play.answer_requests(&nothing()), 1);
    assert_eq!(play.answers(), [""; 0]);
}

#[test]
fn a_file_in_no_crate_is_not_clean() {
    let unlinked = json!([item("rust-analyzer", 4, "unlinked-file", "not included")]);
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    play.answer_requests(&unlinked);
    let expected =
        "1: ProjectFault no crate includes the file: declare it with `mod`, or enable its feature";
    assert_eq!(play.answers(), [expected]);
}

#[test]
fn a_file_in_no_loaded_crate_is_not_clean() {
    let mut play = Play::ready();
    play.manifest = Value::Null;
    play.ask(1, "excluded/src/lib.rs");
    play.answer_requests(&nothing());
    play.silent_run();
    play.answer_requests(&nothing());
    let answers = play.answers().join("; ");
    assert!(answers.contains("1: ProjectFault no loaded crate includes the file"), "{answers}");
}

#[test]
fn a_cancelled_request_for_the_crate_is_repeated() {
    let mut play = Play::ready();
    play.cancelled_count = 1;
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    play.silent_run();
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), [""; 0]);
    play.wait(1_000);
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), ["1: []"]);
}

#[test]
fn a_run_that_may_pass_over_changed_files_proves_only_errors() {
    let fault = Gap::new(Cause::ProjectFault, "cargo's records cannot be read");
    let mut play = Play::ready();
    play.prepared = Err(fault);
    play.ask(1, "src/a.rs");
    play.answer_requests(&nothing());
    play.silent_run();
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), ["1: ProjectFault cargo's records cannot be read"]);
    play.ask(2, "src/a.rs");
    play.answer_requests(&nothing());
    play.flycheck("begin");
    play.publish("/r/src/a.rs", json!([item("rustc", 1, "E0308", "mismatched types")]));
    play.flycheck("end");
    play.answer_requests(&nothing());
    assert_eq!(play.answers(), [r#"2: ["mismatched types"]"#]);
}

#[test]
fn a_run_of_the_server_itself_during_the_preparation_is_not_the_requested_one() {
    let mut play = Play::ready();
    play.ask(1, "src/a.rs");
    let pull = play.sent().pop().expect("a pull").1;
    play.receive(json!({"id": pull, "result": {"kind": "full", "items": []}}));
    let effects = play.session.take_effects();
    assert!(matches!(effects[..], [SessionEffect::PrepareFlycheck]), "{effects:?}");
    play.flycheck("begin");
    play.session.start_flycheck(Ok(()), play.now);
    assert_eq!(play.answer_requests(&nothing()), 0, "it would end the other run");
    play.flycheck("report");
    play.flycheck("end");
    assert_eq!(play.answer_requests(&nothing()), 1);
    assert_eq!(play.answers(), [""; 0]);
}
