//! Each Stop counts once: a second delivery is not decided again, and a Stop whose hook has ended
//! is dropped with its checks.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use moai_base::limits::STOP_REPEAT_MS_MAX;
use rustix::process::{Pid, Signal, kill_process};

use super::crashes::{daemon, kill, stop_beside};
use super::{autochecks, blocked, iteration, notice, project, start, status, stop};
use crate::support::{Output, PATIENCE, Sandbox, eventually};

/// Time after which a cancelled Stop must be over: a second, and some for a machine under load.
const AT_ONCE: Duration = Duration::from_secs(2);

/// A loop whose check records its process, waits for the file `release` and then fails. It also records
/// whether another check runs at the same time.
fn with_slow_check() -> Sandbox {
    let sandbox = project();
    let base = sandbox.base();
    let body = format!(
        "cd '{}'\nmkdir running || echo both >>overlaps\necho $$ >>runs\n\
         for _ in $(seq 600); do\n  [ -e release ] && break\n  sleep 0.1\ndone\n\
         rmdir running\necho 'not yet'\nexit 1",
        base.display()
    );
    autochecks(&sandbox, &body);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", super::FIXED);
    sandbox
}

/// Processes of the check, in the order they were started.
fn runs(sandbox: &Sandbox) -> Vec<String> {
    let text = fs::read_to_string(sandbox.base().join("runs")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn wait_for_run(sandbox: &Sandbox, count: usize) -> String {
    let begun = || runs(sandbox).get(count - 1).cloned();
    eventually(PATIENCE, begun).expect("the check begins")
}

fn release(sandbox: &Sandbox) {
    fs::write(sandbox.base().join("release"), "").expect("the sandbox is writable");
}

fn has_ended(process: &str) -> bool {
    let stat = PathBuf::from("/proc").join(process).join("stat");
    let stat = fs::read_to_string(stat).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

fn wait_until_gone(process: &str) {
    eventually(PATIENCE, || has_ended(process).then_some(())).expect("it is ended");
}

/// The hook process of a Stop, before it gets its input.
fn hook_process(sandbox: &Sandbox) -> Child {
    let mut command = sandbox.program();
    command.args(["hook", "stop"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

fn tell(sandbox: &Sandbox, process: &mut Child) {
    let mut stdin = process.stdin.take().expect("stdin is piped");
    let input = sandbox.payload("Stop").to_string();
    stdin.write_all(input.as_bytes()).expect("the hook reads");
}

fn answer(process: Child) -> Output {
    let output = process.wait_with_output().expect("the child is ours");
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn delivered_twice_at_the_same_time_a_stop_counts_once_and_its_reason_is_said_once() {
    let sandbox = with_slow_check();
    let both = [stop_beside(&sandbox), stop_beside(&sandbox)];
    wait_for_run(&sandbox, 1);
    release(&sandbox);
    let [one, other] = both.map(|stop| stop.join().expect("the hook ends"));
    let reasons = [&one, &other].map(|stop| blocked(stop).expect("both hold"));
    let whole = reasons.iter().filter(|reason| reason.contains("not yet")).count();
    let short =
        reasons.iter().filter(|reason| reason.contains("the other registered hook")).count();
    assert_eq!((whole, short), (1, 1), "{reasons:#?}");
    assert_eq!((iteration(&status(&sandbox)), runs(&sandbox).len()), (1, 1));
}

#[test]
fn delivered_again_behind_its_answer_a_stop_counts_once_and_the_next_one_counts() {
    let sandbox = with_slow_check();
    release(&sandbox);
    let mut late = hook_process(&sandbox);
    let first = sandbox.hook("stop", &sandbox.payload("Stop"));
    tell(&sandbox, &mut late);
    let second = answer(late);
    assert!(blocked(&first).is_some(), "{first:#?}");
    assert!(
        blocked(&second).is_some_and(|it| it.contains("the other registered hook")),
        "{second:#?}"
    );
    assert_eq!((iteration(&status(&sandbox)), runs(&sandbox).len()), (1, 1));
    let next = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert!(blocked(&next).is_some(), "{next:#?}");
    assert_eq!(iteration(&status(&sandbox)), 2);
}

#[test]
fn delivered_again_soon_after_its_answer_a_stop_counts_once_unless_the_agent_went_on() {
    let sandbox = with_slow_check();
    release(&sandbox);
    let transcript = sandbox.base().join("transcript.jsonl");
    fs::write(&transcript, "{}\n").expect("ours");
    let mut input = sandbox.payload("Stop");
    input["transcript_path"] = transcript.display().to_string().into();
    let stop = || sandbox.hook("stop", &input);
    assert!(blocked(&stop()).is_some_and(|reason| reason.contains("not yet")));
    assert!(blocked(&stop()).is_some_and(|reason| reason.contains("the other registered hook")));
    assert_eq!(iteration(&status(&sandbox)), 1);
    // The model repeats its message.
    fs::write(&transcript, "{}\n{}\n").expect("ours");
    assert!(blocked(&stop()).is_some_and(|reason| reason.contains("not yet")));
    assert_eq!(iteration(&status(&sandbox)), 2);
    // Or it has done something, or has had the time for it.
    sandbox.tool_write("other.py", "x = 1\n");
    assert!(blocked(&stop()).is_some_and(|reason| reason.contains("not yet")));
    assert_eq!(iteration(&status(&sandbox)), 3);
    sleep(Duration::from_millis(STOP_REPEAT_MS_MAX + 50));
    stop();
    assert_eq!(iteration(&status(&sandbox)), 4);
}

#[test]
fn two_stops_of_one_loop_are_decided_one_after_the_other() {
    let sandbox = with_slow_check();
    let one = stop_beside(&sandbox);
    wait_for_run(&sandbox, 1);
    let mut input = sandbox.payload("Stop");
    input["last_assistant_message"] = "something else".into();
    let other = std::thread::scope(|scope| {
        let other = scope.spawn(|| sandbox.hook("stop", &input));
        release(&sandbox);
        other.join().expect("the hook ends")
    });
    assert!(blocked(&one.join().expect("the hook ends")).is_some());
    assert!(blocked(&other).is_some());
    assert_eq!((iteration(&status(&sandbox)), runs(&sandbox).len()), (2, 2));
    assert!(!sandbox.base().join("overlaps").exists());
}

#[test]
fn a_stop_whose_hook_is_gone_ends_with_its_checks_and_does_not_count() {
    let sandbox = with_slow_check();
    let mut hook = hook_process(&sandbox);
    tell(&sandbox, &mut hook);
    let check = wait_for_run(&sandbox, 1);
    hook.kill().expect("it is ours");
    hook.wait().expect("it is ours");
    wait_until_gone(&check);
    assert_eq!(iteration(&status(&sandbox)), 0);
    fs::remove_dir(sandbox.base().join("running")).expect("the check was ended");
    release(&sandbox);
    assert!(stop(&sandbox, "finished").is_some());
    assert_eq!((iteration(&status(&sandbox)), runs(&sandbox).len()), (1, 2));
    assert!(!sandbox.base().join("overlaps").exists());
}

#[test]
fn the_second_delivery_takes_over_when_the_first_hook_is_gone() {
    let sandbox = with_slow_check();
    let mut first = hook_process(&sandbox);
    tell(&sandbox, &mut first);
    wait_for_run(&sandbox, 1);
    let second = stop_beside(&sandbox);
    first.kill().expect("it is ours");
    first.wait().expect("it is ours");
    wait_for_run(&sandbox, 2);
    release(&sandbox);
    assert!(blocked(&second.join().expect("the hook ends")).is_some());
    assert_eq!(iteration(&status(&sandbox)), 1);
}

#[test]
fn what_a_check_started_outside_its_group_ends_with_it() {
    let sandbox = project();
    let noted = sandbox.base().join("left");
    let body = format!(
        "setsid sh -c 'echo $$ >\"{0}\"; exec sleep 600' &\n\
         while [ ! -s '{0}' ]; do sleep 0.1; done\necho started; exit 1",
        noted.display()
    );
    autochecks(&sandbox, &body);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", super::FIXED);
    let reason = stop(&sandbox, "finished").expect("the check fails");
    assert!(reason.contains("started"), "{reason}");
    let left = fs::read_to_string(&noted).expect("it was started");
    assert!(has_ended(left.trim()), "{left}");
}

#[test]
fn what_a_check_started_outside_its_group_ends_with_the_daemon() {
    let sandbox = project();
    let noted = sandbox.base().join("left");
    let body =
        format!("setsid sh -c 'echo $$ >\"{}\"; exec sleep 600' &\nsleep 600", noted.display());
    autochecks(&sandbox, &body);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", super::FIXED);
    let mut hook = hook_process(&sandbox);
    tell(&sandbox, &mut hook);
    let begun = || fs::read_to_string(&noted).ok().filter(|text| text.ends_with('\n'));
    let left = eventually(PATIENCE, begun).expect("it is started");
    // Otherwise it may start another daemon before it is killed.
    kill_process(Pid::from_child(&hook), Signal::STOP).expect("it is ours");
    kill(daemon(&sandbox));
    hook.kill().expect("it is ours");
    hook.wait().expect("it is ours");
    wait_until_gone(left.trim());
}

#[test]
fn cancelling_or_pausing_ends_a_running_stop_and_its_checks_at_once() {
    for act in ["cancel", "pause"] {
        let sandbox = with_slow_check();
        let stopping = stop_beside(&sandbox);
        let check = wait_for_run(&sandbox, 1);
        let output = sandbox.run(&["loop", act]);
        assert_eq!(output.code, 0, "{output:#?}");
        let acted = Instant::now();
        let output = stopping.join().expect("the hook ends");
        assert!(acted.elapsed() < AT_ONCE, "{act}: {:?}", acted.elapsed());
        assert_eq!(blocked(&output), None, "{act}");
        if act == "pause" {
            assert!(notice(&output).contains("paused"), "{output:#?}");
        }
        wait_until_gone(&check);
        assert_eq!(iteration(&status(&sandbox)), 0, "{act}");
    }
}

/// Holds back every change of the project's files.
fn lock_changes(sandbox: &Sandbox) -> fs::File {
    let projects = fs::read_dir(sandbox.base().join("state/projects")).expect("a loop has one");
    let project = projects.flatten().next().expect("a loop has one").path();
    fs::create_dir_all(project.join("changes")).expect("the sandbox is writable");
    let lock = fs::File::create(project.join("changes/lock")).expect("the sandbox is writable");
    lock.lock().expect("free");
    lock
}

#[test]
fn an_end_that_is_told_long_after_it_was_saved_is_told() {
    /// Longer than a hook waits before it looks for a running loop.
    const SILENCE: Duration = Duration::from_secs(2);
    let sandbox = super::looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", super::FIXED);
    sandbox.write("progress.txt", "COMPLETED:\n- the word is better\n");
    // The notes of a loop are written between the save and the answer.
    let lock = lock_changes(&sandbox);
    let asked_at = Instant::now();
    let stopping = stop_beside(&sandbox);
    let is_saved = || (status(&sandbox)["status"] == "completed").then_some(());
    eventually(PATIENCE, is_saved).expect("the loop ends");
    let is_silent = || (asked_at.elapsed() > SILENCE).then_some(());
    eventually(PATIENCE, is_silent).expect("time goes by");
    drop(lock);
    let told = notice(&stopping.join().expect("the hook ends"));
    assert!(told.contains("completed"), "{told}");
    assert!(sandbox.read(".claude/gulf-align.md").contains("the word is better"));
}
