//! `server install`: pinned language servers into the user's data folder.

mod life;

use std::path::Path;

use serde_json::json;

use super::args::ServerCommand;
use super::{INVALID, door};
use crate::ipc::Places;
use crate::lsp::registry::Catalogue;
use crate::servers::install::{InstallError, Installed, install, servers_of};
use crate::wire::control::Reply;

pub(super) fn run(command: &ServerCommand, root: Option<&Path>, as_json: bool) -> Reply {
    let ServerCommand::Install { languages } = command else {
        return life::run(command, root, as_json);
    };
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
    let mut done = Vec::new();
    for (id, spec) in wanted {
        match install(&places.data, id, spec, &caller.env) {
            Ok(installed) => done.push((id, installed)),
            Err(error) => return failed(&error, words(&done, as_json)),
        }
    }
    Reply::done(words(&done, as_json))
}

fn words(done: &[(&str, Installed)], as_json: bool) -> String {
    if as_json {
        let servers: Vec<_> = done
            .iter()
            .map(|(id, installed)| match installed {
                Installed::Now(packages) => {
                    json!({"name": id, "packages": packages, "state": "installed"})
                }
                Installed::Already(packages) => {
                    json!({"name": id, "packages": packages, "state": "present"})
                }
            })
            .collect();
        return format!("{:#}\n", json!({"schema": "moai-ralph/install@1", "servers": servers}));
    }
    done.iter()
        .map(|(id, installed)| match installed {
            Installed::Now(packages) => format!("{id}: installed {packages}\n"),
            Installed::Already(packages) => format!("{id}: already there, {packages}\n"),
        })
        .collect()
}

fn failed(error: &InstallError, stdout: String) -> Reply {
    let code = match error {
        InstallError::UnknownLanguage(..) | InstallError::NothingToInstall(_) => INVALID,
        _ => 1,
    };
    Reply { stdout, ..Reply::failed(code, &format!("moai-ralph: {error}")) }
}
