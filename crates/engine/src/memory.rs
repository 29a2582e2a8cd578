//! `memory …`: requests of people, scripts and agents to the memory.

mod add;
mod backups;
mod entries;
mod export;
mod forget;
mod import;
mod replies;
pub(crate) mod retention;
mod scope;
mod search;
mod status;

use std::sync::Arc;

use crate::engine::Engine;
use crate::memory::replies::MemoryRefusal;
use crate::project::Project;
use crate::replies::{INVALID, REFUSED};
use moai_host::store::StoreRecovery;
use moai_protocol::control::{CallerContext, CommandReply, MemoryOperation, MemoryRequest};
use moai_report::memory::unfinished_import;
use moai_report::notice::memory_recovered;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: MemoryRequest,
) -> CommandReply {
    if let Err(error) = Project::require_valid_options(engine, caller) {
        return CommandReply::failure(INVALID, &format!("moai-ralph: {error}"));
    }
    if let Some(reason) = engine.memory.team_refusal() {
        let text = format!("moai-ralph: {reason}; the daemon reads it when it starts");
        return CommandReply::failure(INVALID, &text);
    }
    let json = request.json;
    let is_local_second_best = matches!(
        request.action,
        MemoryOperation::Search { .. }
            | MemoryOperation::Timeline { .. }
            | MemoryOperation::Get { .. }
            | MemoryOperation::Status { .. }
    );
    let answered = match request.action {
        MemoryOperation::Search { query, layer, scope, hits_max, explain } => {
            let asked = search::AskedSearch { query, layer, scope, hits_max, explain };
            search::search(engine, caller, asked, json).await
        }
        MemoryOperation::Timeline { id } => search::timeline(engine, id, json).await,
        MemoryOperation::Get { ids } => search::get(engine, caller, ids, json).await,
        MemoryOperation::Add(addition) => add::add(engine, caller, addition, json).await,
        MemoryOperation::Forget { ids, query, scope, apply } => {
            let asked = forget::AskedForget { ids, query, scope, apply };
            forget::forget(engine, caller, asked, json).await
        }
        MemoryOperation::Status { scope } => status::status(engine, caller, scope, json).await,
        MemoryOperation::Import { file } => import::import(engine, caller, &file, json).await,
        MemoryOperation::Export { scope } => export::export(engine, caller, scope).await,
        MemoryOperation::Backup { file } => backups::back_up(engine, caller, file, json).await,
        MemoryOperation::Restore { file, apply } => {
            backups::restore(engine, caller, file, apply, json).await
        }
    };
    let mut reply = answered.unwrap_or_else(|refusal| match refusal {
        MemoryRefusal::Invalid(reason) => {
            CommandReply::failure(INVALID, &format!("moai-ralph: {reason}"))
        }
        MemoryRefusal::Store(error) => {
            CommandReply::failure(REFUSED, &format!("moai-ralph: the memory: {error}"))
        }
        MemoryRefusal::Unfinished { imported, reason } => {
            let text = unfinished_import(imported, &reason);
            CommandReply::failure(REFUSED, &format!("moai-ralph: {text}"))
        }
    });
    if is_local_second_best && let Some(outage) = engine.memory.team_outage().await {
        let line =
            format!("moai-ralph: this is the memory of this machine alone, because {outage}\n");
        reply.stderr.insert_str(0, &line);
    }
    if let Some(recovery) = engine.memory.take_recovery() {
        reply.stderr = format!("{}\n{}", recovery_notice(&recovery), reply.stderr);
    }
    reply
}

/// Reports that the database was damaged, and its replacement.
pub(crate) fn recovery_notice(recovery: &StoreRecovery) -> String {
    memory_recovered(&recovery.damage, recovery.moved_to.as_deref(), recovery.backup_ms)
}
