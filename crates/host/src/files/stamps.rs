//! Stamps of files on disk, to notice writers that do not report: the shell, formatters, git.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::{ScopedJoinHandle, available_parallelism};
use std::time::{Duration, SystemTime};

use moai_base::limits::{FILE_TIME_TICK_MS_MAX, SERIAL_WALK_FILES_MAX};
use moai_base::path::RelPath;

/// Modification and change time (nanoseconds since the epoch), size and inode of a file. Every
/// write changes at least one of them, because the change time cannot be set back, unless it has the
/// same size and happens within one tick of the kernel's clock; see [`await_tick`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    /// True if the file was moved, or its time was set, after it was written.
    pub(crate) fn is_moved(&self) -> bool {
        self.modified_ns < self.changed_ns
    }

    /// True if this is the stamp of a file or folder that was moved, and not written, since an earlier stamp.
    #[must_use]
    pub fn is_moved_since(&self, earlier: &Self) -> bool {
        let is_same = (self.inode, self.modified_ns) == (earlier.inode, earlier.modified_ns);
        is_same && self.changed_ns != earlier.changed_ns
    }

    /// True if entries were added to a folder or removed from it since an earlier look, or if the path leads to a
    /// different folder now.
    #[must_use]
    pub fn holds_others_since(&self, earlier: &Self) -> bool {
        (self.inode, self.modified_ns) != (earlier.inode, earlier.modified_ns)
    }

    /// Milliseconds between its modification time and its last change.
    #[must_use]
    pub fn lag_ms(&self) -> u64 {
        u64::try_from((self.changed_ns - self.modified_ns) / 1_000_000).unwrap_or_default()
    }

    /// True if the file was written, replaced or moved here at or after this time (nanoseconds since the
    /// epoch).
    #[must_use]
    pub fn is_modified_since(&self, nanoseconds: i128) -> bool {
        self.changed_ns >= nanoseconds
    }
}

/// The stamps of existing files below the root, after [`await_tick`]. Many are taken on all
/// processors.
#[must_use]
pub fn stamp_files(root: &Path, files: &[RelPath]) -> BTreeMap<RelPath, FileStamp> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let share = files.len().div_ceil(threads).max(SERIAL_WALK_FILES_MAX);
    let stamps: BTreeMap<RelPath, FileStamp> = if files.len() <= share {
        stamp_share(root, files).into_iter().collect()
    } else {
        std::thread::scope(|scope| {
            let shares = files.chunks(share);
            let threads: Vec<_> =
                shares.map(|files| scope.spawn(|| stamp_share(root, files))).collect();
            let joined = threads.into_iter().map(ScopedJoinHandle::join);
            joined.flat_map(|stamps| stamps.expect("stamping does not panic")).collect()
        })
    };
    await_tick(stamps.values());
    stamps
}

fn stamp_share(root: &Path, files: &[RelPath]) -> Vec<(RelPath, FileStamp)> {
    let mut stamps = Vec::with_capacity(files.len());
    let mut at = root.join("").into_os_string().into_encoded_bytes();
    let root_bytes = at.len();
    for file in files {
        at.truncate(root_bytes);
        at.extend_from_slice(file.as_str().as_bytes());
        if let Ok(meta) = Path::new(OsStr::from_bytes(&at)).symlink_metadata() {
            stamps.push((file.clone(), FileStamp::new(&meta)));
        }
    }
    stamps
}

/// Waits until every later write of the stamped files gets a later time. Two writes within one tick of the
/// kernel's clock leave equal stamps, so if a file was written in the present tick, its end is awaited; bytes
/// read afterwards are those of the last write.
pub fn await_tick<'s>(stamps: impl IntoIterator<Item = &'s FileStamp>) {
    let pause = tick_rest(stamps, now_ns());
    if !pause.is_zero() {
        std::thread::sleep(pause);
    }
}

/// Time until no further write can get the change time of one of these stamps.
fn tick_rest<'s>(stamps: impl IntoIterator<Item = &'s FileStamp>, now_ns: i128) -> Duration {
    let tick_ns = i128::from(FILE_TIME_TICK_MS_MAX) * 1_000_000;
    let ages = stamps.into_iter().map(|stamp| now_ns - stamp.changed_ns);
    // A change time in the future is that of another clock; no wait would make it safe.
    let newest = ages.filter(|age| (-tick_ns..=tick_ns).contains(age)).min();
    let rest_ns = newest.map_or(0, |age| (tick_ns - age + 1).min(tick_ns));
    Duration::from_nanos(u64::try_from(rest_ns).unwrap_or_default())
}

fn now_ns() -> i128 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

/// The stamp of a file, or of the target of a link; `None` if it does not exist.
#[must_use]
pub fn stamp_file(file: &Path) -> Option<FileStamp> {
    file.metadata().ok().map(|meta| FileStamp::new(&meta))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_final_when_they_are_returned() {
        let root = tempfile::tempdir().expect("a folder");
        let file = RelPath::below(root.path(), &root.path().join("a.py")).expect("relative");
        for text in ["a", "b", "c", "d", "e"] {
            std::fs::write(file.under(root.path()), text).expect("written");
            let stamps = stamp_files(root.path(), std::slice::from_ref(&file));
            let age_ns = now_ns() - stamps[&file].changed_ns;
            assert!(age_ns > i128::from(FILE_TIME_TICK_MS_MAX) * 1_000_000, "{age_ns}");
        }
    }

    #[test]
    fn many_files_get_the_same_stamps_as_each_alone() {
        let root = tempfile::tempdir().expect("a folder");
        let file = |name: usize| RelPath::parse(&name.to_string()).expect("relative");
        let files: Vec<RelPath> = (0..=2 * SERIAL_WALK_FILES_MAX).map(file).collect();
        for file in files.iter().skip(1) {
            std::fs::write(file.under(root.path()), file.as_str()).expect("written");
        }
        let stamps = stamp_files(root.path(), &files);
        assert_eq!(stamps.len(), files.len() - 1, "one does not exist");
        assert!(stamps.iter().all(|(path, it)| stamp_file(&path.under(root.path())) == Some(*it)));
    }

    #[test]
    fn only_a_file_of_the_present_tick_is_awaited() {
        let tick_ns = i128::from(FILE_TIME_TICK_MS_MAX) * 1_000_000;
        let rest = |changed_ns: &[i128]| {
            let stamps: Vec<FileStamp> = changed_ns
                .iter()
                .map(|at| FileStamp { modified_ns: 0, changed_ns: *at, bytes: 1, inode: 1 })
                .collect();
            tick_rest(&stamps, 100 * tick_ns).as_nanos()
        };
        let now = 100 * tick_ns;
        assert_eq!(rest(&[]), 0);
        assert_eq!(rest(&[0, now - tick_ns - 1]), 0);
        assert_eq!(rest(&[now - tick_ns]), 1);
        assert_eq!(rest(&[now - 3, now - 7]), u128::try_from(tick_ns - 2).expect("positive"));
        assert_eq!(rest(&[now + 1]), u128::try_from(tick_ns).expect("positive"));
        assert_eq!(rest(&[now + tick_ns + 1]), 0, "another clock");
    }

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
