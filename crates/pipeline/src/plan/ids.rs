//! Ids of TODOs, which people write in several ways.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a TODO in its canonical form: `TODO-1`, `TODO-2.1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TodoId(String);

impl TodoId {
    /// Parses an id alone: `TODO-1`, `TODO 1`, `todo_1`, `#1` or `1`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['`', '*']);
        let number = match text.strip_prefix('#') {
            Some(number) => number,
            None if text.starts_with(|it: char| it.is_ascii_digit()) => text,
            None => {
                return leading_todo_id(text).filter(|(_, rest)| rest.is_empty()).map(|it| it.0);
            }
        };
        let (id, rest) = leading_number(number)?;
        rest.is_empty().then_some(id)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TodoId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The ids in a text, such as the task of a worker: `TODO-2` and `TODO 2.1`.
pub(crate) fn named_todos(text: &str) -> Vec<TodoId> {
    let mut named = Vec::new();
    let mut is_start = true;
    for (at, character) in text.char_indices() {
        if is_start && let Some((id, _)) = leading_todo_id(&text[at..]) {
            named.push(id);
        }
        is_start = !(character.is_alphanumeric() || character == '_');
    }
    named
}

/// The word `TODO` at the start of a text, and the rest.
pub(super) fn leading_todo_word(text: &str) -> Option<&str> {
    let word = text.get(..TODO.len())?;
    word.eq_ignore_ascii_case(TODO).then(|| &text[TODO.len()..])
}

const TODO: &str = "TODO";

/// The id at the start of a text, and the rest.
pub(super) fn leading_todo_id(text: &str) -> Option<(TodoId, &str)> {
    let rest = leading_todo_word(text)?;
    leading_number(rest.trim_start_matches([' ', '\t', '-', '_', '#']))
}

/// The id of the number at the start of a text: digits, with parts after dots.
fn leading_number(text: &str) -> Option<(TodoId, &str)> {
    let mut number = String::new();
    let mut rest = text;
    loop {
        let after = rest.trim_start_matches(|it: char| it.is_ascii_digit());
        let digits = &rest[..rest.len() - after.len()];
        if digits.is_empty() || digits.len() > NUMBER_DIGITS_MAX {
            return None;
        }
        let bare = digits.trim_start_matches('0');
        number.push_str(if bare.is_empty() { "0" } else { bare });
        rest = after;
        match rest.strip_prefix('.') {
            Some(part) if part.starts_with(|it: char| it.is_ascii_digit()) => {
                number.push('.');
                rest = part;
            }
            _ => break,
        }
    }
    // A particle may follow: `TODO-1을`.
    let is_whole = !rest.starts_with(|it: char| it.is_ascii_alphanumeric() || it == '_');
    is_whole.then(|| (TodoId(format!("{TODO}-{number}")), rest))
}

/// Digits of one part of a number; longer ones are not TODO numbers.
const NUMBER_DIGITS_MAX: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_ids_in_prose() {
        let ids = named_todos(
            "Do TODO-2 (todo 2.1), not xTODO-3 or TODO: soon. See TODO_4. TODO-5을 하세요",
        );
        let ids: Vec<&str> = ids.iter().map(TodoId::as_str).collect();
        assert_eq!(ids, ["TODO-2", "TODO-2.1", "TODO-4", "TODO-5"]);
    }

    #[test]
    fn an_id_has_one_form_however_it_is_written() {
        for text in ["TODO-1", "TODO 1", "todo_1", "TODO1", "#1", "1", "`TODO-01`", " TODO - 1 "] {
            assert_eq!(TodoId::parse(text).expect(text).as_str(), "TODO-1", "{text}");
        }
        assert_eq!(TodoId::parse("TODO-2.10").expect("parts").as_str(), "TODO-2.10");
        for text in ["", "TODO", "TODO-x", "TODO-1a", "TODO-1 and more", "1.", "x1", "투두-1"] {
            assert_eq!(TodoId::parse(text), None, "{text}");
        }
    }
}
