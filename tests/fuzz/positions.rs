//! Positions in texts, compared with a model that counts character by character; paths and URIs.

use std::path::Path;

use moai_base::foreign_text::one_line;
use moai_base::path::{RelPath, from_uri, normalize, to_uri};
use moai_base::text::{
    LineIndex, Position, PositionEncoding, identifier_columns, replace_identifier,
    without_byte_order_mark,
};

use crate::corpus::texts;
use crate::runner::{fuzz, text};

const TEXTS: [&str; 4] = [
    "a = 1\r\nб = 2\r🦀 = 3\n\n\u{feff}x\u{2028}y\u{85}z\n",
    "\u{feff}let naïve = \"e\u{301}\";\r\n\tif (𝒳) {}\n",
    "한글 = \"값\"\nreturn 한글\n",
    "",
];

/// The shown text of one line of foreign text.
const LINE_CHARS_MAX: usize = 40;

/// Line and UTF-16 column of each character and of the end, counted one by one.
fn naive_positions(text: &str) -> Vec<(usize, Position)> {
    let start = text.len() - without_byte_order_mark(text).len();
    let (mut line, mut character, mut places) = (0, 0, Vec::new());
    let mut rest = text[start..].char_indices().peekable();
    while let Some((at, one)) = rest.next() {
        places.push((start + at, Position { line, character }));
        let ends_line =
            one == '\n' || one == '\r' && rest.peek().is_none_or(|(_, next)| *next != '\n');
        if ends_line {
            (line, character) = (line + 1, 0);
        } else {
            character += u32::try_from(one.len_utf16()).expect("one or two");
        }
    }
    places.push((text.len(), Position { line, character }));
    places
}

#[test]
fn line_indexes_agree_with_counting() {
    fuzz("positions", &texts(&TEXTS), |input| {
        let all = text(input);
        let mut end = all.len().min(600);
        while !all.is_char_boundary(end) {
            end -= 1;
        }
        let text = &all[..end];
        let index = LineIndex::new(text);
        for (offset, expected) in naive_positions(text) {
            assert_eq!(index.position(offset), expected, "at {offset} of {text:?}");
            let is_line_break = text[offset..].starts_with(['\r', '\n']);
            let line = index.line(expected.line).expect("the line exists");
            let width: usize = line.chars().map(char::len_utf16).sum();
            let is_inside = !is_line_break || expected.character as usize <= width;
            if is_inside {
                let back = index.offset(expected, PositionEncoding::Utf16);
                assert_eq!(back, Some(offset), "{expected:?} of {text:?}");
            }
            for encoding in [PositionEncoding::Utf8, PositionEncoding::Utf32] {
                let other = index.convert_encoding(expected, PositionEncoding::Utf16, encoding);
                let back = index.convert_encoding(other, encoding, PositionEncoding::Utf16);
                assert_eq!(back, expected, "{encoding:?} of {text:?}");
            }
        }
        let far = Position { line: u32::MAX, character: u32::MAX };
        assert_eq!(index.offset(far, PositionEncoding::Utf16), None);
        assert_eq!(index.position(usize::MAX), index.end());
        0
    });
}

#[test]
fn shown_lines_are_single_and_short() {
    fuzz("shown-lines", &texts(&TEXTS), |input| {
        let text = text(input);
        let line = one_line(&text, LINE_CHARS_MAX);
        assert!(line.chars().count() <= LINE_CHARS_MAX + 1, "{line:?}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
        let columns = identifier_columns(&text, "x").len();
        let replaced = replace_identifier(&text, "x", "yy");
        assert_eq!(replaced.len(), text.len() + columns, "{text:?}");
        line.len()
    });
}

#[test]
fn paths_and_uris() {
    let samples = ["src/a.py", "/p/src/./x/../a.py", "file:///p/%EA%B0%80%20b", "../../x", "a//b/"];
    fuzz("paths", &texts(&samples), |input| {
        let text = text(input);
        if let Some(path) = RelPath::parse(&text) {
            let absolute = path.under(Path::new("/r"));
            assert_eq!(RelPath::below(Path::new("/r"), &absolute), Some(path.clone()), "{text:?}");
            assert_eq!(normalize(&absolute), absolute, "{text:?}");
            assert!(!path.folders().any(str::is_empty), "{text:?}");
        }
        let below = RelPath::below(Path::new("/r"), &Path::new("/r").join(&text));
        assert!(below.is_none_or(|path| !path.as_str().split('/').any(|part| part == "..")));
        if let Some(path) = from_uri(&text) {
            assert_eq!(from_uri(&to_uri(&path)), Some(path), "{text:?}");
        }
        0
    });
}
