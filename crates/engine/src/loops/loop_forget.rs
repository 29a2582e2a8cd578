//! `loop forget`: removes the checkpoints and rows of an ended loop, and its merge if the user did not
//! take it. No user file is touched.

use std::sync::Arc;

use crate::branches::branch_merge;
use crate::engine::Engine;
use crate::loops::loop_selection::{failure_reply, no_such_loop};
use crate::project::Project;
use crate::replies::{REFUSED, load_project};
use crate::restore::checkpoints;
use moai_host::store::StoreError;
use moai_host::store::loops::{LoopQuery, LoopRemoval};
use moai_protocol::control::{CallerContext, CommandReply, LoopSelector};
use moai_protocol::documents::json_text;
use moai_protocol::documents::loops::ForgottenDocument;
use moai_report::loops;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    select: LoopSelector,
) -> CommandReply {
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let Some(id) = select.id else { return no_such_loop() };
    let found =
        engine.store.find_loop(&project.key, &project.root, LoopQuery::Id(id.clone())).await;
    let branch = match found {
        Ok(Some(state)) if state.status.is_active() => return refuse_active(&id),
        Ok(Some(state)) => state.branch,
        Ok(None) => return forget_lost(engine, &project, id, select.json).await,
        // An unreadable loop can be removed as well.
        Err(StoreError::Unreadable { .. }) => None,
        Err(error) => return failure_reply(&error),
    };
    // The rows last, so that a failed removal can be tried again.
    let checkpoints = match forget_files(engine, &project, &id, branch).await {
        Ok(checkpoints) => checkpoints,
        Err(error) => return failure_reply(&error),
    };
    match engine.store.remove_loop(&project.key, id.clone()).await {
        Ok(LoopRemoval::Removed) => CommandReply::success(forgotten(&id, checkpoints, select.json)),
        Ok(LoopRemoval::StillActive) => refuse_active(&id),
        Ok(LoopRemoval::NotFound) => no_such_loop(),
        Err(error) => failure_reply(&error),
    }
}

/// Removes the rest of a loop that is missing in the store: its marker, and its checkpoints if it
/// belonged to this store.
async fn forget_lost(
    engine: &Arc<Engine>,
    project: &Project,
    id: String,
    json: bool,
) -> CommandReply {
    let store = match engine.store.remove_marker(&project.key, &project.root, id.clone()).await {
        Ok(Some(store)) => store,
        Ok(None) => return no_such_loop(),
        Err(error) => return failure_reply(&error),
    };
    let checkpoints = if store == project.key.database(&engine.dirs.state) {
        match forget_files(engine, project, &id, None).await {
            Ok(checkpoints) => checkpoints,
            Err(error) => return failure_reply(&error),
        }
    } else {
        0
    };
    CommandReply::success(forgotten(&id, checkpoints, json))
}

fn forgotten(id: &str, checkpoints: usize, is_json: bool) -> String {
    if is_json {
        json_text(&ForgottenDocument { id, checkpoints })
    } else {
        format!("{}\n", loops::forgotten(id, checkpoints))
    }
}

/// Returns the number of removed checkpoints.
async fn forget_files(
    engine: &Arc<Engine>,
    project: &Project,
    id: &str,
    branch: Option<String>,
) -> Result<usize, String> {
    if let Some(branch) = branch {
        branch_merge::forget_held_merge(project, &branch).await;
    }
    checkpoints::forget_all(engine, project, id).await
}

fn refuse_active(id: &str) -> CommandReply {
    let text =
        format!("moai-ralph: loop {id} is active; cancel it first: moai-ralph loop cancel {id}");
    CommandReply::failure(REFUSED, &text)
}
