//! `loop cancel`: idempotent, takes effect at once, touches no file of the user.

use super::{REFUSED, load, which};
use crate::daemon::engine::{Engine, now_ms};
use crate::daemon::project::Project;
use crate::looping::control;
use crate::looping::state::LoopState;
use crate::report::{json, loops};
use crate::store::StoreError;
use crate::store::loops::{Saved, Which};
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    match cancel(engine, &project, which(&select)).await {
        Ok(Some(state)) if select.json => Reply::done(format!("{:#}\n", json::looping(&state))),
        Ok(Some(state)) => Reply::done(format!("{}\n", loops::ended(&state))),
        Ok(None) if select.id.is_some() => {
            Reply::failed(REFUSED, "moai-ralph: there is no such loop")
        }
        Ok(None) => {
            Reply::done(if select.json { "null\n" } else { "no loop is active\n" }.to_owned())
        }
        Err(error) => Reply::failed(REFUSED, &format!("moai-ralph: {error}")),
    }
}

/// Cancels a loop; one that is over stays what it was.
pub(super) async fn cancel(
    engine: &Engine,
    project: &Project,
    which: Which,
) -> Result<Option<LoopState>, StoreError> {
    loop {
        let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await?;
        let Some(state) = found else { return Ok(None) };
        let cancelled = control::cancel(&state, now_ms());
        if cancelled == state {
            return Ok(Some(state));
        }
        match engine.store.advance_loop(&project.key, &state, cancelled.clone()).await? {
            Saved::Yes => return Ok(Some(cancelled)),
            // A Stop was decided at the same moment: cancel what it made of the loop.
            Saved::Overtaken => {}
        }
    }
}
