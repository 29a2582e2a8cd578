//! `server …`: the language servers of the user.

mod install;
mod life;

use std::path::Path;

use super::args::ServerCommand;
use crate::wire::control::Reply;

pub(super) fn run(command: &ServerCommand, root: Option<&Path>, as_json: bool) -> Reply {
    match command {
        ServerCommand::Install { names } => install::run(names, as_json),
        _ => life::run(command, root, as_json),
    }
}
