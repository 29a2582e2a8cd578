//! The process that a command has for its parent, in place of the daemon: whoever kills its own
//! parent ends its own run, and not the work of every project. It must not know what the command
//! is for.
//!
//! ```text
//! daemon ==socket== parent (this program again; its stdin is the socket)
//!                     `-- the command, in a process group of its own
//! ```
//!
//! It says the command's process id, then how it ended, each as one line. When the socket ends, the
//! daemon has given the run up or is gone, and the command's group is killed.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

/// First argument of such a process: `run-check PROGRAM ARGUMENTS…`. Not for people.
pub const RUN_CHECK: &str = "run-check";

/// What it says.
#[derive(Debug)]
pub(super) enum Said {
    /// The command runs and leads this group.
    Runs(Pid),
    /// It ended.
    Ended(ExitStatus),
    /// It could not be started.
    NotStarted(io::Error),
}

impl Said {
    fn line(&self) -> String {
        match self {
            Self::Runs(id) => format!("runs {}\n", id.as_raw_nonzero()),
            Self::Ended(status) => format!("ended {}\n", status.into_raw()),
            Self::NotStarted(error) => format!("error {}\n", error.raw_os_error().unwrap_or(0)),
        }
    }

    /// What a line says, if it is one of its own.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (word, number) = line.trim_end().split_once(' ')?;
        let number: i32 = number.parse().ok()?;
        match word {
            "runs" if number > 0 => Pid::from_raw(number).map(Self::Runs),
            "ended" => Some(Self::Ended(ExitStatus::from_raw(number))),
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
    let child = command.args(args).stdin(Stdio::null()).process_group(0).spawn();
    let said = match child {
        Ok(child) => follow(child),
        Err(error) => Said::NotStarted(error),
    };
    say(&said);
    0
}

fn follow(mut child: Child) -> Said {
    let Some(id) = Pid::from_raw(child.id().cast_signed()) else {
        return Said::NotStarted(io::Error::other("no process id"));
    };
    say(&Said::Runs(id));
    thread::spawn(move || {
        // Nothing is ever said to us; the end of it is what is waited for.
        let mut byte = [0];
        while matches!(rustix::io::read(io::stdin(), &mut byte), Ok(1..) | Err(Errno::INTR)) {}
        let _ = kill_process_group(id, Signal::KILL);
    });
    child.wait().map_or_else(Said::NotStarted, Said::Ended)
}

fn say(said: &Said) {
    // Nobody listens any more: nothing is left to do about it.
    let _ = rustix::io::write(io::stdin(), said.line().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_nothing_else() {
        let id = Pid::from_raw(7).expect("no zero");
        let error = io::Error::from_raw_os_error(2);
        for said in [Said::Runs(id), Said::Ended(ExitStatus::from_raw(9)), Said::NotStarted(error)]
        {
            let heard = Said::parse(&said.line()).map(|heard| heard.line());
            assert_eq!(heard, Some(said.line()));
        }
        for noise in ["", "runs", "runs 0\n", "runs -1\n", "runs x\n", "ended\n", "over 1\n"] {
            assert!(Said::parse(noise).is_none(), "{noise:?}");
        }
    }
}
