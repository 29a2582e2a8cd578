//! `guard allow`: the user lets a finding be. The front door has made sure that it is the user.

use std::sync::Arc;

use super::{INVALID, REFUSED, load};
use crate::base::finding::Severity;
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::guarding::{Wanted, guard};
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
    let (engine, key) = (Arc::clone(engine), project.key.clone());
    let saved =
        blocking(move || Waivers::load(&engine.places.state, &key).allow(&finding, &reason));
    match saved.await {
        Some(Ok(())) => Reply::done(done),
        Some(Err(error)) => Reply::failed(REFUSED, &format!("moai-ralph: not written: {error}")),
        None => Reply::failed(REFUSED, "moai-ralph: internal error while writing"),
    }
}
