//! Decides when to propose a stronger model: for large TODOs from the start, after failed attempts
//! at a TODO, and after rounds of fixes.

use crate::approved_plan::ApprovedPlan;
use crate::plan::TodoSize;
use crate::state::{PipelinePhase, PipelineState};

/// The rules of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscalationRules {
    /// Failed attempts at a TODO, or rounds of fixes, after which it is proposed; 0: never.
    pub after: u32,
    /// Sizes of TODOs that get it from the start.
    pub sizes: Vec<TodoSize>,
    /// The host's name of the stronger model.
    pub model: String,
}

/// One proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Escalation {
    /// A TODO of this size.
    Size { todo: String, size: TodoSize },
    /// A TODO at which workers failed.
    Attempts {
        todo: String,
        /// Failed attempts.
        attempts: u32,
    },
    /// A gate that still fails.
    Rounds(u32),
}

/// Proposals for the open TODOs, by their size.
#[must_use]
pub fn escalated_sizes(state: &PipelineState, rules: &EscalationRules) -> Vec<Escalation> {
    let plan = state.approved.as_ref().map(ApprovedPlan::document);
    let mut proposals = Vec::new();
    // The main agent does all the work itself, with its own model.
    if state.is_solo {
        return proposals;
    }
    for todo in plan.iter().flat_map(|plan| &plan.todos) {
        let is_open = state.todos.get(todo.id.as_str()).is_none_or(|it| !it.has_passed);
        if let Some(size) = todo.size.filter(|size| is_open && rules.sizes.contains(size)) {
            proposals.push(Escalation::Size { todo: todo.id.to_string(), size });
        }
    }
    proposals
}

/// Proposals after failures.
#[must_use]
pub fn escalated_failures(state: &PipelineState, rules: &EscalationRules) -> Vec<Escalation> {
    if rules.after == 0 || state.is_solo {
        return Vec::new();
    }
    let mut proposals = Vec::new();
    for (todo, progress) in &state.todos {
        if !progress.has_passed && !progress.is_given_up && progress.attempts >= rules.after {
            let attempts = progress.attempts;
            proposals.push(Escalation::Attempts { todo: todo.clone(), attempts });
        }
    }
    let rounds = u32::try_from(state.fix_rounds.len()).unwrap_or(u32::MAX);
    if state.phase == PipelinePhase::Fix && rounds >= rules.after {
        proposals.push(Escalation::Rounds(rounds));
    }
    proposals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convergence::FixRound;
    use crate::samples::{PLAN, begun};
    use crate::state::{PlanApprover, TodoProgress};

    #[test]
    fn size_attempts_and_rounds_escalate_and_zero_never_does() {
        let rules =
            EscalationRules { after: 2, sizes: vec![TodoSize::Large], model: "opus".to_owned() };
        let mut state = begun();
        let text = PLAN.replace("- Files: two.py", "- Files: two.py\n- Complexity: L");
        state.approved = Some(ApprovedPlan::new(text, 1, PlanApprover::Person));
        let size = Escalation::Size { todo: "TODO-2".to_owned(), size: TodoSize::Large };
        assert_eq!(escalated_sizes(&state, &rules), [size]);
        let progress = TodoProgress { attempts: 2, ..TodoProgress::default() };
        state.todos.insert("TODO-1".to_owned(), progress);
        let failed = Escalation::Attempts { todo: "TODO-1".to_owned(), attempts: 2 };
        assert_eq!(escalated_failures(&state, &rules), std::slice::from_ref(&failed));
        state.fix_rounds = vec![FixRound::default(), FixRound::default()];
        let now = escalated_failures(&state, &rules);
        assert_eq!(now, std::slice::from_ref(&failed), "no gate fails now");
        state.phase = PipelinePhase::Fix;
        assert_eq!(escalated_failures(&state, &rules), [failed, Escalation::Rounds(2)]);
        let never = EscalationRules { after: 0, ..rules };
        assert_eq!(escalated_failures(&state, &never), []);
    }
}
