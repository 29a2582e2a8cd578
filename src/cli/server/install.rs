//! `server install`: pinned language servers into the user's data folder.

use std::io::Write as _;

use serde_json::json;

use crate::cli::{INVALID, client};
use moai_host::ipc::StateDirs;
use moai_host::servers::install::{InstallOutcome, ServerInstaller, servers_to_install};
use moai_lsp::registry::Catalogue;
use moai_protocol::control::CommandReply;

/// Installs the requested servers; a failure does not stop the remaining installations.
pub(super) fn run(names: &[String], as_json: bool) -> CommandReply {
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
    // Resolve all names before downloading anything.
    let mut servers = Vec::new();
    for name in names {
        match servers_to_install(Catalogue::built_in(), name) {
            Ok(resolved) => servers.extend(resolved),
            Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
        }
    }
    servers.sort_by_key(|(id, _)| *id);
    servers.dedup_by_key(|(id, _)| *id);
    let installer = ServerInstaller { data: &dirs.data, env: &caller.env, root: &caller.cwd };
    let (mut outcomes, mut failed) = (Vec::new(), Vec::new());
    for (id, spec) in servers {
        match installer.install(id, spec, &print_step) {
            Ok(outcome) => outcomes.push((id, outcome)),
            Err(error) => failed.push((id, error)),
        }
    }
    let stdout = installed_text(&outcomes, as_json);
    let errors = failed.iter().map(|(id, error)| format!("moai-ralph: {id}: {error}\n"));
    let stderr = errors.collect::<Vec<_>>().concat();
    CommandReply { stdout, stderr, code: u8::from(!failed.is_empty()), ..CommandReply::default() }
}

/// Printed immediately and not with the reply, because steps run as the superuser must be announced
/// first.
fn print_step(text: &str) {
    let _ = writeln!(std::io::stderr(), "moai-ralph: {text}");
}

fn installed_text(servers: &[(&str, InstallOutcome)], as_json: bool) -> String {
    let parts = servers.iter().map(|(id, outcome)| match outcome {
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
            let verb = if state == "installed" { "installed" } else { "already installed:" };
            let program = place.program.as_deref();
            let program = program.map(|it| format!("\n  {}", it.display())).unwrap_or_default();
            format!("{id}: {verb} {}{program}\n", place.packages)
        })
        .collect::<Vec<_>>()
        .concat()
}
