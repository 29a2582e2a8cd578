//! `loop pause`: lets the agent stop freely until the loop is resumed.

use crate::engine::{Engine, now_ms};
use crate::loops::loop_selection::{
    change_loop, failure_reply, loop_reply, no_such_loop, select_loop_to_change,
};
use crate::project::Project;
use moai_loops::control;
use moai_protocol::control::{CallerContext, CommandReply, LoopSelector};
use moai_report::loops;

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    select: LoopSelector,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    let which = match select_loop_to_change(engine, &project, &select, caller).await {
        Ok(which) => which,
        Err(reply) => return reply,
    };
    match change_loop(engine, &project, which, |state: &_| control::pause_loop(state, now_ms()))
        .await
    {
        Ok(Some(state)) => {
            loop_reply(&state, caller, select.json, format!("{}\n", loops::end_notice(&state)))
        }
        Ok(None) => no_such_loop(),
        Err(error) => failure_reply(&error),
    }
}
