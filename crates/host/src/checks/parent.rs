//! The parent process of a command, instead of the daemon: a command that kills its parent ends its
//! own run, and not the work of every project.
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
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, wait};

use crate::processes;
use moai_base::limits::{SUPERVISOR_SWEEP_MS, SUPERVISOR_SWEEPS_MAX};

/// First argument of such a process: `run-check PROGRAM ARGUMENTS…`. Not for people.
pub const RUN_CHECK: &str = "run-check";

/// What it says.
#[derive(Debug)]
pub(super) enum ParentReport {
    /// The command runs and leads this group.
    Started(Pid),
    /// It ended.
    Exited(ExitStatus),
    /// It could not be started.
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

    /// What a line says, if it is one of its own.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, number) = line.trim_end().split_once(' ')?;
        let number: i32 = number.parse().ok()?;
        match word {
            "runs" if number > 0 => Pid::from_raw(number).map(Self::Started),
            "ended" => Some(Self::Exited(ExitStatus::from_raw(number))),
            "error" => Some(Self::NotStarted(io::Error::from_raw_os_error(number))),
            _ => None,
        }
    }
}

/// Runs the command to its end. What it is about goes through the socket, so the exit code says
/// nothing.
#[must_use]
pub fn run_check(words: &[OsString]) -> u8 {
    let Some((program, args)) = words.split_first() else { return 1 };
    let mut command = Command::new(program);
    processes::adopt_orphans();
    let child = command.args(args).stdin(Stdio::null()).process_group(0).spawn();
    let said = match &child {
        Ok(child) => wait_for_child(child),
        Err(error) => ParentReport::NotStarted(io::Error::from_raw_os_error(
            error.raw_os_error().unwrap_or(0),
        )),
    };
    write_report(&said);
    0
}

fn wait_for_child(child: &Child) -> ParentReport {
    let Some(id) = Pid::from_raw(child.id().cast_signed()) else {
        return ParentReport::NotStarted(io::Error::other("no process id"));
    };
    write_report(&ParentReport::Started(id));
    thread::spawn(move || {
        // Nothing is ever said to us; the end of it is what is waited for.
        let mut byte = [0];
        while matches!(rustix::io::read(io::stdin(), &mut byte), Ok(1..) | Err(Errno::INTR)) {}
        let _ = kill_process_group(id, Signal::KILL);
        end_descendants();
    });
    let status = loop {
        // Any child: orphans that were adopted end as well.
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == id => break status,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return ParentReport::NotStarted(error.into()),
        }
    };
    // Before it is said: then the daemon ends this process.
    let _ = kill_process_group(id, Signal::KILL);
    end_descendants();
    ParentReport::Exited(ExitStatus::from_raw(status.as_raw()))
}

/// Ends whatever the command started, group or not.
fn end_descendants() {
    for _ in 0..SUPERVISOR_SWEEPS_MAX {
        let left = processes::living_descendants(
            &processes::list_processes(),
            getpid().as_raw_nonzero().get(),
        );
        if left.is_empty() {
            return;
        }
        left.iter().for_each(processes::kill);
        thread::sleep(Duration::from_millis(SUPERVISOR_SWEEP_MS));
    }
}

fn write_report(said: &ParentReport) {
    // Nobody listens any more: nothing is left to do about it.
    let _ = rustix::io::write(io::stdin(), said.to_line().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_nothing_else() {
        let id = Pid::from_raw(7).expect("no zero");
        let error = io::Error::from_raw_os_error(2);
        for said in [
            ParentReport::Started(id),
            ParentReport::Exited(ExitStatus::from_raw(9)),
            ParentReport::NotStarted(error),
        ] {
            let heard = ParentReport::parse(&said.to_line()).map(|heard| heard.to_line());
            assert_eq!(heard, Some(said.to_line()));
        }
        for noise in ["", "runs", "runs 0\n", "runs -1\n", "runs x\n", "ended\n", "over 1\n"] {
            assert!(ParentReport::parse(noise).is_none(), "{noise:?}");
        }
    }
}
