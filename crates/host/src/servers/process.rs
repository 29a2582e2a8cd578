//! One language server's process tree: stdin behind one ordered writer, stdout decoded into
//! messages, stderr into lines. A supervisor starts it and ends the whole tree when our pipes
//! close, so dropping this value, or the end of this program, ends the tree.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::supervisor::SUPERVISE;
use crate::programs::{PROCESS_NAME, this_program};
use moai_base::limits::{
    SERVER_DRAIN_MS_MAX, SERVER_KILL_MS_MAX, SERVER_LOG_LINE_BYTES_MAX, SERVER_QUEUE_MAX,
    SERVER_STOP_MS_MAX,
};
use moai_lsp::framing::{FrameDecoder, encode_frame};
use moai_lsp::jsonrpc::RpcMessage;

/// A running process tree.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    to_server: Option<mpsc::Sender<RpcMessage>>,
    from_server: mpsc::Receiver<RpcMessage>,
    lines: mpsc::Receiver<String>,
    /// Set when the process has ended and only buffered messages can follow.
    drain_until: Option<Instant>,
    writer: JoinHandle<()>,
    reader: JoinHandle<()>,
}

/// An event of a process.
#[derive(Debug)]
pub(super) enum ProcessEvent {
    Message(RpcMessage),
    /// A line of stderr.
    StderrLine(String),
    /// There will be no further message.
    End,
}

/// The server does not read its input.
#[derive(Debug)]
pub(super) struct WriteQueueFull;

impl ServerProcess {
    /// Starts the program in `root` with exactly this environment.
    pub(super) fn spawn(
        program: &Path,
        args: &[String],
        root: &Path,
        env: &BTreeMap<String, String>,
    ) -> std::io::Result<Self> {
        let mut child = Command::new(this_program()?)
            .arg0(PROCESS_NAME)
            .arg(SUPERVISE)
            .arg(program)
            .args(args)
            .current_dir(root)
            .env_clear()
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(std::io::Error::other("a pipe of the language server is missing"));
        };
        let (to_server, outgoing) = mpsc::channel(SERVER_QUEUE_MAX);
        let (incoming, from_server) = mpsc::channel(SERVER_QUEUE_MAX);
        let (written, lines) = mpsc::channel(SERVER_QUEUE_MAX);
        let writer = tokio::spawn(write_all(stdin, outgoing));
        let reader = tokio::spawn(read_all(stdout, incoming));
        tokio::spawn(read_lines(stderr, written));
        let to_server = Some(to_server);
        Ok(Self { child, to_server, from_server, lines, drain_until: None, writer, reader })
    }

    /// Process id of the supervisor, which leads the tree, while it runs.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Queues a message; a full queue means that the server does not read.
    pub(super) fn send(&self, message: RpcMessage) -> Result<(), WriteQueueFull> {
        self.to_server.as_ref().ok_or(WriteQueueFull)?.try_send(message).map_err(|_| WriteQueueFull)
    }

    /// The next event; cancel safe.
    pub(super) async fn next_event(&mut self) -> ProcessEvent {
        loop {
            if let Some(until) = self.drain_until {
                return match timeout_at(until, self.from_server.recv()).await {
                    Ok(Some(message)) => ProcessEvent::Message(message),
                    _ => ProcessEvent::End,
                };
            }
            tokio::select! {
                biased;
                message = self.from_server.recv() => match message {
                    Some(message) => return ProcessEvent::Message(message),
                    None => return ProcessEvent::End,
                },
                Some(line) = self.lines.recv() => return ProcessEvent::StderrLine(line),
                _ = self.child.wait() => {
                    self.drain_until = Some(Instant::now() + Duration::from_millis(SERVER_DRAIN_MS_MAX));
                }
            }
        }
    }

    /// After the end: the exit status as text, and the rest of stderr.
    pub(super) async fn exit_report(&mut self) -> (String, Vec<String>) {
        let drain = Duration::from_millis(SERVER_DRAIN_MS_MAX);
        let status = match timeout(drain, self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            _ => "it closed its output".to_owned(),
        };
        let until = Instant::now() + drain;
        let mut rest = Vec::new();
        while let Ok(Some(line)) = timeout_at(until, self.lines.recv()).await {
            rest.push(line);
        }
        (status, rest)
    }

    /// Sends the queued messages, waits briefly for the server to exit by itself, then kills the whole tree,
    /// because some servers keep running after `exit`.
    pub(super) async fn shut_down(mut self) {
        self.to_server = None;
        let Self { child, from_server, .. } = &mut self;
        let ended = async {
            // Its output is read meanwhile, because a full pipe would block its exit.
            tokio::join!(child.wait(), async { while from_server.recv().await.is_some() {} })
        };
        let _ = timeout(Duration::from_millis(SERVER_STOP_MS_MAX), ended).await;
        self.kill().await;
    }

    /// Kills the tree; returns when it has ended.
    pub(super) async fn kill(mut self) {
        self.close();
        let gone = Duration::from_millis(SERVER_KILL_MS_MAX);
        if timeout(gone, self.child.wait()).await.is_ok() {
            return;
        }
        // The supervisor failed to end. Its process and group ids cannot be reused before it is
        // waited for.
        let leader = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, Signal::KILL);
            let _ = kill_process(leader, Signal::KILL);
            let _ = timeout(gone, self.child.wait()).await;
        }
    }

    fn close(&mut self) {
        self.to_server = None;
        self.writer.abort();
        self.reader.abort();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Both tasks own a pipe; the supervisor notices that they close.
        self.close();
    }
}

async fn write_all(mut stdin: ChildStdin, mut outgoing: mpsc::Receiver<RpcMessage>) {
    while let Some(message) = outgoing.recv().await {
        let frame = encode_frame(&message.to_bytes());
        if stdin.write_all(&frame).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read_all(mut stdout: ChildStdout, incoming: mpsc::Sender<RpcMessage>) {
    let mut decoder = FrameDecoder::default();
    let mut piece = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stdout.read(&mut piece).await {
        decoder.push(&piece[..count]);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    let Some(message) = RpcMessage::parse(&frame) else {
                        tracing::warn!(bytes = frame.len(), "a frame is not a valid message");
                        continue;
                    };
                    if incoming.send(message).await.is_err() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "cannot decode the language server's output");
                    return;
                }
            }
        }
    }
    if decoder.junk_bytes() > 0 {
        tracing::info!(bytes = decoder.junk_bytes(), "ignored bytes on a language server's stdout");
    }
}

/// Always drains stderr, because a full pipe would block the server: lines that the receiver takes
/// too late are lost, and long lines are truncated.
async fn read_lines(stderr: impl AsyncRead + Unpin, lines: mpsc::Sender<String>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        let Ok(piece) = stderr.fill_buf().await else { return };
        let end = piece.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(piece.len(), |end| end + 1);
        let room = SERVER_LOG_LINE_BYTES_MAX.saturating_sub(line.len());
        line.extend_from_slice(&piece[..taken.min(room)]);
        let is_last = piece.is_empty();
        stderr.consume(taken);
        if end.is_some() || is_last {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if !text.is_empty() {
                let _ = lines.try_send(text);
            }
            line.clear();
        }
        if is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stderr_is_cut_into_lines_and_a_long_one_keeps_its_beginning() {
        let long = "x".repeat(3 * SERVER_LOG_LINE_BYTES_MAX);
        let text = format!("one\r\n\n{long}\n한글\nlast");
        let (sender, mut lines) = mpsc::channel(8);
        read_lines(text.as_bytes(), sender).await;
        let mut read = Vec::new();
        while let Some(line) = lines.recv().await {
            read.push(line);
        }
        assert_eq!(read, ["one", &long[..SERVER_LOG_LINE_BYTES_MAX], "한글", "last"]);
    }
}
