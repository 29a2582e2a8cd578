//! `loop report`: a loop's claim, evidence, older findings, gaps and residual risk.

use crate::engine::Engine;
use crate::loops::loop_selection::{failure_reply, no_such_loop, select_loop};
use crate::project::Project;
use moai_protocol::control::{CallerContext, CommandReply, LoopSelector};
use moai_protocol::documents::json_text;
use moai_report::loops;

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    select: LoopSelector,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    match engine.store.find_loop(&project.key, &project.root, select_loop(&select, caller)).await {
        Ok(Some(state)) if select.json => {
            CommandReply::success(json_text(&loops::loop_report_document(&state)))
        }
        Ok(Some(state)) => CommandReply::success(loops::loop_report(&state)),
        Ok(None) => no_such_loop(),
        Err(error) => failure_reply(&error),
    }
}
