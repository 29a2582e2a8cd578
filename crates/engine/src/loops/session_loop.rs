//! The loop of a session: finding and claiming it, the names of its checks, the id of a new one.

use crate::engine::{Engine, now_ms};
use crate::project::Project;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_host::store::StoreError;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_loops::control;
use moai_loops::criteria::AUTOCHECKS;
use moai_loops::exam::ExamRole;
use moai_loops::state::LoopState;

/// The active loop of a session, and whether it was claimed just now: a session without a loop
/// claims an unclaimed one of the root.
pub(crate) async fn loop_of_session(
    engine: &Engine,
    project: &Project,
    session: &str,
) -> Result<(Option<LoopState>, bool), StoreError> {
    let (last, is_claimed) = last_loop_of_session(engine, project, session).await?;
    Ok((last.filter(|state| state.status.is_active()), is_claimed))
}

/// As above; without an active loop the session's last one, which has ended.
pub(crate) async fn last_loop_of_session(
    engine: &Engine,
    project: &Project,
    session: &str,
) -> Result<(Option<LoopState>, bool), StoreError> {
    if session.is_empty() {
        return Ok((None, false));
    }
    let (store, root) = (&engine.store, &project.root);
    let found = store.find_loop(&project.key, root, LoopQuery::ForStop(session.to_owned())).await?;
    let unclaimed = match found {
        Some(unclaimed) if unclaimed.session_id.is_none() => unclaimed,
        own => return Ok((own, false)),
    };
    let claimed = control::claim_loop(&unclaimed, session, now_ms());
    match store.advance_loop(&project.key, &unclaimed, claimed.clone()).await? {
        SaveOutcome::Saved => {
            engine.ledger().session(session).bind_to_loop(root, &claimed);
            Ok((Some(claimed), true))
        }
        // Another session claimed it first.
        SaveOutcome::Overtaken => Ok((None, false)),
    }
}

/// Names of the commands that a Stop of this loop runs, as frozen at its start.
pub(crate) async fn checks_of_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Vec<String> {
    let exam = engine.store.find_exam(&project.key, &state.id, ExamRole::STRICT).await;
    let Ok(Some(exam)) = exam else { return Vec::new() };
    let autochecks = RelPath::parse(AUTOCHECKS).filter(|path| exam.files.contains_key(path));
    let autochecks = autochecks.map(|path| path.to_string());
    let commands = exam.plan.commands.into_iter().map(|command| command.name);
    autochecks.into_iter().chain(commands).collect()
}

/// A new loop id.
pub(crate) fn loop_id() -> String {
    let seed = format!("{:?} {}", std::time::SystemTime::now(), std::process::id());
    format!("loop-{}", &ContentHash::of_bytes(seed.as_bytes()).to_string()[..8])
}
