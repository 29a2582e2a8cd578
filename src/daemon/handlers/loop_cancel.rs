//! `loop cancel`: idempotent, takes effect at once, touches no file of the user.

use std::convert::Infallible;

use super::loop_replies::{NotChanged, change, failed, no_such_loop, none, only, shown};
use crate::daemon::engine::{Engine, now_ms};
use crate::daemon::project::Project;
use crate::looping::control;
use crate::looping::state::LoopState;
use crate::report::loops;
use crate::store::StoreError;
use crate::store::loops::Which;
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = Project::load_or_default(engine, caller);
    let which = match only(engine, &project, &select, caller).await {
        Ok(which) => which,
        Err(reply) => return reply,
    };
    match cancel(engine, &project, which).await {
        Ok(Some(state)) => {
            shown(&state, caller, select.json, format!("{}\n", loops::ended(&state)))
        }
        Ok(None) if select.id.is_some() => no_such_loop(),
        Ok(None) => none(caller, select.json, "no loop is active"),
        Err(NotChanged::Store(StoreError::Unreadable { id, .. })) => {
            set_aside(engine, caller, &project, &select, id).await
        }
        Err(error) => failed(&error),
    }
}

/// Cancelling must work in every state, also in one that nobody can read.
async fn set_aside(
    engine: &Engine,
    caller: &Caller,
    project: &Project,
    select: &LoopSelect,
    id: String,
) -> Reply {
    let text = format!("loop {id} could not be read and is set aside");
    match engine.store.set_loop_aside(&project.key, id).await {
        Ok(()) => none(caller, select.json, &text),
        Err(error) => failed(&error),
    }
}

/// Cancels a loop; one that is over stays what it was.
pub(super) async fn cancel(
    engine: &Engine,
    project: &Project,
    which: Which,
) -> Result<Option<LoopState>, NotChanged> {
    let act = |state: &LoopState| Ok::<_, Infallible>(control::cancel(state, now_ms()));
    change(engine, project, which, act).await
}
