//! The loop marker, a second record outside the store: the user is notified when the two disagree.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::crashes::{daemon, kill};
use super::escapes::database;
use super::{DIRTY, FIXED, blocked, git, looping, notice, project, start, status, stop};
use crate::support::{Output, SESSION, Sandbox, finish};

const MARKS: &str = ".git/moai-ralph/loops";

fn raw_stop(sandbox: &Sandbox) -> Output {
    sandbox.hook("stop", &sandbox.payload("Stop"))
}

fn loop_id(sandbox: &Sandbox) -> String {
    status(sandbox)["id"].as_str().expect("a loop has an id").to_owned()
}

/// The marks in a folder.
fn marks(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect()
}

/// Changes that the agent's shell makes to the store.
fn sql(sandbox: &Sandbox, statement: &str) {
    let connection = rusqlite::Connection::open(database(sandbox)).expect("a database");
    connection.execute_batch(statement).expect("it is not locked for long");
}

fn assert_lets_go(output: &Output) -> String {
    assert_eq!(blocked(output), None, "{output:#?}");
    notice(output)
}

#[test]
fn a_removed_state_folder_is_told_once_and_holds_nobody() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let id = loop_id(&sandbox);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    kill(daemon(&sandbox));
    fs::remove_dir_all(sandbox.base().join("state")).expect("there");
    let told = assert_lets_go(&raw_stop(&sandbox));
    for part in [&id, "1 of 5 iterations done", "store.db", "moai-ralph loop start", "loop forget"]
    {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    assert_eq!(raw_stop(&sandbox).stdout, "", "it is said once");
    let forgotten = sandbox.run(&["loop", "forget", &id]);
    assert_eq!(forgotten.code, 0, "{forgotten:#?}");
    assert_eq!(sandbox.run(&["loop", "forget", &id]).code, 1);
    kill(daemon(&sandbox));
    assert_eq!(raw_stop(&sandbox).stdout, "", "the mark is gone");
}

#[test]
fn a_removed_row_is_told_at_the_next_prompt_and_when_the_session_is_resumed() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let id = loop_id(&sandbox);
    sql(&sandbox, "DELETE FROM loops");
    let prompt = sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    assert!(notice(&prompt).contains(&id), "{prompt:#?}");
    assert_eq!(raw_stop(&sandbox).stdout, "", "the session knows it");
    let mut resumed = sandbox.payload("SessionStart-compact");
    resumed["source"] = "resume".into();
    resumed["session_id"] = "22222222-0000-4000-8000-000000000000".into();
    let output = sandbox.hook("session-start", &resumed);
    assert!(notice(&output).contains(&id), "{output:#?}");
}

#[test]
fn a_new_loop_of_the_session_takes_the_place_of_a_lost_one() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sql(&sandbox, "DELETE FROM loops");
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    assert_eq!(marks(&sandbox.path(MARKS)).len(), 1);
    sandbox.write("app.py", DIRTY);
    let output = raw_stop(&sandbox);
    assert!(blocked(&output).is_some(), "{output:#?}");
    assert_eq!(output.json()["systemMessage"], Value::Null, "{output:#?}");
}

#[test]
fn a_forged_end_is_told() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    let forged = "UPDATE loops SET status = 'completed',
                  state = json_set(state, '$.status', 'completed')";
    sql(&sandbox, forged);
    let told = assert_lets_go(&raw_stop(&sandbox));
    let id = loop_id(&sandbox);
    for part in [&id, "it was running, 1 of 5", "is now completed, 1 of 5", "loop forget"] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    assert_eq!(sandbox.run(&["loop", "forget", &id]).code, 0);
    assert!(marks(&sandbox.path(MARKS)).is_empty());
}

#[test]
fn a_forged_limit_is_told_and_the_loop_goes_on_with_it() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    sql(&sandbox, "UPDATE loops SET state = json_set(state, '$.max_iterations', 9)");
    let output = raw_stop(&sandbox);
    assert!(blocked(&output).is_some(), "{output:#?}");
    let told = notice(&output);
    assert!(told.contains("0 of 5 iterations") && told.contains("0 of 9 iterations"), "{told}");
    let again = raw_stop(&sandbox);
    assert_eq!(again.json()["systemMessage"], Value::Null, "{again:#?}");
}

#[test]
fn a_removed_mark_is_told_once_and_written_again() {
    let sandbox = looping(&["--max-iterations", "9"]);
    sandbox.write("app.py", DIRTY);
    assert_eq!(marks(&sandbox.path(MARKS)).len(), 1);
    fs::remove_dir_all(sandbox.path(".git/moai-ralph")).expect("there");
    let output = raw_stop(&sandbox);
    assert!(blocked(&output).is_some(), "{output:#?}");
    let told = notice(&output);
    assert!(told.contains(&loop_id(&sandbox)) && told.contains(MARKS), "{told}");
    assert_eq!(marks(&sandbox.path(MARKS)).len(), 1);
    let again = raw_stop(&sandbox);
    assert_eq!(again.json()["systemMessage"], Value::Null, "{again:#?}");
}

#[test]
fn the_mark_follows_the_loop_without_a_word_and_goes_with_it() {
    let sandbox = looping(&["--max-iterations", "5", "--until", "diagnostics"]);
    let files = marks(&sandbox.path(MARKS));
    assert_eq!(files.len(), 1, "{files:?}");
    let text = fs::read_to_string(&files[0]).expect("a text");
    assert!(!text.contains("fix it"), "the task is nobody else's business: {text}");
    sandbox.write("app.py", DIRTY);
    let first = sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    assert!(first.context().contains("is active"), "the start is told: {first:#?}");
    for command in ["pause", "resume", "resume"] {
        assert_eq!(sandbox.run(&["loop", command]).code, 0);
        let prompt = sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
        assert!(prompt.stdout.is_empty(), "{prompt:#?}");
    }
    let held = raw_stop(&sandbox);
    assert!(blocked(&held).is_some());
    assert_eq!(held.json()["systemMessage"], Value::Null, "{held:#?}");
    sandbox.write("app.py", FIXED);
    let told = assert_lets_go(&raw_stop(&sandbox));
    assert!(told.contains("completed") && !told.contains("store"), "{told}");
    assert!(!sandbox.path(".git/moai-ralph").exists());
    assert_eq!(raw_stop(&sandbox).stdout, "");
    assert_eq!(start(&sandbox, &[]).code, 0);
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    assert!(!sandbox.path(".git/moai-ralph").exists());
}

#[test]
fn without_git_the_mark_is_in_the_project_and_is_no_change_of_it() {
    let sandbox = project();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    assert_eq!(start(&sandbox, &["--max-iterations", "5", "--until", "diagnostics"]).code, 0);
    assert_eq!(marks(&sandbox.path(".moai/loops")).len(), 1);
    let reason = stop(&sandbox, "finished").expect("nothing was done");
    assert!(reason.contains("No file changed"), "{reason}");
    let id = loop_id(&sandbox);
    kill(daemon(&sandbox));
    let projects = sandbox.base().join("state/projects");
    let aside = sandbox.base().join("aside");
    fs::rename(&projects, &aside).expect("ours");
    assert!(assert_lets_go(&raw_stop(&sandbox)).contains(&id));
    kill(daemon(&sandbox));
    fs::remove_dir_all(&projects).expect("ours");
    fs::rename(&aside, &projects).expect("ours");
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    assert!(!sandbox.path(".moai").exists(), "nothing is left in the project");
}

#[test]
fn another_state_folder_is_told() {
    let mut sandbox = looping(&["--max-iterations", "5"]);
    let id = loop_id(&sandbox);
    sandbox.write("app.py", DIRTY);
    sandbox.run(&["daemon", "stop"]);
    let other = sandbox.base().join("other-state");
    sandbox.set("MOAI_RALPH_HOME", &other);
    let told = assert_lets_go(&raw_stop(&sandbox));
    assert!(told.contains(&id) && told.contains("MOAI_RALPH_HOME"), "{told}");
    sandbox.run(&["daemon", "stop"]);
    sandbox.set("MOAI_RALPH_HOME", sandbox.base().join("state"));
    assert!(stop(&sandbox, "finished").is_some(), "it holds again");
}

#[test]
fn a_worktree_has_marks_of_its_own() {
    let sandbox = project();
    let worktree = sandbox.base().join("worktree");
    let at = worktree.to_str().expect("a path");
    git(&sandbox, &["worktree", "add", "-q", "-b", "side", at]);
    let mut command = sandbox.program();
    command.current_dir(&worktree).args(["loop", "start", "--session", SESSION, "--prompt", "x"]);
    assert_eq!(finish(&mut command, "").code, 0);
    assert!(marks(&sandbox.path(MARKS)).is_empty());
    assert_eq!(marks(&sandbox.path(".git/worktrees/worktree/moai-ralph/loops")).len(), 1);
    kill(daemon(&sandbox));
    fs::remove_dir_all(sandbox.base().join("state")).expect("there");
    assert_eq!(raw_stop(&sandbox).stdout, "", "no loop was lost here");
    let mut input = sandbox.payload("Stop");
    input["cwd"] = serde_json::json!(worktree);
    let mut command = sandbox.program();
    let output = finish(command.args(["hook", "stop"]).current_dir(&worktree), &input.to_string());
    assert!(assert_lets_go(&output).contains("store.db"), "{output:#?}");
}

#[test]
fn a_root_that_is_made_below_or_above_does_not_hide_the_loss() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let id = loop_id(&sandbox);
    kill(daemon(&sandbox));
    let below = sandbox.path("sub");
    fs::create_dir_all(below.join(".moai")).expect("ours");
    fs::create_dir(sandbox.base().join(".moai")).expect("ours");
    fs::remove_dir_all(sandbox.base().join("state")).expect("there");
    let mut input = sandbox.payload("Stop");
    input["cwd"] = serde_json::json!(below);
    let mut command = sandbox.program();
    let output = finish(command.args(["hook", "stop"]).current_dir(&below), &input.to_string());
    assert!(assert_lets_go(&output).contains(&id), "{output:#?}");
}

#[test]
fn the_words_are_in_the_language_of_the_task() {
    let sandbox = project();
    let begun = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "단어를 고쳐 줘"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sql(&sandbox, "DELETE FROM loops");
    let told = assert_lets_go(&raw_stop(&sandbox));
    assert!(told.contains("루프 loop-") && told.contains("moai-ralph loop forget"), "{told}");
}

/// The text of `loop report`.
fn report(sandbox: &Sandbox) -> String {
    let output = sandbox.run(&["loop", "report", &loop_id(sandbox)]);
    assert_eq!(output.code, 0, "{output:#?}");
    output.stdout
}

#[test]
fn a_change_of_the_stored_loop_stays_visible_in_its_report() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "working").is_some());
    let untouched = report(&sandbox);
    assert!(untouched.contains("records of the loop, the last one "), "{untouched}");
    assert!(!untouched.contains("outside moai-ralph"), "{untouched}");

    sql(&sandbox, "UPDATE loops SET updated_ms = updated_ms + 1");
    let changed = report(&sandbox);
    assert!(changed.contains("the stored loop was changed outside moai-ralph after"), "{changed}");
    // The next save does not cover it up.
    sandbox.write("app.py", FIXED);
    raw_stop(&sandbox);
    let later = report(&sandbox);
    assert!(later.contains("the stored loop was changed outside moai-ralph before"), "{later}");
    let document = sandbox.run(&["loop", "report", &loop_id(&sandbox), "--json"]).json();
    assert!(document["residual_risk"].to_string().contains("outside moai-ralph"), "{document:#}");
}

#[test]
fn a_removed_or_changed_record_is_named() {
    for act in [
        "DELETE FROM loop_records WHERE number = 1",
        "UPDATE loop_records SET is_after_breach = 1 WHERE number = 1",
        "UPDATE loop_records SET row = zeroblob(32) WHERE number = 2",
    ] {
        let sandbox = looping(&["--max-iterations", "5"]);
        sandbox.write("app.py", DIRTY);
        assert!(stop(&sandbox, "working").is_some());
        sql(&sandbox, act);
        let named = report(&sandbox);
        assert!(named.contains("changed or removed outside moai-ralph"), "{act}: {named}");
    }
}
