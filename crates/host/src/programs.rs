//! Runs programs to their end, each in its own process group that does not outlive the run;
//! commands of the project run below a parent process that is not the daemon.
//!
//! ```text
//! start ──▶ transfer data and wait ──▶ ended ──▶ kill the rest of the group ──▶ drain output
//!                    └─ timeout ──▶ SIGTERM to the group, grace ──┘
//! ```
//!
//! Language servers (`servers::process`) live longer than a call. Installers
//! (`servers::install::run`) share the terminal's process group with us.

mod command;
mod output;
pub mod parent;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

pub use command::{CommandFailure, CommandOutcome, CommandRun, run_command, run_command_watched};
use moai_base::limits::{PROGRAM_DRAIN_MS_MAX, PROGRAM_READ_BYTES_MAX, PROGRAM_REAP_MS_MAX};
use parent::{ParentReport, ParentReports, RUN_CHECK};

pub(crate) const PROCESS_NAME: &str = "moai-ralph";

/// The file of this program. If it was replaced since the start, the kernel's own link still leads
/// to it.
pub fn this_program() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(if program.exists() { program } else { PathBuf::from("/proc/self/exe") })
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramCall {
    /// A path, or a name that is looked up in the `PATH` of `env`.
    pub program: PathBuf,
    /// Its arguments, without the program.
    pub args: Vec<String>,
    /// The directory it runs in.
    pub cwd: PathBuf,
    /// Its complete environment; nothing is inherited.
    pub env: Vec<(String, String)>,
    /// Time limit, after which its group gets SIGTERM.
    pub timeout: Duration,
    /// Time from SIGTERM to SIGKILL.
    pub kill_grace: Duration,
    /// Starts this program's own file as the parent of the program. `None`: the program is a child
    /// of this process and must be trusted not to kill its parent.
    pub parent: Option<PathBuf>,
}

/// End of a run.
#[derive(Debug)]
pub(crate) enum ProgramEnd {
    Exited(ExitStatus),
    TimedOut,
    NotStarted(io::Error),
    /// The exit status is unknown; the cause.
    Lost(String),
}

/// Receives the next bytes of an output stream.
pub(crate) type OutputSink<'s> = &'s mut (dyn FnMut(&[u8]) + Send);

/// Input and output of a program while it runs.
pub(crate) struct ProgramStreams<'s> {
    /// The complete stdin; `None`, and below a parent: empty.
    pub(crate) stdin: Option<String>,
    pub(crate) stdout: OutputSink<'s>,
    /// `None`: merged into stdout, in the order of the writes.
    pub(crate) stderr: Option<OutputSink<'s>>,
}

/// Runs a program to its end or its time limit. No process of its group is left when this returns,
/// and none when the future is dropped. A process that left the group (`setsid`) cannot hold up the
/// run; below a parent it is ended as well (Linux).
pub(crate) async fn run_program(call: &ProgramCall, streams: ProgramStreams<'_>) -> ProgramEnd {
    match RunningProgram::start(call, streams) {
        Ok(mut running) => running.finish(call).await,
        Err(error) => ProgramEnd::NotStarted(error),
    }
}

struct RunningProgram<'s> {
    child: Child,
    group: ProcessGroup,
    /// Reports of the parent, where the child is a parent and not the program itself.
    reports: Option<ParentReports>,
    stdin: Option<ProgramInput>,
    stdout: Option<OutputStream<'s>>,
    stderr: Option<OutputStream<'s>>,
}

/// Stdin and the bytes that are not written yet.
struct ProgramInput {
    pipe: ChildStdin,
    rest: io::Cursor<String>,
}

struct OutputStream<'s> {
    pipe: pipe::Receiver,
    sink: OutputSink<'s>,
}

impl<'s> RunningProgram<'s> {
    fn start(call: &ProgramCall, streams: ProgramStreams<'s>) -> io::Result<Self> {
        let mut command = Command::new(call.parent.as_ref().unwrap_or(&call.program));
        let mut reports = None;
        if call.parent.is_some() {
            let (ours, theirs) = UnixStream::pair()?;
            reports = Some(ParentReports::new(ours)?);
            command.arg0(PROCESS_NAME).arg(RUN_CHECK).arg(&call.program);
            command.stdin(Stdio::from(OwnedFd::from(theirs)));
        } else if streams.stdin.is_some() {
            command.stdin(Stdio::piped());
        } else {
            command.stdin(Stdio::null());
        }
        let (stdout, stdout_writer) = OutputStream::open(streams.stdout)?;
        let (stderr, stderr_writer) = match streams.stderr {
            Some(sink) => {
                let (stream, writer) = OutputStream::open(sink)?;
                (Some(stream), writer)
            }
            None => (None, stdout_writer.try_clone()?),
        };
        command
            .args(&call.args)
            .current_dir(&call.cwd)
            .env_clear()
            .envs(call.env.iter().map(|(key, value)| (key, value)))
            .stdout(stdout_writer)
            .stderr(stderr_writer)
            .process_group(0)
            // A parent sees its socket close, and kills the processes it started.
            .kill_on_drop(reports.is_none());
        let mut child = command.spawn()?;
        // `command` holds our copies of the writing ends. It is dropped here, so that the output
        // ends with the last process that has one.
        let leader = child.id().filter(|_| reports.is_none());
        let stdin = child.stdin.take().zip(streams.stdin);
        Ok(Self {
            group: ProcessGroup(leader.and_then(|id| Pid::from_raw(id.cast_signed()))),
            child,
            reports,
            stdin: stdin.map(|(pipe, text)| ProgramInput { pipe, rest: io::Cursor::new(text) }),
            stdout: Some(stdout),
            stderr,
        })
    }

    async fn finish(&mut self, call: &ProgramCall) -> ProgramEnd {
        let end = if let Ok(end) = timeout(call.timeout, self.wait()).await {
            end
        } else {
            self.group.signal(Signal::TERM);
            let _ = timeout(call.kill_grace, self.wait()).await;
            ProgramEnd::TimedOut
        };
        self.group.kill();
        let reap = Duration::from_millis(PROGRAM_REAP_MS_MAX);
        // A parent sees its socket close, kills the processes that left the group, and then ends itself,
        // unless it was stopped.
        let has_parent = self.reports.take().is_some();
        let is_reaped = timeout(reap, self.child.wait()).await.is_ok();
        if has_parent && !is_reaped {
            let _ = self.child.start_kill();
            // Bounded because SIGKILL does not end a process that is stuck in the kernel.
            let _ = timeout(reap, self.child.wait()).await;
        }
        let drain =
            async { tokio::join!(copy_output(&mut self.stdout), copy_output(&mut self.stderr)) };
        let _ = timeout(Duration::from_millis(PROGRAM_DRAIN_MS_MAX), drain).await;
        end
    }

    /// Waits for the end of the program, and transfers data until then.
    async fn wait(&mut self) -> ProgramEnd {
        let Self { child, group, reports, stdin, stdout, stderr } = self;
        let transfer = async {
            tokio::join!(write_input(stdin), copy_output(stdout), copy_output(stderr));
            std::future::pending().await
        };
        tokio::select! {
            end = wait_for_end(child, group, reports.as_mut()) => end,
            end = transfer => end,
        }
    }
}

impl<'s> OutputStream<'s> {
    /// A stream, and its writing end for the program.
    fn open(sink: OutputSink<'s>) -> io::Result<(Self, io::PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        Ok((Self { pipe, sink }, writer))
    }
}

/// Copies a stream to its sink until the stream ends. Cancelling loses no byte.
async fn copy_output(stream: &mut Option<OutputStream<'_>>) {
    let Some(OutputStream { pipe, sink }) = stream else { return };
    let mut buffer = vec![0; PROGRAM_READ_BYTES_MAX];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        sink(&buffer[..count]);
    }
    *stream = None;
}

/// Writes the rest of stdin and closes it. Cancelling neither loses nor repeats a byte.
async fn write_input(stdin: &mut Option<ProgramInput>) {
    let Some(ProgramInput { pipe, rest }) = stdin else { return };
    // Fails if the program closes its stdin, because it may answer before it has read everything.
    let _ = pipe.write_all_buf(rest).await;
    *stdin = None;
}

async fn wait_for_end(
    child: &mut Child,
    group: &mut ProcessGroup,
    reports: Option<&mut ParentReports>,
) -> ProgramEnd {
    let Some(reports) = reports else {
        return match child.wait().await {
            Ok(status) => ProgramEnd::Exited(status),
            Err(error) => ProgramEnd::Lost(format!("its exit status is unknown: {error}")),
        };
    };
    loop {
        match reports.next().await {
            Ok(Some(ParentReport::Started(id))) => group.0 = Some(id),
            Ok(Some(ParentReport::Exited(status))) => return ProgramEnd::Exited(status),
            Ok(Some(ParentReport::NotStarted(error))) => return ProgramEnd::NotStarted(error),
            Ok(None) | Err(_) => {
                return ProgramEnd::Lost("its parent process was killed".to_owned());
            }
        }
    }
}

/// A process group, killed on drop.
///
/// The group's id can belong to other processes only if the system reuses it between the end of the
/// last member and the kill.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        if let Some(id) = self.0 {
            // Fails only if no process is left.
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

#[cfg(test)]
mod tests;
