//! `loop status`: the loop meant, active or the last one.

use super::{REFUSED, load, which};
use crate::daemon::engine::Engine;
use crate::report::{json, loops};
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    match engine.store.find_loop(&project.key, &project.root, which(&select)).await {
        Ok(Some(state)) if select.json => Reply::done(format!("{:#}\n", json::looping(&state))),
        Ok(Some(state)) => Reply::done(loops::status(&state)),
        Ok(None) if select.id.is_none() && select.session.is_none() => {
            let none = if select.json { "null\n" } else { "no loop was ever started here\n" };
            Reply::done(none.to_owned())
        }
        Ok(None) => Reply::failed(REFUSED, "moai-ralph: there is no such loop"),
        Err(error) => Reply::failed(REFUSED, &format!("moai-ralph: {error}")),
    }
}
