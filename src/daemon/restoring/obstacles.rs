//! What stands on the disk in the way of a restore: a file where a folder must be, or the other way
//! round. What may go goes first; what may not is named. It must not write anything.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use crate::base::limits::CHANGED_BYTES_MAX;
use crate::base::path::RelPath;
use crate::base::tree::{Step, Way};

/// Takes from the way the steps that something keeps from being made, and names it. Returns the
/// files that must go before the others have room.
pub(super) fn clear(root: &Path, way: &mut Way) -> BTreeSet<RelPath> {
    let mut first = BTreeSet::new();
    for path in way.steps.keys().cloned().collect::<Vec<_>>() {
        let mut found = Obstacles { root, way, in_way: Vec::new() };
        match found.of(&path) {
            Ok(()) => first.extend(found.in_way),
            Err(reason) => {
                way.steps.remove(&path);
                way.untouched.insert(path.to_string(), reason);
            }
        }
    }
    first
}

/// What is in the way of one step.
struct Obstacles<'a> {
    root: &'a Path,
    way: &'a Way,
    /// What goes in the same restore.
    in_way: Vec<RelPath>,
}

impl Obstacles<'_> {
    fn of(&mut self, path: &RelPath) -> Result<(), String> {
        let size = path.under(self.root).symlink_metadata().map_or(0, |it| it.len());
        match self.way.steps.get(path) {
            Some(Step::Added) => self.of_added(path),
            Some(_) if size > CHANGED_BYTES_MAX as u64 => {
                Err(format!("larger than {} MiB", CHANGED_BYTES_MAX >> 20))
            }
            _ => Ok(()),
        }
    }

    fn of_added(&mut self, path: &RelPath) -> Result<(), String> {
        for folder in path.folders().filter_map(RelPath::parse) {
            match folder.under(self.root).symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return self.must_go(folder),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(format!("{folder}: {error}")),
            }
        }
        match path.under(self.root).symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => self.of_folder(path),
            Ok(_) => Err("something that is not saved stands there".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Everything in a folder must go, and there must be something: an empty one is somebody's.
    fn of_folder(&mut self, folder: &RelPath) -> Result<(), String> {
        let unreadable = |error: io::Error| format!("{folder}: {error}");
        let mut is_empty = true;
        for entry in fs::read_dir(folder.under(self.root)).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            is_empty = false;
            let path = RelPath::below(self.root, &entry.path());
            let path = path.ok_or_else(|| format!("a folder with {}", entry.path().display()))?;
            if entry.file_type().map_err(unreadable)?.is_dir() {
                self.of_folder(&path)?;
            } else {
                self.must_go(path)?;
            }
        }
        if is_empty { Err(format!("the empty folder {folder} stands in its way")) } else { Ok(()) }
    }

    fn must_go(&mut self, path: RelPath) -> Result<(), String> {
        if self.way.steps.get(&path) != Some(&Step::Removed) {
            return Err(format!("{path} stands in its way"));
        }
        self.of(&path)?;
        self.in_way.push(path);
        Ok(())
    }
}
