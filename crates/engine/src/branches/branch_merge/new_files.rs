//! Finds the uncommitted files that are the work of a loop.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::restore::checkpoints::LOOP_FILES;
use moai_base::path::RelPath;
use moai_host::git::branches::WorkTreeStatus;
use moai_loops::criteria::SPECS_FOLDER;

/// Files and folders that users edit to steer loops, whether committed or not.
const STEERING: [&str; 3] = ["RUBRIC.md", ".claude", ".moai"];

/// Untracked files below the root that appeared after the start of the loop, however old their
/// contents are. Files that steer a loop do not count as work.
pub(crate) fn made_since(root: &Path, status: &WorkTreeStatus, since_ms: u64) -> Vec<String> {
    let mut files = status.untracked.clone();
    files.retain(|path| {
        let file = status.work_tree.join(path);
        let Some(below) = RelPath::below(root, &file) else { return false };
        !steers(&below) && changed_ms(&file).is_none_or(|changed| changed >= since_ms)
    });
    files
}

/// The later of a file's mtime and ctime in milliseconds since the epoch. Copying, unpacking or moving
/// a file may set its mtime, but not its ctime.
fn changed_ms(file: &Path) -> Option<u64> {
    let meta = file.symlink_metadata().ok()?;
    to_ms(meta.mtime(), meta.mtime_nsec()).max(to_ms(meta.ctime(), meta.ctime_nsec()))
}

fn to_ms(secs: i64, nanos: i64) -> Option<u64> {
    u64::try_from(secs * 1_000 + nanos / 1_000_000).ok()
}

/// True if a file controls loops or is one of their notes.
fn steers(path: &RelPath) -> bool {
    LOOP_FILES.iter().chain(&STEERING).any(|own| path.is_in(own))
}

pub(crate) fn is_note(root: &Path, file: &Path) -> bool {
    RelPath::below(root, file).is_some_and(|path| LOOP_FILES.iter().any(|own| path.is_in(own)))
}

/// True if a file is a note of a loop or a document of specifications, which the engine writes.
pub(crate) fn is_written_by_engine(root: &Path, file: &Path) -> bool {
    is_note(root, file) || RelPath::below(root, file).is_some_and(|path| path.is_in(SPECS_FOLDER))
}
