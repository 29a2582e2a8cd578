//! Repositories below the root: submodules, linked work trees, clones. They are read, never written.

use std::path::Path;

use moai_base::path::RelPath;

/// The outermost folder above the path and below the root that is a repository of its own; it has
/// a `.git`, as a folder or, in a submodule, as a file.
#[must_use]
pub fn other_repository<'p>(root: &Path, path: &'p RelPath) -> Option<&'p str> {
    path.folders().find(|folder| root.join(folder).join(".git").symlink_metadata().is_ok())
}
