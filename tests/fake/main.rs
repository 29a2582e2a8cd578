//! A scripted language server: a real process that speaks the protocol on stdin and stdout and misbehaves
//! exactly as its script (a JSON file, first argument) says. Findings are computed from the document text, so
//! a test states the errors of a text and never the sequence of answers.
//!
//! One loop owns all state; a second thread only turns bytes into messages.

mod document;
mod framing;
mod script;
mod server;

use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::script::Script;
use crate::server::Server;

/// Maximum life after the client has disconnected, for a script that ignores shutdown: a killed test run must
/// not leave processes behind for ever.
const OUTLIVES_CLIENT: Duration = Duration::from_mins(2);

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        framing::complain("usage: fake-language-server SCRIPT.json");
        return ExitCode::FAILURE;
    };
    let script = match Script::load(path.as_ref()) {
        Ok(script) => script,
        Err(reason) => {
            framing::complain(&reason);
            return ExitCode::FAILURE;
        }
    };
    let outlives = script.flag("ignore_shutdown");
    let code = run(&mut Server::new(script));
    if outlives && code == 0 {
        thread::sleep(OUTLIVES_CLIENT);
    }
    ExitCode::from(code)
}

/// Runs until the client disconnects (0), it requests an exit, or the script makes the server die.
fn run(server: &mut Server) -> u8 {
    let (sender, messages) = mpsc::channel::<Value>();
    thread::spawn(move || framing::read_all(std::io::stdin().lock(), &sender));
    loop {
        let next = match server.next_due() {
            Some(wait) => messages.recv_timeout(wait),
            None => messages.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(message) => {
                if let Some(code) = server.receive(&message) {
                    return code;
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return 0,
        }
        // Also after a message: a client that writes without pause must not hold answers back.
        server.release_due();
    }
}
