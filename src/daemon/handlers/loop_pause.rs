//! `loop pause`: the agent may stop as it likes until the loop is resumed.

use super::load;
use super::loop_replies::{change, failed, no_such_loop, shown, which};
use crate::daemon::engine::{Engine, now_ms};
use crate::looping::control;
use crate::report::loops;
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: LoopSelect) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let act = |state: &_| control::pause(state, now_ms());
    match change(engine, &project, which(&select, caller), act).await {
        Ok(Some(state)) => {
            shown(&state, caller, select.json, format!("{}\n", loops::ended(&state)))
        }
        Ok(None) => no_such_loop(),
        Err(error) => failed(&error),
    }
}
