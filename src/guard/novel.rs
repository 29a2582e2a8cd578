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
        let keys = |side: &'f Side<'t>| collect(side).into_iter().map(|it| it.key);
        let mut olds: Vec<String> = file.before.iter().flat_map(keys).collect();
        let Some(side) = &file.after else {
            gone.append(&mut olds);
            continue;
        };
        for thing in collect(side) {
            match olds.iter().position(|old| *old == thing.key) {
                Some(at) => _ = olds.swap_remove(at),
                None => left.push(Novel { file, side, thing }),
            }
        }
        gone.append(&mut olds);
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
