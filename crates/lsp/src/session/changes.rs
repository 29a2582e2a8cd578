//! The smallest single change that turns one text into another, as an LSP content change.

use serde_json::{Value, json};

use moai_base::text::{LineIndex, Position, PositionEncoding, without_byte_order_mark};

/// True if programs disagree about the line ends of a text: LSP ends a line at a lone `\r`, gopls,
/// clangd and rust-analyzer do not; tsserver ends one at U+2028, Python's `splitlines` also at form
/// feeds and NEL. Ranges in such a text would be applied at the wrong place.
pub(super) fn has_disputed_lines(text: &str) -> bool {
    text.contains(is_disputed_line_end) || has_lone_return(text)
}

fn is_disputed_line_end(character: char) -> bool {
    matches!(
        character,
        '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

fn has_lone_return(text: &str) -> bool {
    let bytes = text.as_bytes();
    (0..bytes.len()).any(|at| bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
}

/// One ranged content change from `old` to `new`, in the server's encoding. Equal texts give an
/// empty insertion, which still makes a new version. Some servers that announce ranged changes
/// crash on a change without a range.
/// Byte order marks are left out, because no text is sent with one.
pub(super) fn ranged_change(old: &str, new: &str, encoding: PositionEncoding) -> Value {
    let (old, new) = (without_byte_order_mark(old), without_byte_order_mark(new));
    let (start, old_end, new_end) = difference(old, new);
    let index = LineIndex::new(old);
    json!({
        "range": {
            "start": lsp_position(&index, start, encoding),
            "end": lsp_position(&index, old_end, encoding),
        },
        "text": &new[start..new_end],
    })
}

fn lsp_position(index: &LineIndex<'_>, offset: usize, encoding: PositionEncoding) -> Value {
    let at: Position =
        index.convert_encoding(index.position(offset), PositionEncoding::Utf16, encoding);
    json!({"line": at.line, "character": at.character})
}

/// Byte offsets of the start of the difference and of its end in each text. All lie on character boundaries,
/// and none lies between a carriage return and its line feed, where LSP has no position.
fn difference(old: &str, new: &str) -> (usize, usize, usize) {
    if old == new {
        return (0, 0, 0);
    }
    let prefix = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    let mut start = prefix;
    while !is_between(old, start) || !is_between(new, start) {
        start -= 1;
    }
    let rest = (old.len() - start).min(new.len() - start);
    let backwards = old.bytes().rev().zip(new.bytes().rev());
    let mut suffix = backwards.take(rest).take_while(|(old, new)| old == new).count();
    while !is_between(old, old.len() - suffix) || !is_between(new, new.len() - suffix) {
        suffix -= 1;
    }
    (start, old.len() - suffix, new.len() - suffix)
}

fn is_between(text: &str, offset: usize) -> bool {
    let bytes = text.as_bytes();
    let splits_break =
        offset > 0 && bytes[offset - 1] == b'\r' && bytes.get(offset) == Some(&b'\n');
    text.is_char_boundary(offset) && !splits_break
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Applies a change as a server would: by walking lines and counting units.
    fn apply(text: &str, change: &Value, encoding: PositionEncoding) -> String {
        let offset = |place: &Value| {
            let number = |key: &str| place[key].as_u64().expect("a number");
            let mut at = 0;
            for _ in 0..number("line") {
                at += text[at..].find('\n').expect("the line exists") + 1;
            }
            let mut left = number("character");
            for character in text[at..].chars() {
                if left == 0 {
                    break;
                }
                assert_ne!(character, '\n', "the column lies in its line");
                let width = match encoding {
                    PositionEncoding::Utf8 => character.len_utf8(),
                    PositionEncoding::Utf16 => character.len_utf16(),
                    PositionEncoding::Utf32 => 1,
                };
                left = left.checked_sub(width as u64).expect("columns lie between characters");
                at += character.len_utf8();
            }
            assert_eq!(left, 0, "the column exists");
            at
        };
        let (start, end) = (offset(&change["range"]["start"]), offset(&change["range"]["end"]));
        let new = change["text"].as_str().expect("text");
        format!("{}{new}{}", &text[..start], &text[end..])
    }

    fn check(old: &str, new: &str) {
        for encoding in [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32] {
            let change = ranged_change(old, new, encoding);
            let (old, new) = (without_byte_order_mark(old), without_byte_order_mark(new));
            assert_eq!(apply(old, &change, encoding), new, "{encoding:?} {change}");
        }
    }

    #[test]
    fn a_change_covers_exactly_the_difference() {
        let change =
            ranged_change("one\ntwo\nthree\n", "one\ntoo\nthree\n", PositionEncoding::Utf16);
        let range =
            json!({"start": {"line": 1, "character": 1}, "end": {"line": 1, "character": 2}});
        assert_eq!(change, json!({"range": range, "text": "o"}));
        let empty = ranged_change("x\n", "x\n", PositionEncoding::Utf8);
        let place = json!({"line": 0, "character": 0});
        assert_eq!(empty, json!({"range": {"start": place, "end": place}, "text": ""}));
    }

    #[test]
    fn characters_and_line_breaks_are_never_cut() {
        // 🦀 and 🦁 share their first three bytes and their first UTF-16 unit.
        check("a🦀b", "a🦁b");
        check("é", "è");
        check("a\r\nb", "a\nb");
        check("a\nb", "a\r\nb");
        check("a\r\n\r\nb\r\n", "a\r\nb\r\n");
        check("\u{feff}x\n", "x\n");
        check("", "\u{feff}");
        check("aaa", "aa");
        check("한글\n", "한\n글\n");
    }

    #[test]
    fn texts_with_disputed_line_ends_are_recognized() {
        for text in ["a\rb", "a\r", "a\u{2028}b", "a\u{85}b", "\u{c}\n"] {
            assert!(has_disputed_lines(text), "{text:?}");
        }
        assert!(!has_disputed_lines("a\r\nb\n\u{feff}🦀"));
    }

    proptest! {
        #[test]
        fn applying_a_change_yields_the_new_text(
            old in r"([ab\n🦀🦁é한\x{feff}]|\r\n){0,12}",
            new in r"([ab\r\n🦀🦁é한\x{2028}\x{85}]|\r\n){0,12}",
        ) {
            check(&old, &new);
        }
    }
}
