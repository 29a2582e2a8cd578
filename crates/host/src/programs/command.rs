//! Commands whose exit status is a result: passed, failed or unmeasured, with their output.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::output::OutputBuffer;
use super::{ProgramCall, ProgramEnd, ProgramStreams, run_program};
use moai_base::verdict::{Cause, Gap};

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// Exit status 0.
    Passed,
    /// Any other end.
    Failed(CommandFailure),
    /// It could not start, a command it needs was not found (exit status 126 or 127, the convention
    /// of shells), or it did not end in time.
    Unmeasured(Gap),
}

/// How a command failed; its text is a fragment for people: `exit status 1`, `killed by signal 9`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandFailure {
    /// An exit status other than 0, 126 and 127.
    Status(i32),
    /// The number of the signal that ended it.
    Signal(i32),
    /// It failed in another way than by its end: a lower-case fragment.
    Other(String),
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(out, "exit status {status}"),
            Self::Signal(signal) => write!(out, "killed by signal {signal}"),
            Self::Other(how) => out.write_str(how),
        }
    }
}

/// One run of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRun {
    pub outcome: CommandOutcome,
    /// Stdout and stderr in the order of the writes, without escape sequences: head and tail, and
    /// between them a line that counts the bytes left out.
    pub output: String,
    /// From before the start until no process of the group was left.
    pub elapsed: Duration,
}

/// Runs a command to its end or its time limit.
pub async fn run_command(command: ProgramCall) -> CommandRun {
    run_with_buffer(command, OutputBuffer::default()).await
}

/// The same; `watch` sees every line of the output, also those that are not kept, except lines of
/// more than [`moai_base::limits::CHECK_LINE_BYTES_MAX`] bytes.
pub async fn run_command_watched(
    command: ProgramCall,
    watch: &mut (dyn FnMut(&str) + Send),
) -> CommandRun {
    run_with_buffer(command, OutputBuffer::with_watcher(watch)).await
}

async fn run_with_buffer(command: ProgramCall, mut output: OutputBuffer<'_>) -> CommandRun {
    let start = Instant::now();
    let mut stdout = |bytes: &[u8]| output.push(bytes);
    let streams = ProgramStreams { stdin: None, stdout: &mut stdout, stderr: None };
    let end = run_program(&command, streams).await;
    let outcome = match end {
        ProgramEnd::Exited(status) => outcome_of_status(status),
        ProgramEnd::TimedOut => {
            let detail = format!("did not end within {} ms", command.timeout.as_millis());
            CommandOutcome::Unmeasured(Gap::new(Cause::TimedOut, detail))
        }
        ProgramEnd::NotStarted(error) => {
            CommandOutcome::Unmeasured(start_failure_gap(&command, &error))
        }
        ProgramEnd::Lost(detail) => CommandOutcome::Unmeasured(Gap::new(Cause::Crashed, detail)),
    };
    CommandRun { outcome, output: output.finish(), elapsed: start.elapsed() }
}

fn outcome_of_status(status: ExitStatus) -> CommandOutcome {
    match (status.code(), status.signal()) {
        (Some(0), _) => CommandOutcome::Passed,
        (Some(126), _) => {
            let detail = "exit status 126: a command is not executable";
            CommandOutcome::Unmeasured(Gap::new(Cause::ProjectFault, detail))
        }
        (Some(127), _) => {
            let detail = "exit status 127: a command was not found";
            CommandOutcome::Unmeasured(Gap::new(Cause::NotInstalled, detail))
        }
        (Some(status), _) => CommandOutcome::Failed(CommandFailure::Status(status)),
        (None, Some(signal)) => CommandOutcome::Failed(CommandFailure::Signal(signal)),
        (None, None) => {
            CommandOutcome::Failed(CommandFailure::Other("ended without a status".to_owned()))
        }
    }
}

fn start_failure_gap(command: &ProgramCall, error: &io::Error) -> Gap {
    let program = command.program.display();
    let is_name = command.program.components().count() == 1 && command.program.is_relative();
    match error.kind() {
        _ if !command.cwd.is_dir() => {
            let detail = format!("its working directory does not exist: {}", command.cwd.display());
            Gap::new(Cause::ProjectFault, detail)
        }
        // The kernel reports "not found" for a missing interpreter too.
        io::ErrorKind::NotFound if !is_name && command.cwd.join(&command.program).exists() => {
            let detail = format!("the interpreter in the first line of {program} is missing");
            Gap::new(Cause::ProjectFault, detail)
        }
        io::ErrorKind::NotFound if is_name => {
            Gap::new(Cause::NotInstalled, format!("{program} was not found on PATH"))
        }
        io::ErrorKind::NotFound => {
            Gap::new(Cause::ProjectFault, format!("{program} does not exist"))
        }
        io::ErrorKind::PermissionDenied => {
            Gap::new(Cause::ProjectFault, format!("{program} is not executable"))
                .with_remedy(format!("chmod +x '{program}'"))
        }
        _ => Gap::new(Cause::ProjectFault, format!("{program} could not be started: {error}")),
    }
}
