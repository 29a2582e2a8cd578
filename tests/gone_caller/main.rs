//! Connects to the socket in its first argument and ends at once. The shell command in its second one has the
//! connection as its stdin and stdout and keeps running.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, socket, script] = arguments.as_slice() else { return ExitCode::FAILURE };
    let connected =
        UnixStream::connect(socket).and_then(|stream| Ok((stream.try_clone()?, stream)));
    let Ok((input, output)) = connected else { return ExitCode::FAILURE };
    let started = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::from(OwnedFd::from(input)))
        .stdout(Stdio::from(OwnedFd::from(output)))
        .spawn();
    if started.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
