//! `loop refreeze`: the user takes over what differs from a loop's frozen exam.

use std::sync::Arc;

use super::loop_replies::which;
use super::override_log;
use super::replies::{REFUSED, load};
use crate::daemon::engine::Engine;
use crate::daemon::project::Project;
use crate::daemon::{authorship, exam};
use crate::looping::exam::Role;
use crate::looping::state::LoopState;
use crate::report::checks::{Refrozen, refrozen, refrozen_json};
use crate::store::StoreError;
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, select: LoopSelect) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let refused = |error: &str| Reply::failed(REFUSED, &format!("moai-ralph: {error}"));
    let found = engine.store.find_loop(&project.key, &project.root, which(&select, caller)).await;
    let state = match found {
        Ok(Some(state)) if state.status.is_active() => state,
        Ok(_) => return refused("there is no such active loop"),
        Err(error) => return refused(&error.to_string()),
    };
    match refreeze(engine, &project, &state).await {
        Ok(taken) if select.json => {
            Reply::done(format!("{:#}\n", refrozen_json(&state.id, &taken)))
        }
        Ok(taken) => Reply::done(refrozen(&state.id, &taken)),
        Err(error) => refused(&error),
    }
}

/// Takes over what differs, and what the guard found in files that the session did not write.
async fn refreeze(
    engine: &Arc<Engine>,
    project: &Project,
    state: &LoopState,
) -> Result<Refrozen, String> {
    let words = |error: StoreError| error.to_string();
    let before = exam::look(engine, project, &state.id, Role::ALL).await.map_err(words)?;
    exam::freeze(engine, project, state).await.map_err(words)?;
    let allowed = authorship::take_over(engine, project, state).await?;
    override_log::record(engine, project, &state.id, None).await?;
    let differences = before.map(|(_, differences)| differences).unwrap_or_default();
    Ok(Refrozen { differences, allowed })
}
