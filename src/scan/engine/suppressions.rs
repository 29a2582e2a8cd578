//! Comments that suppress findings, read exactly as the ast-grep program reads them. It must not
//! know rules beyond their ids.
//!
//! `ast-grep-ignore` must be the first word of a comment. `: id, id` names rules; without a colon
//! it means all. Behind code it speaks about the statement before it, alone on its line about the
//! next line, and alone on the first line with nothing on the second about the whole file.

use std::collections::HashMap;
use std::ops::Range;

use super::matching::RawNode;

/// The word that makes a comment one of these.
pub(super) const MARKER: &str = "ast-grep-ignore";

/// The rule that speaks about comments which suppress nothing.
pub(in crate::scan) const UNUSED: &str = "unused-suppression";

/// The suppressing comments of one text.
#[derive(Default)]
pub(super) struct Suppressions<'t> {
    comments: Vec<SuppressionComment<'t>>,
    /// The comment about the whole file, by its place in the list.
    file: Option<usize>,
    /// The comment about each 0-based line; a later one replaces an earlier.
    lines: HashMap<usize, usize>,
}

struct SuppressionComment<'t> {
    bytes: Range<usize>,
    /// `None`: all rules.
    ids: Option<Vec<&'t str>>,
    is_used: bool,
}

/// What a comment speaks about.
enum SuppressionScope {
    File,
    /// The things that start on this 0-based line.
    Line(usize),
}

/// Whether nodes of this kind are comments.
pub(super) fn is_comment(kind: &str) -> bool {
    kind.contains("comment")
}

impl<'t> Suppressions<'t> {
    /// Those among the comments of a text, which come in the order of the text.
    pub(super) fn from_comments(nodes: Vec<RawNode<'_>>, text: &'t str) -> Self {
        let mut suppressions = Self::default();
        for node in nodes {
            let comment = &text[node.byte_range()];
            // Anything else before the marker makes it prose.
            let start = comment.find(char::is_alphabetic);
            if !start.is_some_and(|start| comment[start..].starts_with(MARKER)) {
                continue;
            }
            let (ids, number) = (ids_of(comment), suppressions.comments.len());
            let is_all = ids.is_none();
            suppressions.comments.push(SuppressionComment {
                bytes: node.byte_range(),
                ids,
                is_used: false,
            });
            match suppression_scope(node) {
                SuppressionScope::File => {
                    suppressions.file = Some(number);
                    if is_all {
                        break;
                    }
                }
                SuppressionScope::Line(line) => {
                    suppressions.lines.insert(line, number);
                }
            }
        }
        suppressions
    }

    /// Whether one of them covers everything in the file, itself and the other comments included.
    pub(super) fn covers_file(&self) -> bool {
        self.file.is_some_and(|file| self.comments[file].ids.is_none())
    }

    /// Whether a match of this rule that starts on this 0-based line is covered. The comment that
    /// covers it is used.
    pub(super) fn try_suppress(&mut self, rule: &str, line: usize) -> bool {
        let about = [self.file, self.lines.get(&line).copied()];
        for number in about.into_iter().flatten() {
            let comment = &mut self.comments[number];
            if comment.ids.as_ref().is_none_or(|ids| ids.contains(&rule)) {
                comment.is_used = true;
                return true;
            }
        }
        false
    }

    /// The places of those that have covered nothing.
    pub(super) fn unused(&self) -> impl Iterator<Item = Range<usize>> {
        let is_read = !self.covers_file();
        let unused = self.comments.iter().filter(move |comment| is_read && !comment.is_used);
        unused.map(|comment| comment.bytes.clone())
    }
}

/// The ids that a comment names. What follows an id behind a blank is a reason or the end of the
/// comment.
fn ids_of(comment: &str) -> Option<Vec<&str>> {
    let (_, after) = comment.split_once(MARKER)?;
    let (_, ids) = after.trim().split_once(':')?;
    Some(ids.split(',').filter_map(|id| id.trim_start().split(' ').next()).collect())
}

fn suppression_scope(comment: RawNode<'_>) -> SuppressionScope {
    let line = comment.start_position().row;
    let before = comment.prev_sibling().filter(|before| before.end_position().row == line);
    if let Some(before) = before {
        return SuppressionScope::Line(before.start_position().row);
    }
    let is_apart = |next: RawNode<'_>| next.start_position().row >= 2;
    if line == 0 && comment.next_sibling().is_none_or(is_apart) {
        return SuppressionScope::File;
    }
    SuppressionScope::Line(line + 1)
}
