//! Bounds of file times.

/// Longest tick of the clock that a kernel takes file times from: Linux with 100 ticks per second.
pub const FILE_TIME_TICK_MS_MAX: u64 = 10;
/// Longest time between the last write of a file and the rename that puts it in its place.
pub const FILE_WRITE_MS_MAX: u64 = 1_000;
