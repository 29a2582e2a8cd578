//! Sends requests to a handler: in the daemon, started on demand, or in an engine in this process.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::signal::unix::{SignalKind, signal};

use super::{INTERRUPTED, INVALID, current_program};
use moai_base::limits::{
    COMMAND_SECS_MAX, PROCESS_START_PRECISION_MS, RUNTIME_STACK_BYTES, SILENCE_MS,
};
use moai_base::verdict::Gap;
use moai_config::Config;
use moai_engine::engine::Engine;
use moai_host::callers::{input_maker, own_process};
use moai_host::files;
use moai_host::ipc::client::{self, AfterSilence, CallError, CallTimeout};
use moai_host::ipc::{StateDirs, process_environment};
use moai_protocol::control::{
    CallerContext, CommandReply, DaemonCall, DaemonRequest, PROTOCOL_VERSION,
};

/// Without HOME, state and socket have no folder.
pub(super) const NO_HOME: &str = "moai-ralph: HOME is not set; set HOME or MOAI_RALPH_HOME";

/// Milliseconds since the epoch.
pub(super) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// A unique id; a call that is repeated because its answer was lost keeps it.
pub(super) fn new_call_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// Start time of this process in milliseconds since the epoch, up to 20 ms late and never early.
/// `None` without `/proc`.
pub(super) fn process_start_ms() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // proc(5): the name in parentheses may contain anything; the start time is field 22.
    let started: u64 = stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()?;
    let started_ms = started * 1_000 / rustix::param::clock_ticks_per_second();
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let (secs, hundredths) = uptime.split(' ').next()?.split_once('.')?;
    let up_ms = secs.parse::<u64>().ok()? * 1_000 + hundredths.parse::<u64>().ok()? * 10;
    let age_ms = up_ms.saturating_sub(started_ms + PROCESS_START_PRECISION_MS);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(now.as_millis()).ok()?.checked_sub(age_ms)
}

/// Sends a request; failures become an error reply.
pub(super) fn send_request(
    root: Option<&Path>,
    request: DaemonRequest,
    no_daemon: bool,
) -> CommandReply {
    match current_caller(root) {
        Ok(caller) => send_request_as(caller, request, no_daemon),
        Err(error) => CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    }
}

fn send_request_as(
    caller: CallerContext,
    mut request: DaemonRequest,
    no_daemon: bool,
) -> CommandReply {
    if let DaemonRequest::LoopStart(start) = &mut request {
        start.call = new_call_id();
    }
    let Some(dirs) = StateDirs::from_env(&caller.env) else {
        return CommandReply::failure(INVALID, NO_HOME);
    };
    if no_daemon {
        return in_process(&dirs, caller, request, None, "");
    }
    let call = DaemonCall { protocol: PROTOCOL_VERSION, caller, request };
    let check = || client::after_silence(&dirs);
    match through_daemon(&dirs, &call, command_timeout(&check)) {
        Ok(reply) => reply,
        // The daemon has the request; handling it here too would do it twice.
        Err(
            error @ (CallError::TimedOut(_) | CallError::Abandoned(_) | CallError::DaemonEnded),
        ) => CommandReply::failure(1, &format!("moai-ralph: {error}")),
        Err(error) => {
            let note = format!("moai-ralph: {error}; working without a daemon\n");
            in_process(&dirs, call.caller, call.request, None, &note)
        }
    }
}

fn command_timeout(after_silence: &dyn Fn() -> AfterSilence) -> CallTimeout<'_> {
    CallTimeout {
        limit: Duration::from_secs(COMMAND_SECS_MAX),
        silence_check: Some((Duration::from_millis(SILENCE_MS), after_silence)),
    }
}

/// Handles a request in this process, with a concurrent observer of the engine that is dropped when
/// the work is done.
pub(super) fn run_in_process_observed(
    root: Option<&Path>,
    request: DaemonRequest,
    observer: impl AsyncFnOnce(&Engine) -> Infallible,
) -> CommandReply {
    let caller = match current_caller(root) {
        Ok(caller) => caller,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    match StateDirs::from_env(&caller.env) {
        Some(dirs) => run_with_observer(&dirs, caller, request, None, observer),
        None => CommandReply::failure(INVALID, NO_HOME),
    }
}

/// Like [`send_request`], for an agent's tool: the daemon refuses a tool that is switched off, and
/// the reply carries a document.
pub(super) fn send_tool_request(
    root: Option<&Path>,
    request: DaemonRequest,
    tool: Option<&str>,
) -> CommandReply {
    let tool = tool.map(str::to_owned);
    match current_caller(root) {
        Ok(caller) => send_request_as(CallerContext { tool, ..caller }, request, false),
        Err(error) => CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    }
}

/// Asks the running daemon without starting one; without a daemon, an empty engine in this process
/// answers.
pub(super) fn send_to_running_daemon(root: Option<&Path>, request: DaemonRequest) -> CommandReply {
    let caller = match current_caller(root) {
        Ok(caller) => caller,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let Some(dirs) = StateDirs::from_env(&caller.env) else {
        return CommandReply::failure(INVALID, NO_HOME);
    };
    let call = DaemonCall { protocol: PROTOCOL_VERSION, caller, request };
    let check = || client::after_silence(&dirs);
    match client::call_daemon(&dirs, &call, command_timeout(&check)) {
        Ok(answer) if !answer.stale => answer.reply,
        // A daemon that is shutting down or hangs has no servers of use.
        Ok(_) | Err(CallError::NoDaemon | CallError::Unresponsive(_)) => {
            in_process(&dirs, call.caller, call.request, None, "")
        }
        Err(error) => CommandReply::failure(1, &format!("moai-ralph: {error}")),
    }
}

/// Calls the daemon; starts it if none is running.
pub(super) fn through_daemon(
    dirs: &StateDirs,
    call: &DaemonCall,
    timeout: CallTimeout<'_>,
) -> Result<CommandReply, CallError> {
    create_socket_dir(dirs).map_err(CallError::Unusable)?;
    let program = current_program().map_err(|error| CallError::Unusable(error.to_string()))?;
    Ok(client::call_or_start_daemon(dirs, &program, call, timeout)?.reply)
}

/// Creates the folder for socket and locks, private to this user.
pub(super) fn create_socket_dir(dirs: &StateDirs) -> Result<(), String> {
    files::private_dir(&dirs.socket_folder)
        .map_err(|error| format!("{}: {error}", dirs.socket_folder.display()))
}

/// Handles the request in this process. The language servers end with it, on an interrupt too.
pub(super) fn in_process(
    dirs: &StateDirs,
    caller: CallerContext,
    request: DaemonRequest,
    lsp_gap: Option<Gap>,
    note: &str,
) -> CommandReply {
    let no_observer = async |_: &Engine| std::future::pending::<Infallible>().await;
    let mut reply = run_with_observer(dirs, caller, request, lsp_gap, no_observer);
    reply.stderr.insert_str(0, note);
    reply
}

fn run_with_observer(
    dirs: &StateDirs,
    caller: CallerContext,
    request: DaemonRequest,
    lsp_gap: Option<Gap>,
    observer: impl AsyncFnOnce(&Engine) -> Infallible,
) -> CommandReply {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(RUNTIME_STACK_BYTES)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return CommandReply::failure(1, &format!("moai-ralph: {error}")),
    };
    let reply = runtime.block_on(async {
        let engine = Engine::start(dirs.clone(), &Config::default(), lsp_gap);
        let reply = tokio::select! {
            outcome = engine.handle(caller, request) => {
                let reply = outcome.reply.clone();
                engine.note_delivered(outcome);
                reply
            }
            never = observer(&engine) => match never {},
            () = wait_for_signal() => CommandReply::failure(INTERRUPTED, "moai-ralph: interrupted"),
        };
        engine.stop().await;
        reply
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    reply
}

/// Returns on a termination signal, so that everything this process started can be stopped.
async fn wait_for_signal() {
    let wait = async |kind| match signal(kind) {
        Ok(mut signal) => signal.recv().await,
        // The signal then keeps its default action.
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        _ = wait(SignalKind::interrupt()) => {}
        _ = wait(SignalKind::terminate()) => {}
        _ = wait(SignalKind::hangup()) => {}
    }
}

/// The caller's context: working directory, root and environment.
pub(super) fn current_caller(root: Option<&Path>) -> Result<CallerContext, String> {
    let cwd = std::env::current_dir().map_err(|error| format!("working directory: {error}"))?;
    caller_in(cwd, root)
}

/// Context for a hook: the working directory may have been deleted, and the host reports the project itself.
pub(super) fn hook_caller() -> Result<CallerContext, String> {
    let caller = caller_in(std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")), None)?;
    Ok(CallerContext { input_maker: input_maker(), ..caller })
}

fn caller_in(cwd: PathBuf, root: Option<&Path>) -> Result<CallerContext, String> {
    let root = match root {
        None => None,
        Some(root) if cwd.join(root).is_dir() => Some(cwd.join(root)),
        Some(root) => return Err(format!("--root {}: not a directory", root.display())),
    };
    Ok(CallerContext {
        cwd,
        root,
        env: process_environment(),
        process: Some(own_process()),
        input_maker: None,
        tool: None,
    })
}
