//! The daemon is killed during a merge: no lock or worktree is left, no user's file changes, and the next
//! Stop merges the loop.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::crashes::{daemon, kill, stop_beside};
use super::{
    FIXED, autochecks, beside, blocked, commit_in, git, git_in, project, start, status, stop,
};
use crate::support::{PATIENCE, Sandbox, eventually, finish, write_file};

/// Records that it began, and waits until the test releases it.
pub(super) fn waiting(sandbox: &Sandbox, from: usize) -> String {
    let (runs, release) = (runs(sandbox), release(sandbox));
    format!(
        "echo run >> '{runs}'\n[ \"$(wc -l < '{runs}')\" -lt {from} ] && exit 0\n\
         for _ in $(seq 600); do\n  [ -e '{release}' ] && exit 0\n  sleep 0.1\ndone\nexit 1",
        runs = runs.display(),
        release = release.display(),
    )
}

fn runs(sandbox: &Sandbox) -> PathBuf {
    sandbox.base().join("runs")
}

pub(super) fn release(sandbox: &Sandbox) -> PathBuf {
    sandbox.base().join("release")
}

pub(super) fn wait_for_run(sandbox: &Sandbox, number: usize) {
    let has_begun = || {
        let text = fs::read_to_string(runs(sandbox)).unwrap_or_default();
        (text.lines().count() >= number).then_some(())
    };
    eventually(PATIENCE, has_begun).expect("it begins");
}

/// An autonomous loop with a commit of its own.
fn working(sandbox: &Sandbox) {
    let begun = start(sandbox, &["--mode", "autonomous", "--no-research"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    commit_in(sandbox, &sandbox.root(), "a better word");
}

/// Worktrees of merges, on disk and in git's records.
fn places(sandbox: &Sandbox) -> Vec<String> {
    let names = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    };
    let projects = fs::read_dir(sandbox.base().join("state/projects")).into_iter().flatten();
    let on_disk = projects.flatten().flat_map(|project| names(project.path().join("merging")));
    let known = names(sandbox.path(".git/worktrees")).filter(|name| name.starts_with("merge-"));
    on_disk.chain(known).collect()
}

/// State that must not change for anyone: branches, index and files.
fn standing(sandbox: &Sandbox) -> [String; 4] {
    [
        git(sandbox, &["rev-parse", "main", "HEAD"]),
        git(sandbox, &["branch", "--show-current"]),
        git(sandbox, &["ls-files", "--stage"]),
        git(sandbox, &["status", "--porcelain"]),
    ]
}

#[test]
fn killed_while_the_checks_of_a_merge_run_the_next_daemon_merges() {
    let sandbox = project();
    // The first run is that of the Stop itself, the second one that of the merge.
    autochecks(&sandbox, &waiting(&sandbox, 2));
    sandbox.commit();
    working(&sandbox);
    let branch = git(&sandbox, &["branch", "--show-current"]);
    let others = beside(&sandbox);
    write_file(&others.join("theirs.py"), "theirs = 1\n");
    let main = commit_in(&sandbox, &others, "others");
    write_file(&others.join("notes"), "not committed\n");
    let killed = daemon(&sandbox);
    let stopping = stop_beside(&sandbox);
    wait_for_run(&sandbox, 2);
    assert!(!places(&sandbox).is_empty(), "it is in the middle of a merge");
    kill(killed);
    // The hook asks the next daemon, which looks first whether anything was left behind.
    wait_for_run(&sandbox, 3);
    assert_eq!(places(&sandbox), [""; 0]);
    assert_eq!(git(&sandbox, &["rev-parse", "main"]), main);
    assert_eq!(git(&sandbox, &["branch", "--show-current"]), branch);
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    assert_eq!(sandbox.read("app.py"), FIXED);
    assert_eq!(git_in(&sandbox, &others, &["status", "--porcelain"]), "?? notes");
    fs::write(release(&sandbox), "").expect("the sandbox is writable");
    let output = stopping.join().expect("the hook ends");
    assert_eq!(blocked(&output), None, "{output:#?}");
    let ended = status(&sandbox);
    assert_eq!((&ended["status"], &ended["iteration"]), (&json!("completed"), &json!(1)));
    assert_eq!(git(&sandbox, &["log", "--merges", "--format=%s", "main"]).lines().count(), 1);
    assert_eq!(git(&sandbox, &["show", "main:app.py"]), FIXED.trim());
    assert_eq!(git_in(&sandbox, &others, &["status", "--porcelain"]), "?? notes");
    assert_eq!(places(&sandbox), [""; 0]);
}

/// The Stop as a process that can be killed.
fn stopping(sandbox: &Sandbox) -> Child {
    let mut command = sandbox.program();
    command.args(["hook", "stop"]).stdin(Stdio::piped());
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let input = sandbox.payload("Stop").to_string();
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    child
}

/// A loop whose merge waits in a hook of git.
fn waiting_in_git() -> Sandbox {
    let sandbox = project();
    working(&sandbox);
    let hook = sandbox.path(".git/hooks/pre-merge-commit");
    write_file(&hook, &format!("#!/bin/sh\n{}\n", waiting(&sandbox, 1)));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("the hook is ours");
    sandbox
}

#[test]
fn killed_with_its_hook_in_the_middle_of_git_everything_is_as_it_was() {
    let sandbox = waiting_in_git();
    let before = standing(&sandbox);
    let killed = daemon(&sandbox);
    let mut asking = stopping(&sandbox);
    wait_for_run(&sandbox, 1);
    // First who would ask again, and so that the daemon does not notice.
    kill_process(killed, Signal::STOP).expect("it is ours");
    asking.kill().and_then(|()| asking.wait()).expect("it is ours");
    kill(killed);
    assert!(!places(&sandbox).is_empty(), "nobody has looked yet");
    // The next daemon begins with it, whichever project it is asked about.
    let other = sandbox.base().join("other");
    fs::create_dir(&other).expect("the sandbox is writable");
    sandbox.run(&["--root", other.to_str().expect("a path"), "loop", "status"]);
    assert_eq!(places(&sandbox), [""; 0]);
    let now = status(&sandbox);
    assert_eq!((&now["status"], &now["iteration"]), (&json!("running"), &json!(0)));
    assert_eq!(standing(&sandbox), before);
    // Git itself was not killed; it continues without its worktree and must have no effect.
    fs::write(release(&sandbox), "").expect("the sandbox is writable");
    let is_over = || {
        let left = sandbox.survivors();
        left.iter().all(|(_, command)| !command.contains("merge")).then_some(())
    };
    eventually(PATIENCE, is_over).expect("it ends");
    assert_eq!(standing(&sandbox), before);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
    assert_eq!(git(&sandbox, &["log", "--merges", "--format=%s", "main"]).lines().count(), 1);
    assert_eq!(places(&sandbox), [""; 0]);
}

#[test]
fn the_end_of_the_daemon_in_the_middle_of_a_merge_takes_its_work_tree_away() {
    let sandbox = waiting_in_git();
    let before = standing(&sandbox);
    let mut asking = stopping(&sandbox);
    wait_for_run(&sandbox, 1);
    asking.kill().and_then(|()| asking.wait()).expect("it is ours");
    let stopped = finish(sandbox.program().args(["daemon", "stop"]), "");
    assert_eq!(stopped.code, 0, "{stopped:#?}");
    // It is the last action of the process.
    let is_gone = || places(&sandbox).is_empty().then_some(());
    eventually(PATIENCE, is_gone).expect("nothing is left behind");
    assert_eq!(standing(&sandbox), before);
    fs::write(release(&sandbox), "").expect("the sandbox is writable");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn killed_between_the_work_tree_and_its_branch_the_move_is_taken_back_and_made_again() {
    let sandbox = project();
    working(&sandbox);
    let others = beside(&sandbox);
    write_file(&others.join("theirs.py"), "theirs = 1\n");
    commit_in(&sandbox, &others, "others");
    // Git calls it before it moves the branch, when the files have moved already.
    let (noted, once) = (sandbox.base().join("daemon"), sandbox.base().join("once"));
    let body = format!(
        "[ \"$1\" = prepared ] || exit 0\ngrep -q 'refs/heads/gulf/' || exit 0\n\
         [ -e '{once}' ] && exit 0\ntouch '{once}'\nkill -9 \"$(cat '{noted}')\"\nexit 1",
        once = once.display(),
        noted = noted.display()
    );
    super::git_hook(&sandbox, "reference-transaction", &body);
    let killed = daemon(&sandbox).as_raw_nonzero().to_string();
    fs::write(&noted, killed).expect("the sandbox is writable");
    let output = stop_beside(&sandbox).join().expect("the hook ends");
    assert!(once.exists(), "the daemon was killed");
    assert_eq!(blocked(&output), None, "{output:#?}");
    assert_eq!(status(&sandbox)["status"], "completed");
    assert_eq!(git(&sandbox, &["status", "--porcelain"]), "");
    assert_eq!(git(&sandbox, &["show", "main:app.py"]), FIXED.trim());
    assert_eq!(git(&sandbox, &["show", "main:theirs.py"]), "theirs = 1");
    let own = git(&sandbox, &["log", "--no-merges", "--format=%s", "main^1..main"]);
    assert_eq!(own, "a better word", "nothing of the others was committed again");
}

#[test]
fn a_user_who_works_on_the_base_is_asked_and_the_agent_is_not() {
    let sandbox = project();
    working(&sandbox);
    let user = beside(&sandbox);
    write_file(&user.join("unrelated.py"), "mine = 1\n");
    git_in(&sandbox, &user, &["add", "unrelated.py"]);
    let before = git(&sandbox, &["rev-parse", "main"]);
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(blocked(&output), None, "{output:#?}");
    let told = super::notice(&output);
    assert!(told.contains("paused") && told.contains("merge --ff-only"), "{told}");
    let paused = status(&sandbox);
    assert_eq!(
        (&paused["status"], &paused["pause_reason"]),
        (&json!("paused"), &json!("base_in_use"))
    );
    assert_eq!(git(&sandbox, &["rev-parse", "main"]), before);
    git_in(&sandbox, &user, &["commit", "-q", "-m", "mine"]);
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
    assert_eq!(git(&sandbox, &["show", "main:unrelated.py"]), "mine = 1");
}
