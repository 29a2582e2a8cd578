//! Packages of a monorepo that npm, pnpm and Yarn link into folders `node_modules`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::name_walk::{LinkTarget, LinkedFolder, link_target};
use super::stamps::is_lack_of_resources;

/// The links in these folders `node_modules`, and in their folders of scopes, that lead to folders below the
/// root which its walk enters; `None` for lack of descriptors or memory.
#[must_use]
pub fn package_links(root: &Path, folders: &[PathBuf]) -> Option<Vec<LinkedFolder>> {
    let mut links = Vec::new();
    let mut open: Vec<PathBuf> = folders.to_vec();
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if is_lacking(&error) => return None,
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let is_scope = entry.file_name().as_encoded_bytes().starts_with(b"@");
            if kind.is_dir() && is_scope {
                open.push(entry.path());
            } else if kind.is_symlink()
                && let LinkTarget::Folder(target) = link_target(root, &entry.path())
            {
                links.push(LinkedFolder { link: entry.path(), target });
            }
        }
    }
    Some(links)
}

fn is_lacking(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(is_lack_of_resources)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::files::FolderListings;

    #[test]
    fn links_to_packages_of_the_project_are_found_in_each_folder_of_packages() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in [
            ".moai",
            "packages/app/node_modules",
            "packages/core/dist",
            "node_modules/@acme",
            "node_modules/.pnpm/other",
            "node_modules/installed",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (link, target) in [
            ("node_modules/@acme/core", "../../packages/core"),
            ("node_modules/other", ".pnpm/other"),
            ("node_modules/root", ".."),
            ("node_modules/gone", "../packages/gone"),
            ("packages/app/node_modules/core", "../../core"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let walk = FolderListings::default().walk(&root, &|_| true, &|| false).unwrap();
        let mut links = package_links(&root, &walk.package_folders).unwrap();
        links.sort_by(|a, b| a.link.cmp(&b.link));
        let target = root.join("packages/core");
        let expected = ["node_modules/@acme/core", "packages/app/node_modules/core"]
            .map(|link| LinkedFolder { link: root.join(link), target: target.clone() });
        assert_eq!(links, expected);
    }
}
