//! A pseudo-terminal: types input like a user and captures the output.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{Output, PATIENCE, PROGRAM, Sandbox};

/// Both ends: the person's and the program's.
pub(crate) fn open() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&person).expect("ours");
    unlockpt(&person).expect("ours");
    let name = ptsname(&person, Vec::new()).expect("it has a name");
    let name = name.to_str().expect("a path");
    let program = OpenOptions::new().read(true).write(true).open(name).expect("the other end");
    (File::from(person), program)
}

/// Runs a command whose stdin and stderr are a terminal, and types this line when `question` is shown.
/// Returns the terminal's output as stderr, with the line that was typed.
pub(crate) fn typed(command: &mut Command, question: &str, line: &str) -> Output {
    let (mut person, program) = open();
    let again = || Stdio::from(program.try_clone().expect("a terminal"));
    command.stdin(again()).stderr(again()).stdout(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    // Else our own copies would keep the terminal open behind the program's end.
    command.stdin(Stdio::null()).stderr(Stdio::null());
    drop(program);
    let shown = reading(person.try_clone().expect("ours"));
    let mut seen = String::new();
    while !seen.contains(question) {
        match shown.recv_timeout(PATIENCE) {
            Ok(text) => seen.push_str(&text),
            Err(_) => break,
        }
    }
    // A program that asked nothing has closed its end.
    let _ = writeln!(person, "{line}");
    let output = child.wait_with_output().expect("ours to wait for");
    seen.extend(shown.iter());
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: seen,
    }
}

/// The program with its stdin as controlling terminal, once it has one.
pub(crate) fn at_own_terminal(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = Command::new("setsid");
    sandbox.prepare(&mut command);
    // --ctty makes stdin the controlling terminal of the new session.
    command.args(["--ctty", "--wait", PROGRAM]).args(arguments);
    command
}

/// Runs the program at its own terminal and asks nothing.
pub(crate) fn run(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    typed(&mut at_own_terminal(sandbox, arguments), "\0", "")
}

/// Runs the program at its own terminal and answers the code that is shown there, as a person does. Returns
/// the terminal's output as stderr.
pub(crate) fn with_code(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let mut command = at_own_terminal(sandbox, arguments);
    at_code_question(&mut command, str::to_owned)
}

/// Runs a command whose stdin is a terminal, and types `answer` of the code if one is asked for.
pub(crate) fn at_code_question(command: &mut Command, answer: impl Fn(&str) -> String) -> Output {
    let (mut person, program) = open();
    let shown = reading(person.try_clone().expect("ours"));
    command.stdin(Stdio::from(program)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    // Else our own copy would keep the terminal open behind the program's end.
    command.stdin(Stdio::null());
    let mut seen = String::new();
    // The terminal closes if nothing is asked.
    while let Ok(text) = shown.recv_timeout(PATIENCE) {
        seen.push_str(&text);
        let questions = [("Type ", " to accept: "), ("코드를 입력하세요(", "): ")];
        let asked = questions.iter().find_map(|(before, after)| {
            seen.split_once(before).and_then(|(_, rest)| rest.split_once(after))
        });
        if let Some((code, _)) = asked {
            writeln!(person, "{}", answer(code)).expect("the terminal is there");
            break;
        }
    }
    let output = child.wait_with_output().expect("ours to wait for");
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: seen + &String::from_utf8_lossy(&output.stderr),
    }
}

/// The terminal's output, until the program's end of it is closed.
fn reading(mut person: File) -> Receiver<String> {
    let (said, shown) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        // Linux answers EIO when the other end is closed.
        while let Ok(count @ 1..) = person.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
            if said.send(text).is_err() {
                return;
            }
        }
    });
    shown
}
