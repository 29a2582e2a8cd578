//! What the commands about loops share: which loop is meant, a change of it that nothing overtakes,
//! and the reply that shows it.

use std::fmt::Display;

use super::replies::{INVALID, REFUSED};
use crate::daemon::engine::Engine;
use crate::daemon::project::Project;
use crate::looping::state::{LoopState, Status};
use crate::report::{json, loops, tools};
use crate::store::StoreError;
use crate::store::loops::{LoopQuery, SaveOutcome};
use crate::wire::control::{CallerContext, CommandReply, LoopSelector};

/// The host's name for the session of a process that it started.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// The session of an agent that calls a tool; people name theirs.
pub(super) fn own_session(caller: &CallerContext) -> Option<String> {
    host_session(caller).filter(|_| caller.is_tool)
}

/// The session that the host started the caller in.
pub(super) fn host_session(caller: &CallerContext) -> Option<String> {
    caller.env.get(SESSION).filter(|session| !session.is_empty()).cloned()
}

/// Which loop a command means.
pub(super) fn select_loop(select: &LoopSelector, caller: &CallerContext) -> LoopQuery {
    let session = select.session.clone().or_else(|| own_session(caller));
    match (&select.id, session) {
        (Some(id), _) => LoopQuery::Id(id.clone()),
        (None, Some(session)) => LoopQuery::LatestOf(session),
        (None, None) => LoopQuery::Latest,
    }
}

/// Which loop a command changes. Where none is named it must be the only active one: whoever asks
/// twice would else change another session's loop the second time.
pub(super) async fn select_loop_to_change(
    engine: &Engine,
    project: &Project,
    select: &LoopSelector,
    caller: &CallerContext,
) -> Result<LoopQuery, CommandReply> {
    let meant = select_loop(select, caller);
    if meant != LoopQuery::Latest {
        return Ok(meant);
    }
    match engine.store.active_loops(&project.key, &project.root).await {
        Ok(active) => match active.as_slice() {
            [] => Ok(meant),
            [(id, _)] => Ok(LoopQuery::Id(id.clone())),
            several => {
                let text = format!("moai-ralph: {}", loops::several_active_loops(several));
                Err(CommandReply::failure(REFUSED, &text))
            }
        },
        Err(error) => Err(failure_reply(&error)),
    }
}

/// Why a loop was not changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoopChangeError {
    /// The state of the loop forbids it.
    #[error("{0}")]
    Refused(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes a loop; `None` when there is none. A Stop that is decided at the same moment comes
/// first, and what it made of the loop is changed. One that is still measured hears of it at once
/// when the loop does not run any more.
pub(super) async fn change_loop<E: ToString>(
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

/// A loop in a reply; `text` is for people.
pub(super) fn loop_reply(
    state: &LoopState,
    caller: &CallerContext,
    json: bool,
    text: String,
) -> CommandReply {
    let stdout = if json { format!("{:#}\n", json::loop_json(state)) } else { text };
    let document = caller.is_tool.then(|| tools::tool_loop(Some(state)).into());
    CommandReply { stdout, document, ..CommandReply::default() }
}

/// There is no loop, which is no failure.
pub(super) fn no_loop_reply(caller: &CallerContext, json: bool, text: &str) -> CommandReply {
    let stdout = if json { "null\n".to_owned() } else { format!("{text}\n") };
    let document = caller.is_tool.then(|| tools::tool_loop(None).into());
    CommandReply { stdout, document, ..CommandReply::default() }
}

/// A loop was named, and there is none of that name.
pub(super) fn no_such_loop() -> CommandReply {
    CommandReply::failure(REFUSED, "moai-ralph: there is no such loop")
}

/// Something stood in the way.
pub(super) fn failure_reply(error: &impl Display) -> CommandReply {
    CommandReply::failure(REFUSED, &format!("moai-ralph: {error}"))
}

/// A word that stands for nothing.
pub(super) fn unknown_word(option: &str, word: &str, known: &str) -> CommandReply {
    CommandReply::failure(INVALID, &format!("moai-ralph: {option} {word}: {known}"))
}
