//! What came with a change: things in the texts now that have no equal in the texts before. Moving
//! code within a file or into another brings nothing new. It must not know what the things are.

use super::facts::{File, Files, Side};
use crate::scan::syntax::Node;

/// One thing that a detector counts.
pub(super) struct Thing<'t> {
    /// What makes it equal to another.
    pub(super) key: String,
    pub(super) node: Node<'t>,
}

/// A thing that is new, and the file and text that it is in.
pub(super) struct Novel<'f, 't> {
    pub(super) file: &'f File<'t>,
    pub(super) side: &'f Side<'t>,
    pub(super) thing: Thing<'t>,
}

/// The things that are new: first each is held against its own file, then what is left against all
/// others that changed.
pub(super) fn novel<'f, 't>(
    files: &'f Files<'t>,
    collect: impl Fn(&'f Side<'t>) -> Vec<Thing<'t>>,
) -> Vec<Novel<'f, 't>> {
    let mut gone: Vec<String> = Vec::new();
    let mut left: Vec<Novel<'f, 't>> = Vec::new();
    for file in &files.files {
        let mut olds: Vec<Placed> =
            file.before.iter().flat_map(|it| placed(&collect(it), it)).collect();
        let Some(side) = &file.after else {
            gone.extend(olds.into_iter().map(|old| old.key));
            continue;
        };
        let things = collect(side);
        let lines = placed(&things, side);
        // What stands in an equal line is the same; what is left only has the same key.
        let is_known: Vec<bool> =
            lines.iter().map(|new| take(&mut olds, |old| old == new)).collect();
        for ((thing, new), is_known) in things.into_iter().zip(lines).zip(is_known) {
            if !is_known && !take(&mut olds, |old| old.key == new.key) {
                left.push(Novel { file, side, thing });
            }
        }
        gone.extend(olds.into_iter().map(|old| old.key));
    }
    left.retain(|novel| match gone.iter().position(|old| *old == novel.thing.key) {
        Some(at) => {
            gone.swap_remove(at);
            false
        }
        None => true,
    });
    left
}

/// A thing's key and the line that it begins in.
#[derive(PartialEq, Eq)]
struct Placed {
    key: String,
    line: String,
}

fn placed(things: &[Thing<'_>], side: &Side<'_>) -> Vec<Placed> {
    if things.is_empty() {
        return Vec::new();
    }
    let lines: Vec<&str> = side.root.text().lines().collect();
    let line = |node: Node<'_>| lines.get(node.line()).map_or("", |it| it.trim()).to_owned();
    things.iter().map(|it| Placed { key: it.key.clone(), line: line(it.node) }).collect()
}

/// Takes one that fits out of a list; whether there was one.
fn take(olds: &mut Vec<Placed>, fits: impl Fn(&Placed) -> bool) -> bool {
    let at = olds.iter().position(fits);
    at.is_some_and(|at| {
        olds.swap_remove(at);
        true
    })
}

/// The things of every node that is one.
pub(super) fn things<'t>(
    side: &Side<'t>,
    mut key: impl FnMut(Node<'t>) -> Option<String>,
) -> Vec<Thing<'t>> {
    let mut found = Vec::new();
    side.root.walk(&mut |node| {
        found.extend(key(node).map(|key| Thing { key, node }));
        true
    });
    found
}
