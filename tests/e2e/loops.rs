//! Loops in the host from their start to each of their ends: held, judged, merged, refused,
//! stopped, restored, cancelled.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::host::{Run, checkout, resume, run};
use crate::model::Turn;
use crate::support::{Sandbox, finish, write_file};

const TESTS: &str = "from cart import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n\n\n\
    def test_empty():\n    assert total([]) == 0\n";
const FEWER: &str = "from cart import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n";

/// A project whose own check requires `good` in `word.txt`, and prints the actual text otherwise.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let check = "#!/bin/sh\ngrep -q good word.txt || { echo \"found $(cat word.txt)\"; exit 1; }\n";
    sandbox.write(".claude/autochecks.sh", check);
    executable(&sandbox.path(".claude/autochecks.sh"));
    sandbox.write("word.txt", "good\n");
    sandbox.commit();
    sandbox
}

fn executable(path: &std::path::Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

/// The host with a slash command that starts a loop.
fn play(sandbox: &Sandbox, options: &str, turns: Vec<Turn>) -> Run {
    let run = run(sandbox, checkout(), &format!("/moai-ralph:moai-loop {options}"), turns);
    run.assert_finished();
    run.assert_first_told_in(1, "[moai-ralph] loop ");
    run
}

/// The agent writes each word and claims to be done.
fn says(sandbox: &Sandbox, words: &[&str]) -> Vec<Turn> {
    let turns = words.iter().flat_map(|word| {
        [Turn::write(&sandbox.path("word.txt"), &format!("{word}\n")), Turn::text("finished")]
    });
    turns.collect()
}

fn status(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["loop", "status", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

/// The loop of the sandbox has this status, after so many counted Stops.
fn assert_ended(run: &Run, sandbox: &Sandbox, expected: &str, iterations: u64) {
    let status = status(sandbox);
    if (&status["status"], &status["iteration"]) != (&json!(expected), &json!(iterations)) {
        run.fail(&format!("the loop is not {expected} after {iterations}: {status:#}"));
    }
}

fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    sandbox.prepare(&mut command);
    let output = finish(command.args(arguments), "");
    assert_eq!(output.code, 0, "{arguments:?}: {output:#?}");
    output.stdout
}

#[test]
fn a_basic_one_is_held_until_the_check_passes() {
    let sandbox = project();
    let run = play(&sandbox, "fix it --until checks", says(&sandbox, &["bad", "very good"]));
    run.assert_first_told_in(3, "Stop hook feedback");
    run.assert_first_told_in(3, "found bad");
    assert_eq!(run.model.requests().len(), 4, "{}", run.model.transcript());
    assert_ended(&run, &sandbox, "completed", 2);
}

/// A script of the agent that plays a Stop twice: as a child of its shell, and in the place of it.
const PLAY: &str = r#"
session=$("$MOAI_RALPH_BIN" loop status --json | sed -n 's/.*"session_id": *"\([^"]*\)".*/\1/p')
cd "$(dirname "$0")"
printf '{"session_id":"%s","hook_event_name":"Stop","cwd":"%s/project"}' "$session" "$PWD" >stop.json
"$MOAI_RALPH_BIN" hook stop <stop.json >answers
exec "$MOAI_RALPH_BIN" hook stop <stop.json >>answers
"#;

#[test]
fn a_stop_that_a_script_of_the_agent_plays_is_ignored_and_named() {
    let sandbox = project();
    let script = sandbox.base().join("play.sh");
    write_file(&script, PLAY);
    let turns = vec![
        Turn::write(&sandbox.path("word.txt"), "very good\n"),
        Turn::bash(&format!("exec sh {}", script.display())),
        Turn::text("finished"),
    ];
    let run = play(&sandbox, "fix it --until checks", turns);
    assert_ended(&run, &sandbox, "completed", 1);
    let hosts = fs::read_to_string(sandbox.base().join("state/hosts/hosts.json"));
    let report = sandbox.run(&["loop", "report"]).stdout;
    let ignored = "hook events ignored, because the host did not send them: Stop (2)";
    assert!(report.contains(ignored), "{report}\n{hosts:?}");
    let answers = fs::read_to_string(sandbox.base().join("answers")).expect("the script ran");
    assert_eq!(answers, "");
}

/// A judge as a program: it finds the criterion met when the change greets, by quoting it.
const JUDGE: &str = r#"#!/bin/sh
prompt=$(cat)
nonce=$(printf '%s\n' "$prompt" | sed -n 's/^<evidence \([0-9a-f]*\)>$/\1/p')
quote=$(printf '%s\n' "$prompt" | sed -n 's/^+ *[0-9]*| \(hello .*\)$/\1/p')
rulings=$(printf '%s\n' "$prompt" | sed -n 's/^\(C[0-9]*\): /\1 /p' | while read -r id text; do
  verdict=unmet evidence=
  case $text in *greeted*)
    [ "$quote" ] && verdict=met evidence="{\"path\":\"word.txt\",\"line_start\":1,\"line_end\":1,\"quote\":\"$quote\"}" ;;
  esac
  printf '%s{"id":"%s","verdict":"%s","evidence":[%s],"reason":"as it is","fix_hint":null}' "$comma" "$id" "$verdict" "$evidence"
  comma=,
done)
printf '{"schema":1,"nonce":"%s","criteria":[%s],"suspicions":[],"unread":[],"confidence":0.9}' "$nonce" "$rulings"
"#;

#[test]
fn a_judged_one_is_rejected_once_and_then_approved() {
    let sandbox = project();
    let program = sandbox.base().join("bin/ask-model");
    write_file(&program, JUDGE);
    executable(&program);
    let options = "ralph: {judge: {backend: command, command: [ask-model]}}\n";
    sandbox.write(".moai/config/sections/ralph.yaml", options);
    sandbox.write("RUBRIC.md", "## Judge criteria\n- People are greeted.\n");
    sandbox.commit();
    let turns = says(&sandbox, &["good bye", "hello good people"]);
    let run = play(&sandbox, "greet people --mode judge --no-research", turns);
    run.assert_first_told_in(3, "The judge did not approve");
    run.assert_first_told_in(3, "People are greeted");
    assert_eq!(run.model.requests().len(), 4, "{}", run.model.transcript());
    assert_ended(&run, &sandbox, "completed", 2);
    assert!(sandbox.read("JUDGE_FEEDBACK.md").contains("REJECTED"));
}

#[test]
fn an_autonomous_one_is_merged_from_its_own_branch() {
    let sandbox = project();
    let turns = vec![
        Turn::write(&sandbox.path("word.txt"), "as good as it gets\n"),
        Turn::text("finished"),
        Turn::bash("git add -A && git commit -q -m 'Say it better'"),
        Turn::text("committed"),
    ];
    let run = play(&sandbox, "say it better --mode autonomous --no-research", turns);
    run.assert_first_told_in(3, "Stop hook feedback");
    run.assert_first_told_in(3, "is not merged into main yet");
    assert_ended(&run, &sandbox, "completed", 2);
    let branch = status(&sandbox)["branch"].as_str().expect("a branch of its own").to_owned();
    assert_eq!(git(&sandbox, &["show", "main:word.txt"]), "as good as it gets\n");
    let merge = git(&sandbox, &["log", "--merges", "--format=%s", "main"]);
    assert_eq!(merge, format!("Merge branch '{branch}' into main\n"));
}

#[test]
fn a_gaming_one_is_refused_and_then_ended() {
    let sandbox = Sandbox::new();
    sandbox.fake_server("pyright-langserver", json!({}));
    sandbox.write("cart.py", "def total(items):\n    return sum(items)\n");
    sandbox.write("tests/test_cart.py", TESTS);
    sandbox.commit();
    let turns = vec![
        Turn::write(&sandbox.path("tests/test_cart.py"), FEWER),
        Turn::text("finished"),
        Turn::write(&sandbox.path("cart.py"), "def total(items):\n    return sum(list(items))\n"),
        Turn::text("finished"),
    ];
    let run = play(&sandbox, "make the tests pass", turns);
    run.assert_first_told_in(3, "guard(G01)");
    run.assert_first_told_in(3, "test_empty");
    assert_ended(&run, &sandbox, "gaming", 2);
}

#[test]
fn one_that_gets_nowhere_is_ended() {
    let sandbox = project();
    let mut turns = says(&sandbox, &["bad"]);
    // The same words within `STOP_REPEAT_MS_MAX`, before the host has written its transcript, would be a
    // second delivery of the same Stop. Only a scripted model answers that fast.
    turns.extend(["still finished", "it is finished", "really finished"].map(Turn::text));
    let run = play(&sandbox, "fix it --until checks --max-iterations 20", turns);
    run.assert_first_told_in(5, "Take another approach");
    assert_ended(&run, &sandbox, "stalled", 4);
}

#[test]
fn one_that_goes_back_and_forth_is_ended_and_its_best_state_comes_back() {
    let sandbox = Sandbox::new();
    let errors = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.commit();
    let (better, worse) = ("word = 'BAD'\n", "word = 'BAD' + 'BAD'\n");
    let turns = [better, worse, better, worse]
        .into_iter()
        .flat_map(|text| [Turn::write(&sandbox.path("app.py"), text), Turn::text("finished")]);
    let run = play(&sandbox, "fix it --max-iterations 20", turns.collect());
    run.assert_first_told_in(5, "This is worse than iteration 1 (");
    run.assert_first_told_in(7, "Back at the problems or the files of iteration 1");
    assert_ended(&run, &sandbox, "oscillating", 4);
    let id = status(&sandbox)["id"].as_str().expect("a loop has an id").to_owned();
    let preview = sandbox.run(&["loop", "restore", &id, "--to", "best"]);
    assert!(preview.code == 0 && preview.stdout.contains("app.py"), "{preview:#?}");
    assert_eq!(sandbox.read("app.py"), worse);
    let restored = sandbox.run(&["loop", "restore", &id, "--to", "best", "--apply"]);
    assert_eq!(restored.code, 0, "{restored:#?}");
    assert_eq!(sandbox.read("app.py"), better);
}

/// A loop that is not done and whose session has ended: the host's cap let the turn end.
fn interrupted() -> (Sandbox, String) {
    let mut sandbox = project();
    sandbox.set("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "1");
    let mut turns = says(&sandbox, &["bad"]);
    turns.push(Turn::text("no idea"));
    let run = play(&sandbox, "fix it --until checks --max-iterations 9", turns);
    assert_ended(&run, &sandbox, "running", 2);
    let session = run.session_id();
    (sandbox, session)
}

#[test]
fn only_the_session_that_owns_one_is_held() {
    let (sandbox, owner) = interrupted();
    let other = run(&sandbox, checkout(), "have a look", vec![Turn::text("looked")]);
    other.assert_finished();
    assert_ne!(other.session_id(), owner);
    assert_eq!(other.model.requests().len(), 1, "{}", other.model.transcript());
    assert_ended(&other, &sandbox, "running", 2);
    let mut turns = vec![Turn::text("I am back")];
    turns.extend(says(&sandbox, &["good again"]));
    let back = resume(&sandbox, &owner, "go on", turns);
    back.assert_finished();
    assert_eq!(back.session_id(), owner);
    back.assert_first_told_in(1, "iteration 3 of 9");
    assert_ended(&back, &sandbox, "completed", 4);
}

#[test]
fn one_is_cancelled_in_the_middle() {
    let (sandbox, session) = interrupted();
    let turns = vec![Turn::text("It is cancelled.")];
    let cancelled = resume(&sandbox, &session, "/moai-ralph:cancel-loop", turns);
    cancelled.assert_finished();
    cancelled.assert_first_told_in(1, "was cancelled");
    assert_eq!(cancelled.model.requests().len(), 1, "{}", cancelled.model.transcript());
    assert_ended(&cancelled, &sandbox, "cancelled", 2);
    assert_eq!(sandbox.read("word.txt"), "bad\n");
    let after = resume(&sandbox, &session, "and now?", vec![Turn::text("nothing")]);
    after.assert_finished();
    assert_eq!(after.model.requests().len(), 1, "{}", after.model.transcript());
}
