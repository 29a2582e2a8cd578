//! While a pipeline runs, its main agent writes plans and documents, and workers write source files.

use crate::engine::{Engine, run_blocking};
use crate::ledger::transcripts::subagent_task;
use crate::pipeline::pipeline_of_loop::pipeline_with_loop;
use crate::pipeline::worktree_end::loop_of_other_session;
use crate::project::Project;
use crate::protection::{WrittenPath, writes_anywhere};
use moai_base::path::RelPath;
use moai_host::git::branches;
use moai_host::store::loops::LoopQuery;
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::state::LoopState;
use moai_pipeline::plan::TodoId;
use moai_pipeline::state::PipelineState;
use moai_pipeline::write_rules::{
    PipelineWriter, in_worktree_objection, other_session_objection, other_tree_objection,
    write_objection,
};
use moai_protocol::hook::{HookInput, HookOutput};
use moai_report::pipeline as words;

/// A path that no TODO lists.
const ANYWHERE: &str = "any/path";

/// Refuses a write by a tool that the pipeline of the loop does not allow.
pub(crate) async fn refused_write(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    input: &HookInput,
    written: &[WrittenPath],
) -> Option<HookOutput> {
    state.options.pipeline.as_ref()?;
    let mut written = written_by_tool(input, written).peekable();
    let is_unrestricted = writes_anywhere(input);
    if !is_unrestricted {
        written.peek()?;
    }
    let (pipeline, author) =
        tokio::join!(pipeline_with_loop(engine, project, state), WriteAuthor::of_call(input));
    let pipeline = pipeline?;
    let author = author.in_worktree_of(pipeline.todo_of_loop(&state.id));
    let main = if author.todo.is_some() {
        let root = project.root.clone();
        run_blocking(move || branches::main_work_tree(&root).ok().flatten()).await.flatten()
    } else {
        None
    };
    if is_unrestricted
        && let Some(objection) = write_objection(&pipeline, author.writer(), ANYWHERE)
    {
        return Some(HookOutput::Deny(words::write_refused(&pipeline, "*", &objection)));
    }
    written.find_map(|one| {
        let objection = match RelPath::below(&project.root, &one.path) {
            Some(path) => write_objection(&pipeline, author.writer(), path.as_str())?,
            None if author.todo.is_some() => {
                other_tree_objection(&pipeline, main.as_deref(), &project.root, &one.path)?
            }
            None => in_worktree_objection(&pipeline, &one.path)?,
        };
        Some(HookOutput::Deny(words::write_refused(&pipeline, &one.named, &objection)))
    })
}

/// Refuses a write by a tool in a session without a loop, while the pipeline of the project runs in another.
pub(crate) async fn refused_in_other_session(
    engine: &Engine,
    project: &Project,
    input: &HookInput,
    written: &[WrittenPath],
) -> Option<HookOutput> {
    let mut written = written_by_tool(input, written).peekable();
    let is_unrestricted = writes_anywhere(input);
    if !is_unrestricted {
        written.peek()?;
    }
    let (store, key, root) = (&engine.store, &project.key, &project.root);
    if !key.database(&engine.dirs.state).exists() {
        return None;
    }
    let found = store.find_pipeline(key, root, PipelineQuery::Latest).await.ok().flatten();
    let (pipeline, held) = match found.filter(PipelineState::is_active) {
        Some(pipeline) => {
            let which = LoopQuery::Id(pipeline.loop_id.clone());
            let held = store.find_loop(key, root, which).await.ok().flatten()?;
            (pipeline, held)
        }
        None => loop_of_other_session(engine, project, &input.session_id).await?,
    };
    // A loop without a session is taken by the next prompt.
    let owner = held.session_id.as_ref().filter(|_| held.status.is_active())?;
    if *owner == input.session_id {
        return None;
    }
    if is_unrestricted
        && let Some(objection) = other_session_objection(&pipeline, &held.id, ANYWHERE)
    {
        return Some(HookOutput::Deny(words::write_refused(&pipeline, "*", &objection)));
    }
    written.find_map(|one| {
        let path = RelPath::below(root, &one.path)?;
        let objection = other_session_objection(&pipeline, &held.id, path.as_str())?;
        Some(HookOutput::Deny(words::write_refused(&pipeline, &one.named, &objection)))
    })
}

/// Files that a tool writes itself: writes of a shell command are noticed afterwards, unless it is a patch.
fn written_by_tool<'w>(
    input: &HookInput,
    written: &'w [WrittenPath],
) -> impl Iterator<Item = &'w WrittenPath> {
    let is_command = input.tool_input.command.is_some();
    written.iter().filter(move |one| !is_command || one.is_patched)
}

/// The agent of a tool call.
pub(super) struct WriteAuthor {
    /// The host's id of a subagent; `None` for the main agent.
    agent: Option<String>,
    /// The subagent's task according to its transcript; `None` if it is not known.
    task: Option<String>,
    /// The TODO of the worktree in which it works.
    todo: Option<TodoId>,
}

impl WriteAuthor {
    pub(super) async fn of_call(input: &HookInput) -> Self {
        let agent = input.agent_id.clone();
        let (Some(id), Some(session)) = (agent.clone(), input.transcript_path.clone()) else {
            return Self { agent, task: None, todo: None };
        };
        let task = run_blocking(move || subagent_task(&session, &id)).await.flatten();
        Self { agent, task, todo: None }
    }

    /// The same in the worktree of a TODO, if it is in one.
    pub(super) fn in_worktree_of(self, todo: Option<&TodoId>) -> Self {
        Self { todo: todo.cloned(), ..self }
    }

    pub(super) fn writer(&self) -> PipelineWriter<'_> {
        match (&self.todo, &self.agent) {
            (Some(todo), _) => PipelineWriter::Worktree { todo },
            (None, None) => PipelineWriter::Orchestrator,
            (None, Some(agent)) => PipelineWriter::Worker { agent, task: self.task.as_deref() },
        }
    }
}
