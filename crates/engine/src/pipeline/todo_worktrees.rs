//! Worktrees for TODOs that can be worked on at the same time: each gets a loop that waits for a session,
//! with the TODO's frozen commands in its exam, and is merged like a loop. The Stops of the pipeline's own
//! session see which loops have ended, run the commands of merged TODOs, and make the next worktrees. While
//! any is in use, such a Stop ends the turn.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::branches::branch_merge::new_files::is_written_by_engine;
use crate::branches::loop_branch::{branch_heads, branch_start, is_merged_in_part, read_git};
use crate::engine::{Engine, now_ms, panic_gap, run_blocking};
use crate::hooks::hook_call::HookCall;
use crate::loops::loop_files;
use crate::loops::loop_start::{LoopStartOutcome, start_loop};
use crate::loops::workers::{
    close_worker, list_workers, renew_worker, tree_content, workers_folder,
};
use crate::pipeline::approved_exam;
use crate::pipeline::pipeline_call::PipelineCall;
use crate::pipeline::pipeline_stop::with_boxes;
use crate::pipeline::plan_commands::{commands_of_todo, freeze_commands};
use crate::pipeline::saved_step::{SavedStep, save_step};
use crate::pipeline::worker_stop::run_todo;
use crate::pipeline::worktree_end::{MissedBase, is_merged_end, missed_base, worktree_statuses};
use crate::project::Project;
use moai_host::git::{branches, hidden_work};
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_loops::control::{pause_loop_for, reopen_loop};
use moai_loops::options::LoopStartOptions;
use moai_loops::start::LoopRequest;
use moai_loops::state::{LoopState, Mode, PauseReason};
use moai_pipeline::approved_plan::ApprovedPlan;
use moai_pipeline::plan::TodoId;
use moai_pipeline::state::PipelineState;
use moai_pipeline::step::{PipelineDecision, PipelineEvent};
use moai_pipeline::worktrees::{TodoWorktree, WorktreeEnding, WorktreeStage};
use moai_protocol::hook::HookOutput;
use moai_report::loops::end_notice;
use moai_report::notice::not_saved;
use moai_report::pipeline_worktrees::{self as words, TodoWorktreeStatus, WorktreeFolder};
use moai_report::workers::LoopWorker;

/// The branch that worktrees begin with and are merged into: the one that is checked out. The error is the
/// refusal.
pub(super) async fn base_branch(project: &Project) -> Result<String, String> {
    let place = &project.root;
    let (status, base) =
        branch_start(project, None).await.map_err(|why| words::no_place(place, &why))?;
    workers_folder(project).await.map_err(|why| words::no_place(place, &why))?;
    if let Some(gap) = project.trust.gap() {
        return Err(words::no_place(place, &format!("the project is not trusted: {gap}")));
    }
    let root = project.root.clone();
    let uncommitted = run_blocking(move || {
        let mut files = status.uncommitted.clone();
        files.retain(|file| !is_written_by_engine(&root, &status.work_tree.join(file)));
        files
    });
    let Some(uncommitted) = uncommitted.await else {
        return Err(words::no_place(place, &panic_gap().detail));
    };
    if uncommitted.is_empty() { Ok(base) } else { Err(words::uncommitted(place, &uncommitted)) }
}

/// The answer to a Stop while TODOs are worked on in worktrees, or while the branch that is checked out lacks
/// merged work; `None` if the Stop is measured.
pub(crate) async fn answer_stop(
    call: &HookCall<'_>,
    state: &LoopState,
    pipeline: PipelineState,
    deadline: Instant,
) -> Option<HookOutput> {
    let (engine, project) = (call.engine, &call.project);
    if pipeline.workers == 0 {
        return None;
    }
    let statuses = worktree_statuses(engine, project, &pipeline).await;
    if let Some(MissedBase { base, branch }) = missed_base(project, &statuses).await {
        let text = words::on_other_branch(&pipeline, &base, branch.as_deref());
        return Some(HookOutput::Notice(text));
    }
    if let Some(output) = pause_if_exam_changed(call, state).await {
        return Some(output);
    }
    let failed_before = pipeline.failed_todos();
    let mut notices = Vec::new();
    let ends = note_ends(call, state, pipeline, &statuses, deadline, &mut notices);
    let pipeline = ends.await?;
    notices.extend(words::failed_in_worktrees(&pipeline, &failed_before));
    let (pipeline, unmade) = make_worktrees(engine, project, pipeline).await;
    notices.extend(unmade);
    let statuses = worktree_statuses(engine, project, &pipeline).await;
    notices.extend(words::left_lines(&pipeline, &statuses));
    if pipeline.working_trees().next().is_none() {
        let mut ledger = engine.ledger();
        let session = ledger.session(&call.input.session_id);
        for notice in notices {
            if session.report_once(&notice) {
                session.user_notices.push(notice);
            }
        }
        return None;
    }
    let mut texts = vec![words::awaits_worktrees(&pipeline, &statuses)];
    texts.extend(missing_plan(project, &pipeline).await);
    texts.extend(notices);
    Some(HookOutput::Notice(texts.join("\n")))
}

/// The line for a plan whose file no longer exists.
pub(super) async fn missing_plan(project: &Project, pipeline: &PipelineState) -> Option<String> {
    if !pipeline.is_active() || pipeline.approved.is_none() {
        return None;
    }
    let plan = loop_files::file_text(project, &pipeline.plan_path()).await;
    plan.is_none().then(|| words::plan_is_missing(pipeline))
}

/// Pauses the loop of a pipeline if something other than its session changed its exam: nothing is accepted,
/// and no worktree is made, with checks that the plan was not approved with.
async fn pause_if_exam_changed(call: &HookCall<'_>, state: &LoopState) -> Option<HookOutput> {
    let (engine, project) = (call.engine, &call.project);
    let changes = approved_exam::foreign_changes(engine, project, &state.charter()).await;
    if changes.is_empty() {
        return None;
    }
    let note = Some(changes.join(", "));
    let paused = pause_loop_for(state, PauseReason::ExamChanged, note, now_ms()).ok()?;
    match engine.store.advance_loop(&project.key, state, paused.clone()).await {
        Ok(SaveOutcome::Saved) => Some(HookOutput::Notice(end_notice(&paused))),
        Ok(SaveOutcome::Overtaken) => None,
        Err(error) => Some(HookOutput::Notice(not_saved(&state.id, &error.to_string()))),
    }
}

/// Records the loops that have ended, and those whose folder is missing; adds notices for the user. `None` if
/// the pipeline ended meanwhile.
async fn note_ends(
    call: &HookCall<'_>,
    state: &LoopState,
    mut pipeline: PipelineState,
    statuses: &[TodoWorktreeStatus],
    deadline: Instant,
    notices: &mut Vec<String>,
) -> Option<PipelineState> {
    let (engine, project) = (call.engine, &call.project);
    let is_working = |status: &&TodoWorktreeStatus| status.tree.stage == WorktreeStage::Working;
    for status in statuses.iter().filter(is_working) {
        let tree = &status.tree;
        let is_lost = !matches!(status.folder, WorktreeFolder::Here(_));
        let ending = match &status.state {
            Some(held) if held.status.is_active() && !is_lost => continue,
            Some(held) if held.status.is_active() => {
                close_worker(engine, project, &tree.root, &tree.loop_id).await;
                WorktreeEnding::Unmerged(words::folder_is_gone(status))
            }
            Some(_) if status.is_merged_end => {
                let runs = run_todo(call, project, state, &pipeline, &tree.todo, deadline).await;
                WorktreeEnding::Merged(runs.commands)
            }
            Some(held) => WorktreeEnding::Unmerged(words::unmerged_reason(held)),
            None => WorktreeEnding::Unmerged("its loop is gone".to_owned()),
        };
        let event = PipelineEvent::WorktreeEnded { loop_id: tree.loop_id.clone(), ending };
        let SavedStep { next, decisions } =
            Box::pin(save_step(engine, project, pipeline, event)).await?;
        let boxes = decisions.into_iter().filter_map(|decision| match decision {
            PipelineDecision::SetBox { todo, status } => Some((todo, status)),
            _ => None,
        });
        let boxes: Vec<_> = boxes.collect();
        if !boxes.is_empty() {
            let change = move |text: &str| with_boxes(text, &boxes);
            let path = next.plan_path();
            notices.extend(loop_files::change_file(engine, project, &path, change).await);
        }
        pipeline = next;
    }
    Some(pipeline)
}

/// Makes worktrees for TODOs that can be worked on now. Returns notices for the user.
async fn make_worktrees(
    engine: &Arc<Engine>,
    project: &Project,
    pipeline: PipelineState,
) -> (PipelineState, Vec<String>) {
    let todos = pipeline.todos_for_worktrees();
    if todos.is_empty() {
        return (pipeline, Vec::new());
    }
    let base = match base_branch(project).await {
        Ok(base) => base,
        Err(reason) => {
            let notice = words::no_worktrees(&pipeline, &todos, &reason);
            return (pipeline, vec![notice]);
        }
    };
    close_forgotten(engine, project, &pipeline).await;
    let (mut made, mut notices) = (Vec::new(), Vec::new());
    let mut taken = BTreeSet::new();
    for todo in todos {
        let reused = pipeline.worktrees.iter().find(|tree| {
            let is_free = pipeline.working_trees().all(|other| other.root != tree.root);
            is_free && tree.stage == WorktreeStage::Merged && !taken.contains(&tree.root)
        });
        if let Some(tree) = reused {
            taken.insert(tree.root.clone());
        }
        let task = TodoTask { pipeline: &pipeline, todo: &todo, base: &base };
        match Box::pin(start_todo(engine, project, &task, reused)).await {
            Ok(tree) => made.push(tree),
            Err(reason) => notices.push(words::no_worktrees(&pipeline, &[todo], &reason)),
        }
    }
    if made.is_empty() {
        return (pipeline, notices);
    }
    let event = PipelineEvent::WorktreesMade(made.clone());
    let saved = Box::pin(save_step(engine, project, pipeline.clone(), event)).await;
    let next = saved.map_or(pipeline, |saved| saved.next);
    // Another call may have made some at the same time, or the pipeline has ended.
    for tree in made.iter().filter(|tree| next.todo_of_loop(&tree.loop_id).is_none()) {
        close_worker(engine, project, &tree.root, &tree.loop_id).await;
    }
    (next, notices)
}

/// Makes worktrees after a command of the user. Returns lines about those in use and those that remain from
/// before.
pub(super) async fn worktree_lines(
    call: &PipelineCall<'_>,
    pipeline: PipelineState,
) -> (PipelineState, Vec<String>) {
    let (engine, project) = (call.engine, &call.project);
    let (pipeline, notices) = make_worktrees(engine, project, pipeline).await;
    let statuses = worktree_statuses(engine, project, &pipeline).await;
    let mut lines = Vec::new();
    if pipeline.working_trees().next().is_some() {
        lines.push(words::awaits_worktrees(&pipeline, &statuses));
    }
    lines.extend(notices);
    lines.extend(words::left_lines(&pipeline, &statuses));
    (pipeline, lines)
}

/// A TODO that gets a worktree.
struct TodoTask<'p> {
    pipeline: &'p PipelineState,
    todo: &'p TodoId,
    /// The branch that the worktree begins with and is merged into.
    base: &'p str,
}

/// Reuses the worktree that an earlier end of the pipeline left with work on a TODO: its loop continues with
/// the next session that is opened there. If its work was merged before that end, the next Stop of the project
/// sees that. `None` if there is no such worktree, or if it cannot be reused.
async fn take_up(engine: &Engine, project: &Project, task: &TodoTask<'_>) -> Option<TodoWorktree> {
    let tree = task.pipeline.closed_worktree(task.todo)?.clone();
    let which = LoopQuery::Id(tree.loop_id.clone());
    let held = engine.store.find_loop(&project.key, &tree.root, which).await.ok().flatten()?;
    let is_alike = held.options.base_branch.as_deref() == Some(task.base);
    if is_alike
        && is_merged_end(project, &held, &tree).await
        && is_merged_in_part(project, &tree.branch, task.base).await
    {
        return Some(TodoWorktree { stage: WorktreeStage::Working, ..tree });
    }
    let reopened = reopen_loop(&held, now_ms());
    let (root, branch) = (tree.root.clone(), tree.branch.clone());
    let status = read_git(move || branches::work_tree_status(&root)).await.ok()?;
    let is_on_branch = status.branch == Some(branch) && status.head.is_some();
    let is_there = is_on_branch && status.unfinished.is_none();
    if !is_there || !is_alike || !reopened.status.is_active() {
        return None;
    }
    let saved = engine.store.advance_loop(&project.key, &held, reopened).await;
    matches!(saved, Ok(SaveOutcome::Saved))
        .then_some(TodoWorktree { stage: WorktreeStage::Working, ..tree })
}

/// True if a worktree whose work is merged is unchanged since its loop ended.
async fn holds_no_work(project: &Project, tree: &TodoWorktree) -> bool {
    let (own, root, branch) = (project.root.clone(), tree.root.clone(), tree.branch.clone());
    let looked = read_git(move || {
        let mut status = branches::work_tree_status(&root)?;
        let tree = status.work_tree.clone();
        // Notes are removed before the next task.
        status.uncommitted.retain(|file| !is_written_by_engine(&root, &tree.join(file)));
        status.untracked.retain(|file| !is_written_by_engine(&root, &tree.join(file)));
        let is_on_branch = branch_heads(&root, &branch)?.other.is_none();
        let is_ours = hidden_work::is_of_same_repository(&own, &root);
        let content = tree_content(&own, &root, &status)?;
        Ok(is_ours && is_on_branch && content.is_none_or(|content| !content.is_work()))
    });
    looked.await.unwrap_or_default()
}

/// Starts the loop of one TODO, in a worktree of which the work is merged or in a new one.
async fn start_todo(
    engine: &Arc<Engine>,
    project: &Project,
    task: &TodoTask<'_>,
    reused: Option<&TodoWorktree>,
) -> Result<TodoWorktree, String> {
    if let Some(tree) = take_up(engine, project, task).await {
        return Ok(tree);
    }
    if let Some(tree) = reused {
        let there = Project { root: tree.root.clone(), ..project.clone() };
        // A merged loop has left nothing but notes; other changes are the work of someone else.
        if holds_no_work(project, tree).await
            && renew_worker(project, &tree.root).await
            && base_branch(&there).await.is_ok()
            && let Ok(LoopStartOutcome::Loop(held)) =
                start_loop(engine, &there, task.request(None), None, "").await
        {
            return task.freeze(engine, &there, *held).await;
        }
    }
    // No real session: a loop waiting in the pipeline's own root must not block the start.
    let session = Some(task.pipeline.id.as_str());
    let started = start_loop(engine, project, task.request(Some(1)), session, "").await;
    let started = started.map_err(|refusal| refusal.reason)?;
    let LoopStartOutcome::Workers(workers) = started else {
        return Err("no worktree was made".to_owned());
    };
    let Some(LoopWorker { root, state: Some(held), .. }) = workers.into_iter().next() else {
        return Err("no worktree was made".to_owned());
    };
    let there = Project { root, ..project.clone() };
    task.freeze(engine, &there, held).await
}

impl TodoTask<'_> {
    fn request(&self, workers: Option<u32>) -> LoopRequest {
        let options = LoopStartOptions {
            mode: Some(Mode::Autonomous),
            base_branch: Some(self.base.to_owned()),
            // The plan takes the place of the research phase.
            research: Some(false),
            workers,
            ..LoopStartOptions::default()
        };
        let prompt = words::todo_task(self.pipeline, self.todo);
        let pipeline = Some(self.pipeline.id.clone());
        LoopRequest { prompt, options, pipeline, ..LoopRequest::default() }
    }

    /// Adds the commands of the TODO to the exam of its loop; without them no worktree is made.
    async fn freeze(
        &self,
        engine: &Arc<Engine>,
        there: &Project,
        held: LoopState,
    ) -> Result<TodoWorktree, String> {
        let approved = self.pipeline.approved.as_ref();
        let plan = approved.map(ApprovedPlan::document);
        let path = self.pipeline.plan_path();
        let commands = plan.map(|plan| commands_of_todo(&plan, self.todo, &path));
        let earlier = Some(self.pipeline.loop_id.as_str());
        let commands = commands.unwrap_or_default();
        let frozen = freeze_commands(engine, there, &held.id, commands, earlier).await;
        match frozen {
            Ok(_) => Ok(TodoWorktree {
                todo: self.todo.clone(),
                root: there.root.clone(),
                branch: held.branch.unwrap_or_default(),
                loop_id: held.id,
                stage: WorktreeStage::Working,
            }),
            Err(reason) => {
                close_worker(engine, there, &there.root, &held.id).await;
                Err(reason)
            }
        }
    }
}

/// Ends loops that were started for this pipeline and are not noted in it, because a daemon ended.
async fn close_forgotten(engine: &Engine, project: &Project, pipeline: &PipelineState) {
    let workers = list_workers(engine, project).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "loops that a dead daemon started are not closed");
        Vec::new()
    });
    for LoopWorker { root, state, .. } in workers {
        let Some(held) = state.filter(|held| held.status.is_active()) else { continue };
        let is_ours = held.options.pipeline.as_ref() == Some(&pipeline.id);
        if is_ours && pipeline.todo_of_loop(&held.id).is_none() {
            close_worker(engine, project, &root, &held.id).await;
        }
    }
}
