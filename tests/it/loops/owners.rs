//! Ownership of a loop: sessions, worktrees, folders, and sessions that resume.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{DIRTY, FIXED, blocked, looping, project, start, status, stop};
use crate::support::{Output, SESSION, Sandbox, finish};

const OTHER: &str = "11111111-0000-4000-8000-000000000000";

/// A Stop of a session in a folder.
fn stop_of(sandbox: &Sandbox, session: &str, folder: &Path) -> Output {
    let mut input = sandbox.payload("Stop");
    input["session_id"] = session.into();
    input["cwd"] = json!(folder);
    let mut command = sandbox.program();
    finish(command.args(["hook", "stop"]).current_dir(folder), &input.to_string())
}

fn status_of(sandbox: &Sandbox, session: &str) -> Value {
    sandbox.run(&["loop", "status", "--session", session, "--json"]).json()
}

#[test]
fn two_sessions_of_one_project_have_loops_of_their_own() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let second = ["loop", "start", "--session", OTHER, "--prompt", "other work", "--json"];
    assert_eq!(sandbox.run(&second).code, 0);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    assert!(blocked(&stop_of(&sandbox, OTHER, &sandbox.root())).is_some());
    assert_eq!(sandbox.run(&["loop", "cancel", "--session", OTHER]).code, 0);
    assert_eq!(blocked(&stop_of(&sandbox, OTHER, &sandbox.root())), None);
    assert!(stop(&sandbox, "finished").is_some(), "the other one goes on");
    assert_eq!(status_of(&sandbox, SESSION)["status"], "running");
    assert_eq!(status_of(&sandbox, OTHER)["status"], "cancelled");
}

#[test]
fn a_loop_holds_its_session_in_any_folder_of_the_root() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    sandbox.write("deep/er/note.txt", "x\n");
    let held = blocked(&stop_of(&sandbox, SESSION, &sandbox.path("deep/er")));
    assert!(held.is_some_and(|reason| reason.contains("app.py:1:9")));
}

#[test]
fn the_session_is_held_after_it_went_elsewhere_also_where_no_host_names_the_project() {
    let mut sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    let elsewhere = sandbox.base().join("elsewhere");
    fs::create_dir(&elsewhere).expect("the sandbox is writable");
    assert!(blocked(&stop_of(&sandbox, SESSION, &elsewhere)).is_some());
    assert_eq!(blocked(&stop_of(&sandbox, OTHER, &elsewhere)), None);
    sandbox.set("CLAUDE_PROJECT_DIR", sandbox.root());
    assert!(blocked(&stop_of(&sandbox, SESSION, &elsewhere)).is_some());
}

#[test]
fn a_worktree_has_loops_of_its_own_and_one_list_shows_all() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let worktree = sandbox.base().join("worktree");
    let mut git = Command::new("git");
    sandbox.prepare(&mut git);
    let added = finish(git.args(["worktree", "add", "-q", "-b", "side"]).arg(&worktree), "");
    assert_eq!(added.code, 0, "{added:#?}");
    sandbox.write("app.py", DIRTY);
    let held = blocked(&stop_of(&sandbox, SESSION, &worktree));
    assert!(held.is_some_and(|reason| reason.contains("app.py:1:9")), "its loop is elsewhere");
    let mut command = sandbox.program();
    command.current_dir(&worktree).args(["loop", "start", "--session", SESSION, "--prompt", "x"]);
    let begun = finish(&mut command, "");
    assert_eq!(begun.code, 0, "{begun:#?}");
    fs::write(worktree.join("app.py"), DIRTY).expect("the worktree is ours");
    assert!(blocked(&stop_of(&sandbox, SESSION, &worktree)).is_some());
    let all = sandbox.run(&["loop", "history", "--all", "--json"]).json();
    assert_eq!(all["loops"].as_array().map(Vec::len), Some(2), "{all}");
}

#[test]
fn an_unclaimed_loop_belongs_to_the_first_session_that_shows_up() {
    let sandbox = project();
    let begun = sandbox.run(&["loop", "start", "--prompt", "fix it", "--json"]);
    assert_eq!(begun.json()["session_id"], Value::Null);
    sandbox.write("app.py", DIRTY);
    assert_eq!(blocked(&stop_of(&sandbox, "", &sandbox.root())), None, "an empty id owns nothing");
    let prompt = sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    assert!(prompt.context().contains("fix it"), "{prompt:#?}");
    assert_eq!(status(&sandbox)["session_id"], SESSION);
    assert_eq!(blocked(&stop_of(&sandbox, OTHER, &sandbox.root())), None);
    assert!(stop(&sandbox, "finished").is_some());
}

#[test]
fn after_compaction_and_when_it_is_resumed_the_session_is_told_where_it_stands() {
    let sandbox = looping(&["--completion-promise", "DONE", "--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    let mut input = sandbox.payload("SessionStart-compact");
    for source in ["compact", "resume"] {
        input["source"] = source.into();
        let told = sandbox.hook("session-start", &input).context();
        for part in ["iteration 2 of 5", "fix it", "<promise>DONE</promise>", "Last Stop: 1 error"]
        {
            assert!(told.contains(part), "{source}: {part} is not in {told}");
        }
    }
    input["session_id"] = OTHER.into();
    assert_eq!(sandbox.hook("session-start", &input).context(), "");
    assert_eq!(sandbox.run(&["loop", "pause"]).code, 0);
    input["session_id"] = SESSION.into();
    let told = sandbox.hook("session-start", &input).context();
    assert!(told.contains("is paused") && !told.contains("is active"), "{told}");
}

#[test]
fn a_session_that_ended_and_came_back_still_has_its_loop() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    sandbox.hook("session-end", &sandbox.payload("SessionEnd"));
    sandbox.run(&["daemon", "stop"]);
    assert!(stop(&sandbox, "finished").is_some());
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_second_start_in_another_session_is_nobody_elses_business() {
    let sandbox = looping(&["--max-iterations", "5"]);
    assert_eq!(start(&sandbox, &[]).code, 1);
    let unclaimed = ["loop", "start", "--prompt", "later"];
    assert_eq!(sandbox.run(&unclaimed).code, 0);
    assert_eq!(sandbox.run(&unclaimed).code, 1, "one at a time waits for a session");
}
