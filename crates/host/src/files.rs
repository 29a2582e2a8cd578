//! The working tree on disk: its root, bounded reads of single files, directory walks, modification
//! stamps, and private folders.

pub mod copies;
mod expansion;
mod ignores;
mod inputs;
pub mod kinds;
mod name_walk;
mod nested;
mod private;
mod search;
mod snapshot;
mod stamps;
mod tail;
pub mod transaction;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

use moai_base::evidence::SkippedFile;
use moai_base::path::{RelPath, normalize};

pub use expansion::expand_pattern;
pub use ignores::IgnoreRules;
pub use inputs::{
    is_special, link_out_of, open_input, open_regular, read_regular, read_regular_text,
};
pub use name_walk::{
    FolderListings, HiddenFolders, LinkedFolder, NameWalk, walk_names, walk_names_and_hidden,
};
pub use nested::other_repository;
pub use private::{
    private_dir, private_temporary, read_private, remove_abandoned, write_private,
    write_private_unsynced,
};
pub use search::{FileMatches, fold_files, search_files};
pub use snapshot::{RootReader, Snapshot, read_snapshot, snapshot_of_bytes};
pub use stamps::{FileStamp, await_tick, stamp_file, stamp_files, stamp_source, stamp_sources};
pub use tail::{TailChunk, TailPosition, read_tail};
pub use walk::{
    FileWalk, PlaceWalk, WalkEnd, existing_target, files_of_sizes, is_marked_project, is_real_path,
    is_unbounded, links_to_outside, walk_files, walk_hidden, walk_place, walk_watched,
};

/// Root of a working directory: inside a git working tree, the nearest ancestor with a `.moai`
/// directory up to the working tree, else the working tree itself (its `.git` is a directory, or the file
/// that `git worktree add` creates). Without git, the nearest ancestor with a `.moai` directory
/// below `home`, else the directory itself. Canonical; a directory that cannot be canonicalized is
/// resolved lexically.
#[must_use]
pub fn find_root(cwd: &Path, home: Option<&Path>) -> PathBuf {
    let cwd = canonical(cwd);
    let work_tree = cwd.ancestors().find(|at| at.join(".git").exists());
    let home = home.map(canonical);
    for at in cwd.ancestors() {
        // Neither a folder above the repository nor the whole home is a project.
        let is_too_far = work_tree.is_none() && home.as_deref() == Some(at);
        if at.join(".moai").is_dir() && !is_too_far {
            return at.to_path_buf();
        }
        if is_too_far || work_tree == Some(at) {
            break;
        }
    }
    work_tree.map_or_else(|| cwd.clone(), Path::to_path_buf)
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| normalize(path))
}

/// Target of a requested path.
struct ResolvedPath {
    /// Canonical.
    absolute: PathBuf,
    /// `None` if it is the root itself.
    relative: Option<RelPath>,
}

/// Resolves a path below a canonical root. A path that is broken or leads out of the root is
/// skipped, with the reason.
fn resolve_in_root(root: &Path, path: &Path) -> Result<ResolvedPath, SkippedFile> {
    let skip = |reason: &str| Err(skipped_file(root, path, reason));
    let requested = root.join(path);
    let absolute = match requested.canonicalize() {
        Ok(absolute) => absolute,
        Err(_) if requested.is_symlink() => return skip("broken symbolic link"),
        Err(error) => return skip(&io_error_reason(&error)),
    };
    if absolute == root {
        return Ok(ResolvedPath { absolute, relative: None });
    }
    if !absolute.starts_with(root) {
        return skip("outside the root");
    }
    match RelPath::below(root, &absolute) {
        Some(relative) => Ok(ResolvedPath { absolute, relative: Some(relative) }),
        None => skip("its path is not UTF-8"),
    }
}

fn io_error_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "not readable: permission denied".to_owned(),
        _ => format!("not readable: {error}"),
    }
}

/// The skipped file, relative to the root if below it. Its folder is resolved, because a host may
/// name the root through a symbolic link.
fn skipped_file(root: &Path, path: &Path, reason: &str) -> SkippedFile {
    let requested = root.join(path);
    let resolved = || Some(requested.parent()?.canonicalize().ok()?.join(requested.file_name()?));
    let relative = RelPath::below(root, &requested)
        .or_else(|| resolved().and_then(|resolved| RelPath::below(root, &resolved)));
    let path = relative
        .map_or_else(|| path.to_string_lossy().into_owned(), |relative| relative.to_string());
    SkippedFile { path, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The root of `cwd` below a home, relative to it, when these folders exist.
    fn check(folders: &[&str], cwd: &str, expected: &str) {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        for folder in folders.iter().chain([&cwd]) {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        let root = find_root(&home.join(cwd), Some(&home));
        assert_eq!(root.strip_prefix(&home).unwrap(), Path::new(expected), "{folders:?} {cwd}");
    }

    #[test]
    fn the_root_is_marked_inside_the_work_tree_and_never_above_it() {
        check(&["a/.git", "a/part/.moai"], "a/part/src", "a/part");
        check(&["a/.git", "a/.moai"], "a/part/src", "a");
        check(&["a/.git"], "a/part/src", "a");
        check(&["a/.git", ".moai"], "a/part", "a");
        check(&["a/b/.git", "a/.moai"], "a/b/c", "a/b");
        check(&[".git", ".moai"], "a", "");
    }

    #[test]
    fn without_git_the_home_itself_marks_nothing() {
        check(&["a/.moai"], "a/b", "a");
        check(&["a/.moai", ".moai"], "a/b", "a");
        check(&[".moai"], "a/b", "a/b");
        check(&[".moai"], "", "");
    }

    #[test]
    fn the_file_of_a_linked_work_tree_marks_it() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("part/src")).unwrap();
        fs::create_dir(top.join(".moai")).unwrap();
        fs::write(top.join("part/.git"), "gitdir: elsewhere\n").unwrap();
        assert_eq!(find_root(&top.join("part/src"), None), top.join("part"));
    }

    #[test]
    fn a_file_named_moai_marks_nothing_and_links_are_followed() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/.moai")).unwrap();
        fs::create_dir_all(top.join("real/src")).unwrap();
        fs::write(top.join("real/src/.moai"), "").unwrap();
        std::os::unix::fs::symlink(top.join("real"), top.join("link")).unwrap();
        assert_eq!(find_root(&top.join("link/src"), None), top.join("real"));
    }
}
