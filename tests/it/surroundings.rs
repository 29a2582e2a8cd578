//! Hostile environments: no git, no writable home, a killed daemon, files that change or vanish
//! during a measurement, names with blanks and Korean. Nothing hangs, nothing is lost, and nothing
//! counts as clean.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{PATIENCE, SESSION, Sandbox, eventually, json_lines};

const DIRTY: &str = "word = 'BAD'\n";

fn project(mut script: Value) -> Sandbox {
    let sandbox = Sandbox::new();
    script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", script);
    sandbox
}

fn messages(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("a report lists its findings");
    findings.iter().filter_map(|finding| finding["message"].as_str()).collect()
}

fn daemon_pid(sandbox: &Sandbox) -> i64 {
    let status = sandbox.run(&["daemon", "status", "--json"]).json();
    status["pid"].as_i64().expect("the daemon runs")
}

#[test]
fn without_git_everything_works_on_the_whole_project() {
    let sandbox = project(json!({}));
    fs::remove_dir_all(sandbox.path(".git")).expect("the sandbox is writable");
    sandbox.write("app.py", DIRTY);
    let output = sandbox.run(&["check", "--json"]);
    assert_eq!(output.code, 1, "{output:#?}");
    assert_eq!(messages(&output.json()), ["bad word"]);
    assert!(output.stderr.contains("not a git work tree"), "{output:#?}");
    let start = ["loop", "start", "--session", SESSION, "--prompt", "fix it"];
    assert_eq!(sandbox.run(&start).code, 0);
    sandbox.write("other.py", DIRTY);
    let blocked = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    assert_eq!(blocked["decision"], "block");
}

#[test]
fn a_home_that_cannot_be_written_leaves_check_and_hooks_at_work() {
    let mut sandbox = project(json!({}));
    sandbox.write("app.py", "print(eval(input()))\n");
    // A file where the folder should be stops root, too.
    let file = sandbox.base().join("no-folder");
    fs::write(&file, "").expect("the sandbox is writable");
    sandbox.set("MOAI_RALPH_HOME", file.join("state").into_os_string());
    sandbox.set("XDG_RUNTIME_DIR", file.join("run").into_os_string());
    let output = sandbox.run(&["check", "--all"]);
    assert!(output.stdout.contains("scan(py-eval"), "{output:#?}");
    assert!(output.stderr.contains("working without a daemon"), "{output:#?}");
    let told =
        sandbox.tool_write("app.py", "print(eval(input()))\nprint(eval(input()))\n").context();
    assert!(told.contains("scan(py-eval") && told.contains("not measured: pyright"), "{told}");
    let output = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "fix it"]);
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stderr.contains("the store is not available"), "{output:#?}");
    let stopped = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    assert!(stopped["decision"].is_null(), "{stopped:#}");
    let told = stopped["systemMessage"].as_str().expect("a notice");
    assert!(told.contains("no answer from the daemon (the daemon cannot be used"), "{told}");
}

#[test]
fn a_killed_daemon_is_replaced_and_its_loop_goes_on() {
    let sandbox = project(json!({}));
    let start = ["loop", "start", "--session", SESSION, "--prompt", "fix it"];
    assert_eq!(sandbox.run(&start).code, 0);
    sandbox.write("app.py", DIRTY);
    let first = daemon_pid(&sandbox);
    let pid = i32::try_from(first).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, Signal::KILL).expect("the daemon is ours");
    let blocked = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    assert!(blocked["reason"].as_str().is_some_and(|reason| reason.contains("bad word")));
    assert_ne!(daemon_pid(&sandbox), first);
    let mode = |path: &str| {
        let path = sandbox.base().join(path);
        path.metadata().map(|meta| meta.permissions().mode() & 0o777).unwrap_or_default()
    };
    assert_eq!(mode("state"), 0o700);
    let status = sandbox.run(&["daemon", "status", "--json"]).json();
    let socket = status["socket"].as_str().expect("a socket").to_owned();
    assert_eq!(mode(&socket), 0o600);
}

#[test]
fn a_file_written_by_the_shell_is_measured_as_it_is_now() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    assert_eq!(sandbox.run(&["check", "--all"]).code, 0);
    // No notification: no hook, no editor.
    sandbox.write("app.py", DIRTY);
    assert_eq!(sandbox.run(&["check", "--all"]).code, 1);
    sandbox.write("app.py", "word = 'fine'\n");
    assert_eq!(sandbox.run(&["check", "--all"]).code, 0);
}

#[test]
fn a_file_that_changes_during_a_check_is_measured_as_it_is_now_and_a_deleted_one_is_not_clean() {
    let sandbox = project(json!({"delay_ms": 1500}));
    for (change, code) in [(Some(DIRTY), 1), (None, 4)] {
        sandbox.write("app.py", "word = 'good'\n");
        let log = sandbox.base().join("pyright-langserver.jsonl");
        let seen = json_lines(&log).len();
        let output = std::thread::scope(|scope| {
            let check = scope.spawn(|| sandbox.run(&["check", "app.py", "--json"]));
            let asked = eventually(PATIENCE, || {
                let lines = json_lines(&log);
                let mut new = lines.iter().skip(seen);
                new.any(|line| line["method"] == "textDocument/diagnostic").then_some(())
            });
            assert!(asked.is_some(), "the server was never asked");
            match change {
                Some(text) => sandbox.write("app.py", text),
                None => fs::remove_file(sandbox.path("app.py")).expect("the file is ours"),
            }
            check.join().expect("the check ends")
        });
        assert_eq!(output.code, code, "{output:#?}");
        let verdict = if code == 1 { "dirty" } else { "unmeasured" };
        assert_eq!(output.json()["verdict"], verdict);
    }
}

#[test]
fn a_crashed_server_is_started_again() {
    let sandbox = project(json!({"crash_at": {"method": "textDocument/diagnostic", "n": 2}}));
    sandbox.write("app.py", DIRTY);
    let server = |sandbox: &Sandbox| {
        let status = sandbox.run(&["daemon", "status", "--json"]).json();
        status["servers"][0]["pid"].as_i64()
    };
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    let first = server(&sandbox);
    // It dies of the second question, is started again, and answers.
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    assert_ne!(server(&sandbox), first);
}

#[test]
fn a_server_that_always_dies_is_a_gap_with_its_last_words() {
    let sandbox = project(json!({"crash_at": {"method": "textDocument/diagnostic", "n": 1}}));
    sandbox.write("app.py", DIRTY);
    let crashed = sandbox.run(&["check", "app.py", "--json"]);
    assert_eq!(crashed.code, 4, "{crashed:#?}");
    let reason = &crashed.json()["sensors"][0]["reason"];
    assert!(reason.as_str().is_some_and(|reason| reason.contains("it ended")), "{reason}");
}

#[test]
fn a_commit_hides_nothing_from_a_stop() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.commit();
    let start = ["loop", "start", "--session", SESSION, "--prompt", "fix it"];
    assert_eq!(sandbox.run(&start).code, 0);
    sandbox.write("app.py", DIRTY);
    sandbox.commit();
    sandbox.write("other.py", "word = 'fine'\n");
    let blocked = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    let reason = blocked["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("app.py:1:9 pyright(badWord)"), "{blocked:#}");
}

#[test]
fn checks_that_vanish_do_not_complete_a_loop() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write(".claude/autochecks.sh", "#!/bin/sh\nexit 1\n");
    let start = ["loop", "start", "--session", SESSION, "--prompt", "fix", "--until", "checks"];
    assert_eq!(sandbox.run(&start).code, 0);
    fs::remove_file(sandbox.path(".claude/autochecks.sh")).expect("the file is ours");
    // Removed by the session's own shell; a removal by another program pauses the loop.
    let mut shell = sandbox.payload("PostToolUse-Bash");
    shell["duration_ms"] = json!(5_000);
    sandbox.hook("post-tool-use", &shell);
    let blocked = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    let reason = blocked["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("guard(G19)") && reason.contains("was removed"), "{blocked:#}");
}

#[test]
fn a_name_with_escapes_forges_nothing() {
    let sandbox = project(json!({}));
    sandbox.write("a\u{1b}[31m\nerror evil.py:1:1 x.py", DIRTY);
    let output = sandbox.run(&["check", "--all"]);
    assert!(!output.stdout.contains('\u{1b}'), "{output:#?}");
    assert!(!output.stdout.contains("\nerror evil"), "{output:#?}");
}

#[test]
fn a_variable_that_is_not_utf8_stops_nothing() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut sandbox = project(json!({}));
    sandbox.set("ODD", std::ffi::OsString::from_vec(vec![0xff, 0xfe]));
    sandbox.write("app.py", DIRTY);
    let output = sandbox.run(&["check", "app.py"]);
    assert_eq!((output.code, output.stderr.as_str()), (1, ""));
}

#[test]
fn a_removed_state_folder_leaves_one_daemon_and_no_trouble() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", DIRTY);
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    for folder in ["state", "run"] {
        fs::remove_dir_all(sandbox.base().join(folder)).expect("the sandbox is ours");
    }
    let run = sandbox.base().join("run");
    fs::create_dir(&run).expect("the sandbox is ours");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o700)).expect("the sandbox is ours");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    let daemons = || {
        let all = sandbox.survivors();
        all.iter().filter(|(_, command)| command.contains("daemon run")).count()
    };
    let one = eventually(PATIENCE, || (daemons() == 1).then_some(()));
    assert!(one.is_some(), "{:#?}", sandbox.survivors());
    let output = sandbox.run(&["check", "app.py"]);
    assert_eq!((output.code, output.stderr.as_str()), (1, ""));
}

#[test]
fn the_previous_versions_list_is_not_taken_for_this_ones() {
    let script =
        json!({"mode": "push", "publish_version": true, "stale_version": true, "delay_ms": 300});
    let sandbox = project(script);
    let own =
        json!({"servers": {"pyright": {"command": "pyright-langserver", "diagnostics": "push"}}});
    sandbox.write(".moai/config/lsp.json", &own.to_string());
    sandbox.write("app.py", "word = 'good'\n");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 0);
    sandbox.write("app.py", DIRTY);
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    sandbox.write("app.py", "word = 'fine'\n");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 0);
}

#[test]
fn an_unversioned_empty_list_is_never_clean() {
    let sandbox = project(json!({"mode": "push", "publish_version": false, "delay_ms": 300}));
    let own =
        json!({"servers": {"pyright": {"command": "pyright-langserver", "diagnostics": "push"}}});
    sandbox.write(".moai/config/lsp.json", &own.to_string());
    sandbox.write("app.py", "word = 'good'\n");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 4);
    sandbox.write("app.py", DIRTY);
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
}

#[test]
fn blanks_korean_and_quotes_in_names_are_names() {
    let sandbox = project(json!({"wrong_uri": true}));
    let name = "소스 폴더/it's $(x) \"여기\".py";
    sandbox.write(name, DIRTY);
    let output = sandbox.run(&["check", "--json"]);
    assert_eq!(output.code, 1, "{output:#?}");
    assert_eq!(output.json()["findings"][0]["path"], name);
    let told = sandbox.tool_write(name, "word = 'BAD' + 'BAD'\n").context();
    assert!(told.contains(&format!("[moai-ralph] {name}: introduced")), "{told}");
}

#[test]
fn a_prompt_survives_from_the_command_line_to_the_status() {
    let sandbox = Sandbox::new();
    let prompt = "fix \"all\" $(touch pwned) `id`\n---\r\n한글 '따옴표'\n";
    sandbox.write("task.txt", prompt);
    let start = ["loop", "start", "--session", SESSION, "--prompt-file", "task.txt", "--json"];
    assert_eq!(sandbox.run(&start).json()["prompt"], prompt);
    assert_eq!(sandbox.run(&["loop", "status", "--json"]).json()["prompt"], prompt);
    assert!(!sandbox.path("pwned").exists());
}

#[test]
fn without_git_one_written_file_hides_no_other() {
    let sandbox = project(json!({}));
    fs::remove_dir_all(sandbox.path(".git")).expect("the sandbox is writable");
    let start = ["loop", "start", "--session", SESSION, "--prompt", "fix it"];
    assert_eq!(sandbox.run(&start).code, 0);
    sandbox.tool_write("good.py", "word = 'good'\n");
    // Written by the shell: no hook.
    sandbox.write("bad.py", DIRTY);
    let blocked = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    let reason = blocked["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("bad.py:1:9"), "{blocked:#}");
}

#[test]
fn a_repository_inside_is_not_measured_and_said_so() {
    let sandbox = project(json!({}));
    sandbox.write("inner/.git/HEAD", "ref: refs/heads/main\n");
    fs::create_dir_all(sandbox.path("inner/.git/objects")).expect("the sandbox is writable");
    fs::create_dir_all(sandbox.path("inner/.git/refs")).expect("the sandbox is writable");
    sandbox.write("inner/bad.py", DIRTY);
    sandbox.write("app.py", "word = 'good'\n");
    let output = sandbox.run(&["check", "--json"]);
    assert_eq!(output.code, 4, "{output:#?}");
    let skipped = &output.json()["files_skipped"];
    assert_eq!(skipped[0]["reason"], "a nested repository", "{skipped:#}");
}

#[test]
fn servers_hear_of_ignored_files_and_of_files_whose_time_was_set_back() {
    let sandbox = project(json!({"watch_files": true}));
    sandbox.write(".gitignore", "gen/\n");
    sandbox.write("gen/made.py", "word = 'one'\n");
    sandbox.write("app.py", "word = 'good'\n");
    let log = sandbox.base().join("pyright-langserver.jsonl");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 0);
    let announced = || {
        let lines = json_lines(&log);
        lines.iter().filter(|line| line["method"] == "workspace/didChangeWatchedFiles").count()
    };
    let before = announced();
    let meta = sandbox.path("gen/made.py").metadata().expect("the file is there");
    sandbox.write("gen/made.py", "word = 'two'\n");
    let file = fs::File::options().write(true).open(sandbox.path("gen/made.py"));
    let time = meta.modified().expect("a time");
    file.and_then(|file| file.set_modified(time)).expect("the file is ours");
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 0);
    assert_eq!(announced(), before + 1);
}

#[test]
fn a_pipe_in_the_place_of_options_holds_nobody() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", DIRTY);
    let folder = sandbox.path(".moai/config/sections");
    fs::create_dir_all(&folder).expect("the sandbox is writable");
    let made = std::process::Command::new("mkfifo").arg(folder.join("ralph.yaml")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let output = sandbox.run(&["check", "app.py"]);
    assert_eq!(output.code, 3, "{output:#?}");
    assert!(output.stderr.contains("not a regular file"), "{output:#?}");
    assert_eq!(sandbox.run(&["daemon", "status"]).code, 0);
}

#[test]
fn a_null_field_does_not_let_a_dirty_loop_go() {
    let sandbox = project(json!({}));
    let start = ["loop", "start", "--session", SESSION, "--prompt", "fix it"];
    assert_eq!(sandbox.run(&start).code, 0);
    sandbox.write("app.py", DIRTY);
    let mut input = sandbox.payload("Stop");
    input["background_tasks"] = Value::Null;
    input["agent_id"] = json!(7);
    assert_eq!(sandbox.hook("stop", &input).json()["decision"], "block");
}

#[test]
fn a_stop_that_another_one_overtook_is_decided_as_well() {
    let sandbox = project(json!({"delay_ms": 300}));
    let start = ["loop", "start", "--session", SESSION, "--prompt", "fix it"];
    assert_eq!(sandbox.run(&start).code, 0);
    sandbox.write("app.py", DIRTY);
    let inputs = ["one", "two", "three"].map(|words| {
        let mut input = sandbox.payload("Stop");
        input["last_assistant_message"] = words.into();
        input
    });
    let answers: Vec<_> = std::thread::scope(|scope| {
        let stops = inputs.iter().map(|input| scope.spawn(|| sandbox.hook("stop", input)));
        let stops: Vec<_> = stops.collect();
        stops.into_iter().map(|stop| stop.join().expect("the hook ends")).collect()
    });
    for answer in answers {
        assert_eq!(answer.json()["decision"], "block", "{answer:#?}");
    }
    let status = sandbox.run(&["loop", "status", "--json"]).json();
    assert_eq!(status["iteration"], 3, "each counts: {status:#}");
}

#[test]
fn the_word_hook_as_an_argument_hides_no_usage_error() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["check", "hook", "--bogus"]).code, 3);
    assert_eq!(sandbox.run(&["--bogus", "hook", "stop"]).code, 0);
}
