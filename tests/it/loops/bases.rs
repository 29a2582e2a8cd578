//! The change of an autonomous loop after its base has moved: all of the loop's own work, and none of other
//! people's.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::judged::{judge, prompts, says};
use super::{
    DIRTY, FEWER, FIXED, TESTS, beside, commit_in, git, git_in, project, shell, start, status, stop,
};
use crate::support::{Sandbox, write_file};
const TEST: &str = "tests/test_app.py";

/// An autonomous loop with a commit, and a worktree of its base where other people work.
fn working(prepare: impl FnOnce(&Sandbox)) -> (Sandbox, PathBuf) {
    let sandbox = project();
    sandbox.write(TEST, TESTS);
    prepare(&sandbox);
    sandbox.commit();
    let options = ["--mode", "autonomous", "--no-research", "--until", "diagnostics"];
    let begun = start(&sandbox, &options);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    commit_in(&sandbox, &sandbox.root(), "a better word");
    let others = beside(&sandbox);
    (sandbox, others)
}

/// Other people remove a test and leave an error, in files that the loop has not touched.
fn others_move(sandbox: &Sandbox, folder: &Path) {
    write_file(&folder.join(TEST), FEWER);
    write_file(&folder.join("theirs.py"), DIRTY);
    commit_in(sandbox, folder, "others");
}

#[test]
fn what_others_did_on_the_base_is_not_held_against_the_loop() {
    for how in [&["rebase", "-q", "main"][..], &["merge", "-q", "--no-edit", "main"]] {
        let (sandbox, others) = working(|_| ());
        others_move(&sandbox, &others);
        git(&sandbox, how);
        assert_eq!(stop(&sandbox, "finished"), None, "{how:?}");
        let ended = status(&sandbox);
        assert_eq!(ended["status"], "completed", "{how:?}: {ended:#}");
        assert_eq!(git(&sandbox, &["show", "main:app.py"]), FIXED.trim());
    }
}

#[test]
fn what_was_pulled_is_not_held_against_it_either() {
    let (sandbox, others) = working(|_| ());
    let remote = sandbox.base().join("remote.git");
    let at = remote.to_str().expect("a path");
    git(&sandbox, &["clone", "-q", "--bare", ".", at]);
    git(&sandbox, &["remote", "add", "origin", at]);
    git_in(&sandbox, &others, &["switch", "-q", "--detach"]);
    others_move(&sandbox, &others);
    git_in(&sandbox, &others, &["push", "-q", "origin", "HEAD:main"]);
    git(&sandbox, &["pull", "-q", "--rebase", "origin", "main"]);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn its_own_changes_still_count_after_a_rebase() {
    let (sandbox, others) = working(|_| ());
    is_held_after_a_rebase(&sandbox, &others);
}

/// Other people move the base, the loop drops a test and is rebased.
fn is_held_after_a_rebase(sandbox: &Sandbox, others: &Path) {
    write_file(&others.join("theirs.py"), "theirs = 1\n");
    commit_in(sandbox, others, "others");
    sandbox.write("app.py", FIXED);
    shell(sandbox, || {
        sandbox.write(TEST, FEWER);
        commit_in(sandbox, &sandbox.root(), "fewer tests");
        git(sandbox, &["rebase", "-q", "main"]);
    });
    let reason = stop(sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)") && reason.contains("test_empty"), "{reason}");
}

/// A loop whose agent switched to the base, dropped a test there and switched back.
fn committed_on_the_base() -> Sandbox {
    let (sandbox, others) = working(|_| ());
    let branch = git(&sandbox, &["branch", "--show-current"]);
    git_in(&sandbox, &others, &["switch", "-q", "--detach"]);
    shell(&sandbox, || {
        git(&sandbox, &["switch", "-q", "main"]);
        sandbox.write(TEST, FEWER);
        commit_in(&sandbox, &sandbox.root(), "fewer tests");
        git(&sandbox, &["switch", "-q", &branch]);
    });
    sandbox
}

#[test]
fn a_commit_of_its_own_on_the_base_still_counts() {
    // On the base itself.
    let sandbox = committed_on_the_base();
    shell(&sandbox, || drop(git(&sandbox, &["rebase", "-q", "main"])));
    let reason = stop(&sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)") && reason.contains("test_empty"), "{reason}");
    // The same when the merge rebases.
    let sandbox = committed_on_the_base();
    let reason = stop(&sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)") && reason.contains("test_empty"), "{reason}");
    assert_eq!(status(&sandbox)["status"], "running");
    // On the branch, and the base moved to it.
    let (sandbox, others) = working(|_| ());
    git_in(&sandbox, &others, &["switch", "-q", "--detach"]);
    sandbox.tool_write(TEST, FEWER);
    commit_in(&sandbox, &sandbox.root(), "fewer tests");
    git(&sandbox, &["branch", "-f", "main", "HEAD"]);
    let reason = stop(&sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)") && reason.contains("test_empty"), "{reason}");
}

#[test]
fn after_checks_failed_on_the_rebased_branch_the_next_stop_blames_nobody_else() {
    let (sandbox, others) = working(|sandbox| {
        super::autochecks(sandbox, "! test -f theirs.py || grep -q more app.py");
    });
    others_move(&sandbox, &others);
    let reason = stop(&sandbox, "finished").expect("the check fails on the present base");
    assert!(reason.contains("now includes the current main"), "{reason}");
    assert!(reason.contains("Check failed: .claude/autochecks.sh"), "{reason}");
    sandbox.write("app.py", &format!("{FIXED}more = 1\n"));
    commit_in(&sandbox, &sandbox.root(), "more");
    assert_eq!(stop(&sandbox, "finished"), None);
    let ended = status(&sandbox);
    assert_eq!((&ended["status"], &ended["iteration"]), (&json!("completed"), &json!(2)));
}

#[test]
fn without_a_branch_of_its_own_nothing_is_left_out() {
    let sandbox = project();
    sandbox.write(TEST, TESTS);
    sandbox.commit();
    git(&sandbox, &["switch", "-q", "-c", "side"]);
    assert_eq!(start(&sandbox, &[]).code, 0);
    is_held_after_a_rebase(&sandbox, &beside(&sandbox));
}

#[test]
fn the_judge_is_shown_what_the_loop_did_and_not_what_others_did() {
    let (sandbox, others) = working(|sandbox| {
        let options = "ralph: {judge: {backend: command, command: [ask-model]}}\n";
        sandbox.write(".moai/config/sections/ralph.yaml", options);
        sandbox.write("RUBRIC.md", "## Judge criteria\n- The word is sensible.\n");
        judge(sandbox);
        says(sandbox, "met");
    });
    others_move(&sandbox, &others);
    git(&sandbox, &["rebase", "-q", "main"]);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
    let shown = prompts(&sandbox);
    assert!(shown.contains(FIXED.trim()), "{shown}");
    assert!(!shown.contains("theirs.py") && !shown.contains("test_empty"), "{shown}");
    assert!(fs::metadata(sandbox.path("theirs.py")).is_ok());
}
