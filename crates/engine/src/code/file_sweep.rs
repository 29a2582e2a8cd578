//! The files that a search or rewrite reads, and the skipped ones with reasons.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::path::{RelPath, normalize};
use moai_base::sensitive::is_sensitive;
use moai_host::files::{self, Snapshot};
use moai_protocol::control::CallerContext;

pub(crate) struct FileSweep {
    pub(crate) files: Vec<RelPath>,
    /// Requested or wanted files that are not read.
    pub(crate) skipped: Vec<SkippedFile>,
    /// The paths in the request, in the form of `skipped`.
    named_paths: BTreeSet<String>,
}

impl FileSweep {
    /// The files below the paths, or else of the whole project, that `wanted` accepts and that do not
    /// usually hold secrets.
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
        let mut sweep = Self::new(project, caller, paths, Vec::new(), walk.skipped);
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

    /// Files selected for these paths, and skipped ones.
    pub(crate) fn new(
        project: &Project,
        caller: &CallerContext,
        paths: &[PathBuf],
        files: Vec<RelPath>,
        skipped: Vec<SkippedFile>,
    ) -> Self {
        let named = paths.iter().map(|path| name(project, &project.resolve_path(caller, path)));
        Self { files, skipped, named_paths: named.collect() }
    }

    fn skip(&mut self, path: &RelPath, reason: &str) {
        self.skipped.push(SkippedFile { path: path.to_string(), reason: reason.to_owned() });
    }

    /// Passes every file to `visit`; see [`host::files::fold_files`].
    pub(crate) fn fold<A: Default + Send>(
        &self,
        project: &Project,
        deadline: Instant,
        visit: &(dyn Fn(&mut A, Result<Snapshot, SkippedFile>) + Sync),
    ) -> Vec<A> {
        files::fold_files(&project.root, &self.files, deadline, visit)
    }

    /// True if one of the skipped files was requested explicitly; the answer about it is incomplete then.
    pub(crate) fn has_named(&self, skipped: &[SkippedFile]) -> bool {
        skipped.iter().any(|file| self.named_paths.contains(&file.path))
    }
}

/// A path in the form that a walk uses for skipped files.
fn name(project: &Project, path: &Path) -> String {
    let relative = RelPath::below(&project.root, &normalize(path));
    relative.map_or_else(|| path.to_string_lossy().into_owned(), |path| path.to_string())
}
