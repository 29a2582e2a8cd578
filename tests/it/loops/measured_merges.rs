//! Only measured commits are merged: one that is made during a merge, on either branch, is neither lost nor
//! merged unmeasured.

use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::crashes::stop_beside;
use super::killed_merges::{release, wait_for_run, waiting};
use super::{
    DIRTY, FIXED, beside, blocked, commit_in, git, git_hook, git_in, project, start, status, stop,
};
use crate::support::{Sandbox, write_file};

/// An autonomous loop with a commit; returns its branch.
fn working(sandbox: &Sandbox) -> String {
    let begun = start(sandbox, &["--mode", "autonomous", "--no-research"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    commit_in(sandbox, &sandbox.root(), "a better word");
    git(sandbox, &["branch", "--show-current"])
}

/// A Stop during whose merge something happens while a hook of git waits.
fn stop_while(sandbox: &Sandbox, hook: &str, meanwhile: impl FnOnce()) {
    git_hook(sandbox, hook, &waiting(sandbox, 1));
    let stopping = stop_beside(sandbox);
    wait_for_run(sandbox, 1);
    meanwhile();
    write_file(&release(sandbox), "");
    let output = stopping.join().expect("the hook ends");
    let reason = blocked(&output).expect("nobody measured what is there now");
    assert!(reason.contains("changed after they were measured"), "{reason}");
    assert_eq!(status(sandbox)["status"], "running");
}

#[test]
fn a_commit_in_the_middle_of_a_merge_is_measured_before_anything_is_merged() {
    let sandbox = project();
    let branch = working(&sandbox);
    let main = git(&sandbox, &["rev-parse", "main"]);
    stop_while(&sandbox, "pre-merge-commit", || {
        sandbox.write("late.py", DIRTY);
        commit_in(&sandbox, &sandbox.root(), "late");
    });
    assert_eq!(git(&sandbox, &["rev-parse", "main"]), main);
    let reason = stop(&sandbox, "finished").expect("the late commit is dirty");
    assert!(reason.contains("late.py") && reason.contains("bad word"), "{reason}");
    sandbox.write("late.py", FIXED);
    commit_in(&sandbox, &sandbox.root(), "mended");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
    assert_eq!(git(&sandbox, &["show", "main:late.py"]), FIXED.trim());
    assert_eq!(git(&sandbox, &["branch", "--show-current"]), branch);
}

/// The base has moved, so that the branch is rebased.
fn with_a_base_that_moved(sandbox: &Sandbox) {
    let others = beside(sandbox);
    write_file(&others.join("theirs.py"), "theirs = 1\n");
    commit_in(sandbox, &others, "others");
}

#[test]
fn a_commit_in_the_middle_of_a_rebase_stays_on_the_branch() {
    let sandbox = project();
    let branch = working(&sandbox);
    with_a_base_that_moved(&sandbox);
    stop_while(&sandbox, "pre-rebase", || {
        sandbox.write("late.py", FIXED);
        commit_in(&sandbox, &sandbox.root(), "late");
    });
    assert_eq!(sandbox.read("late.py"), FIXED);
    assert_eq!(git(&sandbox, &["log", "-1", "--format=%s", &branch]), "late");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
    assert_eq!(git(&sandbox, &["show", "main:late.py"]), FIXED.trim());
}

#[test]
fn another_branch_that_is_checked_out_meanwhile_is_left_alone() {
    let sandbox = project();
    let branch = working(&sandbox);
    with_a_base_that_moved(&sandbox);
    let before = git(&sandbox, &["rev-parse", &branch]);
    let mut other = String::new();
    stop_while(&sandbox, "pre-rebase", || {
        git(&sandbox, &["switch", "-q", "-c", "other", "main"]);
        sandbox.write("other.py", FIXED);
        other = commit_in(&sandbox, &sandbox.root(), "other work");
    });
    assert_eq!(git(&sandbox, &["rev-parse", "other", &branch]), format!("{other}\n{before}"));
    assert_eq!(git(&sandbox, &["branch", "--show-current"]), "other");
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    assert_eq!(sandbox.read("other.py"), FIXED);
}

#[test]
fn a_new_file_with_an_old_time_is_asked_for() {
    let sandbox = project();
    working(&sandbox);
    sandbox.write("helper.py", FIXED);
    let file = File::options().write(true).open(sandbox.path("helper.py")).expect("ours");
    file.set_modified(UNIX_EPOCH + Duration::from_hours(24 * 365)).expect("ours");
    let reason = stop(&sandbox, "finished").expect("a file is missing in the commit");
    assert!(reason.contains("helper.py"), "{reason}");
    assert_eq!(status(&sandbox)["status"], json!("running"));
    commit_in(&sandbox, &sandbox.root(), "helper");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(git(&sandbox, &["show", "main:helper.py"]), FIXED.trim());
}

#[test]
fn a_file_of_the_user_that_git_ignores_is_not_written_over() {
    let sandbox = project();
    sandbox.write(".gitignore", ".env\n");
    sandbox.commit();
    working(&sandbox);
    sandbox.write(".env", "KEY=mine\n");
    let others = beside(&sandbox);
    write_file(&others.join(".env"), "KEY=theirs\n");
    git_in(&sandbox, &others, &["add", "-f", ".env"]);
    commit_in(&sandbox, &others, "others");
    let reason = stop(&sandbox, "finished").expect("the base has a file of that name");
    assert!(reason.contains(".env"), "{reason}");
    assert_eq!(sandbox.read(".env"), "KEY=mine\n");
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    std::fs::rename(sandbox.path(".env"), sandbox.base().join("aside")).expect("ours");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(sandbox.read(".env"), "KEY=theirs\n");
}

#[test]
fn a_hook_that_fails_after_a_checkout_stands_in_nobodys_way() {
    let sandbox = project();
    git_hook(&sandbox, "post-checkout", "echo 'git-lfs was not found' >&2\nexit 2");
    let branch = working(&sandbox);
    assert!(branch.starts_with("gulf/auto-"), "{branch}");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
    assert_eq!(git(&sandbox, &["show", "main:app.py"]), FIXED.trim());
    git(&sandbox, &["branch", "other", "main"]);
    let options = ["--mode", "autonomous", "--no-research", "--workers", "2"];
    let begun = start(&sandbox, &[&options[..], &["--base-branch", "other"]].concat());
    assert_eq!(begun.code, 0, "{begun:#?}");
    assert_eq!(git(&sandbox, &["worktree", "list"]).lines().count(), 3);
}
