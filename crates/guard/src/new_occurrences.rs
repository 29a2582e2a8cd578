//! Occurrences that a change adds: those in the current texts without an equal in the texts before.
//! Moving code within a file or to another file adds nothing.

use super::facts::{ParsedFile, ParsedFiles, SourceSide};
use moai_scan::syntax::SyntaxNode;

/// One occurrence that a detector counts.
pub(super) struct NodeOccurrence<'t> {
    /// Equal occurrences have equal keys.
    pub(super) key: String,
    pub(super) node: SyntaxNode<'t>,
}

/// A new occurrence with its file and text.
pub(super) struct NewOccurrence<'f, 't> {
    pub(super) file: &'f ParsedFile<'t>,
    pub(super) side: &'f SourceSide<'t>,
    pub(super) occurrence: NodeOccurrence<'t>,
}

/// The new occurrences. Each file is compared with itself first; the remaining ones are compared
/// with all other changed files.
pub(super) fn new_occurrences<'f, 't>(
    files: &'f ParsedFiles<'t>,
    collect: impl Fn(&'f SourceSide<'t>) -> Vec<NodeOccurrence<'t>>,
) -> Vec<NewOccurrence<'f, 't>> {
    let mut gone: Vec<String> = Vec::new();
    let mut left: Vec<NewOccurrence<'f, 't>> = Vec::new();
    for file in &files.files {
        let mut olds: Vec<OccurrenceLine> =
            file.before.iter().flat_map(|it| occurrence_lines(&collect(it), it)).collect();
        let Some(side) = &file.after else {
            gone.extend(olds.into_iter().map(|old| old.key));
            continue;
        };
        let things = collect(side);
        let lines = occurrence_lines(&things, side);
        // An occurrence on an unchanged line is the same one; otherwise only the key is equal.
        let is_known: Vec<bool> =
            lines.iter().map(|new| remove_first(&mut olds, |old| old == new)).collect();
        for ((thing, new), is_known) in things.into_iter().zip(lines).zip(is_known) {
            if !is_known && !remove_first(&mut olds, |old| old.key == new.key) {
                left.push(NewOccurrence { file, side, occurrence: thing });
            }
        }
        gone.extend(olds.into_iter().map(|old| old.key));
    }
    left.retain(|novel| match gone.iter().position(|old| *old == novel.occurrence.key) {
        Some(at) => {
            gone.swap_remove(at);
            false
        }
        None => true,
    });
    left
}

/// The key of an occurrence and the line it begins on.
#[derive(PartialEq, Eq)]
struct OccurrenceLine {
    key: String,
    line: String,
}

fn occurrence_lines(things: &[NodeOccurrence<'_>], side: &SourceSide<'_>) -> Vec<OccurrenceLine> {
    if things.is_empty() {
        return Vec::new();
    }
    let lines: Vec<&str> = side.root.text().lines().collect();
    let line = |node: SyntaxNode<'_>| lines.get(node.line()).map_or("", |it| it.trim()).to_owned();
    things.iter().map(|it| OccurrenceLine { key: it.key.clone(), line: line(it.node) }).collect()
}

/// Removes one matching occurrence from a list; returns whether there was one.
fn remove_first(olds: &mut Vec<OccurrenceLine>, fits: impl Fn(&OccurrenceLine) -> bool) -> bool {
    let at = olds.iter().position(fits);
    at.is_some_and(|at| {
        olds.swap_remove(at);
        true
    })
}

/// The occurrences among the nodes of a tree.
pub(super) fn occurrences<'t>(
    side: &SourceSide<'t>,
    mut key: impl FnMut(SyntaxNode<'t>) -> Option<String>,
) -> Vec<NodeOccurrence<'t>> {
    let mut found = Vec::new();
    side.root.walk(&mut |node| {
        found.extend(key(node).map(|key| NodeOccurrence { key, node }));
        true
    });
    found
}
