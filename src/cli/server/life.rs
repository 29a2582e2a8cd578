//! `server list|start|stop|restart|logs`: asks the daemon, which has them.

use std::path::Path;

use crate::cli::args::ServerCommand;
use crate::cli::door;
use crate::wire::control::{Reply, Request, ServerSelect};

pub(super) fn run(command: &ServerCommand, root: Option<&Path>, json: bool) -> Reply {
    let select = |ids: &[String]| ServerSelect { ids: ids.to_vec(), json };
    let request = match command {
        ServerCommand::List => Request::ServerList { json },
        ServerCommand::Start { what } => {
            // Only a daemon keeps it.
            return door::ask(root, Request::ServerStart { what: what.clone(), json }, false);
        }
        ServerCommand::Stop(which) => Request::ServerStop(select(&which.ids)),
        ServerCommand::Restart(which) => Request::ServerRestart(select(&which.ids)),
        ServerCommand::Logs { id } => Request::ServerLogs(select(std::slice::from_ref(id))),
        ServerCommand::Install { .. } => return Reply::default(),
    };
    door::ask_running(root, request)
}
