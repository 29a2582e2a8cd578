//! Runs commands of the project, each in a process group of its own that does not outlive the
//! run. It must not know which commands there are or what their results decide.
//!
//! ```text
//! spawn ──▶ read output and wait ──▶ ended ──▶ kill the rest of the group ──▶ drain output
//!                    └─ timeout ──▶ SIGTERM to the group, grace ──┘
//! ```

mod output;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::timeout;

use crate::base::limits::{
    CHECK_DRAIN_MS_MAX, CHECK_KILL_GRACE_MS, CHECK_READ_BYTES_MAX, CHECK_REAP_MS_MAX,
};
use crate::base::verdict::{Cause, Gap};
use output::Output;

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What people call it: `npm test`.
    pub name: String,
    /// A path, or a name that is looked up in the `PATH` of `env`.
    pub program: PathBuf,
    /// Its arguments, without the program.
    pub args: Vec<String>,
    /// The directory it runs in.
    pub cwd: PathBuf,
    /// Its complete environment; nothing is inherited.
    pub env: Vec<(String, String)>,
    /// The time it gets before its group is told to end.
    pub timeout: Duration,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Exit status 0.
    Passed,
    /// It ran and said no; the fragment for people: `exit status 1`, `killed by signal 9`.
    Failed(String),
    /// It proved nothing: it could not start, a command it needs was not found (exit status 126
    /// or 127, as shells say it), or it did not end in time.
    Unmeasured(Gap),
}

/// One run of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// How it ended.
    pub end: End,
    /// Stdout and stderr in the order they came: head and tail, a line between them that counts
    /// what was left out, without escape sequences.
    pub output: String,
    /// From before the start until the group was gone.
    pub elapsed: Duration,
}

/// Runs a command to its end or its timeout. No process of its group is left when this returns,
/// and none when the future is dropped; a process that left the group (`setsid`) is not followed,
/// and cannot hold up the run either.
pub async fn run(command: Command) -> Run {
    run_with(command, Output::default()).await
}

/// The same; `watch` sees every line of the output, also those that are not kept, except lines of
/// more than [`crate::base::limits::CHECK_LINE_BYTES_MAX`] bytes.
pub async fn run_watched(command: Command, watch: &mut (dyn FnMut(&str) + Send)) -> Run {
    run_with(command, Output::watched(watch)).await
}

async fn run_with(command: Command, mut output: Output<'_>) -> Run {
    let started = Instant::now();
    let end = match start(&command) {
        Ok(mut running) => running.finish(command.timeout, &mut output).await,
        Err(error) => End::Unmeasured(not_started(&command, &error)),
    };
    Run { end, output: output.finish(), elapsed: started.elapsed() }
}

fn start(command: &Command) -> io::Result<Running> {
    // One pipe for both streams keeps them in the order they were written.
    let (reader, writer) = io::pipe()?;
    let receiver = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut process = tokio::process::Command::new(&command.program);
    process
        .args(&command.args)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.env.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::from(writer.try_clone()?))
        .stderr(Stdio::from(writer))
        .process_group(0)
        .kill_on_drop(true);
    let child = process.spawn()?;
    // `process` holds our copies of the writing end; it is dropped here, so that the output ends
    // with the last process that has it.
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    Ok(Running { child, group: Group(id), receiver: Some(receiver) })
}

struct Running {
    child: Child,
    group: Group,
    /// `None` behind the end of the output.
    receiver: Option<pipe::Receiver>,
}

impl Running {
    async fn finish(&mut self, limit: Duration, output: &mut Output<'_>) -> End {
        let end = if let Ok(status) = timeout(limit, self.wait(output)).await {
            end_of(status)
        } else {
            self.group.signal(Signal::TERM);
            let grace = Duration::from_millis(CHECK_KILL_GRACE_MS);
            let _ = timeout(grace, self.wait(output)).await;
            let detail = format!("did not end within {} ms", limit.as_millis());
            End::Unmeasured(Gap::new(Cause::TimedOut, detail))
        };
        self.group.kill();
        // SIGKILL ends every process that is not stuck in the kernel; one that is must not hang us.
        let reap = Duration::from_millis(CHECK_REAP_MS_MAX);
        let _ = timeout(reap, self.child.wait()).await;
        let drain = Duration::from_millis(CHECK_DRAIN_MS_MAX);
        let _ = timeout(drain, self.drain(output)).await;
        end
    }

    /// Reads output until the process ends.
    async fn wait(&mut self, output: &mut Output<'_>) -> io::Result<ExitStatus> {
        let mut buffer = vec![0; CHECK_READ_BYTES_MAX];
        loop {
            let Some(receiver) = &mut self.receiver else { return self.child.wait().await };
            tokio::select! {
                status = self.child.wait() => return status,
                read = receiver.read(&mut buffer) => match read {
                    Ok(count) if count > 0 => output.push(&buffer[..count]),
                    _ => self.receiver = None,
                },
            }
        }
    }

    /// Reads what the ended group left in the pipe.
    async fn drain(&mut self, output: &mut Output<'_>) {
        let Some(receiver) = &mut self.receiver else { return };
        let mut buffer = vec![0; CHECK_READ_BYTES_MAX];
        while let Ok(count @ 1..) = receiver.read(&mut buffer).await {
            output.push(&buffer[..count]);
        }
    }
}

/// A process group that is killed when this is dropped, unless it was before.
///
/// Between the end of its leader and the kill the group's id could be given to a stranger only if
/// the system ran through all process ids in that moment; while a member lives it never is.
struct Group(Option<Pid>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(id) = self.0 {
            // The only failure is that nobody is left.
            let _ = kill_process_group(id, signal);
        }
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

fn end_of(status: io::Result<ExitStatus>) -> End {
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            let gap = Gap::new(Cause::Crashed, format!("its end was lost: {error}"));
            return End::Unmeasured(gap);
        }
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => End::Passed,
        (Some(126), _) => {
            let detail = "exit status 126: a command is not executable";
            End::Unmeasured(Gap::new(Cause::ProjectFault, detail))
        }
        (Some(127), _) => {
            let detail = "exit status 127: a command was not found";
            End::Unmeasured(Gap::new(Cause::NotInstalled, detail))
        }
        (Some(code), _) => End::Failed(format!("exit status {code}")),
        (None, Some(signal)) => End::Failed(format!("killed by signal {signal}")),
        (None, None) => End::Failed("ended without a status".to_owned()),
    }
}

fn not_started(command: &Command, error: &io::Error) -> Gap {
    let program = command.program.display();
    let is_name = command.program.components().count() == 1 && command.program.is_relative();
    match error.kind() {
        _ if !command.cwd.is_dir() => {
            let detail = format!("its directory does not exist: {}", command.cwd.display());
            Gap::new(Cause::ProjectFault, detail)
        }
        // The kernel says "not found" for a missing interpreter as well.
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

#[cfg(test)]
mod tests;
