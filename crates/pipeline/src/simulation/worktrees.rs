//! Worktrees of simulated pipelines: loops that merge what does not pass, end early or are lost with the
//! daemon that started them.

use std::path::PathBuf;

use super::SimulatedPipeline;
use crate::approved_plan::ApprovedPlan;
use crate::file_patterns::FileReach;
use crate::plan::TodoId;
use crate::step::{CommandReading, PipelineDecision, PipelineEvent};
use crate::worktrees::{TodoWorktree, WorktreeEnding, WorktreeStage};
use crate::write_rules::{PipelineWriter, write_objection};

impl SimulatedPipeline {
    /// The engine's work at a Stop before it measures. Returns true if worktrees are active.
    pub(super) fn make_worktrees(&mut self) -> bool {
        let todos = self.pipeline.todos_for_worktrees();
        // The working tree may have uncommitted changes.
        if !todos.is_empty() && !self.random.one_in(6) {
            let made = todos.into_iter().map(|todo| self.worktree_for(todo)).collect();
            self.apply(PipelineEvent::WorktreesMade(made));
        }
        self.check_worktrees();
        self.pipeline.working_trees().next().is_some()
    }

    /// A new worktree, or one that the last end of the pipeline left.
    fn worktree_for(&mut self, todo: TodoId) -> TodoWorktree {
        let left = self.pipeline.closed_worktree(&todo).cloned();
        if let Some(left) = left.filter(|_| !self.random.one_in(3)) {
            return TodoWorktree { stage: WorktreeStage::Working, ..left };
        }
        self.trees_made += 1;
        let loop_id = format!("loop-t{}", self.trees_made);
        TodoWorktree {
            todo,
            root: PathBuf::from(&loop_id),
            branch: loop_id.clone(),
            loop_id,
            stage: WorktreeStage::Working,
        }
    }

    /// The loop of a worktree ends, merged or not, whether its work is done or not.
    pub(super) fn end_worktree(&mut self) {
        let working: Vec<TodoWorktree> = self.pipeline.working_trees().cloned().collect();
        let bound = u64::try_from(working.len()).unwrap_or_default().max(1);
        let which = usize::try_from(self.random.number_below(bound)).unwrap_or_default();
        let Some(tree) = working.get(which) else { return };
        let number = tree.todo.as_str().trim_start_matches("TODO-").parse().unwrap_or_default();
        if !self.random.one_in(3) {
            self.done.insert(number);
        }
        let is_merged = !self.random.one_in(4);
        self.end_loop_of(tree, is_merged);
    }

    /// All worktrees end without a merge.
    pub(super) fn fail_worktrees(&mut self) {
        for tree in self.pipeline.working_trees().cloned().collect::<Vec<_>>() {
            self.end_loop_of(&tree, false);
        }
    }

    fn end_loop_of(&mut self, tree: &TodoWorktree, is_merged: bool) {
        let runs = self.runs();
        let id = tree.todo.as_str();
        let has_passed = is_merged
            && runs.iter().any(|(argv, run)| {
                format!("TODO-{}", argv[1]) == id && *run == CommandReading::Passed
            });
        let before = self.pipeline.todos.get(id).cloned().unwrap_or_default();
        let ending = if is_merged {
            WorktreeEnding::Merged(runs)
        } else {
            WorktreeEnding::Unmerged("stalled".to_owned())
        };
        let loop_id = tree.loop_id.clone();
        let event = PipelineEvent::WorktreeEnded { loop_id, ending };
        let decisions = self.apply(event.clone());
        let after = self.pipeline.todos.get(id).cloned().unwrap_or_default();
        assert!(!is_merged || after.has_passed == has_passed, "the engine's own run decides");
        assert!(after.attempts <= before.attempts + 1);
        let is_done = |it: &PipelineDecision| {
            matches!(it, PipelineDecision::SetBox { status, .. }
                if *status == crate::plan::TodoStatus::Done)
        };
        assert_eq!(decisions.iter().any(is_done), has_passed);
        self.write_boxes(&decisions);
        // The same end is seen again, by a Stop that did not get to save it.
        let (stage, attempts) = (self.pipeline.todos.get(id).cloned(), self.pipeline.tried.len());
        assert_eq!(self.apply(event), []);
        assert_eq!(
            (self.pipeline.todos.get(id).cloned(), self.pipeline.tried.len()),
            (stage, attempts)
        );
    }

    /// Active worktrees share neither a TODO nor a file, and their agents write only there.
    fn check_worktrees(&self) {
        let working: Vec<&TodoWorktree> = self.pipeline.working_trees().collect();
        assert!(working.len() <= usize::try_from(self.pipeline.workers).unwrap_or_default());
        if working.is_empty() {
            return;
        }
        let plan = self.pipeline.approved.as_ref().map(ApprovedPlan::document);
        let plan = plan.unwrap_or_default();
        let mut reaches: Vec<FileReach> = Vec::new();
        for tree in &working {
            let todo = plan.todo(&tree.todo).expect("a TODO of the approved plan");
            let reach = FileReach::of(&todo.files);
            let is_shared = reaches.iter().any(|other| other.meets(&reach));
            assert!(!is_shared, "files of {} are written in two worktrees", todo.id);
            reaches.push(reach);
            for file in &todo.files {
                let there = PipelineWriter::Worktree { todo: &tree.todo };
                if !self.pipeline.needs_approval() {
                    assert_eq!(write_objection(&self.pipeline, there, file), None);
                }
                let main = PipelineWriter::Orchestrator;
                assert!(write_objection(&self.pipeline, main, file).is_some());
            }
        }
    }
}
