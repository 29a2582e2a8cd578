//! The worktrees of finished workers are removed only if no work is lost.

use std::fs;

use super::workers::{Worker, workers};
use super::{FIXED, blocked, commit_in, git, git_in, start};
use crate::support::{Sandbox, write_file};

/// A worker that has finished its work.
fn finish(sandbox: &Sandbox, worker: &Worker, number: usize) {
    write_file(&worker.root.join(format!("own{number}.py")), FIXED);
    commit_in(sandbox, &worker.root, "work");
    assert_eq!(blocked(&worker.hook(sandbox, "stop", "Stop")), None);
    assert_eq!(worker.status(sandbox)["status"], "completed");
}

fn more_workers(sandbox: &Sandbox) {
    let options = ["--mode", "autonomous", "--no-research", "--workers", "1"];
    let begun = start(sandbox, &options);
    assert_eq!(begun.code, 0, "{begun:#?}");
}

#[test]
fn what_only_a_work_tree_holds_keeps_it() {
    let (sandbox, workers) = workers(5);
    for (number, worker) in workers.iter().enumerate() {
        finish(&sandbox, worker, number);
    }
    sandbox.write(".git/info/exclude", ".env\n/data/\n__pycache__/\n");
    let files = [".claude/agents/x.md", "decisions.md", "progress.txt", ".env", "data/kept.db"];
    for name in files {
        write_file(&workers[0].root.join(name), "mine\n");
    }
    let detached = &workers[1].root;
    git_in(&sandbox, detached, &["switch", "-q", "--detach"]);
    write_file(&detached.join("more.py"), FIXED);
    let commit = commit_in(&sandbox, detached, "on no branch");
    let locked = &workers[2].root;
    git_in(&sandbox, locked, &["worktree", "lock", "."]);
    write_file(&workers[3].root.join("__pycache__/own.pyc"), "made again\n");
    more_workers(&sandbox);
    for name in files {
        let text = fs::read_to_string(workers[0].root.join(name)).unwrap_or_default();
        assert_eq!(text, "mine\n", "{name}");
    }
    assert_eq!(git_in(&sandbox, detached, &["rev-parse", "HEAD"]), commit);
    assert!(locked.join("own2.py").is_file(), "it is locked");
    for worker in &workers[3..] {
        assert!(!worker.root.exists(), "{} holds nothing", worker.root.display());
    }
    assert_eq!(git(&sandbox, &["worktree", "list"]).lines().count(), 5);
}

#[test]
fn a_worker_that_can_go_on_keeps_its_tree() {
    let (sandbox, workers) = workers(1);
    let root = workers[0].root.to_str().expect("a path");
    let cancelled = sandbox.run(&["--root", root, "loop", "cancel"]);
    assert_eq!(cancelled.code, 0, "{cancelled:#?}");
    more_workers(&sandbox);
    assert!(workers[0].root.join("app.py").is_file());
}
