//! Synchronization: messages that bring the server our bytes, and watched files.

use super::*;
use moai_base::limits::REFRESHES_MAX;

const DYNAMIC_PULL: &str = r#"{"id": 90, "method": "client/registerCapability", "params":
    {"registrations": [{"id": "d", "method": "textDocument/diagnostic"}]}}"#;

impl Play {
    fn receive_text(&mut self, message: &str) {
        self.receive(serde_json::from_str(message).expect("JSON"));
    }

    fn publish(&mut self, file: &str, version: Option<i64>, count: usize) {
        let items = report(0, count)["items"].clone();
        self.receive(json!({"method": "textDocument/publishDiagnostics", "params":
            {"uri": format!("file:///r/{file}"), "version": version, "diagnostics": items}}));
    }

    /// Parameters of the messages of one method since the last call.
    fn params_of(&mut self, expected_method: &str) -> Vec<Value> {
        let params = |effect| match effect {
            SessionEffect::Send(RpcMessage::Notification { method, params })
                if method == expected_method =>
            {
                Some(params)
            }
            _ => None,
        };
        self.session.take_effects().into_iter().filter_map(params).collect()
    }
}

#[test]
fn a_change_has_a_range_in_the_servers_encoding() {
    // The position is after a quote, 한 and 🦀.
    for (encoding, column) in [("utf-8", 8), ("utf-16", 4), ("utf-32", 3)] {
        let capabilities = json!({"textDocumentSync": {"change": 2}, "positionEncoding": encoding});
        let mut play = Play::able("pull", &capabilities);
        play.ask(1, "a.py", "x\n'한🦀' a\n");
        play.receive(json!({"id": 1, "result": report(0, 0)}));
        play.sent();
        play.ask(2, "a.py", "x\n'한🦀 a\n");
        let change = &play.params_of("textDocument/didChange")[0]["contentChanges"][0];
        let place = |character: u64| json!({"line": 1, "character": character});
        let range = json!({"start": place(column), "end": place(column + 1)});
        assert_eq!(change, &json!({"range": range, "text": ""}), "{encoding}");
    }
}

#[test]
fn findings_come_back_in_our_counting() {
    let capabilities = json!({"textDocumentSync": 2, "positionEncoding": "utf-32"});
    let mut play = Play::able("pull", &capabilities);
    play.ask(1, "a.py", "🦀🦀x");
    let range = json!({"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 3}});
    let items = json!([{"range": range, "message": "wrong"}]);
    play.receive(json!({"id": 1, "result": {"kind": "full", "items": items}}));
    let found = play.session.take_effects().into_iter().find_map(|effect| match effect {
        SessionEffect::DiagnosticsReady(1, Ok(found)) => Some(found[0].range),
        _ => None,
    });
    let at = |character| Position { line: 0, character };
    assert_eq!(found, Some(TextRange { start: at(4), end: at(5) }));
}

#[test]
fn a_text_whose_lines_are_disputed_is_opened_anew() {
    let mut play = Play::ready("pull");
    play.ask(1, "a.py", "a\rb");
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    play.sent();
    play.ask(2, "a.py", "a\nb");
    assert_eq!(play.sent()[..2], ["textDocument/didClose", "textDocument/didOpen v2"]);
}

#[test]
fn a_save_carries_the_text_where_the_server_wants_it() {
    let sync = json!({"textDocumentSync": {"change": 1, "save": {"includeText": true}}});
    let mut play = Play::able("pull", &sync);
    play.ask(1, "a.py", "one");
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    play.ask(2, "a.py", "two");
    assert_eq!(play.params_of("textDocument/didSave")[0]["text"], "two");
}

#[test]
fn a_storm_is_measured_at_its_beginning_and_at_its_end() {
    let mut play = Play::ready("pull");
    let mut words = Vec::new();
    for edit in 0..10 {
        play.wait_until(edit * 30);
        play.ask(edit, "a.py", &format!("text {edit}"));
        words.extend(play.sent());
    }
    let superseded = words.iter().filter(|word| word.ends_with("Superseded")).count();
    assert_eq!(superseded, 9, "each is superseded as soon as a newer one arrives: {words:?}");
    play.wait_until(9 * 30 + STORM_MS);
    words.extend(play.sent());
    let requests = words.iter().filter(|word| word.contains("textDocument/diagnostic"));
    assert_eq!(
        requests.collect::<Vec<_>>(),
        ["textDocument/diagnostic#1", "textDocument/diagnostic#2"]
    );
    play.receive(json!({"id": 2, "result": report(0, 1)}));
    assert_eq!(play.sent(), ["ticket 9: 1 found"]);
    // Nothing is in flight, so there is no storm.
    play.ask(10, "a.py", "calm");
    assert!(play.sent().contains(&"textDocument/diagnostic#3".to_owned()));
}

#[test]
fn a_storm_without_end_is_measured_all_the_same() {
    let mut play = Play::ready("pull");
    for edit in 0..60 {
        play.wait_until(edit * 30);
        play.ask(edit, "a.py", &format!("text {edit}"));
    }
    let pulls = play.sent().iter().filter(|word| word.contains("textDocument/diagnostic")).count();
    assert_eq!(pulls, 2, "at once, and after a second");
}

#[test]
fn a_refresh_repeats_open_requests_and_ignores_earlier_responses() {
    let mut play = Play::ready("pull");
    play.ask(1, "a.py", "x");
    play.sent();
    play.receive(json!({"id": 90, "method": "workspace/diagnostic/refresh"}));
    assert_eq!(play.sent(), ["answer null", "$/cancelRequest", "textDocument/diagnostic#2"]);
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    assert_eq!(play.sent(), [""; 0]);
    play.receive(json!({"id": 2, "result": report(0, 1)}));
    assert_eq!(play.sent(), ["ticket 1: 1 found"]);
}

#[test]
fn refreshes_without_end_do_not_hold_the_answer_for_ever() {
    let mut play = Play::ready("pull");
    play.ask(1, "a.py", "x");
    for id in 0..100 {
        play.receive(json!({"id": id, "method": "workspace/diagnostic/refresh"}));
    }
    let last = i64::from(REFRESHES_MAX) + 1;
    play.sent();
    play.receive(json!({"id": last, "result": report(0, 1)}));
    assert_eq!(play.sent(), ["ticket 1: 1 found"]);
}

#[test]
fn a_later_pull_registration_holds_until_it_is_unregistered() {
    let mut play = Play::ready("push");
    play.ask(1, "a.py", "x");
    assert_eq!(play.sent(), ["textDocument/didOpen v1", "textDocument/documentSymbol#1"]);
    play.receive_text(DYNAMIC_PULL);
    assert_eq!(play.sent(), ["answer null", "$/cancelRequest", "textDocument/diagnostic#2"]);
    play.receive(json!({"id": 2, "result": report(0, 1)}));
    assert_eq!(play.sent(), ["ticket 1: 1 found"]);
    play.receive(json!({"id": 91, "method": "client/unregisterCapability", "params":
        {"unregisterations": [{"id": "d", "method": "textDocument/diagnostic"}]}}));
    play.ask(2, "a.py", "x");
    assert_eq!(
        play.sent(),
        ["answer null", "textDocument/didChange v2", "textDocument/documentSymbol#3"]
    );
}

#[test]
fn questions_about_the_same_bytes_share_the_newest_version() {
    let mut play = Play::ready("push");
    play.ask(1, "a.py", "x");
    play.ask(2, "a.py", "x");
    play.sent();
    play.receive(json!({"id": 2, "result": null}));
    play.publish("a.py", Some(2), 1);
    play.wait_until(1_000);
    assert_eq!(play.sent(), ["ticket 1: 1 found", "ticket 2: 1 found"]);
}

#[test]
fn a_publish_about_another_file_is_ignored_and_silence_reopens_the_document() {
    let mut play = Play::ready("push");
    play.ask(1, "a.py", "x");
    play.receive(json!({"id": 1, "result": null}));
    play.publish("b.py", Some(1), 0);
    play.sent();
    play.wait_until(5_000);
    let reopened =
        ["textDocument/didClose", "textDocument/didOpen v2", "textDocument/documentSymbol#2"];
    assert_eq!(play.sent(), reopened);
    play.receive(json!({"id": 2, "result": null}));
    play.wait_until(10_000);
    assert_eq!(play.sent(), ["ticket 1: Silent"]);
}

#[test]
fn gopls_gets_an_empty_change_so_that_it_reports_the_version() {
    let mut play = Play::ready("gopls");
    play.ask(1, "a.go", "x");
    let opened =
        ["textDocument/didOpen v1", "textDocument/didChange v2", "textDocument/documentSymbol#1"];
    assert_eq!(play.sent(), opened);
    play.receive(json!({"id": 1, "result": null}));
    // While it loads the project, it publishes once about the disk instead.
    play.publish("a.go", None, 0);
    assert_eq!(play.sent(), ["textDocument/didChange v3", "textDocument/documentSymbol#2"]);
    play.receive(json!({"id": 2, "result": null}));
    play.publish("a.go", None, 0);
    play.publish("a.go", Some(2), 0);
    play.publish("a.go", Some(3), 1);
    play.wait_until(2_000);
    assert_eq!(play.sent(), ["ticket 1: 1 found"]);
    play.ask(2, "a.go", "x");
    assert_eq!(play.sent()[0], "textDocument/didChange v4");
}

#[test]
fn clangd_is_forced_to_rebuild_when_it_would_not_publish_or_would_use_an_old_header() {
    let mut play = Play::ready("clangd");
    let forced = |play: &mut Play| {
        let changes = play.params_of("textDocument/didChange");
        let last = changes.last().expect("a change");
        assert_eq!(last["wantDiagnostics"], true);
        last["forceRebuild"] == true
    };
    play.ask(1, "a.cpp", "x");
    play.ask(2, "a.h", "x");
    play.session.take_effects();
    play.ask(3, "a.cpp", "x");
    assert!(forced(&mut play), "nothing changed, and clangd would say nothing");
    play.wait_until(500);
    play.ask(4, "a.cpp", "y");
    assert!(!forced(&mut play), "a change alone makes it speak");
    play.session.files_changed(&[(PathBuf::from("/r/b.h"), DiskChange::Changed)], &[]);
    play.wait_until(1_000);
    play.ask(5, "a.cpp", "z");
    assert!(forced(&mut play), "a header changed on disk");
    // A header is saved while a file that includes it is measured: earlier publishes are outdated.
    play.wait_until(1_500);
    play.ask(6, "a.h", "y");
    let words = play.sent();
    let saved = words.iter().position(|word| word == "textDocument/didSave");
    let again = words.iter().position(|word| word == "textDocument/didChange v5");
    assert!(saved.is_some() && saved < again, "{words:?}");
}

#[test]
fn changes_before_a_watcher_registration_are_sent_once_after_it() {
    let mut play = Play::ready("pull");
    let change = |file: &str, change| [(PathBuf::from(file), change)];
    play.session.files_changed(&change("/r/lib.py", DiskChange::Changed), &[]);
    play.session.files_changed(&change("/r/notes.txt", DiskChange::Changed), &[]);
    assert_eq!(play.sent(), [""; 0]);
    let watch = |id: u64| {
        json!({"id": id, "method": "client/registerCapability", "params": {"registrations": [
            {"id": id.to_string(), "method": "workspace/didChangeWatchedFiles",
             "registerOptions": {"watchers": [{"globPattern": "**/*.py"}]}}]}})
    };
    play.receive(watch(1));
    let notified = play.params_of("workspace/didChangeWatchedFiles");
    assert_eq!(notified, [json!({"changes": [{"uri": "file:///r/lib.py", "type": 2}]})]);
    play.receive(watch(2));
    assert_eq!(play.sent(), ["answer null"]);
    play.session.files_changed(&change("/r/lib.py", DiskChange::Deleted), &[]);
    assert_eq!(play.params_of("workspace/didChangeWatchedFiles").len(), 1, "though two asked");
}

#[test]
fn a_java_server_gets_an_object_where_there_are_no_settings() {
    let mut play = Play::ready("jdtls");
    play.receive(json!({"id": 1, "method": "workspace/configuration", "params": {"items":
        [{"scopeUri": "file:///r", "section": "java"}, {"section": "python"}]}}));
    assert_eq!(play.sent(), [r#"answer [{},{"pythonPath":"/v/python"}]"#]);
}

#[test]
fn a_query_about_an_older_text_does_not_become_the_text_that_is_measured() {
    let hover = ("textDocument/hover", "hoverProvider");
    let capabilities = json!({"textDocumentSync": 2, "hoverProvider": true});
    let mut play = Play::able("pull", &capabilities);
    let progress = |kind: &str| json!({"method": "$/progress", "params": {"token": 1, "value": {"kind": kind, "title": "Loading"}}});
    play.receive(progress("begin"));
    play.query_text(1, hover.0, hover.1, "old", false);
    play.ask(2, "a.py", "new");
    assert_eq!(play.sent()[0], "ticket 1: Superseded");
    play.receive(progress("end"));
    assert!(!play.sent().iter().any(|word| word.contains("didChange")));
    play.receive(json!({"id": 1, "result": report(0, 1)}));
    assert_eq!(play.sent(), ["ticket 2: 1 found"]);
    // A text being measured is not resent either.
    play.query_text(3, hover.0, hover.1, "new", false);
    assert_eq!(play.sent(), ["textDocument/hover#2"]);
    play.ask(4, "a.py", "newer");
    play.sent();
    play.receive(json!({"id": 2, "error": {"code": -32801, "message": "modified"}}));
    assert_eq!(play.sent(), ["ticket 3: Superseded"]);
    // A newer text ends the measurement of an older one.
    play.query_text(5, hover.0, hover.1, "newest", false);
    assert!(play.sent().contains(&"ticket 4: Superseded".to_owned()));
}

#[test]
fn a_text_that_waited_while_its_file_changed_is_never_sent() {
    let changed = [(PathBuf::from("/r/a.py"), DiskChange::Changed)];
    let mut play = Play::new("pull");
    play.ask(1, "a.py", "x");
    play.session.files_changed(&changed, &present("a.py", "y"));
    play.ask(2, "a.py", "y");
    play.session.files_changed(&changed, &present("a.py", "y"));
    play.receive(json!({"id": 0, "result": {"capabilities": {"hoverProvider": true}}}));
    let sent = play.sent();
    assert_eq!(sent.iter().filter(|word| word.contains("didOpen")).count(), 1, "{sent:?}");
    assert!(sent.contains(&"ticket 1: Superseded".to_owned()), "{sent:?}");
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    assert_eq!(play.sent(), ["ticket 2: 0 found"]);
    let progress = |kind: &str| json!({"method": "$/progress", "params": {"token": 1, "value": {"kind": kind, "title": "Loading"}}});
    play.receive(progress("begin"));
    play.query(3, "textDocument/hover", "hoverProvider");
    play.sent();
    play.session.files_changed(&changed, &present("a.py", "z"));
    assert!(play.sent().contains(&"ticket 3: Superseded".to_owned()));
}

/// A check measures its files one after the other, and none may be compared with a document from
/// before a change.
#[test]
fn an_open_document_follows_the_disk_before_others_are_measured() {
    let mut play = Play::ready("pull");
    play.receive(
        json!({"id": 1, "method": "client/registerCapability", "params": {"registrations":
        [{"id": "1", "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": [{"globPattern": "**/*.py"}]}}]}}),
    );
    play.ask(1, "lib.py", "x");
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    play.sent();
    let changed = [(PathBuf::from("/r/lib.py"), DiskChange::Changed)];
    play.session.files_changed(&changed, &present("lib.py", "y"));
    play.ask(2, "app.py", "x");
    play.ask(3, "lib.py", "y");
    let expected = [
        "textDocument/didChange v2",
        "textDocument/didSave",
        "textDocument/didOpen v1",
        "textDocument/diagnostic#2",
    ];
    assert_eq!(play.sent(), expected);
    play.receive(json!({"id": 2, "result": report(0, 0)}));
    assert_eq!(play.sent(), ["ticket 2: 0 found", "textDocument/diagnostic#3"]);
    // The server has these bytes already, as after an edit's own hook.
    play.session.files_changed(&changed, &present("lib.py", "y"));
    assert_eq!(play.sent(), [""; 0]);
    // Measured with bytes that are no longer on disk: other files must not see them.
    play.session.files_changed(&changed, &present("lib.py", "z"));
    let expected = [
        "$/cancelRequest",
        "ticket 3: Superseded",
        "textDocument/didChange v3",
        "textDocument/didSave",
    ];
    assert_eq!(play.sent(), expected);
    // A closed file is read from the disk.
    play.session.files_changed(
        &[(PathBuf::from("/r/other.py"), DiskChange::Changed)],
        &present("other.py", "x"),
    );
    assert_eq!(play.sent(), ["workspace/didChangeWatchedFiles"]);
}

#[test]
fn a_text_that_a_check_read_before_the_file_changed_is_never_sent() {
    let mut play = Play::ready("pull");
    play.ask(1, "lib.py", "x");
    play.receive(json!({"id": 1, "result": report(0, 0)}));
    let changed = [(PathBuf::from("/r/lib.py"), DiskChange::Changed)];
    play.session.files_changed(&changed, &present("lib.py", "y"));
    play.sent();
    play.ask(2, "lib.py", "x");
    assert_eq!(play.sent(), ["ticket 2: Superseded"]);
    // Earlier texts for comparisons are requested by hooks, not by checks.
    play.lane = MeasureLane::Interactive;
    play.ask(3, "lib.py", "x");
    assert!(play.sent().contains(&"textDocument/didChange v3".to_owned()));
}

/// The text of a file on disk.
fn present(path: &str, text: &str) -> [PresentText; 1] {
    let path = RelPath::below(Path::new("/r"), &Path::new("/r").join(path)).expect("relative");
    [PresentText { path, text: text.into(), hash: ContentHash::of_bytes(text.as_bytes()) }]
}

#[test]
fn changes_during_the_handshake_are_sent_after_the_registration() {
    let mut play = Play::new("pull");
    play.session.files_changed(&[(PathBuf::from("/r/lib.py"), DiskChange::Created)], &[]);
    play.receive(json!({"id": 0, "result": {"capabilities": {}}}));
    play.receive(
        json!({"id": 1, "method": "client/registerCapability", "params": {"registrations":
        [{"id": "1", "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": [{"globPattern": "**/*.py"}]}}]}}),
    );
    let notified = play.params_of("workspace/didChangeWatchedFiles");
    assert_eq!(notified, [json!({"changes": [{"uri": "file:///r/lib.py", "type": 1}]})]);
}

#[test]
fn tsserver_reloads_once_for_an_unannounced_change() {
    let mut play = Play::ready("tsserver");
    play.lane = MeasureLane::Interactive;
    let first_command = |play: &mut Play| {
        play.session.take_effects().into_iter().find_map(|effect| match effect {
            SessionEffect::Send(RpcMessage::Request { params, .. }) => {
                params["arguments"][0].as_str().map(str::to_owned)
            }
            _ => None,
        })
    };
    play.receive(
        json!({"id": 1, "method": "client/registerCapability", "params": {"registrations":
        [{"id": "1", "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": [{"globPattern": "**/*.ts"}]}}]}}),
    );
    play.session.files_changed(&[(PathBuf::from("/r/x.vue"), DiskChange::Changed)], &[]);
    play.ask(1, "a.ts", "x");
    assert_eq!(first_command(&mut play).as_deref(), Some("reloadProjects"));
    play.session.files_changed(&[(PathBuf::from("/r/b.ts"), DiskChange::Changed)], &[]);
    play.ask(2, "c.ts", "x");
    assert_eq!(first_command(&mut play).as_deref(), Some("projectInfo"));
}
