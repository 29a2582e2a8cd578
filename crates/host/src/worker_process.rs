//! A process of this program that does one job after another for its parent, within bounds on time
//! and memory that end the process and nothing else.
//!
//! Requests and replies are frames: a length (four bytes, little-endian) and as many bytes.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::programs::{PROCESS_NAME, this_program};

/// The bounds of a worker.
#[derive(Clone, Copy, Debug)]
pub struct WorkerBounds {
    /// Processor time of one job, in seconds.
    pub job_cpu_secs: u64,
    /// Address space of the process, in bytes.
    pub memory_bytes: u64,
    /// Largest request or reply, in bytes.
    pub frame_bytes: usize,
}

/// A running worker. Dropping it ends the process.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    frame_bytes_max: usize,
}

/// Why a worker gave no reply; it is of no use any more.
#[derive(Debug, thiserror::Error)]
pub enum WorkerEnd {
    /// The job took more processor time than a job may.
    #[error("the job took too long")]
    CpuTime,
    /// The process ended, for example because it could not get more memory.
    #[error("the process ended")]
    Crashed,
    /// Another process killed it, as the kernel does when memory runs out.
    #[error("the process was killed")]
    Killed,
    /// No reply within the time limit.
    #[error("no reply in {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl WorkerProcess {
    /// Starts this program with `mode` as its only argument and an empty environment.
    ///
    /// # Errors
    ///
    /// Fails if the process cannot be started.
    pub fn start(mode: &str, frame_bytes_max: usize) -> io::Result<Self> {
        let mut child = Command::new(this_program()?)
            .arg0(PROCESS_NAME)
            .arg(mode)
            .current_dir("/")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => {
                ioctl_fionbio(&stdin, true)?;
                Ok(Self { child, stdin, stdout, frame_bytes_max })
            }
            _ => Err(io::Error::other("a pipe of the worker is missing")),
        }
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    ///
    /// Fails without a reply; the worker must then be dropped.
    pub fn exchange(&mut self, request: &[u8], time_max: Duration) -> Result<Vec<u8>, WorkerEnd> {
        let deadline = Instant::now() + time_max;
        let mut pipes = DeadlinePipes { stdin: &self.stdin, stdout: &self.stdout, deadline };
        let reply = write_frame(&mut pipes, request)
            .and_then(|()| read_frame(&mut pipes, self.frame_bytes_max));
        match reply {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(self.reason_of_end(io::ErrorKind::UnexpectedEof.into())),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Err(WorkerEnd::TimedOut(time_max))
            }
            Err(error) => Err(self.reason_of_end(error)),
        }
    }

    fn reason_of_end(&mut self, error: io::Error) -> WorkerEnd {
        let has_closed_its_pipes =
            matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe);
        if !has_closed_its_pipes {
            return WorkerEnd::Io(error);
        }
        let signal = match self.child.wait() {
            Ok(status) => status.signal().and_then(Signal::from_named_raw),
            Err(error) => return WorkerEnd::Io(error),
        };
        match signal {
            Some(Signal::XCPU) => WorkerEnd::CpuTime,
            Some(Signal::KILL | Signal::TERM | Signal::INT) => WorkerEnd::Killed,
            _ => WorkerEnd::Crashed,
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes to a worker and reads from it until a deadline; its stdin must not block.
struct DeadlinePipes<'a> {
    stdin: &'a ChildStdin,
    stdout: &'a ChildStdout,
    deadline: Instant,
}

impl DeadlinePipes<'_> {
    fn wait(&self, mut fd: PollFd<'_>) -> io::Result<()> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(std::slice::from_mut(&mut fd), Some(&timeout)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for DeadlinePipes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFd::new(self.stdout, PollFlags::IN))?;
        Ok(rustix::io::read(self.stdout, buffer)?)
    }
}

impl Write for DeadlinePipes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            self.wait(PollFd::new(self.stdin, PollFlags::OUT))?;
            match rustix::io::write(self.stdin, bytes) {
                Err(rustix::io::Errno::AGAIN) => {}
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The life of a worker: answers requests on stdin until it closes. Returns the exit code.
#[must_use]
pub fn serve(bounds: WorkerBounds, mut answer: impl FnMut(&[u8]) -> Vec<u8>) -> u8 {
    let memory = Rlimit { current: Some(bounds.memory_bytes), maximum: Some(bounds.memory_bytes) };
    // A system without one of these bounds still has the others.
    let _ = setrlimit(Resource::As, memory);
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
    while let Ok(Some(request)) = read_frame(&mut stdin, bounds.frame_bytes) {
        let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
        // The kernel compares whole seconds.
        let cpu = Rlimit { current: Some(used + 1 + bounds.job_cpu_secs), maximum: None };
        let _ = setrlimit(Resource::Cpu, cpu);
        if write_frame(&mut stdout, &answer(&request)).is_err() {
            break;
        }
    }
    0
}

fn write_frame(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

/// `None` at the end of the input.
fn read_frame(from: &mut impl Read, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    if length > bytes_max {
        return Err(io::Error::other(format!("a frame of {length} bytes")));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_reads_nothing_costs_no_more_than_the_time_of_a_job() {
        let mut child = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sleep exists");
        let (stdin, stdout) =
            (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        ioctl_fionbio(&stdin, true).expect("a pipe");
        let mut worker = WorkerProcess { child, stdin, stdout, frame_bytes_max: 64 };
        // More than a pipe holds.
        let request = vec![0; 4 * 1024 * 1024];
        let end = worker.exchange(&request, Duration::from_millis(50));
        assert!(matches!(end, Err(WorkerEnd::TimedOut(_))), "{end:?}");
    }
}
