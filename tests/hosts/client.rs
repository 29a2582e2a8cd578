//! The clients: fetched once from npm in pinned versions, without their install scripts, and run with
//! a clean environment.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, test_kill_process_group};
use serde_json::{Value, json};

use crate::model::{ScriptedModel, ScriptedTurn};
use crate::support::{CHECKOUT, Output, Sandbox, eventually, finish, test_cache, write_file};

/// Longest run of one scenario; a scripted model answers at once, so only a hang comes near it.
const RUN_LIMIT: Duration = Duration::from_mins(2);
/// Maximum wait for processes that a client has started and left.
const LAST_HOOK_LIMIT: Duration = Duration::from_secs(10);
/// Longest silence of a server.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// A client whose behavior these tests pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    Codex,
    Copilot,
    OpenCode,
}

impl Client {
    /// Its program, and its package for this machine.
    fn package(self) -> (&'static str, String) {
        let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        match self {
            Self::Codex => ("codex", format!("@openai/codex@0.169.0-{system}-{processor}")),
            Self::Copilot => ("copilot", format!("@github/copilot-{system}-{processor}@1.0.102")),
            Self::OpenCode => {
                let kind = if processor == "x64" { "-baseline" } else { "" };
                ("opencode", format!("opencode-{system}-{processor}{kind}@1.18.33"))
            }
        }
    }

    /// Path of its native program, fetched on first use.
    fn install(self) -> PathBuf {
        let (name, package) = self.package();
        let label = package.replace(['/', '@'], "-");
        let folder = test_cache().join(format!("hosts{label}"));
        fs::create_dir_all(&folder).expect("the cache folder is writable");
        let lock = File::create(folder.join(".lock")).expect("the cache folder is writable");
        // Every test runs in its own process and any may be the first.
        lock.lock().expect("a local file can be locked");
        if let Some(program) = program_below(&folder, name) {
            return program;
        }
        let run = |program: &str, arguments: &[&str]| {
            let output = finish(Command::new(program).current_dir(&folder).args(arguments), "");
            assert_eq!(output.code, 0, "{program} {arguments:?}: {output:#?}");
            output.stdout
        };
        let packed = run("npm", &["pack", "--silent", "--ignore-scripts", &package]);
        let archive = packed.lines().last().expect("npm names the archive").to_owned();
        run("tar", &["-xzf", &archive]);
        fs::remove_file(folder.join(&archive)).expect("npm wrote it");
        program_below(&folder, name).unwrap_or_else(|| panic!("{package} holds no {name}"))
    }
}

/// The executable of this name, wherever a package has it.
fn program_below(folder: &Path, name: &str) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if let Some(found) = program_below(&path, name) {
                return Some(found);
            }
        } else if entry.file_name() == name
            && path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
        {
            return Some(path);
        }
    }
    None
}

/// A project with a client that has this checkout's plugin.
pub(crate) struct HostProject {
    pub(crate) sandbox: Arc<Sandbox>,
    client: Client,
    program: PathBuf,
}

/// One run of a client against a scripted model.
pub(crate) struct HostRun {
    pub(crate) model: ScriptedModel,
    pub(crate) output: Output,
}

impl HostProject {
    /// A project with a committed clean file, and a scripted server that finds `BAD`.
    pub(crate) fn with_clean_file(client: Client) -> Self {
        let sandbox = Sandbox::new();
        let errors = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
        sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
        sandbox.write("app.py", "word = 'good'\n");
        sandbox.commit();
        Self::new(sandbox, client)
    }

    /// Gives the committed file lines with the ends of DOS, and a mistake that is older than every edit.
    pub(crate) fn commit_older_mistake(&self) {
        self.sandbox.write("app.py", "word = 'BAD'\r\nother = 1\r\nlast = 1\r\n");
        self.sandbox.commit();
    }

    /// Installs the plugin with the client's own commands, from the marketplace of the checkout, or
    /// with `init` where the client has no such plugins.
    pub(crate) fn new(sandbox: Sandbox, client: Client) -> Self {
        Self::in_project(&Arc::new(sandbox), client)
    }

    /// The same in a project that another client may work in.
    pub(crate) fn in_project(sandbox: &Arc<Sandbox>, client: Client) -> Self {
        let project = Self { sandbox: Arc::clone(sandbox), client, program: client.install() };
        if client == Client::OpenCode {
            let output = project.sandbox.run(&["init", "--host", "opencode"]);
            assert_eq!(output.code, 0, "{output:#?}");
            return project;
        }
        let verb = if client == Client::Codex { "add" } else { "install" };
        project.manage(&["plugin", "marketplace", "add", CHECKOUT]);
        project.manage(&["plugin", verb, "moai-ralph@moai-ralph"]);
        project
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.sandbox.base().join("home")
    }

    fn manage(&self, arguments: &[&str]) {
        let output = finish(self.command().args(arguments), "");
        assert_eq!(output.code, 0, "{arguments:?}: {output:#?}");
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        self.sandbox.prepare(&mut command);
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        command
            // OpenCode works in this folder, whatever the real one is.
            .env("PWD", self.sandbox.root())
            .env("CODEX_HOME", self.home().join(".codex"))
            .env("COPILOT_OFFLINE", "true")
            .env("COPILOT_AUTO_UPDATE", "false")
            .env("NO_PROXY", "127.0.0.1,localhost");
        fs::create_dir_all(self.home().join(".codex")).expect("the sandbox is writable");
        command
    }

    /// One headless run with a prompt.
    pub(crate) fn run(&self, prompt: &str, turns: Vec<ScriptedTurn>) -> HostRun {
        self.run_session(prompt, turns, false)
    }

    /// Another run of the last session.
    pub(crate) fn resume(&self, prompt: &str, turns: Vec<ScriptedTurn>) -> HostRun {
        self.run_session(prompt, turns, true)
    }

    fn run_session(&self, prompt: &str, turns: Vec<ScriptedTurn>, is_resumed: bool) -> HostRun {
        let model = ScriptedModel::start(turns);
        let mut command = self.command();
        match self.client {
            Client::Codex => {
                self.configure_codex(&model.url());
                command.arg("exec");
                if is_resumed {
                    command.args(["resume", "--last"]);
                }
                command.args([
                    "--skip-git-repo-check",
                    "--dangerously-bypass-approvals-and-sandbox",
                    "--dangerously-bypass-hook-trust",
                    prompt,
                ]);
            }
            Client::Copilot => {
                let trusted = serde_json::json!({"trustedFolders": [self.sandbox.root()]});
                self.merge_copilot_config(&trusted);
                command
                    .env("COPILOT_PROVIDER_TYPE", "anthropic")
                    .env("COPILOT_PROVIDER_BASE_URL", model.url())
                    .env("COPILOT_PROVIDER_API_KEY", "dummy")
                    .env("COPILOT_MODEL", "claude-sonnet-4.5")
                    .args(["--allow-all-tools", "-p", prompt]);
                if is_resumed {
                    command.arg("--continue");
                }
            }
            Client::OpenCode => {
                command = self.opencode_command(&model.url());
                command.arg("run");
                // A command is an option here, and its arguments are the prompt.
                match prompt.strip_prefix('/').and_then(|it| it.split_once(' ')) {
                    Some((name, arguments)) => command.args(["--command", name, arguments]),
                    None => command.arg(prompt),
                };
            }
        }
        let output = self.wait(command);
        HostRun { model, output }
    }

    /// The plugin's entry stays in the file.
    fn configure_codex(&self, url: &str) {
        let path = self.home().join(".codex/config.toml");
        let before = fs::read_to_string(&path).unwrap_or_default();
        let kept = before.split_once("# plugins\n").map_or(before.as_str(), |it| it.1);
        let root = self.sandbox.root();
        let text = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"fake\"\napproval_policy = \"never\"\n\
             [model_providers.fake]\nname = \"fake\"\nbase_url = \"{url}/v1\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\
             [analytics]\nenabled = false\n[otel]\nexporter = \"none\"\n\
             [projects.\"{}\"]\ntrust_level = \"trusted\"\n# plugins\n{kept}",
            root.display()
        );
        write_file(&path, &text);
    }

    fn opencode_command(&self, url: &str) -> Command {
        self.configure_opencode(url);
        let mut command = self.command();
        command
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
            .env("npm_config_registry", format!("{url}/npm/"));
        command
    }

    fn configure_opencode(&self, url: &str) {
        let model = serde_json::json!({
            "name": "m1", "tool_call": true, "limit": {"context": 200_000, "output": 8_000},
        });
        let provider = serde_json::json!({
            "npm": "@ai-sdk/anthropic", "name": "fake", "models": {"m1": model},
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "dummy"},
        });
        let config = serde_json::json!({
            "autoupdate": false, "share": "disabled", "model": "fake/m1",
            "small_model": "fake/m1", "provider": {"fake": provider},
        });
        write_file(&self.sandbox.path("opencode.json"), &config.to_string());
    }

    fn merge_copilot_config(&self, more: &Value) {
        let path = self.home().join(".copilot/config.json");
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The client writes comments before the document.
        let json: String = text.lines().filter(|line| !line.starts_with("//")).collect();
        let mut config: Value =
            serde_json::from_str(&json).unwrap_or_else(|_| serde_json::json!({}));
        for (key, value) in more.as_object().into_iter().flatten() {
            config[key] = value.clone();
        }
        write_file(&path, &config.to_string());
    }

    fn wait(&self, mut command: Command) -> Output {
        let mut child = self.start(&mut command);
        let status = eventually(RUN_LIMIT, || child.try_wait().expect("the child is ours"));
        // A one-shot run of OpenCode ends before its last hook is answered.
        if let Some(group) = group_of(&child) {
            let is_empty = || test_kill_process_group(group).is_err().then_some(());
            let _ = eventually(LAST_HOOK_LIMIT, is_empty);
        }
        end_with_children(&mut child);
        let read = |stream| fs::read_to_string(self.stream_file(stream)).unwrap_or_default();
        let code = status.and_then(|status| status.code()).unwrap_or(-1);
        Output { code, stdout: read("stdout"), stderr: read("stderr") }
    }

    /// Starts the client in its own process group.
    fn start(&self, command: &mut Command) -> Child {
        let file =
            |stream| File::create(self.stream_file(stream)).expect("the sandbox is writable");
        command
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .process_group(0)
            .spawn()
            .expect("the installed program starts")
    }

    /// File of the client's output.
    fn stream_file(&self, stream: &str) -> PathBuf {
        self.sandbox.base().join(format!("{}-{stream}.txt", self.client.package().0))
    }

    /// A session that stays open: OpenCode as a server.
    pub(crate) fn serve(&self, turns: Vec<ScriptedTurn>) -> OpenCodeServer {
        let model = ScriptedModel::start(turns);
        let mut command = self.opencode_command(&model.url());
        command.args(["serve", "--hostname", "127.0.0.1", "--port", "0"]);
        let process = self.start(&mut command);
        let stdout = self.stream_file("stdout");
        let find_address = || {
            let text = fs::read_to_string(&stdout).unwrap_or_default();
            let (_, rest) = text.split_once("http://")?;
            let (address, _) = rest.split_once('\n')?;
            address.trim().parse().ok()
        };
        let address = eventually(RUN_LIMIT, find_address).expect("the server names its address");
        OpenCodeServer { model, process, address }
    }
}

/// The process group that a client is the leader of.
fn group_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn end_with_children(child: &mut Child) {
    if let Some(group) = group_of(child) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// OpenCode as a server, with sessions that stay open.
pub(crate) struct OpenCodeServer {
    pub(crate) model: ScriptedModel,
    process: Child,
    address: SocketAddr,
}

impl OpenCodeServer {
    /// Sends one request and returns the answer, which must be JSON.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(ANSWER_LIMIT)).expect("a duration");
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("the server reads");
        // The server keeps the connection open.
        let mut answer = Vec::new();
        let mut part = [0; 8 * 1024];
        loop {
            let read = stream.read(&mut part);
            let length = *read.as_ref().unwrap_or(&0);
            answer.extend_from_slice(&part[..length]);
            let text = String::from_utf8_lossy(&answer);
            let body = text.find('{').map_or("", |start| &text[start..]);
            if let Some(Ok(value)) = serde_json::Deserializer::from_str(body).into_iter().next() {
                return value;
            }
            assert!(length > 0, "{path}: {read:?} {text:?}\n{}", self.model.transcript());
        }
    }

    /// Waits until the model was asked so often.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        let is_asked = || (self.model.requests().len() >= count).then_some(());
        let is_reached = eventually(RUN_LIMIT, is_asked).is_some();
        assert!(is_reached, "expected {count} requests\n{}", self.model.transcript());
    }
}

impl Drop for OpenCodeServer {
    fn drop(&mut self) {
        end_with_children(&mut self.process);
    }
}

impl HostRun {
    /// Fails if an older mistake is attributed to the edit whose result the second request contains.
    pub(crate) fn assert_nothing_is_blamed(&self) {
        self.assert_requests(2);
        let told = &self.model.requests()[1];
        if told.contains("introduced") || told.contains("may be older") {
            self.fail("an older mistake is blamed on the edit");
        }
    }

    /// Fails the test with everything that was said.
    pub(crate) fn fail(&self, what: &str) -> ! {
        panic!("{what}\n{}\n{:#?}", self.model.transcript(), self.output)
    }

    /// The words are in this request (1-based) and in no earlier one.
    pub(crate) fn assert_first_told_in(&self, number: usize, words: &str) {
        let requests = self.model.requests();
        for (at, request) in requests.iter().enumerate().take(number) {
            if request.contains(words) != (at + 1 == number) {
                self.fail(&format!("{words:?} is to come first in request {number}"));
            }
        }
        if requests.len() < number {
            self.fail(&format!("there is no request {number}"));
        }
    }

    /// The client asked the model so often, and ended well.
    pub(crate) fn assert_requests(&self, count: usize) {
        if self.model.requests().len() != count || self.output.code != 0 {
            self.fail(&format!("expected {count} requests and a good end"));
        }
    }
}
