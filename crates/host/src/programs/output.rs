//! Bounded capture of a command's output: head and tail of its visible text. A watcher sees every
//! line once.

use moai_base::limits::{
    CHECK_LINE_BYTES_MAX, CHECK_OUTPUT_HEAD_BYTES_MAX, CHECK_OUTPUT_TAIL_BYTES_MAX,
};

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// Collects output in bounded memory. Escape sequences are removed before counting, so that no cut
/// splits one.
#[derive(Default)]
pub(super) struct OutputBuffer<'w> {
    head: Vec<u8>,
    tail: Vec<u8>,
    dropped_bytes: u64,
    escape_state: EscapeState,
    watcher: Option<LineWatcher<'w>>,
}

/// Receives a line of visible text without its line break.
pub(super) type LineCallback<'w> = &'w mut (dyn FnMut(&str) + Send);

/// The incomplete current line.
struct LineWatcher<'w> {
    watch: LineCallback<'w>,
    line: Vec<u8>,
    /// The line exceeds the limit and is not reported.
    is_too_long: bool,
}

impl LineWatcher<'_> {
    fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, is_over) = match part {
                [text @ .., b'\n' | b'\r'] => (text, true),
                text => (text, false),
            };
            self.is_too_long |= self.line.len() + text.len() > CHECK_LINE_BYTES_MAX;
            if !self.is_too_long {
                self.line.extend_from_slice(text);
            }
            if is_over {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if !self.is_too_long {
            (self.watch)(&String::from_utf8_lossy(&self.line));
        }
        self.line.clear();
        self.is_too_long = false;
    }
}

/// Position in an escape sequence (ECMA-48).
#[derive(Clone, Copy, Default)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC, or after its intermediate bytes.
    Escape,
    /// Inside a control sequence, `ESC [ … final`.
    Control,
    /// Inside a string (window title, hyperlink), up to BEL or `ESC \`.
    String,
}

impl<'w> OutputBuffer<'w> {
    /// A buffer that passes every line to a watcher.
    pub(super) fn with_watcher(watch: LineCallback<'w>) -> Self {
        let lines = LineWatcher { watch, line: Vec::new(), is_too_long: false };
        Self { watcher: Some(lines), ..Self::default() }
    }

    /// Adds the next bytes, which may be cut anywhere.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if matches!(self.escape_state, EscapeState::Text) && !bytes.contains(&ESCAPE) {
            return self.keep(bytes);
        }
        let mut visible = Vec::with_capacity(bytes.len());
        for byte in bytes {
            let (next, is_visible) = next_escape_state(self.escape_state, *byte);
            self.escape_state = next;
            if is_visible {
                visible.push(*byte);
            }
        }
        self.keep(&visible);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(lines) = &mut self.watcher {
            lines.push(bytes);
        }
        let room = CHECK_OUTPUT_HEAD_BYTES_MAX - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Cut rarely, because many small writes would otherwise move the tail every time.
        if self.tail.len() > 2 * CHECK_OUTPUT_TAIL_BYTES_MAX {
            self.cut_tail();
        }
    }

    fn cut_tail(&mut self) {
        let excess = self.tail.len().saturating_sub(CHECK_OUTPUT_TAIL_BYTES_MAX);
        self.tail.drain(..excess);
        self.dropped_bytes += excess as u64;
    }

    /// The kept text: undecodable bytes replaced, control characters except line breaks and tabs
    /// removed, and one line that counts the bytes left out, if any.
    pub(super) fn finish(mut self) -> String {
        if let Some(lines) = &mut self.watcher {
            lines.end();
        }
        self.cut_tail();
        if self.dropped_bytes == 0 {
            self.head.append(&mut self.tail);
            return readable(&self.head);
        }
        // A character split by the cut is left out completely.
        let head_end = self.head.len() - cut_character(&self.head);
        let tail_start = self.tail.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        let left_out = self.dropped_bytes + (self.head.len() - head_end + tail_start) as u64;
        let head = readable(&self.head[..head_end]);
        let tail = readable(&self.tail[tail_start..]);
        format!("{}\n… {left_out} bytes omitted …\n{tail}", head.trim_end_matches('\n'))
    }
}

/// Length in bytes of an unfinished character at the end.
fn cut_character(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|length| {
            let start = bytes.len() - length;
            std::str::from_utf8(&bytes[start..])
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

/// The next state, and whether the byte is visible text.
fn next_escape_state(at: EscapeState, byte: u8) -> (EscapeState, bool) {
    let next = match (at, byte) {
        (_, ESCAPE) | (EscapeState::Escape, 0x20..=0x2f) => EscapeState::Escape,
        (EscapeState::Escape, b'[') | (EscapeState::Control, 0x20..=0x3f) => EscapeState::Control,
        (EscapeState::Escape, 0x30..=0x7e) if b"]PX^_".contains(&byte) => EscapeState::String,
        (EscapeState::Escape, 0x30..=0x7e)
        | (EscapeState::Control, 0x40..=0x7e)
        | (EscapeState::String, BELL) => EscapeState::Text,
        // An unterminated string must not swallow the rest of the output.
        (EscapeState::Text | EscapeState::Escape | EscapeState::Control, _)
        | (EscapeState::String, b'\n') => return (EscapeState::Text, true),
        (EscapeState::String, _) => EscapeState::String,
    };
    (next, false)
}

fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|it| matches!(it, '\n' | '\t') || !it.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        let mut whole = OutputBuffer::default();
        whole.push(bytes);
        assert_eq!(whole.finish(), expected);
        let mut split = OutputBuffer::default();
        for byte in bytes {
            split.push(&[*byte]);
        }
        assert_eq!(split.finish(), expected);
    }

    #[test]
    fn escape_sequences_and_control_characters_disappear_wherever_they_are_cut() {
        check(b"\x1b[1;31merror\x1b[0m: x\r\n", "error: x\n");
        check(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b(B\x1b=c", "abc");
        check(b"10%\r20%\rdone\n", "10%\n20%\ndone\n");
        check(b"\x1b]never ends\nnext\n", "\nnext\n");
        check(b"a\x08\x00b\tc\xff", "ab\tc\u{fffd}");
        check("한글 ✓\n".as_bytes(), "한글 ✓\n");
    }

    #[test]
    fn output_at_the_bounds_is_whole_and_one_byte_more_is_counted() {
        let whole = CHECK_OUTPUT_HEAD_BYTES_MAX + CHECK_OUTPUT_TAIL_BYTES_MAX;
        check(&vec![b'x'; whole], &"x".repeat(whole));
        let head = "x".repeat(CHECK_OUTPUT_HEAD_BYTES_MAX);
        let tail = "x".repeat(CHECK_OUTPUT_TAIL_BYTES_MAX);
        check(&vec![b'x'; whole + 1], &format!("{head}\n… 1 bytes omitted …\n{tail}"));
    }

    #[test]
    fn every_line_is_seen_once_wherever_it_is_cut_and_one_at_the_bound_whole() {
        let check = |bytes: &[u8], piece: usize, expected: &[&str]| {
            let mut seen = Vec::new();
            let mut watch = |line: &str| seen.push(line.to_owned());
            let mut output = OutputBuffer::with_watcher(&mut watch);
            bytes.chunks(piece).for_each(|piece| output.push(piece));
            output.finish();
            assert_eq!(seen, expected);
        };
        for piece in [1, 3, 100] {
            check(b"a\x1b[1mb\n10%\rdone\nlast", piece, &["ab", "10%", "done", "last"]);
        }
        let whole = "x".repeat(CHECK_LINE_BYTES_MAX);
        check(format!("{whole}\n{whole}x\ny").as_bytes(), 1_000, &[&whole, "y"]);
    }

    #[test]
    fn a_cut_never_goes_through_a_character() {
        let text = "한".repeat(4_000);
        let mut output = OutputBuffer::default();
        output.push(text.as_bytes());
        let kept = output.finish();
        assert!(!kept.contains('\u{fffd}'), "{kept}");
        let characters = kept.chars().filter(|it| *it == '한').count();
        let (_, left_out) = kept.split_once("… ").unwrap();
        let (left_out, _) = left_out.split_once(' ').unwrap();
        assert_eq!(characters * 3 + left_out.parse::<usize>().unwrap(), text.len());
    }
}
