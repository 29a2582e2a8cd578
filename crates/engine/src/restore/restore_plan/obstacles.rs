//! What stands on the disk in the way of a restore: a file where a folder must be, or the other way
//! round. What may go goes first; what may not is named. It must not write anything.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use moai_base::limits::CHANGED_BYTES_MAX;
use moai_base::path::RelPath;
use moai_base::tree::{RestoreStep, RestoreSteps};

/// Takes from the way the steps that something keeps from being made, and names it. Returns the
/// files that must go before the others have room.
pub(crate) fn resolve_obstacles(root: &Path, way: &mut RestoreSteps) -> BTreeSet<RelPath> {
    let mut first = BTreeSet::new();
    for path in way.steps.keys().cloned().collect::<Vec<_>>() {
        let mut found = RestoreObstacles { root, actions: way, blockers: Vec::new() };
        match found.check_step(&path) {
            Ok(()) => first.extend(found.blockers),
            Err(reason) => {
                way.steps.remove(&path);
                way.untouched.insert(path.to_string(), reason);
            }
        }
    }
    first
}

/// What is in the way of one step.
struct RestoreObstacles<'a> {
    root: &'a Path,
    actions: &'a RestoreSteps,
    /// What goes in the same restore.
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
            Ok(_) => Err("something that is not saved stands there".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Everything in a folder must go, and there must be something: an empty one is somebody's.
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
        if is_empty { Err(format!("the empty folder {folder} stands in its way")) } else { Ok(()) }
    }

    fn require_removal(&mut self, path: RelPath) -> Result<(), String> {
        if self.actions.steps.get(&path) != Some(&RestoreStep::Removed) {
            return Err(format!("{path} stands in its way"));
        }
        self.check_step(&path)?;
        self.blockers.push(path);
        Ok(())
    }
}
