//! The project's checks and the frozen exam, with real processes and, where required, a real
//! terminal.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Output, PROGRAM, SESSION, Sandbox, finish};
use crate::terminal;

const OPTIONS: &str = ".moai/config/sections/ralph.yaml";
const SCRIPT: &str = ".claude/autochecks.sh";

fn executable(sandbox: &Sandbox, path: &str, text: &str) {
    sandbox.write(path, text);
    fs::set_permissions(sandbox.path(path), fs::Permissions::from_mode(0o755)).expect("ours");
}

fn options(sandbox: &Sandbox, looping: &str) {
    sandbox.write(OPTIONS, &format!("ralph:\n  loop:\n{looping}"));
}

/// `loop checks --json` and its exit code.
fn checks(sandbox: &Sandbox, arguments: &[&str]) -> (i32, Value) {
    let output = sandbox.run(&[&["loop", "checks", "--json"], arguments].concat());
    (output.code, output.json())
}

/// Name and verdict of each command that was run.
fn verdicts(document: &Value) -> Vec<String> {
    let line = |one: &Value| format!("{}: {}", text(one, "name"), text(one, "verdict"));
    document["sensors"].as_array().expect("it was run").iter().map(line).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn codes(document: &Value) -> Vec<&str> {
    let findings = document["findings"].as_array().expect("it was run");
    findings.iter().map(|one| text(one, "code")).collect()
}

fn start(sandbox: &Sandbox) -> String {
    let output =
        sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "fix it", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    text(&output.json(), "id").to_owned()
}

fn refreeze(sandbox: &Sandbox) -> Output {
    terminal::with_code(sandbox, &["loop", "refreeze", "--now", "--json"])
}

/// The daemon's answer to a line on its socket.
fn raw_call(sandbox: &Sandbox, request: &Value) -> String {
    let folder = fs::read_dir(sandbox.base().join("run/moai-ralph")).expect("the daemon runs");
    let mut files = folder.flatten().map(|entry| entry.path());
    let socket = files.find(|it| it.extension().is_some_and(|it| it == "sock"));
    let mut line = UnixStream::connect(socket.expect("its socket")).expect("it listens");
    let caller = json!({"cwd": sandbox.root(), "root": sandbox.root(), "env": {}, "process": 1});
    let call = json!({"protocol": 1, "caller": caller, "request": request});
    writeln!(line, "{call}").expect("it reads");
    let mut answer = String::new();
    BufReader::new(line).read_line(&mut answer).expect("it answers");
    answer
}

/// A loop of this project with its present checks as the exam.
fn frozen(sandbox: &Sandbox) -> String {
    let id = start(sandbox);
    let output = refreeze(sandbox);
    assert_eq!(output.code, 0, "{output:#?}");
    id
}

#[test]
fn the_projects_files_propose_commands_for_the_criteria_that_were_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("package.json", r#"{"scripts": {"test": "jest", "build": "vite build"}}"#);
    let (code, document) = checks(&sandbox, &["--list"]);
    assert_eq!((code, &document["verdict"]), (0, &Value::Null));
    let commands = document["commands"].as_array().expect("a list");
    let names: Vec<&str> = commands.iter().map(|one| text(one, "name")).collect();
    assert_eq!(names, ["npm test", "npm run build"], "what a loop runs that names no check");
    options(&sandbox, "    success_criteria: [test_pass, lint_clean]\n");
    let (code, document) = checks(&sandbox, &["--list"]);
    let command = &document["commands"][0];
    assert_eq!((code, text(command, "name")), (0, "npm test"));
    assert_eq!(text(command, "why"), "package.json has a script test");
    assert_eq!(document["unanswered"][0]["name"], "lint_clean");
    // Nothing is proposed where the user does not want it.
    options(&sandbox, "    success_criteria: [test_pass]\n    propose_checks: false\n");
    let (_, document) = checks(&sandbox, &["--list"]);
    assert_eq!(document["unanswered"][0]["name"], "test_pass");
    let shown = sandbox.run(&["loop", "checks"]);
    assert_eq!(shown.code, 4, "{shown:#?}");
    assert!(shown.stdout.starts_with("not measured: test_pass (no command is known"), "{shown:?}");
}

#[test]
fn commands_pass_fail_or_prove_nothing_and_the_exit_code_says_which() {
    let sandbox = Sandbox::new();
    executable(&sandbox, "tools/ok", "#!/bin/sh\ntest \"$1\" = 'a b' && test -f here\n");
    sandbox.write("web/here", "");
    let ok = "{name: ok, command: [../tools/ok, 'a b'], folder: web}";
    options(&sandbox, &format!("    checks: [{ok}]\n"));
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!((code, verdicts(&document)), (0, vec!["ok: clean".to_owned()]), "{document:#}");

    options(&sandbox, &format!("    checks: [{ok}, {{name: gone, command: no-such-program}}]\n"));
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!(
        (code, verdicts(&document)),
        (4, vec!["ok: clean".into(), "gone: unmeasured".into()])
    );

    executable(&sandbox, SCRIPT, "#!/bin/sh\necho \"boom in $PWD\"\nexit 3\n");
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!((code, &document["verdict"]), (1, &json!("dirty")));
    let output = text(&document["sensors"][0], "output");
    assert_eq!(output, format!("boom in {}\n(exit status 3)", sandbox.root().display()));
}

#[test]
fn nothing_to_run_is_not_measured() {
    let sandbox = Sandbox::new();
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!((code, &document["verdict"]), (4, &json!("unmeasured")));
}

#[test]
fn a_check_that_hangs_is_ended_with_what_it_started_and_the_next_one_runs() {
    let sandbox = Sandbox::new();
    let hang = "{name: hang, command: [sh, -c, 'sleep 1000 & sleep 1000'], timeout_secs: 1}";
    options(&sandbox, &format!("    checks: [{hang}, {{name: next, command: [sh, -c, ':']}}]\n"));
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!(code, 4);
    assert_eq!(verdicts(&document), ["hang: unmeasured", "next: clean"]);
    assert_eq!(text(&document["sensors"][0], "reason"), "did not end within 1000 ms");
}

#[test]
fn tests_that_pass_because_there_are_none_are_a_failure() {
    let sandbox = Sandbox::new();
    let check = |output: &str, kind: &str, expected: i32| {
        let run = format!("{{name: unit, command: [echo, '{output}'], kind: {kind}}}");
        options(&sandbox, &format!("    checks: [{run}]\n"));
        let (code, document) = checks(&sandbox, &[]);
        assert_eq!(code, expected, "{output}: {document:#}");
        text(&document["sensors"][0], "output").to_owned()
    };
    let said = check("=== no tests ran in 0.01s ===", "test_pass", 1);
    assert_eq!(said, "(no test ran: 0 run, 0 skipped)");
    check("=== 3 skipped in 0.01s ===", "test_pass", 1);
    check("=== 3 passed in 0.01s ===", "test_pass", 0);
    check("nothing is known of this runner", "test_pass", 0);
    check("=== no tests ran in 0.01s ===", "lint_clean", 0);
}

#[test]
fn failed_tests_are_a_failure_whatever_the_exit_code() {
    let sandbox = Sandbox::new();
    let check = |total: &str, expected: &str| {
        options(&sandbox, &format!("    checks: [{{name: unit, command: [echo, '{total}']}}]\n"));
        executable(&sandbox, SCRIPT, &format!("#!/bin/sh\necho '{total}'; echo done\n"));
        let (code, document) = checks(&sandbox, &[]);
        assert_eq!(code, i32::from(!expected.is_empty()), "{total}: {document:#}");
        for sensor in document["sensors"].as_array().expect("a list") {
            let output = sensor["output"].as_str().unwrap_or_default();
            assert!(output.ends_with(expected), "{total}: {output}");
        }
    };
    check("=== 1 failed, 2 passed in 0.01s ===", "(exit code 0, but 1 test failed)");
    check("=== 2 passed, 3 errors in 0.01s ===", "(exit code 0, but 3 tests failed)");
    check("test result: FAILED. 5 passed; 2 failed; 0 ignored;", "but 2 tests failed)");
    check("=== 3 passed in 0.01s ===", "");
}

#[test]
fn checks_of_the_rubric_are_run_without_a_shell() {
    let sandbox = Sandbox::new();
    let rubric = "# Rubric\n\n## Checks\n# remarks\n- sh -c \"exit 1\"\n- true && false\n\n\
                  ## Judge criteria\n- rm -rf everything\n";
    sandbox.write("RUBRIC.md", rubric);
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!(code, 1);
    let expected = ["sh -c \"exit 1\": dirty", "true && false: unmeasured"];
    assert_eq!(verdicts(&document), expected, "{document:#}");
    assert!(text(&document["sensors"][1], "reason").contains("only a shell understands"));
}

#[test]
fn what_was_frozen_is_what_runs_and_a_difference_is_a_finding() {
    let sandbox = Sandbox::new();
    executable(&sandbox, SCRIPT, "#!/bin/sh\necho strict in $PWD\nexit 1\n");
    sandbox.write("RUBRIC.md", "## Checks\n- sh -c \"exit 7\"\n");
    sandbox.write("tests/test_a.py", "def test_a(): assert f() == 1\n");
    let id = frozen(&sandbox);
    let (_, document) = checks(&sandbox, &[]);
    let failing =
        [format!("{SCRIPT}: dirty"), "sh -c \"exit 7\": dirty".into(), "exam: clean".into()];
    assert_eq!((verdicts(&document).as_slice(), codes(&document)), (failing.as_slice(), vec![]));
    assert_eq!(text(&document, "loop"), id);

    // The agent makes its exam easier.
    executable(&sandbox, SCRIPT, "#!/bin/sh\nexit 0\n");
    sandbox.write("RUBRIC.md", "## Checks\n- true\n");
    sandbox.write(OPTIONS, "ralph: {enabled: true}\n");
    sandbox.write(".claude/settings.local.json", r#"{"permissions": {"allow": ["Bash"]}}"#);
    fs::remove_file(sandbox.path("tests/test_a.py")).expect("ours");
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!(code, 1);
    let dirty = [failing[0].as_str(), failing[1].as_str(), "exam: dirty"];
    assert_eq!(verdicts(&document), dirty, "{document:#}");
    let output = text(&document["sensors"][0], "output");
    assert_eq!(output, format!("strict in {}\n(exit status 1)", sandbox.root().display()));
    assert_eq!(codes(&document), ["G19", "G19", "G19"]);
    let removed = json!({"path": "tests/test_a.py", "role": "test", "change": "removed"});
    let differences = document["differences"].as_array().expect("a list");
    assert!(differences.contains(&removed), "{document:#}");
    // Permissions are the host's business; hooks are not the agent's.
    assert!(!document.to_string().contains("settings.local.json"), "{document:#}");
    sandbox.write(".claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    assert_eq!(codes(&checks(&sandbox, &[]).1).len(), 4);

    fs::remove_file(sandbox.path(SCRIPT)).expect("ours");
    let (_, document) = checks(&sandbox, &[]);
    assert_eq!(verdicts(&document), dirty, "the frozen script still runs");
}

#[test]
fn only_a_person_takes_a_new_exam() {
    let sandbox = Sandbox::new();
    executable(&sandbox, SCRIPT, "#!/bin/sh\nexit 1\n");
    frozen(&sandbox);
    executable(&sandbox, SCRIPT, "#!/bin/sh\nexit 0\n");
    assert_eq!(checks(&sandbox, &[]).0, 1);
    let refused = finish(sandbox.program().args(["loop", "refreeze"]), "");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("stdin is not a terminal"), "{refused:#?}");
    // A terminal that an agent opened, where it took its mark out of the environment.
    let mut shell = Command::new("setsid");
    sandbox.prepare(&mut shell);
    let script = format!("env -u CLAUDECODE {PROGRAM} loop refreeze --now; exit $?");
    shell.args(["--ctty", "--wait", "sh", "-c", &script]).env("CLAUDECODE", "1");
    let refused = terminal::at_code_question(&mut shell, str::to_owned);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("an agent started this shell"), "{refused:#?}");
    // A terminal as input, but none that belongs to the process; and a wrong answer.
    let mut program = sandbox.program();
    program.args(["loop", "refreeze", "--now"]);
    let refused = terminal::at_code_question(&mut program, str::to_owned);
    assert!(refused.stderr.contains("this process has no terminal"), "{refused:#?}");
    let mut program = Command::new("setsid");
    sandbox.prepare(&mut program);
    program.args(["--ctty", "--wait", PROGRAM, "loop", "refreeze", "--now"]);
    let refused = terminal::at_code_question(&mut program, |code| code.chars().rev().collect());
    assert!(refused.stderr.contains("not the code that was shown"), "{refused:#?}");
    assert_eq!(refused.code, 1, "{refused:#?}");
    // A call that no front door made: the daemon asks the kernel who calls.
    let select = json!({"json": true});
    let request = json!({"name": "loop_refreeze", "select": select, "now": true, "code": "AAAAAA"});
    let answer = raw_call(&sandbox, &request);
    assert!(answer.contains("is for a person"), "{answer}");
    let request = json!({"name": "guard_allow", "id": "x", "reason": "x", "base": null});
    assert!(raw_call(&sandbox, &request).contains("only a person"), "a waiver");
    assert_eq!(checks(&sandbox, &[]).0, 1);

    let taken = refreeze(&sandbox).json();
    let expected = json!([{"path": SCRIPT, "role": "checks", "change": "edited"}]);
    assert_eq!(taken["taken_over"], expected);
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!(
        (code, verdicts(&document)),
        (0, vec![format!("{SCRIPT}: clean"), "exam: clean".into()])
    );
    // A finished loop has nothing to freeze for.
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    assert_eq!(refreeze(&sandbox).code, 1);
}

#[test]
fn tests_that_are_not_run_any_more_are_noticed_until_they_are_back() {
    let unit = "{name: unit, command: [cat, said.txt], kind: test_pass}";
    for (check, unit) in [("unit", unit), (SCRIPT, "")] {
        let sandbox = Sandbox::new();
        options(&sandbox, &format!("    checks: [{unit}]\n"));
        if check == SCRIPT {
            executable(&sandbox, SCRIPT, "#!/bin/sh\ncat said.txt\n");
        }
        let said = |text: &str| {
            sandbox.write("said.txt", text);
            let (code, document) = checks(&sandbox, &[]);
            let message = text_of_first(&document);
            (code, message)
        };
        frozen(&sandbox);
        assert_eq!(said("=== 30 passed in 1.00s ===\n"), (0, String::new()));
        let (_, message) = said("=== 12 passed, 18 skipped in 1.00s ===\n");
        let expected = "12 tests ran, 30 ran before; 18 more were skipped in this loop;";
        assert!(message.starts_with(&format!("{check}: {expected}")), "{message}");
        // The lower number does not become the baseline of the next run.
        assert!(said("=== 13 passed in 1.00s ===\n").1.contains("30 ran before"));
        assert_eq!(said("=== 31 passed in 1.00s ===\n"), (0, String::new()));
    }
}

#[test]
fn a_check_that_finds_no_test_in_a_project_with_tests_has_measured_nothing() {
    let sandbox = Sandbox::new();
    options(&sandbox, "    checks: [{name: unit, command: [cat, said.txt]}]\n");
    sandbox.write("said.txt", "Ran 0 tests in 0.000s\n\nOK\n");
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!((code, verdicts(&document)), (0, vec!["unit: clean".to_owned()]));
    sandbox.write("old/test_app.py", "def test_app():\n    assert 1\n");
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!((code, verdicts(&document)), (4, vec!["unit: unmeasured".to_owned()]));
    // Another check ran them.
    let all = "{name: all, command: [echo, === 3 passed in 1.00s ===]}";
    options(&sandbox, &format!("    checks: [{{name: unit, command: [cat, said.txt]}}, {all}]\n"));
    let (code, document) = checks(&sandbox, &[]);
    assert_eq!((code, verdicts(&document)), (0, vec!["unit: clean".into(), "all: clean".into()]));
}

fn text_of_first(document: &Value) -> String {
    text(&document["findings"][0], "message").to_owned()
}
