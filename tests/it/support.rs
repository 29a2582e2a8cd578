//! The foundation of the integration tests: a temporary project with its own home, the real
//! executable, the recorded hook inputs, and a check that no process survives.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The executable under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_moai-ralph");
/// The checkout, which is also the plugin folder.
pub(crate) const CHECKOUT: &str = env!("CARGO_MANIFEST_DIR");
/// Session id in every hook input unless a test sets another one.
pub(crate) const SESSION: &str = "00000000-0000-4000-8000-000000000000";

/// Longest wait for a fact before a test fails: generous, because machines under load are slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Time a process may take to go away after it was asked to.
const GOING_AWAY: Duration = Duration::from_secs(20);

/// A process's answer.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Stdout as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not one JSON document ({error}): {self:#?}"))
    }

    /// The context for the agent in a hook's output; empty without one.
    pub(crate) fn context(&self) -> String {
        assert_eq!(self.code, 0, "a hook always exits 0: {self:#?}");
        if self.stdout.trim().is_empty() {
            return String::new();
        }
        let text = &self.json()["hookSpecificOutput"]["additionalContext"];
        text.as_str().unwrap_or_default().to_owned()
    }
}

/// A temporary project, home and state; on drop the daemon is stopped and survivors are reported.
pub(crate) struct Sandbox {
    folder: TempDir,
    data: PathBuf,
    extra: Vec<(OsString, OsString)>,
}

impl Sandbox {
    /// An empty project with one commit.
    pub(crate) fn new() -> Self {
        let folder = TempDir::with_prefix("ralph-").expect("a temporary folder can be made");
        let base = fs::canonicalize(folder.path()).expect("the folder was just made");
        for name in ["project", "home", "state", "data", "run", "bin"] {
            fs::create_dir(base.join(name)).expect("the sandbox is writable");
        }
        private(&base.join("run"));
        let sandbox = Self { data: base.join("data"), folder, extra: Vec::new() };
        sandbox.git(&["init", "-q", "-b", "main"]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "start"]);
        sandbox
    }

    /// An empty project with another folder for downloaded language servers, which tests share.
    pub(crate) fn with_data(data: &Path) -> Self {
        let mut sandbox = Self::new();
        data.clone_into(&mut sandbox.data);
        sandbox
    }

    /// The temporary folder that everything of this sandbox lives in.
    pub(crate) fn base(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("the sandbox exists while it is in use")
    }

    /// Root of the project.
    pub(crate) fn root(&self) -> PathBuf {
        self.base().join("project")
    }

    /// A path inside the project.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root().join(relative)
    }

    /// Sets a variable for every later process of this sandbox.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.extra.push((name.into(), value.into()));
    }

    /// Writes a project file, with its folders.
    pub(crate) fn write(&self, relative: &str, text: &str) {
        write_file(&self.path(relative), text);
    }

    /// Text of a project file.
    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative))
            .unwrap_or_else(|error| panic!("{relative} cannot be read: {error}"))
    }

    /// Commits everything in the project.
    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "step"]);
    }

    /// Runs git in the project; it must succeed.
    pub(crate) fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        self.prepare(&mut command);
        let output = finish(command.args(arguments), "");
        assert_eq!(output.code, 0, "git {arguments:?}: {output:#?}");
    }

    /// Gives a command this sandbox's directory and environment.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command.current_dir(self.root()).env_clear().envs(clean_environment());
        let base = self.base();
        let mut path = base.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command
            .env("PATH", path)
            .env("HOME", base.join("home"))
            .env("MOAI_RALPH_BIN", PROGRAM)
            .env("MOAI_RALPH_HOME", base.join("state"))
            .env("MOAI_RALPH_DATA", &self.data)
            // A project of a test is the tester's own; tests/it/trust.rs unsets this.
            .env("MOAI_RALPH_TRUST", "1")
            .env("XDG_RUNTIME_DIR", base.join("run"))
            .env("XDG_CONFIG_HOME", base.join("home/.config"))
            .env("XDG_CACHE_HOME", base.join("home/.cache"))
            .env("XDG_DATA_HOME", base.join("home/.local/share"))
            .env("XDG_STATE_HOME", base.join("home/.local/state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // After a commit git maintains the repository in the background, where it would be mistaken for a
            // leftover process of ours.
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "maintenance.auto")
            .env("GIT_CONFIG_VALUE_0", "false")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Test")))
            .envs(
                ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]
                    .map(|name| (name, "test@example.invalid")),
            )
            .envs(self.extra.iter().cloned());
    }

    /// The executable under test, ready for arguments.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        self.prepare(&mut command);
        command
    }

    /// Runs the executable in the project.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, "")
    }

    /// Runs the executable in the project with a text on stdin.
    pub(crate) fn run_with(&self, arguments: &[&str], stdin: &str) -> Output {
        finish(self.program().args(arguments), stdin)
    }

    /// One hook call, as the host makes it.
    pub(crate) fn hook(&self, event: &str, input: &Value) -> Output {
        self.run_with(&["hook", event], &input.to_string())
    }

    /// A recorded hook input, with this sandbox's paths in it.
    pub(crate) fn payload(&self, name: &str) -> Value {
        let file = Path::new(CHECKOUT).join("tests/it/payloads").join(format!("{name}.json"));
        let text = fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", file.display()));
        let text = text
            .replace("{{PROJECT}}", &self.root().to_string_lossy())
            .replace("{{HOME}}", &self.base().join("home").to_string_lossy())
            .replace("{{SESSION}}", SESSION);
        serde_json::from_str(&text).expect("a recorded input is JSON")
    }

    /// Writes a file as the host's Write tool does, then calls the hook with the recorded shape.
    pub(crate) fn tool_write(&self, relative: &str, content: &str) -> Output {
        let before = fs::read_to_string(self.path(relative)).ok();
        self.write(relative, content);
        let path = json!(self.path(relative));
        let mut input = self.payload("PostToolUse-Write");
        input["tool_input"] = json!({"file_path": path, "content": content});
        input["tool_response"]["filePath"] = path;
        input["tool_response"]["content"] = content.into();
        if let Some(before) = before {
            input["tool_response"]["type"] = "update".into();
            input["tool_response"]["originalFile"] = before.into();
        }
        self.hook("post-tool-use", &input)
    }

    /// Puts the scripted language server on this sandbox's PATH under a real server's name.
    /// Returns the file in which it logs what it receives.
    pub(crate) fn fake_server(&self, name: &str, mut script: Value) -> PathBuf {
        let base = self.base();
        let log = base.join(format!("{name}.jsonl"));
        script["log"] = json!(log);
        let script_file = base.join(format!("{name}.json"));
        write_file(&script_file, &script.to_string());
        let shim = base.join("bin").join(name);
        let fake = fake_language_server();
        let text = format!("#!/bin/sh\nexec '{}' '{}'\n", fake.display(), script_file.display());
        write_file(&shim, &text);
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).expect("the shim is ours");
        log
    }

    /// Processes that carry this sandbox in their environment or command line.
    pub(crate) fn survivors(&self) -> Vec<(i32, String)> {
        let mark = self.base().to_string_lossy().into_owned();
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
            .filter(|pid| *pid != own && is_running(*pid))
            .filter_map(|pid| {
                let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
                let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
                let environment = read("environ");
                let ours = command.contains(&mark)
                    || String::from_utf8_lossy(&environment).contains(&mark);
                ours.then_some((pid, command))
            })
            .collect()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let stopped = self.run(&["daemon", "stop"]);
        let gone = eventually(GOING_AWAY, || self.survivors().is_empty().then_some(()));
        if gone.is_some() {
            return;
        }
        let survivors = self.survivors();
        for (pid, _) in &survivors {
            if let Some(pid) = Pid::from_raw(*pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        // A second panic would abort and hide the first one.
        assert!(
            thread::panicking(),
            "left running after `daemon stop`: {survivors:#?}\n{stopped:#?}"
        );
    }
}

/// A zombie has ended; only its parent has not looked yet.
fn is_running(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// Listens in place of the sandbox's daemon and never responds.
pub(crate) fn silent_daemon(sandbox: &Sandbox) -> UnixListener {
    sandbox.run(&["doctor"]);
    let status = sandbox.run(&["daemon", "status", "--json"]).json();
    let socket = status["socket"].as_str().expect("a daemon").to_owned();
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    UnixListener::bind(socket).expect("the daemon has ended")
}

/// The developer's environment without anything that would steer the program, the host or git,
/// and without secrets.
pub(crate) fn clean_environment() -> Vec<(OsString, OsString)> {
    const PREFIXES: &[&str] = &[
        "MOAI_",
        "XDG_",
        "GIT_",
        "CLAUDE",
        "ANTHROPIC",
        "MCP_",
        "OTEL_",
        "AWS_",
        "GOOGLE_",
        "AZURE_",
        "CARGO_",
        "NEXTEST",
        "VIRTUAL_ENV",
        "CONDA_",
    ];
    const WORDS: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "API_KEY", "APIKEY", "CREDENTIAL"];
    std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy().to_uppercase();
            !PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                && !WORDS.iter().any(|word| name.contains(word))
        })
        .collect()
}

/// Folder for downloads of tests: kept between runs, outside version control.
pub(crate) fn test_cache() -> PathBuf {
    std::env::var_os("MOAI_RALPH_TEST_CACHE")
        .filter(|folder| !folder.is_empty())
        .map_or_else(|| Path::new(CHECKOUT).join(".cache"), PathBuf::from)
}

/// The scripted language server, which cargo builds as an example.
pub(crate) fn fake_language_server() -> PathBuf {
    let path = Path::new(PROGRAM).with_file_name("examples").join("fake-language-server");
    assert!(path.is_file(), "run `cargo build --examples` first: {} is missing", path.display());
    path
}

/// Runs to the end with this on stdin.
pub(crate) fn finish(command: &mut Command, stdin: &str) -> Output {
    finish_bytes(command, stdin.as_bytes())
}

/// Runs to the end with these bytes on stdin.
pub(crate) fn finish_bytes(command: &mut Command, stdin: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let mut input = child.stdin.take().expect("stdin is piped");
    let bytes = stdin.to_vec();
    // From a thread, because a program may answer before it has read everything; it may also end without
    // reading, so a broken pipe is not a failure.
    let writer = thread::spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().expect("the child is ours to wait for");
    writer.join().expect("the writer does not panic");
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Asks until there is an answer or the time is up.
pub(crate) fn eventually<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if start.elapsed() > limit {
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a file that is written now gets a later change time than those written before: the clock
/// of a file system advances in steps.
pub(crate) fn await_later_file_time(sandbox: &Sandbox) {
    let probe = sandbox.base().join("file-time");
    let written_at = || {
        fs::write(&probe, "").expect("the folder is ours");
        let meta = fs::metadata(&probe).expect("it was written");
        (meta.ctime(), meta.ctime_nsec())
    };
    let first = written_at();
    let is_later = || (written_at() > first).then_some(());
    eventually(Duration::from_secs(10), is_later).expect("the clock advances");
}

/// Entries of a JSONL file; none when it does not exist yet.
pub(crate) fn json_lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Writes a file and the folders above it.
pub(crate) fn write_file(path: &Path, text: &str) {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).expect("the sandbox is writable");
    }
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn private(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("the folder is ours");
}
