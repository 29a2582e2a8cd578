//! The command line: arguments in, output and exit code out. Every answer comes from a handler, in
//! the daemon or in this process.

mod args;
mod client;
mod config;
mod daemon;
mod demo;
mod guard;
mod hook;
mod init;
mod looping;
mod mcp;
mod memory;
mod patterns;
mod pipeline;
mod queries;
mod scan;
mod server;
mod specs;
mod trust;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Parser as _;
use clap::error::ErrorKind;

use args::{CliArgs, CliCommand, ColorMode};

use moai_base::foreign_text::{visible, visible_in_color, visible_json, without_workflow_commands};
use moai_engine::scan_workers;
use moai_host::programs::parent;
use moai_host::servers::supervisor;
use moai_protocol::control::{
    CheckRequest, CommandReply, DaemonRequest, DoctorRequest, JudgeChangeRequest, ReportFormat,
};

/// Exit code of a usage error or unusable input. Never 2: the host reads 2 as "block".
const INVALID: u8 = 3;
/// Exit code of a refusal.
const REFUSED: u8 = 1;
/// Exit code of an interrupted command.
const INTERRUPTED: u8 = 130;

/// Runs the program with its arguments (the first is its name); returns its exit code.
#[must_use]
pub fn run(args: Vec<OsString>) -> u8 {
    // Hooks bypass the argument parser, because they are latency-sensitive.
    if let Some(named) = hook::NamedHook::of_arguments(&args) {
        return hook::run(named);
    }
    // Hosts that drop the arguments of a registered hook start the program with none.
    if args.len() == 1
        && !std::io::stdin().is_terminal()
        && let Some(code) = hook::run_without_arguments()
    {
        return code;
    }
    // Internal processes that the program starts itself need no argument parser.
    match args.get(1).and_then(|name| name.to_str()) {
        Some(supervisor::SUPERVISE) => return supervisor::supervise(&args[2..]),
        Some(parent::RUN_CHECK) => return parent::run_check(&args[2..]),
        Some(scan_workers::SCAN_WORKER) => return scan_workers::run_worker(),
        Some(supervisor::BECOME) => return supervisor::become_server(&args[2..]),
        _ => {}
    }
    let mut words = args.iter().skip(1).filter(|arg| !arg.to_string_lossy().starts_with('-'));
    let is_hook = words.next().is_some_and(|arg| arg == "hook");
    let args = match CliArgs::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            let code = usage(&error);
            // A typo in a hook's registration must not disturb the agent.
            return if is_hook { 0 } else { code };
        }
    };
    if let CliCommand::Hook { event, host } = &args.command {
        return hook::run(hook::NamedHook { event: event.as_deref(), host: host.as_deref() });
    }
    if args.json
        && let Some(name) = args.command.name_without_document()
    {
        let text = format!("moai-ralph: {name} prints no JSON document: run it without --json");
        return print_reply(&args, CommandReply::failure(INVALID, &text));
    }
    let reply = execute(&args);
    print_reply(&args, reply)
}

fn usage(error: &clap::Error) -> u8 {
    // Help and version go to stdout, errors to stderr. A closed pipe is ignored.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => 0,
        _ => INVALID,
    }
}

fn print_reply(args: &CliArgs, mut reply: CommandReply) -> u8 {
    reply.stderr = visible(&reply.stderr);
    let format = output_format(args);
    match format {
        ReportFormat::Text if has_color(args.color) => {
            reply.stdout = visible_in_color(&reply.stdout);
        }
        ReportFormat::Text => reply.stdout = visible(&reply.stdout),
        // Its lines are workflow commands; quoted text in them is escaped.
        ReportFormat::Github => {}
        ReportFormat::Json | ReportFormat::Jsonl | ReportFormat::Sarif => {
            reply.stdout = visible_json(&reply.stdout);
        }
    }
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true") {
        hide_workflow_commands(format, &mut reply);
    }
    let _ = std::io::stderr().write_all(reply.stderr.as_bytes());
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(reply.stdout.as_bytes()).and_then(|()| stdout.flush()) {
        // A reader that closes the pipe has read enough.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let _ = writeln!(std::io::stderr(), "moai-ralph: the output is incomplete: {error}");
            REFUSED
        }
        _ => reply.code,
    }
}

/// The runner of GitHub Actions treats lines of any output as commands.
fn hide_workflow_commands(format: ReportFormat, reply: &mut CommandReply) {
    reply.stderr = without_workflow_commands(&reply.stderr);
    match format {
        ReportFormat::Text => reply.stdout = without_workflow_commands(&reply.stdout),
        // Its lines are workflow commands; quoted text in them is escaped.
        ReportFormat::Github => {}
        // In a JSON document this can only be part of a string, and means the same there.
        _ => reply.stdout = reply.stdout.replace("##[", "#\\u0023["),
    }
}

fn execute(args: &CliArgs) -> CommandReply {
    let is_quiet = args.quiet;
    let mut reply = match args.command {
        CliCommand::Check(ref check) => {
            trust::ask_at_terminal(args, check.no_daemon);
            let request = DaemonRequest::Check(CheckRequest {
                paths: check.paths.clone(),
                all: check.all,
                base: check.base.clone(),
                format: args.format(check.format.format()),
                color: has_color(args.color),
                verbose: args.verbose,
                fail_on: check.fail_on.as_str().to_owned(),
                allow_unmeasured: check.allow_unmeasured,
                no_lsp: check.no_lsp,
                no_scan: check.no_scan,
                timeout_secs: check.timeout,
                baseline: check.baseline.clone(),
                write_baseline: check.write_baseline.clone(),
            });
            client::send_request(args.root.as_deref(), request, check.no_daemon)
        }
        CliCommand::Scan(ref arguments) => scan::run(args, arguments),
        CliCommand::Guard(ref arguments) => guard::run(args, arguments),
        CliCommand::References(_)
        | CliCommand::Definition(_)
        | CliCommand::Hover(_)
        | CliCommand::Symbols(_)
        | CliCommand::Rename(_) => queries::run(args),
        CliCommand::Search(_) | CliCommand::Rewrite(_) => patterns::run(args),
        CliCommand::Loop(ref command) => looping::run(args, command),
        CliCommand::Pipeline(ref command) => pipeline::run(args, command),
        CliCommand::Memory(ref command) => memory::run(args, command),
        CliCommand::Spec(ref command) => specs::run(args, command),
        CliCommand::Judge(ref judge) => {
            let request = DaemonRequest::Judge(JudgeChangeRequest {
                rubric: judge.rubric.clone(),
                base: judge.base.clone(),
                record: judge.record,
                json: args.json,
            });
            // In this process, because no warm state is needed.
            client::send_request(args.root.as_deref(), request, true)
        }
        CliCommand::Daemon(ref command) => daemon::run(command, args.json),
        CliCommand::Doctor(ref doctor) => {
            let request = DaemonRequest::Doctor(DoctorRequest {
                probe: doctor.servers.is_some(),
                languages: doctor.servers.clone().unwrap_or_default(),
                hosts: doctor.hosts,
                json: args.json,
            });
            // Probes run in this process, separate from the servers in use.
            client::send_request(args.root.as_deref(), request, doctor.servers.is_some())
        }
        CliCommand::Init(ref arguments) => init::run(args.root.as_deref(), arguments),
        CliCommand::Config(ref command) => config::run(args, command),
        CliCommand::Trust(ref arguments) => trust::run(args, arguments),
        CliCommand::Mcp => return mcp::run(args.root.clone()),
        CliCommand::Server(ref command) => server::run(command, args.root.as_deref(), args.json),
        CliCommand::Demo(ref demo) => demo::run(demo),
        CliCommand::Hook { .. } => CommandReply::default(),
    };
    if is_quiet {
        // Output that was requested as a document is kept; the exit code tells the rest.
        reply.stderr.clear();
        if output_format(args) == ReportFormat::Text {
            reply.stdout.clear();
        }
    }
    reply
}

fn output_format(args: &CliArgs) -> ReportFormat {
    let asked = match &args.command {
        CliCommand::Check(check) => check.format.format(),
        CliCommand::Guard(guard) => guard.format.format(),
        CliCommand::Scan(scan) => scan.format.format(),
        _ => ReportFormat::Text,
    };
    args.format(asked)
}

fn has_color(mode: ColorMode) -> bool {
    match mode {
        ColorMode::Always => true,
        ColorMode::Never => false,
        ColorMode::Auto => {
            let is_off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            std::io::stdout().is_terminal() && !is_off
        }
    }
}

/// Path of this program's executable.
fn current_program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}
