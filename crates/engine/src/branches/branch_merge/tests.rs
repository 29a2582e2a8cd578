//! Branches of loops in real repositories: created, merged, refused, in a race, and after a kill.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::branches::branch_merge::*;
use crate::branches::loop_branch::{branch_name, create_branch};
use crate::test_project::TestProject;
use moai_loops::framework::MessageLanguage;

const NAME: &str = "gulf/auto-1-ab";

/// A repository whose root is on the branch of a loop.
async fn working(files: &[(&str, &str)]) -> (TestProject, LoopBranch) {
    let place = TestProject::repository(files);
    let project = place.project(&place.root());
    let branch = create_branch(&project, NAME, None, 0).await.unwrap();
    (place, branch)
}

async fn merged(place: &TestProject, branch: &LoopBranch) -> BranchMergeResult {
    let project = place.project(&place.root());
    let (measured, passing) =
        (measured(&place.engine, &project).await, passing(&place.engine, &project));
    merge_loop_branch(&place.engine, &project, branch, far(), measured, passing).await
}

/// The current work.
async fn measured(engine: &Arc<Engine>, project: &Project) -> MeasuredWork {
    let head = moai_host::git::head_commit(&project.root);
    MeasuredWork { head, tree: checkpoints::snapshot_tree(engine, project).await }
}

/// A deadline after every test.
fn far() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

/// Checks without findings.
fn passing(
    engine: &Arc<Engine>,
    project: &Project,
) -> impl Fn() -> std::pin::Pin<Box<dyn Future<Output = Result<MeasuredWork, String>> + Send>>
+ Send
+ Sync {
    let (engine, project) = (Arc::clone(engine), project.clone());
    move || {
        let (engine, project) = (Arc::clone(&engine), project.clone());
        Box::pin(async move { Ok(measured(&engine, &project).await) })
    }
}

/// A commit on `main`, which is not checked out.
fn commit_on_main(place: &TestProject, name: &str, text: &str) {
    let folder = place.top().join("beside");
    let at = folder.to_str().unwrap();
    place.git(&["worktree", "add", "-q", at, "main"]);
    fs::write(folder.join(name), text).unwrap();
    place.git_in(&folder, &["add", "-A"]);
    place.git_in(&folder, &["commit", "-q", "-m", "meanwhile"]);
    place.git(&["worktree", "remove", at]);
}

fn task_of(result: BranchMergeResult) -> String {
    match result {
        BranchMergeResult::Task(text) => text,
        other => panic!("not a task: {other:?}"),
    }
}

#[tokio::test]
async fn a_branch_starts_at_head_with_the_uncommitted_changes() {
    let place = TestProject::repository(&[("a", "1\n")]);
    place.write("a", "open\n");
    let project = place.project(&place.root());
    let branch = create_branch(&project, NAME, None, 7).await.unwrap();
    let language = MessageLanguage::English;
    let expected = LoopBranch { name: NAME.into(), base: "main".into(), created_ms: 7, language };
    assert_eq!(branch, expected);
    assert_eq!(place.git(&["branch", "--show-current"]), NAME);
    assert_eq!(place.read("a").unwrap(), "open\n");
    assert_eq!(branch_name("loop-0a1b2c3d", 1_700_000_000_123), "gulf/auto-1700000000-0a1b2c3d");
}

#[tokio::test]
async fn no_branch_is_created_from_an_unusable_start() {
    let refused = async |place: &TestProject, base: Option<&str>| {
        let project = place.project(&place.root());
        create_branch(&project, NAME, base, 0).await.unwrap_err()
    };
    let place = TestProject::new();
    assert!(refused(&place, None).await.contains("needs a git repository"));
    place.git(&["init", "-q", "-b", "main"]);
    assert!(refused(&place, None).await.contains("starts from a commit"));

    let place = TestProject::repository(&[("a", "1\n")]);
    for base in ["none", "-D", "a b"] {
        assert!(refused(&place, Some(base)).await.starts_with("there is no branch"), "{base}");
    }
    place.git(&["switch", "-q", "-c", "side"]);
    place.commit(&[("a", "side\n")]);
    place.git(&["switch", "-q", "main"]);
    place.commit(&[("a", "main\n")]);
    let project = place.project(&place.root());
    run_git(&project, &project.root, &["merge", "side"]).await;
    assert!(refused(&place, None).await.contains("a merge is in progress"));
    place.git(&["merge", "--abort"]);
    place.git(&["switch", "-q", "--detach"]);
    assert!(refused(&place, None).await.contains("--base-branch"));
    assert!(place.git(&["branch", "--list", "gulf/*"]).is_empty());
}

#[tokio::test]
async fn finished_work_is_one_merge_commit_on_the_base() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    let base = place.git(&["rev-parse", "main"]);
    let head = place.commit(&[("a", "2\n")]);
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
    let parents = place.git(&["show", "-s", "--format=%P %s", "main"]);
    assert_eq!(parents, format!("{base} {head} Merge branch '{NAME}' into main"));
    assert_eq!(place.git(&["branch", "--show-current"]), NAME, "the loop's place stays");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged, "again: nothing to merge");
    assert_eq!(place.git(&["show", "-s", "--format=%P %s", "main"]), parents);
}

#[tokio::test]
async fn the_checks_run_again_on_a_moved_base() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    place.commit(&[("b", "1\n")]);
    commit_on_main(&place, "c", "1\n");
    let main = place.git(&["rev-parse", "main"]);
    let project = place.project(&place.root());
    let (now, count) = (measured(&place.engine, &project).await, AtomicUsize::new(0));
    let failing = || {
        count.fetch_add(1, Ordering::Relaxed);
        let is_rebased = place.read("c").is_some();
        async move { Err(format!("FAIL with c: {is_rebased}")) }
    };
    let task =
        task_of(merge_loop_branch(&place.engine, &project, &branch, far(), now, failing).await);
    assert!(task.contains("FAIL with c: true") && task.contains("the current main"), "{task}");
    assert_eq!((place.git(&["rev-parse", "main"]), count.into_inner()), (main, 1));
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
    assert_eq!(place.git(&["ls-tree", "--name-only", "main"]), "a\nb\nc");
}

#[tokio::test]
async fn work_that_changed_since_its_measurement_is_not_merged() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    let (main, project) = (place.git(&["rev-parse", "main"]), place.project(&place.root()));
    place.commit(&[("a", "2\n")]);
    let before = measured(&place.engine, &project).await;
    place.commit(&[("late", "1\n")]);
    let unseen =
        MeasuredWork { tree: before.tree.clone(), ..measured(&place.engine, &project).await };
    let elsewhere =
        MeasuredWork { head: before.head.clone(), ..measured(&place.engine, &project).await };
    for measured in [before, unseen, elsewhere] {
        let passing = passing(&place.engine, &project);
        let result =
            merge_loop_branch(&place.engine, &project, &branch, far(), measured, passing).await;
        let BranchMergeResult::Unmeasured(gap) = result else {
            panic!("it was merged: {result:?}")
        };
        assert_eq!(gap.cause, Cause::Superseded, "{gap}");
        assert_eq!(place.git(&["rev-parse", "main"]), main);
    }
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
}

#[tokio::test]
async fn a_file_rewritten_with_equal_bytes_does_not_prevent_a_merge() {
    let (place, branch) = working(&[("a", "1\n"), ("c", "1\n")]).await;
    place.commit(&[("a", "2\n")]);
    commit_on_main(&place, "c", "2\n");
    let file = fs::File::options().write(true).open(place.root().join("c")).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_hours(24)).unwrap();
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
    assert_eq!(place.read("c").as_deref(), Some("2\n"));
}

#[tokio::test]
async fn a_conflict_is_a_task_and_leaves_all_work_trees_unchanged() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    let head = place.commit(&[("a", "branch\n")]);
    commit_on_main(&place, "a", "main\n");
    let task = task_of(merged(&place, &branch).await);
    assert!(task.contains("\n  a\n") && task.contains("git merge main"), "{task}");
    assert_eq!(place.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);

    // Does the requested merge; then main moves once more.
    let project = place.project(&place.root());
    run_git(&project, &project.root, &["merge", "main"]).await;
    place.commit(&[("a", "both\n")]);
    commit_on_main(&place, "later", "1\n");
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
    assert_eq!(place.git(&["show", "main:a"]), "both");
    assert_eq!(place.git(&["show", "main:later"]), "1");
}

#[tokio::test]
async fn notes_conflict_with_nothing_and_a_loop_keeps_its_own() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    for number in 1..=2 {
        place.commit(&[
            ("a", &format!("branch {number}\n")),
            ("progress.txt", &format!("own {number}\n")),
        ]);
    }
    commit_on_main(&place, "progress.txt", "of another loop\n");
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
    assert_eq!(place.git(&["show", "main:a"]), "branch 2");
    assert_eq!(place.git(&["show", "main:progress.txt"]), "own 2", "no other worker is merged");
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_conflict_in_the_work_names_no_notes() {
    let (place, branch) = working(&[("a", "1\n"), ("progress.txt", "1\n")]).await;
    place.commit(&[("a", "branch\n"), ("progress.txt", "own\n")]);
    let folder = place.top().join("beside");
    place.git(&["worktree", "add", "-q", folder.to_str().unwrap(), "main"]);
    fs::write(folder.join("a"), "main\n").unwrap();
    fs::write(folder.join("progress.txt"), "other\n").unwrap();
    place.git_in(&folder, &["commit", "-q", "-a", "-m", "meanwhile"]);
    let korean = LoopBranch { language: MessageLanguage::Korean, ..branch };
    let task = task_of(merged(&place, &korean).await);
    assert!(task.contains("\n  a\n") && !task.contains("progress.txt"), "{task}");
    assert!(task.contains("아직 main에 병합되지 않았습니다"), "{task}");
}

#[tokio::test]
async fn uncommitted_work_must_be_committed_first() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    place.commit(&[("a", "2\n")]);
    place.write("a", "3\n");
    place.write("new.py", "1\n");
    place.write("progress.txt", "a note of the loop\n");
    let task = task_of(merged(&place, &branch).await);
    assert!(task.contains("\n  a\n  new.py") && !task.contains("progress"), "{task}");
    place.write("decisions.md", "1\n");
    place.git(&["add", "decisions.md"]);
    let task = task_of(merged(&place, &branch).await);
    assert!(!task.contains("decisions"), "{task}");
    let older = LoopBranch { created_ms: u64::MAX, ..branch.clone() };
    let task = task_of(merged(&place, &older).await);
    assert!(!task.contains("new.py"), "it was there before the loop: {task}");
    place.git(&["checkout", "-q", "a"]);
    place.git(&["switch", "-q", "main"]);
    assert!(task_of(merged(&place, &branch).await).contains("git switch gulf/auto-1-ab"));
}

#[tokio::test]
async fn a_checked_out_base_moves_only_with_a_clean_work_tree() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    let user = place.top().join("user");
    place.git(&["worktree", "add", "-q", user.to_str().unwrap(), "main"]);
    let before = place.git(&["rev-parse", "main"]);
    place.commit(&[("a", "2\n")]);
    fs::write(user.join("a"), "the user's\n").unwrap();
    let BranchMergeResult::Held(why) = merged(&place, &branch).await else {
        panic!("it was moved")
    };
    assert!(why.starts_with("main is checked out in"), "{why}");
    assert_eq!(place.git(&["rev-parse", "main"]), before);
    assert_eq!(fs::read_to_string(user.join("a")).unwrap(), "the user's\n");
    assert_eq!(place.git_in(&user, &["status", "--porcelain"]), " M a");

    place.git_in(&user, &["checkout", "-q", "a"]);
    fs::write(user.join("notes"), "untracked\n").unwrap();
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
    assert_eq!(fs::read_to_string(user.join("a")).unwrap(), "2\n");
    assert_eq!(place.git_in(&user, &["status", "--porcelain"]), "?? notes");
}

#[tokio::test]
async fn an_ignored_file_in_the_work_tree_of_the_base_is_not_overwritten() {
    let (place, branch) = working(&[(".gitignore", ".env\n")]).await;
    let user = place.top().join("user");
    place.git(&["worktree", "add", "-q", user.to_str().unwrap(), "main"]);
    let before = place.git(&["rev-parse", "main"]);
    place.write(".env", "KEY=shared\n");
    place.git(&["add", "-f", ".env"]);
    place.git(&["commit", "-q", "-m", "shared"]);
    fs::write(user.join(".env"), "KEY=mine\n").unwrap();
    let BranchMergeResult::Held(why) = merged(&place, &branch).await else {
        panic!("it was moved")
    };
    assert!(why.starts_with("main is checked out in"), "{why}");
    assert_eq!(place.git(&["rev-parse", "main"]), before);
    assert_eq!(fs::read_to_string(user.join(".env")).unwrap(), "KEY=mine\n");
}

#[tokio::test]
async fn the_projects_git_hooks_run() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    place.commit(&[("a", "2\n")]);
    hook(&place, "pre-merge-commit", "echo 'no merges on Fridays'; exit 1");
    let task = task_of(merged(&place, &branch).await);
    assert!(task.contains("no merges on Fridays"), "{task}");
}

fn hook(place: &TestProject, name: &str, script: &str) -> PathBuf {
    let hook = place.root().join(".git/hooks").join(name);
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    hook
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clones_merge_into_one_remote_at_the_same_time() {
    let place = TestProject::repository(&[("a", "1\n")]);
    let remote = place.top().join("remote.git");
    place.git(&["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
    let mut merges = Vec::new();
    for number in 0..3 {
        let clone = place.top().join(format!("clone{number}"));
        place.git(&["clone", "-q", remote.to_str().unwrap(), clone.to_str().unwrap()]);
        let mut project = place.project(&clone);
        project.config.push = true;
        let name = format!("gulf/auto-{number}");
        let branch = create_branch(&project, &name, None, 0).await.unwrap();
        fs::write(clone.join(format!("f{number}")), "1\n").unwrap();
        place.git_in(&clone, &["add", "-A"]);
        place.git_in(&clone, &["commit", "-q", "-m", "work"]);
        let engine = Arc::clone(&place.engine);
        merges.push(tokio::spawn(async move {
            let (measured, passing) =
                (measured(&engine, &project).await, passing(&engine, &project));
            merge_loop_branch(&engine, &project, &branch, far(), measured, passing).await
        }));
    }
    for merge in merges {
        assert_eq!(merge.await.unwrap(), BranchMergeResult::Merged);
    }
    let log = ["log", "--merges", "--first-parent", "--format=%s", "main"];
    assert_eq!(place.git_in(&remote, &log).lines().count(), 3);
    assert_eq!(place.git_in(&remote, &["ls-tree", "--name-only", "main"]), "a\nf0\nf1\nf2");
}

#[tokio::test]
async fn unfetched_commits_of_the_remote_can_conflict() {
    let place = TestProject::repository(&[("a", "1\n")]);
    let remote = place.top().join("remote.git");
    place.git(&["clone", "-q", "--bare", ".", remote.to_str().unwrap()]);
    place.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let project = place.project(&place.root());
    let branch = create_branch(&project, NAME, None, 0).await.unwrap();
    let (other, theirs) = (place.top().join("other"), remote.to_str().unwrap());
    place.git(&["clone", "-q", theirs, other.to_str().unwrap()]);
    fs::write(other.join("a"), "theirs\n").unwrap();
    place.git_in(&other, &["commit", "-q", "-a", "-m", "theirs"]);
    place.git_in(&other, &["push", "-q", "origin", "main"]);
    place.commit(&[("a", "ours\n")]);
    let task = task_of(merged(&place, &branch).await);
    assert!(task.contains("git merge refs/moai-ralph/bases/origin/main,"), "{task}");
    run_git(&project, &project.root, &["merge", "refs/moai-ralph/bases/origin/main"]).await;
    place.commit(&[("a", "both\n")]);
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
    assert_eq!(place.git(&["show", "main:a"]), "both");
    assert_eq!(place.git_in(&remote, &["show", "main:a"]), "theirs", "nothing is pushed unasked");
    fs::rename(&remote, place.top().join("gone.git")).unwrap();
    place.commit(&[("b", "1\n")]);
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged, "a remote that is away");
}

#[tokio::test(flavor = "multi_thread")]
async fn merges_in_one_repository_run_one_at_a_time() {
    let place = TestProject::repository(&[("a", "1\n")]);
    place.git(&["switch", "-q", "-c", "elsewhere"]);
    let mut merges = Vec::new();
    for number in 0..3 {
        let name = format!("gulf/auto-{number}");
        let tree = place.top().join(format!("tree{number}"));
        place.git(&["worktree", "add", "-q", "-b", &name, tree.to_str().unwrap(), "main"]);
        fs::write(tree.join(format!("f{number}")), "1\n").unwrap();
        place.git_in(&tree, &["add", "-A"]);
        place.git_in(&tree, &["commit", "-q", "-m", "work"]);
        let (project, engine) = (place.project(&tree), Arc::clone(&place.engine));
        let language = MessageLanguage::English;
        let branch = LoopBranch { name, base: "main".to_owned(), created_ms: 0, language };
        merges.push(tokio::spawn(async move {
            let (measured, passing) =
                (measured(&engine, &project).await, passing(&engine, &project));
            merge_loop_branch(&engine, &project, &branch, far(), measured, passing).await
        }));
    }
    for merge in merges {
        assert_eq!(merge.await.unwrap(), BranchMergeResult::Merged);
    }
    assert_eq!(place.git(&["ls-tree", "--name-only", "main"]), "a\nf0\nf1\nf2");
    let merges = place.git(&["log", "--merges", "--first-parent", "--format=%s", "main"]);
    assert_eq!(merges.lines().count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_merge_changes_nothing_and_the_next_one_succeeds() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    let (main, head) = (place.git(&["rev-parse", "main"]), place.commit(&[("a", "2\n")]));
    let reached = place.top().join("reached");
    let script = format!("touch '{}'; sleep 600", reached.display());
    let blocking_hook = hook(&place, "pre-merge-commit", &script);
    let (engine, project) = (Arc::clone(&place.engine), place.project(&place.root()));
    let doomed = {
        let branch = branch.clone();
        tokio::spawn(async move {
            let (measured, passing) =
                (measured(&engine, &project).await, passing(&engine, &project));
            merge_loop_branch(&engine, &project, &branch, far(), measured, passing).await
        })
    };
    let begun = Instant::now();
    while !reached.exists() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the hook never ran");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Drops the running merge: its processes are killed with SIGKILL.
    doomed.abort();
    assert!(doomed.await.unwrap_err().is_cancelled());
    assert_eq!(place.git(&["rev-parse", "main", "HEAD"]), format!("{main}\n{head}"));
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
    fs::remove_file(blocking_hook).unwrap();
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_runs_out_of_time_leaves_nothing_behind() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    let (main, head) = (place.git(&["rev-parse", "main"]), place.commit(&[("a", "2\n")]));
    let reached = place.top().join("reached");
    let slow =
        hook(&place, "pre-merge-commit", &format!("touch '{}'; sleep 600", reached.display()));
    let project = place.project(&place.root());
    let out_of_time = async |secs: u64| {
        let deadline = Instant::now() + Duration::from_secs(secs);
        let (now, passing) =
            (measured(&place.engine, &project).await, passing(&place.engine, &project));
        let result =
            merge_loop_branch(&place.engine, &project, &branch, deadline, now, passing).await;
        let BranchMergeResult::Unmeasured(gap) = result else {
            panic!("not out of time: {result:?}")
        };
        assert_eq!(gap.cause, Cause::TimedOut, "{gap}");
        assert_eq!(place.git(&["rev-parse", "main", "HEAD"]), format!("{main}\n{head}"));
        assert_eq!(place.git(&["status", "--porcelain"]), "");
        assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
        assert!(!place.root().join(".git/worktrees").exists(), "git knows it still");
    };
    out_of_time(0).await;
    for secs in [1, 2, 4, 8, 16, 32] {
        out_of_time(secs).await;
        if reached.exists() {
            break;
        }
    }
    assert!(reached.exists(), "the hook never ran");
    fs::remove_file(slow).unwrap();
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_that_take_too_long_leave_the_base_unchanged_and_release_the_lock() {
    let (place, branch) = working(&[("a", "1\n")]).await;
    place.commit(&[("b", "1\n")]);
    commit_on_main(&place, "c", "1\n");
    let main = place.git(&["rev-parse", "main"]);
    let project = place.project(&place.root());
    let endless = || std::future::pending();
    // Includes the rebase, so the time must be long enough for it.
    for secs in [2, 4, 8, 16, 32] {
        let deadline = Instant::now() + Duration::from_secs(secs);
        let now = measured(&place.engine, &project).await;
        let result =
            merge_loop_branch(&place.engine, &project, &branch, deadline, now, endless).await;
        assert!(
            matches!(&result, BranchMergeResult::Unmeasured(gap) if gap.cause == Cause::TimedOut)
        );
        assert_eq!(place.git(&["rev-parse", "main"]), main);
        assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
        if place.read("c").is_some() {
            break;
        }
    }
    assert_eq!(place.read("c").as_deref(), Some("1\n"), "it was never rebased");
    assert_eq!(merged(&place, &branch).await, BranchMergeResult::Merged);
}
