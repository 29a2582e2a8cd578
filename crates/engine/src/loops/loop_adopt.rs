//! `loop adopt`: moves an active loop to another session.

use crate::agent_session::{named_session, proven_session};
use crate::engine::{Engine, now_ms};
use crate::ledger::{PendingStart, SessionLife};
use crate::loops::loop_selection::{change_loop, failure_reply, loop_reply};
use crate::person;
use crate::pipeline::pipeline_of_loop::keep_move;
use crate::project::Project;
use moai_base::limits::SESSION_ID_CHARS_MAX;
use moai_host::store::loops::LoopQuery;
use moai_loops::control;
use moai_loops::state::LoopState;
use moai_protocol::control::{CallerContext, CommandReply, LoopAdoptRequest, LoopSelector};
use moai_report::loops;

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    adopted: LoopAdoptRequest,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    let LoopAdoptRequest { select } = adopted;
    let session = select.session.clone().or_else(|| named_session(engine, caller));
    if session.as_deref().is_some_and(|session| !is_session_id(session)) {
        return failure_reply(&loops::NO_SESSION_ID);
    }
    // An agent could otherwise give its loop to a session that does not exist.
    if person::is_agent(engine, caller) {
        match proven_session(engine, caller) {
            Err(reason) => return failure_reply(&reason),
            Ok(Some(own)) if session.as_deref() != Some(&own) => {
                return failure_reply(&loops::adopted_for_another(&own));
            }
            Ok(_) => {}
        }
    }
    if person::is_agent(engine, caller)
        && let Some(id) = loop_of_live_session(engine, &project, &select, session.as_deref()).await
    {
        return failure_reply(&loops::owner_still_active(&id));
    }
    let before = engine.store.active_loops(&project.key, &project.root).await.unwrap_or_default();
    let state = match adopt_loop(engine, &project, select.id.as_deref(), session.as_deref()).await {
        Ok(state) => state,
        Err(reason) => return failure_reply(&reason),
    };
    let owner = before.into_iter().find(|(id, _)| *id == state.id).and_then(|(_, owner)| owner);
    let owner = owner.filter(|owner| Some(owner) != state.session_id.as_ref());
    if let Some(owner) = &owner {
        engine.ledger().session(owner).decisions.push(loops::moved_away(&state));
    }
    let mut text = loops::loop_status(&state);
    if let Some(session) = &session {
        let start = PendingStart::OfLoop { more: String::new() };
        engine.ledger().session(session).pending_start = Some(start);
        let is_kept = state.options.pipeline.is_some() && state.branch.is_none();
        if !is_kept {
            text.push_str(&loops::told_by_daemon(&state));
        }
    }
    keep_move(engine, &project, &state, owner).await;
    loop_reply(&state, caller, select.json, text)
}

/// True if a text can be a session id: hosts use UUIDs or their own formats.
fn is_session_id(session: &str) -> bool {
    (1..=SESSION_ID_CHARS_MAX).contains(&session.chars().count())
        && session.chars().all(|c| !c.is_control() && !c.is_whitespace())
}

/// A selected loop whose own session is still alive. An agent must not adopt it, because it could get rid of
/// its own loop that way.
async fn loop_of_live_session(
    engine: &Engine,
    project: &Project,
    select: &LoopSelector,
    session: Option<&str>,
) -> Option<String> {
    let active = engine.store.active_loops(&project.key, &project.root).await.ok()?;
    let ledger = engine.ledger();
    let taker = session.map(|session| ledger.session_life(session));
    for (id, owner) in active {
        let is_selected = select.id.as_ref().is_none_or(|selected| *selected == id);
        if is_selected
            && let Some(owner) = owner.filter(|owner| Some(owner.as_str()) != session)
            && !is_free(ledger.session_life(&owner), taker)
        {
            return Some(id);
        }
    }
    None
}

/// True if a session's loop may move to another session without a user. A new daemon knows no session until a
/// hook calls, so it gives a loop only to a session that it has seen start with `/clear`.
fn is_free(owner: SessionLife, taker: Option<SessionLife>) -> bool {
    match owner {
        SessionLife::Ended => true,
        SessionLife::Alive => false,
        SessionLife::Unknown => taker == Some(SessionLife::Alive),
    }
}

/// Binds a loop to a session; without one, to the next session that appears. Without an id it is the
/// only active loop. The error is the reason for the user.
pub(crate) async fn adopt_loop(
    engine: &Engine,
    project: &Project,
    id: Option<&str>,
    session: Option<&str>,
) -> Result<LoopState, String> {
    let active = engine.store.active_loops(&project.key, &project.root).await;
    let active = active.map_err(|error| error.to_string())?;
    let own = active.iter().find(|(_, owner)| owner.as_deref() == session).map(|(id, _)| id);
    let id = match (id, active.as_slice()) {
        (Some(id), _) => id,
        (None, []) => return Err(loops::no_active_loop()),
        (None, [(only, _)]) => only,
        (None, several) => match own {
            Some(own) => return Err(loops::already_owns_loop(own)),
            None => return Err(loops::several_active_loops(several)),
        },
    };
    if let Some(own) = own.filter(|own| own.as_str() != id) {
        return Err(loops::already_owns_loop(own));
    }
    let which = LoopQuery::Id(id.to_owned());
    let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await;
    let found = found.map_err(|error| error.to_string())?;
    let is_here = active.iter().any(|(known, _)| known == id);
    if found.is_some_and(|state| state.status.is_active() && !is_here) {
        return Err(loops::loop_of_other_root(id));
    }
    let adopted =
        change_loop(engine, project, which, |state| control::adopt_loop(state, session, now_ms()));
    let adopted = adopted.await.map_err(|error| error.to_string())?;
    let state = adopted.ok_or_else(|| "there is no such loop".to_owned())?;
    if let Some(session) = session {
        engine.ledger().session(session).bind_to_loop(&project.root, &state);
    }
    Ok(state)
}
