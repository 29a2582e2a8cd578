//! `guard allow`: the user waives a finding. The front door, which runs it itself, has asked a person.

use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::evidence::work_base::base_of_changes;
use crate::guard::guard_run::{GuardRunOptions, run_guard};
use crate::guard::waivers::WaiverStore;
use crate::loops::override_log;
use crate::person;
use crate::project::Project;
use crate::replies::{INVALID, REFUSED, load_project};
use crate::stop::check_outputs::CheckOutputs;
use moai_base::finding::{Finding, Severity};
use moai_host::callers::own_process;
use moai_host::store::loops::LoopQuery;
use moai_loops::state::Status;
use moai_pipeline::state::CheckOverride;
use moai_protocol::control::{CallerContext, CommandReply, GuardAllowRequest};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: GuardAllowRequest,
) -> CommandReply {
    // The front door confirms with a person and then runs its own engine. A call through the socket was
    // not confirmed.
    if caller.process != Some(own_process()) || person::is_agent(engine, caller) {
        return CommandReply::failure(
            REFUSED,
            "moai-ralph: only a person at a terminal can allow a finding",
        );
    }
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let GuardAllowRequest { id, reason, base } = request;
    let finding = match find(engine, &project, &id, base).await {
        Ok(finding) => finding,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let Some(finding) = finding else {
        return CommandReply::failure(
            REFUSED,
            &format!("moai-ralph: no finding of the guard has the id {id}"),
        );
    };
    let done = format!("allowed: {}: {}\n", finding.path, finding.message);
    let subject = format!("guard({}) in {}", finding.code, finding.path);
    let (folder, key) = (engine.dirs.state.clone(), project.key.clone());
    // First, because a waiver that no loop knows of would be silent.
    if let Err(error) = record(engine, &project, &subject).await {
        return CommandReply::failure(REFUSED, &format!("moai-ralph: not written: {error}"));
    }
    let saved = run_blocking(move || WaiverStore::load(&folder, &key).allow(&finding, &reason));
    match saved.await {
        Some(Ok(())) => CommandReply::success(done),
        Some(Err(error)) => {
            CommandReply::failure(REFUSED, &format!("moai-ralph: not written: {error}"))
        }
        None => CommandReply::failure(REFUSED, "moai-ralph: internal error while writing"),
    }
}

/// The finding against a base; without one, against HEAD, then the base of the last loop.
async fn find(
    engine: &Arc<Engine>,
    project: &Project,
    id: &str,
    base: Option<String>,
) -> Result<Option<Finding>, String> {
    let has_base = base.is_some();
    let found = find_since(engine, project, id, base_of_changes(project, base).await?).await?;
    if found.is_some() || has_base {
        return Ok(found);
    }
    let last = engine.store.find_loop(&project.key, &project.root, LoopQuery::Latest).await;
    match last.map_err(|error| error.to_string())?.and_then(|state| state.charter().base) {
        Some(base) => find_since(engine, project, id, Some(base)).await,
        None => Ok(None),
    }
}

async fn find_since(
    engine: &Arc<Engine>,
    project: &Project,
    id: &str,
    base: Option<String>,
) -> Result<Option<Finding>, String> {
    let options = GuardRunOptions {
        base,
        goal: String::new(),
        known: Vec::new(),
        threshold: Severity::Error,
        loop_id: None,
        outputs: CheckOutputs::default(),
    };
    let guarded = run_guard(engine, project, options).await?;
    Ok(guarded.evidence.findings.into_iter().find(|finding| finding.id == id))
}

/// Records the waiver in every active loop of the root, and in the last one if it ended as gaming.
async fn record(engine: &Engine, project: &Project, subject: &str) -> Result<(), String> {
    let active = engine.store.active_loops(&project.key, &project.root).await;
    let active = active.map_err(|error| error.to_string())?;
    let last = engine.store.find_loop(&project.key, &project.root, LoopQuery::Latest).await;
    let last = last.map_err(|error| error.to_string())?;
    let ended = last.filter(|state| state.status == Status::Gaming).map(|state| state.id);
    for id in active.into_iter().map(|(id, _)| id).chain(ended) {
        override_log::record_override(
            engine,
            project,
            &id,
            CheckOverride::Allowed(subject.to_owned()),
        )
        .await?;
    }
    Ok(())
}
