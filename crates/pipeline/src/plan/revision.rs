//! Compares two versions of a plan. After its approval a plan may only grow, because the approved
//! parts belong to the exam.

use std::fmt;

use super::{AcceptanceItem, PlanDocument, Todo, TodoId};

/// A change of an approved plan that is more than an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanChange {
    /// The TODO that was approved.
    pub id: TodoId,
    /// 1-based line of the TODO in the new version; `None` if it was removed.
    pub line: Option<usize>,
    /// The change, as a fragment: `its dependencies were changed`.
    pub what: String,
}

impl fmt::Display for PlanChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "line {line}: {}: {}", self.id, self.what),
            None => write!(formatter, "{}: {}", self.id, self.what),
        }
    }
}

impl PlanDocument {
    /// Changes from the approved version to this one that are not additions. New TODOs, new items
    /// at the end of a TODO, descriptions and checkboxes may change freely.
    #[must_use]
    pub fn unapproved_changes(&self, approved: &Self) -> Vec<PlanChange> {
        let mut changes = Vec::new();
        for old in &approved.todos {
            match self.todo(&old.id) {
                None => {
                    let what = "it was removed".to_owned();
                    changes.push(PlanChange { id: old.id.clone(), line: None, what });
                }
                Some(new) => changes.extend(todo_changes(old, new)),
            }
        }
        changes
    }

    /// True if this version has a TODO or an acceptance item that the approved one does not have.
    #[must_use]
    pub fn has_grown_since(&self, approved: &Self) -> bool {
        self.todos.iter().any(|todo| match approved.todo(&todo.id) {
            None => true,
            Some(old) => todo.items.len() > old.items.len(),
        })
    }
}

fn todo_changes(old: &Todo, new: &Todo) -> Vec<PlanChange> {
    let mut changed = Vec::new();
    if old.title != new.title {
        changed.push("its title was changed".to_owned());
    }
    if old.dependencies != new.dependencies {
        changed.push("its dependencies were changed".to_owned());
    }
    if old.requirements != new.requirements {
        changed.push("its requirements were changed".to_owned());
    }
    if old.files != new.files {
        changed.push("its files were changed".to_owned());
    }
    for (at, item) in old.items.iter().enumerate() {
        match new.items.get(at) {
            None => changed.push(format!("{} was removed", item.id)),
            Some(now) if is_same_item(item, now) => {}
            Some(_) => changed.push(format!("{} was changed", item.id)),
        }
    }
    let change = |what| PlanChange { id: new.id.clone(), line: Some(new.line), what };
    changed.into_iter().map(change).collect()
}

/// True if an item is verified in the same way, regardless of its position.
fn is_same_item(old: &AcceptanceItem, new: &AcceptanceItem) -> bool {
    let is_same_command = old.command == new.command && old.argv == new.argv;
    old.id == new.id && old.kind == new.kind && old.text == new.text && is_same_command
}
