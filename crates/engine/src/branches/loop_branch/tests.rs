//! The commits of a branch that belong to its loop: foreign ones are excluded where that is certain, its own
//! never are.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::branches::branch_merge::{BranchMergeResult, MeasuredWork, merge_loop_branch};
use crate::branches::loop_branch::*;
use crate::restore::checkpoints;
use crate::test_project::TestProject;
use moai_loops::samples::state;

const NAME: &str = "gulf/auto-1-ab";

/// A loop on its own branch with a commit; `main` is checked out in a second worktree.
struct LoopBranchFixture {
    place: TestProject,
    branch: LoopBranch,
    state: LoopState,
    beside: PathBuf,
}

impl LoopBranchFixture {
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
        let fixture = Self { place, branch, state, beside };
        fixture.place.commit(&[("own", "1\n")]);
        fixture
    }

    /// Commits on `main` in the second worktree.
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
        let fixture = LoopBranchFixture::new().await;
        let first = fixture.commit_beside("first");
        assert_eq!(fixture.since().await, fixture.start(), "it is not taken in yet");
        fixture.place.git(how);
        assert_eq!(fixture.since().await, first, "{how:?}");
        fixture.place.commit(&[("own", "2\n")]);
        fixture.place.git(&["commit", "-q", "--amend", "-m", "again"]);
        let second = fixture.commit_beside("second");
        assert_eq!(fixture.since().await, first, "{how:?}");
        fixture.place.git(how);
        assert_eq!(fixture.since().await, second, "{how:?}");
    }
}

#[tokio::test]
async fn without_own_commits_the_start_moves_with_the_base() {
    let fixture = LoopBranchFixture::new().await;
    fixture.place.git(&["reset", "-q", "--hard", &fixture.start()]);
    let first = fixture.commit_beside("first");
    fixture.place.git(&["merge", "-q", "main"]);
    assert_eq!(fixture.since().await, first);
}

#[tokio::test]
async fn commits_pulled_from_the_remote_are_foreign() {
    let fixture = LoopBranchFixture::new().await;
    let remote = fixture.place.top().join("remote.git");
    let (at, other) = (remote.to_str().unwrap(), fixture.place.top().join("other"));
    fixture.place.git(&["clone", "-q", "--bare", ".", at]);
    fixture.place.git(&["remote", "add", "origin", at]);
    fixture.place.git(&["clone", "-q", "-b", "main", at, other.to_str().unwrap()]);
    let theirs = fixture.commit_in(&other, "theirs");
    fixture.place.git_in(&other, &["push", "-q", "origin", "main"]);
    fixture.place.git(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]);
    assert_eq!(fixture.since().await, theirs);
    let more = fixture.commit_in(&other, "more");
    fixture.place.git_in(&other, &["push", "-q", "origin", "main"]);
    fixture.place.git(&["pull", "-q", "--rebase", "origin", "main"]);
    assert_eq!(fixture.since().await, more);
}

#[tokio::test]
async fn a_local_commit_counts_on_any_branch() {
    // Made on the base itself, in the worktree of the loop.
    let fixture = LoopBranchFixture::new().await;
    fixture.place.git_in(&fixture.beside, &["switch", "-q", "--detach"]);
    fixture.place.git(&["switch", "-q", "main"]);
    fixture.place.commit(&[("sneaked", "1\n")]);
    fixture.place.git(&["switch", "-q", NAME]);
    fixture.place.git(&["rebase", "-q", "main"]);
    assert_eq!(fixture.since().await, fixture.start());
    // Made on the branch, and the base moved to it.
    for take in [&["branch", "-f", "main", NAME][..], &["push", "-q", ".", "HEAD:main"]] {
        let fixture = LoopBranchFixture::new().await;
        fixture.place.git_in(&fixture.beside, &["switch", "-q", "--detach"]);
        fixture.place.git(take);
        assert_eq!(fixture.since().await, fixture.start(), "{take:?}");
    }
    // Made on a third branch, and merged into the base from elsewhere.
    let fixture = LoopBranchFixture::new().await;
    fixture.place.git(&["switch", "-q", "-c", "third", &fixture.start()]);
    fixture.place.commit(&[("third", "1\n")]);
    fixture.place.git(&["switch", "-q", NAME]);
    fixture.place.git_in(&fixture.beside, &["merge", "-q", "--no-ff", "--no-edit", "third"]);
    fixture.place.git(&["rebase", "-q", "main"]);
    assert_eq!(fixture.since().await, fixture.start());
}

#[tokio::test]
async fn without_a_complete_reflog_nothing_is_left_out() {
    let fixture = LoopBranchFixture::new().await;
    fixture.commit_beside("first");
    fixture.place.git(&["rebase", "-q", "main"]);
    fixture.place.git(&["reflog", "expire", "--expire=now", "HEAD"]);
    assert_eq!(fixture.since().await, fixture.start());
}

#[tokio::test]
async fn a_rebase_of_the_merge_is_recognized() {
    let fixture = LoopBranchFixture::new().await;
    fixture.place.commit(&[("more", "1\n")]);
    let first = fixture.commit_beside("first");
    let project = fixture.place.project(&fixture.place.root());
    let until = Instant::now() + Duration::from_hours(1);
    let failing = async || Err("no".to_owned());
    let tree = checkpoints::snapshot_tree(&fixture.place.engine, &project).await;
    let measured = MeasuredWork { head: moai_host::git::head_commit(&project.root), tree };
    let result = merge_loop_branch(
        &fixture.place.engine,
        &project,
        &fixture.branch,
        until,
        measured,
        failing,
    )
    .await;
    assert!(matches!(result, BranchMergeResult::Task(_)), "{result:?}");
    assert_eq!(fixture.since().await, first);
    // Rebased commits still belong to the loop.
    fixture.place.git_in(&fixture.beside, &["switch", "-q", "--detach"]);
    fixture.place.git(&["branch", "-f", "main", "HEAD~1"]);
    assert_eq!(fixture.since().await, fixture.start());
}

#[tokio::test]
async fn a_worker_has_its_own_reflog() {
    let fixture = LoopBranchFixture::new().await;
    let tree = fixture.place.top().join("worker");
    let add = ["worktree", "add", "-q", "-b", "gulf/w", tree.to_str().unwrap(), "main"];
    fixture.place.git(&add);
    fixture.commit_in(&tree, "own");
    let first = fixture.commit_beside("first");
    fixture.place.git_in(&tree, &["rebase", "-q", "main"]);
    let project = fixture.place.project(&tree);
    let state = LoopState { branch: Some("gulf/w".to_owned()), ..fixture.state.clone() };
    assert_eq!(loop_base_commit(&project, &state.charter()).await, Some(first));
}

#[tokio::test]
async fn without_its_own_branch_the_start_counts() {
    let mut fixture = LoopBranchFixture::new().await;
    fixture.commit_beside("first");
    fixture.place.git(&["rebase", "-q", "main"]);
    fixture.state.branch = None;
    assert_eq!(fixture.since().await, fixture.start());
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
