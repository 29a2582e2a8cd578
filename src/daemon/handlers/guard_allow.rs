//! `guard allow`: the user lets a finding be. The front door has made sure that it is the user.

use std::sync::Arc;

use super::override_log;
use super::replies::{INVALID, REFUSED, load};
use crate::base::finding::Severity;
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::guarding::{Wanted, guard};
use crate::daemon::project::Project;
use crate::daemon::waivers::Waivers;
use crate::wire::control::{Caller, GuardAllow, Reply};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, wished: GuardAllow) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let GuardAllow { id, reason, base } = wished;
    let (goal, known, threshold) = (String::new(), Vec::new(), Severity::Error);
    let wanted = Wanted { base, goal, known, threshold, loop_id: None };
    let guarded = match guard(engine, &project, wanted).await {
        Ok(guarded) => guarded,
        Err(error) => return Reply::failed(INVALID, &format!("moai-ralph: {error}")),
    };
    let found = guarded.evidence.findings.into_iter().find(|finding| finding.id == id);
    let Some(finding) = found else {
        return Reply::failed(
            REFUSED,
            &format!("moai-ralph: no finding of the guard has the id {id}"),
        );
    };
    let done = format!("allowed: {}: {}\n", finding.path, finding.message);
    let what = format!("guard({}) in {}", finding.code, finding.path);
    let (folder, key) = (engine.places.state.clone(), project.key.clone());
    let saved = blocking(move || Waivers::load(&folder, &key).allow(&finding, &reason));
    match saved.await {
        Some(Ok(())) => match record(engine, &project, &what).await {
            Ok(()) => Reply::done(done),
            Err(error) => Reply::failed(REFUSED, &format!("moai-ralph: {done}{error}")),
        },
        Some(Err(error)) => Reply::failed(REFUSED, &format!("moai-ralph: not written: {error}")),
        None => Reply::failed(REFUSED, "moai-ralph: internal error while writing"),
    }
}

/// Records in every active loop of the root what was allowed.
async fn record(engine: &Engine, project: &Project, what: &str) -> Result<(), String> {
    let active = engine.store.active_loops(&project.key, &project.root).await;
    for (id, _) in active.map_err(|error| error.to_string())? {
        override_log::record(engine, project, &id, Some(what.to_owned())).await?;
    }
    Ok(())
}
