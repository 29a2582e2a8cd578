//! `daemon run|status|stop`.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

use super::args::DaemonCommand;
use super::{INVALID, door};
use crate::daemon::lifecycle::{self, Start};
use crate::ipc::Places;
use crate::ipc::door::{NoAnswer, Patience, call, wait_until_gone};
use crate::wire::control::{Call, PROTOCOL, Reply, Request};

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(command: &DaemonCommand, json: bool) -> Reply {
    let caller = match door::caller(None) {
        Ok(caller) => caller,
        Err(error) => return Reply::failed(INVALID, &format!("moai-ralph: {error}")),
    };
    let Some(places) = Places::from_env(&caller.env) else {
        return Reply::failed(INVALID, "moai-ralph: HOME is not set; set HOME or MOAI_RALPH_HOME");
    };
    let request = match command {
        DaemonCommand::Run { detach } => return serve(places, *detach),
        DaemonCommand::Status => Request::DaemonStatus { json },
        DaemonCommand::Stop => Request::DaemonStop,
    };
    let is_stop = matches!(request, Request::DaemonStop);
    match call(&places, &Call { protocol: PROTOCOL, caller, request }, Patience::of(PATIENCE)) {
        Err(NoAnswer::NoDaemon) if is_stop && wait_until_gone(&places) => {
            Reply::done("no daemon is running\n".to_owned())
        }
        Ok(_) | Err(NoAnswer::NoDaemon | NoAnswer::Ended) if is_stop => stopped(&places),
        Ok(answer) if answer.stale => {
            Reply::done("the daemon of an older program is ending\n".to_owned())
        }
        Ok(answer) => answer.reply,
        Err(NoAnswer::NoDaemon) if json => {
            let status = json!({"schema": "moai-ralph/daemon@1", "running": false});
            Reply::done(format!("{status:#}\n"))
        }
        Err(NoAnswer::NoDaemon) => Reply::done("no daemon is running\n".to_owned()),
        Err(error) => Reply::failed(1, &format!("moai-ralph: {error}")),
    }
}

/// One that was just told to stop, or that another call told before, is gone when this returns.
fn stopped(places: &Places) -> Reply {
    if wait_until_gone(places) {
        Reply::done("the daemon has ended\n".to_owned())
    } else {
        Reply::failed(1, "moai-ralph: the daemon is still ending its work")
    }
}

fn serve(places: Places, detach: bool) -> Reply {
    if detach {
        // Fails when this process already leads a session, which is just as well.
        let _ = rustix::process::setsid();
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Reply::failed(1, &format!("moai-ralph: {error}")),
    };
    // On a worker and not on this thread: a connection is then accepted where it is served, and a
    // hook waits for one thread less.
    let life = runtime.spawn(lifecycle::run(places, |start| {
        let line = match start {
            Start::Ready(socket) => {
                format!("ready: pid {}, socket {}\n", std::process::id(), socket.display())
            }
            // Whoever asked for a daemon has one.
            Start::AlreadyRunning => "ready: already running\n".to_owned(),
        };
        // The starter may have gone away; the daemon serves others all the same.
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush());
    }));
    let outcome = runtime.block_on(life).unwrap_or_else(|error| Err(error.to_string()));
    runtime.shutdown_timeout(Duration::from_millis(200));
    match outcome {
        Ok(()) => Reply::default(),
        Err(error) => {
            // On stdout, too: that is where a starter listens.
            Reply {
                stdout: format!("{error}\n"),
                ..Reply::failed(1, &format!("moai-ralph: {error}"))
            }
        }
    }
}
