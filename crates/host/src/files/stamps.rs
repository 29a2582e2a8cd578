//! Stamps of files on disk, to notice writers that do not report: the shell, formatters, git.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::{ScopedJoinHandle, available_parallelism};
use std::time::{Duration, Instant};

use moai_base::limits::{
    COARSE_TIME_NS_MAX, FILE_TIME_TICK_MS_MAX, FILE_TIME_TICK_NS_MIN, SERIAL_STAMPS_MAX,
};
use moai_base::path::RelPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timespec, statat};
use rustix::time::{ClockId, clock_getres, clock_gettime};

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

    /// The same from the system call.
    pub(super) fn of_stat(stat: &Stat) -> Self {
        Self {
            modified_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
            changed_ns: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
            bytes: u64::try_from(stat.st_size).unwrap_or_default(),
            inode: stat.st_ino,
        }
    }

    /// The stamp of a file behind this link: it changes with the link and with the file.
    fn through_link(&self, target: &Self) -> Self {
        Self {
            modified_ns: target.modified_ns,
            changed_ns: target.changed_ns.max(self.changed_ns),
            bytes: target.bytes,
            inode: target.inode.wrapping_add(self.inode),
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

    /// True if every later change leaves a different stamp, if such a change gets at least `earliest_ns`. A time
    /// without a fraction may come from a file system that keeps whole seconds.
    pub(super) fn is_final(&self, earliest_ns: i128) -> bool {
        let is_coarse = self.changed_ns % 1_000_000_000 == 0;
        let tick_ns_max = if is_coarse { COARSE_TIME_NS_MAX } else { 0 };
        self.changed_ns + tick_ns_max < earliest_ns
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

/// The stamps of existing files below the root, after [`await_tick`]; that of a link is its own. Many are taken
/// on all processors.
#[must_use]
pub fn stamp_files(root: &Path, files: &[RelPath]) -> BTreeMap<RelPath, FileStamp> {
    stamp_all(root, files, LinkStamps::Own)
}

/// Like [`stamp_files`], for a program that reads the files: the stamp of a link changes with its target too,
/// which need not be below the root.
#[must_use]
pub fn stamp_sources(root: &Path, files: &[RelPath]) -> BTreeMap<RelPath, FileStamp> {
    stamp_all(root, files, LinkStamps::WithTargets)
}

/// The stamps of symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkStamps {
    Own,
    WithTargets,
}

fn stamp_all(root: &Path, files: &[RelPath], links: LinkStamps) -> BTreeMap<RelPath, FileStamp> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let share = files.len().div_ceil(threads).max(SERIAL_STAMPS_MAX);
    let stamps: BTreeMap<RelPath, FileStamp> = if files.len() <= share {
        stamp_share(root, files, links).into_iter().collect()
    } else {
        std::thread::scope(|scope| {
            let shares = files.chunks(share);
            let threads: Vec<_> =
                shares.map(|files| scope.spawn(move || stamp_share(root, files, links))).collect();
            let joined = threads.into_iter().map(ScopedJoinHandle::join);
            joined.flat_map(|stamps| stamps.expect("stamping does not panic")).collect()
        })
    };
    await_tick(stamps.values());
    stamps
}

fn stamp_share(root: &Path, files: &[RelPath], links: LinkStamps) -> Vec<(RelPath, FileStamp)> {
    let mut stamps = Vec::with_capacity(files.len());
    let mut open: Option<OpenFolder<'_>> = None;
    for file in files {
        let (folder, name) = file.as_str().rsplit_once('/').unwrap_or(("", file.as_str()));
        if open.as_ref().is_none_or(|open| open.name != folder) {
            open = OpenFolder::open(root, folder);
        }
        let Some(OpenFolder { descriptor, .. }) = &open else { continue };
        let Ok(stat) = statat(descriptor, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let mut stamp = FileStamp::of_stat(&stat);
        if links == LinkStamps::WithTargets
            && FileType::from_raw_mode(stat.st_mode).is_symlink()
            && let Ok(target) = statat(descriptor, name, AtFlags::empty())
        {
            stamp = stamp.through_link(&FileStamp::of_stat(&target));
        }
        stamps.push((file.clone(), stamp));
    }
    stamps
}

/// A folder whose files are stamped. Their names are found from its descriptor, because the system would look
/// up every folder of a whole path again.
struct OpenFolder<'f> {
    /// Relative to the root.
    name: &'f str,
    descriptor: OwnedFd,
}

impl<'f> OpenFolder<'f> {
    /// `None` for a folder that cannot be opened.
    fn open(root: &Path, name: &'f str) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(root.join(name), flags, Mode::empty()).ok()?;
        Some(Self { name, descriptor })
    }
}

/// Waits until every later write of the stamped files gets a later time. Two writes within one tick of the
/// kernel's clock leave equal stamps, so if a file was written in the present tick, its end is awaited; bytes
/// read afterwards are those of the last write.
pub fn await_tick<'s>(stamps: impl IntoIterator<Item = &'s FileStamp>) {
    let clock = FileClock::of_kernel();
    let Some(newest_ns) = newest_unsettled(stamps, clock.earliest_ns()) else { return };
    let wait_end = Instant::now() + Duration::from_millis(FILE_TIME_TICK_MS_MAX);
    while clock.earliest_ns() <= newest_ns && Instant::now() < wait_end {
        std::thread::sleep(clock.rest_of_tick(newest_ns));
    }
}

/// The newest change time that a write from now on may get too, if such a write gets at least `earliest_ns`.
fn newest_unsettled<'s>(
    stamps: impl IntoIterator<Item = &'s FileStamp>,
    earliest_ns: i128,
) -> Option<i128> {
    // A change time far in the future is that of another clock; no wait would make it safe.
    let latest_ns = earliest_ns + 2 * i128::from(FILE_TIME_TICK_MS_MAX) * 1_000_000;
    let changed = stamps.into_iter().map(|stamp| stamp.changed_ns);
    changed.filter(|changed_ns| (earliest_ns..=latest_ns).contains(changed_ns)).max()
}

/// The clock that file times are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileClock {
    /// The kernel's coarse clock, with the length of its tick. A write gets its present value.
    Coarse { tick_ns: i128 },
    /// A clock that is behind the time of day by at most [`FILE_TIME_TICK_MS_MAX`].
    Unknown,
}

impl FileClock {
    /// Linux takes file times from its coarse clock (`current_time` in fs/inode.c). A coarse clock with a
    /// resolution other than a kernel's tick is an emulated one, and file times may come from another kernel.
    pub(super) fn of_kernel() -> Self {
        let resolution_ns = nanoseconds(clock_getres(ClockId::RealtimeCoarse));
        let tick_ns_max = i128::from(FILE_TIME_TICK_MS_MAX) * 1_000_000;
        let is_tick = (FILE_TIME_TICK_NS_MIN..=tick_ns_max).contains(&resolution_ns);
        if is_tick { Self::Coarse { tick_ns: resolution_ns } } else { Self::Unknown }
    }

    /// The earliest change time that a write from now on may get (nanoseconds since the epoch).
    pub(super) fn earliest_ns(self) -> i128 {
        match self {
            Self::Coarse { .. } => nanoseconds(clock_gettime(ClockId::RealtimeCoarse)),
            Self::Unknown => now_ns() - i128::from(FILE_TIME_TICK_MS_MAX) * 1_000_000,
        }
    }

    /// Time until the tick of this change time has ended.
    fn rest_of_tick(self, changed_ns: i128) -> Duration {
        let tick_ns_max = i128::from(FILE_TIME_TICK_MS_MAX) * 1_000_000;
        let tick_ns = match self {
            Self::Coarse { tick_ns } => tick_ns,
            Self::Unknown => tick_ns_max,
        };
        // The kernel ends a tick with its timer interrupt, which may be late.
        let rest_ns = (changed_ns + tick_ns + 1 - now_ns()).clamp(TICK_END_NS, tick_ns_max);
        Duration::from_nanos(u64::try_from(rest_ns).unwrap_or_default())
    }
}

/// Pause between two looks at a clock whose tick should have ended.
const TICK_END_NS: i128 = 50_000;

fn nanoseconds(time: Timespec) -> i128 {
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

fn now_ns() -> i128 {
    nanoseconds(clock_gettime(ClockId::Realtime))
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
    fn a_file_that_is_written_after_its_stamp_was_taken_gets_a_different_stamp() {
        let root = tempfile::tempdir().expect("a folder");
        let file = RelPath::below(root.path(), &root.path().join("a.py")).expect("relative");
        let mut last = None;
        // All texts have the same size, and one write overwrites the same inode.
        for number in 10..100 {
            std::fs::write(file.under(root.path()), number.to_string()).expect("written");
            let stamps = stamp_files(root.path(), std::slice::from_ref(&file));
            let stamp = stamps.get(&file).copied();
            assert!(stamp.is_some() && stamp != last, "write {number}: {stamp:?}");
            last = stamp;
        }
    }

    #[test]
    fn many_files_get_the_same_stamps_as_each_alone() {
        let root = tempfile::tempdir().expect("a folder");
        let file = |name: usize| RelPath::parse(&name.to_string()).expect("relative");
        let files: Vec<RelPath> = (0..=2 * SERIAL_STAMPS_MAX).map(file).collect();
        for file in files.iter().skip(1) {
            std::fs::write(file.under(root.path()), file.as_str()).expect("written");
        }
        let stamps = stamp_files(root.path(), &files);
        assert_eq!(stamps.len(), files.len() - 1, "one does not exist");
        assert!(stamps.iter().all(|(path, it)| stamp_file(&path.under(root.path())) == Some(*it)));
    }

    #[test]
    fn only_a_file_of_the_present_tick_is_awaited() {
        let now_ns = 1_000_000_000;
        let far_ns = now_ns + 2 * i128::from(FILE_TIME_TICK_MS_MAX) * 1_000_000 + 1;
        let newest = |changed_ns: &[i128]| {
            let stamps: Vec<FileStamp> = changed_ns
                .iter()
                .map(|at| FileStamp { modified_ns: 0, changed_ns: *at, bytes: 1, inode: 1 })
                .collect();
            newest_unsettled(&stamps, now_ns)
        };
        assert_eq!(newest(&[]), None);
        assert_eq!(newest(&[0, now_ns - 1]), None);
        assert_eq!(newest(&[0, now_ns]), Some(now_ns));
        assert_eq!(newest(&[now_ns + 7, now_ns + 3]), Some(now_ns + 7));
        assert_eq!(newest(&[far_ns]), None, "another clock");
    }

    #[test]
    fn a_wait_ends_when_a_later_write_gets_a_later_time() {
        for clock in [FileClock::of_kernel(), FileClock::Unknown] {
            let changed_ns = clock.earliest_ns();
            std::thread::sleep(clock.rest_of_tick(changed_ns));
            while clock.earliest_ns() <= changed_ns {
                std::thread::sleep(Duration::from_nanos(1));
            }
            assert_eq!(clock.rest_of_tick(changed_ns - 1_000_000_000).as_nanos(), 50_000);
        }
    }

    #[test]
    fn the_stamp_of_a_link_changes_with_the_link_and_with_its_target() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = RelPath::parse("link.py").unwrap();
        let point_to = |name: &str| {
            let _ = std::fs::remove_file(link.under(root.path()));
            std::os::unix::fs::symlink(outside.path().join(name), link.under(root.path())).unwrap();
        };
        let look = || stamp_sources(root.path(), std::slice::from_ref(&link)).get(&link).copied();
        let own = || stamp_files(root.path(), std::slice::from_ref(&link)).get(&link).copied();
        for name in ["one", "two"] {
            std::fs::write(outside.path().join(name), "x").unwrap();
        }
        point_to("one");
        let (first, first_own) = (look(), own());
        assert!(first.is_some() && look() == first);
        std::fs::write(outside.path().join("one"), "y").unwrap();
        let rewritten = look();
        assert_ne!(rewritten, first);
        assert_eq!(own(), first_own);
        point_to("two");
        assert_ne!(look(), rewritten);
        std::fs::remove_file(outside.path().join("two")).unwrap();
        assert!(look().is_some(), "the link is there");
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
