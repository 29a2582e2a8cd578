//! Lines of a Markdown document with their positions, and the faults that are reported for them.

use std::fmt;

use moai_base::foreign_text::one_line;
use moai_base::limits::{DOCUMENT_FAULTS_MAX, FAULT_QUOTE_CHARS_MAX, PIPELINE_DOCUMENT_BYTES_MAX};
use moai_loops::fences::{FencePart, FenceTracker};

/// A reason why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFault {
    /// 1-based line.
    pub line: usize,
    /// The reason, as a fragment for people.
    pub reason: String,
}

impl fmt::Display for DocumentFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.reason)
    }
}

/// The faults of a document, in the order of its lines and bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultList(Vec<DocumentFault>);

impl FaultList {
    pub(crate) fn add(&mut self, line: usize, reason: impl Into<String>) {
        self.0.push(DocumentFault { line, reason: reason.into() });
    }

    pub(crate) fn into_sorted(mut self) -> Vec<DocumentFault> {
        self.0.sort_by_key(|fault| fault.line);
        self.0.truncate(DOCUMENT_FAULTS_MAX);
        self.0
    }
}

/// Words of a document, for the message about a fault.
pub(crate) fn quoted_words(text: &str) -> String {
    format!("`{}`", one_line(text, FAULT_QUOTE_CHARS_MAX).replace('`', "'"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentLine<'t> {
    /// 1-based.
    pub(crate) number: usize,
    /// Position of `text` in the document, in bytes.
    pub(crate) start: usize,
    /// The line without line end, byte order mark and comments.
    pub(crate) text: &'t str,
    /// True if it belongs to a fenced code block.
    pub(crate) is_code: bool,
}

impl<'t> DocumentLine<'t> {
    /// Level and text of a heading (`## Title`).
    pub(crate) fn heading(&self) -> Option<(usize, &'t str)> {
        let text = self.text.trim();
        let rest = text.trim_start_matches('#');
        let level = text.len() - rest.len();
        let is_heading = (1..=HEADING_LEVEL_MAX).contains(&level)
            && (rest.is_empty() || rest.starts_with([' ', '\t']));
        (is_heading && !self.is_code).then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
    }

    /// The text of a list item.
    pub(crate) fn list_item(&self) -> Option<&'t str> {
        list_item(self.text)
    }

    /// Width of the white space at its start; a tab counts as four.
    pub(crate) fn indent(&self) -> usize {
        let blanks = self.text.chars().take_while(|it| it.is_whitespace());
        blanks.map(|it| if it == '\t' { 4 } else { 1 }).sum()
    }
}

/// Deepest heading of Markdown.
pub(crate) const HEADING_LEVEL_MAX: usize = 6;

fn list_item(text: &str) -> Option<&str> {
    let text = text.trim();
    let digits = text.trim_start_matches(|it: char| it.is_ascii_digit());
    let rest = match text.strip_prefix(['-', '*', '+', '•']) {
        Some(rest) => rest,
        None if digits.len() < text.len() => digits.strip_prefix(['.', ')'])?,
        None => return None,
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// Name and value of a line `Name: value`, without the marks of emphasis.
pub(crate) fn named_value(text: &str) -> Option<(String, &str)> {
    let (name, value) = text.split_once([':', '：'])?;
    // In `**Name:** value` the colon is inside the emphasis.
    let value = value.trim_start_matches('*').trim();
    Some((normalized_name(name), value))
}

/// A name in lower case, without the marks of emphasis, with blanks for `_` and `-`.
pub(crate) fn normalized_name(name: &str) -> String {
    let bare = name.trim_matches(|it: char| it.is_whitespace() || "*_`".contains(it));
    bare.to_lowercase().replace(['_', '-'], " ")
}

/// True for an unfilled placeholder of a template: `{…}`.
pub(crate) fn is_placeholder(text: &str) -> bool {
    text.starts_with('{') && text.ends_with('}')
}

/// The lines of a document that are not comments. A block of code or a comment that is not closed
/// is a fault, because it hides everything below.
pub(crate) fn document_lines<'t>(text: &'t str, faults: &mut FaultList) -> Vec<DocumentLine<'t>> {
    if text.len() > PIPELINE_DOCUMENT_BYTES_MAX {
        let kib = PIPELINE_DOCUMENT_BYTES_MAX / 1024;
        faults.add(1, format!("the document is larger than {kib} KiB"));
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut fences = FenceTracker::default();
    let mut open_fence_line = 0;
    let mut open_comment_line = None;
    let mut start = 0;
    for (at, whole) in text.split_inclusive('\n').enumerate() {
        let number = at + 1;
        let mut line = DocumentLine { number, start, text: whole, is_code: fences.is_open() };
        start += whole.len();
        if number == 1 && line.text.starts_with(BYTE_ORDER_MARK) {
            line = skip_bytes(line, BYTE_ORDER_MARK.len_utf8());
        }
        line.text = line.text.trim_end_matches(['\n', '\r']);
        if !fences.is_open() {
            line = without_comments(line, &mut open_comment_line);
        }
        match fences.part(line.text) {
            FencePart::Prose => lines.push(line),
            FencePart::Code => lines.push(DocumentLine { is_code: true, ..line }),
            FencePart::Fence => open_fence_line = number,
        }
    }
    if fences.is_open() {
        let reason = "the block of code that begins here is not closed and hides what follows";
        faults.add(open_fence_line, reason);
    }
    if let Some(line) = open_comment_line {
        faults.add(line, "the comment that begins here is not closed and hides what follows");
    }
    lines
}

/// Byte order mark that some editors write.
const BYTE_ORDER_MARK: char = '\u{feff}';

fn skip_bytes(line: DocumentLine<'_>, bytes: usize) -> DocumentLine<'_> {
    DocumentLine { start: line.start + bytes, text: &line.text[bytes..], ..line }
}

/// The line without comments at its start, cut at a later one.
fn without_comments<'t>(
    mut line: DocumentLine<'t>,
    open_comment_line: &mut Option<usize>,
) -> DocumentLine<'t> {
    if open_comment_line.is_some() {
        let Some(end) = line.text.find("-->") else { return skip_bytes(line, line.text.len()) };
        *open_comment_line = None;
        line = skip_bytes(line, end + "-->".len());
    }
    while let Some(at) = comment_start(line.text) {
        let end = line.text[at..].find("-->").map(|length| at + length + "-->".len());
        match end {
            Some(end) if line.text[..at].trim().is_empty() => line = skip_bytes(line, end),
            Some(_) => return DocumentLine { text: line.text[..at].trim_end(), ..line },
            None => {
                *open_comment_line = Some(line.number);
                return DocumentLine { text: line.text[..at].trim_end(), ..line };
            }
        }
    }
    line
}

/// Start of the first comment that is not in a code span.
fn comment_start(text: &str) -> Option<usize> {
    let starts = text.match_indices("<!--").map(|(at, _)| at);
    starts.into_iter().find(|at| text[..*at].matches('`').count().is_multiple_of(2))
}

/// The text of the first code span, and the text after it.
pub(crate) fn first_code_span(text: &str) -> Option<(&str, &str)> {
    let start = text.find('`')?;
    let ticks = text[start..].len() - text[start..].trim_start_matches('`').len();
    let inside = start + ticks;
    let mut at = inside;
    loop {
        let close = at + text[at..].find('`')?;
        let length = text[close..].len() - text[close..].trim_start_matches('`').len();
        if length == ticks {
            return Some((text[inside..close].trim(), &text[close + length..]));
        }
        at = close + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_marks_comments_and_line_ends() {
        let text = "\u{feff}# A\r\n<!-- x\ny -->  # B\n```\n# C\n```\n- `a <!-- b` <!-- c -->\n";
        let mut faults = FaultList::default();
        let lines = document_lines(text, &mut faults);
        for line in &lines {
            assert_eq!(&text[line.start..line.start + line.text.len()], line.text);
        }
        let shown: Vec<_> = lines.iter().map(|line| (line.number, line.text.trim())).collect();
        let expected = [(1, "# A"), (2, ""), (3, "# B"), (5, "# C"), (7, "- `a <!-- b`")];
        assert_eq!(shown, expected);
        assert!(faults.into_sorted().is_empty());
        assert_eq!(lines[2].heading(), Some((1, "B")));
        assert_eq!(lines[3].heading(), None);
    }

    #[test]
    fn what_is_not_closed_is_a_fault_of_the_line_that_opens_it() {
        let mut faults = FaultList::default();
        document_lines("a\n```\nb", &mut faults);
        document_lines("a\nb <!-- c\nd", &mut faults);
        let lines: Vec<usize> = faults.into_sorted().iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [2, 2]);
    }

    #[test]
    fn a_code_span_ends_with_as_many_backticks() {
        assert_eq!(first_code_span("run `npm test` ok"), Some(("npm test", " ok")));
        assert_eq!(first_code_span("`` a ` b `` c"), Some(("a ` b", " c")));
        assert_eq!(first_code_span("open ` end"), None);
    }
}
