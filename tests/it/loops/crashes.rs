//! The daemon is killed at the worst moments of a Stop: the loop is neither lost nor counted twice.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use serde_json::json;

use super::killed_merges::{release, wait_for_run, waiting};
use super::{DIRTY, FIXED, autochecks, blocked, iteration, looping, project, start, status, stop};
use crate::failed_writes::{assert_nothing_stays, left_over};
pub(super) use crate::killed_writes::{daemon, kill};
use crate::support::{Output, PATIENCE, Sandbox, eventually, finish};

/// A Stop of this session, while the test does something else.
pub(super) fn stop_beside(sandbox: &Sandbox) -> JoinHandle<Output> {
    let mut command = sandbox.program();
    command.args(["hook", "stop"]);
    let input = sandbox.payload("Stop").to_string();
    thread::spawn(move || finish(&mut command, &input))
}

#[test]
fn killed_while_a_check_runs_the_stop_is_decided_once_by_the_next_daemon() {
    let sandbox = project();
    let (runs, release) = (sandbox.base().join("runs"), sandbox.base().join("release"));
    let script = format!(
        "#!/bin/sh\necho run >>'{}'\nfor _ in $(seq 600); do\n  [ -e '{}' ] && break\n  sleep 0.1\n\
         done\necho 'not yet'\nexit 1\n",
        runs.display(),
        release.display()
    );
    sandbox.write(".claude/autochecks.sh", &script);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path(".claude/autochecks.sh"), mode).expect("the file is ours");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", FIXED);
    let daemon = daemon(&sandbox);
    let stopping = stop_beside(&sandbox);
    let has_begun = || runs.exists().then_some(());
    eventually(PATIENCE, has_begun).expect("the check begins");
    kill(daemon);
    fs::write(&release, "").expect("the sandbox is writable");
    let output = stopping.join().expect("the hook ends");
    let reason = blocked(&output).expect("the next daemon decides");
    assert!(reason.contains("not yet"), "{reason}");
    let after = status(&sandbox);
    assert_eq!((&after["status"], iteration(&after)), (&json!("running"), 1));
    assert!(stop(&sandbox, "finished").is_some());
    assert_eq!(iteration(&status(&sandbox)), 2);
}

#[test]
fn killed_while_the_frozen_copy_of_a_check_runs_the_copy_goes_with_the_next_one() {
    let sandbox = project();
    autochecks(&sandbox, &waiting(&sandbox, 1));
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", FIXED);
    // The check is run from the copy made at the loop's start, not from the edited file.
    autochecks(&sandbox, "exit 0");
    let killed = daemon(&sandbox);
    let stopping = stop_beside(&sandbox);
    wait_for_run(&sandbox, 1);
    assert_eq!(left_over(&sandbox.base()).len(), 1, "the copy");
    kill(killed);
    fs::write(release(&sandbox), "").expect("the sandbox is writable");
    stopping.join().expect("the next daemon decides");
    wait_for_run(&sandbox, 2);
    assert_nothing_stays(&sandbox.base());
}

/// Intercepts the daemon's socket: the next call goes through, but its answer is lost, because the daemon is
/// killed by then. Then something else happens before the hook notices.
fn lose_the_next_answer(
    sandbox: &mut Sandbox,
    meanwhile: impl FnOnce() + Send + 'static,
) -> JoinHandle<()> {
    let daemon = daemon(sandbox);
    let behind = socket(sandbox);
    // Elsewhere, because a daemon that misses its socket ends.
    let runtime = front(sandbox);
    let folder = runtime.join("moai-ralph");
    fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).expect("ours");
    let name = behind.file_name().expect("a socket has a name");
    let front = UnixListener::bind(folder.join(name)).expect("the place is free");
    sandbox.set("XDG_RUNTIME_DIR", runtime);
    thread::spawn(move || {
        let (mut asking, _) = front.accept().expect("a call");
        drop(front);
        let mut question = String::new();
        BufReader::new(&asking).read_line(&mut question).expect("a question");
        let mut answering = UnixStream::connect(behind).expect("the daemon listens");
        answering.write_all(question.as_bytes()).expect("the daemon reads");
        let mut answer = String::new();
        BufReader::new(&answering).read_line(&mut answer).expect("the daemon answers");
        assert!(answer.contains("stdout"), "{answer}");
        kill(daemon);
        answering.read_to_end(&mut Vec::new()).expect("the daemon is gone");
        meanwhile();
        asking.flush().and_then(|()| asking.shutdown(Shutdown::Both)).expect("the hook waits");
    })
}

/// The socket where the hook looks for the daemon once its answer is to be lost.
fn front(sandbox: &Sandbox) -> PathBuf {
    sandbox.base().join("front")
}

fn socket(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.base().join("run/moai-ralph");
    let entries = fs::read_dir(&folder).expect("the daemon made it");
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths.find(|path| path.extension().is_some_and(|it| it == "sock")).expect("a socket")
}

#[test]
fn killed_between_save_and_reply_the_stop_still_counts_once() {
    let mut sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    let losing = lose_the_next_answer(&mut sandbox, || ());
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    losing.join().expect("the answer was lost");
    let reason = blocked(&output).expect("what was decided is told by the next daemon");
    assert!(reason.contains("Iteration 2 of 5"), "{reason}");
    let after = status(&sandbox);
    assert_eq!((&after["status"], iteration(&after)), (&json!("running"), 1));
    assert_eq!(after["history"].as_array().map(Vec::len), Some(1));
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    let after = status(&sandbox);
    assert_eq!((&after["status"], iteration(&after)), (&json!("completed"), 2));
}

#[test]
fn killed_between_the_last_save_and_its_reply_the_end_is_told_and_the_work_handed_off() {
    let mut sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", FIXED);
    sandbox.write("progress.txt", "COMPLETED:\n- the word is better\n");
    let handed_off = sandbox.path(".claude/gulf-align.md");
    let losing = lose_the_next_answer(&mut sandbox, || {
        fs::remove_file(handed_off).expect("it was written before the answer");
    });
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    losing.join().expect("the answer was lost");
    assert_eq!(blocked(&output), None);
    let told = super::notice(&output);
    assert!(told.contains("completed"), "{told}");
    assert_eq!(iteration(&status(&sandbox)), 1);
    assert!(sandbox.read(".claude/gulf-align.md").contains("the word is better"));
}

#[test]
fn cancelled_while_the_answer_was_lost_nobody_is_held() {
    let mut sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    let mut cancel = sandbox.program();
    cancel.args(["loop", "cancel"]).env("XDG_RUNTIME_DIR", front(&sandbox));
    let losing = lose_the_next_answer(&mut sandbox, move || {
        assert_eq!(finish(&mut cancel, "").code, 0);
    });
    let output = sandbox.hook("stop", &sandbox.payload("Stop"));
    losing.join().expect("the answer was lost");
    assert_eq!(blocked(&output), None);
    assert_eq!(status(&sandbox)["status"], "cancelled");
}

#[test]
fn a_start_whose_answer_is_lost_begins_one_loop_and_says_so() {
    let mut sandbox = project();
    assert_eq!(sandbox.run(&["loop", "status"]).code, 0);
    let losing = lose_the_next_answer(&mut sandbox, || ());
    let begun = start(&sandbox, &["--max-iterations", "5"]);
    losing.join().expect("the answer was lost");
    assert_eq!(begun.code, 0, "{begun:#?}");
    assert_eq!(begun.json()["id"], status(&sandbox)["id"]);
    let again = start(&sandbox, &["--max-iterations", "5"]);
    assert!(again.code == 1 && again.stderr.contains("already active"), "{again:#?}");
}

#[test]
fn a_stop_that_no_daemon_lived_to_decide_is_told_and_not_held() {
    let sandbox = project();
    let runs = sandbox.base().join("runs");
    autochecks(&sandbox, &format!("echo run >>'{}'; sleep 60", runs.display()));
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    let stopping = stop_beside(&sandbox);
    for times in 1..=2 {
        let has_begun = || {
            let lines = fs::read_to_string(&runs).unwrap_or_default().lines().count();
            (lines >= times).then_some(())
        };
        eventually(PATIENCE, has_begun).expect("the check begins");
        kill(daemon(&sandbox));
    }
    let told = super::notice(&stopping.join().expect("the hook ends"));
    assert!(told.contains("could not be decided") && told.contains("loop status"), "{told}");
    assert_eq!(status(&sandbox)["status"], "running");
}
