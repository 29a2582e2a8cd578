//! The evidence for each requirement: the TODOs that refer to it, their acceptance items with the
//! engine's runs, and the commits with the work.

use crate::commits::PipelineCommit;
use crate::file_patterns::matches_pattern;
use crate::person_question::item_name;
use crate::plan::{AcceptanceItem, AcceptanceKind, Todo};
use crate::scenario::ScenarioId;
use crate::spec::SpecDocument;
use crate::state::{PersonAnswer, PipelineState, TodoProgress};
use crate::todo_failure::{FailureKind, TodoFailure};

/// One requirement with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementEvidence {
    /// Its id; empty for TODOs without a requirement.
    pub id: String,
    /// Its title; empty if the specification does not have it.
    pub title: String,
    /// The TODOs that refer to it; without one there is no evidence.
    pub todos: Vec<TodoEvidence>,
}

/// The evidence for one TODO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoEvidence {
    pub id: String,
    pub title: String,
    pub progress: TodoProgress,
    /// Its acceptance items: kind, id and text.
    pub items: Vec<ItemEvidence>,
    /// The commits that change its files, oldest first; empty if it has no file patterns.
    pub commits: Vec<PipelineCommit>,
}

/// One acceptance item of a TODO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemEvidence {
    /// Its id: `AC-1`.
    pub id: String,
    pub kind: AcceptanceKind,
    /// Its command, or its text.
    pub text: String,
    pub result: ItemResult,
}

/// What is known about an acceptance item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemResult {
    /// The engine's last run passed.
    Passed,
    /// It did not pass, or has no result.
    Failed,
    /// An earlier command of the TODO does not pass, so this one was not judged.
    Undecided,
    NotRun,
    /// The runs of the scenario with this key decide.
    Scenario(String),
    /// A person decides, and has answered or not.
    Person(Option<PersonAnswer>),
}

/// The evidence for each requirement of the specification and of the plan, in their order, then for
/// the TODOs without a requirement.
#[must_use]
pub fn evidence_chain(
    state: &PipelineState,
    spec: Option<&SpecDocument>,
) -> Vec<RequirementEvidence> {
    let Some(approved) = &state.approved else { return Vec::new() };
    let plan = approved.document();
    let mut chain: Vec<RequirementEvidence> = Vec::new();
    for requirement in spec.iter().flat_map(|spec| &spec.requirements) {
        let (id, title) = (requirement.id.as_str().to_owned(), requirement.title.clone());
        chain.push(RequirementEvidence { id, title, todos: Vec::new() });
    }
    let mut others =
        RequirementEvidence { id: String::new(), title: String::new(), todos: Vec::new() };
    for todo in &plan.todos {
        let evidence = todo_evidence(state, todo);
        if todo.requirements.is_empty() {
            others.todos.push(evidence);
            continue;
        }
        for id in &todo.requirements {
            match chain.iter_mut().find(|known| known.id == *id) {
                Some(known) => known.todos.push(evidence.clone()),
                None => chain.push(RequirementEvidence {
                    id: id.clone(),
                    title: String::new(),
                    todos: vec![evidence.clone()],
                }),
            }
        }
    }
    if !others.todos.is_empty() {
        chain.push(others);
    }
    chain
}

fn todo_evidence(state: &PipelineState, todo: &Todo) -> TodoEvidence {
    let mut items = Vec::with_capacity(todo.items.len());
    let mut has_failed = false;
    for item in &todo.items {
        let result = item_result(state, todo, item, has_failed);
        has_failed |= result == ItemResult::Failed;
        items.push(ItemEvidence {
            id: item.id.clone(),
            kind: item.kind,
            text: item.command.clone().unwrap_or_else(|| item.text.clone()),
            result,
        });
    }
    let is_of_todo = |commit: &&PipelineCommit| {
        !todo.files.is_empty() && commit.files.iter().any(|file| matches_pattern(&todo.files, file))
    };
    TodoEvidence {
        id: todo.id.to_string(),
        title: todo.title.clone(),
        progress: state.todos.get(todo.id.as_str()).cloned().unwrap_or_default(),
        items,
        commits: state.commits.iter().filter(is_of_todo).cloned().collect(),
    }
}

/// The result of an item; `has_failed` says that an earlier command of its TODO does not pass.
fn item_result(
    state: &PipelineState,
    todo: &Todo,
    item: &AcceptanceItem,
    has_failed: bool,
) -> ItemResult {
    let progress = state.todos.get(todo.id.as_str());
    let failure = progress.map_or("", |progress| progress.failure.as_str());
    let name = item.failure_name();
    match item.kind {
        AcceptanceKind::Human => {
            let name = item_name(&todo.id, &item.id);
            ItemResult::Person(state.human_answers.get(&name).copied())
        }
        AcceptanceKind::Scenario => {
            let id = ScenarioId::leading(&item.text).map(|(id, _)| id.to_string());
            ItemResult::Scenario(id.unwrap_or_else(|| item_name(&todo.id, &item.id)))
        }
        AcceptanceKind::Automatic if progress.is_some_and(|progress| progress.has_passed) => {
            ItemResult::Passed
        }
        AcceptanceKind::Automatic if failure.is_empty() => ItemResult::NotRun,
        AcceptanceKind::Automatic if has_failed => ItemResult::Undecided,
        // The commands of a TODO are judged in their order, up to the first that does not pass.
        AcceptanceKind::Automatic => match TodoFailure::parse(failure) {
            Some(TodoFailure { command, kind: FailureKind::NotRun, .. }) if command == name => {
                ItemResult::NotRun
            }
            Some(TodoFailure { command, .. }) if command == name => ItemResult::Failed,
            Some(_) => ItemResult::Passed,
            None => ItemResult::Failed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approved_plan::ApprovedPlan;
    use crate::state::PlanApprover;

    const PLAN: &str = "\
### [ ] TODO 1: one
- Requirements: REQ-A-001, REQ-B-009
- Files: src/**
- [A] `check one`
- [H] nice

### [ ] TODO 2: two
- [A] `check two`
";
    const SPEC: &str = "\
# SPEC-A-001: files

### REQ-A-001: First
- The system shall write one file.

### REQ-A-002: Second
- The system shall write another file.
";

    #[test]
    fn every_requirement_is_listed_with_what_shows_it_even_if_nothing_does() {
        let mut state = crate::samples::begun();
        let (text, by) = (PLAN.to_owned(), PlanApprover::Person);
        state.approved = Some(ApprovedPlan::new(text, 2, by));
        let commit = |id: &str, file: &str| {
            PipelineCommit::new(id.to_owned(), "a: b", vec![file.to_owned()])
        };
        state.commits = vec![commit("1", "src/a.rs"), commit("2", "docs/a.md")];
        let chain = evidence_chain(&state, Some(&SpecDocument::parse(SPEC)));
        let shown: Vec<String> = chain
            .iter()
            .map(|one| {
                let todos: Vec<&str> = one.todos.iter().map(|todo| todo.id.as_str()).collect();
                format!("{}/{}: {}", one.id, one.title, todos.join(" "))
            })
            .collect();
        let expected =
            ["REQ-A-001/First: TODO-1", "REQ-A-002/Second: ", "REQ-B-009/: TODO-1", "/: TODO-2"];
        assert_eq!(shown, expected);
        let todo = &chain[0].todos[0];
        assert_eq!((todo.items.len(), todo.commits.len()), (2, 1));
        assert_eq!(chain[3].todos[0].commits, [], "it names no files");
        assert_eq!(evidence_chain(&crate::samples::begun(), None), []);
    }
}
