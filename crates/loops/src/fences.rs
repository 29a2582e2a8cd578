//! Fenced code blocks of Markdown, whose text is quoted. Unlike in `CommonMark`, indentation does
//! not matter, because agents indent carelessly in lists.

/// Tracks the fences of a text, line by line.
#[derive(Clone, Copy, Debug, Default)]
pub struct FenceTracker {
    /// Character and length of the open fence; at least as many of the same character close it.
    open: Option<(char, usize)>,
}

/// Part of a text that a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FencePart {
    /// Outside code blocks.
    Prose,
    /// Opens or closes a code block.
    Fence,
    /// In a code block.
    Code,
}

impl FenceTracker {
    /// Processes the next line.
    pub fn part(&mut self, line: &str) -> FencePart {
        let text = line.trim();
        let Some((open, length)) = self.open else {
            // A fence may begin a list item.
            self.open = fence_of(behind_markers(text));
            return if self.open.is_some() { FencePart::Fence } else { FencePart::Prose };
        };
        let is_end = fence_of(text).is_some_and(|(mark, count)| mark == open && count >= length)
            && text.chars().all(|character| character == open);
        if is_end {
            self.open = None;
            return FencePart::Fence;
        }
        FencePart::Code
    }

    /// True if the next line belongs to a code block, including its fences.
    pub fn is_code(&mut self, line: &str) -> bool {
        self.part(line) != FencePart::Prose
    }

    /// True if a code block is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// The text after the marks of list entries: `- `, `* `, `+ `, `1. `, `1) `.
fn behind_markers(text: &str) -> &str {
    let digits = text.trim_start_matches(|it: char| it.is_ascii_digit());
    let ordered = if digits.len() < text.len() { digits.strip_prefix(['.', ')']) } else { None };
    let rest = ordered.or_else(|| text.strip_prefix(['-', '*', '+']));
    match rest.filter(|rest| rest.starts_with([' ', '\t'])) {
        Some(rest) => behind_markers(rest.trim_start()),
        None => text,
    }
}

/// The fence that begins a line: three or more backticks or tildes. More backticks on the line make
/// it a code span (`CommonMark` 4.5).
fn fence_of(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let count = text.chars().take_while(|character| *character == mark).count();
    let is_span = mark == '`' && text[count..].contains('`');
    (count >= 3 && !is_span).then_some((mark, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_closed_by_the_same_character_and_length() {
        let text = "a\n````md\n```\nb\n```\n````\nc\n~~~\n```\nd\n~~~\ne";
        let mut fences = FenceTracker::default();
        let outside: Vec<&str> = text.lines().filter(|line| !fences.is_code(line)).collect();
        assert_eq!(outside, ["a", "c", "e"]);
    }
}
