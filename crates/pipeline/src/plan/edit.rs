//! Edits of a plan by the engine. An edit replaces what is between the brackets of one checkbox and
//! preserves every other byte.

use super::{PlanDocument, TodoId, TodoStatus};

/// Why a plan cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanEditError {
    /// No TODO has this id.
    #[error("the plan has no {0}")]
    UnknownTodo(TodoId),
    /// More than one TODO has this id.
    #[error("the plan has {0} more than once")]
    AmbiguousTodo(TodoId),
    /// Its heading has no brackets.
    #[error("{0} has no checkbox")]
    NoCheckbox(TodoId),
}

impl PlanDocument {
    /// The text of a plan with one TODO in another state.
    pub fn set_status(
        text: &str,
        id: &TodoId,
        status: TodoStatus,
    ) -> Result<String, PlanEditError> {
        let plan = Self::parse(text);
        let mut matching = plan.todos.iter().filter(|todo| todo.id == *id);
        let todo = matching.next().ok_or_else(|| PlanEditError::UnknownTodo(id.clone()))?;
        if matching.next().is_some() {
            return Err(PlanEditError::AmbiguousTodo(id.clone()));
        }
        let mut edited = text.to_owned();
        match &todo.checkbox {
            Some(checkbox) => edited.replace_range(checkbox.clone(), status.mark()),
            None => return Err(PlanEditError::NoCheckbox(id.clone())),
        }
        Ok(edited)
    }
}
