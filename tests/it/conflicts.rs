//! Merge conflicts that are not resolved: they count whatever the language of the file is.

use std::process::Command;

use serde_json::json;

use crate::support::{Output, Sandbox};

/// A loop in a project where the merge of `other` leaves a conflict in a file that no sensor covers.
fn merging() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fake_server("pyright-langserver", json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write("notes.md", "first\n");
    sandbox.commit();
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.write("notes.md", "first\nother\n");
    sandbox.commit();
    sandbox.git(&["checkout", "-q", "-"]);
    sandbox.write("notes.md", "first\nmine\n");
    sandbox.commit();
    let session = sandbox.payload("Stop")["session_id"].clone();
    let session = session.as_str().expect("a session");
    let started = sandbox.run(&["loop", "start", "--session", session, "--prompt", "merge other"]);
    assert_eq!(started.code, 0, "{started:#?}");
    sandbox.write("app.py", "word = 'better'\n");
    sandbox.git(&["add", "app.py"]);
    sandbox.git(&["commit", "-q", "-m", "work"]);
    let mut merge = Command::new("git");
    sandbox.prepare(&mut merge);
    let merged = merge.args(["merge", "-q", "other"]).output().expect("git runs");
    assert_eq!(merged.status.code(), Some(1), "there is a conflict: {merged:?}");
    sandbox
}

fn stop(sandbox: &Sandbox) -> Output {
    sandbox.hook("stop", &sandbox.payload("Stop"))
}

#[test]
fn an_unmerged_file_without_a_sensor_holds_a_stop_until_git_knows_its_resolution() {
    let sandbox = merging();
    let checked = sandbox.run(&["check", "--json"]);
    assert_eq!(checked.code, 1, "{checked:#?}");
    let report = checked.json();
    let finding = &report["findings"][0];
    assert_eq!((&finding["path"], &finding["code"]), (&json!("notes.md"), &json!("unmerged")));
    assert_eq!(finding["range"]["start"]["line"], 1, "at the first marker: {report:#}");
    let held = stop(&sandbox);
    assert!(held.stdout.contains("notes.md:2:1 git(unmerged): merge conflict"), "{held:#?}");
    sandbox.write("notes.md", "first\nmine\nother\n");
    assert!(stop(&sandbox).stdout.contains("\"block\""), "git does not know it yet");
    sandbox.commit();
    let ended = stop(&sandbox);
    assert!(ended.stdout.contains("completed after 3 iterations"), "{ended:#?}");
}

#[test]
fn a_check_of_named_paths_is_about_these_only() {
    let sandbox = merging();
    let checked = sandbox.run(&["check", "app.py", "--json"]);
    assert_eq!(checked.json()["verdict"], "clean", "{checked:#?}");
    for paths in ["notes.md", "--all"] {
        let checked = sandbox.run(&["check", paths, "--json"]);
        assert_eq!(checked.json()["verdict"], "dirty", "{checked:#?}");
    }
}

#[test]
fn a_loop_that_is_limited_to_paths_is_not_held_by_others() {
    let sandbox = merging();
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = "moai-ralph:moai-fix".into();
    input["command_args"] = "only app.py".into();
    let output = sandbox.hook("user-prompt-expansion", &input);
    assert_eq!(output.code, 0, "{output:#?}");
    let status = || sandbox.run(&["loop", "status", "--json"]).json()["status"].clone();
    assert_eq!(status(), "running");
    let stopped = stop(&sandbox);
    assert!(!stopped.stdout.contains("notes.md"), "{stopped:#?}");
    let other = sandbox.run(&["check", ".git/..", "--json"]);
    assert!(other.stdout.contains("notes.md"), "{other:#?}");
}

/// Nothing lists the changed files here, so nothing else would say so.
#[test]
fn conflicts_are_unmeasured_if_the_index_cannot_be_read() {
    let sandbox = merging();
    sandbox.write(".git/index", "damaged");
    let checked = sandbox.run(&["check", "--all", "--json"]);
    assert_eq!((checked.code, &checked.json()["verdict"]), (4, &json!("unmeasured")));
    assert!(checked.stdout.contains("merge conflicts"), "{checked:#?}");
}
