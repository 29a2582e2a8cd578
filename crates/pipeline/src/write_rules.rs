//! Write permissions during a pipeline. The main agent writes plans and documents; workers write
//! source files, within the files of their TODOs.

use std::path::Path;

use crate::plan::{PlanDocument, Todo, TodoId, named_todos};
use crate::state::PipelineState;

/// The agent that wants to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineWriter<'w> {
    /// The session's main agent.
    Orchestrator,
    /// A subagent.
    Worker {
        /// The host's id of it.
        agent: &'w str,
        /// Its task, if known.
        task: Option<&'w str>,
    },
    /// Any agent in the worktree of a TODO.
    Worktree { todo: &'w TodoId },
}

/// The reason why a write is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteObjection {
    /// The plan is not approved yet.
    PlanFirst,
    /// A worker must write it.
    NeedsWorker,
    /// TODOs are worked on in worktrees now.
    InWorktrees,
    /// The worker was replaced by a fresh one.
    FreshWorker,
    /// It matches none of these patterns: those of the TODOs in the worker's task, else of all open
    /// ones.
    OutsideTodos(Vec<String>),
    /// It is in the project or in the worktree of another TODO, and the agent works in a worktree.
    OtherWorkTree,
    /// The pipeline belongs to another session.
    OtherSession(String),
}

/// Folders that every agent of a pipeline may write: specifications, documents and the host's own.
const FREE_FOLDERS: [&str; 3] = [".moai/specs/", "docs/", ".claude/"];

/// The notes of a loop; other text files, such as `CMakeLists.txt`, may be part of the build.
const NOTES_FILE: &str = "progress.txt";

/// The objection to an agent's write of a file, given relative to the root.
#[must_use]
pub fn write_objection(
    state: &PipelineState,
    writer: PipelineWriter<'_>,
    path: &str,
) -> Option<WriteObjection> {
    if !state.is_active() || !state.kind.has_plan() || is_free(path) {
        return None;
    }
    let approved = state.approved.as_ref().filter(|_| !state.needs_approval());
    let Some(approved) = approved else { return Some(WriteObjection::PlanFirst) };
    let plan = approved.document();
    let is_elsewhere = state.working_trees().next().is_some();
    let todos = match writer {
        PipelineWriter::Worktree { todo } => plan.todo(todo).into_iter().collect(),
        _ if is_elsewhere => return Some(WriteObjection::InWorktrees),
        PipelineWriter::Orchestrator => {
            return (!state.is_solo).then_some(WriteObjection::NeedsWorker);
        }
        PipelineWriter::Worker { agent, .. } if state.retired_workers.contains(agent) => {
            return Some(WriteObjection::FreshWorker);
        }
        PipelineWriter::Worker { task, .. } => {
            assigned_todos(state, &plan, task.unwrap_or_default())
        }
    };
    if todos.is_empty() || todos.iter().any(|todo| todo.allows(path)) {
        return None;
    }
    let patterns = todos.iter().flat_map(|todo| todo.files.clone());
    Some(WriteObjection::OutsideTodos(patterns.collect()))
}

/// The objection to a write by agents of another session in the project.
#[must_use]
pub fn other_session_objection(
    state: &PipelineState,
    loop_id: &str,
    path: &str,
) -> Option<WriteObjection> {
    let is_refused = state.is_active() && state.kind.has_plan() && !is_free(path);
    is_refused.then(|| WriteObjection::OtherSession(loop_id.to_owned()))
}

/// The objection to a write by an agent of the worktree `own` outside of it; `None` if the file is
/// in no other working tree of the pipeline, whose own root is `main`.
#[must_use]
pub fn other_tree_objection(
    state: &PipelineState,
    main: Option<&Path>,
    own: &Path,
    file: &Path,
) -> Option<WriteObjection> {
    let mut trees = state.worktrees.iter().map(|tree| tree.root.as_path()).chain(main);
    let is_elsewhere = !file.starts_with(own) && trees.any(|tree| file.starts_with(tree));
    is_elsewhere.then_some(WriteObjection::OtherWorkTree)
}

/// The objection to a write into the worktree of a TODO by an agent of the pipeline's own root.
#[must_use]
pub fn in_worktree_objection(state: &PipelineState, file: &Path) -> Option<WriteObjection> {
    let is_there = state.worktrees.iter().any(|tree| file.starts_with(&tree.root));
    is_there.then_some(WriteObjection::InWorktrees)
}

/// The TODOs in a task; all open ones if it has none of the plan.
fn assigned_todos<'p>(state: &PipelineState, plan: &'p PlanDocument, task: &str) -> Vec<&'p Todo> {
    let named = named_todos(task);
    let named: Vec<&Todo> = plan.todos.iter().filter(|todo| named.contains(&todo.id)).collect();
    if !named.is_empty() {
        return named;
    }
    let is_open = |todo: &&Todo| {
        !state.todos.get(todo.id.as_str()).is_some_and(|progress| progress.has_passed)
    };
    plan.todos.iter().filter(is_open).collect()
}

/// True for documents and notes, which are not source files.
fn is_free(path: &str) -> bool {
    let extension = Path::new(path).extension();
    let is_document = extension.is_some_and(|it| it.eq_ignore_ascii_case("md"));
    let is_in_free_folder = FREE_FOLDERS.iter().any(|folder| path.starts_with(folder));
    is_document || is_in_free_folder || path == NOTES_FILE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{approved, begun};
    use crate::state::{PipelineKind, PlanApprover};

    const WORKER: PipelineWriter<'_> = PipelineWriter::Worker { agent: "a1", task: None };

    fn objection(state: &PipelineState, writer: PipelineWriter<'_>, path: &str) -> Option<String> {
        write_objection(state, writer, path).map(|it| format!("{it:?}"))
    }

    #[test]
    fn the_orchestrator_writes_plans_and_documents_only() {
        let state = approved(PlanApprover::Person);
        let by = |path| objection(&state, PipelineWriter::Orchestrator, path);
        for path in [
            ".moai/specs/SPEC-A-001/plan.md",
            "docs/a.py",
            ".claude/x.json",
            "README.md",
            "progress.txt",
        ] {
            assert_eq!(by(path), None, "{path}");
        }
        for path in ["src/a.rs", "Makefile", "a/notes.txt", "CMakeLists.txt", "requirements.txt"] {
            assert_eq!(by(path).as_deref(), Some("NeedsWorker"), "{path}");
        }
        let solo = PipelineState { is_solo: true, ..state };
        assert_eq!(objection(&solo, PipelineWriter::Orchestrator, "src/a.rs"), None);
    }

    #[test]
    fn no_agent_writes_source_before_the_approval() {
        for writer in [PipelineWriter::Orchestrator, WORKER] {
            assert_eq!(objection(&begun(), writer, "src/a.rs").as_deref(), Some("PlanFirst"));
        }
    }

    #[test]
    fn a_worker_stays_within_the_files_of_open_todos() {
        let mut state = approved(PlanApprover::Person);
        let by = |state: &PipelineState, path| objection(state, WORKER, path).is_none();
        for path in ["src/one.rs", "src/deep/one.rs", "two.py"] {
            assert!(by(&state, path), "{path}");
        }
        assert!(!by(&state, "lib/other.rs"));
        for progress in state.todos.values_mut() {
            progress.has_passed = true;
        }
        assert!(by(&state, "lib/other.rs"), "fixes after the last TODO may be anywhere");
    }

    #[test]
    fn a_worker_whose_task_names_its_todo_writes_only_the_files_of_that() {
        let state = approved(PlanApprover::Person);
        let by = |task, path| {
            let writer = PipelineWriter::Worker { agent: "a1", task: Some(task) };
            objection(&state, writer, path)
        };
        assert_eq!(by("Do TODO-2 of the plan", "two.py"), None);
        let refused = by("Do TODO-2 of the plan", "src/one.rs").expect("the other TODO's");
        assert!(refused.contains("two.py") && !refused.contains("src/"), "{refused}");
        assert_eq!(by("TODO-9, which does not exist", "src/one.rs"), None, "all open ones");
        assert_eq!(by("TODO-1 and TODO 2", "src/one.rs"), None);
    }

    #[test]
    fn a_worker_that_was_replaced_writes_nothing() {
        let mut state = approved(PlanApprover::Person);
        state.retired_workers.insert("a1".to_owned());
        assert_eq!(objection(&state, WORKER, "src/one.rs").as_deref(), Some("FreshWorker"));
        let fresh = PipelineWriter::Worker { agent: "a2", task: None };
        assert_eq!(objection(&state, fresh, "src/one.rs"), None);
    }

    #[test]
    fn another_session_writes_documents_only() {
        for state in [begun(), approved(PlanApprover::Person)] {
            let by = |path| other_session_objection(&state, "loop-1", path);
            let objection = WriteObjection::OtherSession("loop-1".to_owned());
            assert_eq!(by("src/a.rs"), Some(objection));
            assert_eq!(by("docs/a.md"), None);
        }
        let bugfix = PipelineState { kind: PipelineKind::Bugfix, ..begun() };
        assert_eq!(other_session_objection(&bugfix, "loop-1", "src/a.rs"), None);
    }

    #[test]
    fn while_the_plan_is_extended_nobody_writes_source() {
        let state = PipelineState { is_replanning: true, ..approved(PlanApprover::Person) };
        for writer in [PipelineWriter::Orchestrator, WORKER] {
            assert_eq!(objection(&state, writer, "src/one.rs").as_deref(), Some("PlanFirst"));
        }
    }
}
