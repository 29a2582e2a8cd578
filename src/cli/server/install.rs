//! `server install`: pinned language servers into the user's data folder.

use std::io::Write as _;

use serde_json::json;

use crate::cli::{INVALID, client};
use crate::ipc::StateDirs;
use crate::lsp::registry::Catalogue;
use crate::servers::install::{InstallOutcome, ServerInstaller, servers_to_install};
use crate::wire::control::CommandReply;

/// Installs the servers that the names stand for; one that fails does not hold up the others.
pub(super) fn run(names: &[String], as_json: bool) -> CommandReply {
    let caller = match client::current_caller(None) {
        Ok(caller) => caller,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let Some(places) = StateDirs::from_env(&caller.env) else {
        return CommandReply::failure(
            INVALID,
            "moai-ralph: HOME is not set; set HOME or MOAI_RALPH_HOME",
        );
    };
    // All names are looked up before anything is fetched.
    let mut servers = Vec::new();
    for name in names {
        match servers_to_install(Catalogue::built_in(), name) {
            Ok(found) => servers.extend(found),
            Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
        }
    }
    servers.sort_by_key(|(id, _)| *id);
    servers.dedup_by_key(|(id, _)| *id);
    let installer = ServerInstaller { data: &places.data, env: &caller.env, root: &caller.cwd };
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for (id, spec) in servers {
        match installer.install(id, spec, &print_step) {
            Ok(outcome) => done.push((id, outcome)),
            Err(error) => failed.push((id, error)),
        }
    }
    let stdout = installed_text(&done, as_json);
    let errors = failed.iter().map(|(id, error)| format!("moai-ralph: {id}: {error}\n"));
    let stderr = errors.collect::<Vec<_>>().concat();
    CommandReply { stdout, stderr, code: u8::from(!failed.is_empty()), ..CommandReply::default() }
}

/// At once, not with the reply: what is done as the superuser is said before it is done.
fn print_step(text: &str) {
    let _ = writeln!(std::io::stderr(), "moai-ralph: {text}");
}

fn installed_text(done: &[(&str, InstallOutcome)], as_json: bool) -> String {
    let parts = done.iter().map(|(id, installed)| match installed {
        InstallOutcome::NewlyInstalled(place) => (id, place, "installed"),
        InstallOutcome::AlreadyInstalled(place) => (id, place, "present"),
    });
    if as_json {
        let servers: Vec<_> = parts
            .map(|(id, place, state)| {
                let program = place.program.as_deref().map(|it| it.display().to_string());
                let packages = &place.packages;
                json!({"name": id, "packages": packages, "state": state, "program": program})
            })
            .collect();
        return format!("{:#}\n", json!({"schema": "moai-ralph/install@1", "servers": servers}));
    }
    parts
        .map(|(id, place, state)| {
            let verb = if state == "installed" { "installed" } else { "already there," };
            let program = place.program.as_deref();
            let program = program.map(|it| format!("\n  {}", it.display())).unwrap_or_default();
            format!("{id}: {verb} {}{program}\n", place.packages)
        })
        .collect::<Vec<_>>()
        .concat()
}
