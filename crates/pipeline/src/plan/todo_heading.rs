//! The line that begins a TODO: `### [ ] TODO 1: title`, or the same as a list item.

use std::ops::Range;

use super::TodoStatus;
use super::ids::{TodoId, leading_todo_id, leading_todo_word};
use crate::document::{DocumentLine, HEADING_LEVEL_MAX, quoted_words};

/// A line that begins a TODO, or was meant to.
pub(super) struct TodoHeading<'t> {
    /// Level of the heading; a list item is below all of them.
    pub(super) level: usize,
    /// The id, if it can be read.
    pub(super) id: Option<TodoId>,
    /// The state; [`TodoStatus::Open`] if unreadable.
    pub(super) status: TodoStatus,
    /// Bytes between the brackets, as positions in the document.
    pub(super) checkbox: Option<Range<usize>>,
    pub(super) title: &'t str,
    /// The reason why the line cannot be used.
    pub(super) fault: Option<String>,
}

/// The form of a TODO, for messages.
const FORM: &str = "write `### [ ] TODO 1: title`, with [ ], [x] or [FAILED]";

/// Reads a line that begins a TODO.
pub(super) fn todo_heading<'t>(line: &DocumentLine<'t>) -> Option<TodoHeading<'t>> {
    let (level, rest) = match line.heading() {
        Some((level, text)) => (level, text),
        None if line.indent() < NESTED_INDENT && !line.is_code => {
            let item = line.list_item()?;
            // A task of a list is a TODO only if it is labeled as one.
            let (_, after) = item.strip_prefix('[')?.split_once(']')?;
            leading_todo_word(after.trim_start_matches(ORNAMENT))?;
            (HEADING_LEVEL_MAX + 1, item)
        }
        None => return None,
    };
    let Some(inside) = rest.strip_prefix('[') else {
        return heading_without_checkbox(level, rest);
    };
    let Some(length) = inside.find(']') else {
        return heading_with_open_checkbox(level, inside);
    };
    let mark = &inside[..length];
    let after = inside[length + 1..].trim_start_matches(ORNAMENT);
    let status = TodoStatus::of_mark(mark);
    if leading_todo_word(after).is_none() && status.is_none() {
        // A link or a label, unless the bracket is around the id.
        return leading_todo_id(mark).map(|(id, _)| {
            let fault = format!("{id} has no checkbox: {FORM}");
            TodoHeading::faulty(level, Some(id), after, fault)
        });
    }
    // Only the marks of a heading or a list precede it.
    let checkbox = line.text.find('[').map(|at| line.start + at + 1);
    let checkbox = checkbox.map(|start| start..start + length);
    let mut heading = TodoHeading {
        level,
        id: None,
        status: status.unwrap_or(TodoStatus::Open),
        checkbox,
        title: after,
        fault: None,
    };
    match leading_todo_id(after) {
        Some((id, title)) => {
            heading.id = Some(id);
            heading.title = title_text(title);
        }
        None => heading.fault = Some(format!("the TODO has no number: {FORM}")),
    }
    if status.is_none() {
        heading.fault = Some(format!("{} is not a state of a TODO: {FORM}", quoted_words(mark)));
    }
    Some(heading)
}

/// Indentation from which a list item is nested.
const NESTED_INDENT: usize = 2;
/// Characters that may surround the words of a heading.
const ORNAMENT: [char; 4] = [' ', '\t', '*', '_'];

impl<'t> TodoHeading<'t> {
    fn faulty(level: usize, id: Option<TodoId>, title: &'t str, fault: String) -> Self {
        let title = title_text(title);
        let status = TodoStatus::Open;
        Self { level, id, status, checkbox: None, title, fault: Some(fault) }
    }
}

fn heading_without_checkbox(level: usize, rest: &str) -> Option<TodoHeading<'_>> {
    let (id, title) = leading_todo_id(rest.trim_start_matches(ORNAMENT))?;
    let fault = format!("{id} has no checkbox: {FORM}");
    Some(TodoHeading::faulty(level, Some(id), title, fault))
}

fn heading_with_open_checkbox(level: usize, inside: &str) -> Option<TodoHeading<'_>> {
    let at = inside.to_ascii_uppercase().find("TODO")?;
    let (id, title) = leading_todo_id(&inside[at..])?;
    let fault = format!("the checkbox of {id} is not closed: {FORM}");
    Some(TodoHeading::faulty(level, Some(id), title, fault))
}

fn title_text(rest: &str) -> &str {
    let is_ornament = |it: char| it.is_whitespace() || "*_".contains(it);
    let rest = rest.trim_matches(is_ornament);
    rest.trim_start_matches([':', '：', '-', '–', '—', '.', ')']).trim_matches(is_ornament)
}
