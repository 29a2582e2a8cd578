//! Stamps of files on disk, to notice writers that do not report: the shell, formatters, git.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use moai_base::path::RelPath;

/// Modification and change time (nanoseconds since the epoch), size and inode of a file. Every
/// write changes at least one of them, because the change time cannot be set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    modified_ns: i128,
    changed_ns: i128,
    bytes: u64,
    inode: u64,
}

impl FileStamp {
    pub(crate) fn new(meta: &Metadata) -> Self {
        let nanoseconds =
            |secs: i64, nanos: i64| i128::from(secs) * 1_000_000_000 + i128::from(nanos);
        Self {
            modified_ns: nanoseconds(meta.mtime(), meta.mtime_nsec()),
            changed_ns: nanoseconds(meta.ctime(), meta.ctime_nsec()),
            bytes: meta.len(),
            inode: meta.ino(),
        }
    }

    /// Modification time, which any program can set (nanoseconds since the epoch).
    pub(crate) fn modified_ns(&self) -> i128 {
        self.modified_ns
    }

    /// Whether it was moved, or its time was set, after it was written.
    pub(crate) fn is_moved(&self) -> bool {
        self.modified_ns < self.changed_ns
    }

    /// Whether the file was written, replaced or moved here at or after this time (nanoseconds
    /// since the epoch).
    #[must_use]
    pub fn is_modified_since(&self, nanoseconds: i128) -> bool {
        self.changed_ns >= nanoseconds
    }
}

/// The stamps of existing files below the root.
#[must_use]
pub fn stamp_files(root: &Path, files: &[RelPath]) -> BTreeMap<RelPath, FileStamp> {
    let stamp = |file: &RelPath| {
        let meta = file.under(root).symlink_metadata().ok()?;
        Some((file.clone(), FileStamp::new(&meta)))
    };
    files.iter().filter_map(stamp).collect()
}

/// The stamp of a file, or of what a link leads to; `None` if there is none.
#[must_use]
pub fn stamp_file(file: &Path) -> Option<FileStamp> {
    file.metadata().ok().map(|meta| FileStamp::new(&meta))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewritten_a_replaced_and_a_deleted_file_are_noticed() {
        let root = tempfile::tempdir().expect("a folder");
        let file = RelPath::below(root.path(), &root.path().join("a.py")).expect("relative");
        let look = || stamp_files(root.path(), std::slice::from_ref(&file)).get(&file).copied();
        assert_eq!(look(), None);
        std::fs::write(file.under(root.path()), "x").expect("written");
        let first = look().expect("there");
        assert_eq!(look(), Some(first));
        assert!(first.is_modified_since(0) && !first.is_modified_since(i128::MAX));
        std::fs::write(root.path().join("new"), "y").expect("written");
        std::fs::rename(root.path().join("new"), file.under(root.path())).expect("replaced");
        assert_ne!(look(), Some(first));
    }
}
