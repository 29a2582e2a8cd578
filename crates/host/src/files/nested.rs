//! Repositories below the root: submodules, linked worktrees, clones. They are read, never written.

use std::path::Path;

use moai_base::path::RelPath;

/// The outermost nested repository above the path and below the root; it has a `.git`, which is a folder or,
/// in a submodule, a file.
#[must_use]
pub fn other_repository<'p>(root: &Path, path: &'p RelPath) -> Option<&'p str> {
    path.folders().find(|folder| root.join(folder).join(".git").symlink_metadata().is_ok())
}
