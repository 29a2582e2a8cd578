//! Synchronization with a language server: it receives the text on disk in its position encoding
//! and the notifications it registered for. Its positions are converted back.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{PATIENCE, Sandbox, eventually, json_lines, write_file};

/// A project in which `BAD` is wrong, with a server of this script and this catalogue entry.
fn project(mut script: Value, entry: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", script);
    let mut server = json!({"command": "pyright-langserver", "diagnostics": "pull"});
    for (key, value) in entry.as_object().expect("an object") {
        server[key] = value.clone();
    }
    let own = json!({"servers": {"pyright": server}});
    sandbox.write(".moai/config/lsp.json", &own.to_string());
    sandbox
}

fn log(sandbox: &Sandbox) -> Vec<Value> {
    json_lines(&sandbox.base().join("pyright-langserver.jsonl"))
}

/// Columns of the findings in `app.py`, in UTF-16, as the report has them.
fn columns(sandbox: &Sandbox) -> Vec<u64> {
    let output = sandbox.run(&["check", "app.py", "--json"]);
    let report = output.json();
    assert!(matches!(output.code, 0 | 1), "{output:#?}");
    let findings = report["findings"].as_array().expect("a report lists its findings");
    let column = |finding: &Value| finding["range"]["start"]["character"].as_u64();
    findings.iter().filter_map(column).collect()
}

/// FNV-1a, as the scripted server writes it.
fn text_hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[test]
fn ranged_changes_give_the_server_the_text_on_disk_in_every_encoding() {
    // A byte order mark, which a server never sees; both line breaks, an emoji, Hangul, and characters that
    // only some programs treat as line breaks.
    let texts = [
        ("\u{feff}a = '🦀'\r\nb = '한'\n", vec![]),
        ("\u{feff}a = '🦀BAD'\r\nb = '한'\n", vec![7]),
        ("a = '🦁BAD'\nb = '한' BAD\n", vec![7, 8]),
        ("a = '🦁'\n\r\nb = '\u{2028}'\n", vec![]),
        ("a = '🦁'\n\r\nb = '\u{2028}' 'BAD'\n", vec![9]),
        ("a = '🦁'\rb = 'BAD'\n", vec![]),
        ("한 = 'BAD'\n", vec![5]),
        ("", vec![]),
        ("한 = 'BAD'", vec![5]),
    ];
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let script = json!({"incremental": true, "position_encoding": encoding});
        let sandbox = project(script, &json!({}));
        for (text, expected) in &texts {
            sandbox.write("app.py", text);
            if text.contains("\rb") {
                // The scripted server ends lines elsewhere than LSP does; only the text counts.
                sandbox.run(&["check", "app.py"]);
            } else {
                assert_eq!(&columns(&sandbox), expected, "{encoding} {text:?}");
            }
            let log = log(&sandbox);
            let last = log.iter().rev().find(|line| line["hash"].is_string()).expect("a text");
            let sent = text.trim_start_matches('\u{feff}');
            assert_eq!(last["hash"], text_hash(sent), "{encoding} {text:?}");
        }
        let ranged = log(&sandbox).iter().filter(|line| !line["applied"].is_null()).count();
        assert!(ranged >= 4, "most texts came as changes: {ranged}");
    }
}

#[test]
fn a_server_hears_only_of_the_changes_it_asked_for() {
    let watchers = json!([{"globPattern": "**/*.{py,pyi}", "kind": 1}]);
    let sandbox = project(json!({"watch_files": watchers}), &json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write("other.py", "one = 1\n");
    sandbox.run(&["check", "app.py"]);
    let seen = log(&sandbox).len();
    sandbox.write("other.py", "two = 2\n");
    sandbox.write("new.py", "three = 3\n");
    sandbox.write("new.json", "{}\n");
    sandbox.run(&["check", "app.py"]);
    let events: Vec<Value> = log(&sandbox)
        .iter()
        .skip(seen)
        .filter(|line| line["method"] == "workspace/didChangeWatchedFiles")
        .flat_map(|line| line["params"]["changes"].as_array().cloned().unwrap_or_default())
        .collect();
    let uri = events.first().and_then(|event| event["uri"].as_str()).unwrap_or_default();
    assert!(events.len() == 1 && uri.ends_with("/new.py"), "{events:#?}");
    assert_eq!(events[0]["type"], 1);
}

/// A checked project whose server registered for a folder outside the root; then a file there, which no poll
/// of the root covers, changes. Returns the server's later log.
fn log_after_outside_change(entry: &Value) -> Vec<Value> {
    let sandbox = project(json!({}), entry);
    let outside = sandbox.base().join("lib/far.py");
    write_file(&outside, "one = 1\n");
    let base = format!("file://{}", sandbox.base().join("lib").display());
    let watchers = json!([{"globPattern": {"baseUri": base, "pattern": "**"}}]);
    sandbox.fake_server("pyright-langserver", json!({"watch_files": watchers}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.run(&["check", "app.py"]);
    sandbox.run(&["check", "app.py"]);
    let seen = log(&sandbox).len();
    write_file(&outside, "two = 2\n");
    let output = sandbox.run(&["check", "app.py"]);
    assert_eq!(output.code, 0, "{output:#?}");
    log(&sandbox).split_off(seen)
}

fn has_method(log: &[Value], method: &str) -> bool {
    log.iter().any(|line| line["method"] == method)
}

#[test]
fn a_server_is_notified_of_changes_in_registered_places_outside_the_root() {
    let log = log_after_outside_change(&json!({}));
    let notice = log.iter().find(|line| line["method"] == "workspace/didChangeWatchedFiles");
    let notice = notice.unwrap_or_else(|| panic!("no notice: {log:#?}"));
    let uri = notice["params"]["changes"][0]["uri"].as_str().unwrap_or_default();
    assert!(uri.ends_with("/lib/far.py") && !has_method(&log, "initialize"), "{log:#?}");
}

#[test]
fn a_server_that_delays_changes_outside_the_root_is_restarted_by_them() {
    let log = log_after_outside_change(&json!({"outside_restart": "changes"}));
    assert!(has_method(&log, "initialize"), "{log:#?}");
}

#[test]
fn pull_that_a_server_registers_late_is_used_though_it_was_not_expected() {
    let script = json!({"mode": "pull-dynamic", "register_after_ms": 300});
    let sandbox = project(script, &json!({"diagnostics": "push"}));
    sandbox.write("app.py", "word = 'BAD'\n");
    assert_eq!(columns(&sandbox), [8]);
    sandbox.write("app.py", "word = 'good'\n");
    assert_eq!(columns(&sandbox), [0; 0]);
}

#[test]
fn a_refresh_while_a_question_is_open_asks_it_again() {
    let sandbox = project(json!({"refresh_first": 3}), &json!({}));
    sandbox.write("app.py", "word = 'BAD'\n");
    assert_eq!(columns(&sandbox), [8]);
}

#[test]
fn cancelled_again_and_again_is_asked_again_and_again() {
    let sandbox = project(json!({"cancel_first": 5}), &json!({}));
    sandbox.write("app.py", "word = 'BAD'\n");
    assert_eq!(columns(&sandbox), [8]);
}

#[test]
fn a_server_seen_to_publish_always_may_call_a_file_clean_without_a_version() {
    let script = json!({"mode": "push", "publish_version": false, "delay_ms": 200});
    let entry = json!({"diagnostics": "push", "publishes": {"clean": true, "quiet_ms": 500}});
    let sandbox = project(script, &entry);
    sandbox.write("app.py", "word = 'good'\n");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 0);
    sandbox.write("app.py", "word = 'BAD'\n");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    sandbox.write("app.py", "word = 'fine'\n");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 0);
    // The same bytes again: the server is made to publish again.
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 0);
}

#[test]
fn a_server_that_is_silent_about_clean_files_is_never_taken_for_clean() {
    let script = json!({"mode": "push", "push_only_nonempty": true});
    let sandbox = project(script, &json!({"diagnostics": "push"}));
    sandbox.write("app.py", "word = 'good'\n");
    let output = sandbox.run(&["check", "app.py", "--json"]);
    assert_eq!((output.code, output.json()["verdict"].as_str()), (4, Some("unmeasured")));
    let log = log(&sandbox);
    let opened = log.iter().filter(|line| line["method"] == "textDocument/didOpen").count();
    assert_eq!(opened, 2, "the document was opened anew before the server was given up");
}

#[test]
fn what_a_dead_server_registered_dies_with_it() {
    let crash = json!({"method": "textDocument/diagnostic", "n": 2});
    let script = json!({"watch_files": true, "crash_at": crash, "mode": "pull-dynamic"});
    let sandbox = project(script, &json!({}));
    sandbox.write("app.py", "word = 'BAD'\n");
    assert_eq!(columns(&sandbox), [8]);
    let before = log(&sandbox).len();
    // The second request kills it; the new process receives everything once.
    assert_eq!(columns(&sandbox), [8]);
    let after: Vec<Value> = log(&sandbox).into_iter().skip(before).collect();
    let second_life = after.iter().skip_while(|line| line["method"] != "initialize");
    let methods: Vec<&str> = second_life.filter_map(|line| line["method"].as_str()).collect();
    let opened = methods.iter().filter(|method| **method == "textDocument/didOpen").count();
    assert_eq!(opened, 1, "{methods:?}");
    assert!(!methods.contains(&"textDocument/didChange"), "{methods:?}");
    assert_eq!(after.iter().filter(|line| line["method"] == "initialize").count(), 1);
}

#[test]
fn a_check_never_leaves_an_older_text_with_the_server() {
    let sandbox = project(json!({"delay_ms": 40}), &json!({}));
    // More than are measured at once: the last ones reach the server after the changes.
    let names: Vec<String> = (10..90).map(|number| format!("f{number}.py")).collect();
    let write_all = |text| names.iter().for_each(|name| sandbox.write(name, text));
    write_all("word = 'first'\n");
    assert_eq!(sandbox.run(&["check", "--all"]).code, 0);
    write_all("word = 'second'\n");
    let seen = log(&sandbox).len();
    let output = std::thread::scope(|scope| {
        let check = scope.spawn(|| sandbox.run(&["check", "--all", "--json"]));
        let asked = eventually(PATIENCE, || {
            let lines = log(&sandbox);
            let mut new = lines.iter().skip(seen);
            new.any(|line| line["method"] == "textDocument/diagnostic").then_some(())
        });
        assert!(asked.is_some(), "the server was never asked");
        write_all("word = 'third BAD'\n");
        // The hook announces the changes while the check's other files still wait.
        sandbox.tool_write("app.py", "word = 'good'\n");
        check.join().expect("the check ends")
    });
    assert_ne!(output.code, 0, "{output:#?}");
    let mut texts = BTreeMap::new();
    for line in log(&sandbox) {
        if line["method"] == "textDocument/didClose" {
            texts.remove(line["uri"].as_str().expect("a document has a URI"));
        }
        if let (Some(uri), Some(hash)) = (line["uri"].as_str(), line["hash"].as_str()) {
            texts.insert(uri.to_owned(), hash.to_owned());
        }
    }
    let present = text_hash("word = 'third BAD'\n");
    texts.retain(|uri, _| !uri.ends_with("app.py"));
    // Of the files that are not open, the server reads the text from disk.
    assert!(!texts.is_empty());
    assert!(texts.values().all(|hash| *hash == present), "{texts:#?}");
}
