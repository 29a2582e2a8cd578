//! `loop pause`: the agent may stop as it likes until the loop is resumed.

use super::loop_replies::{change, failed, no_such_loop, only, shown};
use crate::daemon::engine::{Engine, now_ms};
use crate::daemon::project::Project;
use crate::looping::control;
use crate::report::loops;
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = Project::load_or_default(engine, caller);
    let act = |state: &_| control::pause(state, now_ms());
    let which = match only(engine, &project, &select, caller).await {
        Ok(which) => which,
        Err(reply) => return reply,
    };
    match change(engine, &project, which, act).await {
        Ok(Some(state)) => {
            shown(&state, caller, select.json, format!("{}\n", loops::ended(&state)))
        }
        Ok(None) => no_such_loop(),
        Err(error) => failed(&error),
    }
}
