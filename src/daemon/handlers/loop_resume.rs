//! `loop resume`: a paused loop goes on; one that ended at a limit, when the limit is raised.

use super::loop_replies::{NotChanged, change, failed, no_such_loop, only, shown};
use crate::daemon::engine::{Engine, now_ms};
use crate::daemon::loop_branch::alone;
use crate::daemon::project::Project;
use crate::looping::control::{self, Raise};
use crate::looping::state::LoopState;
use crate::report::loops;
use crate::store::loops::Which;
use crate::wire::control::{Caller, LoopResume, Reply};

pub(super) async fn handle(engine: &Engine, caller: &Caller, wish: LoopResume) -> Reply {
    let project = Project::load_or_default(engine, caller);
    let raise = Raise {
        max_iterations: wish.max_iterations,
        max_minutes: wish.max_minutes,
        max_tokens: wish.max_tokens,
    };
    let which = match only(engine, &project, &wish.select, caller).await {
        Ok(which) => which,
        Err(reply) => return reply,
    };
    match resume(engine, &project, which, raise).await {
        Ok(Some(state)) => shown(&state, caller, wish.select.json, loops::status(&state)),
        Ok(None) => no_such_loop(),
        Err(error) => failed(&error),
    }
}

/// Lets a loop go on. One that is over and had a branch needs its work tree for itself again.
pub(super) async fn resume(
    engine: &Engine,
    project: &Project,
    which: Which,
    raise: Raise,
) -> Result<Option<LoopState>, NotChanged> {
    let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await?;
    if found.is_some_and(|it| !it.status.is_active() && it.branch.is_some()) {
        alone(engine, project).await.map_err(NotChanged::Refused)?;
    }
    change(engine, project, which, |state| control::resume(state, raise, now_ms())).await
}
