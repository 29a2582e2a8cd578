//! `loop history`: the iterations of a loop, or all loops of the project.

use crate::engine::Engine;
use crate::loops::loop_selection::{failure_reply, no_such_loop, select_loop};
use crate::project::Project;
use moai_protocol::control::{CallerContext, CommandReply, LoopHistoryRequest};
use moai_protocol::documents::json_text;
use moai_report::loops;

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    request: LoopHistoryRequest,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    let json = request.select.json;
    if request.all {
        return match engine.store.list_loops(&project.key).await {
            Ok(all) if json => CommandReply::success(json_text(&loops::loop_list_document(&all))),
            Ok(all) => CommandReply::success(loops::loop_list(&all)),
            Err(error) => failure_reply(&error),
        };
    }
    match engine
        .store
        .find_loop(&project.key, &project.root, select_loop(engine, &request.select, caller))
        .await
    {
        Ok(Some(state)) if json => {
            CommandReply::success(json_text(&loops::loop_history_document(&state)))
        }
        Ok(Some(state)) => CommandReply::success(loops::loop_history(&state)),
        Ok(None) => no_such_loop(),
        Err(error) => failure_reply(&error),
    }
}
