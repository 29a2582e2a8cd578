//! `pipeline start`: begins a pipeline together with its loop. A root has at most one active pipeline.

use std::sync::Arc;

use super::pipeline_call::PipelineCall;
use crate::agent_session::named_session;
use crate::engine::{Engine, now_ms, run_blocking};
use crate::exam::rubrics;
use crate::ledger::PendingStart;
use crate::loops::loop_start::{LoopStartOutcome, refuse_for_another_session, start_loop};
use crate::loops::{loop_cancel, session_loop};
use crate::pipeline::commit_survey::note_start;
use crate::pipeline::worktree_end::pipeline_of_worktree;
use crate::pipeline::{pipeline_end, todo_worktrees};
use crate::project::Project;
use moai_base::hash::ContentHash;
use moai_base::limits::{LOOP_WORKERS_MAX, PIPELINE_GOAL_BYTES_MAX, SPECS_MAX};
use moai_base::redaction::redact;
use moai_host::store::StoreError;
use moai_host::store::loops::LoopQuery;
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::options::LoopStartOptions;
use moai_loops::start::LoopRequest;
use moai_loops::state::{LoopState, Mode};
use moai_pipeline::spec::{SPECS_FOLDER, SpecId};
use moai_pipeline::state::{PipelineKind, PipelineState};
use moai_protocol::control::CommandReply;
use moai_report::pipeline as words;
use moai_report::pipeline_exam::in_worktree_of;

pub(super) async fn start(
    call: &PipelineCall<'_>,
    request: PipelineStart,
    session: Option<String>,
) -> Result<CommandReply, String> {
    refuse_for_another_session(call.engine, call.caller, session.as_deref())?;
    let session = session.or_else(|| named_session(call.engine, call.caller));
    let state = begin(call.engine, &call.project, request, session.as_deref()).await?;
    if let Some(session) = &session {
        let start = PendingStart::OfLoop { more: String::new() };
        call.engine.ledger().session(session).pending_start = Some(start);
    }
    call.reply(&state, words::instructions(&state)).await
}

/// The kind with this name.
pub(super) fn kind_of(name: &str) -> Result<PipelineKind, String> {
    PipelineKind::from_name(name).ok_or_else(|| format!("unknown kind {name:?}"))
}

/// A pipeline that is to begin.
pub(crate) struct PipelineStart {
    pub(crate) kind: PipelineKind,
    pub(crate) goal: String,
    /// True if the main agent may write source files itself.
    pub(crate) solo: bool,
    /// TODOs that may be worked on in worktrees at the same time.
    pub(crate) workers: Option<u32>,
    /// Tokens that it may use.
    pub(crate) max_tokens: Option<u64>,
}

impl PipelineStart {
    /// A start without options.
    pub(crate) fn new(kind: PipelineKind, goal: String) -> Self {
        Self { kind, goal, solo: false, workers: None, max_tokens: None }
    }

    /// Checks that these options can be combined; the error is the refusal.
    fn check_workers(&self) -> Result<(), String> {
        let Some(workers) = self.workers else { return Ok(()) };
        if !(1..=LOOP_WORKERS_MAX).contains(&workers) {
            return Err(workers_range(&workers.to_string()));
        }
        if self.solo {
            return Err(words::workers_without_solo());
        }
        if !self.kind.has_plan() {
            return Err(words::workers_need_plan());
        }
        Ok(())
    }
}

/// The refusal of a number of workers.
pub(super) fn workers_range(given: &str) -> String {
    words::workers_out_of_range(given, LOOP_WORKERS_MAX)
}

/// Starts a pipeline and its loop; the error is the reason for the user.
pub(crate) async fn begin(
    engine: &Arc<Engine>,
    project: &Project,
    request: PipelineStart,
    session: Option<&str>,
) -> Result<PipelineState, String> {
    request.check_workers()?;
    let PipelineStart { kind, goal, solo, workers, max_tokens } = request;
    if goal.trim().is_empty() {
        return Err("a pipeline needs a goal: say what is to be reached".to_owned());
    }
    if goal.len() > PIPELINE_GOAL_BYTES_MAX {
        let most = PIPELINE_GOAL_BYTES_MAX / 1024;
        return Err(format!(
            "the goal is longer than {most} KiB: write it to a file and name that"
        ));
    }
    if let Some(other) = pipeline_of_worktree(engine, project).await {
        return Err(in_worktree_of(&other));
    }
    if let Some(active) = active_pipeline(engine, project).await? {
        return Err(format!(
            "pipeline {active} is already active: cancel it first (moai-ralph pipeline cancel)"
        ));
    }
    if workers.is_some() {
        todo_worktrees::base_branch(project).await?;
    }
    let (id, spec) = (pipeline_id(), next_spec(project, &goal).await);
    let mut state = PipelineState::begin(id, kind, redact(goal.clone()), spec, now_ms());
    state.is_solo = solo;
    state.workers = workers.unwrap_or_default();
    state.max_tokens = max_tokens;
    let started = start_pipeline_loop(engine, project, &state, goal, session).await?;
    state.loop_id = started.id;
    state.base = started.base;
    note_start(project, &mut state).await;
    let stored = engine.store.insert_pipeline(&project.key, &project.root, state.clone()).await;
    if let Err(error) = stored {
        let which = LoopQuery::Id(state.loop_id.clone());
        if let Err(error) = loop_cancel::cancel_loop(engine, project, which).await {
            tracing::warn!(%error, "the loop of a pipeline that did not begin was not cancelled");
        }
        return Err(match error {
            StoreError::Conflict(_) => "another pipeline was started at the same moment".to_owned(),
            error => error.to_string(),
        });
    }
    Ok(state)
}

/// Starts a loop that belongs to a pipeline.
pub(super) async fn start_pipeline_loop(
    engine: &Arc<Engine>,
    project: &Project,
    state: &PipelineState,
    goal: String,
    session: Option<&str>,
) -> Result<LoopState, String> {
    let is_reviewed = state.kind == PipelineKind::Full && has_criteria(project).await;
    let options = LoopStartOptions {
        max_iterations: Some(state.kind.iterations_max()),
        max_tokens: state.max_tokens,
        mode: Some(if is_reviewed { Mode::Judge } else { Mode::Basic }),
        // The plan takes the place of the research phase.
        research: Some(false),
        ..LoopStartOptions::default()
    };
    let pipeline = Some(state.id.clone());
    let request = LoopRequest { prompt: goal, options, pipeline, ..LoopRequest::default() };
    match start_loop(engine, project, request, session, "").await {
        Ok(LoopStartOutcome::Loop(started)) => Ok(*started),
        Ok(LoopStartOutcome::Workers(_)) => Err("a pipeline has one loop".to_owned()),
        Err(refusal) => Err(refusal.reason),
    }
}

/// True if the project has criteria for a review.
async fn has_criteria(project: &Project) -> bool {
    let root = project.root.clone();
    let rubric = run_blocking(move || rubrics::rubric_on_disk(&root)).await;
    rubric.is_some_and(|rubric| !rubric.criteria.is_empty())
}

/// The active pipeline of the root. One whose loop ended without it, such as in a restored store,
/// ends now.
async fn active_pipeline(
    engine: &Arc<Engine>,
    project: &Project,
) -> Result<Option<String>, String> {
    let (key, root) = (&project.key, &project.root);
    let found = engine.store.find_pipeline(key, root, PipelineQuery::Latest).await;
    let found = found.map_err(|error| error.to_string())?;
    let Some(active) = found.filter(PipelineState::is_active) else { return Ok(None) };
    let which = LoopQuery::Id(active.loop_id.clone());
    let held = engine.store.find_loop(key, root, which).await.map_err(|error| error.to_string())?;
    match held {
        Some(state) if state.status.is_active() => Ok(Some(active.id)),
        held => {
            Box::pin(pipeline_end::end_without_loop(engine, project, &active, held.as_ref()))
                .await?;
            Ok(None)
        }
    }
}

/// A new pipeline id.
fn pipeline_id() -> String {
    session_loop::loop_id().replacen("loop-", "pipeline-", 1)
}

/// The id of the pipeline's specification: one without a folder yet.
async fn next_spec(project: &Project, goal: &str) -> String {
    let (root, goal) = (project.root.clone(), goal.to_owned());
    let found = run_blocking(move || {
        let names = root.join(SPECS_FOLDER).read_dir().into_iter().flatten().flatten();
        let names = names.take(SPECS_MAX).filter_map(|entry| entry.file_name().into_string().ok());
        let taken: Vec<SpecId> = names.filter_map(|name| SpecId::parse(&name)).collect();
        SpecId::for_title(&goal, &taken).as_str().to_owned()
    });
    match found.await {
        Some(spec) => spec,
        None => format!("SPEC-{}", ContentHash::of_bytes(pipeline_id().as_bytes()).short_hex()),
    }
}
