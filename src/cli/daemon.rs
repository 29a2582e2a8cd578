//! `daemon run|status|stop`.

use std::io::Write as _;
use std::time::Duration;

use super::args::DaemonCommand;
use super::{INVALID, client};
use moai_base::limits::RUNTIME_STACK_BYTES;
use moai_engine::lifecycle::{self, DaemonStart};
use moai_host::ipc::StateDirs;
use moai_host::ipc::client::{
    CallError, CallTimeout, call_daemon, continue_stopped_daemon, is_daemon_alive, kill_daemon,
    wait_until_stopped,
};
use moai_protocol::control::{CommandReply, DaemonCall, DaemonRequest, PROTOCOL_VERSION};
use moai_protocol::documents::json_text;
use moai_protocol::documents::servers::DaemonDocument;

const CONTROL_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn run(command: &DaemonCommand, json: bool) -> CommandReply {
    let caller = match client::current_caller(None) {
        Ok(caller) => caller,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let Some(dirs) = StateDirs::from_env(&caller.env) else {
        return CommandReply::failure(
            INVALID,
            "moai-ralph: HOME is not set; set HOME or MOAI_RALPH_HOME",
        );
    };
    let request = match command {
        DaemonCommand::Run { detach } => return serve(dirs, *detach),
        DaemonCommand::Status => DaemonRequest::DaemonStatus { json },
        DaemonCommand::Stop => DaemonRequest::DaemonStop,
    };
    let is_stop = matches!(request, DaemonRequest::DaemonStop);
    continue_stopped_daemon(&dirs);
    match call_daemon(
        &dirs,
        &DaemonCall { protocol: PROTOCOL_VERSION, caller, request },
        CallTimeout::new(CONTROL_TIMEOUT),
    ) {
        Err(CallError::NoDaemon) if is_stop && wait_until_stopped(&dirs) => {
            not_running("no daemon is running\n", json)
        }
        Ok(_) | Err(CallError::NoDaemon | CallError::DaemonEnded) if is_stop => {
            stop_daemon(&dirs, json)
        }
        Err(CallError::TimedOut(_)) if is_stop && kill_daemon(&dirs) => {
            not_running("the daemon did not answer and was killed\n", json)
        }
        Ok(answer) if answer.stale => {
            CommandReply::success("the daemon of an older version is shutting down\n".to_owned())
        }
        Ok(answer) => answer.reply,
        Err(CallError::NoDaemon) => not_running("no daemon is running\n", json),
        Err(error) => CommandReply::failure(1, &format!("moai-ralph: {error}")),
    }
}

/// The answer when no daemon runs, or no longer.
fn not_running(text: &str, json: bool) -> CommandReply {
    let document = DaemonDocument { running: false, daemon: None };
    CommandReply::success(if json { json_text(&document) } else { text.to_owned() })
}

/// Waits until a daemon that is stopping, because of this or another call, has ended.
fn stop_daemon(dirs: &StateDirs, json: bool) -> CommandReply {
    if wait_until_stopped(dirs) {
        not_running("the daemon has stopped\n", json)
    } else if !is_daemon_alive(dirs, CONTROL_TIMEOUT) && kill_daemon(dirs) {
        not_running("the daemon did not end and was killed\n", json)
    } else {
        CommandReply::failure(1, "moai-ralph: the daemon is still finishing its work")
    }
}

fn serve(dirs: StateDirs, detach: bool) -> CommandReply {
    if detach {
        // Fails if this process already leads a session, which is fine.
        let _ = rustix::process::setsid();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(RUNTIME_STACK_BYTES)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return CommandReply::failure(1, &format!("moai-ralph: {error}")),
    };
    // Runs on a worker thread, so that connections are accepted on the thread that serves them,
    // which saves each hook call a thread switch.
    let life = runtime.spawn(lifecycle::run_daemon(dirs, |start| {
        let line = match start {
            DaemonStart::Ready(socket) => {
                format!("ready: pid {}, socket {}\n", std::process::id(), socket.display())
            }
            // The caller has a daemon either way.
            DaemonStart::AlreadyRunning => "ready: already running\n".to_owned(),
        };
        // The starting process may have ended; the daemon serves other processes.
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush());
    }));
    let outcome = runtime.block_on(life).unwrap_or_else(|error| Err(error.to_string()));
    runtime.shutdown_timeout(Duration::from_millis(200));
    match outcome {
        Ok(()) => CommandReply::default(),
        Err(error) => {
            // On stdout too, because the starting process reads it.
            CommandReply {
                stdout: format!("{error}\n"),
                ..CommandReply::failure(1, &format!("moai-ralph: {error}"))
            }
        }
    }
}
