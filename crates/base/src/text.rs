//! Positions in text. Lines and columns are 0-based LSP positions, columns in UTF-16 code units;
//! byte offsets count UTF-8 bytes. A byte order mark at the beginning of a text has no position,
//! because editors remove it before they send a text to a language server.

use serde::Serialize;

/// A 0-based position; `character` counts UTF-16 code units (LSP's default position encoding).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// 0-based line.
    pub line: u32,
    /// 0-based UTF-16 column.
    pub character: u32,
}

/// Unit of a column, chosen by the language server (LSP 3.17, `positionEncoding`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, the default of the protocol and of this program.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

impl PositionEncoding {
    /// From the protocol's name; an unknown one is the default.
    #[must_use]
    pub fn from_lsp_name(word: &str) -> Self {
        match word {
            "utf-8" => Self::Utf8,
            "utf-32" => Self::Utf32,
            _ => Self::Utf16,
        }
    }

    fn width(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A half-open range of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct TextRange {
    /// First position inside.
    pub start: Position,
    /// First position after the range.
    pub end: Position,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The text after a byte order mark.
#[must_use]
pub fn without_byte_order_mark(text: &str) -> &str {
    text.trim_start_matches(BYTE_ORDER_MARK)
}

/// Line starts of one text, without a byte order mark. Line breaks are `\n`, `\r\n` and `\r`, as in LSP.
#[derive(Clone, Debug)]
pub struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<usize>,
    /// Columns of ASCII text need no counting, which is slow on one huge line.
    is_ascii: bool,
}

impl<'t> LineIndex<'t> {
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![text.len() - without_byte_order_mark(text).len()];
        for (at, byte) in bytes.iter().enumerate() {
            let lone_return = *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n');
            if *byte == b'\n' || lone_return {
                starts.push(at + 1);
            }
        }
        Self { text, starts, is_ascii: text.is_ascii() }
    }

    /// Position of a byte offset; an offset inside a character or after the end is moved back to
    /// the nearest valid one.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        let first = self.starts.first().copied().unwrap_or_default();
        let mut offset = offset.clamp(first, self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = &self.text[self.starts[line]..offset];
        let column: usize =
            if self.is_ascii { before.len() } else { before.chars().map(char::len_utf16).sum() };
        Position { line: to_u32(line), character: to_u32(column) }
    }

    /// Range between two byte offsets.
    #[must_use]
    pub fn range(&self, start: usize, end: usize) -> TextRange {
        TextRange { start: self.position(start), end: self.position(end) }
    }

    /// Length of the text in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.text.len()
    }

    /// The position after the last character.
    #[must_use]
    pub fn end(&self) -> Position {
        self.position(self.text.len())
    }

    /// Byte offset of a position counted in `encoding`; `None` if the line does not exist, or the
    /// column is after the end of its line or inside a character.
    #[must_use]
    pub fn offset(&self, position: Position, encoding: PositionEncoding) -> Option<usize> {
        let line = self.line(position.line)?;
        let mut left = position.character as usize;
        let mut offset = *self.starts.get(position.line as usize)?;
        for character in line.chars() {
            if left == 0 {
                break;
            }
            left = left.checked_sub(encoding.width(character))?;
            offset += character.len_utf8();
        }
        (left == 0).then_some(offset)
    }

    /// Text of a 0-based line without its line break; `None` after the last line.
    #[must_use]
    pub fn line(&self, line: u32) -> Option<&'t str> {
        let line = line as usize;
        let start = *self.starts.get(line)?;
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        Some(self.text[start..end].trim_end_matches(['\r', '\n']))
    }

    /// Converts a position between encodings. A column after the end of its line keeps its distance
    /// from the end.
    #[must_use]
    pub fn convert_encoding(
        &self,
        position: Position,
        from: PositionEncoding,
        to: PositionEncoding,
    ) -> Position {
        let Some(line) = self.line(position.line) else { return position };
        let (mut left, mut counted) = (position.character as usize, 0);
        for character in line.chars() {
            let Some(rest) = left.checked_sub(from.width(character)) else { break };
            left = rest;
            counted += to.width(character);
        }
        Position { line: position.line, character: to_u32(counted + left) }
    }

    /// True if both ends of a range are inside the text. A range after the end proves that it was
    /// computed for other bytes.
    #[must_use]
    pub fn contains(&self, range: &TextRange) -> bool {
        range.start <= range.end && range.end.line <= self.end().line
    }
}

/// The 0-based UTF-16 columns at which a name occurs in a line as a whole identifier.
#[must_use]
pub fn identifier_columns(line: &str, name: &str) -> Vec<u32> {
    identifiers(line, name)
        .map(|at| to_u32(line[..at].chars().map(char::len_utf16).sum()))
        .collect()
}

/// Replaces every occurrence of a name as a whole identifier.
#[must_use]
pub fn replace_identifier(text: &str, old: &str, new: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut done = 0;
    for at in identifiers(text, old) {
        replaced.push_str(&text[done..at]);
        replaced.push_str(new);
        done = at + old.len();
    }
    replaced.push_str(&text[done..]);
    replaced
}

/// True if a name occurs in the text as a whole identifier.
#[must_use]
pub fn contains_identifier(text: &str, name: &str) -> bool {
    identifiers(text, name).next().is_some()
}

/// Byte offsets at which a name occurs as a whole identifier.
fn identifiers<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> {
    let matches = text.match_indices(name).map(|(at, _)| at).filter(move |_| !name.is_empty());
    matches.filter(move |at| {
        !text[..*at].ends_with(is_identifier_part)
            && !text[at + name.len()..].starts_with(is_identifier_part)
    })
}

fn is_identifier_part(character: char) -> bool {
    character.is_alphanumeric() || "_$".contains(character)
}

fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, offset: usize, line: u32, character: u32) {
        assert_eq!(LineIndex::new(text).position(offset), Position { line, character });
    }

    #[test]
    fn columns_count_utf16_units_and_every_line_break_counts_once() {
        check("ab\ncd", 4, 1, 1);
        check("ab\r\ncd", 4, 1, 0);
        check("a\rb", 2, 1, 0);
        check("한글 x", 7, 0, 3);
        check("🦀x", 4, 0, 2);
        check("🦀x", 2, 0, 0);
        check("x\n", 99, 1, 0);
        check("", 0, 0, 0);
    }

    #[test]
    fn a_byte_order_mark_has_no_position() {
        check("\u{feff}ab", 4, 0, 1);
        check("\u{feff}ab", 0, 0, 0);
        check("\u{feff}", 3, 0, 0);
        let index = LineIndex::new("\u{feff}한b\nc");
        let at = |line, character| Position { line, character };
        assert_eq!((index.line(0), index.end()), (Some("한b"), at(1, 1)));
        assert_eq!(index.offset(at(0, 0), PositionEncoding::Utf8), Some(3));
        assert_eq!(index.offset(at(0, 3), PositionEncoding::Utf8), Some(6));
        let encodings = (PositionEncoding::Utf8, PositionEncoding::Utf16);
        assert_eq!(index.convert_encoding(at(0, 4), encodings.0, encodings.1), at(0, 2));
    }

    #[test]
    fn columns_are_recounted_between_encodings() {
        let index = LineIndex::new("x\n한🦀z\n");
        let at = |character| Position { line: 1, character };
        assert_eq!(
            index.convert_encoding(at(7), PositionEncoding::Utf8, PositionEncoding::Utf16),
            at(3)
        );
        assert_eq!(
            index.convert_encoding(at(2), PositionEncoding::Utf32, PositionEncoding::Utf16),
            at(3)
        );
        assert_eq!(
            index.convert_encoding(at(3), PositionEncoding::Utf16, PositionEncoding::Utf8),
            at(7)
        );
        assert_eq!(
            index.convert_encoding(at(20), PositionEncoding::Utf8, PositionEncoding::Utf16),
            at(16)
        );
        let after = Position { line: 9, character: 5 };
        assert_eq!(
            index.convert_encoding(after, PositionEncoding::Utf8, PositionEncoding::Utf16),
            after
        );
    }

    #[test]
    fn an_offset_exists_only_for_a_place_in_the_text() {
        let index = LineIndex::new("x\r\n한🦀z\n");
        let at = |line, character, encoding| index.offset(Position { line, character }, encoding);
        assert_eq!(at(1, 3, PositionEncoding::Utf16), Some(10));
        assert_eq!(at(1, 7, PositionEncoding::Utf8), Some(10));
        assert_eq!(at(1, 2, PositionEncoding::Utf32), Some(10));
        assert_eq!(at(1, 4, PositionEncoding::Utf16), Some(11));
        assert_eq!(at(2, 0, PositionEncoding::Utf16), Some(12));
        assert_eq!(at(1, 2, PositionEncoding::Utf16), None, "inside a surrogate pair");
        assert_eq!(at(1, 1, PositionEncoding::Utf8), None, "inside a character");
        assert_eq!(at(0, 2, PositionEncoding::Utf16), None, "inside a line break");
        assert_eq!(at(3, 0, PositionEncoding::Utf16), None, "after the last line");
    }

    #[test]
    fn a_range_after_the_end_is_not_inside() {
        let index = LineIndex::new("one\ntwo");
        assert!(index.contains(&index.range(0, 7)));
        let beyond = Position { line: 9, character: 0 };
        assert!(!index.contains(&TextRange { start: beyond, end: beyond }));
        assert_eq!(index.line(1), Some("two"));
        assert_eq!(index.line(2), None);
    }

    #[test]
    fn a_name_is_found_as_a_whole_identifier() {
        assert_eq!(identifier_columns("🦀 = total(subtotal, total_of, total)", "total"), [5, 31]);
        assert_eq!(identifier_columns("$x + x", "x"), [5]);
        assert_eq!(identifier_columns("x", ""), [0u32; 0]);
        assert_eq!(replace_identifier("x of $x, x", "x", "y"), "y of $x, y");
        assert_eq!(replace_identifier("x", "", "y"), "x");
    }
}
