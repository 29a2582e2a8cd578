//! Decisions reserved for a person: approval of a plan, acceptance of an `[H]` item, and the fate
//! of a discovery in conflict with a provisional constraint.

use crate::approved_plan::ApprovedPlan;
use crate::plan::{AcceptanceKind, PlanDocument, TodoId};
use crate::shown_plan::plan_version;
use crate::state::{ASKS_THE_USER, KeptDiscovery, PersonAnswer, PipelineState, PlanApprover};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonQuestion {
    /// Approve this version of the plan?
    Plan {
        /// The beginning of the hash of its text.
        version: String,
    },
    /// Is an `[H]` item met?
    Item {
        todo: TodoId,
        /// Its id in the TODO: `AC-2`.
        item: String,
        /// Its text in the plan.
        text: String,
    },
    /// May a discovery be followed?
    Discovery {
        /// Its number among the discoveries of the pipeline, from 1.
        number: usize,
        discovery: KeptDiscovery,
    },
}

impl PersonQuestion {
    /// The question about the approval of a plan.
    #[must_use]
    pub fn about_plan(text: &str) -> Self {
        Self::Plan { version: plan_version(text) }
    }

    /// The name with which a command answers it: `plan`, `TODO-2/AC-2`, `D-1`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Plan { .. } => "plan".to_owned(),
            Self::Item { todo, item, .. } => item_name(todo, item),
            Self::Discovery { number, .. } => format!("D-{number}"),
        }
    }
}

pub(crate) fn item_name(todo: &TodoId, item: &str) -> String {
    format!("{todo}/{item}")
}

/// The open questions about the work. The question about an item is asked once the commands of its
/// TODO pass.
#[must_use]
pub fn open_questions(state: &PipelineState) -> Vec<PersonQuestion> {
    let plan = state.approved.as_ref().map(ApprovedPlan::document);
    questions_of(state, &plan.unwrap_or_default())
}

/// The same, with the approved plan of the pipeline.
pub(crate) fn questions_of(state: &PipelineState, plan: &PlanDocument) -> Vec<PersonQuestion> {
    let mut open = item_questions(state, plan, |progress| progress.has_passed);
    for (at, discovery) in state.discoveries.iter().enumerate() {
        if discovery.verdict == ASKS_THE_USER && discovery.answer.is_none() {
            let discovery = discovery.clone();
            open.push(PersonQuestion::Discovery { number: at + 1, discovery });
        }
    }
    open
}

/// Names of the open questions that must be answered before the end.
#[must_use]
pub fn missing_answers(state: &PipelineState) -> Vec<String> {
    let plan = state.approved.as_ref().map(ApprovedPlan::document);
    let plan = plan.unwrap_or_default();
    let items = item_questions(state, &plan, |_| true);
    let discoveries = questions_of(state, &plan).into_iter();
    let discoveries = discoveries.filter(|it| matches!(it, PersonQuestion::Discovery { .. }));
    items.into_iter().chain(discoveries).map(|question| question.name()).collect()
}

/// The unanswered or rejected `[H]` items of the selected TODOs.
fn item_questions(
    state: &PipelineState,
    plan: &PlanDocument,
    is_fitting: fn(&crate::state::TodoProgress) -> bool,
) -> Vec<PersonQuestion> {
    let mut open = Vec::new();
    for todo in &plan.todos {
        if !state.todos.get(todo.id.as_str()).is_some_and(is_fitting) {
            continue;
        }
        for item in todo.items_of(AcceptanceKind::Human) {
            let answer = state.human_answers.get(&item_name(&todo.id, &item.id));
            if !answer.is_some_and(|answer| answer.is_yes) {
                let (item, text) = (item.id.clone(), item.text.clone());
                open.push(PersonQuestion::Item { todo: todo.id.clone(), item, text });
            }
        }
    }
    open
}

/// Records a person's answer; false if there is no such open question.
pub(crate) fn note_answer(
    next: &mut PipelineState,
    name: &str,
    is_yes: bool,
    by: PlanApprover,
    at_ms: u64,
) -> bool {
    let answer = PersonAnswer { is_yes, at_ms, by };
    let question = open_questions(next).into_iter().find(|question| question.name() == name);
    match question {
        Some(PersonQuestion::Item { .. }) => {
            next.human_answers.insert(name.to_owned(), answer);
        }
        Some(PersonQuestion::Discovery { number, .. }) => {
            if let Some(discovery) = next.discoveries.get_mut(number - 1) {
                discovery.answer = Some(answer);
            }
        }
        Some(PersonQuestion::Plan { .. }) | None => return false,
    }
    next.question_holds = 0;
    true
}

/// Removes a person's answers about a TODO whose commands fail again, because the work has changed
/// since.
pub(crate) fn forget_answers(next: &mut PipelineState, todo: &TodoId) {
    let start = item_name(todo, "");
    next.human_answers.retain(|name, _| !name.starts_with(&start));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::approved_plan;
    use crate::step::{PipelineEvent, step};

    const PLAN: &str = "\
# PLAN: a mail

### [ ] TODO 1: the mail
- [A] `check one`
- [H] it reads well
";

    fn names(state: &PipelineState) -> Vec<String> {
        open_questions(state).iter().map(PersonQuestion::name).collect()
    }

    fn answered(state: &PipelineState, name: &str, is_yes: bool) -> PipelineState {
        let by = PlanApprover::Person;
        step(state, PipelineEvent::PersonAnswered { name: name.to_owned(), is_yes, by }, 9).0
    }

    #[test]
    fn an_item_for_a_person_is_asked_about_when_its_commands_pass_until_one_agrees() {
        let mut state = approved_plan(PLAN);
        assert_eq!(names(&state), [""; 0], "there is nothing to look at yet");
        assert_eq!(missing_answers(&state), ["TODO-1/AC-2"]);
        if let Some(progress) = state.todos.get_mut("TODO-1") {
            progress.has_passed = true;
        }
        assert_eq!(names(&state), ["TODO-1/AC-2"]);
        let refused = answered(&state, "TODO-1/AC-2", false);
        assert_eq!(names(&refused), ["TODO-1/AC-2"], "it is asked about again");
        let agreed = answered(&refused, "TODO-1/AC-2", true);
        assert_eq!(names(&agreed), [""; 0]);
        assert_eq!(missing_answers(&agreed), [""; 0]);
        let mut failed = agreed;
        forget_answers(&mut failed, &TodoId::parse("1").expect("an id"));
        assert_eq!(names(&failed), ["TODO-1/AC-2"], "the work has changed since");
    }

    #[test]
    fn an_answer_to_nothing_changes_nothing() {
        let state = approved_plan(PLAN);
        for name in ["plan", "TODO-1/AC-2", "TODO-9/AC-1", "D-1", ""] {
            let next = answered(&state, name, true);
            assert_eq!(next, PipelineState { updated_ms: next.updated_ms, ..state.clone() });
        }
    }
}
