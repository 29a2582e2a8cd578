//! How a command reaches a handler: the daemon, started on demand, or an engine in this process.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::signal::unix::{SignalKind, signal};

use super::{INTERRUPTED, INVALID, current_program};
use crate::base::limits::{BEGUN_MS_EXACT, COMMAND_SECS_MAX};
use crate::base::verdict::Gap;
use crate::config::Config;
use crate::daemon::engine::Engine;
use crate::files;
use crate::ipc::client::{self, CallError, CallTimeout};
use crate::ipc::{StateDirs, process_environment};
use crate::wire::control::{
    CallerContext, CommandReply, DaemonCall, DaemonRequest, PROTOCOL_VERSION,
};

/// Without a home there is no place for anything.
const NO_HOME: &str = "moai-ralph: HOME is not set; set HOME or MOAI_RALPH_HOME";

/// Tells a call apart from every other one; made again after its answer was lost, it keeps it.
pub(super) fn new_call_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// When this process began, in milliseconds since the epoch; some 20 ms too late rather than too
/// early. `None` where there is no `/proc`.
pub(super) fn process_start_ms() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name stands in parentheses and may hold anything; the start is field 22.
    let started: u64 = stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()?;
    let started_ms = started * 1_000 / rustix::param::clock_ticks_per_second();
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let (secs, hundredths) = uptime.split(' ').next()?.split_once('.')?;
    let up_ms = secs.parse::<u64>().ok()? * 1_000 + hundredths.parse::<u64>().ok()? * 10;
    let age_ms = up_ms.saturating_sub(started_ms + BEGUN_MS_EXACT);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(now.as_millis()).ok()?.checked_sub(age_ms)
}

/// Asks for an answer and words what stands in the way of it.
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
    let Some(places) = StateDirs::from_env(&caller.env) else {
        return CommandReply::failure(INVALID, NO_HOME);
    };
    if no_daemon {
        return in_process(&places, caller, request, None, "");
    }
    let call = DaemonCall { protocol: PROTOCOL_VERSION, caller, request };
    match through_daemon(&places, &call, CallTimeout::new(Duration::from_secs(COMMAND_SECS_MAX))) {
        Ok(reply) => reply,
        // It has the request: doing it here as well would do it twice.
        Err(
            error @ (CallError::TimedOut(_) | CallError::Abandoned(_) | CallError::DaemonEnded),
        ) => CommandReply::failure(1, &format!("moai-ralph: {error}")),
        Err(error) => {
            let note = format!("moai-ralph: {error}; working without a daemon\n");
            in_process(&places, call.caller, call.request, None, &note)
        }
    }
}

/// Works in this process, beside something that looks at the engine until the work is done.
pub(super) fn run_in_process_watched(
    root: Option<&Path>,
    request: DaemonRequest,
    beside: impl AsyncFnOnce(&Engine) -> Infallible,
) -> CommandReply {
    let caller = match current_caller(root) {
        Ok(caller) => caller,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    match StateDirs::from_env(&caller.env) {
        Some(places) => run_with_watcher(&places, caller, request, None, beside),
        None => CommandReply::failure(INVALID, NO_HOME),
    }
}

/// The same for a tool of an agent: the reply carries a document.
pub(super) fn send_tool_request(root: Option<&Path>, request: DaemonRequest) -> CommandReply {
    match current_caller(root) {
        Ok(caller) => send_request_as(CallerContext { is_tool: true, ..caller }, request, false),
        Err(error) => CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    }
}

/// Asks the daemon that runs. Where none does, the answer is that of an engine without anything,
/// and none is started for it.
pub(super) fn send_to_running_daemon(root: Option<&Path>, request: DaemonRequest) -> CommandReply {
    let caller = match current_caller(root) {
        Ok(caller) => caller,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let Some(places) = StateDirs::from_env(&caller.env) else {
        return CommandReply::failure(INVALID, NO_HOME);
    };
    let call = DaemonCall { protocol: PROTOCOL_VERSION, caller, request };
    match client::call_daemon(
        &places,
        &call,
        CallTimeout::new(Duration::from_secs(COMMAND_SECS_MAX)),
    ) {
        Ok(answer) if !answer.stale => answer.reply,
        // One that is ending has no servers any more.
        Ok(_) | Err(CallError::NoDaemon) => {
            in_process(&places, call.caller, call.request, None, "")
        }
        Err(error) => CommandReply::failure(1, &format!("moai-ralph: {error}")),
    }
}

/// One call to the daemon, which is started when there is none.
pub(super) fn through_daemon(
    places: &StateDirs,
    call: &DaemonCall,
    patience: CallTimeout<'_>,
) -> Result<CommandReply, CallError> {
    create_socket_dir(places).map_err(CallError::Unusable)?;
    let program = current_program().map_err(|error| CallError::Unusable(error.to_string()))?;
    Ok(client::call_or_start_daemon(places, &program, call, patience)?.reply)
}

/// Makes the folder of socket and locks, private to this user.
pub(super) fn create_socket_dir(places: &StateDirs) -> Result<(), String> {
    files::private_dir(&places.socket_folder)
        .map_err(|error| format!("{}: {error}", places.socket_folder.display()))
}

/// The same handlers in this process; its language servers end with it. An interrupt ends them,
/// too.
pub(super) fn in_process(
    places: &StateDirs,
    caller: CallerContext,
    request: DaemonRequest,
    lsp_gap: Option<Gap>,
    note: &str,
) -> CommandReply {
    let nothing = async |_: &Engine| std::future::pending::<Infallible>().await;
    let mut reply = run_with_watcher(places, caller, request, lsp_gap, nothing);
    reply.stderr.insert_str(0, note);
    reply
}

fn run_with_watcher(
    places: &StateDirs,
    caller: CallerContext,
    request: DaemonRequest,
    lsp_gap: Option<Gap>,
    beside: impl AsyncFnOnce(&Engine) -> Infallible,
) -> CommandReply {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return CommandReply::failure(1, &format!("moai-ralph: {error}")),
    };
    let reply = runtime.block_on(async {
        let engine = Engine::start(places.clone(), &Config::default(), lsp_gap);
        let reply = tokio::select! {
            outcome = engine.handle(caller, request) => outcome.reply,
            never = beside(&engine) => match never {},
            () = wait_for_signal() => CommandReply::failure(INTERRUPTED, "moai-ralph: interrupted"),
        };
        engine.stop().await;
        reply
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    reply
}

/// Returns when this process is told to end, by whom ever: what it started ends with it.
async fn wait_for_signal() {
    let wait = async |kind| match signal(kind) {
        Ok(mut signal) => signal.recv().await,
        // Then the signal does what it always does.
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        _ = wait(SignalKind::interrupt()) => {}
        _ = wait(SignalKind::terminate()) => {}
        _ = wait(SignalKind::hangup()) => {}
    }
}

/// This process's surroundings.
pub(super) fn current_caller(root: Option<&Path>) -> Result<CallerContext, String> {
    let cwd = std::env::current_dir().map_err(|error| format!("working directory: {error}"))?;
    caller_in(cwd, root)
}

/// The same for a hook: the host may stand in a folder that is gone, and names the project itself.
pub(super) fn hook_caller() -> Result<CallerContext, String> {
    caller_in(std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")), None)
}

fn caller_in(cwd: PathBuf, root: Option<&Path>) -> Result<CallerContext, String> {
    let root = match root {
        None => None,
        Some(root) if cwd.join(root).is_dir() => Some(cwd.join(root)),
        Some(root) => return Err(format!("--root {}: not a directory", root.display())),
    };
    Ok(CallerContext { cwd, root, env: process_environment(), is_tool: false })
}
