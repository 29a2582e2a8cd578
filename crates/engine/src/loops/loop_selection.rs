//! Shared by the loop commands: selecting a loop, changing it without losing concurrent changes, and
//! the reply that shows it.

use std::fmt::Display;

use crate::agent_session::{proven_session, session_of_tool};
use crate::engine::Engine;
use crate::person;
use crate::pipeline::pipeline_end;
use crate::project::Project;
use crate::recall::note_loop::note_loop_end;
use crate::replies::REFUSED;
use moai_host::store::StoreError;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_loops::state::{LoopState, Status};
use moai_protocol::control::{CallerContext, CommandReply, LoopSelector};
use moai_protocol::documents::json_text;
use moai_protocol::documents::json_value;
use moai_report::{json, loops, tools};

/// The loop that a command selects.
pub(crate) fn select_loop(
    engine: &Engine,
    select: &LoopSelector,
    caller: &CallerContext,
) -> LoopQuery {
    let session = select.session.clone().or_else(|| session_of_tool(engine, caller));
    match (&select.id, session) {
        (Some(id), _) => LoopQuery::Id(id.clone()),
        (None, Some(session)) => LoopQuery::LatestOf(session),
        (None, None) => LoopQuery::Latest,
    }
}

/// The loop that a command changes. An unnamed loop must be the only active one, or a repeated
/// command would change another session's loop.
pub(crate) async fn select_loop_to_change(
    engine: &Engine,
    project: &Project,
    select: &LoopSelector,
    caller: &CallerContext,
) -> Result<LoopQuery, CommandReply> {
    let query = select_loop(engine, select, caller);
    if query != LoopQuery::Latest {
        return own_loop_of_agent(engine, project, query, caller).await;
    }
    match engine.store.active_loops(&project.key, &project.root).await {
        Ok(active) => match active.as_slice() {
            [] => Ok(query),
            [(id, _)] => {
                let query = LoopQuery::Id(id.clone());
                own_loop_of_agent(engine, project, query, caller).await
            }
            several => {
                let text = format!("moai-ralph: {}", loops::several_active_loops(several));
                Err(CommandReply::failure(REFUSED, &text))
            }
        },
        Err(error) => Err(failure_reply(&error)),
    }
}

/// The query, unless an agent would change the loop of another session.
async fn own_loop_of_agent(
    engine: &Engine,
    project: &Project,
    query: LoopQuery,
    caller: &CallerContext,
) -> Result<LoopQuery, CommandReply> {
    if !person::is_agent(engine, caller) {
        return Ok(query);
    }
    let found = engine.store.find_loop(&project.key, &project.root, query.clone()).await;
    let Some(state) = found.ok().flatten().filter(|state| state.session_id.is_some()) else {
        return Ok(query);
    };
    match proven_session(engine, caller) {
        Ok(own) if own == state.session_id => Ok(query),
        Ok(_) => Err(failure_reply(&loops::loop_of_other_session(&state.id))),
        Err(reason) => Err(failure_reply(&reason)),
    }
}

/// Why a loop was not changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoopChangeError {
    /// The state of the loop forbids it.
    #[error("{0}")]
    Refused(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes a loop; `None` if it does not exist. A Stop that is saved at the same moment comes first, and its
/// result is changed. A Stop that still measures is interrupted if the loop no longer runs.
pub(crate) async fn change_loop<E: ToString>(
    engine: &Engine,
    project: &Project,
    which: LoopQuery,
    act: impl Fn(&LoopState) -> Result<LoopState, E>,
) -> Result<Option<LoopState>, LoopChangeError> {
    loop {
        let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await?;
        let Some(state) = found else { return Ok(None) };
        let next = act(&state).map_err(|error| LoopChangeError::Refused(error.to_string()))?;
        if next == state {
            return Ok(Some(state));
        }
        match engine.store.advance_loop(&project.key, &state, next.clone()).await {
            Ok(SaveOutcome::Saved) => {
                if next.status != Status::Running {
                    engine.stops.interrupt(&next.id);
                }
                if state.status.is_active() {
                    note_loop_end(engine, project, &next);
                }
                pipeline_end::end_with_loop(engine, project, &next).await;
                return Ok(Some(next));
            }
            Ok(SaveOutcome::Overtaken) => {}
            Err(StoreError::Conflict(_)) => {
                let reason = "its session has another active loop: cancel that one first";
                return Err(LoopChangeError::Refused(reason.to_owned()));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The reply that shows a loop; `text` is for users.
pub(crate) fn loop_reply(
    state: &LoopState,
    caller: &CallerContext,
    json: bool,
    text: String,
) -> CommandReply {
    let stdout = if json { json_text(&json::loop_document(state)) } else { text };
    let document = caller.is_tool().then(|| Box::new(json_value(&tools::loop_answer(Some(state)))));
    CommandReply { stdout, document, ..CommandReply::default() }
}

/// The reply if no loop exists, which is not a failure.
pub(crate) fn no_loop_reply(caller: &CallerContext, json: bool, text: &str) -> CommandReply {
    let stdout = if json { "null\n".to_owned() } else { format!("{text}\n") };
    let document = caller.is_tool().then(|| Box::new(json_value(&tools::loop_answer(None))));
    CommandReply { stdout, document, ..CommandReply::default() }
}

/// The failure of a command with an unknown loop id.
pub(crate) fn no_such_loop() -> CommandReply {
    CommandReply::failure(REFUSED, "moai-ralph: there is no such loop")
}

/// The failure of a command, with its error.
pub(crate) fn failure_reply(error: &impl Display) -> CommandReply {
    CommandReply::failure(REFUSED, &format!("moai-ralph: {error}"))
}
