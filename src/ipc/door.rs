//! A front door's end: one blocking call, and starting the daemon when there is none. Blocking on
//! purpose: a hook is one round trip and must not pay for a runtime. Every wait ends at one
//! deadline.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Places, try_lock};
use crate::base::limits::{
    CONTROL_LINE_BYTES_MAX, DAEMON_DRAIN_WAIT_MS_MAX, DAEMON_RETRY_MS, DAEMON_START_MS_MAX,
};
use crate::wire::control::{Answer, Call};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// Nobody listens, or whoever did is gone without having taken the call.
    #[error("no daemon is running")]
    NoDaemon,
    /// It cannot be started or reached.
    #[error("the daemon cannot be used: {0}")]
    Unusable(String),
    /// It ended while it worked on the call.
    #[error("the daemon ended while it worked")]
    Ended,
    /// It has the call and did not answer in time.
    #[error("the daemon did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
}

fn unusable(error: impl std::fmt::Display) -> NoAnswer {
    NoAnswer::Unusable(error.to_string())
}

/// One call to a running daemon.
pub fn call(places: &Places, call: &Call, patience: Duration) -> Result<Answer, NoAnswer> {
    let failed = |error: std::io::Error| match error.kind() {
        // A daemon that ends resets the connections it has not accepted.
        ErrorKind::NotFound
        | ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::BrokenPipe => NoAnswer::NoDaemon,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => NoAnswer::TimedOut(patience),
        _ => unusable(error),
    };
    let mut line = serde_json::to_vec(call).map_err(unusable)?;
    line.push(b'\n');
    let mut stream = UnixStream::connect(places.socket()).map_err(failed)?;
    stream.set_write_timeout(Some(patience)).map_err(failed)?;
    stream.set_read_timeout(Some(patience)).map_err(failed)?;
    stream.write_all(&line).map_err(failed)?;
    let mut answer = String::new();
    let mut reader = BufReader::new(stream.take(CONTROL_LINE_BYTES_MAX));
    reader.read_line(&mut answer).map_err(failed)?;
    if answer.is_empty() {
        return Err(NoAnswer::Ended);
    }
    serde_json::from_str(&answer).map_err(unusable)
}

/// The call, after starting a daemon when none listens or the one that does is stale. `program`
/// is this program's own file.
pub fn call_or_start(
    places: &Places,
    program: &Path,
    request: &Call,
    patience: Duration,
) -> Result<Answer, NoAnswer> {
    let deadline = Instant::now() + patience.min(Duration::from_millis(DAEMON_DRAIN_WAIT_MS_MAX));
    let mut has_ended = false;
    loop {
        match call(places, request, patience) {
            Ok(answer) if !answer.stale => return Ok(answer),
            Ok(_) | Err(NoAnswer::NoDaemon) => {}
            // It was killed, or drained before it took the call; work that kills it every time is
            // not begun a third time.
            Err(NoAnswer::Ended) if !has_ended => has_ended = true,
            Err(error) => return Err(error),
        }
        if Instant::now() >= deadline {
            return Err(unusable("an old daemon does not end"));
        }
        start(places, program, deadline)?;
    }
}

/// Makes sure that a daemon was started by someone; waits until it listens.
fn start(places: &Places, program: &Path, deadline: Instant) -> Result<(), NoAnswer> {
    let pause = || std::thread::sleep(Duration::from_millis(DAEMON_RETRY_MS));
    let listens = || UnixStream::connect(places.socket()).is_ok();
    // One starter at a time: fifty hooks at once start one daemon, not fifty processes.
    let _turn = loop {
        match try_lock(&places.start_lock()).map_err(unusable)? {
            Some(turn) => break turn,
            None if listens() => return Ok(()),
            None if Instant::now() >= deadline => {
                return Err(unusable("another process is starting it and does not finish"));
            }
            None => pause(),
        }
    };
    // A daemon that drains has left its socket and holds its lock until it is gone.
    while try_lock(&places.daemon_lock()).map_err(unusable)?.is_none() {
        pause();
        if listens() || Instant::now() >= deadline {
            return Ok(());
        }
    }
    let mut child = spawn(program, Stdio::piped()).map_err(unusable)?;
    let Some(stdout) = child.stdout.take() else { return Ok(()) };
    let (sender, first_line) = std::sync::mpsc::channel();
    // Read on a thread of its own, because a pipe has no read timeout.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let _ = sender.send(line);
    });
    match first_line.recv_timeout(Duration::from_millis(DAEMON_START_MS_MAX)) {
        Ok(line) if line.starts_with("ready") => Ok(()),
        Ok(line) if line.is_empty() => Err(unusable("it ended at its start")),
        Ok(line) => Err(unusable(line.trim())),
        Err(_) => Err(unusable("it does not start")),
    }
}

/// Starts a daemon where none listens, and waits for nothing: true when it had to. Two at once are
/// harmless: the second one sees the lock.
pub fn start_without_waiting(places: &Places, program: &Path) -> std::io::Result<bool> {
    if UnixStream::connect(places.socket()).is_ok() {
        return Ok(false);
    }
    spawn(program, Stdio::null()).map(|_| true)
}

/// How the daemon's memory is kept by glibc; other C libraries do not look at it. Two arenas in
/// place of eight per core: what one of the many threads gave back is there for the others, which
/// makes the whole a fifth smaller. And a syntax tree's memory is not given back to the kernel after
/// each text, only to be asked for again. Language servers get the environment of their caller.
pub const MALLOC: (&str, &str) =
    ("GLIBC_TUNABLES", "glibc.malloc.arena_max=2:glibc.malloc.trim_threshold=1048576");

fn spawn(program: &Path, stdout: Stdio) -> std::io::Result<std::process::Child> {
    let (name, value) = MALLOC;
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

/// Waits until no daemon holds the lock; false when one still does at the deadline.
#[must_use]
pub fn wait_until_gone(places: &Places) -> bool {
    let deadline = Instant::now() + Duration::from_millis(DAEMON_DRAIN_WAIT_MS_MAX);
    while Instant::now() < deadline {
        match try_lock(&places.daemon_lock()) {
            Ok(None) => std::thread::sleep(Duration::from_millis(DAEMON_RETRY_MS)),
            Ok(Some(_)) | Err(_) => return true,
        }
    }
    false
}
