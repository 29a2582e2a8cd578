//! `loop status`: the selected loop, active or last, and the workers of the project.

use std::sync::Arc;

use crate::branches::merge_work_tree;
use crate::engine::Engine;
use crate::loops::loop_selection::{
    failure_reply, loop_reply, no_loop_reply, no_such_loop, select_loop,
};
use crate::loops::workers::list_workers;
use crate::project::Project;
use moai_protocol::control::{CallerContext, CommandReply, LoopSelector};
use moai_protocol::documents::json_text;
use moai_protocol::documents::loops::LoopDocument;
use moai_report::{json, loops, workers as words};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    select: LoopSelector,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    merge_work_tree::remove_stale_work_trees(engine, &project).await;
    let is_named = select.id.is_some() || select.session.is_some();
    let found = engine
        .store
        .find_loop(&project.key, &project.root, select_loop(engine, &select, caller))
        .await;
    let workers = if is_named { Ok(Vec::new()) } else { list_workers(engine, &project).await };
    let (workers, unlisted) = match workers {
        Ok(workers) => (workers, None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    let mut reply = match found {
        Ok(Some(state)) if !workers.is_empty() && select.json => {
            let workers = Some(words::entries(&workers));
            let document = LoopDocument { workers, ..json::loop_document(&state) };
            CommandReply::success(json_text(&document))
        }
        Ok(Some(state)) => {
            let text = format!("{}{}", loops::loop_status(&state), words::status(&workers));
            loop_reply(&state, caller, select.json, text)
        }
        Ok(None) if is_named => no_such_loop(),
        Ok(None) if workers.is_empty() => {
            let damaged = project.key.damaged_copy(&engine.dirs.state);
            no_loop_reply(caller, select.json, &loops::no_loop(damaged.as_deref()))
        }
        Ok(None) if select.json => CommandReply::success(json_text(&words::document(&workers))),
        Ok(None) => no_loop_reply(caller, false, words::status(&workers).trim_end()),
        Err(error) => failure_reply(&error),
    };
    if let Some(reason) = unlisted {
        let note = format!("moai-ralph: workers cannot be listed: {reason}\n");
        reply.stderr.push_str(&note);
    }
    reply
}
