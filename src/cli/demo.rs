//! `demo`: one complete loop in a temporary project. A scripted agent drives the program's real
//! hooks, each in its own process, as the host runs them. The user's own state is not touched;
//! language servers are the installed ones.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use super::args::DemoArgs;
use super::{client, current_program};
use moai_host::ipc::StateDirs;
use moai_host::servers::install::{ServerInstaller, installed_program};
use moai_host::servers::resolve::program_on_path;
use moai_lsp::registry::Catalogue;
use moai_protocol::control::CommandReply;
use moai_report::demo as words;
use moai_scan::RuleSet;

const SESSION: &str = "demo-session";
const FILE: &str = "app.py";
const GOAL: &str = "Write app.py with a function that looks up a user's id --max-iterations 5 \
                    --completion-promise DONE";
const CLAIM: &str = "It is done.\n\n<promise>DONE</promise>";
/// Contains a type error (a string where an int is declared) and an SQL injection.
const WRONG: &str = "import sqlite3


def user_id(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute(f\"SELECT id FROM users WHERE name = '{name}'\").fetchone()
    return \"nobody\" if row is None else row[0]
";
const RIGHT: &str = "import sqlite3


def user_id(connection: sqlite3.Connection, name: str) -> int | None:
    row = connection.execute(\"SELECT id FROM users WHERE name = ?\", (name,)).fetchone()
    return None if row is None else row[0]
";

pub(super) fn run(args: &DemoArgs) -> CommandReply {
    match play(args) {
        Ok(code) => CommandReply { code, ..CommandReply::default() },
        Err(error) => CommandReply::failure(1, &format!("moai-ralph demo: {error}")),
    }
}

fn play(args: &DemoArgs) -> Result<u8, String> {
    let caller = client::current_caller(None)?;
    let Some(dirs) = StateDirs::from_env(&caller.env) else {
        return Err("HOME is not set; set HOME or MOAI_RALPH_HOME".to_owned());
    };
    let server = if args.no_lsp { None } else { server(args, &dirs, &caller.env)? };
    let demo = DemoProject::new(&dirs, args.no_lsp)?;
    print_progress(&words::sensors(server.as_deref(), RuleSet::built_in().rule_count()));
    let result = run_steps(&demo);
    // Stop the demo's daemon even if a step failed.
    let _ = demo.program(&["daemon", "stop"], "");
    let status = result?;
    let is_expected = match server {
        Some(_) => status == "completed",
        // Without a language server the types are not measured, and the loop reports that; with
        // `--no-lsp` they were not requested.
        None => status == "completed_unverified" || (args.no_lsp && status == "completed"),
    };
    print_progress(&words::end(&status, is_expected));
    Ok(u8::from(!is_expected))
}

/// Plays all steps; returns the loop's final status.
fn run_steps(demo: &DemoProject) -> Result<String, String> {
    print_progress(&words::step(1, "host", "starts a session", ""));
    demo.hook("session-start", &json!({"source": "startup"}))?;
    print_progress(&words::step(2, "you", &format!("/moai-ralph:moai-loop {GOAL}"), ""));
    let expansion = json!({"command_name": "moai-ralph:moai-loop", "command_args": GOAL});
    demo.hook("user-prompt-expansion", &expansion)?;
    print_progress(&words::step(3, "agent", "writes app.py", WRONG));
    demo.write(WRONG, None)?;
    print_progress(&words::step(4, "agent", "wants to stop", CLAIM));
    demo.hook("stop", &stop_payload(false))?;
    print_progress(&words::step(5, "agent", "writes app.py again", RIGHT));
    demo.write(RIGHT, Some(WRONG))?;
    print_progress(&words::step(6, "agent", "wants to stop", CLAIM));
    demo.hook("stop", &stop_payload(true))?;
    let status = demo.program(&["loop", "status", "--json"], "")?;
    let status: Value = serde_json::from_str(&status).map_err(|error| error.to_string())?;
    Ok(status["status"].as_str().unwrap_or("nothing").to_owned())
}

fn stop_payload(is_active: bool) -> Value {
    json!({"stop_hook_active": is_active, "last_assistant_message": CLAIM,
        "background_tasks": [], "session_crons": []})
}

/// The language server for the demo: the installed one, or one installed now with the user's
/// consent.
fn server(
    args: &DemoArgs,
    dirs: &StateDirs,
    env: &BTreeMap<String, String>,
) -> Result<Option<String>, String> {
    let id = "pyright";
    let Some(spec) = Catalogue::built_in().server(id) else { return Ok(None) };
    if installed_program(&dirs.data, id, spec).is_some() {
        let pinned = spec.install.as_ref().and_then(|install| install.npm.first());
        return Ok(Some(pinned.map_or(id, String::as_str).replace('@', " ")));
    }
    if program_on_path(&spec.command, env).is_some() {
        return Ok(Some(id.to_owned()));
    }
    if !args.install && !agrees() {
        return Ok(None);
    }
    print_progress("installing pyright …\n");
    let installer = ServerInstaller { data: &dirs.data, env, root: Path::new("/") };
    installer.install(id, spec, &|_| {}).map_err(|error| error.to_string())?;
    server(&DemoArgs { install: false, no_lsp: false }, dirs, env)
}

/// Asks for consent; without a terminal the answer is no.
fn agrees() -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return false;
    }
    print_progress("pyright is not installed. Install the pinned version with npm now? [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

fn print_progress(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe is not an error.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// A temporary project with its own state folder.
struct DemoProject {
    project: PathBuf,
    program: PathBuf,
    env: Vec<(&'static str, PathBuf)>,
    no_lsp: bool,
    _folder: tempfile::TempDir,
}

impl DemoProject {
    fn new(dirs: &StateDirs, no_lsp: bool) -> Result<Self, String> {
        let to_text = |error: std::io::Error| error.to_string();
        let folder =
            tempfile::Builder::new().prefix("moai-ralph-demo-").tempdir().map_err(to_text)?;
        let at = folder.path().canonicalize().map_err(to_text)?;
        let project = at.join("project");
        std::fs::create_dir(&project).map_err(to_text)?;
        let env = vec![
            ("MOAI_RALPH_HOME", at.join("state")),
            ("MOAI_RALPH_DATA", dirs.data.clone()),
            ("XDG_CONFIG_HOME", at.join("config")),
            ("CLAUDE_PROJECT_DIR", project.clone()),
        ];
        let program = current_program().map_err(to_text)?;
        Ok(Self { project, program, env, no_lsp, _folder: folder })
    }

    /// Simulates the agent's Write tool: the file, then the two hooks that the host calls.
    fn write(&self, text: &str, before: Option<&str>) -> Result<(), String> {
        let path = self.project.join(FILE);
        std::fs::write(&path, text).map_err(|error| error.to_string())?;
        let kind = if before.is_some() { "update" } else { "create" };
        self.hook(
            "post-tool-use",
            &json!({
                "tool_name": "Write",
                "tool_input": {"file_path": path, "content": text},
                "tool_response": {"type": kind, "filePath": path, "originalFile": before},
            }),
        )?;
        self.hook("post-tool-batch", &json!({"tool_calls": []}))
    }

    /// Runs one hook as the host does and prints its output.
    fn hook(&self, event: &str, input: &Value) -> Result<(), String> {
        let mut input = input.clone();
        input["session_id"] = json!(SESSION);
        input["cwd"] = json!(self.project);
        let started = Instant::now();
        let output = self.program(&["hook", event], &input.to_string())?;
        let elapsed = started.elapsed();
        let feedback = feedback_text(&output);
        // A batch hook without deferred reports is not worth a line.
        if !(feedback.is_empty() && event == "post-tool-batch") {
            print_progress(&words::hook(event, elapsed, &feedback));
        }
        Ok(())
    }

    fn program(&self, args: &[&str], input: &str) -> Result<String, String> {
        let to_text = |error: std::io::Error| error.to_string();
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(&self.project).envs(self.env.iter().cloned());
        // The project was written by this program.
        command.env("MOAI_RALPH_TRUST", "1");
        if self.no_lsp {
            command.env("MOAI_RALPH_LSP_ENABLED", "false");
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(to_text)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input reports that by its exit code.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(to_text)?;
        String::from_utf8(output.stdout).map_err(|error| error.to_string())
    }
}

/// The text in a hook's output, with its effect on the host.
fn feedback_text(output: &str) -> String {
    let answer: Value = serde_json::from_str(output).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(reason) = text(&answer["reason"]) {
        return format!("BLOCKED, the agent reads:\n{reason}");
    }
    if let Some(notice) = text(&answer["systemMessage"]) {
        return format!("ALLOWED, you read:\n{notice}");
    }
    text(&answer["hookSpecificOutput"]["additionalContext"]).unwrap_or_default()
}
