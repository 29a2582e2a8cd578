//! LSP base protocol frames: `Content-Length: N\r\n\r\n` and N bytes. Some servers log lines to
//! stdout before a frame, so other bytes are skipped and counted.

use moai_base::limits::{LSP_FRAME_BYTES_MAX, LSP_HEADER_BYTES_MAX};

const LENGTH_HEADER: &[u8] = b"content-length:";
const TYPE_HEADER: &[u8] = b"content-type:";

/// Splits a byte stream into frames; the pieces may be cut anywhere.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    junk_bytes: usize,
}

/// A frame over the limit was announced, so the rest of the stream cannot be split.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("frame of {0} bytes is too large")]
pub struct FrameTooLarge(usize);

impl FrameDecoder {
    /// Adds the next piece of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes skipped so far.
    #[must_use]
    pub fn junk_bytes(&self) -> usize {
        self.junk_bytes
    }

    /// The content of the next complete frame.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, FrameTooLarge> {
        loop {
            if !self.skip_to_header() {
                return Ok(None);
            }
            let Some(header_end) = find(&self.buffer, b"\r\n\r\n") else {
                if self.buffer.len() > LSP_HEADER_BYTES_MAX {
                    // The header block does not end within the limit, so it is junk.
                    self.drop_junk(LENGTH_HEADER.len());
                    continue;
                }
                return Ok(None);
            };
            let Some(length) = content_length(&self.buffer[..header_end]) else {
                self.drop_junk(LENGTH_HEADER.len());
                continue;
            };
            if length > LSP_FRAME_BYTES_MAX {
                return Err(FrameTooLarge(length));
            }
            let start = header_end + 4;
            if self.buffer.len() < start + length {
                return Ok(None);
            }
            let frame = self.buffer[start..start + length].to_vec();
            self.buffer.drain(..start + length);
            return Ok(Some(frame));
        }
    }

    /// Moves to the first header block; false if there is none yet.
    fn skip_to_header(&mut self) -> bool {
        if self.starts_with(LENGTH_HEADER) || self.starts_with(TYPE_HEADER) {
            return true;
        }
        let bytes = self.buffer.as_slice();
        // The search ends at the first header: a chunk may hold thousands of frames.
        let header = find_header(bytes, LENGTH_HEADER).map(|at| {
            match find_header(&bytes[..at], TYPE_HEADER) {
                // `Content-Type` may precede the length in the same block.
                Some(kind) if find(&bytes[kind..at], b"\r\n\r\n").is_none() => kind,
                _ => at,
            }
        });
        // A header may have begun in the tail, which is therefore kept.
        let keep = LSP_HEADER_BYTES_MAX.min(bytes.len());
        self.drop_junk(header.unwrap_or(bytes.len() - keep));
        header.is_some()
    }

    fn starts_with(&self, header: &[u8]) -> bool {
        self.buffer.get(..header.len()).is_some_and(|head| head.eq_ignore_ascii_case(header))
    }

    fn drop_junk(&mut self, count: usize) {
        self.buffer.drain(..count);
        self.junk_bytes += count;
    }
}

/// Adds the frame header; the length counts bytes.
#[must_use]
pub fn encode_frame(content: &[u8]) -> Vec<u8> {
    let mut frame = format!("Content-Length: {}\r\n\r\n", content.len()).into_bytes();
    frame.extend_from_slice(content);
    frame
}

fn content_length(header: &[u8]) -> Option<usize> {
    let header = std::str::from_utf8(header).ok()?;
    header.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })
}

/// Header names are case-insensitive.
fn find_header(haystack: &[u8], name: &[u8]) -> Option<usize> {
    haystack.windows(name.len()).position(|window| window.eq_ignore_ascii_case(name))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(pieces: &[&[u8]]) -> (Vec<String>, usize) {
        let mut decoder = FrameDecoder::default();
        let mut frames = Vec::new();
        for piece in pieces {
            decoder.push(piece);
            while let Some(frame) = decoder.next_frame().expect("no frame is too large") {
                frames.push(String::from_utf8(frame).expect("test frames are UTF-8"));
            }
        }
        (frames, decoder.junk_bytes())
    }

    #[test]
    fn log_lines_between_frames_are_skipped_and_counted() {
        let stream =
            [b"starting up\n".as_slice(), &encode_frame(b"{}"), b"oops\r\n", &encode_frame(b"[]")];
        assert_eq!(frames(&stream), (vec!["{}".to_owned(), "[]".to_owned()], 18));
    }

    #[test]
    fn header_case_and_content_type_do_not_matter() {
        let one = b"content-length: 2\r\nContent-Type: x\r\n\r\n{}";
        let two = b"Content-Type: x\r\nContent-Length:2\r\n\r\n[]";
        assert_eq!(frames(&[one, two]), (vec!["{}".to_owned(), "[]".to_owned()], 0));
    }

    #[test]
    fn a_broken_length_loses_only_its_own_frame() {
        let stream = [b"Content-Length: many\r\n\r\n".as_slice(), &encode_frame(b"{}")];
        assert_eq!(frames(&stream).0, vec!["{}".to_owned()]);
    }

    #[test]
    fn a_frame_beyond_the_limit_is_an_error_and_not_an_allocation() {
        let mut decoder = FrameDecoder::default();
        let length = LSP_FRAME_BYTES_MAX + 1;
        decoder.push(format!("Content-Length: {length}\r\n\r\n").as_bytes());
        assert_eq!(decoder.next_frame(), Err(FrameTooLarge(length)));
    }

    proptest! {
        #[test]
        fn frames_survive_any_cut(cuts in prop::collection::vec(1usize..7, 0..40)) {
            let stream = [encode_frame("{\"한\":1}".as_bytes()), b"junk\n".to_vec(), encode_frame(b"{}")].concat();
            let mut pieces: Vec<&[u8]> = Vec::new();
            let mut rest = stream.as_slice();
            for cut in cuts {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = behind;
            }
            pieces.push(rest);
            prop_assert_eq!(frames(&pieces).0, vec!["{\"한\":1}".to_owned(), "{}".to_owned()]);
        }
    }
}
