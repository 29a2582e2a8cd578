//! The host: installs the pinned Claude Code program once and runs it with a clean environment.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::model::{Model, SideScript, Turn, shortened, texts};
use crate::support::{CHECKOUT, Sandbox, eventually, finish, json_lines, test_cache, write_file};

/// The version whose behavior these tests pin.
const VERSION: &str = "2.1.330";
/// Longest run of one scenario; a scripted model answers at once, so only a hang comes near it.
const RUN_LIMIT: Duration = Duration::from_mins(3);

/// Path of the host's native program, installed from npm on first use.
pub(crate) fn install_claude() -> PathBuf {
    let folder = test_cache().join(format!("claude-code-{VERSION}"));
    fs::create_dir_all(&folder).expect("the cache folder is writable");
    let lock = File::create(folder.join(".lock")).expect("the cache folder is writable");
    // Every test runs in its own process and any may be the first.
    lock.lock().expect("a local file can be locked");
    if let Some(program) = installed(&folder) {
        return program;
    }
    write_file(&folder.join("package.json"), "{\"private\": true}\n");
    let output = finish(
        Command::new("npm").current_dir(&folder).args([
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            &format!("@anthropic-ai/claude-code@{VERSION}"),
        ]),
        "",
    );
    installed(&folder).unwrap_or_else(|| panic!("npm left no native program: {output:#?}"))
}

fn installed(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules/@anthropic-ai")).ok()?;
    packages
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("claude-code-"))
        .map(|entry| entry.path().join("claude"))
        .find(|program| program.is_file())
}

/// One run of the host against a scripted model.
pub(crate) struct Run {
    pub(crate) model: Model,
    pub(crate) code: Option<i32>,
    pub(crate) stream: Vec<Value>,
    stderr: String,
}

impl Run {
    /// Fails the test with everything that was said.
    pub(crate) fn fail(&self, what: &str) -> ! {
        let ending = self.stream.last().map(|line| shortened(&line.to_string()));
        panic!(
            "{what}\n{}--- exit {:?}\n--- last line of the stream: {}\n--- stderr: {}",
            self.model.transcript(),
            self.code,
            ending.unwrap_or_default(),
            self.stderr
        )
    }

    /// Everything said to the model in one request (1-based).
    pub(crate) fn told_in(&self, number: usize) -> String {
        self.texts_in(number).join("\n")
    }

    fn texts_in(&self, number: usize) -> Vec<String> {
        let requests = self.model.requests();
        let Some(request) = requests.get(number - 1) else {
            self.fail(&format!("there is no request {number}"))
        };
        let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
        messages.iter().flat_map(|message| texts(&message["content"])).collect()
    }

    /// The texts that the plugin's hooks added to the context, with repetitions.
    pub(crate) fn told_by_hooks(&self) -> Vec<String> {
        let texts = self.texts_in(self.model.requests().len());
        // The host puts its own text before that of a hook, and wraps some texts.
        let hooks_words = texts.iter().filter_map(|text| {
            let said = &text[text.find("[moai-ralph] ")?..];
            Some(said.split("</system-reminder>").next().unwrap_or(said).to_owned())
        });
        hooks_words.collect()
    }

    /// The words must be in this request and in no earlier one.
    pub(crate) fn assert_first_told_in(&self, number: usize, words: &str) {
        for earlier in 1..number {
            if self.told_in(earlier).contains(words) {
                self.fail(&format!("{words:?} is already in request {earlier}"));
            }
        }
        if !self.told_in(number).contains(words) {
            self.fail(&format!("{words:?} is not in request {number}"));
        }
    }

    /// The host ended well and asked for every turn of the script. The conversation is shown with `cargo
    /// nextest run --test e2e --success-output final`.
    #[expect(clippy::print_stdout, reason = "captured by the test runner")]
    pub(crate) fn assert_finished(&self) {
        println!("{}", self.model.transcript());
        if self.code != Some(0) {
            self.fail("the host did not end well");
        }
        if self.model.turns_left() > 0 {
            self.fail("the host ended before the script did");
        }
    }

    /// Ids of the host's session, as its stream reports it.
    pub(crate) fn session_id(&self) -> String {
        let id = self.stream.iter().find_map(|line| line["session_id"].as_str());
        id.unwrap_or_else(|| self.fail("the stream names no session")).to_owned()
    }
}

/// Starts the host with a prompt and a plugin folder, and waits for its end.
pub(crate) fn run(sandbox: &Sandbox, plugin: &Path, prompt: &str, turns: Vec<Turn>) -> Run {
    run_with(sandbox, plugin, prompt, Model::start(turns, None), &[])
}

/// The same in a worktree of the project.
pub(crate) fn run_in(sandbox: &Sandbox, folder: &Path, prompt: &str, turns: Vec<Turn>) -> Run {
    let mut command = claude(sandbox);
    command.current_dir(folder).arg("--plugin-dir").arg(checkout());
    run_command(sandbox, command, prompt, Model::start(turns, None))
}

/// Continues a session that ended, with another prompt.
pub(crate) fn resume(sandbox: &Sandbox, session: &str, prompt: &str, turns: Vec<Turn>) -> Run {
    run_with(sandbox, checkout(), prompt, Model::start(turns, None), &["--resume", session])
}

/// The same with another agent of the host.
pub(crate) fn resume_with_agent(
    sandbox: &Sandbox,
    session: &str,
    prompt: &str,
    turns: Vec<Turn>,
    side: SideScript,
) -> Run {
    let model = Model::start(turns, Some(side));
    run_with(sandbox, checkout(), prompt, model, &["--resume", session])
}

fn run_with(sandbox: &Sandbox, plugin: &Path, prompt: &str, model: Model, options: &[&str]) -> Run {
    let mut command = claude(sandbox);
    command.arg("--plugin-dir").arg(plugin).args(options);
    run_command(sandbox, command, prompt, model)
}

fn run_command(sandbox: &Sandbox, mut command: Command, prompt: &str, model: Model) -> Run {
    // Several hosts may run at the same time.
    let output = |name: &str| sandbox.base().join(format!("{name}-{}", model.port()));
    let (stdout, stderr) = (output("stream"), output("host-stderr"));
    command
        .env("ANTHROPIC_BASE_URL", model.url())
        .args(["-p", prompt, "--output-format", "stream-json", "--verbose"])
        .arg("--dangerously-skip-permissions")
        .stdin(Stdio::null())
        .stdout(File::create(&stdout).expect("the sandbox is writable"))
        .stderr(File::create(&stderr).expect("the sandbox is writable"))
        .process_group(0);
    let mut child = command.spawn().expect("the installed program starts");
    let status = eventually(RUN_LIMIT, || child.try_wait().expect("the child is ours"));
    if status.is_none() {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait();
    }
    Run {
        model,
        code: status.and_then(|status| status.code()),
        stream: json_lines(&stdout),
        stderr: fs::read_to_string(&stderr).unwrap_or_default(),
    }
}

/// Runs the host like an application that shows its dialogs: `answer` is the user's choice in each question;
/// all other tool calls are allowed. `session` is one to continue.
pub(crate) fn run_with_dialog(
    sandbox: &Sandbox,
    prompt: &str,
    turns: Vec<Turn>,
    answer: &str,
    session: Option<&str>,
) -> Run {
    let model = Model::start(turns, None);
    let stderr = sandbox.base().join("host-stderr.txt");
    let mut command = claude(sandbox);
    command
        .env("ANTHROPIC_BASE_URL", model.url())
        .args(["-p", "--verbose", "--permission-prompt-tool", "stdio"])
        .args(["--input-format", "stream-json", "--output-format", "stream-json"])
        .arg("--plugin-dir")
        .arg(checkout())
        .args(session.iter().flat_map(|session| ["--resume", session]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(File::create(&stderr).expect("the sandbox is writable"))
        .process_group(0);
    let mut child = command.spawn().expect("the installed program starts");
    let mut input = child.stdin.take().expect("piped");
    let output = child.stdout.take().expect("piped");
    let message = json!({"role": "user", "content": prompt});
    writeln!(input, "{}", json!({"type": "user", "message": message})).expect("it reads");
    let (said, lines) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        for line in lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok()) {
            if said.send(line).is_err() {
                return;
            }
        }
    });
    let mut stream: Vec<Value> = Vec::new();
    while let Ok(line) = lines.recv_timeout(RUN_LIMIT) {
        if line["type"] == "control_request" {
            writeln!(input, "{}", permission(&line, answer)).expect("it reads");
        }
        let is_last = line["type"] == "result";
        stream.push(line);
        if is_last {
            break;
        }
    }
    drop(input);
    let status = eventually(RUN_LIMIT, || child.try_wait().expect("the child is ours"));
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    Run {
        model,
        code: status.and_then(|status| status.code()),
        stream,
        stderr: fs::read_to_string(&stderr).unwrap_or_default(),
    }
}

/// The application's answer to a request of the host.
fn permission(request: &Value, answer: &str) -> Value {
    let asked = &request["request"];
    let mut input = asked["input"].clone();
    if asked["tool_name"] == "AskUserQuestion" {
        let question = input["questions"][0]["question"].as_str().unwrap_or_default().to_owned();
        input["answers"] = json!({question: answer});
    }
    let response = json!({"behavior": "allow", "updatedInput": input});
    let id = &request["request_id"];
    let response = json!({"subtype": "success", "request_id": id, "response": response});
    json!({"type": "control_response", "response": response})
}

/// The host's program with an environment in which it can reach nothing but loopback.
pub(crate) fn claude(sandbox: &Sandbox) -> Command {
    let mut command = Command::new(install_claude());
    sandbox.prepare(&mut command);
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command
        .env("CLAUDE_CONFIG_DIR", sandbox.base().join("home/.claude"))
        .env("ANTHROPIC_API_KEY", "dummy")
        .env("IS_SANDBOX", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_ERROR_REPORTING", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("NO_PROXY", "127.0.0.1,localhost");
    command
}

/// The plugin folder under test: this checkout.
pub(crate) fn checkout() -> &'static Path {
    Path::new(CHECKOUT)
}
