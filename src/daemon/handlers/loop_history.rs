//! `loop history`: the iterations of a loop, or all loops of the project.

use super::loop_replies::{failed, no_such_loop, which};
use crate::daemon::engine::Engine;
use crate::daemon::project::Project;
use crate::report::loops;
use crate::wire::control::{Caller, LoopHistory, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, wish: LoopHistory) -> Reply {
    let project = Project::load_or_default(engine, caller);
    let json = wish.select.json;
    if wish.all {
        return match engine.store.list_loops(&project.key).await {
            Ok(all) if json => Reply::done(format!("{:#}\n", loops::list_json(&all))),
            Ok(all) => Reply::done(loops::list(&all)),
            Err(error) => failed(&error),
        };
    }
    match engine.store.find_loop(&project.key, &project.root, which(&wish.select, caller)).await {
        Ok(Some(state)) if json => Reply::done(format!("{:#}\n", loops::history_json(&state))),
        Ok(Some(state)) => Reply::done(loops::history(&state)),
        Ok(None) => no_such_loop(),
        Err(error) => failed(&error),
    }
}
