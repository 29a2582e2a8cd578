//! `loop start`: one active loop per session, refused with its id.

use std::path::Path;

use super::loop_replies::{own_session, shown, unknown_word};
use super::{REFUSED, load, loop_id};
use crate::daemon::engine::{Engine, blocking, now_ms};
use crate::daemon::loop_files;
use crate::daemon::project::Project;
use crate::git;
use crate::looping::start::{Setting, Wish, start};
use crate::looping::state::{LoopState, Mode, Until};
use crate::report::loops;
use crate::store::StoreError;
use crate::store::loops::Which;
use crate::wire::control::{Caller, LoopStart, Reply};

/// The project's own checks, as in the gulf-loop format.
pub(super) const AUTOCHECKS: &str = ".claude/autochecks.sh";

pub(super) async fn handle(engine: &Engine, caller: &Caller, request: LoopStart) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let json = request.json;
    let session = request.session.clone().or_else(|| own_session(caller));
    let wish = match wish(request) {
        Ok(wish) => wish,
        Err(reply) => return reply,
    };
    match begin(engine, &project, wish, session.as_deref()).await {
        Ok(state) => shown(&state, caller, json, loops::status(&state)),
        Err(reason) => Reply::failed(REFUSED, &format!("moai-ralph: {reason}")),
    }
}

/// The request with its words understood.
fn wish(request: LoopStart) -> Result<Wish, Reply> {
    let until = match request.until.as_deref() {
        None => None,
        Some(word) => Some(
            Until::from_word(word)
                .ok_or_else(|| unknown_word("--until", word, "diagnostics, checks or promise"))?,
        ),
    };
    let mode = match request.mode.as_deref() {
        None => None,
        Some(word) => Some(
            Mode::from_word(word)
                .ok_or_else(|| unknown_word("--mode", word, "basic, judge or autonomous"))?,
        ),
    };
    Ok(Wish {
        prompt: request.prompt,
        max_iterations: request.max_iterations,
        promise: request.completion_promise,
        until,
        mode,
        milestone_every: request.milestone_every,
        hitl_threshold: request.hitl_threshold,
        max_minutes: request.max_minutes,
        max_tokens: request.max_tokens,
        force_max: request.force_max,
        research: request.research,
        structured_memory: request.structured_memory,
        base_branch: request.base_branch,
        workers: request.workers,
    })
}

/// Starts and stores a loop; the error is the reason for the user.
pub(super) async fn begin(
    engine: &Engine,
    project: &Project,
    wish: Wish,
    session: Option<&str>,
) -> Result<LoopState, String> {
    let session = session.filter(|id| !id.is_empty());
    let which = session.map_or(Which::ActiveUnclaimed, |id| Which::ActiveOf(id.to_owned()));
    let text = |error: StoreError| error.to_string();
    let active = engine.store.find_loop(&project.key, &project.root, which).await.map_err(text)?;
    let setting = Setting {
        id: &loop_id(),
        session_id: session,
        max_iterations_default: project.config.max_iterations,
        has_checks: has_checks(&project.root),
        active: active.as_ref(),
        base: head(project).await,
        now_ms: now_ms(),
    };
    let state = start(wish, &setting).map_err(|refusal| refusal.to_string())?;
    if let Some(refusal) = loop_files::open_questions(project).await {
        return Err(refusal);
    }
    engine.store.insert_loop(&project.key, &project.root, state.clone()).await.map_err(text)?;
    Ok(state)
}

async fn head(project: &Project) -> Option<String> {
    let root = project.root.clone();
    blocking(move || git::base(&root)).await.flatten()
}

fn has_checks(root: &Path) -> bool {
    root.join(AUTOCHECKS).is_file()
}
