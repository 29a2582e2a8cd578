//! `init`: registers the hooks with an agent client. Needs no engine.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::args::InitArgs;
use super::{INVALID, REFUSED, client, current_program};
use moai_host::callers::{is_agent, own_process};
use moai_host::files;
use moai_host::ipc::{StateDirs, process_environment};
use moai_host::registrations::{RegistrationChange, RegistrationPlace, RegistrationRecords};
use moai_protocol::control::CommandReply;
use moai_protocol::hosts::registration::{RegistrationScope, registration_files};
use moai_report::hosts::{RegisteredFile, registration_text};

pub(super) fn run(root: Option<&Path>, arguments: &InitArgs) -> CommandReply {
    let env = process_environment();
    if is_agent(own_process(), &env) {
        let text = "moai-ralph: init is for a person: an agent started this shell";
        return CommandReply::failure(REFUSED, text);
    }
    let Some(dirs) = StateDirs::from_env(&env) else {
        return CommandReply::failure(INVALID, client::NO_HOME);
    };
    let program = match current_program() {
        Ok(program) => program.display().to_string(),
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let home = env.get("HOME").map(PathBuf::from);
    let (scope, base) = match (arguments.user, home) {
        (true, Some(home)) => (RegistrationScope::User, home),
        (true, None) => return CommandReply::failure(INVALID, client::NO_HOME),
        (false, home) => match project_folder(root, home.as_deref()) {
            Ok(folder) => (RegistrationScope::Project, folder),
            Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
        },
    };
    let (host, records) = (arguments.host.kind(), RegistrationRecords::new(&dirs.state));
    let (mut done, mut failures) = (Vec::new(), String::new());
    let place = RegistrationPlace { folder: &base, scope };
    let mut files = registration_files(host, scope, &program);
    if arguments.remove {
        files.reverse();
    }
    for file in files {
        let changed = if arguments.remove {
            records.unregister(place, &file)
        } else {
            records.register(place, &file)
        };
        match changed {
            Ok(change) => {
                done.push(RegisteredFile { path: base.join(&file.path), words: words(change) });
            }
            Err(error) => {
                let _ = writeln!(failures, "moai-ralph: {error}");
            }
        }
    }
    let stdout = registration_text(host, &done, arguments.remove);
    let code = if failures.is_empty() { 0 } else { REFUSED };
    CommandReply { stdout, stderr: failures, code, ..CommandReply::default() }
}

fn project_folder(root: Option<&Path>, home: Option<&Path>) -> Result<PathBuf, String> {
    let caller = client::current_caller(root)?;
    Ok(caller.root.unwrap_or_else(|| files::find_root(&caller.cwd, home)))
}

fn words(change: RegistrationChange) -> &'static str {
    match change {
        RegistrationChange::Written => "written",
        RegistrationChange::Removed => "deleted",
        RegistrationChange::Restored => "moai-ralph's hooks removed",
        RegistrationChange::Unchanged => "unchanged",
    }
}
