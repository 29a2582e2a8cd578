//! The process between us and a language server. It starts the server with its own stdin, stdout and stderr,
//! copies nothing, and ends the server's whole process tree when the server ends or its owner has ended for
//! whatever reason.
//!
//! ```text
//! owner ==pipes== supervisor (leads the process group; orphans of the tree become its children)
//!                    `-- language server (Linux: killed by the kernel if the supervisor is)
//!                           `-- its children
//! ```
//!
//! The supervisor learns from the pipes, which the kernel closes when the owner ends, whether the owner still
//! runs: a closed stdin means that the server should end soon, a closed stdout that nothing reads its output
//! any more.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, kill_process_group,
    setpgid, wait,
};

use crate::processes;
use moai_base::limits::{
    SERVER_KILL_MS_MAX, SERVER_STOP_MS_MAX, SUPERVISOR_POLL_MS, SUPERVISOR_SWEEP_MS,
    SUPERVISOR_SWEEPS_MAX,
};

/// First argument of a supervisor: `supervise PROGRAM ARGUMENTS…`. Not for people.
pub const SUPERVISE: &str = "supervise";
/// First argument of the process that becomes the server: `become SUPERVISOR-PID PROGRAM
/// ARGUMENTS…`.
pub const BECOME: &str = "become";
/// Exit code when the program cannot be started, as shells have it.
const CANNOT_START: u8 = 127;
/// Added to a signal's number for an exit code, as shells have it.
const SIGNALLED: i32 = 128;

/// Runs the server to its end; returns its exit code, or dies of the same signal.
#[must_use]
pub fn supervise(words: &[OsString]) -> u8 {
    let owner = getppid();
    processes::adopt_orphans();
    let child = match command(words).and_then(|mut command| command.spawn()) {
        Ok(child) => child,
        Err(error) => return cannot_start(words, &error),
    };
    thread::spawn(move || end_with_owner(owner));
    let status = processes::wait_for_child(Pid::from_child(&child));
    end_tree(owner);
    status.map_or(CANNOT_START, exit_like)
}

/// Replaces this process with the server. On Linux the kernel then kills it with the supervisor.
#[must_use]
pub fn become_server(words: &[OsString]) -> u8 {
    let Some((supervisor, words)) = words.split_first() else { return CANNOT_START };
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    }
    // The supervisor may have ended before the line above.
    let is_there = getppid().map(|pid| pid.to_string().into());
    if is_there.as_ref() != Some(supervisor) {
        return CANNOT_START;
    }
    let Some((program, arguments)) = words.split_first() else { return CANNOT_START };
    let error = std::os::unix::process::CommandExt::exec(Command::new(program).args(arguments));
    cannot_start(words, &error)
}

fn command(words: &[OsString]) -> io::Result<Command> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    if !cfg!(target_os = "linux") {
        let mut command = Command::new(program);
        command.args(arguments);
        return Ok(command);
    }
    // `/proc/self/exe` also works after the file was replaced.
    let mut command = Command::new("/proc/self/exe");
    command.arg(BECOME).arg(getpid().to_string()).args(words);
    Ok(command)
}

fn cannot_start(words: &[OsString], error: &io::Error) -> u8 {
    let program = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
    let _ = writeln!(io::stderr(), "cannot start {program}: {error}");
    CANNOT_START
}

/// Waits until the owner ends or requests the end, then kills the tree.
fn end_with_owner(owner: Option<Pid>) {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let mut end_at: Option<Instant> = None;
    loop {
        let look = Duration::from_millis(SUPERVISOR_POLL_MS);
        let pause =
            end_at.map_or(look, |at| look.min(at.saturating_duration_since(Instant::now())));
        let pause = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
        // `poll` reports closed ends even without requested events, and nothing is read.
        let mut ends =
            [PollFd::new(&stdout, PollFlags::empty()), PollFd::new(&stdin, PollFlags::empty())];
        // A closed stdin would end every later `poll` at once.
        let count = if end_at.is_some() { 1 } else { 2 };
        let _ = poll(&mut ends[..count], Some(&pause));
        let [is_stdout_closed, is_stdin_closed] = ends.map(|end| !end.revents().is_empty());
        let is_abandoned = is_stdout_closed || getppid() != owner;
        if is_abandoned || end_at.is_some_and(|at| at <= Instant::now()) {
            break;
        }
        if end_at.is_none() && is_stdin_closed {
            end_at = Some(Instant::now() + Duration::from_millis(SERVER_STOP_MS_MAX));
        }
    }
    // The main thread then sees the server's end and exits.
    processes::kill_own_descendants();
    thread::sleep(Duration::from_millis(SERVER_KILL_MS_MAX) / 2);
    // By id, not as "the current group": the main thread may have moved into the owner's group.
    let own = getpid();
    let _ = kill_process_group(own, Signal::KILL);
    let _ = kill_process(own, Signal::KILL);
}

/// Kills the processes that the server left behind: its process group, then those that left the group.
fn end_tree(owner: Option<Pid>) {
    let group = getpid();
    // The supervisor stays alive to return the server's exit code, unless the owner has ended.
    let is_owned = owner.is_some() && getppid() == owner;
    let has_left = is_owned && setpgid(None, owner).is_ok();
    if has_left {
        let _ = kill_process_group(group, Signal::KILL);
    }
    for _ in 0..SUPERVISOR_SWEEPS_MAX {
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        if !processes::kill_own_descendants() {
            break;
        }
        thread::sleep(Duration::from_millis(SUPERVISOR_SWEEP_MS));
    }
    // Without `/proc` only the group is known.
    if !has_left && processes::list_processes().is_empty() {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn exit_like(status: WaitStatus) -> u8 {
    if let Some(code) = status.exit_status() {
        return u8::try_from(code).unwrap_or(u8::MAX);
    }
    let number = status.terminating_signal().unwrap_or(0);
    if let Some(signal) = Signal::from_named_raw(number) {
        let _ = kill_process(getpid(), signal);
    }
    u8::try_from(SIGNALLED + number).unwrap_or(u8::MAX)
}
