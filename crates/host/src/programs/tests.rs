//! Runs of real processes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use super::*;
use moai_base::limits::{
    CHECK_OUTPUT_HEAD_BYTES_MAX, CHECK_OUTPUT_TAIL_BYTES_MAX, COMMAND_KILL_GRACE_MS,
};
use moai_base::verdict::{Cause, Gap};

/// A deadline for facts that come soon; far longer than any of them takes.
const SOON: Duration = Duration::from_secs(20);

fn program(program: impl Into<PathBuf>, cwd: &Path) -> ProgramCall {
    ProgramCall {
        program: program.into(),
        args: Vec::new(),
        cwd: cwd.to_path_buf(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        timeout: SOON,
        kill_grace: Duration::from_millis(COMMAND_KILL_GRACE_MS),
        parent: None,
    }
}

fn shell(script: &str, cwd: &Path) -> ProgramCall {
    let args = vec!["-c".to_owned(), script.to_owned()];
    ProgramCall { args, ..program("sh", cwd) }
}

fn script(folder: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

async fn gap(command: ProgramCall) -> Gap {
    match run_command(command).await.outcome {
        CommandOutcome::Unmeasured(gap) => gap,
        other => panic!("measured: {other:?}"),
    }
}

/// Waits until a fact holds.
async fn until(what: &str, mut fact: impl FnMut() -> bool) {
    let started = Instant::now();
    while !fact() {
        assert!(started.elapsed() < SOON, "never: {what}");
        tokio::task::yield_now().await;
    }
}

/// Process ids a script wrote into files of the folder.
fn ids(folder: &Path, files: &[&str]) -> Vec<u32> {
    let read = |file: &&str| fs::read_to_string(folder.join(file)).unwrap().trim().parse().unwrap();
    files.iter().map(read).collect()
}

/// True if a process has ended, even if its parent has not read its exit status yet.
fn is_dead(id: u32) -> bool {
    match fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}

#[tokio::test]
async fn exit_status_and_signal_tell_passed_from_failed() {
    let temp = tempfile::tempdir().unwrap();
    let ends = [
        ("exit 0", CommandOutcome::Passed),
        ("exit 3", CommandOutcome::Failed(CommandFailure::Status(3))),
        ("kill -9 $$", CommandOutcome::Failed(CommandFailure::Signal(9))),
    ];
    for (text, expected) in ends {
        assert_eq!(run_command(shell(text, temp.path())).await.outcome, expected, "{text}");
    }
}

#[tokio::test]
async fn both_streams_come_in_the_order_they_were_written_without_colours() {
    let temp = tempfile::tempdir().unwrap();
    let text = r"echo one; echo two >&2; printf '\033[31mthree\033[0m\n'; printf four >&2; exit 1";
    let run = run_command(shell(text, temp.path())).await;
    assert_eq!(run.output, "one\ntwo\nthree\nfour");
    assert_eq!(run.outcome, CommandOutcome::Failed(CommandFailure::Status(1)));
}

#[tokio::test]
async fn directory_and_environment_are_the_ones_given_and_stdin_is_empty() {
    let temp = tempfile::tempdir().unwrap();
    let cwd = temp.path().canonicalize().unwrap();
    let mut command = shell("pwd; cat; echo $ONLY; env | grep -c CARGO", &cwd);
    command.env.push(("ONLY".to_owned(), "this".to_owned()));
    assert_eq!(run_command(command).await.output, format!("{}\nthis\n0\n", cwd.display()));
}

#[tokio::test]
async fn a_hanging_check_is_ended_with_everything_it_started() {
    let temp = tempfile::tempdir().unwrap();
    // Neither the shell nor its children listen to SIGTERM.
    let text = "trap '' TERM; echo $$ > main; (sleep 1000 & echo $! > deep; wait) & echo $! > sub; \
                while ! [ -s deep ]; do :; done; echo started; while :; do sleep 1000; done";
    let command = ProgramCall { timeout: Duration::from_millis(300), ..shell(text, temp.path()) };
    let run = run_command(command).await;
    let CommandOutcome::Unmeasured(gap) = &run.outcome else { panic!("{run:?}") };
    assert_eq!(gap.cause, Cause::TimedOut);
    assert_eq!(gap.detail, "did not end within 300 ms");
    assert_eq!(run.output, "started\n");
    assert!(run.elapsed >= Duration::from_millis(300 + COMMAND_KILL_GRACE_MS));
    for id in ids(temp.path(), &["main", "sub", "deep"]) {
        until("the processes are dead", || is_dead(id)).await;
    }
}

#[tokio::test]
async fn a_check_that_obeys_is_not_killed_and_its_last_words_are_kept() {
    let temp = tempfile::tempdir().unwrap();
    let text = "trap 'echo cleaned; exit 0' TERM; echo started; sleep 1000 & wait";
    let command = ProgramCall { timeout: Duration::from_millis(300), ..shell(text, temp.path()) };
    let run = run_command(command).await;
    assert!(
        matches!(&run.outcome, CommandOutcome::Unmeasured(gap) if gap.cause == Cause::TimedOut),
        "{run:?}"
    );
    assert_eq!(run.output, "started\ncleaned\n");
}

#[tokio::test]
async fn a_background_process_that_keeps_the_pipe_cannot_hold_up_the_run() {
    let temp = tempfile::tempdir().unwrap();
    let text = "sleep 1000 & echo $! > background; echo done";
    let run = run_command(shell(text, temp.path())).await;
    assert_eq!((run.outcome, run.output.as_str()), (CommandOutcome::Passed, "done\n"));
    assert!(run.elapsed < SOON / 2, "{:?}", run.elapsed);
    for id in ids(temp.path(), &["background"]) {
        until("the background process is dead", || is_dead(id)).await;
    }
}

#[tokio::test]
async fn a_process_that_left_the_group_cannot_hold_up_the_run_either() {
    let temp = tempfile::tempdir().unwrap();
    let text = "setsid sh -c 'echo $$ > away; exec sleep 1000' & \
                while ! [ -s away ]; do :; done; echo done";
    let run = run_command(shell(text, temp.path())).await;
    let away = ids(temp.path(), &["away"]);
    let id = Pid::from_raw(away[0].cast_signed()).unwrap();
    kill_process_group(id, Signal::KILL).unwrap();
    assert_eq!((run.outcome, run.output.as_str()), (CommandOutcome::Passed, "done\n"));
    assert!(run.elapsed < SOON / 2, "{:?}", run.elapsed);
}

#[tokio::test]
async fn a_check_that_kills_its_own_parent_is_a_failed_one_and_nothing_is_left() {
    let temp = tempfile::tempdir().unwrap();
    // The child outlives the shell that was started, ignores SIGTERM and keeps the pipe.
    let text = "sh -c 'trap \"\" TERM HUP; echo $$ > child; kill -9 $PPID; sleep 1000' & wait";
    let run = run_command(shell(text, temp.path())).await;
    assert_eq!(run.outcome, CommandOutcome::Failed(CommandFailure::Signal(9)));
    assert!(run.elapsed < SOON / 2, "{:?}", run.elapsed);
    for id in ids(temp.path(), &["child"]) {
        until("the child is dead", || is_dead(id)).await;
    }
}

#[tokio::test]
async fn a_check_that_forks_without_end_is_ended_with_all_of_them() {
    let temp = tempfile::tempdir().unwrap();
    // Each generation leaves a successor and ends, so that no process id stays.
    let text = "echo '[ $(wc -l < ids) -gt 400 ] && sleep 1000; echo $$ >> ids; sh next.sh & \
                exit' > next.sh; : > ids; sh next.sh; while :; do sleep 1; done";
    let command = ProgramCall { timeout: Duration::from_millis(500), ..shell(text, temp.path()) };
    let run = run_command(command).await;
    assert!(
        matches!(&run.outcome, CommandOutcome::Unmeasured(gap) if gap.cause == Cause::TimedOut),
        "{run:?}"
    );
    let forks = fs::read_to_string(temp.path().join("ids")).unwrap().lines().count();
    assert!(forks > 1, "it forked");
    until("nobody works in the folder", || !is_worked_in(temp.path())).await;
}

/// True if a process has this working directory.
fn is_worked_in(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|entry| {
        fs::read_link(entry.path().join("cwd")).is_ok_and(|directory| directory == folder)
    })
}

#[tokio::test]
async fn totals_in_the_middle_of_much_output_are_seen_though_they_are_not_kept() {
    let temp = tempfile::tempdir().unwrap();
    let text = "yes aaaaaaaaaaaaaaa | head -c 1000000; echo; echo 'total: 7'; \
                yes bbbbbbbbbbbbbbb | head -c 1000000";
    let mut seen = Vec::new();
    let mut watch = |line: &str| seen.extend(line.strip_prefix("total: ").map(str::to_owned));
    let run = run_command_watched(shell(text, temp.path()), &mut watch).await;
    assert!(!run.output.contains("total"), "{}", run.output);
    assert_eq!(seen, ["7"]);
}

#[tokio::test]
async fn dropping_the_run_kills_the_group() {
    let temp = tempfile::tempdir().unwrap();
    let text = "(sleep 1000 & echo $! > deep; wait) & echo $! > sub; \
                while ! [ -s deep ]; do :; done; echo $$ > main; wait";
    let task = tokio::spawn(run_command(shell(text, temp.path())));
    let main = temp.path().join("main");
    until("the check runs", || fs::read(&main).is_ok_and(|text| !text.is_empty())).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    for id in ids(temp.path(), &["main", "sub", "deep"]) {
        until("the processes are dead", || is_dead(id)).await;
    }
}

#[tokio::test]
async fn a_hundred_megabytes_of_output_keep_only_head_and_tail() {
    let temp = tempfile::tempdir().unwrap();
    let text = "echo first; yes 0123456789abcde | head -c 104857600; echo last";
    let run = run_command(shell(text, temp.path())).await;
    assert_eq!(run.outcome, CommandOutcome::Passed);
    assert!(run.output.starts_with("first\n0123456789abcde\n"));
    assert!(run.output.ends_with("0123456789abcde\nlast\n"));
    let kept = CHECK_OUTPUT_HEAD_BYTES_MAX + CHECK_OUTPUT_TAIL_BYTES_MAX;
    let left_out = 104_857_600 + "first\nlast\n".len() - kept;
    assert!(run.output.contains(&format!("\n… {left_out} bytes omitted …\n")), "{}", run.output);
    assert!(run.output.len() < kept + 100);
}

#[tokio::test]
async fn what_cannot_start_is_unmeasured_with_the_reason() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path();
    let locked = script(folder, "locked.sh", "#!/bin/sh\n", 0o644);
    let found = gap(program(&locked, folder)).await;
    assert_eq!(found.detail, format!("{} is not executable", locked.display()));
    assert_eq!(found.remedy, Some(format!("chmod +x '{}'", locked.display())));

    let lost = script(folder, "lost.sh", "#!/nonexistent/interpreter\n", 0o755);
    let found = gap(program(&lost, folder)).await;
    let expected = format!("the interpreter in the first line of {} is missing", lost.display());
    assert_eq!((found.cause, found.detail), (Cause::ProjectFault, expected));

    let found = gap(program("no-such-program", folder)).await;
    let expected = "no-such-program was not found on PATH".to_owned();
    assert_eq!((found.cause, found.detail), (Cause::NotInstalled, expected));

    let found = gap(program("./no-such.sh", folder)).await;
    assert_eq!(found.detail, "./no-such.sh does not exist");

    let found = gap(program("sh", &folder.join("gone"))).await;
    assert!(found.detail.starts_with("its working directory does not exist: "), "{found}");
}

#[tokio::test]
async fn a_shell_that_lacks_a_command_measured_nothing() {
    let temp = tempfile::tempdir().unwrap();
    script(temp.path(), "locked.sh", "#!/bin/sh\n", 0o644);
    assert_eq!(gap(shell("no-such-program", temp.path())).await.cause, Cause::NotInstalled);
    assert_eq!(gap(shell("./locked.sh", temp.path())).await.cause, Cause::ProjectFault);
}

#[tokio::test]
async fn all_of_stdin_is_written_and_separate_streams_stay_separate() {
    let temp = tempfile::tempdir().unwrap();
    // More than a pipe holds.
    let text = "0123456789abcdef".repeat(16 * 1024);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let streams = ProgramStreams {
        stdin: Some(text.clone()),
        stdout: &mut |bytes| stdout.extend_from_slice(bytes),
        stderr: Some(&mut |bytes| stderr.extend_from_slice(bytes)),
    };
    let end = run_program(&shell("cat; echo done >&2", temp.path()), streams).await;
    assert!(matches!(end, ProgramEnd::Exited(status) if status.success()), "{end:?}");
    assert!(stdout == text.as_bytes(), "{} bytes", stdout.len());
    assert_eq!(stderr, b"done\n");
}

#[tokio::test]
async fn a_program_may_answer_without_reading_its_stdin() {
    let temp = tempfile::tempdir().unwrap();
    let mut stdout = Vec::new();
    let streams = ProgramStreams {
        stdin: Some("x".repeat(1_000_000)),
        stdout: &mut |bytes| stdout.extend_from_slice(bytes),
        stderr: None,
    };
    let end = run_program(&shell("echo answer", temp.path()), streams).await;
    assert!(matches!(end, ProgramEnd::Exited(status) if status.success()), "{end:?}");
    assert_eq!(stdout, b"answer\n");
}
