//! `loop start`: starts a loop, unless the session already has an active one.

use std::sync::Arc;
use std::time::Duration;

use crate::agent_session::{proven_session, session_of_tool};
use crate::branches::loop_branch::{
    LoopBranch, branch_name, branch_start, create_branch, ensure_no_other_branch, next_base,
    read_git, undo_branch,
};
use crate::engine::{Engine, measure_blocking, now_ms};
use crate::evidence::base_preparation::prepare_base;
use crate::exam;
use crate::exam::check_plan::check_plan;
use crate::exam::proposals::proposals;
use crate::exam::rubrics;
use crate::ledger::PendingStart;
use crate::loops::loop_files;
use crate::loops::loop_selection::loop_reply;
use crate::loops::session_loop::{checks_of_loop, loop_id};
use crate::loops::workers::start_workers;
use crate::person;
use crate::project::Project;
use crate::replies::{INVALID, REFUSED, load_project};
use crate::restore::checkpoints;
use moai_base::limits::START_CHECKPOINT_MS_MAX;
use moai_base::verdict::Gap;
use moai_host::git::{self, branches};
use moai_host::store::StoreError;
use moai_host::store::loops::LoopQuery;
use moai_loops::control;
use moai_loops::criteria::{AUTOCHECKS, CheckCriterion, CheckScope};
use moai_loops::judge::rubric::Rubric;
use moai_loops::options::{BaselineMode, LoopOptions, LoopStartOptions};
use moai_loops::start::{LoopRequest, LoopStartError, StartContext, initial_state};
use moai_loops::state::{LoopState, Mode, Status, StopAnswer};
use moai_protocol::control::{CallerContext, CommandReply, LoopStartRequest};
use moai_protocol::documents::json_text;
use moai_report::agent::EditText;
use moai_report::loops;
use moai_report::notice;
use moai_report::workers::{self, LoopWorker};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: LoopStartRequest,
) -> CommandReply {
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    if let Err(reason) = refuse_for_another_session(engine, caller, request.session.as_deref()) {
        return CommandReply::failure(REFUSED, &format!("moai-ralph: {reason}"));
    }
    let (json, call) = (request.json, request.call.clone());
    let session = request.session.clone().or_else(|| session_of_tool(engine, caller));
    let mut continues = None;
    if person::is_agent(engine, caller) || caller.is_tool() {
        continues = match escaped_loop(engine, &project, session.clone()).await {
            Ok(escaped) => escaped,
            Err(error) => return CommandReply::failure(REFUSED, &format!("moai-ralph: {error}")),
        };
    }
    let LoopStartRequest { prompt, options, .. } = request;
    let request = LoopRequest { prompt, options, continues, ..LoopRequest::default() };
    match start_loop(engine, &project, request, session.as_deref(), &call).await {
        Ok(LoopStartOutcome::Loop(state)) => {
            if let Some(session) = &state.session_id {
                let checks = checks_of_loop(engine, &project, &state).await;
                let notice = Some(loops::started_notice(&state, &checks));
                let start = EditText { text: loops::start_instructions(&state, &checks), notice };
                engine.ledger().session(session).pending_start = Some(PendingStart::Text(start));
            }
            loop_reply(&state, caller, json, loops::loop_status(&state))
        }
        Ok(LoopStartOutcome::Workers(started)) if json => {
            CommandReply::success(json_text(&workers::document(&started)))
        }
        Ok(LoopStartOutcome::Workers(started)) => CommandReply::success(workers::started(&started)),
        Err(refusal) => {
            let code = if refusal.is_usage_error { INVALID } else { REFUSED };
            CommandReply::failure(code, &format!("moai-ralph: {}", refusal.reason))
        }
    }
}

/// An agent may name its own session only, or it could hold the Stops of another one. The error is the reason for
/// the refusal.
pub(crate) fn refuse_for_another_session(
    engine: &Engine,
    caller: &CallerContext,
    named: Option<&str>,
) -> Result<(), String> {
    let is_agent = person::is_agent(engine, caller) || caller.is_tool();
    match (named.filter(|_| is_agent), proven_session(engine, caller)) {
        (Some(named), Ok(Some(own))) if named != own => Err(loops::started_for_another(&own)),
        _ => Ok(()),
    }
}

/// The id of the loop whose base and exam the next loop keeps, or an agent could choose both: the last one of
/// the session, or without a session of the project, if its agent cancelled it, and the last one of the
/// project if it ended as gaming, whichever session the agent names.
async fn escaped_loop(
    engine: &Engine,
    project: &Project,
    session: Option<String>,
) -> Result<Option<String>, StoreError> {
    let find = async |query| {
        let found = engine.store.find_loop(&project.key, &project.root, query).await?;
        Ok::<_, StoreError>(found.filter(|state| state.branch.is_none()))
    };
    let own = find(session.map_or(LoopQuery::Latest, LoopQuery::LatestOf)).await?;
    let escaped = match own.filter(control::is_left_by_agent) {
        Some(own) => Some(own),
        None => find(LoopQuery::Latest).await?.filter(|state| state.status == Status::Gaming),
    };
    Ok(escaped.map(|state| state.id))
}

/// Outcome of a start.
pub(crate) enum LoopStartOutcome {
    /// A loop of the session, or one to be claimed.
    Loop(Box<LoopState>),
    /// Worktrees with a loop each.
    Workers(Vec<LoopWorker>),
}

/// Why no loop was started.
#[derive(Debug)]
pub(crate) struct StartRefusal {
    /// The reason for the user.
    pub(crate) reason: String,
    /// True if the task or an option is unusable, in whatever state the project is.
    pub(crate) is_usage_error: bool,
}

impl From<String> for StartRefusal {
    fn from(reason: String) -> Self {
        Self { reason, is_usage_error: false }
    }
}

/// Starts and stores a loop, or one for each worker. The same `call` again gets the loop that it started.
pub(crate) async fn start_loop(
    engine: &Arc<Engine>,
    project: &Project,
    request: LoopRequest,
    session: Option<&str>,
    call: &str,
) -> Result<LoopStartOutcome, StartRefusal> {
    if project.is_unbounded(engine).await {
        return Err(notice::no_project(&project.root).into());
    }
    let session = session.filter(|id| !id.is_empty());
    let which = session.map_or(LoopQuery::ActiveUnclaimed, |id| LoopQuery::ActiveOf(id.to_owned()));
    let active = engine
        .store
        .find_loop(&project.key, &project.root, which)
        .await
        .map_err(|error| error.to_string())?;
    if let Some(state) = active.as_ref().filter(|state| was_started_by(state, call)) {
        return Ok(LoopStartOutcome::Loop(Box::new(state.clone())));
    }
    let (has_checks, rubric) = checks_and_rubric(project).await.map_err(|gap| gap.to_string())?;
    if let Some(gap) = &rubric.gap {
        return Err(gap.to_string().into());
    }
    // The rubric's limit is a default, like the project's options.
    let rubric_limits =
        LoopStartOptions { hitl_threshold: rubric.hitl_threshold, ..LoopStartOptions::default() };
    let defaults = rubric_limits.or(&project.config.loop_defaults);
    let setting = StartContext {
        id: &loop_id(),
        session_id: session,
        defaults: &defaults,
        has_checks,
        has_rubric: !rubric.is_empty(),
        needs_promise: needs_promise(project),
        active: active.as_ref(),
        base: start_commit(project).await?,
        now_ms: now_ms(),
    };
    let mut state = match initial_state(request, &setting) {
        Ok(state) => state,
        Err(refusal) => {
            let reason = refusal_text(project, &refusal).await;
            return Err(StartRefusal { reason, is_usage_error: refusal.is_usage_error() });
        }
    };
    if let Some(refusal) = loop_files::open_questions(project).await {
        return Err(refusal.into());
    }
    let runs_git = state.mode == Mode::Autonomous || state.options.workers > 0;
    if let Some(gap) = project.trust.gap().filter(|_| runs_git) {
        // git runs hooks, filters and helpers from a repository's configuration.
        return Err(format!("branches and worktrees need a trusted project: {gap}").into());
    }
    if state.mode == Mode::Autonomous {
        let named = state.options.base_branch.take();
        state.options.base_branch = next_base(engine, project, named).await?;
    }
    if state.options.workers > 0 {
        let workers = Box::pin(with_workers(engine, project, state)).await?;
        return Ok(LoopStartOutcome::Workers(workers));
    }
    if let Some(earlier) = state.continues.clone().map(LoopQuery::Id) {
        let found = engine.store.find_loop(&project.key, &project.root, earlier).await;
        let found = found.map_err(|error| error.to_string())?;
        state.base = found.map_or(state.base, |earlier| earlier.base);
    }
    let answer = StopAnswer { call: call.to_owned(), ..StopAnswer::default() };
    state.answer = Some(answer).filter(|_| !call.is_empty());
    let branch = own_branch(engine, project, &mut state).await?;
    let stored = Box::pin(exam::store_new_loop(engine, project, &mut state)).await;
    if let Err(error) = stored {
        if let Some(branch) = branch {
            undo_branch(project, &branch).await;
        }
        return Err(error.to_string().into());
    }
    if let Some(session) = session {
        engine.ledger().session(session).bind_to_loop(&project.root, &state);
    }
    keep_start_state(engine, project, &state).await;
    if state.options.baseline == BaselineMode::Base {
        prepare_base(engine, project, state.charter());
    }
    Ok(LoopStartOutcome::Loop(Box::new(state)))
}

/// Text of a refusal, with an alternative that works in this project.
async fn refusal_text(project: &Project, refusal: &LoopStartError) -> String {
    match refusal {
        LoopStartError::NoChecks => {
            let project = project.clone();
            match measure_blocking(move || proposals(&project)).await {
                Ok(proposed) => loops::no_checks(&proposed),
                Err(gap) => gap.to_string(),
            }
        }
        LoopStartError::NoRubric => loops::no_rubric(),
        other => other.to_string(),
    }
}

/// True if this call started the loop: its answer was lost, and the client repeats the request.
fn was_started_by(state: &LoopState, call: &str) -> bool {
    !call.is_empty() && state.answer.as_ref().is_some_and(|answer| answer.call == call)
}

/// True if the project has checks; and its rubric.
async fn checks_and_rubric(project: &Project) -> Result<(bool, Rubric), Gap> {
    let project = project.clone();
    measure_blocking(move || {
        let has_own = project.root.join(AUTOCHECKS).is_file();
        let has_checks =
            has_own || !check_plan(&project, CheckScope::Configured).commands.is_empty();
        (has_checks, rubrics::rubric_on_disk(&project.root))
    })
    .await
}

/// True if the project's options require a promise of every loop.
pub(crate) fn needs_promise(project: &Project) -> bool {
    project.config.success_criteria.contains(&CheckCriterion::Marker)
}

/// Makes the branch of an autonomous loop; loops of other modes have none.
async fn own_branch(
    engine: &Engine,
    project: &Project,
    state: &mut LoopState,
) -> Result<Option<LoopBranch>, String> {
    if state.mode != Mode::Autonomous {
        return Ok(None);
    }
    ensure_no_other_branch(engine, project).await?;
    let name = branch_name(&state.id, state.created_ms);
    let base = state.options.base_branch.as_deref();
    let branch = create_branch(project, &name, base, state.created_ms).await?;
    state.branch = Some(branch.name.clone());
    state.options.base_branch = Some(branch.base.clone());
    state.base = start_commit(project).await?;
    Ok(Some(branch))
}

/// Starts a copy of this loop for each worker.
async fn with_workers(
    engine: &Arc<Engine>,
    project: &Project,
    state: LoopState,
) -> Result<Vec<LoopWorker>, String> {
    let (_, base) = branch_start(project, state.options.base_branch.as_deref()).await?;
    let (root, reference) = (project.root.clone(), branches::branch_ref(&base));
    let commit = read_git(move || branches::resolve_commit(&root, &reference)).await;
    let commit = commit.map_err(|error| error.to_string())?;
    let now_ms = state.created_ms;
    let names: Vec<(String, String)> = (0..state.options.workers)
        .map(|_| {
            let id = loop_id();
            let branch = branch_name(&id, now_ms);
            (id, branch)
        })
        .collect();
    let workers = start_workers(
        engine,
        project,
        &names,
        Some(&base),
        now_ms,
        |id: &str, branch: &LoopBranch| {
            let base_branch = Some(branch.base.clone());
            let options = LoopOptions { base_branch, workers: 0, ..state.options.clone() };
            let (id, branch, base) = (id.to_owned(), Some(branch.name.clone()), commit.clone());
            LoopState { id, session_id: None, branch, base, options, ..state.clone() }
        },
    )
    .await?;
    for worker in &workers {
        let there = Project { root: worker.root.clone(), ..project.clone() };
        if let Some(state) = &worker.state {
            keep_start_state(engine, &there, state).await;
        }
    }
    Ok(workers)
}

/// Keeps the loop's first checkpoint and creates its notes. Failures are only logged here; the use
/// that misses them reports them.
async fn keep_start_state(engine: &Arc<Engine>, project: &Project, state: &LoopState) {
    keep_start(engine, project, state).await;
    if state.options.structured_memory {
        for notice in loop_files::create_memory_folder(engine, project).await {
            tracing::warn!(notice, id = state.id, "the notes of a loop were not created");
        }
    }
}

/// Keeps the first checkpoint; in a large project it finishes while the agent already works.
async fn keep_start(engine: &Arc<Engine>, project: &Project, state: &LoopState) {
    let (engine, project) = (Arc::clone(engine), project.clone());
    let (id, earlier) = (state.id.clone(), state.continues.clone());
    let kept = tokio::spawn(async move {
        let name = checkpoints::START_CHECKPOINT.to_owned();
        let taken = match earlier {
            Some(earlier) => checkpoints::start_snapshot(&engine, &project, &earlier).await,
            None => checkpoints::snapshot_tree(&engine, &project).await,
        };
        let kept = match taken {
            Ok(snapshot) => {
                checkpoints::keep_checkpoint(&engine, &project, snapshot, id, name, None).await
            }
            Err(gap) => Err(gap),
        };
        if let Err(gap) = kept {
            tracing::warn!(%gap, "the first checkpoint of a loop was not saved");
        }
    });
    let limit = Duration::from_millis(START_CHECKPOINT_MS_MAX);
    if tokio::time::timeout(limit, kept).await.is_err() {
        tracing::info!("the first checkpoint of a loop is still being written");
    }
}

/// The commit that the changes of a loop count from; the error is a refusal.
async fn start_commit(project: &Project) -> Result<Option<String>, String> {
    let root = project.root.clone();
    read_git(move || git::base_commit(&root)).await.map_err(|error| error.to_string())
}
