//! `memory …`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::args::CliArgs;
use super::args::memory::{
    MemoryAddArgs, MemoryCommand, MemoryForgetArgs, ObservationFilterArgs, ProjectScopeArgs,
};
use super::{INVALID, client};
use moai_base::limits::CLEANED_BYTES_MAX;
use moai_protocol::control::{
    CommandReply, DaemonRequest, MemoryAddition, MemoryOperation, MemoryRequest, MemoryScope,
};

/// Argument for stdin.
const STDIN: &str = "-";
/// Path at which a handler in this process finds stdin.
const STDIN_FILE: &str = "/dev/stdin";

pub(super) fn run(args: &CliArgs, command: &MemoryCommand) -> CommandReply {
    let action = match action(command) {
        Ok(action) => action,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    // In this process where much is read or written, so that hooks do not wait for it.
    let is_large = matches!(command, MemoryCommand::Import { .. } | MemoryCommand::Export { .. });
    let request = DaemonRequest::Memory(MemoryRequest { action, json: args.json });
    client::send_request(args.root.as_deref(), request, is_large)
}

fn action(command: &MemoryCommand) -> Result<MemoryOperation, String> {
    Ok(match command {
        MemoryCommand::Search(search) => MemoryOperation::Search {
            query: search.query.clone(),
            layer: search.layer,
            scope: scope(&search.scope, Some(&search.filter)),
            hits_max: usize::try_from(search.limit).unwrap_or(usize::MAX),
            explain: search.explain,
        },
        MemoryCommand::Timeline { id } => MemoryOperation::Timeline { id: id.clone() },
        MemoryCommand::Get { ids } => MemoryOperation::Get { ids: ids.clone() },
        MemoryCommand::Add(add) => MemoryOperation::Add(addition(add)?),
        MemoryCommand::Forget(forget) => forget_action(forget),
        MemoryCommand::Status { scope: projects } => {
            MemoryOperation::Status { scope: scope(projects, None) }
        }
        MemoryCommand::Import { file } if file == Path::new(STDIN) => {
            MemoryOperation::Import { file: PathBuf::from(STDIN_FILE) }
        }
        MemoryCommand::Import { file } => MemoryOperation::Import { file: file.clone() },
        MemoryCommand::Export { scope: projects, filter } => {
            MemoryOperation::Export { scope: scope(projects, Some(filter)) }
        }
        MemoryCommand::Backup { file } => MemoryOperation::Backup { file: file.clone() },
        MemoryCommand::Restore { file, apply } => {
            MemoryOperation::Restore { file: file.clone(), apply: *apply }
        }
    })
}

fn forget_action(forget: &MemoryForgetArgs) -> MemoryOperation {
    MemoryOperation::Forget {
        ids: forget.ids.clone(),
        query: forget.query.clone(),
        scope: scope(&forget.scope, Some(&forget.filter)),
        apply: forget.apply,
    }
}

fn addition(add: &MemoryAddArgs) -> Result<MemoryAddition, String> {
    let mut text = add.text.clone();
    if text == STDIN {
        let mut bytes = Vec::new();
        let limit = CLEANED_BYTES_MAX as u64;
        std::io::stdin()
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("stdin: {error}"))?;
        if bytes.len() as u64 > limit {
            return Err(format!("stdin: larger than {limit} bytes: shorten the text"));
        }
        text = String::from_utf8_lossy(&bytes).into_owned();
    }
    Ok(MemoryAddition {
        text,
        kind: add.kind.clone(),
        files: add.files.clone(),
        codes: add.codes.clone(),
        is_for_team: add.team,
    })
}

fn scope(projects: &ProjectScopeArgs, filter: Option<&ObservationFilterArgs>) -> MemoryScope {
    let scope = MemoryScope {
        project: projects.project.clone(),
        all_projects: projects.all_projects,
        ..MemoryScope::default()
    };
    match filter {
        None => scope,
        Some(filter) => MemoryScope {
            kinds: filter.types.clone(),
            since: filter.since.clone(),
            until: filter.until.clone(),
            path: filter.path.clone(),
            code: filter.code.clone(),
            worktree: filter.worktree.clone(),
            ..scope
        },
    }
}
