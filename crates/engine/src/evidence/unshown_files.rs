//! Finds files that differ from the base state of the work, or may do so, and whose earlier state no open document
//! can show to a server. Blocking.

use std::path::Path;

use crate::engine::Engine;
use crate::evidence::work_base::WorkBase;
use crate::project::Project;
use moai_base::path::RelPath;
use moai_host::{files, git};

/// Files that differ from the base state, or may do so; see the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnshownFiles {
    pub(crate) files: Vec<RelPath>,
    /// True if a link to a folder changed: a server of any language may read files through it.
    pub(crate) has_folder_link: bool,
}

impl UnshownFiles {
    /// The changed paths that lead through symbolic links now. Servers read the targets of the links, not an open
    /// document at the path.
    pub(crate) fn behind_links(root: &Path, changed: &[RelPath]) -> Self {
        let is_behind_link = |path: &&RelPath| {
            path.under(root).symlink_metadata().is_ok() && !files::is_real_path(root, path)
        };
        let files: Vec<RelPath> = changed.iter().filter(is_behind_link).cloned().collect();
        let has_folder_link = files.iter().any(|path| path.under(root).is_dir());
        Self { files, has_folder_link }
    }
}

/// The programs that git ignores and that were written since the checkpoint, which has no earlier text of them: code
/// that a build generates. Empty for a commit.
pub(crate) fn changed_ignored(engine: &Engine, project: &Project, base: &WorkBase) -> Vec<RelPath> {
    let Some(at_secs) = base.at_secs() else { return Vec::new() };
    let since_ns = i128::from(at_secs) * 1_000_000_000;
    let stamps = engine.ledger().root(&project.root).disk.stamps().unwrap_or_default();
    let changed = stamps.iter().filter(|(_, stamp)| stamp.is_modified_since(since_ns));
    let mut changed: Vec<RelPath> =
        changed.map(|(path, _)| path).filter(|path| project.is_program(path)).cloned().collect();
    // If git's data is unusable, any of them may be ignored.
    if let Ok(ignored) = git::ignored_paths(&project.root, &changed) {
        changed.retain(|path| ignored.contains(path));
    }
    changed
}
