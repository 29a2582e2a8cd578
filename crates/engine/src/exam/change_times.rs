//! When files changed.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The inode change time of a file, which cannot be set back; for a missing file, that of its
/// folder. In nanoseconds since the epoch.
pub(crate) fn change_time_ns(file: &Path) -> Option<i128> {
    let metadata =
        file.symlink_metadata().ok().or_else(|| file.parent()?.symlink_metadata().ok())?;
    Some(i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()))
}
