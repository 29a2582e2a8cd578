//! Who may write what while a pipeline runs. The agent that leads the work writes plans and documents;
//! source files are written by workers, within the files of their TODOs.

use std::path::Path;

use crate::plan::{PlanDocument, Todo};
use crate::state::PipelineState;

/// The agent that wants to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineWriter {
    /// The session's main agent.
    Orchestrator,
    /// A subagent.
    Worker,
}

/// Why a write is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteObjection {
    /// The plan is not approved yet.
    PlanFirst,
    /// A worker must write it.
    NeedsWorker,
    /// It belongs to none of these patterns of the open TODOs.
    OutsideTodos(Vec<String>),
}

/// Folders that every agent of a pipeline may write: specifications, documents and the host's own.
const FREE_FOLDERS: [&str; 3] = [".moai/specs/", "docs/", ".claude/"];

/// What keeps an agent from writing a file, given relative to the root; `None` if nothing does.
#[must_use]
pub fn write_objection(
    state: &PipelineState,
    writer: PipelineWriter,
    path: &str,
) -> Option<WriteObjection> {
    if !state.is_active() || !state.kind.has_plan() || is_free(path) {
        return None;
    }
    let Some(approved) = &state.approved else { return Some(WriteObjection::PlanFirst) };
    if writer == PipelineWriter::Orchestrator {
        return (!state.is_solo).then_some(WriteObjection::NeedsWorker);
    }
    let plan = PlanDocument::parse(&approved.text);
    let is_open = |todo: &&Todo| {
        !state.todos.get(todo.id.as_str()).is_some_and(|progress| progress.has_passed)
    };
    let open: Vec<&Todo> = plan.todos.iter().filter(is_open).collect();
    if open.is_empty() || open.iter().any(|todo| todo.allows(path)) {
        return None;
    }
    let patterns = open.iter().flat_map(|todo| todo.files.clone());
    Some(WriteObjection::OutsideTodos(patterns.collect()))
}

/// Documents and notes, which are no source.
fn is_free(path: &str) -> bool {
    let extension = Path::new(path).extension();
    let has_extension = |name: &str| extension.is_some_and(|it| it.eq_ignore_ascii_case(name));
    let is_document = has_extension("md") || has_extension("txt") && !path.contains('/');
    is_document || FREE_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{approved, begun};
    use crate::state::PlanApprover;

    fn objection(state: &PipelineState, writer: PipelineWriter, path: &str) -> Option<String> {
        write_objection(state, writer, path).map(|it| format!("{it:?}"))
    }

    #[test]
    fn the_orchestrator_writes_plans_and_documents_only() {
        let state = approved(PlanApprover::Person);
        let by = |path| objection(&state, PipelineWriter::Orchestrator, path);
        for path in [".moai/specs/SPEC-A-001/plan.md", "docs/a.py", ".claude/x.json", "README.md"] {
            assert_eq!(by(path), None, "{path}");
        }
        for path in ["src/a.rs", "Makefile", "a/notes.txt"] {
            assert_eq!(by(path).as_deref(), Some("NeedsWorker"), "{path}");
        }
        let solo = PipelineState { is_solo: true, ..state };
        assert_eq!(objection(&solo, PipelineWriter::Orchestrator, "src/a.rs"), None);
    }

    #[test]
    fn no_agent_writes_source_before_the_approval() {
        for writer in [PipelineWriter::Orchestrator, PipelineWriter::Worker] {
            assert_eq!(objection(&begun(), writer, "src/a.rs").as_deref(), Some("PlanFirst"));
        }
    }

    #[test]
    fn a_worker_stays_within_the_files_of_open_todos() {
        let mut state = approved(PlanApprover::Person);
        let by =
            |state: &PipelineState, path| objection(state, PipelineWriter::Worker, path).is_none();
        for path in ["src/one.rs", "src/deep/one.rs", "two.py"] {
            assert!(by(&state, path), "{path}");
        }
        assert!(!by(&state, "lib/other.rs"));
        for progress in state.todos.values_mut() {
            progress.has_passed = true;
        }
        assert!(by(&state, "lib/other.rs"), "fixes after the last TODO may be anywhere");
    }
}
