//! The files that a search or rewrite looks through, and what it leaves out, with reasons.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::project::Project;
use crate::base::evidence::Skipped;
use crate::base::path::{RelPath, normalize};
use crate::base::sensitive::is_sensitive;
use crate::files::{self, Snapshot};
use crate::wire::control::Caller;

/// Files to look through.
pub(super) struct Sweep {
    pub(super) files: Vec<RelPath>,
    /// What was asked for or wanted and is not looked at.
    pub(super) skipped: Vec<Skipped>,
    /// What was asked for by its own name, as `skipped` names it.
    named: BTreeSet<String>,
}

impl Sweep {
    /// The files below the paths, else those of the whole project, that `wanted` takes; without
    /// those that hold secrets.
    pub(super) fn find(
        project: &Project,
        caller: &Caller,
        paths: &[PathBuf],
        wanted: &(dyn Fn(&RelPath) -> bool + Sync),
    ) -> Self {
        let root = &project.root;
        let mut starts: Vec<PathBuf> =
            paths.iter().map(|path| project.named(caller, path)).collect();
        if starts.is_empty() {
            starts.push(root.clone());
        }
        let walk = files::walk(root, &starts, wanted);
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
    pub(super) fn of(
        project: &Project,
        caller: &Caller,
        paths: &[PathBuf],
        (files, skipped): (Vec<RelPath>, Vec<Skipped>),
    ) -> Self {
        let named = paths.iter().map(|path| name(project, &project.named(caller, path)));
        Self { files, skipped, named: named.collect() }
    }

    fn skip(&mut self, path: &RelPath, reason: &str) {
        self.skipped.push(Skipped { path: path.to_string(), reason: reason.to_owned() });
    }

    /// Shows every file to `look`; see [`files::fold`].
    pub(super) fn fold<A: Default + Send>(
        &self,
        project: &Project,
        deadline: Instant,
        look: &(dyn Fn(&mut A, Result<Snapshot, Skipped>) + Sync),
    ) -> Vec<A> {
        files::fold(&project.root, &self.files, deadline, look)
    }

    /// Whether one of the files was asked for by its name: leaving it out is no answer about it.
    pub(super) fn has_named(&self, skipped: &[Skipped]) -> bool {
        skipped.iter().any(|one| self.named.contains(&one.path))
    }
}

/// A path as the walk would name it when it skips it.
fn name(project: &Project, path: &Path) -> String {
    let relative = RelPath::below(&project.root, &normalize(path));
    relative.map_or_else(|| path.to_string_lossy().into_owned(), |it| it.to_string())
}
