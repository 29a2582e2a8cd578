//! Refuses renames that would edit generated, vendored or ignored files, or other repositories.

use super::{DiskTree, EditRefusal};
use moai_base::path::RelPath;
use moai_base::protected::{foreign_folder, is_generated};

/// Refuses a path that belongs to another repository or is protected by its name, by git's ignore rules, or by the first lines of
/// its current text.
pub(super) fn refuse_protected(path: &RelPath, tree: &DiskTree) -> Result<(), EditRefusal> {
    if let Some(repository) = tree.other_repositories.get(path) {
        let (path, repository) = (path.to_string(), repository.clone());
        return Err(EditRefusal::OtherRepository { path, repository });
    }
    let reason = if let Some(folder) = foreign_folder(path) {
        format!("in {folder}/")
    } else if tree.ignored.contains(path) {
        "ignored by git".to_owned()
    } else if tree.files.get(path).is_some_and(|bytes| is_generated(bytes)) {
        "marked as generated".to_owned()
    } else {
        return Ok(());
    };
    Err(EditRefusal::Protected { path: path.to_string(), reason })
}
