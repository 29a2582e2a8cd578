//! One file of an exam: its relevant bytes and their hash.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::NOT_READABLE;
use moai_base::hash::ContentHash;
use moai_base::limits::EXAM_FILE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_host::files;
use moai_host::git;
use moai_loops::exam::roles::{UNSEEN, relevant_bytes};
use moai_loops::exam::{ExamRole, role};

/// The current state of one file of an exam.
pub(super) struct ExamFile {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: (u64, i64),
    is_program: bool,
}

impl ExamFile {
    /// Hash of the relevant bytes; it includes the length of a file that was not read to its end, and
    /// whether a check script is executable.
    pub(super) fn hash(&self, path: &RelPath, role: Option<ExamRole>) -> ContentHash {
        let hash = ContentHash::of_bytes(&relevant_bytes(path, &self.bytes));
        if self.stamp.0 > EXAM_FILE_BYTES_MAX {
            return ContentHash::of_bytes(format!("{hash} {}", self.stamp.0).as_bytes());
        }
        if role == Some(ExamRole::Checks) && !self.is_program {
            return ContentHash::of_bytes(format!("{hash} is no program").as_bytes());
        }
        hash
    }
}

/// `None` for a missing path and for anything but a file: a pipe would never end.
pub(super) fn read_exam_file(root: &Path, path: &RelPath) -> Option<ExamFile> {
    if let Some(at) = UNSEEN.iter().position(|name| *name == path.as_str()) {
        let bytes = git::local_ignore_rules(root).into_iter().nth(at).flatten()?;
        return Some(ExamFile { stamp: (bytes.len() as u64, 0), bytes, is_program: false });
    }
    let stamp = stamp(root, path)?;
    let file = files::open_regular(&path.under(root)).ok()?;
    let is_program = file.metadata().ok()?.mode() & 0o111 != 0;
    let mut bytes = Vec::new();
    file.take(EXAM_FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(ExamFile { bytes, stamp, is_program })
}

/// Hash of the relevant bytes of a file; `None` when it is missing.
pub(crate) fn exam_file_hash(root: &Path, path: &RelPath) -> Option<ContentHash> {
    hash_as(root, path, role(path))
}

/// Like [`exam_file_hash`], for a file whose name does not determine its role.
pub(super) fn hash_as(root: &Path, path: &RelPath, role: Option<ExamRole>) -> Option<ContentHash> {
    // An unreadable file counts as changed.
    read_exam_file(root, path).map(|read| read.hash(path, role)).or_else(|| {
        let is_there = path.under(root).symlink_metadata().is_ok();
        is_there.then(|| ContentHash::of_bytes(NOT_READABLE))
    })
}

/// Size in bytes and inode change time in nanoseconds.
pub(super) fn stamp(root: &Path, path: &RelPath) -> Option<(u64, i64)> {
    let metadata = path.under(root).metadata().ok().filter(std::fs::Metadata::is_file)?;
    let seconds = metadata.ctime().saturating_mul(1_000_000_000);
    Some((metadata.len(), seconds.saturating_add(metadata.ctime_nsec())))
}
