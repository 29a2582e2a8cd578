//! Bounds of file times.

/// Longest tick of the clock that a kernel takes file times from: Linux with 100 ticks per second.
pub const FILE_TIME_TICK_MS_MAX: u64 = 10;
/// Shortest tick, in nanoseconds: Linux with 1,000 ticks per second, less the rounding of its clock.
pub const FILE_TIME_TICK_NS_MIN: i128 = 900_000;
/// Longest unit of file times on a file system without fractions of seconds, in nanoseconds: FAT has two seconds.
pub const COARSE_TIME_NS_MAX: i128 = 2_000_000_000;
/// Longest time between the last write of a file and the rename that puts it in its place.
pub const FILE_WRITE_MS_MAX: u64 = 1_000;
/// Largest file that polls on such a file system hash, in bytes.
pub const COARSE_HASHED_BYTES_MAX: u64 = 4_000_000;
/// Files of a built package whose times are read.
pub const BUILT_FILES_MAX: usize = 20_000;
