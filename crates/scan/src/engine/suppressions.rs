//! Comments that suppress findings, parsed exactly as the ast-grep program does.
//!
//! `ast-grep-ignore` must be the first word of a comment. `: id, id` lists rules; without a colon
//! it means all. After code it applies to that statement; alone on its line, to the next line;
//! alone on the first line with an empty second line, to the whole file.

use std::collections::HashMap;
use std::ops::Range;

use super::matching::RawNode;

/// The word that makes a comment a suppression.
pub(super) const MARKER: &str = "ast-grep-ignore";

/// Id of the rule that reports comments which suppress nothing.
pub(crate) const UNUSED: &str = "unused-suppression";

/// The suppressing comments of one text.
#[derive(Default)]
pub(super) struct Suppressions<'t> {
    comments: Vec<SuppressionComment<'t>>,
    /// Index of the comment that applies to the whole file.
    file: Option<usize>,
    /// Index of the comment that applies to each 0-based line; a later one replaces an earlier.
    lines: HashMap<usize, usize>,
}

struct SuppressionComment<'t> {
    bytes: Range<usize>,
    /// `None`: all rules.
    ids: Option<Vec<&'t str>>,
    is_used: bool,
}

/// The scope of a suppressing comment.
enum SuppressionScope {
    File,
    /// Nodes that start on this 0-based line.
    Line(usize),
}

/// True if nodes of this kind are comments.
pub(super) fn is_comment(kind: &str) -> bool {
    kind.contains("comment")
}

impl<'t> Suppressions<'t> {
    /// Parses the comments of a text, given in text order.
    pub(super) fn from_comments(nodes: Vec<RawNode<'_>>, text: &'t str) -> Self {
        let mut suppressions = Self::default();
        for node in nodes {
            let comment = &text[node.byte_range()];
            // A comment with another word before the marker is prose.
            let start = comment.find(char::is_alphabetic);
            if !start.is_some_and(|start| comment[start..].starts_with(MARKER)) {
                continue;
            }
            let (ids, number) = (parse_rule_ids(comment), suppressions.comments.len());
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

    /// True if a comment suppresses everything in the file, including the findings about unused
    /// suppressions.
    pub(super) fn covers_file(&self) -> bool {
        self.file.is_some_and(|file| self.comments[file].ids.is_none())
    }

    /// True if a comment suppresses a match of this rule that starts on this 0-based line; marks
    /// the comment as used.
    pub(super) fn try_suppress(&mut self, rule: &str, line: usize) -> bool {
        let applicable = [self.file, self.lines.get(&line).copied()];
        for number in applicable.into_iter().flatten() {
            let comment = &mut self.comments[number];
            if comment.ids.as_ref().is_none_or(|ids| ids.contains(&rule)) {
                comment.is_used = true;
                return true;
            }
        }
        false
    }

    /// Ranges of the comments that suppressed nothing.
    pub(super) fn unused(&self) -> impl Iterator<Item = Range<usize>> {
        let is_reported = !self.covers_file();
        let unused = self.comments.iter().filter(move |comment| is_reported && !comment.is_used);
        unused.map(|comment| comment.bytes.clone())
    }
}

/// The rule ids in a comment. Text after an id and a space is a reason or the end of the comment.
fn parse_rule_ids(comment: &str) -> Option<Vec<&str>> {
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
    if line == 0 && comment.next_sibling().is_none_or(|next| next.start_position().row >= 2) {
        return SuppressionScope::File;
    }
    SuppressionScope::Line(line + 1)
}
