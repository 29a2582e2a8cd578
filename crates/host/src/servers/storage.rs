//! Private folders of language servers, one for each server and workspace, for caches and indexes. Those of
//! workspaces that no longer exist are removed: an index of jdtls takes tens of megabytes.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::files::{private_dir, write_private};
use moai_base::hash::ContentHash;

/// Extension of the file next to a folder that holds the path of its workspace.
const WORKSPACE: &str = "workspace";

/// The folder of a server for a workspace; it may not exist yet.
pub(super) fn storage_folder(data: &Path, server: &str, workspace: &Path) -> PathBuf {
    let place = ContentHash::of_bytes(workspace.as_os_str().as_bytes()).short_hex();
    data.join("storage").join(format!("{}-{place}", server.replace('/', "_")))
}

/// Creates the folder of a workspace, readable for its user only.
pub(super) fn create_storage(folder: &Path, workspace: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    private_dir(folder)?;
    write_private(&folder.with_added_extension(WORKSPACE), workspace.as_os_str().as_bytes())
}

/// Removes the folders whose workspaces no longer exist.
pub fn remove_orphaned_storage(data: &Path) {
    let Ok(entries) = fs::read_dir(data.join("storage")) else { return };
    for marker in entries.flatten().map(|entry| entry.path()) {
        if marker.extension() != Some(OsStr::new(WORKSPACE)) {
            continue;
        }
        let Ok(workspace) = fs::read(&marker) else { continue };
        let found = Path::new(OsStr::from_bytes(&workspace)).symlink_metadata();
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let folder = marker.with_extension("");
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, folder = %folder.display(), "storage is not removed");
                }
                // Without the marker, the next start would not find what is left.
                _ => drop(fs::remove_file(&marker)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_storage_of_a_workspace_is_removed_after_the_workspace() {
        let base = tempfile::tempdir().expect("a folder");
        let data = base.path().join("data");
        let workspaces = ["kept", "lib.v2"].map(|name| base.path().join(name));
        let folders = workspaces.each_ref().map(|workspace| {
            fs::create_dir(workspace).expect("the folder is ours");
            let folder = storage_folder(&data, "jdtls", workspace);
            create_storage(&folder, workspace).expect("the folder is ours");
            fs::write(folder.join("index"), "").expect("the folder is ours");
            folder
        });
        remove_orphaned_storage(&data);
        assert!(folders.iter().all(|folder| folder.join("index").exists()));
        fs::remove_dir(&workspaces[1]).expect("the folder is ours");
        remove_orphaned_storage(&data);
        assert!(folders[0].join("index").exists());
        let left = fs::read_dir(data.join("storage")).expect("the folder is ours").count();
        assert_eq!(left, 2, "the other folder and its marker");
        create_storage(&folders[1], &workspaces[1]).expect("the folder is ours");
        assert!(folders[1].is_dir());
    }
}
