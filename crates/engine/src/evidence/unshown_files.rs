//! Finds files that differ from the base state of the work, or may do so, and whose earlier state no open document
//! can show to a server. Blocking.

use std::path::Path;
use std::time::Duration;

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

/// The programs that git ignores and that were written or removed since the base, which has no earlier text of them:
/// code that a build generates. Removals from before the daemon's start are unknown.
pub(crate) fn changed_ignored(engine: &Engine, project: &Project, base: &WorkBase) -> Vec<RelPath> {
    let Some(since_secs) = base.since_secs() else { return Vec::new() };
    let since = Duration::from_secs(u64::try_from(since_secs).unwrap_or_default());
    let gone_since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let written_since = i128::try_from(since.as_nanos()).unwrap_or(i128::MAX);
    let (stamps, mut changed) = {
        let mut ledger = engine.ledger();
        let disk = &ledger.root(&project.root).disk;
        (disk.stamps().unwrap_or_default(), disk.gone_since(gone_since))
    };
    let written = stamps.iter().filter(|(_, stamp)| stamp.is_modified_since(written_since));
    changed.extend(written.map(|(path, _)| path.clone()));
    changed.retain(|path| project.is_program(path));
    // If git's data is unusable, any of them may be ignored.
    if let Ok(ignored) = git::ignored_paths(&project.root, &changed) {
        changed.retain(|path| ignored.contains(path));
    }
    changed
}
