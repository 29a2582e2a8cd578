//! The daemon's life: lock and socket, serving, idle end, drain.
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

use super::engine::Engine;
use super::{log, project};
use crate::base::limits::{CONNECTIONS_MAX, DAEMON_DRAIN_MS_MAX};
use crate::files;
use crate::ipc::listen::{Listening, gone, read_call, write_answer};
use crate::ipc::{Places, environment};
use crate::lsp::registry::Catalogue;
use crate::wire::control::{Answer, PROTOCOL, Reply, Request};
use crate::wire::hook::Event;

/// How a daemon's start went.
#[derive(Debug, PartialEq, Eq)]
pub enum Start {
    /// It listens; said before the first connection is served.
    Ready(PathBuf),
    /// Another one holds the lock.
    AlreadyRunning,
}

struct Daemon {
    engine: Arc<Engine>,
    program: Option<Identity>,
    stop: Notify,
    is_draining: AtomicBool,
    connections: Semaphore,
}

/// Serves until it is told to stop, has been idle, or its program file was replaced. `tell` is
/// called once, when it is known how the start went. Needs a tokio runtime.
pub async fn run(places: Places, tell: impl FnOnce(&Start)) -> Result<(), String> {
    for folder in [&places.state, &places.socket_folder, &places.logs()] {
        files::private_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let options =
        project::options(&places.user_config, None, &environment(), Catalogue::built_in())
            .unwrap_or_default();
    let listening = match Listening::try_start(&places) {
        Ok(Some(listening)) => listening,
        Ok(None) => {
            tell(&Start::AlreadyRunning);
            return Ok(());
        }
        Err(error) => return Err(format!("{}: {error}", places.socket().display())),
    };
    log::to_file(&places.logs(), "daemon.log");
    let daemon = Arc::new(Daemon {
        engine: Engine::start(places.clone(), &options, None),
        program: Identity::of_this_program(),
        stop: Notify::new(),
        is_draining: AtomicBool::new(false),
        connections: Semaphore::new(CONNECTIONS_MAX),
    });
    tracing::info!(pid = std::process::id(), version = env!("CARGO_PKG_VERSION"), "listening");
    tell(&Start::Ready(places.socket()));
    daemon.serve(&listening, options.daemon_idle).await;
    let lock = listening.close();
    daemon.drain().await;
    drop(lock);
    tracing::info!("ended");
    Ok(())
}

impl Daemon {
    async fn serve(self: &Arc<Self>, listening: &Listening, idle: Duration) {
        let mut last_use = Instant::now();
        let mut look =
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
                _ = look.tick() => {
                    let is_busy = self.engine.job_count() > 0
                        || self.connections.available_permits() < CONNECTIONS_MAX;
                    if !listening.is_in_place() {
                        tracing::warn!("the socket is gone or another's");
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
        let Ok(_permit) = self.connections.acquire().await else { return };
        let call = match read_call(&mut stream).await {
            Ok(call) => call,
            Err(error) => {
                tracing::warn!(%error, "a call could not be read");
                let reply = Reply::failed(
                    1,
                    "moai-ralph: the daemon is of another build: moai-ralph daemon stop",
                );
                let _ = write_answer(&mut stream, &answer(reply, false)).await;
                return;
            }
        };
        if self.is_stale() || call.protocol != PROTOCOL {
            let _ = write_answer(&mut stream, &answer(Reply::default(), true)).await;
            self.stop.notify_one();
            return;
        }
        if matches!(call.request, Request::DaemonStop) {
            let _ =
                write_answer(&mut stream, &answer(Reply::done("stopping\n".into()), false)).await;
            self.stop.notify_one();
            return;
        }
        let begun = Instant::now();
        let name = name(&call.request);
        let is_stop = is_stop(&call.request);
        let outcome = tokio::select! {
            outcome = self.engine.handle(call.caller, call.request) => outcome,
            // The host ends the hook when the user breaks the turn off. Other work goes on: its
            // verdicts are kept for the next front door.
            () = gone(&mut stream), if is_stop => {
                tracing::info!(request = name, "dropped, because its hook is gone");
                return;
            }
        };
        let elapsed_ms = begun.elapsed().as_millis();
        tracing::info!(request = name, elapsed_ms, code = outcome.reply.code, "answered");
        let reply = outcome.reply.clone();
        if write_answer(&mut stream, &answer(reply, false)).await.is_err() {
            tracing::info!(request = name, "nobody read the answer");
            self.engine.not_told(outcome);
            return;
        }
        // Closed by the front door once it has read: until then this connection counts as use.
        let _ = tokio::time::timeout(Duration::from_millis(DAEMON_DRAIN_MS_MAX), gone(&mut stream))
            .await;
    }

    /// Whether this daemon must not take new work.
    fn is_stale(&self) -> bool {
        let replaced = self.program.as_ref().is_some_and(|program| !program.is_in_place());
        replaced || self.is_draining.load(Ordering::Relaxed)
    }

    /// Running requests get a bounded time, then the language servers end.
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

fn answer(reply: Reply, stale: bool) -> Answer {
    Answer { protocol: PROTOCOL, pid: std::process::id(), stale, reply }
}

fn is_stop(request: &Request) -> bool {
    matches!(request, Request::Hook { event, .. } if Event::from_name(event) == Some(Event::Stop))
}

/// For the log: never the content.
fn name(request: &Request) -> String {
    match request {
        Request::Hook { event, .. } => format!("hook {event}"),
        Request::Check(_) => "check".to_owned(),
        Request::Scan(_) => "scan".to_owned(),
        Request::ScanTest(_) => "scan test".to_owned(),
        Request::Guard(_) => "guard".to_owned(),
        Request::GuardAllow(_) => "guard allow".to_owned(),
        Request::References(_) => "references".to_owned(),
        Request::Definition(_) => "definition".to_owned(),
        Request::Hover(_) => "hover".to_owned(),
        Request::Symbols(_) => "symbols".to_owned(),
        Request::Rename(_) => "rename".to_owned(),
        Request::Search(_) => "search".to_owned(),
        Request::Rewrite(_) => "rewrite".to_owned(),
        Request::Judge(_) => "judge".to_owned(),
        Request::LoopStart(_) => "loop start".to_owned(),
        Request::LoopStatus(_) => "loop status".to_owned(),
        Request::LoopCancel(_) => "loop cancel".to_owned(),
        Request::LoopPause(_) => "loop pause".to_owned(),
        Request::LoopResume(_) => "loop resume".to_owned(),
        Request::LoopHistory(_) => "loop history".to_owned(),
        Request::LoopReport(_) => "loop report".to_owned(),
        Request::LoopChecks { .. } => "loop checks".to_owned(),
        Request::LoopAdopt(_) => "loop adopt".to_owned(),
        Request::LoopForget(_) => "loop forget".to_owned(),
        Request::LoopRefreeze(_) => "loop refreeze".to_owned(),
        Request::LoopRestore(_) => "loop restore".to_owned(),
        Request::Doctor(_) => "doctor".to_owned(),
        Request::McpTools => "mcp tools".to_owned(),
        Request::ServerList { .. } => "server list".to_owned(),
        Request::ServerStart { .. } => "server start".to_owned(),
        Request::ServerStop(_) => "server stop".to_owned(),
        Request::ServerRestart(_) => "server restart".to_owned(),
        Request::ServerLogs(_) => "server logs".to_owned(),
        Request::DaemonStatus { .. } => "daemon status".to_owned(),
        Request::DaemonStop => "daemon stop".to_owned(),
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
/// build gives way to it at the next call.
struct Identity {
    path: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
}

impl Identity {
    fn of_this_program() -> Option<Self> {
        Self::of(std::env::current_exe().ok()?)
    }

    fn of(path: PathBuf) -> Option<Self> {
        let meta = path.metadata().ok()?;
        Some(Self { modified: meta.modified().ok(), bytes: meta.len(), path })
    }

    fn is_in_place(&self) -> bool {
        let now = Self::of(self.path.clone());
        // A file that is gone is no newer program: this one goes on.
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
        let identity = Identity::of(path.clone()).expect("there");
        assert!(identity.is_in_place());
        std::fs::write(&path, "newer").expect("written");
        assert!(!identity.is_in_place());
        std::fs::remove_file(&path).expect("removed");
        assert!(identity.is_in_place());
    }
}
