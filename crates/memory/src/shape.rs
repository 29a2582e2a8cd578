//! The shape of a finding: its message without the names, numbers and paths of one project, so that
//! a fix is found again where the same mistake is made with other names.

use moai_base::foreign_text::one_line;
use moai_base::hash::ContentHash;
use moai_base::limits::{MESSAGE_CHARS_MAX, QUOTED_NAME_CHARS_MAX};

const NAME: &str = "‹name›";
const PATH: &str = "‹path›";
const NUMBER: &str = "#";
/// Opening and closing quotes.
const QUOTES: [(char, char); 7] =
    [('\'', '\''), ('"', '"'), ('`', '`'), ('‘', '’'), ('“', '”'), ('«', '»'), ('「', '」')];

/// The common form of findings of one kind, in any project.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindingShape {
    /// The sensor, the code and the message: `pyright reportMissingImports Import ‹name› could not be
    /// resolved`.
    pub template: String,
}

impl FindingShape {
    /// The shape of a finding; the code may be empty.
    #[must_use]
    pub fn new(sensor: &str, code: &str, message: &str) -> Self {
        let message = message_template(&one_line(message, MESSAGE_CHARS_MAX));
        Self { template: [sensor, code, &message].join(" ") }
    }

    /// Hash of the template: 16 hex digits.
    #[must_use]
    pub fn id(&self) -> String {
        ContentHash::of_bytes(self.template.as_bytes()).short_hex()
    }
}

fn message_template(message: &str) -> String {
    let unquoted = without_quoted(message);
    let words: Vec<&str> = unquoted.split_whitespace().collect();
    let last = words.len().saturating_sub(1);
    let templates = words.iter().enumerate().map(|(at, word)| {
        let is_named_last = at == last && at > 0 && words[at - 1].ends_with(':');
        word_template(word, is_named_last)
    });
    templates.collect::<Vec<String>>().join(" ")
}

/// Replaces quoted passages; an apostrophe inside a word is not a quote.
fn without_quoted(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(character) = rest.chars().next() {
        let is_inside_word = out.ends_with(char::is_alphanumeric);
        if let Some(length) = quoted_length(rest).filter(|_| !is_inside_word) {
            out.push_str(NAME);
            rest = &rest[length..];
        } else {
            out.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    out
}

/// Bytes of the quoted passage that begins here, with its quotes. A closing quote is not followed by a
/// letter, so that `'it's'` is one passage.
fn quoted_length(text: &str) -> Option<usize> {
    let open = text.chars().next()?;
    let (_, close) = QUOTES.iter().find(|(quote, _)| *quote == open)?;
    let inside = &text[open.len_utf8()..];
    let ends = inside.char_indices().take(QUOTED_NAME_CHARS_MAX).filter(|(_, it)| it == close);
    let mut ends = ends.map(|(at, _)| at + close.len_utf8());
    let end = ends.find(|end| !inside[*end..].starts_with(is_letter))?;
    Some(open.len_utf8() + end)
}

/// Letters that continue a quoted word; a Korean particle does not.
fn is_letter(character: char) -> bool {
    character.is_ascii_alphanumeric()
}

fn word_template(word: &str, is_named_last: bool) -> String {
    let is_edge = |it: char| !it.is_alphanumeric() && !"_/\\.‹›#".contains(it);
    let core = word.trim_matches(is_edge).trim_end_matches('.');
    if core.is_empty() || core.contains('‹') {
        return word.to_owned();
    }
    let template = if is_path(core) {
        PATH.to_owned()
    } else if is_identifier(core) || is_named_last {
        NAME.to_owned()
    } else {
        without_numbers(core)
    };
    word.replacen(core, &template, 1)
}

fn is_path(word: &str) -> bool {
    let has_folder = word.contains(['/', '\\']) && word.len() > 2;
    let has_extension = word.rsplit_once('.').is_some_and(|(stem, end)| {
        stem.chars().count() > 1
            && (1..=5).contains(&end.len())
            && end.starts_with(|it: char| it.is_ascii_lowercase())
            && end.bytes().all(|it| it.is_ascii_alphanumeric())
    });
    has_folder || has_extension
}

/// True if a word has `_`, `::`, or a capital after a lower-case letter, unlike prose.
fn is_identifier(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let has_hump = letters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    word.contains('_') || word.contains("::") || has_hump
}

/// Runs of digits as `#`; a hexadecimal number is one run.
fn without_numbers(word: &str) -> String {
    let has_digit = word.contains(|it: char| it.is_ascii_digit());
    let hex = word.strip_prefix("0x").unwrap_or(word);
    let is_hex = hex.len() >= 6 && hex.bytes().all(|it| it.is_ascii_hexdigit());
    if has_digit && (is_hex || word.starts_with("0x")) {
        return NUMBER.to_owned();
    }
    let mut out = String::new();
    for character in word.chars() {
        if !character.is_ascii_digit() {
            out.push(character);
        } else if !out.ends_with(NUMBER) {
            out.push_str(NUMBER);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(message: &str) -> String {
        message_template(message)
    }

    #[test]
    fn names_numbers_and_paths_are_replaced() {
        let check = |message: &str, expected: &str| assert_eq!(template(message), expected);
        check(
            "Argument of type 'string' is not assignable to parameter of type 'number'.",
            "Argument of type ‹name› is not assignable to parameter of type ‹name›.",
        );
        check("cannot find value `x` in this scope", "cannot find value ‹name› in this scope");
        check("undefined: fooBar", "undefined: ‹name›");
        check("declared and not used: total", "declared and not used: ‹name›");
        check("expected 3 arguments, but got 12", "expected # arguments, but got #");
        check("Cannot find module './a/b' or its types", "Cannot find module ‹name› or its types");
        check(
            "could not open src/auth/token.rs (os error 2)",
            "could not open ‹path› (os error #)",
        );
        check("address 0x7ffd12ab of thread 7", "address # of thread #");
        check("user_id is unused", "‹name› is unused");
        check("Object doesn't have 'length'", "Object doesn't have ‹name›");
        check("'a'을(를) 찾을 수 없습니다", "‹name›을(를) 찾을 수 없습니다");
    }

    #[test]
    fn the_same_mistake_has_one_shape_everywhere() {
        let here = FindingShape::new("tsserver", "TS2304", "Cannot find name 'foo'.");
        let there = FindingShape::new("tsserver", "TS2304", "Cannot find name 'barBaz'.");
        assert_eq!(here.id(), there.id());
        assert_ne!(
            here.id(),
            FindingShape::new("tsserver", "TS2552", "Cannot find name 'foo'.").id()
        );
        assert_ne!(
            here.id(),
            FindingShape::new("tsserver", "TS2304", "Cannot find type 'foo'.").id()
        );
    }

    #[test]
    fn a_huge_message_is_bounded() {
        let shape = FindingShape::new("s", "c", &"word 'x' ".repeat(1_000_000));
        assert!(shape.template.chars().count() < 2 * MESSAGE_CHARS_MAX * NAME.chars().count());
        let quotes = FindingShape::new("s", "c", &"'".repeat(1_000_000));
        assert!(quotes.template.len() < 4 * MESSAGE_CHARS_MAX * NAME.len());
    }
}
