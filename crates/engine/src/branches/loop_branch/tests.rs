//! Which commits of a branch belong to its loop: those of others are excluded where that is certain,
//! its own never are.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::branches::branch_merge::{BranchMergeResult, MeasuredWork, merge_loop_branch};
use crate::branches::loop_branch::*;
use crate::restore::checkpoints;
use crate::test_project::TestProject;
use moai_loops::samples::state;

const NAME: &str = "gulf/auto-1-ab";

/// A loop on a branch of its own with a commit on it; `main` is checked out in another work tree.
struct Looping {
    place: TestProject,
    branch: LoopBranch,
    state: LoopState,
    beside: PathBuf,
}

impl Looping {
    async fn new() -> Self {
        let place = TestProject::repository(&[("a", "1\n")]);
        let start = place.git(&["rev-parse", "HEAD"]);
        let project = place.project(&place.root());
        let branch = create_branch(&project, NAME, None, 0).await.unwrap();
        let beside = place.top().join("beside");
        place.git(&["worktree", "add", "-q", beside.to_str().unwrap(), "main"]);
        let mut state = state();
        state.base = Some(start);
        state.branch = Some(NAME.to_owned());
        state.options.base_branch = Some("main".to_owned());
        let looping = Self { place, branch, state, beside };
        looping.place.commit(&[("own", "1\n")]);
        looping
    }

    /// Somebody commits on `main`.
    fn commit_beside(&self, name: &str) -> String {
        self.commit_in(&self.beside, name)
    }

    fn commit_in(&self, folder: &Path, name: &str) -> String {
        fs::write(folder.join(name), "1\n").unwrap();
        self.place.git_in(folder, &["add", "-A"]);
        self.place.git_in(folder, &["commit", "-q", "-m", name]);
        self.place.git_in(folder, &["rev-parse", "HEAD"])
    }

    fn start(&self) -> String {
        self.state.base.clone().unwrap()
    }

    async fn since(&self) -> String {
        let project = self.place.project(&self.place.root());
        loop_base_commit(&project, &self.state.charter()).await.unwrap()
    }
}

#[tokio::test]
async fn foreign_commits_are_left_out_however_they_arrived() {
    for how in [&["rebase", "-q", "main"][..], &["merge", "-q", "--no-edit", "main"]] {
        let looping = Looping::new().await;
        let first = looping.commit_beside("first");
        assert_eq!(looping.since().await, looping.start(), "it is not taken in yet");
        looping.place.git(how);
        assert_eq!(looping.since().await, first, "{how:?}");
        looping.place.commit(&[("own", "2\n")]);
        looping.place.git(&["commit", "-q", "--amend", "-m", "again"]);
        let second = looping.commit_beside("second");
        assert_eq!(looping.since().await, first, "{how:?}");
        looping.place.git(how);
        assert_eq!(looping.since().await, second, "{how:?}");
    }
}

#[tokio::test]
async fn without_own_commits_the_start_moves_with_the_base() {
    let looping = Looping::new().await;
    looping.place.git(&["reset", "-q", "--hard", &looping.start()]);
    let first = looping.commit_beside("first");
    looping.place.git(&["merge", "-q", "main"]);
    assert_eq!(looping.since().await, first);
}

#[tokio::test]
async fn commits_pulled_from_the_remote_are_foreign() {
    let looping = Looping::new().await;
    let remote = looping.place.top().join("remote.git");
    let (at, other) = (remote.to_str().unwrap(), looping.place.top().join("other"));
    looping.place.git(&["clone", "-q", "--bare", ".", at]);
    looping.place.git(&["remote", "add", "origin", at]);
    looping.place.git(&["clone", "-q", "-b", "main", at, other.to_str().unwrap()]);
    let theirs = looping.commit_in(&other, "theirs");
    looping.place.git_in(&other, &["push", "-q", "origin", "main"]);
    looping.place.git(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]);
    assert_eq!(looping.since().await, theirs);
    let more = looping.commit_in(&other, "more");
    looping.place.git_in(&other, &["push", "-q", "origin", "main"]);
    looping.place.git(&["pull", "-q", "--rebase", "origin", "main"]);
    assert_eq!(looping.since().await, more);
}

#[tokio::test]
async fn a_local_commit_counts_on_any_branch() {
    // Made on the base itself, in the work tree of the loop.
    let looping = Looping::new().await;
    looping.place.git_in(&looping.beside, &["switch", "-q", "--detach"]);
    looping.place.git(&["switch", "-q", "main"]);
    looping.place.commit(&[("sneaked", "1\n")]);
    looping.place.git(&["switch", "-q", NAME]);
    looping.place.git(&["rebase", "-q", "main"]);
    assert_eq!(looping.since().await, looping.start());
    // Made on the branch, and the base moved to it.
    for take in [&["branch", "-f", "main", NAME][..], &["push", "-q", ".", "HEAD:main"]] {
        let looping = Looping::new().await;
        looping.place.git_in(&looping.beside, &["switch", "-q", "--detach"]);
        looping.place.git(take);
        assert_eq!(looping.since().await, looping.start(), "{take:?}");
    }
    // Made on a third branch, and merged into the base by others.
    let looping = Looping::new().await;
    looping.place.git(&["switch", "-q", "-c", "third", &looping.start()]);
    looping.place.commit(&[("third", "1\n")]);
    looping.place.git(&["switch", "-q", NAME]);
    looping.place.git_in(&looping.beside, &["merge", "-q", "--no-ff", "--no-edit", "third"]);
    looping.place.git(&["rebase", "-q", "main"]);
    assert_eq!(looping.since().await, looping.start());
}

#[tokio::test]
async fn without_a_complete_reflog_nothing_is_left_out() {
    let looping = Looping::new().await;
    looping.commit_beside("first");
    looping.place.git(&["rebase", "-q", "main"]);
    looping.place.git(&["reflog", "expire", "--expire=now", "HEAD"]);
    assert_eq!(looping.since().await, looping.start());
}

#[tokio::test]
async fn a_rebase_of_the_merge_is_recognized() {
    let looping = Looping::new().await;
    looping.place.commit(&[("more", "1\n")]);
    let first = looping.commit_beside("first");
    let project = looping.place.project(&looping.place.root());
    let until = Instant::now() + Duration::from_hours(1);
    let failing = async || Err("no".to_owned());
    let tree = checkpoints::snapshot_tree(&looping.place.engine, &project).await;
    let measured = MeasuredWork { head: moai_host::git::head_commit(&project.root), tree };
    let landing = merge_loop_branch(
        &looping.place.engine,
        &project,
        &looping.branch,
        until,
        measured,
        failing,
    )
    .await;
    assert!(matches!(landing, BranchMergeResult::Task(_)), "{landing:?}");
    assert_eq!(looping.since().await, first);
    // Rebased commits still belong to the loop.
    looping.place.git_in(&looping.beside, &["switch", "-q", "--detach"]);
    looping.place.git(&["branch", "-f", "main", "HEAD~1"]);
    assert_eq!(looping.since().await, looping.start());
}

#[tokio::test]
async fn a_worker_has_its_own_reflog() {
    let looping = Looping::new().await;
    let tree = looping.place.top().join("worker");
    let add = ["worktree", "add", "-q", "-b", "gulf/w", tree.to_str().unwrap(), "main"];
    looping.place.git(&add);
    looping.commit_in(&tree, "own");
    let first = looping.commit_beside("first");
    looping.place.git_in(&tree, &["rebase", "-q", "main"]);
    let project = looping.place.project(&tree);
    let state = LoopState { branch: Some("gulf/w".to_owned()), ..looping.state.clone() };
    assert_eq!(loop_base_commit(&project, &state.charter()).await, Some(first));
}

#[tokio::test]
async fn without_its_own_branch_the_start_counts() {
    let mut looping = Looping::new().await;
    looping.commit_beside("first");
    looping.place.git(&["rebase", "-q", "main"]);
    looping.state.branch = None;
    assert_eq!(looping.since().await, looping.start());
}

#[tokio::test]
async fn undoing_a_branch_restores_head() {
    let place = TestProject::repository(&[("a", "1\n")]);
    place.git(&["switch", "-q", "-c", "side"]);
    let side = place.commit(&[("a", "side\n")]);
    let project = place.project(&place.root());
    for (detached, before) in [(false, "side"), (true, "")] {
        if detached {
            place.git(&["switch", "-q", "--detach"]);
        }
        let branch = create_branch(&project, NAME, Some("main"), 0).await.unwrap();
        assert_eq!(place.read("a").unwrap(), "1\n");
        undo_branch(&project, &branch).await;
        assert_eq!(place.git(&["branch", "--show-current"]), before);
        assert_eq!(place.git(&["rev-parse", "HEAD"]), side);
        assert_eq!(place.git(&["branch", "--list", "gulf/*"]), "");
    }
}
