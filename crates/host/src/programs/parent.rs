//! The parent process of a command, instead of the daemon: a command that kills its parent ends only its own
//! run, not the work of every project.
//!
//! ```text
//! daemon ==socket== parent (this program again; its stdin is the socket)
//!                     `-- the command, in a process group of its own
//! ```
//!
//! It reports the command's process id, then its exit status, one line each. When the socket
//! closes, the daemon has abandoned the run or has ended, and the command is killed with all its
//! descendants, including those that left its group (`setsid`). The same happens to remaining
//! descendants when the command ends.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};

use crate::processes;
use moai_base::limits::{SUPERVISOR_SWEEP_MS, SUPERVISOR_SWEEPS_MAX};

/// First argument of such a process: `run-check PROGRAM ARGUMENTS…`. Not for people.
pub const RUN_CHECK: &str = "run-check";

/// A report of a parent: one line on the socket.
#[derive(Debug)]
pub(super) enum ParentReport {
    /// The command runs and leads this group.
    Started(Pid),
    Exited(ExitStatus),
    /// The command could not be started.
    NotStarted(io::Error),
}

impl ParentReport {
    fn to_line(&self) -> String {
        match self {
            Self::Started(id) => format!("runs {}\n", id.as_raw_nonzero()),
            Self::Exited(status) => format!("ended {}\n", status.into_raw()),
            Self::NotStarted(error) => format!("error {}\n", error.raw_os_error().unwrap_or(0)),
        }
    }

    /// `None` for any other line.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (kind, number) = line.trim_end().split_once(' ')?;
        let number: i32 = number.parse().ok()?;
        match kind {
            "runs" if number > 0 => Pid::from_raw(number).map(Self::Started),
            "ended" => Some(Self::Exited(ExitStatus::from_raw(number))),
            "error" => Some(Self::NotStarted(io::Error::from_raw_os_error(number))),
            _ => None,
        }
    }
}

/// The reports of a parent, in the daemon.
pub(super) struct ParentReports(Lines<BufReader<tokio::net::UnixStream>>);

impl ParentReports {
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let socket = tokio::net::UnixStream::from_std(socket)?;
        Ok(Self(BufReader::new(socket).lines()))
    }

    /// The next report; `None` at the end. Cancelling loses no byte.
    pub(super) async fn next(&mut self) -> io::Result<Option<ParentReport>> {
        Ok(self.0.next_line().await?.and_then(|line| ParentReport::parse(&line)))
    }
}

/// Runs the command to its end. The result goes through the socket; the exit code has no meaning.
#[must_use]
pub fn run_check(arguments: &[OsString]) -> u8 {
    let Some((program, args)) = arguments.split_first() else { return 1 };
    let mut command = Command::new(program);
    processes::adopt_orphans();
    let child = command.args(args).stdin(Stdio::null()).process_group(0).spawn();
    let report = match &child {
        Ok(child) => wait_for_child(child),
        Err(error) => ParentReport::NotStarted(io::Error::from_raw_os_error(
            error.raw_os_error().unwrap_or(0),
        )),
    };
    write_report(&report);
    0
}

fn wait_for_child(child: &Child) -> ParentReport {
    let id = Pid::from_child(child);
    write_report(&ParentReport::Started(id));
    thread::spawn(move || {
        // The daemon sends nothing: this waits for the end of the socket.
        let mut byte = [0];
        while matches!(rustix::io::read(io::stdin(), &mut byte), Ok(1..) | Err(Errno::INTR)) {}
        let _ = kill_process_group(id, Signal::KILL);
        end_descendants();
    });
    let status = match processes::wait_for_child(id) {
        Ok(status) => status,
        Err(error) => return ParentReport::NotStarted(error.into()),
    };
    // Before the report, because the daemon ends this process after it.
    let _ = kill_process_group(id, Signal::KILL);
    end_descendants();
    ParentReport::Exited(ExitStatus::from_raw(status.as_raw()))
}

/// Kills whatever the command started, in its group or not.
fn end_descendants() {
    for _ in 0..SUPERVISOR_SWEEPS_MAX {
        if !processes::kill_own_descendants() {
            return;
        }
        thread::sleep(Duration::from_millis(SUPERVISOR_SWEEP_MS));
    }
}

fn write_report(report: &ParentReport) {
    // Fails if the daemon has closed the socket, and then the run is abandoned.
    let _ = rustix::io::write(io::stdin(), report.to_line().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_line_format_and_other_lines_are_none() {
        let id = Pid::from_raw(7).expect("no zero");
        let error = io::Error::from_raw_os_error(2);
        for report in [
            ParentReport::Started(id),
            ParentReport::Exited(ExitStatus::from_raw(9)),
            ParentReport::NotStarted(error),
        ] {
            let parsed = ParentReport::parse(&report.to_line()).map(|parsed| parsed.to_line());
            assert_eq!(parsed, Some(report.to_line()));
        }
        for noise in ["", "runs", "runs 0\n", "runs -1\n", "runs x\n", "ended\n", "over 1\n"] {
            assert!(ParentReport::parse(noise).is_none(), "{noise:?}");
        }
    }
}
