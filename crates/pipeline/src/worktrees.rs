//! Worktrees in which a pipeline's TODOs are worked on at the same time, each by its own loop.
//! After a merge, the engine's run in the pipeline's own working tree decides about the TODO; any
//! other end of the loop is a failed attempt.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::file_patterns::FileReach;
use crate::plan::{PlanDocument, TodoId};
use crate::state::PipelineState;
use crate::step::CommandReading;
use moai_base::limits::TODO_WORKTREES_KEPT_MAX;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoWorktree {
    pub todo: TodoId,
    pub root: PathBuf,
    pub branch: String,
    pub loop_id: String,
    pub stage: WorktreeStage,
}

/// Stage of the work in a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeStage {
    /// Its loop is active.
    Working,
    /// Its branch is merged.
    Merged,
    /// Its loop ended and its branch is not merged, with the reason.
    Unmerged(String),
    /// The pipeline ended first.
    Closed,
}

/// The end of a worktree's loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeEnding {
    /// Merged; the engine's runs of the TODO's commands afterwards, by program and arguments.
    Merged(BTreeMap<Vec<String>, CommandReading>),
    /// Not merged, with the reason.
    Unmerged(String),
}

impl PipelineState {
    /// The worktrees whose loops are active.
    pub fn working_trees(&self) -> impl Iterator<Item = &TodoWorktree> {
        self.worktrees.iter().filter(|tree| tree.stage == WorktreeStage::Working)
    }

    /// The TODO on which a loop works in its worktree.
    #[must_use]
    pub fn todo_of_loop(&self, loop_id: &str) -> Option<&TodoId> {
        self.working_trees().find(|tree| tree.loop_id == loop_id).map(|tree| &tree.todo)
    }

    /// The TODOs that get a worktree now. A merged TODO gets no new one: its remaining work is done
    /// in the pipeline's own working tree.
    #[must_use]
    pub fn todos_for_worktrees(&self) -> Vec<TodoId> {
        let most = usize::try_from(self.workers).unwrap_or(usize::MAX);
        let free = most.saturating_sub(self.working_trees().count());
        if free == 0 || !self.is_active() || self.needs_approval() {
            return Vec::new();
        }
        let mut todos = self.ready_todos();
        todos.retain(|id| {
            let is_merged = |tree: &TodoWorktree| tree.stage == WorktreeStage::Merged;
            !self.worktrees.iter().any(|tree| tree.todo == *id && is_merged(tree))
        });
        todos.truncate(free);
        todos
    }

    /// The files of each TODO in a worktree.
    pub(crate) fn reach_of_worktrees(&self, plan: &PlanDocument) -> Vec<FileReach> {
        let todos = self.working_trees().filter_map(|tree| plan.todo(&tree.todo));
        todos.map(|todo| FileReach::of(&todo.files)).collect()
    }

    /// The worktree that an earlier end of the pipeline left with work on a TODO.
    #[must_use]
    pub fn closed_worktree(&self, todo: &TodoId) -> Option<&TodoWorktree> {
        let last = self.worktrees.iter().rfind(|tree| tree.todo == *todo)?;
        (last.stage == WorktreeStage::Closed).then_some(last)
    }

    /// Adds worktrees that were created or reused, but no second one for a TODO.
    pub(crate) fn add_worktrees(&mut self, made: Vec<TodoWorktree>) {
        for tree in made {
            if self.working_trees().all(|other| other.todo != tree.todo) {
                self.worktrees.retain(|other| other.loop_id != tree.loop_id);
                self.worktrees.push(tree);
            }
        }
        let surplus = self.worktrees.len().saturating_sub(TODO_WORKTREES_KEPT_MAX);
        let mut left = surplus;
        self.worktrees.retain(|tree| {
            let is_surplus = left > 0 && tree.stage != WorktreeStage::Working;
            left -= usize::from(is_surplus);
            !is_surplus
        });
    }

    /// Closes the worktrees at the end of the pipeline.
    pub(crate) fn close_worktrees(&mut self) {
        for tree in &mut self.worktrees {
            if tree.stage == WorktreeStage::Working {
                tree.stage = WorktreeStage::Closed;
            }
        }
    }

    /// Sets the stage of a worktree whose loop has ended; returns its TODO, or `None` if the end
    /// was already known.
    pub(crate) fn end_worktree(
        &mut self,
        loop_id: &str,
        ending: &WorktreeEnding,
    ) -> Option<TodoId> {
        let is_it = |tree: &&mut TodoWorktree| {
            tree.loop_id == loop_id && tree.stage == WorktreeStage::Working
        };
        let tree = self.worktrees.iter_mut().find(is_it)?;
        tree.stage = match ending {
            WorktreeEnding::Merged(_) => WorktreeStage::Merged,
            WorktreeEnding::Unmerged(reason) => WorktreeStage::Unmerged(reason.clone()),
        };
        Some(tree.todo.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ending::LoopEnding;
    use crate::plan::TodoStatus;
    use crate::samples::approved_plan;
    use crate::state::{PipelineOutcome, PlanApprover};
    use crate::step::{PipelineDecision, PipelineEvent, step};
    use crate::write_rules::{PipelineWriter, WriteObjection, write_objection};

    const PLAN: &str = "\
# PLAN: parts

### [ ] TODO 1: one
- Files: one.rs
- [A] `check 1`

### [ ] TODO 2: two
- Files: two.rs
- [A] `check 2`

### [ ] TODO 3: one again
- Files: one.rs
- [A] `check 3`

### [ ] TODO 4: last
- Dependencies: TODO-2
- Files: one.rs
- [A] `check 4`
";

    fn todo(number: u32) -> TodoId {
        TodoId::parse(&number.to_string()).expect("a number")
    }

    fn tree(number: u32, loop_id: &str) -> TodoWorktree {
        TodoWorktree {
            todo: todo(number),
            root: PathBuf::from(format!("/trees/{loop_id}")),
            branch: format!("gulf/auto-{loop_id}"),
            loop_id: loop_id.to_owned(),
            stage: WorktreeStage::Working,
        }
    }

    fn with_workers(workers: u32) -> PipelineState {
        PipelineState { workers, ..approved_plan(PLAN) }
    }

    fn made(state: &PipelineState, trees: &[TodoWorktree]) -> PipelineState {
        step(state, PipelineEvent::WorktreesMade(trees.to_vec()), 3).0
    }

    fn end(
        state: &PipelineState,
        loop_id: &str,
        ending: WorktreeEnding,
    ) -> (PipelineState, Vec<PipelineDecision>) {
        let loop_id = loop_id.to_owned();
        step(state, PipelineEvent::WorktreeEnded { loop_id, ending }, 4)
    }

    fn merged(number: u32, reading: CommandReading) -> WorktreeEnding {
        let argv = vec!["check".to_owned(), number.to_string()];
        WorktreeEnding::Merged(BTreeMap::from([(argv, reading)]))
    }

    #[test]
    fn todos_that_share_no_files_get_a_worktree_each_as_far_as_there_are_workers() {
        assert_eq!(with_workers(0).todos_for_worktrees(), []);
        assert_eq!(with_workers(1).todos_for_worktrees(), [todo(1)]);
        let state = with_workers(8);
        assert_eq!(state.todos_for_worktrees(), [todo(1), todo(2)]);
        let working = made(&state, &[tree(1, "a")]);
        assert_eq!(working.todos_for_worktrees(), [todo(2)], "TODO-3 has a file of TODO-1");
        assert_eq!(made(&with_workers(1), &[tree(1, "a")]).todos_for_worktrees(), []);
        let twice = made(&working, &[tree(1, "b"), tree(2, "c")]);
        let loops: Vec<&str> = twice.working_trees().map(|it| it.loop_id.as_str()).collect();
        assert_eq!(loops, ["a", "c"], "a TODO has one worktree");
        // Files that a later TODO already writes are not given to an earlier one that becomes
        // ready.
        let state = made(&PipelineState { workers: 8, ..approved_plan(PLAN) }, &[tree(3, "d")]);
        assert_eq!(state.todos_for_worktrees(), [todo(2)]);
    }

    #[test]
    fn a_merged_todo_passes_only_if_the_engines_own_run_does() {
        let state = made(&with_workers(2), &[tree(1, "a"), tree(2, "b")]);
        let (passed, decisions) = end(&state, "a", merged(1, CommandReading::Passed));
        let done = PipelineDecision::SetBox { todo: todo(1), status: TodoStatus::Done };
        assert_eq!(decisions, [done]);
        assert!(passed.todos["TODO-1"].has_passed);
        assert_eq!(passed.working_trees().count(), 1);
        let (failed, decisions) =
            end(&state, "a", merged(1, CommandReading::Failed("no".to_owned())));
        assert_eq!(decisions, []);
        assert_eq!(
            (failed.todos["TODO-1"].attempts, failed.todos["TODO-1"].has_passed),
            (1, false)
        );
        let (unknown, _) =
            end(&state, "a", merged(1, CommandReading::Unmeasured("no time".to_owned())));
        assert_eq!(unknown.todos["TODO-1"].attempts, 0, "nothing failed");
        for merged in [failed, unknown] {
            assert_eq!(merged.ready_todos(), [todo(1)], "workers may do the rest in place");
            assert_eq!(merged.todos_for_worktrees(), []);
        }
        assert_eq!(end(&passed, "a", WorktreeEnding::Unmerged("late".to_owned())).0, {
            PipelineState { updated_ms: 4, ..passed.clone() }
        });
    }

    #[test]
    fn a_loop_that_ends_unmerged_is_a_failed_attempt_with_its_reason() {
        let mut state = with_workers(1);
        for attempt in 1..=3 {
            let name = format!("l{attempt}");
            state = made(&state, &[tree(1, &name)]);
            let ended = end(&state, &name, WorktreeEnding::Unmerged("stalled".to_owned()));
            state = ended.0;
            assert_eq!(state.todos["TODO-1"].attempts, attempt);
            assert!(state.todos["TODO-1"].failure.contains("stalled"));
            assert_eq!(ended.1.is_empty(), attempt < 3, "the third one gives it up");
        }
        assert_eq!(state.failed_todos().len(), 1);
        assert_eq!(state.todos_for_worktrees(), [todo(2)]);
    }

    #[test]
    fn while_worktrees_are_at_work_source_is_written_only_there() {
        let state = made(&with_workers(2), &[tree(1, "a"), tree(2, "b")]);
        let objection = |writer, path| write_objection(&state, writer, path);
        let worker = PipelineWriter::Worker { agent: "w", task: Some("Do TODO-1") };
        for writer in [PipelineWriter::Orchestrator, worker] {
            assert_eq!(objection(writer, "one.rs"), Some(WriteObjection::InWorktrees));
            assert_eq!(objection(writer, "docs/a.md"), None);
        }
        let one = todo(1);
        let there = PipelineWriter::Worktree { todo: &one };
        assert_eq!(objection(there, "one.rs"), None);
        let patterns = vec!["one.rs".to_owned()];
        assert_eq!(objection(there, "two.rs"), Some(WriteObjection::OutsideTodos(patterns)));
        assert_eq!(state.todo_of_loop("b"), Some(&todo(2)));
        assert_eq!(state.todo_of_loop("x"), None);
    }

    #[test]
    fn the_end_of_a_pipeline_closes_its_worktrees_and_a_resumed_one_takes_them_up() {
        let state = made(&with_workers(2), &[tree(1, "a")]);
        let (ended, _) = step(&state, PipelineEvent::LoopEnded(LoopEnding::Cancelled), 5);
        assert_eq!(ended.outcome, Some(PipelineOutcome::Cancelled));
        assert_eq!(ended.worktrees[0].stage, WorktreeStage::Closed);
        assert_eq!(ended.todos_for_worktrees(), []);
        let resumed = PipelineEvent::Resumed { loop_id: "loop-2".to_owned() };
        let (resumed, _) = step(&ended, resumed, 6);
        assert_eq!(resumed.todos_for_worktrees(), [todo(1), todo(2)]);
        let left = resumed.closed_worktree(&todo(1)).expect("it was at work").clone();
        assert_eq!(resumed.closed_worktree(&todo(2)), None);
        let again = TodoWorktree { stage: WorktreeStage::Working, ..left };
        let resumed = made(&resumed, std::slice::from_ref(&again));
        assert_eq!(resumed.worktrees, [again], "it is the same one");
        assert_eq!(resumed.closed_worktree(&todo(1)), None);
    }

    #[test]
    fn old_worktrees_are_forgotten_and_those_at_work_are_not() {
        let mut state = with_workers(1);
        for number in 0..TODO_WORKTREES_KEPT_MAX + 3 {
            let name = number.to_string();
            state = made(&state, &[tree(1, &name)]);
            if number > 0 {
                state.todos.entry("TODO-1".to_owned()).or_default().attempts = 0;
                state = end(&state, &name, WorktreeEnding::Unmerged("x".to_owned())).0;
            }
            if number == 0 {
                state.worktrees[0].todo = todo(2);
            }
        }
        assert_eq!(state.worktrees.len(), TODO_WORKTREES_KEPT_MAX);
        assert_eq!(state.worktrees[0].loop_id, "0", "it is at work");
        assert_eq!(approved_plan(PLAN).approved.expect("approved").by, PlanApprover::Person);
    }
}
