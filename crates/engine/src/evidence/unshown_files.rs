//! Finds files that differ from the base state of the work, or may do so, and whose earlier state no open document
//! can show to a server. Blocking.

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
    /// The changed paths that lead through symbolic links now: servers read the targets of the links, not an open
    /// document at the path. And files that servers read although they measure none of them, such as parts of C++
    /// headers.
    pub(crate) fn among(project: &Project, changed: &[RelPath]) -> Self {
        let root = &project.root;
        let is_behind_link = |path: &RelPath| {
            path.under(root).symlink_metadata().is_ok() && !files::is_real_path(root, path)
        };
        let catalogue = &project.workspace.catalogue;
        let is_part = |path: &RelPath| {
            let extension = path.extension().unwrap_or_default();
            !project.has_sensor(path) && catalogue.is_data(&extension)
        };
        let (links, others): (Vec<&RelPath>, Vec<&RelPath>) =
            changed.iter().partition(|path| is_behind_link(path));
        let has_folder_link = links.iter().any(|path| path.under(root).is_dir());
        let parts = others.into_iter().filter(|path| is_part(path));
        Self { files: links.into_iter().chain(parts).cloned().collect(), has_folder_link }
    }
}

/// The programs that git ignores and that were written or removed since the base, which has no earlier text of them:
/// code that a build generates. Removals from before the daemon's start are unknown. Of a commit, only changes
/// since that start count: the outputs of earlier builds may belong to it.
pub(crate) fn changed_ignored(engine: &Engine, project: &Project, base: &WorkBase) -> Vec<RelPath> {
    let Some(base_secs) = base.since_secs() else { return Vec::new() };
    let mut since_ms = u64::try_from(base_secs).unwrap_or_default().saturating_mul(1_000);
    let (stamps, mut changed) = {
        let mut ledger = engine.ledger();
        let disk = &ledger.root(&project.root).disk;
        if base.at_secs().is_none() {
            since_ms = since_ms.max(disk.first_ms());
        }
        (disk.stamps().unwrap_or_default(), disk.gone_since(since_ms))
    };
    let nanoseconds = i128::from(since_ms) * 1_000_000;
    let written = stamps.iter().filter(|(_, stamp)| stamp.is_modified_since(nanoseconds));
    changed.extend(written.map(|(path, _)| path.clone()));
    changed.retain(|path| project.is_program(path));
    // If git's data is unusable, any of them may be ignored.
    if let Ok(ignored) = git::ignored_paths(&project.root, &changed) {
        changed.retain(|path| ignored.contains(path));
    }
    changed
}
