//! The command line: arguments in, output and exit code out. Decides nothing itself; every answer
//! comes from a handler, through the daemon or in this process.

mod args;
mod daemon;
mod demo;
mod door;
mod guard;
mod hook;
mod looping;
mod mcp;
mod patterns;
mod person;
mod queries;
mod scan;
mod server;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Parser as _;
use clap::error::ErrorKind;

use args::{Args, Color, Command, Output};

use crate::checks::parent;
use crate::servers::supervisor;
use crate::wire::control::{Check, Doctor, Format, Judge, Reply, Request};

/// Exit code of a usage error or unusable input. Never 2: the host reads 2 as "block".
const INVALID: u8 = 3;
/// Exit code of a refusal.
const REFUSED: u8 = 1;
/// Exit code of an interrupted command.
const INTERRUPTED: u8 = 130;

/// Runs the program with its arguments (the first is its name); returns its exit code.
#[must_use]
pub fn run(args: Vec<OsString>) -> u8 {
    // A hook is one round trip; it does not wait for the whole argument parser.
    let event = args.get(2).and_then(|event| event.to_str()).unwrap_or_default();
    if args.get(1).is_some_and(|name| name == "hook") && !event.starts_with('-') {
        return hook::run(event);
    }
    // Processes that we start ourselves; nothing of the rest is needed in them.
    match args.get(1).and_then(|name| name.to_str()) {
        Some(supervisor::SUPERVISE) => return supervisor::supervise(&args[2..]),
        Some(parent::RUN_CHECK) => return parent::run_check(&args[2..]),
        Some(supervisor::BECOME) => return supervisor::become_server(&args[2..]),
        _ => {}
    }
    let mut words = args.iter().skip(1).filter(|arg| !arg.to_string_lossy().starts_with('-'));
    let is_hook = words.next().is_some_and(|arg| arg == "hook");
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            let code = usage(&error);
            // A typo in a hook's registration must not disturb the agent.
            return if is_hook { 0 } else { code };
        }
    };
    if let Command::Hook { event } = &args.command {
        return hook::run(event);
    }
    let reply = execute(&args);
    print(&reply)
}

fn usage(error: &clap::Error) -> u8 {
    // Help and version go to stdout, errors to stderr; a closed pipe is nobody's failure.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => 0,
        _ => INVALID,
    }
}

fn print(reply: &Reply) -> u8 {
    let _ = std::io::stderr().write_all(reply.stderr.as_bytes());
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(reply.stdout.as_bytes()).and_then(|()| stdout.flush());
    reply.code
}

fn execute(args: &Args) -> Reply {
    let is_quiet = args.quiet;
    let mut reply = match args.command {
        Command::Check(ref check) => {
            let request = Request::Check(Check {
                paths: check.paths.clone(),
                all: check.all,
                format: args.format(check.format.format()),
                color: has_color(args.color),
                verbose: args.verbose,
                fail_on: check.fail_on.word().to_owned(),
                allow_unmeasured: check.allow_unmeasured,
                no_lsp: check.no_lsp,
                no_scan: check.no_scan,
                timeout_secs: check.timeout,
                baseline: check.baseline.clone(),
                write_baseline: check.write_baseline.clone(),
            });
            door::ask(args.root.as_deref(), request, check.no_daemon)
        }
        Command::Scan(ref wish) => scan::run(args, wish),
        Command::Guard(ref wish) => guard::run(args, wish),
        Command::References(_)
        | Command::Definition(_)
        | Command::Hover(_)
        | Command::Symbols(_)
        | Command::Rename(_) => queries::run(args),
        Command::Search(_) | Command::Rewrite(_) => patterns::run(args),
        Command::Loop(ref command) => looping::run(args, command),
        Command::Judge(ref judge) => {
            let request = Request::Judge(Judge {
                rubric: judge.rubric.clone(),
                base: judge.base.clone(),
                record: judge.record,
                json: args.json,
            });
            // Nothing that would be kept warm is needed.
            door::ask(args.root.as_deref(), request, true)
        }
        Command::Daemon(ref command) => daemon::run(command, args.json),
        Command::Doctor(ref doctor) => {
            let request = Request::Doctor(Doctor {
                probe: doctor.servers.is_some(),
                languages: doctor.servers.clone().unwrap_or_default(),
                json: args.json,
            });
            // Probes run apart from the servers that others are using.
            door::ask(args.root.as_deref(), request, doctor.servers.is_some())
        }
        Command::Mcp => return mcp::run(args.root.clone()),
        Command::Server(ref command) => server::run(command, args.root.as_deref(), args.json),
        Command::Demo(ref demo) => demo::run(demo),
        Command::Hook { .. } => Reply::default(),
    };
    if is_quiet {
        // A document was asked for by name; the exit code says the rest.
        reply.stderr.clear();
        if !wants_document(args) {
            reply.stdout.clear();
        }
    }
    reply
}

fn wants_document(args: &Args) -> bool {
    args.json
        || match &args.command {
            Command::Check(check) => check.format != Output::Text,
            Command::Guard(wish) => wish.format != Output::Text,
            Command::Scan(wish) => args.format(wish.format.format()) != Format::Text,
            _ => false,
        }
}

fn has_color(wish: Color) -> bool {
    match wish {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let is_off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            std::io::stdout().is_terminal() && !is_off
        }
    }
}

/// This program's own file.
fn this_program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}
