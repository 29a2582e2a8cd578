//! Edits of a plan by the engine. An edit replaces the mark between the brackets of one checkbox
//! and preserves every other byte.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{PlanDocument, TodoId, TodoStatus};

/// The reason why a plan cannot be edited.
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
        let place = Self::parse(text).checkbox_of(id)?;
        let mut edited = text.to_owned();
        edited.replace_range(place, status.mark());
        Ok(edited)
    }

    /// The text of a plan with these TODOs in other states. Those that cannot be edited are
    /// skipped.
    #[must_use]
    pub fn set_statuses(text: &str, boxes: &[(TodoId, TodoStatus)]) -> String {
        let plan = Self::parse(text);
        let places = boxes.iter().filter_map(|(id, status)| {
            let place = plan.checkbox_of(id).ok()?;
            Some((place.start, (place, *status)))
        });
        let places: BTreeMap<usize, (Range<usize>, TodoStatus)> = places.collect();
        let mut edited = text.to_owned();
        // From the end, because an edit moves the text after it.
        for (place, status) in places.into_values().rev() {
            edited.replace_range(place, status.mark());
        }
        edited
    }

    /// The text of a plan with every box empty, so that plans which differ in their boxes alone are equal.
    #[must_use]
    pub fn without_statuses(text: &str) -> String {
        let ids = Self::parse(text).todos.into_iter().map(|todo| (todo.id, TodoStatus::Open));
        Self::set_statuses(text, &ids.collect::<Vec<_>>())
    }

    /// The range between the brackets of a TODO's checkbox.
    fn checkbox_of(&self, id: &TodoId) -> Result<Range<usize>, PlanEditError> {
        let mut matching = self.todos.iter().filter(|todo| todo.id == *id);
        let todo = matching.next().ok_or_else(|| PlanEditError::UnknownTodo(id.clone()))?;
        if matching.next().is_some() {
            return Err(PlanEditError::AmbiguousTodo(id.clone()));
        }
        todo.checkbox.clone().ok_or_else(|| PlanEditError::NoCheckbox(id.clone()))
    }
}
