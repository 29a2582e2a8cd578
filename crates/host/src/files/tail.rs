//! Reads a growing file incrementally.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Position up to which a file was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TailPosition {
    device: u64,
    inode: u64,
    /// Offset after the last complete line read.
    offset: u64,
    /// The rest of a line that was too long is still to be skipped.
    is_inside_long_line: bool,
}

/// Result of one read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TailChunk {
    /// New complete lines; an incomplete last one comes with a later read.
    pub text: String,
    /// Skipped lines that were longer than the bound.
    pub long_lines: usize,
    /// Number of bytes read.
    pub bytes: usize,
    pub has_more: bool,
}

/// Reads up to `bytes_max` further bytes. A replaced or truncated file is read from its beginning.
/// Never blocks on a pipe.
pub fn read_tail(path: &Path, tail: &mut TailPosition, bytes_max: usize) -> io::Result<TailChunk> {
    let not_regular = || io::Error::other("not a regular file");
    if !path.metadata()?.is_file() {
        return Err(not_regular());
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    let is_same = tail.device == metadata.dev() && tail.inode == metadata.ino();
    if !is_same || metadata.len() < tail.offset {
        *tail = TailPosition {
            device: metadata.dev(),
            inode: metadata.ino(),
            ..TailPosition::default()
        };
    }
    file.seek(SeekFrom::Start(tail.offset))?;
    let mut bytes = Vec::new();
    file.take(u64::try_from(bytes_max).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok(tail.take(&bytes, bytes_max))
}

impl TailPosition {
    fn take(&mut self, bytes: &[u8], bytes_max: usize) -> TailChunk {
        let mut grown = TailChunk {
            bytes: bytes.len(),
            has_more: !bytes.is_empty() && bytes.len() == bytes_max,
            ..TailChunk::default()
        };
        let mut start = 0;
        if self.is_inside_long_line {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            start = end.map_or(bytes.len(), |at| at + 1);
            self.is_inside_long_line = end.is_none();
        }
        let end = bytes[start..].iter().rposition(|byte| *byte == b'\n');
        let end = end.map_or(start, |at| start + at + 1);
        grown.text = String::from_utf8_lossy(&bytes[start..end]).into_owned();
        // A full read without a line break: such a line is skipped.
        let is_long = end == 0 && grown.has_more;
        if is_long {
            self.is_inside_long_line = true;
            grown.long_lines = 1;
        }
        let read = if is_long { bytes.len() } else { end };
        self.offset += read as u64;
        grown
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::*;

    struct File {
        folder: tempfile::TempDir,
        tail: TailPosition,
    }

    impl File {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().expect("a folder"), tail: TailPosition::default() }
        }

        fn add(&self, text: &str) {
            let path = self.folder.path().join("a");
            let mut file = OpenOptions::new().append(true).create(true).open(path).expect("opened");
            file.write_all(text.as_bytes()).expect("written");
        }

        fn look(&mut self, bytes_max: usize) -> TailChunk {
            read_tail(&self.folder.path().join("a"), &mut self.tail, bytes_max).expect("read")
        }

        fn check(&mut self, expected: &str) {
            assert_eq!(self.look(1_000).text, expected);
        }
    }

    #[test]
    fn each_line_is_read_once_and_whole() {
        let mut file = File::new();
        file.add("one\ntw");
        file.check("one\n");
        file.check("");
        file.add("o\nthree\n");
        file.check("two\nthree\n");
        file.check("");
    }

    #[test]
    fn a_file_that_was_replaced_or_cut_is_read_anew() {
        let mut file = File::new();
        let path = file.folder.path().join("a");
        file.add("one\ntwo\n");
        file.check("one\ntwo\n");
        fs::write(&path, "1\n").expect("cut");
        file.check("1\n");
        fs::write(file.folder.path().join("b"), "new\nlines\n").expect("written");
        fs::rename(file.folder.path().join("b"), &path).expect("replaced");
        file.check("new\nlines\n");
    }

    #[test]
    fn what_is_beyond_the_bound_comes_with_the_next_look_and_long_lines_are_passed_over() {
        let mut file = File::new();
        file.add("one\ntwo\n");
        let first = file.look(6);
        assert_eq!((first.text.as_str(), first.has_more), ("one\n", true));
        file.check("two\n");
        file.add("too long for a look\nshort\n");
        let long = file.look(8);
        assert_eq!((long.text.as_str(), long.long_lines, long.has_more), ("", 1, true));
        let mut rest = String::new();
        while file.tail.offset < 34 {
            let more = file.look(8);
            assert_eq!(more.long_lines, 0);
            rest += &more.text;
        }
        assert_eq!(rest, "short\n");
    }

    #[test]
    fn a_pipe_and_a_missing_file_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("run").success());
        assert!(read_tail(&pipe, &mut TailPosition::default(), 10).is_err());
        assert!(read_tail(&folder.path().join("none"), &mut TailPosition::default(), 10).is_err());
        assert!(read_tail(folder.path(), &mut TailPosition::default(), 10).is_err());
    }
}
