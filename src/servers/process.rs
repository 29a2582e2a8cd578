//! One language server's process: its own process group, stdin behind one ordered writer, stdout
//! cut into messages, the tail of stderr kept for the crash message.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

use crate::base::limits::{SERVER_QUEUE_MAX, SERVER_STDERR_BYTES_MAX, SERVER_STOP_MS_MAX};
use crate::base::text::one_line;
use crate::wire::framing::{Decoder, encode};
use crate::wire::jsonrpc::Message;

/// A running process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    to_server: Option<mpsc::Sender<Message>>,
    from_server: mpsc::Receiver<Message>,
    stderr: Arc<Mutex<Vec<u8>>>,
}

/// The server does not read what it is sent.
#[derive(Debug)]
pub(super) struct Wedged;

impl Process {
    /// Starts the program in `root` with exactly this environment.
    pub(super) fn spawn(
        program: &Path,
        args: &[String],
        root: &Path,
        env: &BTreeMap<String, String>,
    ) -> std::io::Result<Self> {
        let mut child = Command::new(program)
            .args(args)
            .current_dir(root)
            .env_clear()
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let missing = || std::io::Error::other("a pipe of the language server is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let mut errors = child.stderr.take().ok_or_else(missing)?;
        let (to_server, outgoing) = mpsc::channel(SERVER_QUEUE_MAX);
        let (incoming, from_server) = mpsc::channel(SERVER_QUEUE_MAX);
        tokio::spawn(write_all(stdin, outgoing));
        tokio::spawn(read_all(stdout, incoming));
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let tail = Arc::clone(&stderr);
        // Stderr is always drained: a full pipe would stop the server.
        tokio::spawn(async move {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = errors.read(&mut piece).await {
                let Ok(mut tail) = tail.lock() else { return };
                tail.extend_from_slice(&piece[..count]);
                let excess = tail.len().saturating_sub(SERVER_STDERR_BYTES_MAX);
                tail.drain(..excess);
            }
        });
        Ok(Self { child, group, to_server: Some(to_server), from_server, stderr })
    }

    /// Process id while it runs.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Queues a message; the queue is bounded, and a full one means that nobody reads.
    pub(super) fn send(&self, message: Message) -> Result<(), Wedged> {
        self.to_server.as_ref().ok_or(Wedged)?.try_send(message).map_err(|_| Wedged)
    }

    /// The next message; `None` when stdout is closed.
    pub(super) async fn receive(&mut self) -> Option<Message> {
        self.from_server.recv().await
    }

    /// How the process ended, in words, with the last line of its stderr.
    pub(super) async fn last_words(&mut self) -> String {
        let wait =
            tokio::time::timeout(Duration::from_millis(SERVER_STOP_MS_MAX), self.child.wait());
        let end = match wait.await {
            Ok(Ok(status)) => status.to_string(),
            _ => "it closed its output".to_owned(),
        };
        let tail = self.stderr.lock().map(|tail| tail.clone()).unwrap_or_default();
        let tail = String::from_utf8_lossy(&tail);
        match tail.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("{end}, {}", one_line(line, 200)),
            None => end,
        }
    }

    /// Lets the queue run dry, waits a little for the process to end by itself, then ends its
    /// whole group. Some servers run on after `exit`.
    pub(super) async fn end(mut self) {
        self.to_server = None;
        let grace = Duration::from_millis(SERVER_STOP_MS_MAX);
        let _ = tokio::time::timeout(grace, self.child.wait()).await;
        self.kill().await;
    }

    /// Ends the process group at once.
    pub(super) async fn kill(mut self) {
        if let Some(group) = self.group.take() {
            // Fails when the group is already empty.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill().await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Whatever ended this process's owner, its group ends, too.
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn write_all(mut stdin: ChildStdin, mut outgoing: mpsc::Receiver<Message>) {
    while let Some(message) = outgoing.recv().await {
        let frame = encode(&message.to_bytes());
        if stdin.write_all(&frame).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read_all(mut stdout: ChildStdout, incoming: mpsc::Sender<Message>) {
    let mut decoder = Decoder::default();
    let mut piece = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stdout.read(&mut piece).await {
        decoder.push(&piece[..count]);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    let Some(message) = Message::parse(&frame) else {
                        tracing::warn!(bytes = frame.len(), "a frame is no message");
                        continue;
                    };
                    if incoming.send(message).await.is_err() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "the language server's output cannot be followed");
                    return;
                }
            }
        }
    }
    if decoder.junk_bytes() > 0 {
        tracing::info!(bytes = decoder.junk_bytes(), "junk on a language server's stdout");
    }
}
