//! Files that libgit2 reads where something else has their name: it would wait for the writer of a
//! named pipe, or read a device without end.

use std::path::{Path, PathBuf};

use super::{path_of, read_some};
use crate::files::is_special;

/// Files in git's folder, and in the one that work trees share.
const OF_GIT: [&str; 13] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "index",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
];
/// Files in the folders from the root up to the top of the work tree. Those below the root are read too;
/// only a walk over the whole tree would find them.
const OF_WORK_TREE: [&str; 3] = [".gitattributes", ".gitignore", ".gitmodules"];

/// The first of git's files for a root that is neither a regular file nor a folder.
pub(super) fn find_special_file(root: &Path) -> Option<PathBuf> {
    for at in root.ancestors() {
        let git = at.join(".git");
        if let Some(special) = special_in(at, &OF_WORK_TREE).or_else(|| special(git.clone())) {
            return Some(special);
        }
        if git.exists() {
            return special_of_repository(&git);
        }
    }
    None
}

fn special_of_repository(git: &Path) -> Option<PathBuf> {
    let folder = if git.is_dir() { git.to_path_buf() } else { linked_folder(git)? };
    special_in(&folder, &OF_GIT).or_else(|| {
        let shared = read_some(&folder.join("commondir"))?;
        special_in(&folder.join(path_of(shared.trim_ascii())), &OF_GIT)
    })
}

/// The folder that a `.git` file names.
fn linked_folder(git: &Path) -> Option<PathBuf> {
    let text = read_some(git)?;
    let named = text.strip_prefix(b"gitdir:")?;
    Some(git.parent()?.join(path_of(named.trim_ascii())))
}

fn special_in(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().find_map(|name| special(folder.join(name)))
}

fn special(path: PathBuf) -> Option<PathBuf> {
    is_special(&path).then_some(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn pipes_and_devices_are_found_in_every_place_that_git_reads() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let below = root.join("a/b");
        let shared = root.join(".git/worktrees/x");
        for folder in [&below, &root.join(".git/info"), &shared, &root.join("linked")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(root.join(".git/config"), "[core]\n").unwrap();
        fs::write(root.join("linked/.git"), format!("gitdir: {}\n", shared.display())).unwrap();
        fs::write(shared.join("commondir"), "../..\n").unwrap();
        assert_eq!(find_special_file(&below), None);
        for name in [".git/HEAD", ".git/info/attributes", ".gitattributes", "a/.gitignore"] {
            let path = root.join(name);
            symlink("/dev/null", &path).unwrap();
            assert_eq!(find_special_file(&below), Some(path.clone()), "{name}");
            fs::remove_file(path).unwrap();
        }
        symlink("/dev/zero", root.join(".git/packed-refs")).unwrap();
        let found = find_special_file(&root.join("linked")).unwrap();
        assert_eq!(
            found.canonicalize().unwrap(),
            Path::new("/dev/zero"),
            "through the shared folder"
        );
    }
}
