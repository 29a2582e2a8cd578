//! Manual overrides: a loop records acceptances and waivers given at a terminal and notifies its user,
//! because an agent's process can hide its origin. An override made while the agent is running stays
//! unconfirmed until a user resumes the loop.

use crate::engine::{Engine, now_ms};
use crate::loops::loop_selection::change_loop;
use crate::pipeline::pipeline_of_loop::note_override;
use crate::project::Project;
use moai_host::store::loops::LoopQuery;
use moai_loops::control;
use moai_loops::state::{LoopState, ManualOverride, Status};
use moai_pipeline::state::CheckOverride;
use moai_report::loops;

/// Records an override in a loop and its pipeline: an allowed finding, or a frozen exam.
pub(crate) async fn record_override(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
    one: CheckOverride,
) -> Result<(), String> {
    let at_ms = now_ms();
    let finding = match &one {
        CheckOverride::Allowed(finding) => Some(finding.clone()),
        CheckOverride::Refrozen(_) | CheckOverride::EndedAsGaming => None,
    };
    let kept =
        change_loop(engine, project, LoopQuery::Id(loop_id.to_owned()), |state: &LoopState| {
            let is_confirmed = !is_at_work(engine, state);
            let by_hand = ManualOverride { at_ms, finding: finding.clone(), is_confirmed };
            Ok::<_, String>(control::with_override(state, by_hand))
        })
        .await;
    let Some(state) = kept.map_err(|error| error.to_string())? else { return Ok(()) };
    note_override(engine, project, &state, one).await;
    if let (Some(session), Some(by_hand)) = (&state.session_id, state.overrides.last()) {
        let text = loops::override_notice(&state, by_hand);
        engine.ledger().session(session).user_notices.push(text);
    }
    Ok(())
}

/// True if the agent of a loop may be in its turn. A loop without a session has no agent yet.
pub(crate) fn is_at_work(engine: &Engine, state: &LoopState) -> bool {
    let Some(session) = &state.session_id else { return false };
    let known = engine.ledger().known_session(session).and_then(|session| session.is_at_work);
    known.unwrap_or(state.status == Status::Running)
}
