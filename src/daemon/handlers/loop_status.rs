//! `loop status`: the loop meant, active or the last one, and the workers of the project.

use std::sync::Arc;

use super::loop_replies::{failed, no_such_loop, none, shown, which};
use crate::daemon::engine::Engine;
use crate::daemon::merge_place;
use crate::daemon::project::Project;
use crate::daemon::workers::workers;
use crate::report::{json, loops, workers as words};
use crate::wire::control::{Caller, LoopSelect, Reply};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, select: LoopSelect) -> Reply {
    let project = Project::load_or_default(engine, caller);
    merge_place::tidy(engine, &project).await;
    let is_named = select.id.is_some() || select.session.is_some();
    let found = engine.store.find_loop(&project.key, &project.root, which(&select, caller)).await;
    let workers = if is_named { Vec::new() } else { workers(engine, &project).await };
    match found {
        Ok(Some(state)) if !workers.is_empty() && select.json => {
            let mut document = json::looping(&state);
            document["workers"] = words::json(&workers);
            Reply::done(format!("{document:#}\n"))
        }
        Ok(Some(state)) => {
            let text = format!("{}{}", loops::status(&state), words::status(&workers));
            shown(&state, caller, select.json, text)
        }
        Ok(None) if is_named => no_such_loop(),
        Ok(None) if workers.is_empty() => {
            let damaged = project.key.damaged(&engine.places.state);
            none(caller, select.json, &loops::none(damaged.as_deref()))
        }
        Ok(None) if select.json => Reply::done(format!("{:#}\n", words::document(&workers))),
        Ok(None) => none(caller, false, words::status(&workers).trim_end()),
        Err(error) => failed(&error),
    }
}
