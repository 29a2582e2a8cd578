//! `loop cancel`: idempotent, takes effect at once, touches no file of the user.

use std::convert::Infallible;

use super::load;
use super::loop_replies::{NotChanged, change, failed, no_such_loop, none, shown, which};
use crate::daemon::engine::{Engine, now_ms};
use crate::daemon::project::Project;
use crate::looping::control;
use crate::looping::state::LoopState;
use crate::report::loops;
use crate::store::loops::Which;
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    match cancel(engine, &project, which(&select, caller)).await {
        Ok(Some(state)) => {
            shown(&state, caller, select.json, format!("{}\n", loops::ended(&state)))
        }
        Ok(None) if select.id.is_some() => no_such_loop(),
        Ok(None) => none(caller, select.json, "no loop is active"),
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
