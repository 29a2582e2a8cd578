//! Sessions played message by message, without a process.

mod synchronization;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::registry::Catalogue;
use moai_base::limits::{BATCH_IN_FLIGHT_MAX, BATCH_QUIET_MAX, OPEN_DOCUMENTS_MAX, STORM_MS};
use moai_base::text::Position;

struct Play {
    session: LspSession,
    start: Instant,
    at_ms: u64,
    /// The lane of the next requests.
    lane: MeasureLane,
}

impl Play {
    fn new(method: &str) -> Self {
        Self::with_keys(&format!(r#""diagnostics": "{method}", "configuration_errors": ["Bad"]"#))
    }

    /// A session before the handshake with a server that the catalogue describes by these keys.
    fn with_keys(keys: &str) -> Self {
        let text = format!(r#"{{"servers": {{"s": {{"command": "s", {keys}}}}}}}"#);
        let catalogue = Catalogue::parse(&text).expect("valid");
        let spec = catalogue.server("s").expect("described");
        let settings = json!({"python": {"pythonPath": "/v/python"}});
        let root = PathBuf::from("/r");
        let place = ServerFolders { workspace: root.clone(), root, ..ServerFolders::default() };
        let session = LspSession::start("s", spec, settings, place, 1);
        Self { session, start: Instant::now(), at_ms: 0, lane: MeasureLane::Batch }
    }

    fn ready(method: &str) -> Self {
        Self::able(method, &json!({"textDocumentSync": 2}))
    }

    /// A session after the handshake with a server of these capabilities.
    fn able(method: &str, capabilities: &Value) -> Self {
        let mut play = Self::new(method);
        play.sent();
        play.receive(json!({"id": 0, "result": {"capabilities": capabilities}}));
        play.sent();
        play
    }

    /// A text of a file is announced as its changed text on disk.
    fn announce(&mut self, path: &str, text: &str) {
        let file = Path::new("/r").join(path);
        let path = RelPath::below(Path::new("/r"), &file).expect("relative");
        let hash = ContentHash::of_bytes(text.as_bytes());
        let present = PresentText { path, text: text.into(), hash };
        self.session.files_changed(&[(file, DiskChange::Changed)], &[present]);
    }

    /// Advances the time and ticks the session.
    fn wait_until(&mut self, at_ms: u64) {
        self.at_ms = at_ms;
        let now = self.now();
        self.session.tick(now);
    }

    fn now(&self) -> Instant {
        self.start + Duration::from_millis(self.at_ms)
    }

    fn receive(&mut self, message: Value) {
        let content = message.to_string().into_bytes();
        drop(message);
        let message = RpcMessage::parse(&content).expect("a message");
        let now = self.now();
        self.session.on_message(message, now);
    }

    fn ask(&mut self, ticket: u64, path: &str, text: &str) {
        let path = RelPath::below(Path::new("/r"), &Path::new("/r").join(path)).expect("relative");
        let hash = ContentHash::of_bytes(text.as_bytes());
        let question = DocumentRequest {
            ticket,
            path,
            language_id: "python".into(),
            text: text.into(),
            hash,
            lane: self.lane,
        };
        let now = self.now();
        self.session.measure(question, now);
    }

    fn query(&mut self, ticket: u64, method: &str, capability: &str) {
        self.query_about(ticket, method, capability, false);
    }

    fn query_about(&mut self, ticket: u64, method: &str, capability: &str, all_files: bool) {
        self.query_text(ticket, method, capability, "x = 'é𝄞'; y", all_files);
    }

    fn query_text(
        &mut self,
        ticket: u64,
        method: &str,
        capability: &str,
        text: &str,
        all_files: bool,
    ) {
        let path = RelPath::below(Path::new("/r"), Path::new("/r/a.py")).expect("relative");
        let hash = ContentHash::of_bytes(text.as_bytes());
        let language_id = "python".to_owned();
        let document =
            DocumentRequest { ticket, path, language_id, text: text.into(), hash, lane: self.lane };
        let position = Some(Position { line: 0, character: 10 });
        let (method, capability) = (method.to_owned(), capability.to_owned());
        let params = json!({});
        let query = ServerQuery {
            document,
            method,
            capability,
            position,
            names_document: true,
            needs_all_files: all_files,
            params,
        };
        let now = self.now();
        self.session.query(query, now);
    }

    /// The effects since the last call, each as a short text.
    fn sent(&mut self) -> Vec<String> {
        let word = |effect| match effect {
            SessionEffect::Send(RpcMessage::Request { id: RpcId::Number(id), method, .. }) => {
                format!("{method}#{id}")
            }
            SessionEffect::Send(RpcMessage::Notification { method, params }) => {
                let version = &params["textDocument"]["version"];
                if version.is_null() { method } else { format!("{method} v{version}") }
            }
            SessionEffect::Send(RpcMessage::Response { result: Ok(value), .. }) => {
                format!("answer {value}")
            }
            SessionEffect::Send(other) => format!("{other:?}"),
            SessionEffect::DiagnosticsReady(ticket, Ok(found)) => {
                format!("ticket {ticket}: {} found", found.len())
            }
            SessionEffect::DiagnosticsReady(ticket, Err(gap))
            | SessionEffect::QueryAnswered(ticket, Err(gap)) => {
                format!("ticket {ticket}: {:?}", gap.cause)
            }
            SessionEffect::QueryAnswered(ticket, Ok(replied)) => {
                format!("ticket {ticket}: {}", replied.result)
            }
            SessionEffect::Ready(_) => "ready".into(),
            SessionEffect::OutsidePlacesChanged(places) => {
                format!("depends on {} and {} places", places.files.len(), places.watched.len())
            }
            SessionEffect::Outdated => "outdated".into(),
            SessionEffect::ListProjectFiles(job, listing) => format!("list {}#{job}", listing.uri),
            SessionEffect::PrepareFlycheck => "prepare cargo check".into(),
            SessionEffect::GiveUp(gap) => format!("give up: {:?}", gap.cause),
        };
        self.session.take_effects().into_iter().map(word).collect()
    }
}

#[test]
fn a_question_about_all_files_waits_until_the_server_has_listed_them() {
    let mut play = Play::with_keys(
        r#""diagnostics": "pull", "lists_files": ["Found ", "No source files found"]"#,
    );
    play.sent();
    let offered = json!({"referencesProvider": true, "renameProvider": {"prepareProvider": true}});
    play.receive(json!({"id": 0, "result": {"capabilities": offered}}));
    play.sent();
    play.query_about(1, "textDocument/references", "referencesProvider", true);
    assert_eq!(play.sent(), [""; 0]);
    // A query about an open file does not need the file list.
    play.query(2, "textDocument/prepareRename", "renameProvider.prepareProvider");
    assert_eq!(play.sent(), ["textDocument/didOpen v1", "textDocument/prepareRename#1"]);
    let log =
        |message: &str| json!({"method": "window/logMessage", "params": {"message": message}});
    play.receive(log("Auto-excluding node_modules"));
    assert_eq!(play.sent(), [""; 0]);
    play.receive(log("Found 3 source files"));
    assert_eq!(play.sent(), ["textDocument/references#2"]);
}

fn report(line: u32, count: usize) -> Value {
    let place = json!({"line": line, "character": 0});
    let item = json!({"range": {"start": place, "end": place}, "message": "wrong"});
    json!({"kind": "full", "items": vec![item; count]})
}

#[test]
fn a_question_waits_for_the_handshake_and_then_opens_the_document() {
    let mut play = Play::new("pull");
    assert_eq!(play.sent(), ["initialize#0"]);
    play.ask(7, "a.py", "x");
    assert_eq!(play.sent(), [""; 0]);
    play.receive(json!({"id": 0, "result": {"capabilities": {}}}));
    assert_eq!(
        play.sent(),
        [
            "initialized",
            "workspace/didChangeConfiguration",
            "ready",
            "textDocument/didOpen v1",
            "textDocument/diagnostic#1",
        ]
    );
    play.receive(json!({"id": 1, "result": report(0, 2)}));
    assert_eq!(play.sent(), ["ticket 7: 2 found"]);
}

#[test]
fn a_change_follows_where_opening_does_not_refresh_other_files() {
    let mut play = Play::ready("pull");
    play.session.spec.change_after_open = true;
    play.ask(1, "a.py", "x");
    let opened = ["textDocument/didOpen v1", "textDocument/didChange v2"];
    assert_eq!(play.sent()[..2], opened);
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    play.sent();
    play.ask(2, "a.py", "x");
    assert_eq!(play.sent(), ["textDocument/diagnostic#2"]);
}

#[test]
fn a_hooks_measurement_overtakes_those_of_a_check() {
    let mut play = Play::ready("pull");
    for ticket in 1..=5 {
        play.ask(ticket, &format!("{ticket}.py"), "x");
    }
    assert_eq!(play.sent(), ["textDocument/didOpen v1", "textDocument/diagnostic#1"]);
    play.lane = MeasureLane::Interactive;
    play.ask(6, "edited.py", "x");
    assert_eq!(play.sent(), ["textDocument/didOpen v1", "textDocument/diagnostic#2"]);
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    let answered = ["ticket 1: 0 found", "textDocument/didOpen v1", "textDocument/diagnostic#3"];
    assert_eq!(play.sent(), answered, "the check goes on meanwhile");
    play.receive(json!({"id": 2, "result": report(0, 0)}));
    assert_eq!(play.sent(), ["ticket 6: 0 found"], "but takes no place of a hook");
}

#[test]
fn a_check_asks_more_at_once_of_a_server_whose_results_count_after_a_wait() {
    let opened = |keys: &str| {
        let mut play = Play::with_keys(keys);
        play.receive(json!({"id": 0, "result": {"capabilities": {}}}));
        for ticket in 1..=20 {
            play.ask(ticket, &format!("{ticket}.php"), "x");
        }
        play.sent().iter().filter(|sent| sent.contains("didOpen")).count()
    };
    let quiet = r#""diagnostics": "push", "publishes": {"quiet_ms": 600}"#;
    assert_eq!(opened(quiet), BATCH_QUIET_MAX);
    assert_eq!(opened(r#""diagnostics": "jdtls""#), BATCH_QUIET_MAX);
    let at_once = r#""diagnostics": "push", "publishes": {"quiet_ms": 0, "version": true}"#;
    assert_eq!(opened(at_once), BATCH_IN_FLIGHT_MAX);
}

#[test]
fn newer_bytes_supersede_a_request_and_its_late_response_is_ignored() {
    let mut play = Play::ready("pull");
    play.ask(1, "a.py", "old");
    assert_eq!(play.sent(), ["textDocument/didOpen v1", "textDocument/diagnostic#1"]);
    play.at_ms = STORM_MS;
    play.ask(2, "a.py", "new");
    assert_eq!(
        play.sent(),
        [
            "$/cancelRequest",
            "ticket 1: Superseded",
            "textDocument/didChange v2",
            "textDocument/didSave",
            "textDocument/diagnostic#2",
        ]
    );
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    assert_eq!(play.sent(), [""; 0]);
    play.receive(json!({"id": 2, "result": report(0, 1)}));
    assert_eq!(play.sent(), ["ticket 2: 1 found"]);
}

#[test]
fn a_finding_after_the_last_line_proves_that_other_bytes_were_measured() {
    let mut play = Play::ready("pull");
    play.ask(1, "a.py", "one line");
    play.receive(json!({"id": 1, "result": report(40, 1)}));
    assert!(play.sent().contains(&"ticket 1: Superseded".to_owned()));
}

#[test]
fn an_answer_that_never_comes_is_a_gap_at_the_deadline() {
    let mut play = Play::ready("pull");
    play.ask(1, "a.py", "x");
    play.sent();
    let deadline = play.session.next_wake().expect("a deadline");
    assert_eq!(deadline, play.start + Duration::from_millis(DIAGNOSTICS_MS_MAX));
    play.at_ms = DIAGNOSTICS_MS_MAX;
    play.session.tick(deadline);
    // No message since the request, so the process is given up, too.
    assert_eq!(play.sent(), ["give up: TimedOut", "$/cancelRequest", "ticket 1: TimedOut"]);
    assert!(!play.session.is_busy());
}

#[test]
fn a_server_without_pull_is_believed_by_version_from_then_on() {
    let mut play = Play::ready("pull");
    play.ask(1, "a.py", "x");
    play.sent();
    // Published before the protocol listened, and never again for this version.
    play.receive(json!({"method": "textDocument/publishDiagnostics", "params":
        {"uri": "file:///r/a.py", "version": 1, "diagnostics": []}}));
    play.receive(json!({"id": 1, "error": {"code": -32601, "message": "no"}}));
    assert_eq!(play.sent(), ["textDocument/didChange v2", "textDocument/documentSymbol#2"]);
    play.receive(json!({"method": "textDocument/publishDiagnostics", "params":
        {"uri": "file:///r/%61.py", "version": 2, "diagnostics": []}}));
    play.receive(json!({"id": 2, "result": null}));
    play.at_ms = 1_000;
    let now = play.now();
    play.session.tick(now);
    assert_eq!(play.sent(), ["ticket 1: 0 found"]);
    play.ask(2, "a.py", "x");
    assert_eq!(play.sent()[0], "textDocument/didChange v3");
}

#[test]
fn every_request_of_the_server_is_answered_item_by_item() {
    let mut play = Play::ready("pull");
    play.receive(json!({"id": 1, "method": "workspace/configuration", "params": {"items":
        [{"section": "python"}, {"section": "none"}, {"section": "python.pythonPath"}]}}));
    play.receive(json!({"id": "x", "method": "window/workDoneProgress/create", "params": {}}));
    play.receive(json!({"id": 9, "method": "workspace/applyEdit", "params": {}}));
    play.receive(json!({"id": 10, "method": "unheard/of"}));
    let sent = play.sent();
    assert_eq!(sent[0], r#"answer [{"pythonPath":"/v/python"},null,"/v/python"]"#);
    assert_eq!(&sent[1..3], ["answer null", r#"answer {"applied":false}"#]);
    assert!(sent[3].contains("-32601"), "{}", sent[3]);
}

#[test]
fn an_empty_response_during_loading_is_requested_again_afterwards() {
    let mut play = Play::ready("pull");
    let progress = |kind: &str| json!({"method": "$/progress", "params": {"token": 1, "value": {"kind": kind, "title": "Loading"}}});
    play.receive(progress("begin"));
    play.ask(1, "a.py", "x");
    play.sent();
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    assert_eq!(play.sent(), [""; 0]);
    play.receive(progress("end"));
    assert_eq!(play.sent(), ["textDocument/diagnostic#2"]);
    play.receive(json!({"id": 2, "result": report(0, 1)}));
    assert_eq!(play.sent(), ["ticket 1: 1 found"]);
}

#[test]
fn a_file_changed_on_disk_is_closed_and_announced() {
    let mut play = Play::ready("pull");
    play.receive(json!({"id": 5, "method": "client/registerCapability", "params":
        {"registrations": [{"id": "1", "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": [{"globPattern": "**/*.py"}]}}]}}));
    play.ask(1, "a.py", "x");
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    play.sent();
    play.session.files_changed(&[(PathBuf::from("/r/a.py"), DiskChange::Changed)], &[]);
    assert_eq!(play.sent(), ["textDocument/didClose", "workspace/didChangeWatchedFiles"]);
    play.session.files_changed(&[(PathBuf::from("/r/a.txt"), DiskChange::Created)], &[]);
    assert_eq!(play.sent(), [""; 0], "not asked for");
    play.ask(2, "a.py", "x");
    assert_eq!(play.sent()[0], "textDocument/didOpen v2");
}

/// One change of each of `count` files.
fn changed_files(count: usize) -> Vec<(PathBuf, DiskChange)> {
    (0..count).map(|file| (format!("/r/{file}.py").into(), DiskChange::Changed)).collect()
}

/// Number of files in the notifications of changed files.
fn notified_files(play: &mut Play) -> usize {
    let mut count = 0;
    for effect in play.session.take_effects() {
        if let SessionEffect::Send(RpcMessage::Notification { method, params }) = effect
            && method == "workspace/didChangeWatchedFiles"
        {
            count += params["changes"].as_array().map_or(0, Vec::len);
        }
    }
    count
}

#[test]
fn a_server_is_notified_of_every_file_of_a_large_checkout() {
    let mut play = Play::ready("pull");
    play.session.files_changed(&changed_files(1_300), &[]);
    assert_eq!(notified_files(&mut play), 0, "no watcher yet");
    play.receive(json!({"id": 5, "method": "client/registerCapability", "params":
        {"registrations": [{"id": "1", "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": [{"globPattern": "**/*.py"}]}}]}}));
    assert_eq!(notified_files(&mut play), 1_300);
    play.session.files_changed(&changed_files(30_000), &[]);
    assert_eq!(notified_files(&mut play), 30_000, "those that it watches have no limit");
}

#[test]
fn a_server_that_misses_too_many_changes_is_restarted() {
    let limit = moai_base::limits::UNSENT_DISK_CHANGES_MAX;
    for mut play in [Play::new("pull"), Play::ready("pull")] {
        play.ask(1, "a.py", "x");
        play.session.take_effects();
        play.session.files_changed(&changed_files(limit), &[]);
        play.session.files_changed(&changed_files(limit), &[]);
        assert!(!play.sent().contains(&"give up: Crashed".to_owned()), "the same files again");
        play.session.files_changed(&changed_files(limit + 1), &[]);
        assert!(play.sent().ends_with(&["ticket 1: Crashed".into(), "give up: Crashed".into()]));
    }
}

/// True if this file's change restarts the server.
fn is_restarted(play: &mut Play, file: &str) -> bool {
    play.session.take_effects();
    play.session.files_changed(&[(PathBuf::from(file), DiskChange::Changed)], &[]);
    is_outdated(play)
}

fn is_outdated(play: &mut Play) -> bool {
    let effects = play.session.take_effects();
    effects.iter().any(|effect| matches!(effect, SessionEffect::Outdated))
}

#[test]
fn a_server_without_its_configuration_is_restarted_by_one_that_may_be_right() {
    let mut play = Play::ready("pull");
    assert!(!is_restarted(&mut play, "/r/sub/base.toml"));
    assert_eq!(play.session.configuration_gap(), None);
    let message = json!({"type": 1, "message": "Bad configuration.\nmore"});
    play.receive(json!({"method": "window/showMessage", "params": message}));
    let gap = play.session.configuration_gap().expect("the server complains");
    assert_eq!(gap.detail, "it cannot read its configuration: Bad configuration");
    assert!(!is_restarted(&mut play, "/r/a.py"));
    assert!(is_restarted(&mut play, "/r/sub/base.toml"));
}

#[test]
fn a_server_that_cannot_import_the_project_says_why_at_once_and_is_restarted_by_its_build_file() {
    let keys = r#""diagnostics": "jdtls", "ready": "language-status", "root_markers": ["pom.xml"],
        "import_failures": ["Failed to import"]"#;
    let mut play = Play::with_keys(keys);
    play.receive(json!({"id": 0, "result": {"capabilities": {"textDocumentSync": 2}}}));
    play.ask(1, "A.java", "x");
    assert!(!play.sent().iter().any(|it| it.starts_with("ticket")), "it is loading");
    let message = json!({"type": 1, "message": "12:00 Failed to import\nNo plugin."});
    play.receive(json!({"method": "window/logMessage", "params": message}));
    assert_eq!(play.sent(), ["ticket 1: ProjectFault"]);
    play.ask(2, "B.java", "x");
    assert_eq!(play.sent(), ["ticket 2: ProjectFault"]);
    assert!(!is_restarted(&mut play, "/r/A.java"));
    assert!(is_restarted(&mut play, "/r/pom.xml"));
}

#[test]
fn gopls_is_restarted_when_a_manifest_changes_around_its_complaint() {
    let complaint = json!({"method": "$/progress", "params": {
        "token": "t", "value": {"kind": "begin", "title": "Error loading workspace"}}});
    let mut play = Play::ready("gopls");
    play.receive(complaint.clone());
    assert!(!is_restarted(&mut play, "/r/a.go"));
    assert!(is_restarted(&mut play, "/r/go.mod"));
    let mut play = Play::ready("gopls");
    assert!(!is_restarted(&mut play, "/r/go.mod"));
    play.receive(complaint);
    assert!(is_outdated(&mut play), "the complaint may be about an older text");
}

#[test]
fn unsent_changes_of_a_file_become_one_that_covers_them() {
    use DiskChange::{Changed, Created, Deleted};
    let rows: [(&[DiskChange], u64); 4] = [
        (&[Created, Changed], 1),
        (&[Deleted, Created], 2),
        (&[Created, Deleted], 3),
        (&[Changed, Deleted], 3),
    ];
    for (changes, kind) in rows {
        let mut play = Play::ready("pull");
        for change in changes {
            play.session.files_changed(&[(PathBuf::from("/r/a.py"), *change)], &[]);
        }
        play.receive(json!({"id": 5, "method": "client/registerCapability", "params":
            {"registrations": [{"id": "1", "method": "workspace/didChangeWatchedFiles",
                "registerOptions": {"watchers": [{"globPattern": "**/*.py"}]}}]}}));
        let sent = format!("{:?}", play.session.take_effects());
        assert!(sent.contains(&format!(r#""type": Number({kind})"#)), "{changes:?}: {sent}");
    }
}

#[test]
fn a_document_is_not_evicted_under_its_own_question() {
    let mut play = Play::ready("pull");
    play.lane = MeasureLane::Interactive;
    play.ask(1, "a.py", "x");
    play.sent();
    for count in 0..OPEN_DOCUMENTS_MAX {
        play.ask(count as u64 + 2, &format!("{count}.py"), "x");
        play.receive(json!({"id": count + 2, "result": report(0, 0)}));
    }
    let closed = play.sent().iter().filter(|word| *word == "textDocument/didClose").count();
    assert_eq!(closed, 1, "another one");
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    assert_eq!(play.sent(), ["ticket 1: 0 found"]);
}

/// jdtls stops publishing for a deleted file, and other files would be measured with the old text of the other one.
#[test]
fn a_measurement_of_a_file_without_a_known_text_ends() {
    for (method, change) in [("jdtls", DiskChange::Deleted), ("pull", DiskChange::Changed)] {
        let mut play = Play::ready(method);
        play.ask(1, "A.java", "x");
        play.sent();
        play.session.files_changed(&[(PathBuf::from("/r/A.java"), change)], &[]);
        let sent = play.sent();
        assert!(sent.contains(&"ticket 1: Superseded".to_owned()), "{change:?}: {sent:?}");
        assert!(sent.contains(&"textDocument/didClose".to_owned()), "{change:?}: {sent:?}");
    }
}

#[test]
fn the_next_file_is_measured_at_once_if_the_present_one_is_deleted() {
    let mut play = Play::ready("pull");
    play.ask(1, "a.py", "x");
    play.ask(2, "b.py", "x");
    assert!(!play.sent().iter().any(|it| it.ends_with("diagnostic#2")), "one after the other");
    play.session.files_changed(&[(PathBuf::from("/r/a.py"), DiskChange::Deleted)], &[]);
    play.sent();
    assert!(play.session.next_wake().is_some_and(|at| at <= play.now()), "it wakes for the next");
    play.wait_until(0);
    assert!(play.sent().iter().any(|it| it.starts_with("textDocument/diagnostic")));
}

#[test]
fn only_so_many_documents_stay_open() {
    let mut play = Play::ready("pull");
    for count in 0..=OPEN_DOCUMENTS_MAX {
        play.ask(count as u64, &format!("{count}.py"), "x");
        play.receive(json!({"id": count + 1, "result": report(0, 0)}));
    }
    let sent = play.sent();
    assert_eq!(sent.iter().filter(|word| *word == "textDocument/didClose").count(), 1);
    // The closed document is reopened before it is measured.
    play.ask(100, "0.py", "x");
    assert_eq!(play.sent()[..2], ["textDocument/didOpen v2", "textDocument/didClose"]);
}

#[test]
fn a_query_waits_for_loading_syncs_its_document_and_uses_the_servers_encoding() {
    let mut play = Play::new("pull");
    play.query(1, "textDocument/hover", "hoverProvider");
    play.query(2, "textDocument/rename", "renameProvider");
    let progress = |kind: &str| json!({"method": "$/progress", "params": {"token": 1, "value": {"kind": kind, "title": "Loading"}}});
    play.receive(progress("begin"));
    play.receive(json!({"id": 0, "result": {"capabilities":
        {"positionEncoding": "utf-8", "hoverProvider": true, "renameProvider": false}}}));
    assert!(!play.sent().iter().any(|word| word.contains("hover")), "it is loading");
    play.receive(progress("end"));
    let effects = play.session.take_effects();
    let hover = effects.iter().find_map(|effect| match effect {
        SessionEffect::Send(RpcMessage::Request { method, params, .. })
            if method == "textDocument/hover" =>
        {
            Some(params["position"].clone())
        }
        _ => None,
    });
    assert_eq!(hover, Some(json!({"line": 0, "character": 13})));
    let refused = |effect: &SessionEffect| matches!(effect, SessionEffect::QueryAnswered(2, Err(gap)) if gap.cause == Cause::NoTool);
    assert!(effects.iter().any(refused), "an unannounced capability is not requested: {effects:?}");
    play.receive(json!({"id": 1, "error": {"code": -32801, "message": "modified"}}));
    assert_eq!(play.sent(), ["textDocument/hover#2"]);
    play.receive(json!({"id": 2, "result": {"contents": "int"}}));
    assert_eq!(play.sent(), ["ticket 1: {\"contents\":\"int\"}"]);
    assert!(!play.session.is_busy());
}

#[test]
fn a_crash_answers_every_question() {
    let mut play = Play::ready("pull");
    for ticket in 0..6 {
        play.ask(ticket, &format!("{ticket}.py"), "x");
    }
    play.sent();
    play.session.fail(&Gap::new(Cause::Crashed, "gone"));
    let answers = play.sent();
    assert_eq!(answers.len(), 6);
    assert!(answers.iter().all(|word| word.ends_with("Crashed")), "{answers:?}");
    assert_eq!(play.session.next_wake(), None);
}

/// Measures a text with tsserver; returns whether the files of the project were requested.
fn lists_files(play: &mut Play, ticket: u64, path: &str, text: &str) -> bool {
    play.announce(path, text);
    play.session.take_effects();
    play.ask(ticket, path, text);
    let mut has_listed = false;
    loop {
        let request = play.session.take_effects().into_iter().find_map(|effect| match effect {
            SessionEffect::Send(RpcMessage::Request { id: RpcId::Number(id), params, .. }) => {
                Some((id, params))
            }
            _ => None,
        });
        let Some((id, params)) = request else { return has_listed };
        let arguments = &params["arguments"];
        let body = match arguments[0].as_str() {
            Some("projectInfo") => {
                let is_listed = arguments[1]["needFileNameList"] == json!(true);
                has_listed |= is_listed;
                let files = if is_listed { json!(["/r/a.ts"]) } else { Value::Null };
                json!({"configFileName": "/r/tsconfig.json", "fileNames": files})
            }
            _ => json!([]),
        };
        play.receive(json!({"id": id, "result": {"success": true, "body": body}}));
    }
}

#[test]
fn the_files_of_a_project_are_listed_again_when_the_files_that_it_names_may_change() {
    let mut play = Play::able("tsserver", &json!({"textDocumentSync": 2}));
    let text = |import: &str, body: &str| format!("import {{ b }} from '{import}';\n{body}\n");
    let mut ticket = 0;
    let mut lists = |path: &str, text: String| {
        ticket += 1;
        lists_files(&mut play, ticket, path, &text)
    };
    assert!(lists("a.ts", text("./b", "b();")), "the first time");
    assert!(lists("a.ts", text("./b", "b(1);")), "it may have been opened with a new text");
    assert!(!lists("a.ts", text("./b", "b('two');")));
    assert!(lists("a.ts", text("./c", "b('two');")));
    assert!(!lists("a.ts", text("./c", "b(\"three\");")));
    assert!(lists("a.ts", format!("// {}", text("./c", "b(\"three\");"))));
    assert!(lists("a.ts", text("./c", "b(\"three\");")));
    assert!(lists("b.ts", "export const b = 1;\n".to_owned()), "a text that was unknown");
    let created = [(PathBuf::from("/r/d.ts"), DiskChange::Created)];
    assert!(!lists("a.ts", text("./c", "b();")));
    play.session.files_changed(&created, &[]);
    assert!(lists_files(&mut play, 90, "a.ts", &text("./c", "b(4);")));
}
