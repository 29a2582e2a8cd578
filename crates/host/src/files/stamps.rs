//! Stamps of files on disk, to notice writers that do not report: the shell, formatters, git.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use crate::processors::processor_count;
use moai_base::limits::{
    COARSE_HASHED_BYTES_MAX, COARSE_TIME_NS_MAX, FILE_TIME_TICK_MS_MAX, FILE_TIME_TICK_NS_MIN,
    SERIAL_STAMPS_MAX,
};
use moai_base::path::RelPath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, Timespec, openat, statat};
use rustix::io::Errno;
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
    /// Hash of the bytes, if the next write may leave all of the above as they are; otherwise 0.
    content: u64,
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
            content: 0,
        }
    }

    /// The same from the system call.
    pub(super) fn of_stat(stat: &Stat) -> Self {
        Self {
            modified_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
            changed_ns: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
            bytes: u64::try_from(stat.st_size).unwrap_or_default(),
            inode: stat.st_ino,
            content: 0,
        }
    }

    /// The stamp of a file behind this link: it changes with the link and with the file.
    fn through_link(&self, target: &Self) -> Self {
        Self {
            modified_ns: target.modified_ns,
            changed_ns: target.changed_ns.max(self.changed_ns),
            bytes: target.bytes,
            inode: target.inode.wrapping_add(self.inode),
            content: 0,
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
        let tick_ns_max = if self.is_coarse() { COARSE_TIME_NS_MAX } else { 0 };
        self.changed_ns + tick_ns_max < earliest_ns
    }

    /// True if its time may come from a file system that keeps whole seconds.
    fn is_coarse(&self) -> bool {
        self.changed_ns % 1_000_000_000 == 0
    }

    /// The stamp for a caller that compares it with later ones. On a file system that keeps whole seconds it needs
    /// the bytes for as long as a write may leave the same times, because that is too long to wait. A file that
    /// cannot be read differs from every other stamp until then.
    fn with_content_hash(mut self, open: impl FnOnce() -> Option<File>) -> Self {
        if self.is_coarse() && !self.is_final(FileClock::of_kernel().earliest_ns()) {
            let content = open().and_then(hash_content);
            self.content = content.unwrap_or_else(|| hash_of(&now_ns()));
        }
        self
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
    stamp_all(root, files, StampPurpose::Files).stamps
}

/// Like [`stamp_files`], for polls, which compare what programs read: the stamp of a link changes with its target
/// too, which need not be below the root. `None` if the system lacks descriptors or memory, because the files left
/// out would count as deleted.
#[must_use]
pub fn stamp_sources(root: &Path, files: &[RelPath]) -> Option<BTreeMap<RelPath, FileStamp>> {
    let StampedFiles { stamps, is_whole } = stamp_all(root, files, StampPurpose::Poll);
    is_whole.then_some(stamps)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StampPurpose {
    /// The files themselves.
    Files,
    /// What a program reads at their paths.
    Poll,
}

#[derive(Debug)]
struct StampedFiles<S> {
    stamps: S,
    /// False if some files could not be stamped for lack of descriptors or memory.
    is_whole: bool,
}

fn stamp_all(
    root: &Path,
    files: &[RelPath],
    purpose: StampPurpose,
) -> StampedFiles<BTreeMap<RelPath, FileStamp>> {
    let threads = processor_count();
    let shares: Vec<StampedFiles<Vec<(RelPath, FileStamp)>>> = if files.len() <= SERIAL_STAMPS_MAX {
        vec![stamp_share(root, files, purpose)]
    } else {
        std::thread::scope(|scope| {
            let shares = files.chunks(files.len().div_ceil(threads).max(SERIAL_STAMPS_MAX / 2));
            let threads: Vec<_> = shares
                .map(|files| scope.spawn(move || stamp_share(root, files, purpose)))
                .collect();
            let joined = threads.into_iter().map(ScopedJoinHandle::join);
            joined.map(|stamps| stamps.expect("stamping does not panic")).collect()
        })
    };
    let is_whole = shares.iter().all(|share| share.is_whole);
    let stamps: BTreeMap<RelPath, FileStamp> =
        shares.into_iter().flat_map(|share| share.stamps).collect();
    await_tick(stamps.values());
    StampedFiles { stamps, is_whole }
}

fn stamp_share(
    root: &Path,
    files: &[RelPath],
    purpose: StampPurpose,
) -> StampedFiles<Vec<(RelPath, FileStamp)>> {
    let mut stamps = Vec::with_capacity(files.len());
    let mut is_whole = true;
    let mut open: Option<OpenFolder<'_>> = None;
    for file in files {
        let (folder, name) = (file.folder(), file.file_name());
        if open.as_ref().is_none_or(|open| open.name != folder) {
            let opened = OpenFolder::open(root, folder);
            is_whole &= !opened.as_ref().is_err_and(|error| is_lack_of_resources(*error));
            open = opened.ok();
        }
        let Some(OpenFolder { descriptor, .. }) = &open else { continue };
        let stat = statat(descriptor, name, AtFlags::SYMLINK_NOFOLLOW);
        is_whole &= !stat.as_ref().is_err_and(|error| is_lack_of_resources(*error));
        let Ok(stat) = stat else { continue };
        let mut stamp = FileStamp::of_stat(&stat);
        if purpose == StampPurpose::Poll {
            if FileType::from_raw_mode(stat.st_mode).is_symlink()
                && let Ok(target) = statat(descriptor, name, AtFlags::empty())
            {
                stamp = stamp.through_link(&FileStamp::of_stat(&target));
            }
            stamp = stamp.with_content_hash(|| {
                let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
                openat(descriptor, name, flags, Mode::empty()).ok().map(File::from)
            });
        }
        stamps.push((file.clone(), stamp));
    }
    StampedFiles { stamps, is_whole }
}

/// True if an entry could not be read for lack of descriptors or memory, so that nothing is known about it.
pub(super) fn is_lack_of_resources(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

/// Hash of a file's bytes; `None` if there are too many or it is no regular file.
fn hash_content(file: File) -> Option<u64> {
    let meta = file.metadata().ok().filter(Metadata::is_file)?;
    let bytes_max = COARSE_HASHED_BYTES_MAX;
    if meta.len() > bytes_max {
        return None;
    }
    let mut content = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= bytes_max).then(|| hash_of(&content))
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A folder whose files are stamped. Their names are found from its descriptor, because the system would look
/// up every folder of a whole path again.
struct OpenFolder<'f> {
    /// Relative to the root.
    name: &'f str,
    descriptor: OwnedFd,
}

impl<'f> OpenFolder<'f> {
    fn open(root: &Path, name: &'f str) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(root.join(name), flags, Mode::empty())?;
        Ok(Self { name, descriptor })
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

/// Like [`stamp_file`], for polls; see [`stamp_sources`].
#[must_use]
pub fn stamp_source(file: &Path) -> Option<FileStamp> {
    let stamp = stamp_file(file)?;
    Some(stamp.with_content_hash(|| {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::open(file, flags, Mode::empty()).ok().map(File::from)
    }))
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
                .map(|at| FileStamp {
                    modified_ns: 0,
                    changed_ns: *at,
                    bytes: 1,
                    inode: 1,
                    content: 0,
                })
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
        let look = || stamp_sources(root.path(), std::slice::from_ref(&link))?.get(&link).copied();
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

    #[test]
    fn on_a_file_system_with_whole_seconds_the_content_tells_writes_of_the_last_ones_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let stamp = |text: &str, age_ns: i128| {
            std::fs::write(&path, text).unwrap();
            let second_ns = 1_000_000_000;
            let changed_ns = (now_ns() - age_ns) / second_ns * second_ns;
            let written = stamp_file(&path).unwrap();
            let coarse = FileStamp { modified_ns: changed_ns, changed_ns, ..written };
            FileStamp {
                modified_ns: 0,
                changed_ns: 0,
                ..coarse.with_content_hash(|| File::open(&path).ok())
            }
        };
        assert_ne!(stamp("one", 0), stamp("two", 0));
        assert_eq!(stamp("one", 0), stamp("one", 0));
        let old_ns = 2 * COARSE_TIME_NS_MAX;
        assert_eq!(stamp("one", old_ns).content, 0);
        let unreadable = || stamp_file(&path).unwrap().with_content_hash(|| None).content;
        assert_eq!(unreadable(), 0, "its time has a fraction");
        std::fs::write(&path, vec![b'x'; usize::try_from(COARSE_HASHED_BYTES_MAX).unwrap() + 1])
            .unwrap();
        assert_eq!(hash_content(File::open(&path).unwrap()), None);
    }
}
