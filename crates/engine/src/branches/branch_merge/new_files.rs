//! Which files that are not committed are the work of a loop. It must not know what is merged.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::restore::checkpoints::LOOP_FILES;
use moai_base::path::RelPath;
use moai_host::git::branches::WorkTreeStatus;

/// What people steer loops with, committed or not.
const STEERING: [&str; 3] = ["RUBRIC.md", ".claude", ".moai"];

/// Untracked files below the root that came here after the loop began, however old their contents
/// are; what steers a loop is no work.
pub(crate) fn made_since(root: &Path, standing: &WorkTreeStatus, since_ms: u64) -> Vec<String> {
    let is_new = |path: &&String| {
        let file = standing.work_tree.join(path);
        let Some(below) = RelPath::below(root, &file) else { return false };
        !steers(&below) && changed_ms(&file).is_none_or(|changed| changed >= since_ms)
    };
    standing.untracked.iter().filter(is_new).cloned().collect()
}

/// When a file was last written or put where it is, in milliseconds since the epoch. Who copies,
/// unpacks or moves one may set the time of its contents, and cannot set that of its entry.
fn changed_ms(file: &Path) -> Option<u64> {
    let meta = file.symlink_metadata().ok()?;
    let ms = |secs: i64, nanos: i64| u64::try_from(secs * 1_000 + nanos / 1_000_000).ok();
    let written = ms(meta.mtime(), meta.mtime_nsec());
    written.max(ms(meta.ctime(), meta.ctime_nsec()))
}

/// Whether a file steers loops or is their note, and is not their work.
fn steers(path: &RelPath) -> bool {
    is_in(path, &LOOP_FILES) || is_in(path, &STEERING)
}

/// Whether a file is a note of a loop.
pub(crate) fn is_note(root: &Path, file: &Path) -> bool {
    RelPath::below(root, file).is_some_and(|path| is_in(&path, &LOOP_FILES))
}

/// Whether a path is one of these files, or below one of these folders.
fn is_in(path: &RelPath, names: &[&str]) -> bool {
    let rest = names.iter().filter_map(|name| path.as_str().strip_prefix(name));
    rest.into_iter().any(|rest| rest.is_empty() || rest.starts_with('/'))
}
