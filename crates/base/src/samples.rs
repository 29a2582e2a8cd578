//! Sample values for tests.

use std::path::Path;

use super::finding::{Finding, FindingPlace, Severity};
use super::hash::ContentHash;
use super::path::RelPath;
use super::text::{Position, TextRange};

/// An error of pyright with `code` as its code, at the beginning of a line of `path`.
#[must_use]
pub fn finding(path: &str, line: u32, code: &str) -> Finding {
    let path = RelPath::below(Path::new("/r"), &Path::new("/r").join(path)).expect("relative");
    let at = Position { line, character: 0 };
    let range = TextRange { start: at, end: at };
    let place = FindingPlace { path, range, content_hash: ContentHash::of_bytes(b"") };
    Finding::new("pyright", code, Severity::Error, place, &format!("{code} is wrong"))
}
