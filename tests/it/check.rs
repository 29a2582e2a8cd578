//! `check`: three-valued verdicts and their exit codes, with a scripted server in pyright's place.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A clean Python file and a scripted server that finds `BAD`.
fn project(mut script: Value) -> Sandbox {
    let sandbox = Sandbox::new();
    script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", script);
    sandbox.write("app.py", "word = 'BAD'\n");
    sandbox
}

fn report(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Value {
    let output = sandbox.run(&[&["check", "--all", "--json"], arguments].concat());
    assert_eq!(output.code, code, "{output:#?}");
    let report = output.json();
    let count = |key: &str| report[key].as_u64().unwrap_or(u64::MAX);
    let skipped = report["files_skipped"].as_array().map_or(0, Vec::len) as u64;
    assert_eq!(count("files_checked") + skipped, count("files_total"), "{report:#}");
    report
}

fn finds_the_word(script: Value) {
    let sandbox = project(script);
    let dirty = report(&sandbox, &[], 1);
    assert_eq!(dirty["verdict"], "dirty");
    let findings = dirty["findings"].as_array().expect("a report lists its findings");
    let from_server: Vec<_> =
        findings.iter().filter(|finding| finding["sensor"] == "pyright").collect();
    assert_eq!(from_server.len(), 1, "{dirty:#}");
    assert_eq!(from_server[0]["path"], "app.py");
    assert_eq!(from_server[0]["code"], "badWord");
    assert_eq!(from_server[0]["range"]["start"], json!({"line": 0, "character": 8}));
    sandbox.write("app.py", "word = 'good'\n");
    assert_eq!(report(&sandbox, &[], 0)["verdict"], "clean");
}

#[test]
fn a_well_behaved_server_is_believed() {
    finds_the_word(json!({}));
}

#[test]
fn a_server_that_registers_late_is_waited_for() {
    finds_the_word(json!({"mode": "pull-dynamic", "register_after_ms": 300}));
}

#[test]
fn noise_collisions_and_cancelled_answers_change_nothing() {
    finds_the_word(json!({
        "junk_on_stdout": true, "id_collision": true, "cancel_first": 2, "ask_configuration": 3,
        "result_unchanged": true, "progress": {"title": "Indexing", "end_after_ms": 50},
    }));
}

/// intelephense publishes an empty list for an open file that it has not indexed. Here another
/// progress ends first, and the quiet time passes before the indexing begins.
#[test]
fn a_server_is_loading_until_the_progress_of_its_loading_ends() {
    let sandbox = Sandbox::new();
    let script = json!({
        "mode": "push", "publish_version": false, "delay_ms": 50, "blind_ms": 2000,
        "errors": [{"needle": "BAD", "message": "bad word", "code": "badWord"}],
        "progress": [
            {"title": "Reading the cache", "end_after_ms": 20},
            {"title": "Intelephense (1.0) indexing", "begin_after_ms": 1800, "end_after_ms": 2100},
        ],
    });
    sandbox.fake_server("intelephense", script);
    sandbox.write("app.php", "<?php $word = 'BAD';\n");
    assert_eq!(report(&sandbox, &["--no-scan"], 1)["findings"][0]["code"], "badWord");
}

#[test]
fn positions_are_converted_from_the_servers_encoding() {
    let sandbox = project(json!({"position_encoding": "utf-8"}));
    sandbox.write("app.py", "word = '한글😀 BAD'\n");
    let dirty = report(&sandbox, &[], 1);
    let start = &dirty["findings"][0]["range"]["start"];
    assert_eq!(start, &json!({"line": 0, "character": 13}), "{dirty:#}");
}

#[test]
fn silence_a_crash_and_a_failed_start_are_unmeasured_and_never_clean() {
    for script in [
        json!({"never_answer": ["textDocument/diagnostic"]}),
        json!({"crash_at": {"method": "textDocument/diagnostic", "n": 1}}),
        json!({"fail_initialize": true}),
    ] {
        let sandbox = project(script.clone());
        let unmeasured = report(&sandbox, &["--timeout", "3"], 4);
        assert_eq!(unmeasured["verdict"], "unmeasured", "{script}: {unmeasured:#}");
        let sensors = unmeasured["sensors"].as_array().expect("a report lists its sensors");
        let server = sensors.iter().find(|sensor| sensor["name"] == "pyright");
        let reason = server.and_then(|sensor| sensor["reason"].as_str());
        assert!(reason.is_some_and(|reason| !reason.is_empty()), "{script}: {unmeasured:#}");
        report(&sandbox, &["--timeout", "3", "--allow-unmeasured"], 0);
    }
}

#[test]
fn a_server_that_is_not_installed_is_named_with_the_command_that_installs_it() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "word = 'good'\n");
    let output = sandbox.run(&["check", "--all"]);
    assert_eq!(output.code, 4, "{output:#?}");
    assert!(output.stdout.contains("moai-ralph server install python"), "{output:#?}");
}

#[test]
fn odd_files_are_skipped_with_a_reason() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    fs::write(sandbox.path("binary.py"), [0_u8, 159, 146, 150]).expect("the sandbox is writable");
    sandbox.write("big.py", &"x = 1\n".repeat(300_000));
    let outside = sandbox.base().join("outside.py");
    fs::write(&outside, "word = 'BAD'\n").expect("the sandbox is writable");
    symlink(&outside, sandbox.path("link.py")).expect("the sandbox is writable");
    symlink("nowhere.py", sandbox.path("dangling.py")).expect("the sandbox is writable");
    // A requested file that was not measured is a gap, so the whole is not clean.
    let report = report(&sandbox, &[], 4);
    let skipped = report["files_skipped"].as_array().expect("a report lists skipped files");
    for path in ["binary.py", "big.py"] {
        let entry = skipped.iter().find(|entry| entry["path"] == path);
        let reason = entry.and_then(|entry| entry["reason"].as_str());
        assert!(reason.is_some_and(|reason| !reason.is_empty()), "{path}: {report:#}");
    }
    assert_eq!(report["findings"], json!([]), "a link out of the root is not followed");
}

#[test]
fn a_usage_error_is_3_and_nothing_is_ever_2() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["no-such-command"][..],
        &["check", "--no-such-option"],
        &["check", "--format", "no-such-format"],
        &["loop", "start", "--max-iterations", "many"],
        &["loop", "start", "--prompt", "x", "--max-iterations", "1001"],
        &["loop", "start", "--prompt", "x", "--max-tokens", "0"],
        &["loop", "start", "--prompt", " "],
        &["loop", "start", "--prompt", "x", "--base-branch", "main"],
        &["init", "--host", "codex", "--json"],
        &["config", "set", "loop.max_iterations", "5", "--json"],
        &["demo", "--json"],
    ] {
        let output = sandbox.run(arguments);
        assert_eq!(output.code, 3, "{arguments:?}: {output:#?}");
        assert_eq!(output.stdout, "", "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_changed_configuration_concerns_the_files_that_it_configures() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write("pyrightconfig.json", "{}\n");
    sandbox.commit();
    sandbox.write("pyrightconfig.json", "{\"strict\": [\".\"]}\n");
    let report = sandbox.run(&["check", "--json", "--verbose"]).json();
    let sensors = report["sensors"].as_array().expect("a list");
    let pyright = sensors.iter().find(|sensor| sensor["name"] == "pyright");
    assert_eq!(pyright.map(|it| &it["files"]), Some(&json!(1)), "{report:#}");
    assert_eq!(report["verdict"], "clean", "{report:#}");
    sandbox.write("app.py", "word = 'BAD'\n");
    sandbox.commit();
    sandbox.write("pyrightconfig.json", "{\"strict\": []}\n");
    let report = sandbox.run(&["check", "--json"]).json();
    assert_eq!(report["verdict"], "unmeasured", "it may be older, or not: {report:#}");
    let reason =
        report["sensors"].as_array().into_iter().flatten().find_map(|it| it["reason"].as_str());
    let expected = "1 finding in app.py may be older (line 1: bad word): ";
    assert!(reason.is_some_and(|it| it.contains(expected)), "{report:#}");
}

#[test]
fn a_changed_notebook_is_named_and_never_clean() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write("train.ipynb", "{\"cells\": []}");
    sandbox.commit();
    sandbox.write("train.ipynb", "{\"cells\": [{}]}");
    let output = sandbox.run(&["check", "--json"]);
    assert_eq!(output.code, 4, "{output:#?}");
    let expected =
        json!([{"path": "train.ipynb", "reason": "the cells of a notebook are not measured"}]);
    assert_eq!(output.json()["files_skipped"], expected, "{output:#?}");
}

#[test]
fn without_language_servers_no_dependents_are_measured() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "from lib import total\n\nprint(total())\n");
    sandbox.write("lib.py", "def total():\n    return 1\n");
    sandbox.commit();
    sandbox.write("lib.py", "def total(number):\n    return number\n");
    let checked = |arguments: &[&str]| {
        let report = sandbox.run(&[&["check", "--json"], arguments].concat()).json();
        report["files_checked"].clone()
    };
    assert_eq!((checked(&[]), checked(&["--no-lsp"])), (json!(2), json!(1)));
}

/// The paths of the findings that `check --base` reports.
fn new_since(sandbox: &Sandbox, base: &str, code: i32) -> Vec<String> {
    let output = sandbox.run(&["check", "--base", base, "--json"]);
    assert_eq!(output.code, code, "{output:#?}");
    let report = output.json();
    let findings = report["findings"].as_array().expect("a report lists its findings");
    findings.iter().filter_map(|it| it["path"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_base_leaves_out_the_findings_that_it_has() {
    let sandbox = project(json!({}));
    sandbox.write("lib.py", "other = 'BAD'\n");
    sandbox.commit();
    sandbox.git(&["branch", "before"]);
    sandbox.write("app.py", "word = 'BAD'\nmore = 1\n");
    sandbox.commit();
    assert_eq!(new_since(&sandbox, "before", 0), [""; 0], "the change did not introduce it");
    sandbox.write("new.py", "word = 'BAD'\n");
    sandbox.commit();
    assert_eq!(new_since(&sandbox, "before", 1), ["new.py"]);
    assert_eq!(new_since(&sandbox, "HEAD", 0), [""; 0]);
    sandbox.write("later.py", "word = 'BAD'\n");
    assert_eq!(new_since(&sandbox, "before", 1), ["later.py", "new.py"]);
}

#[test]
fn changes_count_from_the_commit_where_the_base_parted() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write("test_app.py", "def test_word():\n    assert True\n");
    sandbox.commit();
    sandbox.git(&["branch", "other"]);
    sandbox.write("new.py", "word = 'BAD'\n");
    sandbox.commit();
    sandbox.git(&["branch", "mine"]);
    sandbox.git(&["checkout", "-q", "other"]);
    sandbox.write("new.py", "word = 'BAD'\n");
    sandbox.write("test_new.py", "def test_new():\n    assert 1 + 1 == 2\n");
    sandbox.commit();
    sandbox.git(&["checkout", "-q", "mine"]);
    assert_eq!(new_since(&sandbox, "other", 1), ["new.py"], "the other branch has it, too");
    let guard = sandbox.run(&["guard", "--base", "other", "--json"]);
    assert_eq!(guard.code, 0, "no test was deleted here: {guard:#?}");
}

#[test]
fn a_base_that_cannot_be_compared_with_is_an_error() {
    let sandbox = project(json!({}));
    sandbox.commit();
    let refused = |arguments: &[&str], reason: &str| {
        let output = sandbox.run(arguments);
        assert_eq!((output.code, output.stdout.as_str()), (3, ""), "{output:#?}");
        assert!(output.stderr.contains(reason), "{output:#?}");
    };
    for command in ["check", "guard", "judge"] {
        let unknown = "nothing to compare with: git has no revision 'nowhere'";
        refused(&[command, "--base", "nowhere"], unknown);
    }
    refused(&["check", "--base", "a..b"], "git has no revision 'a..b'");
    sandbox.git(&["branch", "earlier"]);
    sandbox.git(&["checkout", "-q", "--orphan", "unrelated"]);
    sandbox.git(&["commit", "-q", "-m", "no parent"]);
    refused(&["check", "--base", "earlier"], "'earlier' and HEAD have no commit in common");
    refused(&["check", "--base", "HEAD", "app.py"], "cannot be used with");
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    refused(&["check", "--base", "HEAD"], "--base needs a git work tree");
}

#[test]
fn a_compilation_database_older_than_its_build_description_is_named() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write(".gitignore", "build/\n");
    sandbox.write("CMakeLists.txt", "add_executable(a a.c)\n");
    sandbox.write("config.h.in", "#define A @A@\n");
    sandbox.commit();
    let database = sandbox.path("build/compile_commands.json");
    let configure_at = |time: SystemTime| {
        sandbox.write("build/CMakeCache.txt", "");
        sandbox.write("build/compile_commands.json", "[]\n");
        let file = fs::File::options().write(true).open(&database).expect("just written");
        file.set_modified(time).expect("ours");
    };
    let reasons = || {
        let report = sandbox.run(&["check", "--json"]).json();
        let skipped = report["files_skipped"].as_array().expect("a list").clone();
        let of_database = skipped.iter().filter(|it| it["path"] == "build/compile_commands.json");
        of_database.map(|it| it["reason"].as_str().expect("why").to_owned()).collect::<Vec<_>>()
    };
    let before = SystemTime::now() - Duration::from_mins(1);
    configure_at(before);
    sandbox.write("app.py", "word = 'better'\n");
    assert_eq!(reasons(), [""; 0], "no description changed");
    for description in ["CMakeLists.txt", "config.h.in"] {
        sandbox.write(description, "other\n");
        assert_eq!(reasons(), [format!("made before {description} changed: run cmake again")]);
        configure_at(SystemTime::now() + Duration::from_secs(1));
        assert_eq!(reasons(), [""; 0]);
        configure_at(before);
        sandbox.git(&["checkout", "-q", "--", description]);
    }
}
