//! `server install`: pinned language servers into the user's data folder.

use super::args::ServerCommand;
use super::{INVALID, door};
use crate::ipc::Places;
use crate::lsp::registry::Catalogue;
use crate::servers::install::{InstallError, Installed, install, servers_of};
use crate::wire::control::Reply;

pub(super) fn run(command: &ServerCommand) -> Reply {
    let ServerCommand::Install { languages } = command;
    let caller = match door::caller(None) {
        Ok(caller) => caller,
        Err(error) => return Reply::failed(INVALID, &format!("moai-ralph: {error}")),
    };
    let Some(places) = Places::from_env(&caller.env) else {
        return Reply::failed(INVALID, "moai-ralph: HOME is not set; set HOME or MOAI_RALPH_HOME");
    };
    // All names are looked up before anything is fetched.
    let mut wanted = Vec::new();
    for language in languages {
        match servers_of(Catalogue::built_in(), language) {
            Ok(servers) => wanted.extend(servers),
            Err(error) => return failed(&error, String::new()),
        }
    }
    let mut stdout = String::new();
    for (id, spec) in wanted {
        let line = match install(&places.data, id, spec, &caller.env) {
            Ok(Installed::Now(packages)) => format!("{id}: installed {packages}\n"),
            Ok(Installed::Already(packages)) => format!("{id}: already there, {packages}\n"),
            Err(error) => return failed(&error, stdout),
        };
        stdout.push_str(&line);
    }
    Reply::done(stdout)
}

fn failed(error: &InstallError, stdout: String) -> Reply {
    let code = match error {
        InstallError::UnknownLanguage(..) | InstallError::NothingToInstall(_) => INVALID,
        _ => 1,
    };
    Reply { stdout, ..Reply::failed(code, &format!("moai-ralph: {error}")) }
}
