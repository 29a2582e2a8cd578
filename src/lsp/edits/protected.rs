//! Refuses renames that would edit generated, vendored or ignored files.

use super::{DiskTree, EditRefusal};
use crate::base::path::RelPath;
use crate::base::protected::{foreign_folder, is_generated};

/// Refuses a path that is protected by its name, by git's ignore rules, or by the first lines of
/// its current text.
pub(super) fn refuse_protected(path: &RelPath, tree: &DiskTree) -> Result<(), EditRefusal> {
    let refuse = |reason: String| Err(EditRefusal::Protected { path: path.to_string(), reason });
    if let Some(folder) = foreign_folder(path) {
        return refuse(format!("in {folder}/"));
    }
    if tree.ignored.contains(path) {
        return refuse("ignored by git".to_owned());
    }
    match tree.files.get(path) {
        Some(bytes) if is_generated(bytes) => refuse("marked as generated".to_owned()),
        _ => Ok(()),
    }
}
