//! The version of a plan that its user was last shown: a typed command approves only this one.

use serde::{Deserialize, Serialize};

use crate::plan::{AcceptanceKind, PlanDocument};
use moai_base::hash::ContentHash;

/// The part of a plan that was shown to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPlan {
    /// The beginning of the hash of its text.
    pub version: String,
    /// Its acceptance commands, each with its TODO.
    pub commands: Vec<String>,
}

impl ShownPlan {
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { version: plan_version(text), commands: command_names(&PlanDocument::parse(text)) }
    }

    /// Commands of this version that `other` does not have.
    #[must_use]
    pub fn commands_without(&self, other: &Self) -> Vec<String> {
        let is_missing = |command: &&String| !other.commands.contains(command);
        self.commands.iter().filter(is_missing).cloned().collect()
    }
}

/// The beginning of the hash of a plan's text.
#[must_use]
pub fn plan_version(text: &str) -> String {
    ContentHash::of_bytes(text.as_bytes()).short_hex()
}

/// The same for plans that may differ in their boxes.
#[must_use]
pub fn version_without_boxes(text: &str) -> String {
    plan_version(&PlanDocument::without_statuses(text))
}

/// The acceptance commands of a plan, each with its TODO: ``TODO-1 `test -f x` ``.
#[must_use]
pub fn command_names(plan: &PlanDocument) -> Vec<String> {
    let mut names = Vec::new();
    for todo in &plan.todos {
        for item in todo.items_of(AcceptanceKind::Automatic) {
            let command = item.command.as_deref().unwrap_or(&item.text);
            names.push(format!("{} `{command}`", todo.id));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::PLAN;

    #[test]
    fn versions_differ_by_what_their_todos_are_accepted_with() {
        let first = ShownPlan::of(PLAN);
        assert_eq!(first.commands, ["TODO-1 `check one`", "TODO-2 `check two`"]);
        let second = ShownPlan::of(&PLAN.replace("check two", "true"));
        assert_ne!(first.version, second.version);
        assert_eq!(second.commands_without(&first), ["TODO-2 `true`"]);
        assert_eq!(first.commands_without(&second), ["TODO-2 `check two`"]);
    }
}
