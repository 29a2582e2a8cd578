//! The order of the TODOs: their dependencies form a graph without cycles.

use std::collections::{HashMap, HashSet};

use super::{PlanDocument, Todo, TodoId, TodoStatus};
use crate::document::FaultList;

impl PlanDocument {
    /// Open TODOs whose dependencies are done, in the order of the file. They do not depend on each
    /// other, so they can be worked on at the same time.
    #[must_use]
    pub fn ready_todos(&self) -> Vec<&Todo> {
        let statuses: HashMap<&TodoId, TodoStatus> =
            self.todos.iter().map(|todo| (&todo.id, todo.status)).collect();
        let is_done = |id: &TodoId| statuses.get(id) == Some(&TodoStatus::Done);
        let is_ready =
            |todo: &&Todo| todo.status == TodoStatus::Open && todo.dependencies.iter().all(is_done);
        self.todos.iter().filter(is_ready).collect()
    }

    /// Open TODOs that wait, directly or not, for one that failed, in the order of the file.
    #[must_use]
    pub fn blocked_todos(&self) -> Vec<&Todo> {
        let mut waiting: HashMap<&TodoId, Vec<&Todo>> = HashMap::new();
        for todo in self.todos.iter().filter(|todo| todo.status == TodoStatus::Open) {
            for id in &todo.dependencies {
                waiting.entry(id).or_default().push(todo);
            }
        }
        let failed = self.todos.iter().filter(|todo| todo.status == TodoStatus::Failed);
        let mut reached: Vec<&TodoId> = failed.map(|todo| &todo.id).collect();
        let mut blocked: HashSet<&TodoId> = HashSet::new();
        while let Some(id) = reached.pop() {
            for todo in waiting.remove(id).unwrap_or_default() {
                if blocked.insert(&todo.id) {
                    reached.push(&todo.id);
                }
            }
        }
        self.todos.iter().filter(|todo| blocked.contains(&todo.id)).collect()
    }
}

/// Adds the faults that concern a whole TODO or several ones.
pub(super) fn check_todos(todos: &[Todo], faults: &mut FaultList) {
    let mut places: HashMap<&TodoId, usize> = HashMap::new();
    for (at, todo) in todos.iter().enumerate() {
        if let Some(first) = places.get(&todo.id) {
            let first = todos[*first].line;
            faults.add(todo.line, format!("{} is also on line {first}", todo.id));
        } else {
            places.insert(&todo.id, at);
        }
        if todo.items.is_empty() {
            let reason = format!("{} has no acceptance item: write `- [A] `command``", todo.id);
            faults.add(todo.line, reason);
        }
    }
    let mut edges = Vec::with_capacity(todos.len());
    for todo in todos {
        let known = todo.dependencies.iter().filter_map(|id| places.get(id).copied());
        edges.push(known.collect::<Vec<usize>>());
        for id in todo.dependencies.iter().filter(|id| !places.contains_key(id)) {
            faults.add(todo.line, format!("{} depends on {id}, which does not exist", todo.id));
        }
    }
    for cycle in cycles(&edges) {
        let mut names: Vec<&str> = cycle.iter().map(|at| todos[*at].id.as_str()).collect();
        names.push(names[0]);
        let line = todos[cycle[0]].line;
        faults.add(line, format!("the dependencies form a cycle: {}", names.join(" -> ")));
    }
}

/// How far the search has got with a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    New,
    /// On the path from the start; an edge back to it closes a cycle.
    OnPath,
    Finished,
}

/// One cycle for each edge that closes one, as positions along its edges.
fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut states = vec![VisitState::New; edges.len()];
    let mut found = Vec::new();
    for start in 0..edges.len() {
        // Node and the position of its next edge; iterative, because a chain may be long.
        let mut path: Vec<(usize, usize)> = Vec::new();
        if states[start] == VisitState::New {
            states[start] = VisitState::OnPath;
            path.push((start, 0));
        }
        while let Some((node, next)) = path.last_mut() {
            let Some(target) = edges[*node].get(*next).copied() else {
                states[*node] = VisitState::Finished;
                path.pop();
                continue;
            };
            *next += 1;
            match states[target] {
                VisitState::Finished => {}
                VisitState::New => {
                    states[target] = VisitState::OnPath;
                    path.push((target, 0));
                }
                VisitState::OnPath => {
                    let from = path.iter().position(|(node, _)| *node == target);
                    let cycle = path[from.unwrap_or(0)..].iter().map(|(node, _)| *node);
                    found.push(cycle.collect());
                }
            }
        }
    }
    found
}
