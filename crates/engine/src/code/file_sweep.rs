//! The files that a search or rewrite looks through, and what it leaves out, with reasons.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::path::{RelPath, normalize};
use moai_base::sensitive::is_sensitive;
use moai_host::files::{self, Snapshot};
use moai_protocol::control::CallerContext;

/// Files to look through.
pub(crate) struct FileSweep {
    pub(crate) files: Vec<RelPath>,
    /// What was asked for or wanted and is not looked at.
    pub(crate) skipped: Vec<SkippedFile>,
    /// What was asked for by its own name, as `skipped` names it.
    named_paths: BTreeSet<String>,
}

impl FileSweep {
    /// The files below the paths, else those of the whole project, that `wanted` takes; without
    /// those that hold secrets.
    pub(crate) fn find(
        project: &Project,
        caller: &CallerContext,
        paths: &[PathBuf],
        wanted: &(dyn Fn(&RelPath) -> bool + Sync),
    ) -> Self {
        let root = &project.root;
        let mut starts: Vec<PathBuf> =
            paths.iter().map(|path| project.resolve_path(caller, path)).collect();
        if starts.is_empty() {
            starts.push(root.clone());
        }
        let walk = files::walk_files(root, &starts, wanted);
        let mut sweep = Self::of(project, caller, paths, (Vec::new(), walk.skipped));
        for path in walk.files {
            if !wanted(&path) {
                sweep.skip(&path, "in another language");
            } else if is_sensitive(&path) {
                sweep.skip(&path, "usually holds secrets");
            } else {
                sweep.files.push(path);
            }
        }
        sweep
    }

    /// Files that were found for these paths, and what was left out.
    pub(crate) fn of(
        project: &Project,
        caller: &CallerContext,
        paths: &[PathBuf],
        (files, skipped): (Vec<RelPath>, Vec<SkippedFile>),
    ) -> Self {
        let named = paths.iter().map(|path| name(project, &project.resolve_path(caller, path)));
        Self { files, skipped, named_paths: named.collect() }
    }

    fn skip(&mut self, path: &RelPath, reason: &str) {
        self.skipped.push(SkippedFile { path: path.to_string(), reason: reason.to_owned() });
    }

    /// Shows every file to `look`; see [`host::files::fold_files`].
    pub(crate) fn fold<A: Default + Send>(
        &self,
        project: &Project,
        deadline: Instant,
        look: &(dyn Fn(&mut A, Result<Snapshot, SkippedFile>) + Sync),
    ) -> Vec<A> {
        files::fold_files(&project.root, &self.files, deadline, look)
    }

    /// Whether one of the files was asked for by its name: leaving it out is no answer about it.
    pub(crate) fn has_named(&self, skipped: &[SkippedFile]) -> bool {
        skipped.iter().any(|one| self.named_paths.contains(&one.path))
    }
}

/// A path as the walk would name it when it skips it.
fn name(project: &Project, path: &Path) -> String {
    let relative = RelPath::below(&project.root, &normalize(path));
    relative.map_or_else(|| path.to_string_lossy().into_owned(), |it| it.to_string())
}
