//! Applies edits to one text.

use super::{EditRefusal, TextEdit};
use moai_base::text::{LineIndex, Position, PositionEncoding};

/// The text with all edits applied. All ranges refer to the given text, in any order. Inserts at
/// one place keep their order; a duplicate replacement counts once (two projects of one server may
/// each list it), a duplicate insert is two inserts.
///
/// If the text uses a single kind of line break, the new texts get the same kind.
pub(super) fn apply_text_edits(
    path: &str,
    text: &str,
    edits: &[&TextEdit],
    encoding: PositionEncoding,
) -> Result<String, EditRefusal> {
    let index = LineIndex::new(text);
    let mut placed = Vec::with_capacity(edits.len());
    for edit in edits {
        let start = offset(path, &index, edit.range.start, encoding)?;
        let end = offset(path, &index, edit.range.end, encoding)?;
        placed.push((start, end, *edit));
    }
    // A stable sort, because inserts at one place keep the server's order.
    placed.sort_by_key(|(start, _, _)| *start);
    placed.dedup_by(|b, a| a.0 < a.1 && (a.0, a.1) == (b.0, b.1) && a.2.new_text == b.2.new_text);
    let breaks = LineBreaks::from_text(text);
    let mut edited = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end, edit) in placed {
        let Some(kept) = text.get(done..start) else {
            return Err(EditRefusal::Overlap { path: path.to_owned(), at: edit.range.start });
        };
        edited.push_str(kept);
        breaks.push(&mut edited, &edit.new_text);
        done = end;
    }
    edited.push_str(&text[done..]);
    Ok(edited)
}

fn offset(
    path: &str,
    index: &LineIndex<'_>,
    at: Position,
    encoding: PositionEncoding,
) -> Result<usize, EditRefusal> {
    let last = index.end();
    // Whole-file replacements end at the beginning of the line after the last one, even when the
    // last line has no line break.
    if at.character == 0 && Some(at.line) == last.line.checked_add(1) {
        return Ok(index.length());
    }
    index.offset(at, encoding).ok_or_else(|| EditRefusal::OutOfRange { path: path.to_owned(), at })
}

/// The kind of line break that a text uses throughout.
#[derive(Clone, Copy)]
enum LineBreaks {
    Lf,
    CrLf,
    Mixed,
}

impl LineBreaks {
    fn from_text(text: &str) -> Self {
        let all = text.matches('\n').count();
        match text.matches("\r\n").count() {
            _ if all == 0 => Self::Mixed,
            0 => Self::Lf,
            pairs if pairs == all => Self::CrLf,
            _ => Self::Mixed,
        }
    }

    fn push(self, into: &mut String, text: &str) {
        match self {
            Self::Mixed => into.push_str(text),
            Self::Lf => into.push_str(&text.replace("\r\n", "\n")),
            Self::CrLf => into.push_str(&text.replace("\r\n", "\n").replace('\n', "\r\n")),
        }
    }
}
