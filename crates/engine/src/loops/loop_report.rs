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
    let which = select_loop(engine, &select, caller);
    let state = match engine.store.find_loop(&project.key, &project.root, which).await {
        Ok(Some(state)) => state,
        Ok(None) => return no_such_loop(),
        Err(error) => return failure_reply(&error),
    };
    let records = match engine.store.check_loop_records(&project.key, state.id.clone()).await {
        Ok(records) => records,
        Err(error) => return failure_reply(&error),
    };
    CommandReply::success(if select.json {
        json_text(&loops::loop_report_document(&state, records.as_ref()))
    } else {
        loops::loop_report(&state, records.as_ref())
    })
}
