//! The end of a loop that works on a TODO in a worktree.

use super::rounds::note_tried;
use super::worker_end::count_attempt;
use super::{PipelineDecision, note_run};
use crate::approved_plan::ApprovedPlan;
use crate::plan::TodoStatus;
use crate::state::PipelineState;
use crate::step::CommandReading;
use crate::worktrees::WorktreeEnding;
use moai_base::foreign_text::one_line;
use moai_base::limits::TODO_FAILURE_CHARS_MAX;

/// A merged TODO passes if the engine's own run does; everything else that ran is a failed attempt.
pub(super) fn worktree_end(
    next: &mut PipelineState,
    loop_id: &str,
    ending: &WorktreeEnding,
    now_ms: u64,
) -> Vec<PipelineDecision> {
    let plan = next.approved.as_ref().map(ApprovedPlan::document);
    let Some(id) = next.end_worktree(loop_id, ending) else { return Vec::new() };
    let Some(todo) = plan.as_ref().and_then(|plan| plan.todo(&id)) else { return Vec::new() };
    match ending {
        WorktreeEnding::Merged(commands) => {
            note_run(next, todo, commands, now_ms);
            if next.todos.get(id.as_str()).is_some_and(|progress| progress.has_passed) {
                return vec![PipelineDecision::SetBox { todo: id, status: TodoStatus::Done }];
            }
            let is_failure =
                |reading: &CommandReading| matches!(reading, CommandReading::Failed(_));
            if !commands.values().any(is_failure) {
                return Vec::new();
            }
        }
        WorktreeEnding::Unmerged(reason) => {
            let failure = format!("its worktree was not merged: {reason}");
            let progress = next.todos.entry(id.to_string()).or_default();
            progress.failure = one_line(&failure, TODO_FAILURE_CHARS_MAX);
        }
    }
    let attempt = count_attempt(next, &id);
    note_tried(next, &format!("{id}: in a worktree; then {}", attempt.failure));
    if attempt.is_given_up {
        return vec![PipelineDecision::SetBox { todo: id, status: TodoStatus::Failed }];
    }
    Vec::new()
}
