//! Runs commands, each in its own process group that does not outlive the run; commands of the
//! project run below a parent process that is not the daemon.
//!
//! ```text
//! spawn ──▶ read output and wait ──▶ ended ──▶ kill the rest of the group ──▶ drain output
//!                    └─ timeout ──▶ SIGTERM to the group, grace ──┘
//! ```

mod output;
pub mod parent;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::timeout;

use moai_base::limits::{
    CHECK_DRAIN_MS_MAX, CHECK_KILL_GRACE_MS, CHECK_READ_BYTES_MAX, CHECK_REAP_MS_MAX,
};
use moai_base::verdict::{Cause, Gap};
use output::OutputBuffer;
use parent::{ParentReport, RUN_CHECK};

/// What our processes are called in lists of them.
const PROGRAM: &str = "moai-ralph";

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessCommand {
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
    /// This program's own file, which is then started to be the command's parent; `None`: it is a
    /// child of this very process, which must be trusted not to kill its parent.
    pub parent: Option<PathBuf>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
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
pub struct CommandRun {
    /// How it ended.
    pub outcome: CommandOutcome,
    /// Stdout and stderr in the order they came: head and tail, a line between them that counts
    /// what was left out, without escape sequences.
    pub output: String,
    /// From before the start until the group was gone.
    pub elapsed: Duration,
}

/// Runs a command to its end or its timeout. No process of its group is left when this returns,
/// and none when the future is dropped. A process that left the group (`setsid`) cannot hold up the
/// run; below a parent it is ended as well (Linux).
pub async fn run_command(command: ProcessCommand) -> CommandRun {
    run_with(command, OutputBuffer::default()).await
}

/// The same; `watch` sees every line of the output, also those that are not kept, except lines of
/// more than [`moai_base::limits::CHECK_LINE_BYTES_MAX`] bytes.
pub async fn run_command_watched(
    command: ProcessCommand,
    watch: &mut (dyn FnMut(&str) + Send),
) -> CommandRun {
    run_with(command, OutputBuffer::with_watcher(watch)).await
}

async fn run_with(command: ProcessCommand, mut output: OutputBuffer<'_>) -> CommandRun {
    let started = Instant::now();
    let end = match spawn_command(&command) {
        Ok(mut running) => match running.finish(command.timeout, &mut output).await {
            WaitOutcome::Finished(end) => end,
            WaitOutcome::NotStarted(error) => {
                CommandOutcome::Unmeasured(start_failure_gap(&command, &error))
            }
        },
        Err(error) => CommandOutcome::Unmeasured(start_failure_gap(&command, &error)),
    };
    CommandRun { outcome: end, output: output.finish(), elapsed: started.elapsed() }
}

fn spawn_command(command: &ProcessCommand) -> io::Result<RunningCommand> {
    // One pipe for both streams keeps them in the order they were written.
    let (reader, writer) = io::pipe()?;
    let receiver = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let (mut process, said) = match &command.parent {
        None => (tokio::process::Command::new(&command.program), None),
        Some(parent) => {
            let (ours, its) = UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            let mut process = tokio::process::Command::new(parent);
            process.arg0(PROGRAM).arg(RUN_CHECK).arg(&command.program);
            process.stdin(Stdio::from(OwnedFd::from(its)));
            (process, Some(ParentReports::of(ours)?))
        }
    };
    if said.is_none() {
        process.stdin(Stdio::null());
    }
    process
        .args(&command.args)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.env.iter().map(|(key, value)| (key, value)))
        .stdout(Stdio::from(writer.try_clone()?))
        .stderr(Stdio::from(writer))
        .process_group(0)
        // A parent sees our end of the socket closed, and ends what it started.
        .kill_on_drop(said.is_none());
    let child = process.spawn()?;
    // `process` holds our copies of the writing end; it is dropped here, so that the output ends
    // with the last process that has it.
    let id = child.id().filter(|_| said.is_none()).and_then(|id| Pid::from_raw(id.cast_signed()));
    Ok(RunningCommand { child, group: ProcessGroup(id), receiver: Some(receiver), reports: said })
}

/// How a run went on after it was begun.
enum WaitOutcome {
    Finished(CommandOutcome),
    /// Its parent runs, and the command does not.
    NotStarted(io::Error),
}

/// What the parent of a command says, as far as it was read.
struct ParentReports {
    socket: tokio::net::UnixStream,
    buffer: Vec<u8>,
}

impl ParentReports {
    fn of(socket: UnixStream) -> io::Result<Self> {
        Ok(Self { socket: tokio::net::UnixStream::from_std(socket)?, buffer: Vec::new() })
    }

    /// The next line; `None` at the end. Nothing is lost when this is given up.
    async fn next(&mut self) -> io::Result<Option<ParentReport>> {
        loop {
            if let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=at).collect();
                return Ok(ParentReport::parse(&String::from_utf8_lossy(&line)));
            }
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

struct RunningCommand {
    child: Child,
    group: ProcessGroup,
    /// `None` behind the end of the output.
    receiver: Option<pipe::Receiver>,
    /// Where the child is the command's parent and not the command itself.
    reports: Option<ParentReports>,
}

impl RunningCommand {
    async fn finish(&mut self, limit: Duration, output: &mut OutputBuffer<'_>) -> WaitOutcome {
        let end = if let Ok(ended) = timeout(limit, self.wait(output)).await {
            ended
        } else {
            self.group.signal(Signal::TERM);
            let grace = Duration::from_millis(CHECK_KILL_GRACE_MS);
            let _ = timeout(grace, self.wait(output)).await;
            let detail = format!("did not end within {} ms", limit.as_millis());
            WaitOutcome::Finished(CommandOutcome::Unmeasured(Gap::new(Cause::TimedOut, detail)))
        };
        self.group.kill();
        let reap = Duration::from_millis(CHECK_REAP_MS_MAX);
        // A parent sees the socket closed, ends what left the group, and then itself, unless it was
        // stopped.
        let has_parent = self.reports.take().is_some();
        let is_reaped = timeout(reap, self.child.wait()).await.is_ok();
        if has_parent && !is_reaped {
            let _ = self.child.start_kill();
            // SIGKILL ends every process that is not stuck in the kernel; one that is must not hang
            // us.
            let _ = timeout(reap, self.child.wait()).await;
        }
        let drain = Duration::from_millis(CHECK_DRAIN_MS_MAX);
        let _ = timeout(drain, self.drain(output)).await;
        end
    }

    /// Reads output until the process ends.
    async fn wait(&mut self, output: &mut OutputBuffer<'_>) -> WaitOutcome {
        let mut buffer = vec![0; CHECK_READ_BYTES_MAX];
        let Self { child, group, receiver, reports: said } = self;
        let ended = wait_for_outcome(child, group, said.as_mut());
        tokio::pin!(ended);
        loop {
            let Some(open) = receiver else { return ended.await };
            tokio::select! {
                end = &mut ended => return end,
                read = open.read(&mut buffer) => match read {
                    Ok(count) if count > 0 => output.push(&buffer[..count]),
                    _ => *receiver = None,
                },
            }
        }
    }

    /// Reads what the ended group left in the pipe.
    async fn drain(&mut self, output: &mut OutputBuffer<'_>) {
        let Some(receiver) = &mut self.receiver else { return };
        let mut buffer = vec![0; CHECK_READ_BYTES_MAX];
        while let Ok(count @ 1..) = receiver.read(&mut buffer).await {
            output.push(&buffer[..count]);
        }
    }
}

/// Waits for the command's end.
async fn wait_for_outcome(
    child: &mut Child,
    group: &mut ProcessGroup,
    said: Option<&mut ParentReports>,
) -> WaitOutcome {
    let Some(said) = said else {
        return WaitOutcome::Finished(outcome_of_status(child.wait().await));
    };
    loop {
        match said.next().await {
            Ok(Some(ParentReport::Started(id))) => group.0 = Some(id),
            Ok(Some(ParentReport::Exited(status))) => {
                return WaitOutcome::Finished(outcome_of_status(Ok(status)));
            }
            Ok(Some(ParentReport::NotStarted(error))) => return WaitOutcome::NotStarted(error),
            Ok(None) | Err(_) => {
                let detail = "its parent process was killed";
                return WaitOutcome::Finished(CommandOutcome::Unmeasured(Gap::new(
                    Cause::Crashed,
                    detail,
                )));
            }
        }
    }
}

/// A process group that is killed when this is dropped, unless it was before.
///
/// Between the end of its leader and the kill the group's id could be given to a stranger only if
/// the system ran through all process ids in that moment; while a member lives it never is.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
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

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

fn outcome_of_status(status: io::Result<ExitStatus>) -> CommandOutcome {
    let status = match status {
        Ok(status) => status,
        Err(error) => {
            let gap = Gap::new(Cause::Crashed, format!("its exit status is unknown: {error}"));
            return CommandOutcome::Unmeasured(gap);
        }
    };
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
        (Some(code), _) => CommandOutcome::Failed(format!("exit status {code}")),
        (None, Some(signal)) => CommandOutcome::Failed(format!("killed by signal {signal}")),
        (None, None) => CommandOutcome::Failed("ended without a status".to_owned()),
    }
}

fn start_failure_gap(command: &ProcessCommand, error: &io::Error) -> Gap {
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

#[cfg(test)]
mod tests;
