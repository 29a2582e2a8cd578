//! Import cycles between the files of the engine: a ratchet on the size of the largest one.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::files;
use super::text::code_only;

/// Files in the largest import cycle of `crates/engine`. Only ever lowered.
const CYCLE_FILES_MAX: usize = 5;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Every path that the code names: `a::b`, and one for each branch of `a::{b, c}`.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut prefixes: Vec<String> = Vec::new();
    let mut path = String::new();
    for character in code.chars() {
        let is_part = character.is_alphanumeric() || character == '_' || character == ':';
        if is_part {
            path.push(character);
            continue;
        }
        let prefix = prefixes.last().cloned().unwrap_or_default();
        let whole = format!("{prefix}{path}");
        if character == '{' {
            let is_group = path.ends_with("::");
            prefixes.push(if is_group { whole } else { String::new() });
        } else {
            if whole.contains("::") {
                found.push(whole);
            }
            if character == '}' {
                prefixes.pop();
            }
        }
        path.clear();
    }
    found
}

/// The module that a path inside `module` leads to, if it is one of `modules`.
fn target(modules: &BTreeSet<String>, module: &str, path: &str) -> Option<String> {
    let mut start: Vec<&str> = module.split("::").collect();
    let mut segments = path.split("::").peekable();
    match *segments.peek()? {
        "crate" => {
            start.clear();
            segments.next();
        }
        "self" => drop(segments.next()),
        _ => {}
    }
    while segments.next_if_eq(&"super").is_some() {
        start.pop();
    }
    start.extend(segments);
    // The rest of the path names items of the module.
    while !start.is_empty() && !modules.contains(&start.join("::")) {
        start.pop();
    }
    let known = start.join("::");
    (!known.is_empty() && known != module).then_some(known)
}

fn imports(sources: &[(String, String)]) -> Graph {
    let modules: BTreeSet<String> = sources.iter().map(|(module, _)| module.clone()).collect();
    let mut graph = Graph::new();
    for (module, code) in sources {
        let production = &code[..code.find("#[cfg(test)]\nmod tests {").unwrap_or(code.len())];
        let targets = paths(production).into_iter().filter_map(|it| target(&modules, module, &it));
        graph.insert(module.clone(), targets.collect());
    }
    graph
}

fn reachable(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(module) = waiting.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if reached.insert(next.clone()) {
                waiting.push(next);
            }
        }
    }
    reached
}

/// The modules that import each other, directly or through others; empty without a cycle.
fn largest_cycle(graph: &Graph) -> BTreeSet<String> {
    let reached: Graph =
        graph.keys().map(|module| (module.clone(), reachable(graph, module))).collect();
    let cycle = |module: &String| -> BTreeSet<String> {
        let is_mutual = |other: &&String| reached[*other].contains(module);
        reached[module].iter().filter(is_mutual).cloned().collect()
    };
    graph.keys().map(cycle).max_by_key(BTreeSet::len).unwrap_or_default()
}

#[test]
fn import_cycles_of_the_engine_stay_small() {
    let sources: Vec<(String, String)> = files("crates/engine/src", Some("rs"))
        .into_iter()
        .filter(|file| !file.path.ends_with("/tests.rs") && !file.path.ends_with("/lib.rs"))
        .map(|file| {
            let module = file.path.trim_start_matches("crates/engine/src/").trim_end_matches(".rs");
            (module.replace('/', "::"), code_only(&file.text))
        })
        .collect();
    let cycle = largest_cycle(&imports(&sources));
    assert!(
        cycle.len() <= CYCLE_FILES_MAX,
        "{} files import each other, at most {CYCLE_FILES_MAX}: {cycle:#?}",
        cycle.len()
    );
}

#[test]
fn a_cycle_is_found_through_every_kind_of_path() {
    let check = |sources: &[(&str, &str)], expected: usize| {
        let sources: Vec<(String, String)> =
            sources.iter().map(|(module, code)| ((*module).into(), (*code).into())).collect();
        assert_eq!(largest_cycle(&imports(&sources)).len(), expected, "{sources:?}");
    };
    check(&[("d::a", "use super::b::X;"), ("d::b", "")], 0);
    check(&[("d::a", "use super::b::X;"), ("d::b", "fn f() { super::a::g(); }")], 2);
    check(&[("d::a", "use super::{b, c::{X, Y}};"), ("d::b", ""), ("d::c", "use crate::d::a;")], 2);
    check(&[("d::a", "fn f() { b::g(); }"), ("d::a::b", "use super::X;")], 2);
    check(
        &[("d::a", "use super::b;"), ("d::b", "#[cfg(test)]\nmod tests { use super::super::a; }")],
        0,
    );
}
