//! `server …`: the language servers of the user.

mod install;
mod lifecycle;

use std::path::Path;

use super::args::ServerCommand;
use moai_protocol::control::CommandReply;

pub(super) fn run(command: &ServerCommand, root: Option<&Path>, as_json: bool) -> CommandReply {
    match command {
        ServerCommand::Install { names } => install::run(names, as_json),
        _ => lifecycle::run(command, root, as_json),
    }
}
