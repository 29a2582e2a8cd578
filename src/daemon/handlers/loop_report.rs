//! `loop report`: a loop's claim, evidence, what was there before, gaps and residual risk.

use super::loop_replies::{failed, no_such_loop, which};
use crate::daemon::engine::Engine;
use crate::daemon::project::Project;
use crate::report::loops;
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = Project::load_or_default(engine, caller);
    match engine.store.find_loop(&project.key, &project.root, which(&select, caller)).await {
        Ok(Some(state)) if select.json => {
            Reply::done(format!("{:#}\n", loops::report_json(&state)))
        }
        Ok(Some(state)) => Reply::done(loops::report(&state)),
        Ok(None) => no_such_loop(),
        Err(error) => failed(&error),
    }
}
