//! `server list|start|stop|restart|logs`: asks the daemon, which runs the servers.

use std::path::Path;

use crate::cli::args::ServerCommand;
use crate::cli::client;
use moai_protocol::control::{CommandReply, DaemonRequest, ServersRequest};

pub(super) fn run(command: &ServerCommand, root: Option<&Path>, json: bool) -> CommandReply {
    let select = |ids: &[String]| ServersRequest { ids: ids.to_vec(), json };
    let request = match command {
        ServerCommand::List => DaemonRequest::ServerList { json },
        ServerCommand::Start { what } => {
            // Needs a daemon, because the server would end with this process.
            return client::send_request(
                root,
                DaemonRequest::ServerStart { what: what.clone(), json },
                false,
            );
        }
        ServerCommand::Stop(which) => DaemonRequest::ServerStop(select(&which.ids)),
        ServerCommand::Restart(which) => DaemonRequest::ServerRestart(select(&which.ids)),
        ServerCommand::Logs { id } => DaemonRequest::ServerLogs(select(std::slice::from_ref(id))),
        ServerCommand::Install { .. } => return CommandReply::default(),
    };
    client::send_to_running_daemon(root, request)
}
