//! The front door's side: one blocking call, and starting the daemon if none is running. Blocking, because a
//! hook is one round trip and must not pay for a runtime. Every wait ends at one deadline.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{StateDirs, try_lock};
use crate::callers;
use moai_base::limits::{
    CONTROL_LINE_BYTES_MAX, DAEMON_ALIVE_BUSY_MS_MAX, DAEMON_DRAIN_WAIT_MS_MAX, DAEMON_RETRY_MS,
    DAEMON_START_MS_MAX,
};
use moai_protocol::control::{
    CallerContext, DaemonCall, DaemonReply, DaemonRequest, PROTOCOL_VERSION,
};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No daemon listens, or it ended without accepting the call.
    #[error("no daemon is running")]
    NoDaemon,
    /// The daemon cannot be started or reached.
    #[error("the daemon cannot be used: {0}")]
    Unusable(String),
    /// The daemon ended during the call.
    #[error("the daemon ended during the request")]
    DaemonEnded,
    /// The daemon did not answer in time.
    #[error("the daemon did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The daemon was silent for a while, and its answer is not worth waiting for.
    #[error("the daemon reported nothing for {} ms", .0.as_millis())]
    Abandoned(Duration),
    /// The daemon responds to no request: it hangs or a signal has stopped it.
    #[error("the daemon is unresponsive ({} ms)", .0.as_millis())]
    Unresponsive(Duration),
}

/// Action of a front door when the daemon has been silent for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterSilence {
    /// Wait, and check again after this time.
    Wait(Duration),
    /// Stop waiting: no answer is needed.
    Abandon,
    /// Continue without the daemon, which responds to no request.
    GiveUp,
}

/// How long a front door waits for the answer.
#[derive(Clone, Copy)]
pub struct CallTimeout<'a> {
    /// Time limit over all attempts.
    pub limit: Duration,
    /// Called each time the daemon has been silent for this long.
    pub silence_check: Option<(Duration, &'a dyn Fn() -> AfterSilence)>,
}

impl CallTimeout<'_> {
    /// Waits until the deadline without a check.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { limit, silence_check: None }
    }
}

fn unusable(error: impl std::fmt::Display) -> CallError {
    CallError::Unusable(error.to_string())
}

/// One call to a running daemon.
pub fn call_daemon(
    dirs: &StateDirs,
    call: &DaemonCall,
    timeout: CallTimeout<'_>,
) -> Result<DaemonReply, CallError> {
    let mut line = serde_json::to_vec(call).map_err(unusable)?;
    line.push(b'\n');
    let stream = dirs.connect().map_err(call_error)?;
    let wait = ReplyWait { stream: &stream, timeout, started_at: Instant::now() };
    wait.set_bound(
        timeout.silence_check.map_or(timeout.limit, |(quiet, _)| quiet.min(timeout.limit)),
    )?;
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        match (&stream).write(rest) {
            Ok(0) => return Err(CallError::NoDaemon),
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => wait.continue_after(error)?,
        }
    }
    let mut answer = Vec::new();
    let mut reader = BufReader::new((&stream).take(CONTROL_LINE_BYTES_MAX));
    // Bytes read before an error are kept.
    while let Err(error) = reader.read_until(b'\n', &mut answer) {
        wait.continue_after(error)?;
    }
    if answer.is_empty() {
        return Err(CallError::DaemonEnded);
    }
    serde_json::from_slice(&answer).map_err(unusable)
}

/// State of waiting for the daemon.
struct ReplyWait<'a> {
    stream: &'a UnixStream,
    timeout: CallTimeout<'a>,
    started_at: Instant,
}

impl ReplyWait<'_> {
    fn set_bound(&self, bound: Duration) -> Result<(), CallError> {
        let bound = Some(bound.max(Duration::from_millis(1)));
        self.stream.set_write_timeout(bound).map_err(unusable)?;
        self.stream.set_read_timeout(bound).map_err(unusable)
    }

    /// Returns an error unless the call should continue: only after a silence, and only while time is left
    /// and the answer is worth waiting for.
    fn continue_after(&self, error: std::io::Error) -> Result<(), CallError> {
        if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
            return Err(call_error(error));
        }
        let CallTimeout { limit, silence_check } = self.timeout;
        let checked = silence_check.filter(|_| self.started_at.elapsed() < limit);
        let Some((_, check)) = checked else { return Err(CallError::TimedOut(limit)) };
        let next = check();
        let waited = self.started_at.elapsed();
        match next {
            AfterSilence::Wait(quiet) => self.set_bound(quiet.min(limit.saturating_sub(waited))),
            AfterSilence::Abandon => Err(CallError::Abandoned(waited)),
            AfterSilence::GiveUp => Err(CallError::Unresponsive(waited)),
        }
    }
}

fn call_error(error: std::io::Error) -> CallError {
    match error.kind() {
        // An ending daemon resets the connections it has not accepted.
        ErrorKind::NotFound
        | ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::BrokenPipe => CallError::NoDaemon,
        _ => unusable(error),
    }
}

/// Calls the daemon, starting one if none listens or the listening one is stale. `program` is this
/// program's file.
pub fn call_or_start_daemon(
    dirs: &StateDirs,
    program: &Path,
    call: &DaemonCall,
    timeout: CallTimeout<'_>,
) -> Result<DaemonReply, CallError> {
    let began = Instant::now();
    let drain = Duration::from_millis(DAEMON_DRAIN_WAIT_MS_MAX);
    let mut deadline = began + timeout.limit.min(drain);
    let mut has_ended = false;
    loop {
        let limit = timeout.limit.saturating_sub(began.elapsed());
        if limit.is_zero() {
            return Err(CallError::TimedOut(timeout.limit));
        }
        match call_daemon(dirs, call, CallTimeout { limit, ..timeout }) {
            Ok(answer) if !answer.stale => return Ok(answer),
            Ok(_) | Err(CallError::NoDaemon) => {}
            // The daemon was killed, or drained before it accepted the call. A call that kills its
            // daemon is not tried a third time. The next daemon gets its full start time.
            Err(CallError::DaemonEnded) if !has_ended => {
                has_ended = true;
                deadline = Instant::now() + drain;
            }
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            return Err(unusable("the previous daemon is still stopping"));
        }
        start_daemon(dirs, program, deadline)?;
    }
}

fn is_listening(dirs: &StateDirs) -> bool {
    dirs.connect().is_ok()
}

/// Waits until a daemon listens; false at the deadline.
#[must_use]
pub fn wait_until_listening(dirs: &StateDirs, timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    while !is_listening(dirs) {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(DAEMON_RETRY_MS));
    }
    true
}

/// Ensures that a daemon was started by some process, and waits until it listens.
fn start_daemon(dirs: &StateDirs, program: &Path, deadline: Instant) -> Result<(), CallError> {
    let pause = Duration::from_millis(DAEMON_RETRY_MS);
    // One starter at a time, because fifty concurrent hooks must start one daemon.
    let _turn = loop {
        match try_lock(&dirs.start_lock()).map_err(unusable)? {
            Some(turn) => break turn,
            None if is_listening(dirs) => return Ok(()),
            None if Instant::now() >= deadline => {
                return Err(unusable("another process is starting it but does not finish"));
            }
            None => std::thread::sleep(pause),
        }
    };
    // A draining daemon has closed its socket and holds its lock until it ends. Where the lock cannot be
    // opened, the new daemon creates its folder or reports why it cannot.
    while matches!(try_lock(&dirs.daemon_lock()), Ok(None)) {
        std::thread::sleep(pause);
        if is_listening(dirs) || Instant::now() >= deadline {
            return Ok(());
        }
    }
    let mut child = spawn_daemon(program, Stdio::piped()).map_err(unusable)?;
    let Some(stdout) = child.stdout.take() else { return Ok(()) };
    let (sender, first_line) = std::sync::mpsc::channel();
    // Read on a separate thread, because a pipe has no read timeout. It also reaps the daemon, in a
    // process such as the MCP server that lives longer.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let _ = sender.send(line);
        let _ = child.wait();
    });
    match first_line.recv_timeout(Duration::from_millis(DAEMON_START_MS_MAX)) {
        Ok(line) if line.starts_with("ready") => Ok(()),
        Ok(line) if line.is_empty() => Err(unusable("it ended while starting")),
        Ok(line) => Err(unusable(line.trim())),
        Err(_) => Err(unusable("it does not start")),
    }
}

/// Lets a daemon continue that a signal stopped (SIGSTOP); returns whether it was stopped.
pub fn continue_stopped_daemon(dirs: &StateDirs) -> bool {
    listening_process(dirs).is_some_and(callers::continue_own)
}

/// Kills a daemon that hangs; returns whether it has ended.
#[must_use]
pub fn kill_daemon(dirs: &StateDirs) -> bool {
    listening_process(dirs).is_some_and(callers::kill_own) && wait_until_stopped(dirs)
}

fn listening_process(dirs: &StateDirs) -> Option<i32> {
    callers::socket_peer(&dirs.connect().ok()?)
}

/// A command waits after a silence as long as the daemon responds at all.
#[must_use]
pub fn after_silence(dirs: &StateDirs) -> AfterSilence {
    let within = Duration::from_millis(DAEMON_ALIVE_BUSY_MS_MAX);
    continue_stopped_daemon(dirs);
    if is_daemon_alive(dirs, within) { AfterSilence::Wait(within) } else { AfterSilence::GiveUp }
}

/// True if the listening daemon responds at all within this time.
#[must_use]
pub fn is_daemon_alive(dirs: &StateDirs, within: Duration) -> bool {
    let request = DaemonRequest::DaemonStatus { json: true };
    let call = DaemonCall { protocol: PROTOCOL_VERSION, caller: CallerContext::default(), request };
    call_daemon(dirs, &call, CallTimeout::new(within)).is_ok()
}

/// Starts a daemon if none listens, without waiting; returns whether it did. Two concurrent starts
/// are harmless, because the second daemon sees the lock.
pub fn start_daemon_detached(dirs: &StateDirs, program: &Path) -> std::io::Result<bool> {
    if dirs.connect().is_ok() {
        return Ok(false);
    }
    let mut child = spawn_daemon(program, Stdio::null())?;
    // Reaps the daemon in a process that lives longer.
    std::thread::spawn(move || child.wait());
    Ok(true)
}

/// Memory settings of the daemon for glibc; other C libraries ignore them. Two arenas instead of
/// eight per core let threads reuse each other's memory, which saves a fifth; and a syntax tree's
/// memory is not returned to the kernel after each text just to be requested again. Language
/// servers get the environment of their caller.
pub const MALLOC_TUNABLES: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.arena_max=2:glibc.malloc.trim_threshold=1048576");

fn spawn_daemon(program: &Path, stdout: Stdio) -> std::io::Result<std::process::Child> {
    let (name, value) = MALLOC_TUNABLES;
    let chosen = std::env::var(name).ok().filter(|it| !it.is_empty());
    let tunables = chosen.map_or_else(|| value.to_owned(), |it| format!("{value}:{it}"));
    Command::new(program)
        .args(["daemon", "run", "--detach"])
        .env(name, tunables)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::null())
        .spawn()
}

/// Waits until no daemon holds the lock; false at the deadline.
#[must_use]
pub fn wait_until_stopped(dirs: &StateDirs) -> bool {
    let deadline = Instant::now() + Duration::from_millis(DAEMON_DRAIN_WAIT_MS_MAX);
    while Instant::now() < deadline {
        match try_lock(&dirs.daemon_lock()) {
            Ok(None) => std::thread::sleep(Duration::from_millis(DAEMON_RETRY_MS)),
            Ok(Some(_)) | Err(_) => return true,
        }
    }
    false
}
