//! The daemon's life cycle: lock and socket, serving, idle exit, drain.
//!
//! ```text
//! lock free? --no--> already running
//!     | yes
//! serving --stop asked, idle, or its program file replaced--> draining --> servers stopped --> end
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tokio::net::UnixStream;
use tokio::sync::{Notify, Semaphore};

use crate::engine::Engine;
use crate::exam::check_runner::remove_left_runs;
use crate::memory::retention;
use crate::{log, project};
use moai_base::limits::{
    CALL_READ_MS_MAX, COMMAND_CALLS_MAX, CONNECTIONS_MAX, DAEMON_DRAIN_MS_MAX, LARGE_CALLS_MAX,
};
use moai_host::callers;
use moai_host::files;
use moai_host::ipc::listener::{
    DaemonListener, ReceivedCall, read_call, wait_for_disconnect, write_reply,
};
use moai_host::ipc::{StateDirs, process_environment};
use moai_host::servers::remove_orphaned_storage;
use moai_lsp::registry::Catalogue;
use moai_protocol::control::{CommandReply, DaemonReply, DaemonRequest, PROTOCOL_VERSION};
use moai_protocol::hook::HookEvent;

/// Result of a daemon's start.
#[derive(Debug, PartialEq, Eq)]
pub enum DaemonStart {
    /// The daemon listens; reported before the first connection is served.
    Ready(PathBuf),
    /// Another daemon holds the lock.
    AlreadyRunning,
}

struct DaemonServer {
    engine: Arc<Engine>,
    program: Option<ProgramIdentity>,
    stop: Notify,
    is_draining: AtomicBool,
    connections: Semaphore,
    /// Calls other than hooks.
    commands: Semaphore,
    large_calls: Arc<Semaphore>,
}

/// Serves until the daemon is stopped, was idle for long enough, or its program file was replaced.
/// `report_start` is called once. Needs a tokio runtime.
pub async fn run_daemon(
    dirs: StateDirs,
    report_start: impl FnOnce(&DaemonStart),
) -> Result<(), String> {
    for folder in [&dirs.state, &dirs.socket_folder, &dirs.log_folder()] {
        files::private_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let options = project::load_options(
        &dirs.user_config,
        None,
        &process_environment(),
        Catalogue::built_in(),
    )
    .unwrap_or_default();
    let listening = match DaemonListener::try_start(&dirs) {
        Ok(Some(listening)) => listening,
        Ok(None) => {
            report_start(&DaemonStart::AlreadyRunning);
            return Ok(());
        }
        Err(error) => return Err(format!("{}: {error}", dirs.socket_path().display())),
    };
    log::to_file(&dirs.log_folder(), "daemon.log");
    let (state, data) = (dirs.state.clone(), dirs.data.clone());
    tokio::task::spawn_blocking(move || {
        remove_left_runs(&state);
        remove_orphaned_storage(&data);
    });
    let daemon = Arc::new(DaemonServer {
        engine: Engine::start(dirs.clone(), &options, None),
        program: ProgramIdentity::current(),
        stop: Notify::new(),
        is_draining: AtomicBool::new(false),
        connections: Semaphore::new(CONNECTIONS_MAX),
        commands: Semaphore::new(COMMAND_CALLS_MAX),
        large_calls: Arc::new(Semaphore::new(LARGE_CALLS_MAX)),
    });
    tracing::info!(pid = std::process::id(), version = env!("CARGO_PKG_VERSION"), "listening");
    report_start(&DaemonStart::Ready(dirs.socket_path()));
    let engine = &daemon.engine;
    tokio::spawn(retention::keep_within_bounds(engine.memory.clone(), engine.memory_text_bytes));
    daemon.serve(&listening, options.daemon_idle).await;
    let lock = listening.close();
    daemon.drain().await;
    drop(lock);
    tracing::info!("ended");
    Ok(())
}

impl DaemonServer {
    async fn serve(self: &Arc<Self>, listening: &DaemonListener, idle: Duration) {
        let mut last_use = Instant::now();
        let mut idle_check =
            tokio::time::interval(idle.clamp(Duration::from_millis(100), Duration::from_secs(10)));
        let mut terminate = signal(tokio::signal::unix::SignalKind::terminate());
        let mut interrupt = signal(tokio::signal::unix::SignalKind::interrupt());
        loop {
            tokio::select! {
                accepted = listening.accept() => match accepted {
                    Ok(stream) => {
                        last_use = Instant::now();
                        let daemon = Arc::clone(self);
                        tokio::spawn(async move { daemon.connection(stream).await });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        // Out of file descriptors: without a pause this would spin.
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                () = self.stop.notified() => return,
                () = received(&mut terminate) => return,
                () = received(&mut interrupt) => return,
                _ = idle_check.tick() => {
                    let is_busy = self.engine.job_count() > 0
                        || self.connections.available_permits() < CONNECTIONS_MAX;
                    if !listening.is_in_place() {
                        tracing::warn!("the socket was removed or replaced");
                        return;
                    }
                    if is_busy {
                        last_use = Instant::now();
                    } else if last_use.elapsed() >= idle {
                        tracing::info!("idle");
                        return;
                    }
                }
            }
        }
    }

    async fn connection(self: Arc<Self>, mut stream: UnixStream) {
        // Before a permit is taken, because a connection that sends nothing must not hold one.
        let limit = Duration::from_millis(CALL_READ_MS_MAX);
        let reading = tokio::time::timeout(limit, read_call(&mut stream, &self.large_calls));
        let Ok(received) = reading.await else {
            tracing::warn!("a connection sent no call");
            return;
        };
        let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let ReceivedCall { mut call, large_call: _large_call } = match received {
            Ok(received) => received,
            Err(error) => {
                tracing::warn!(%error, "a call could not be read");
                let reply = CommandReply::failure(
                    1,
                    "moai-ralph: the daemon is from another build; stop it: moai-ralph daemon stop",
                );
                let _ = write_reply(&mut stream, &daemon_reply(reply, false)).await;
                return;
            }
        };
        call.caller.process = process;
        // Anything can connect and claim to have been started by a host.
        call.caller.input_maker =
            call.caller.input_maker.filter(|_| process.is_some_and(callers::runs_this_program));
        let is_hook = matches!(call.request, DaemonRequest::Hook { .. });
        let _command = if is_hook { None } else { self.commands.acquire().await.ok() };
        let Ok(_permit) = self.connections.acquire().await else { return };
        if self.is_stale() || call.protocol != PROTOCOL_VERSION {
            let _ = write_reply(&mut stream, &daemon_reply(CommandReply::default(), true)).await;
            self.stop.notify_one();
            return;
        }
        if matches!(call.request, DaemonRequest::DaemonStop) {
            let _ = write_reply(
                &mut stream,
                &daemon_reply(CommandReply::success("stopping\n".into()), false),
            )
            .await;
            self.stop.notify_one();
            return;
        }
        let started = Instant::now();
        let name = request_name(&call.request);
        let is_stop = is_stop(&call.request);
        let outcome = tokio::select! {
            outcome = self.engine.handle(call.caller, call.request) => outcome,
            // The host kills the hook when the user interrupts the turn. Only Stops are dropped:
            // results of other requests are kept for the next client.
            () = wait_for_disconnect(&mut stream), if is_stop => {
                tracing::info!(request = name, "dropped, because its hook is gone");
                return;
            }
        };
        let elapsed_ms = started.elapsed().as_millis();
        tracing::info!(request = name, elapsed_ms, code = outcome.reply.code, "answered");
        let reply = outcome.reply.clone();
        if write_reply(&mut stream, &daemon_reply(reply, false)).await.is_err() {
            tracing::info!(request = name, "the caller disconnected before the reply");
            self.engine.requeue_undelivered(outcome);
            return;
        }
        self.engine.note_delivered(outcome);
        // The client closes the connection after reading; until then it counts as use.
        let _ = tokio::time::timeout(
            Duration::from_millis(DAEMON_DRAIN_MS_MAX),
            wait_for_disconnect(&mut stream),
        )
        .await;
    }

    /// True if this daemon must not take new work.
    fn is_stale(&self) -> bool {
        let replaced = self.program.as_ref().is_some_and(|program| !program.is_in_place());
        replaced || self.is_draining.load(Ordering::Relaxed)
    }

    /// Waits a bounded time for running requests, then stops the language servers.
    async fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        let all = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
        let quiet = self.connections.acquire_many(all);
        let bound = Duration::from_millis(DAEMON_DRAIN_MS_MAX);
        if tokio::time::timeout(bound, quiet).await.is_err() {
            tracing::warn!("requests were still running at the end of the drain");
        }
        self.engine.stop().await;
    }
}

fn daemon_reply(reply: CommandReply, stale: bool) -> DaemonReply {
    DaemonReply { protocol: PROTOCOL_VERSION, pid: std::process::id(), stale, reply }
}

fn is_stop(request: &DaemonRequest) -> bool {
    matches!(request, DaemonRequest::Hook { event, .. } if HookEvent::from_name(event) == Some(HookEvent::Stop))
}

/// The request's name for the log, without its content.
fn request_name(request: &DaemonRequest) -> String {
    match request {
        DaemonRequest::Hook { event, .. } => format!("hook {event}"),
        DaemonRequest::Check(_) => "check".to_owned(),
        DaemonRequest::Scan(_) => "scan".to_owned(),
        DaemonRequest::ScanTest(_) => "scan test".to_owned(),
        DaemonRequest::Guard(_) => "guard".to_owned(),
        DaemonRequest::GuardAllow(_) => "guard allow".to_owned(),
        DaemonRequest::References(_) => "references".to_owned(),
        DaemonRequest::Definition(_) => "definition".to_owned(),
        DaemonRequest::Hover(_) => "hover".to_owned(),
        DaemonRequest::Symbols(_) => "symbols".to_owned(),
        DaemonRequest::Rename(_) => "rename".to_owned(),
        DaemonRequest::Search(_) => "search".to_owned(),
        DaemonRequest::Rewrite(_) => "rewrite".to_owned(),
        DaemonRequest::Judge(_) => "judge".to_owned(),
        DaemonRequest::LoopStart(_) => "loop start".to_owned(),
        DaemonRequest::LoopStatus(_) => "loop status".to_owned(),
        DaemonRequest::LoopCancel(_) => "loop cancel".to_owned(),
        DaemonRequest::LoopPause(_) => "loop pause".to_owned(),
        DaemonRequest::LoopResume(_) => "loop resume".to_owned(),
        DaemonRequest::LoopHistory(_) => "loop history".to_owned(),
        DaemonRequest::LoopReport(_) => "loop report".to_owned(),
        DaemonRequest::LoopChecks { .. } => "loop checks".to_owned(),
        DaemonRequest::LoopAdopt(_) => "loop adopt".to_owned(),
        DaemonRequest::LoopForget(_) => "loop forget".to_owned(),
        DaemonRequest::LoopRefreeze(_) => "loop refreeze".to_owned(),
        DaemonRequest::LoopRestore(_) => "loop restore".to_owned(),
        DaemonRequest::Memory(_) => "memory".to_owned(),
        DaemonRequest::Spec(_) => "spec".to_owned(),
        DaemonRequest::Pipeline(_) => "pipeline".to_owned(),
        DaemonRequest::Doctor(_) => "doctor".to_owned(),
        DaemonRequest::Config(_) => "config".to_owned(),
        DaemonRequest::Trust(_) => "trust".to_owned(),
        DaemonRequest::McpTools => "mcp tools".to_owned(),
        DaemonRequest::ServerList { .. } => "server list".to_owned(),
        DaemonRequest::ServerStart { .. } => "server start".to_owned(),
        DaemonRequest::ServerStop(_) => "server stop".to_owned(),
        DaemonRequest::ServerRestart(_) => "server restart".to_owned(),
        DaemonRequest::ServerLogs(_) => "server logs".to_owned(),
        DaemonRequest::DaemonStatus { .. } => "daemon status".to_owned(),
        DaemonRequest::DaemonStop => "daemon stop".to_owned(),
    }
}

fn signal(kind: tokio::signal::unix::SignalKind) -> Option<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(kind).ok()
}

async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The program file this process was started from. A daemon whose file was replaced by a newer
/// build stops at the next call.
struct ProgramIdentity {
    path: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
}

impl ProgramIdentity {
    fn current() -> Option<Self> {
        Self::from_file(std::env::current_exe().ok()?)
    }

    fn from_file(path: PathBuf) -> Option<Self> {
        let meta = path.metadata().ok()?;
        Some(Self { modified: meta.modified().ok(), bytes: meta.len(), path })
    }

    fn is_in_place(&self) -> bool {
        let now = Self::from_file(self.path.clone());
        // A deleted file is not a newer program, so this daemon continues.
        now.is_none_or(|now| (now.modified, now.bytes) == (self.modified, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_program_file_is_noticed_and_a_missing_one_is_not_newer() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        std::fs::write(&path, "old").expect("written");
        let identity = ProgramIdentity::from_file(path.clone()).expect("there");
        assert!(identity.is_in_place());
        std::fs::write(&path, "newer").expect("written");
        assert!(!identity.is_in_place());
        std::fs::remove_file(&path).expect("removed");
        assert!(identity.is_in_place());
    }
}
