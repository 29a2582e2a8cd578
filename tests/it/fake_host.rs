//! A process in the place of the host: hooks, agents' shells and servers are its children, with the
//! variables that the host gives them.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;

use crate::support::{Output, PATIENCE, PROGRAM, Sandbox, eventually, write_file};

/// A running host, which changes from session to session.
pub(crate) struct FakeHost<'s> {
    sandbox: &'s Sandbox,
    shell: Child,
    orders: Option<ChildStdin>,
    session: String,
    count: usize,
}

impl<'s> FakeHost<'s> {
    pub(crate) fn start(sandbox: &'s Sandbox, session: &str) -> Self {
        let mut command = Command::new("sh");
        sandbox.prepare(&mut command);
        let mut shell = command.stdin(Stdio::piped()).spawn().expect("a shell starts");
        let orders = shell.stdin.take();
        Self { sandbox, shell, orders, session: session.to_owned(), count: 0 }
    }

    /// The user changes to another session in the same process.
    pub(crate) fn go_on_to(&mut self, session: &str) {
        session.clone_into(&mut self.session);
    }

    /// A hook of the present session.
    pub(crate) fn hook(&mut self, event: &str, mut input: Value) -> Output {
        input["session_id"] = self.session.as_str().into();
        self.child(&format!("'{PROGRAM}' hook {event}"), &input.to_string())
    }

    /// A command of the agent, in a shell with its own session of processes.
    pub(crate) fn agent(&mut self, script: &str) -> Output {
        let file = self.file("agent.sh");
        write_file(&file, script);
        self.child(&format!("setsid sh '{}'", file.display()), "")
    }

    /// Starts a server; both ends of its streams. It keeps the variables of the present session.
    pub(crate) fn server(&mut self, command: &str) -> (File, PathBuf) {
        let base = self.sandbox.base();
        let (input, output) = (base.join("server-in"), base.join("server-out"));
        let made = Command::new("mkfifo").arg(&input).status().expect("it runs");
        assert!(made.success(), "{made}");
        let line = format!("{command} <'{}' >'{}' &", input.display(), output.display());
        self.order(&line);
        (File::options().write(true).open(&input).expect("the server reads"), output)
    }

    /// The host ends, and stays a zombie until it is dropped.
    pub(crate) fn end(&mut self) {
        drop(self.orders.take());
        let stat = format!("/proc/{}/stat", self.shell.id());
        let has_ended = || {
            let stat = fs::read_to_string(&stat).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('Z')).then_some(())
        };
        eventually(PATIENCE, has_ended).expect("a shell without orders ends");
    }

    fn child(&mut self, command: &str, input: &str) -> Output {
        self.count += 1;
        let [stdin, stdout, stderr, unfinished, finished] =
            ["in", "out", "err", "code-", "code"].map(|name| self.file(name));
        write_file(&stdin, input);
        self.order(&format!(
            "{command} <'{}' >'{}' 2>'{}'; echo $? >'{}'; mv '{}' '{}'",
            stdin.display(),
            stdout.display(),
            stderr.display(),
            unfinished.display(),
            unfinished.display(),
            finished.display(),
        ));
        let code = eventually(PATIENCE, || fs::read_to_string(&finished).ok());
        let read = |path| fs::read_to_string(path).expect("the child has ended");
        Output {
            code: code.expect("the child ends").trim().parse().expect("a number"),
            stdout: read(&stdout),
            stderr: read(&stderr),
        }
    }

    /// A file of the present child.
    fn file(&self, name: &str) -> PathBuf {
        let (host, count) = (self.shell.id(), self.count);
        self.sandbox.base().join(format!("host-{host}-{count}-{name}"))
    }

    fn order(&mut self, command: &str) {
        let session = &self.session;
        let variables = format!("CLAUDECODE=1 CLAUDE_PID=$$ CLAUDE_CODE_SESSION_ID={session}");
        let orders = self.orders.as_mut().expect("the host runs");
        writeln!(orders, "{variables} {command}").expect("the host reads");
    }
}

impl Drop for FakeHost<'_> {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.shell.wait();
    }
}
