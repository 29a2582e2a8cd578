//! `loop status`: the loop meant, active or the last one.

use super::load;
use super::loop_replies::{failed, no_such_loop, none, shown, which};
use crate::daemon::engine::Engine;
use crate::report::loops;
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    match engine.store.find_loop(&project.key, &project.root, which(&select, caller)).await {
        Ok(Some(state)) => shown(&state, caller, select.json, loops::status(&state)),
        Ok(None) if select.id.is_none() && select.session.is_none() => {
            none(caller, select.json, "no loop was ever started here")
        }
        Ok(None) => no_such_loop(),
        Err(error) => failed(&error),
    }
}
