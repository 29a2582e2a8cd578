//! While a pipeline runs, its main agent writes plans and documents, and workers write source files.

use crate::engine::{Engine, run_blocking};
use crate::ledger::transcripts::subagent_task;
use crate::pipeline::pipeline_stop::pipeline_with_loop;
use crate::project::Project;
use crate::protection::WrittenPath;
use moai_base::path::RelPath;
use moai_host::git::branches;
use moai_loops::state::LoopState;
use moai_pipeline::plan::TodoId;
use moai_pipeline::write_rules::{PipelineWriter, other_tree_objection, write_objection};
use moai_protocol::hook::{HookInput, HookOutput};
use moai_report::pipeline as words;

/// Refuses a write by a tool that the pipeline of the loop does not allow.
pub(crate) async fn refused_write(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    input: &HookInput,
    written: &[WrittenPath],
) -> Option<HookOutput> {
    state.options.pipeline.as_ref()?;
    // What a shell command writes is noticed afterwards, unless it is a patch.
    let is_known = |one: &&WrittenPath| input.tool_input.command.is_none() || one.is_patched;
    let mut written = written.iter().filter(is_known).peekable();
    written.peek()?;
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
    written.find_map(|one| {
        let objection = match RelPath::below(&project.root, &one.path) {
            Some(path) => write_objection(&pipeline, author.writer(), path.as_str())?,
            None if author.todo.is_some() => {
                other_tree_objection(&pipeline, main.as_deref(), &project.root, &one.path)?
            }
            None => return None,
        };
        Some(HookOutput::Deny(words::write_refused(&pipeline, &one.named, &objection)))
    })
}

/// The agent of a tool call.
pub(super) struct WriteAuthor {
    /// The host's id of a subagent; `None` for the main agent.
    agent: Option<String>,
    /// What the subagent was told to do, as its transcript says; `None` if that is not known.
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
