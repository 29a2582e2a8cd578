//! Obstacles on disk to a restore: a file where a folder must be, or the reverse. Removable ones are
//! removed first; the others are reported. Nothing is written here.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use moai_base::limits::CHANGED_BYTES_MAX;
use moai_base::path::RelPath;
use moai_base::tree::{RestoreStep, RestoreSteps};

/// Drops the steps that an obstacle prevents, and reports the obstacle. Returns the files to remove
/// first.
pub(crate) fn resolve_obstacles(root: &Path, steps: &mut RestoreSteps) -> BTreeSet<RelPath> {
    let mut first = BTreeSet::new();
    for path in steps.steps.keys().cloned().collect::<Vec<_>>() {
        let mut obstacles = RestoreObstacles { root, actions: steps, blockers: Vec::new() };
        match obstacles.check_step(&path) {
            Ok(()) => first.extend(obstacles.blockers),
            Err(reason) => {
                steps.steps.remove(&path);
                steps.untouched.insert(path.to_string(), reason);
            }
        }
    }
    first
}

/// The obstacles of one step.
struct RestoreObstacles<'a> {
    root: &'a Path,
    actions: &'a RestoreSteps,
    /// Obstacles that the same restore removes.
    blockers: Vec<RelPath>,
}

impl RestoreObstacles<'_> {
    fn check_step(&mut self, path: &RelPath) -> Result<(), String> {
        let size = path.under(self.root).symlink_metadata().map_or(0, |it| it.len());
        match self.actions.steps.get(path) {
            Some(RestoreStep::Added) => self.check_added(path),
            Some(_) if size > CHANGED_BYTES_MAX as u64 => {
                Err(format!("larger than {} MiB", CHANGED_BYTES_MAX >> 20))
            }
            _ => Ok(()),
        }
    }

    fn check_added(&mut self, path: &RelPath) -> Result<(), String> {
        for folder in path.folders().filter_map(RelPath::parse) {
            match folder.under(self.root).symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return self.require_removal(folder),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(format!("{folder}: {error}")),
            }
        }
        match path.under(self.root).symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => self.check_folder(path),
            Ok(_) => Err("something that no checkpoint holds is there".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Everything in a folder must be removable, and it must not be empty: an empty one is the user's.
    fn check_folder(&mut self, folder: &RelPath) -> Result<(), String> {
        let unreadable = |error: io::Error| format!("{folder}: {error}");
        let mut is_empty = true;
        for entry in fs::read_dir(folder.under(self.root)).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            is_empty = false;
            let path = RelPath::below(self.root, &entry.path());
            let path = path.ok_or_else(|| format!("a folder with {}", entry.path().display()))?;
            if entry.file_type().map_err(unreadable)?.is_dir() {
                self.check_folder(&path)?;
            } else {
                self.require_removal(path)?;
            }
        }
        if is_empty { Err(format!("the empty folder {folder} is in its way")) } else { Ok(()) }
    }

    fn require_removal(&mut self, path: RelPath) -> Result<(), String> {
        if self.actions.steps.get(&path) != Some(&RestoreStep::Removed) {
            return Err(format!("{path} is in its way"));
        }
        self.check_step(&path)?;
        self.blockers.push(path);
        Ok(())
    }
}
