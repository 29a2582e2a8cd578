//! `loop start`: one active loop per session, refused with its id.

use std::sync::Arc;
use std::time::Duration;

use super::loop_replies::{own_session, shown, unknown_word};
use super::replies::{REFUSED, load};
use super::session_loop::{checks_of_loop, loop_id};
use crate::base::limits::START_CHECKPOINT_MS_MAX;
use crate::daemon::base_preparation::prepare;
use crate::daemon::engine::{Engine, blocking, now_ms};
use crate::daemon::loop_branch::{
    Branch, alone, begin_branch, branch_name, next_base, read, start_of, take_back,
};
use crate::daemon::project::Project;
use crate::daemon::workers::start_workers;
use crate::daemon::{checkpoints, criteria, exam, loop_files, rubrics};
use crate::git::{self, branches};
use crate::judge::rubric::Rubric;
use crate::looping::criteria::{AUTOCHECKS, CheckScope, Criterion};
use crate::looping::options::{BaselineMode, Options};
use crate::looping::start::{Refusal, Setting, Wish, start};
use crate::looping::state::{Answer, LoopState, Mode, Until};
use crate::report::agent::EditText;
use crate::report::loops;
use crate::report::workers::{self, Worker};
use crate::store::StoreError;
use crate::store::loops::Which;
use crate::wire::control::{Caller, LoopStart, Reply};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, request: LoopStart) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let (json, call) = (request.json, request.call.clone());
    let session = request.session.clone().or_else(|| own_session(caller));
    let wish = match wish(request) {
        Ok(wish) => wish,
        Err(reply) => return reply,
    };
    match begin(engine, &project, wish, session.as_deref(), &call).await {
        Ok(Begun::Loop(state)) => {
            if let Some(session) = &state.session_id {
                let checks = checks_of_loop(engine, &project, &state).await;
                let notice = Some(loops::started_notice(&state, &checks));
                let start = EditText { text: loops::started(&state, &checks), notice };
                engine.ledger().tell_start(session, start);
            }
            shown(&state, caller, json, loops::status(&state))
        }
        Ok(Begun::Workers(begun)) if json => {
            Reply::done(format!("{:#}\n", workers::document(&begun)))
        }
        Ok(Begun::Workers(begun)) => Reply::done(workers::started(&begun)),
        Err(reason) => Reply::failed(REFUSED, &format!("moai-ralph: {reason}")),
    }
}

const UNTIL_WORDS: &str = "clean, diagnostics, checks or promise";

/// The request with its words understood.
fn wish(request: LoopStart) -> Result<Wish, Reply> {
    let until = match request.until.as_deref() {
        None => None,
        Some(word) => {
            Some(Until::from_word(word).ok_or_else(|| unknown_word("--until", word, UNTIL_WORDS))?)
        }
    };
    let baseline = match request.baseline.as_deref() {
        None => None,
        Some(word) => Some(
            BaselineMode::from_word(word)
                .ok_or_else(|| unknown_word("--baseline", word, "base or none"))?,
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
        baseline,
        paths: Vec::new(),
    })
}

/// What a start made.
pub(super) enum Begun {
    /// A loop of the session, or one to be claimed.
    Loop(Box<LoopState>),
    /// Work trees with a loop each.
    Workers(Vec<Worker>),
}

/// Starts and stores a loop, or one for each worker; the error is the reason for the user. The same
/// `call` again gets the loop that it started.
pub(super) async fn begin(
    engine: &Arc<Engine>,
    project: &Project,
    wish: Wish,
    session: Option<&str>,
    call: &str,
) -> Result<Begun, String> {
    let session = session.filter(|id| !id.is_empty());
    let which = session.map_or(Which::ActiveUnclaimed, |id| Which::ActiveOf(id.to_owned()));
    let text = |error: StoreError| error.to_string();
    let active = engine.store.find_loop(&project.key, &project.root, which).await.map_err(text)?;
    if let Some(state) = active.as_ref().filter(|state| is_of_call(state, call)) {
        return Ok(Begun::Loop(Box::new(state.clone())));
    }
    let (has_checks, rubric) = standards(project).await;
    if let Some(gap) = &rubric.gap {
        return Err(gap.to_string());
    }
    let setting = Setting {
        id: &loop_id(),
        session_id: session,
        max_iterations_default: project.config.max_iterations,
        baseline_default: project.config.baseline,
        has_checks,
        has_rubric: !rubric.is_empty(),
        needs_promise: needs_promise(project),
        active: active.as_ref(),
        base: head(project).await,
        now_ms: now_ms(),
    };
    let wish = held_to(wish, &rubric);
    let mut state = match start(wish, &setting) {
        Ok(state) => state,
        Err(refusal) => return Err(with_proposal(project, &refusal).await),
    };
    if let Some(refusal) = loop_files::open_questions(project).await {
        return Err(refusal);
    }
    if state.mode == Mode::Autonomous {
        let named = state.options.base_branch.take();
        state.options.base_branch = next_base(engine, project, named).await?;
    }
    if state.options.workers > 0 {
        return with_workers(engine, project, state).await.map(Begun::Workers);
    }
    let answer = Answer { call: call.to_owned(), ..Answer::default() };
    state.answer = Some(answer).filter(|_| !call.is_empty());
    let branch = own_branch(engine, project, &mut state).await?;
    let stored = exam::begin(engine, project, &mut state).await;
    if let Err(error) = stored {
        if let Some(branch) = branch {
            take_back(project, &branch).await;
        }
        return Err(text(error));
    }
    if let Some(session) = session {
        engine.ledger().bind_to_loop(session, &project.root, state.language());
    }
    remember(engine, project, &state).await;
    prepare(engine, project, &state);
    Ok(Begun::Loop(Box::new(state)))
}

/// A refusal, and what would work in this project.
async fn with_proposal(project: &Project, refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoChecks => {
            let project = project.clone();
            let proposed = blocking(move || criteria::proposals(&project)).await;
            loops::no_checks(&proposed.unwrap_or_default())
        }
        Refusal::NoRubric => loops::no_rubric(),
        other => other.to_string(),
    }
}

/// Whether a loop is what this call started: its answer was lost, and it is asked again.
fn is_of_call(state: &LoopState, call: &str) -> bool {
    !call.is_empty() && state.answer.as_ref().is_some_and(|answer| answer.call == call)
}

/// Whether the project has checks, and its rubric.
async fn standards(project: &Project) -> (bool, Rubric) {
    let project = project.clone();
    let found = blocking(move || {
        let has_own = project.root.join(AUTOCHECKS).is_file();
        let has_checks =
            has_own || !criteria::plan(&project, CheckScope::Configured).commands.is_empty();
        (has_checks, rubrics::on_disk(&project.root))
    });
    found.await.unwrap_or_default()
}

/// The wish with what the rubric adds to it.
fn held_to(mut wish: Wish, rubric: &Rubric) -> Wish {
    wish.hitl_threshold = wish.hitl_threshold.or(rubric.hitl_threshold);
    wish
}

/// Whether the project's options ask every loop for its promise.
pub(super) fn needs_promise(project: &Project) -> bool {
    project.config.success_criteria.contains(&Criterion::Marker)
}

/// Makes the branch of an autonomous loop; others have none.
async fn own_branch(
    engine: &Engine,
    project: &Project,
    state: &mut LoopState,
) -> Result<Option<Branch>, String> {
    if state.mode != Mode::Autonomous {
        return Ok(None);
    }
    alone(engine, project).await?;
    let name = branch_name(&state.id, state.created_ms);
    let base = state.options.base_branch.as_deref();
    let branch = begin_branch(project, (&name, base), state.created_ms).await?;
    state.branch = Some(branch.name.clone());
    state.options.base_branch = Some(branch.base.clone());
    state.base = head(project).await;
    Ok(Some(branch))
}

/// A loop like this one for each worker.
async fn with_workers(
    engine: &Arc<Engine>,
    project: &Project,
    state: LoopState,
) -> Result<Vec<Worker>, String> {
    let (_, base) = start_of(project, state.options.base_branch.as_deref()).await?;
    let (root, reference) = (project.root.clone(), branches::full(&base));
    let commit = read(move || branches::commit_of(&root, &reference)).await;
    let commit = commit.map_err(|error| error.to_string())?;
    let now_ms = state.created_ms;
    let one = |_| {
        let id = loop_id();
        let branch = branch_name(&id, now_ms);
        (id, branch)
    };
    let names: Vec<(String, String)> = (0..state.options.workers).map(one).collect();
    let make = |id: &str, branch: &Branch| {
        let base_branch = Some(branch.base.clone());
        let options = Options { base_branch, workers: 0, ..state.options.clone() };
        let (id, branch, base) = (id.to_owned(), Some(branch.name.clone()), commit.clone());
        LoopState { id, session_id: None, branch, base, options, ..state.clone() }
    };
    let workers = start_workers(engine, project, &names, Some(&base), (now_ms, make)).await?;
    for worker in &workers {
        let there = Project { root: worker.root.clone(), ..project.clone() };
        if let Some(state) = &worker.state {
            remember(engine, &there, state).await;
        }
    }
    Ok(workers)
}

/// What a loop goes back to later, as it is now: its first checkpoint, its notes. What cannot be
/// kept is told where it is missed.
async fn remember(engine: &Arc<Engine>, project: &Project, state: &LoopState) {
    keep_start(engine, project, state.id.clone()).await;
    if state.options.structured_memory {
        for notice in loop_files::at_start(engine, project).await {
            tracing::warn!(notice, id = state.id, "the notes of a loop were not made");
        }
    }
}

/// Keeps the first checkpoint; in a large project it is finished while the agent begins.
async fn keep_start(engine: &Arc<Engine>, project: &Project, id: String) {
    let (engine, project) = (Arc::clone(engine), project.clone());
    let kept = tokio::spawn(async move {
        let name = (id, checkpoints::START.to_owned());
        let kept = match checkpoints::look(&engine, &project).await {
            Ok(look) => checkpoints::keep(&engine, &project, look, name, None).await,
            Err(gap) => Err(gap),
        };
        if let Err(gap) = kept {
            tracing::warn!(%gap, "the first checkpoint of a loop was not kept");
        }
    });
    let most = Duration::from_millis(START_CHECKPOINT_MS_MAX);
    if tokio::time::timeout(most, kept).await.is_err() {
        tracing::info!("the first checkpoint of a loop takes longer");
    }
}

async fn head(project: &Project) -> Option<String> {
    let root = project.root.clone();
    blocking(move || git::base(&root)).await.flatten()
}
