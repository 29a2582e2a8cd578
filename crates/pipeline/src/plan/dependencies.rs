//! The order of the TODOs: their dependencies form a graph without cycles.

use std::collections::HashMap;

use super::{Todo, TodoId};
use crate::document::FaultList;

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

/// Progress of the search at a node.
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
