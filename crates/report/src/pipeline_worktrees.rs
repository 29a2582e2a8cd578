//! The texts about TODOs that are worked on in worktrees of their own.

use std::fmt::Write as _;

use crate::pipeline::language;
use crate::{sanitized_name, wording};
use moai_base::foreign_text::{one_line, quoted_lines};
use moai_base::limits::{REASON_LINE_CHARS_MAX, TASK_CHARS_MAX};
use moai_loops::state::LoopState;
use moai_pipeline::plan::{PlanDocument, TodoId};
use moai_pipeline::state::PipelineState;
use moai_pipeline::worktrees::{TodoWorktree, WorktreeStage};
use moai_protocol::documents::pipelines::TodoWorktreeEntry;

/// A worktree with its loop as it stands.
#[derive(Clone, Debug)]
pub struct WorktreeLoop {
    /// The worktree.
    pub tree: TodoWorktree,
    /// Its loop, if it could be read.
    pub state: Option<LoopState>,
}

/// The task of a worktree's loop: its part of the plan, as approved.
#[must_use]
pub fn todo_task(state: &PipelineState, todo: &TodoId) -> String {
    let head = wording::WORKTREE_TASK.with(language(state), &[todo.as_str(), &state.id]);
    let text = state.approved.as_ref().map_or("", |approved| approved.text.as_str());
    let plan = PlanDocument::parse(text);
    let Some(first) = plan.todo(todo).map(|todo| todo.line) else { return head };
    let next = plan.todos.iter().map(|todo| todo.line).filter(|line| *line > first).min();
    let last = next.unwrap_or(usize::MAX);
    let lines = text.lines().skip(first - 1).take(last - first);
    let part: String = lines.collect::<Vec<_>>().join("\n").chars().take(TASK_CHARS_MAX).collect();
    let quoted: Vec<String> = quoted_lines(part.trim_end()).collect();
    format!("{head}\n{}", quoted.join("\n"))
}

/// For the user: a turn ends while TODOs are worked on in worktrees.
#[must_use]
pub fn awaits_worktrees(state: &PipelineState, working: &[WorktreeLoop]) -> String {
    let head = wording::AWAITS_WORKTREES.with(language(state), &[&state.id]);
    format!("{head}\n{}", working_lines(working).trim_end())
}

/// For the user: TODOs that got no worktree.
#[must_use]
pub fn no_worktrees(state: &PipelineState, todos: &[TodoId], reason: &str) -> String {
    let named: Vec<&str> = todos.iter().map(TodoId::as_str).collect();
    let (named, reason) = (named.join(", "), one_line(reason, REASON_LINE_CHARS_MAX));
    wording::NO_WORKTREES.with(language(state), &[&state.id, &named, &reason])
}

/// One line for each worktree at work.
#[must_use]
pub fn working_lines(working: &[WorktreeLoop]) -> String {
    let mut text = String::new();
    for WorktreeLoop { tree, state } in working {
        let stands = match state {
            None => "its loop is gone".to_owned(),
            Some(LoopState { session_id: None, .. }) => "waits for a session".to_owned(),
            Some(state) => {
                let (status, now) = (state.status.as_str(), state.current_iteration());
                let paused = state.pause_reason.map_or("", |reason| reason.as_str());
                let reason = if paused.is_empty() { String::new() } else { format!(" ({paused})") };
                format!("{status}{reason}, iteration {now} of {}", state.max_iterations)
            }
        };
        let _ = writeln!(text, "  {} in {}: {stands}", tree.todo, place(tree));
    }
    text
}

/// One line for each worktree that is not at work any more.
#[must_use]
pub fn ended_lines(state: &PipelineState) -> String {
    let mut text = String::new();
    for tree in &state.worktrees {
        let stands = match &tree.stage {
            WorktreeStage::Working => continue,
            WorktreeStage::Merged => "merged".to_owned(),
            WorktreeStage::Unmerged(_) | WorktreeStage::Closed => {
                format!("not merged: {}", reason_of(tree))
            }
        };
        let _ = writeln!(text, "  {} in {}: {stands}", tree.todo, place(tree));
    }
    text
}

/// For the user: worktrees that stay because their work is not merged, one line each.
#[must_use]
pub fn left_lines(state: &PipelineState, left: &[TodoWorktree]) -> Vec<String> {
    let lines = left.iter().map(|tree| {
        let parts = [tree.todo.as_str(), &place(tree), &reason_of(tree)];
        wording::WORKTREE_LEFT.with(language(state), &parts)
    });
    lines.collect()
}

/// Why the loop of a worktree ended without a merge, as a fragment.
#[must_use]
pub fn unmerged_reason(held: &LoopState) -> String {
    let status = held.status.as_str();
    let reason =
        held.note.as_ref().map_or_else(|| status.to_owned(), |note| format!("{status}: {note}"));
    one_line(&reason, REASON_LINE_CHARS_MAX)
}

/// The worktrees as entries of a document.
pub(crate) fn worktree_entries(state: &PipelineState) -> Vec<TodoWorktreeEntry<'_>> {
    let entries = state.worktrees.iter().map(|tree| TodoWorktreeEntry {
        todo: tree.todo.as_str(),
        root: tree.root.to_string_lossy().into_owned(),
        branch: &tree.branch,
        loop_id: &tree.loop_id,
        stage: match tree.stage {
            WorktreeStage::Working => "working",
            WorktreeStage::Merged => "merged",
            WorktreeStage::Unmerged(_) => "unmerged",
            WorktreeStage::Closed => "closed",
        },
    });
    entries.collect()
}

fn reason_of(tree: &TodoWorktree) -> String {
    match &tree.stage {
        WorktreeStage::Unmerged(reason) => one_line(reason, REASON_LINE_CHARS_MAX),
        _ => "the pipeline ended first".to_owned(),
    }
}

fn place(tree: &TodoWorktree) -> String {
    sanitized_name(&tree.root.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use moai_pipeline::state::{ApprovedPlan, PipelineKind, PlanApprover};

    const PLAN: &str = "\
# PLAN: parts

### [ ] TODO 1: one
- [A] `check 1`

### [ ] TODO 2: two
- [A] `check 2`
";

    fn approved() -> PipelineState {
        let (id, goal) = ("pipeline-1".to_owned(), "parts".to_owned());
        let state = PipelineState::begin(id, PipelineKind::Small, goal, "SPEC-A-001".into(), 1);
        let by = PlanApprover::Person;
        let approved = Some(ApprovedPlan { text: PLAN.to_owned(), at_ms: 1, by });
        PipelineState { approved, ..state }
    }

    #[test]
    fn the_task_of_a_worktree_is_its_part_of_the_plan_and_nothing_else() {
        let todo = |id| TodoId::parse(id).expect("an id");
        let first = todo_task(&approved(), &todo("1"));
        assert!(first.contains("TODO-1") && first.contains("  | - [A] `check 1`"), "{first}");
        assert!(!first.contains("check 2"), "{first}");
        let last = todo_task(&approved(), &todo("2"));
        assert!(last.ends_with("check 2`") && !last.contains("check 1"), "{last}");
        assert!(!todo_task(&approved(), &todo("9")).contains("check"));
    }

    #[test]
    fn worktrees_that_stay_are_named_with_the_reason() {
        let todo = TodoId::parse("1").expect("an id");
        let tree = TodoWorktree {
            todo,
            root: PathBuf::from("/p.moai-workers/ab"),
            branch: "gulf/auto-1-ab".to_owned(),
            loop_id: "loop-ab".to_owned(),
            stage: WorktreeStage::Unmerged("stalled".to_owned()),
        };
        let state = PipelineState { worktrees: vec![tree.clone()], ..approved() };
        let left = left_lines(&state, &state.worktrees);
        let named = "  TODO-1 stays in /p.moai-workers/ab: its work is not merged (stalled)";
        assert_eq!(left, [named]);
        assert_eq!(ended_lines(&state), "  TODO-1 in /p.moai-workers/ab: not merged: stalled\n");
        let tree = TodoWorktree { stage: WorktreeStage::Working, ..tree };
        let working = WorktreeLoop { tree, state: None };
        assert_eq!(working_lines(&[working]), "  TODO-1 in /p.moai-workers/ab: its loop is gone\n");
    }
}
