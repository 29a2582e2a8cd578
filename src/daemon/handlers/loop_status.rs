//! `loop status`: the loop meant, active or the last one.

use super::{INVALID, REFUSED};
use crate::daemon::engine::Engine;
use crate::daemon::project::Project;
use crate::report::{json, loops};
use crate::store::loops::Which;
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = match Project::load(engine, caller) {
        Ok(project) => project,
        Err(error) => return Reply::failed(INVALID, &format!("moai-ralph: {error}")),
    };
    let which = match (&select.id, &select.session) {
        (Some(id), _) => Which::Id(id.clone()),
        (None, Some(session)) => Which::LatestOf(session.clone()),
        (None, None) => Which::Latest,
    };
    match engine.store.find_loop(&project.key, &project.root, which).await {
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
