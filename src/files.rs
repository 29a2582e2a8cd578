//! The working tree on disk: where its root is, one bounded read of one file, which files there
//! are, when they were written, and private folders. It must not know what files are read for:
//! languages, sensors and git's index are none of its business.

pub mod copies;
mod ignores;
pub mod kinds;
mod private;
mod replace;
mod search;
mod snapshot;
mod stamps;
mod tail;
pub mod transaction;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

use crate::base::evidence::Skipped;
use crate::base::path::{RelPath, normalize};

pub use ignores::Ignores;
pub use private::{private_dir, read_private, write_private, write_unsynced};
pub use replace::replace;
pub use search::{Found, fold, search};
pub use snapshot::{Root, Snapshot, given, read};
pub use stamps::{Stamp, stamps};
pub use tail::{Grown, Tail, read_on};
pub use walk::{Walk, is_own, walk, walk_hidden, walk_names, walk_watched};

/// Root of a working directory: the nearest ancestor with a `.moai` directory, else the nearest
/// with a `.git` (a directory, or the file that `git worktree add` leaves), else the directory
/// itself. Canonical; a directory that cannot be canonicalised comes back resolved by text.
#[must_use]
pub fn root_of(cwd: &Path) -> PathBuf {
    let cwd = canonical(cwd);
    let nearest = |is_marked: &dyn Fn(&Path) -> bool| cwd.ancestors().find(|at| is_marked(at));
    nearest(&|at| at.join(".moai").is_dir())
        .or_else(|| nearest(&|at| at.join(".git").exists()))
        .map_or_else(|| cwd.clone(), Path::to_path_buf)
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| normalize(path))
}

/// Where a path that was asked for really leads.
struct Place {
    /// Canonical.
    absolute: PathBuf,
    /// `None` when it is the root itself.
    relative: Option<RelPath>,
}

/// Follows a path below a canonical root; what leads out of it or nowhere is skipped, with the
/// reason.
fn place(root: &Path, path: &Path) -> Result<Place, Skipped> {
    let skip = |reason: &str| Err(skipped(root, path, reason));
    let asked = root.join(path);
    let absolute = match asked.canonicalize() {
        Ok(absolute) => absolute,
        Err(_) if asked.is_symlink() => return skip("broken symbolic link"),
        Err(error) => return skip(&unreadable(&error)),
    };
    if absolute == root {
        return Ok(Place { absolute, relative: None });
    }
    if !absolute.starts_with(root) {
        return skip("outside the root");
    }
    match RelPath::below(root, &absolute) {
        Some(relative) => Ok(Place { absolute, relative: Some(relative) }),
        None => skip("its path is not UTF-8"),
    }
}

fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "not readable: permission denied".to_owned(),
        _ => format!("not readable: {error}"),
    }
}

/// The skipped file, named relative to the root where it lies below it. The folder is followed,
/// because a host may name the root through a symbolic link.
fn skipped(root: &Path, path: &Path, reason: &str) -> Skipped {
    let asked = root.join(path);
    let followed = || Some(asked.parent()?.canonicalize().ok()?.join(asked.file_name()?));
    let relative = RelPath::below(root, &asked)
        .or_else(|| followed().and_then(|followed| RelPath::below(root, &followed)));
    let path = relative.map_or_else(|| path.to_string_lossy().into_owned(), |it| it.to_string());
    Skipped { path, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_marked_ancestor_is_the_root_and_moai_wins_over_git() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let deep = top.join("project/part/src");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(top.join("project/.moai")).unwrap();
        assert_eq!(root_of(&deep), top.join("project"));
        fs::write(top.join("project/part/.git"), "gitdir: elsewhere\n").unwrap();
        assert_eq!(root_of(&deep), top.join("project"));
        fs::remove_dir(top.join("project/.moai")).unwrap();
        assert_eq!(root_of(&deep), top.join("project/part"));
    }

    #[test]
    fn a_file_named_moai_marks_nothing_and_links_are_followed() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/.moai")).unwrap();
        fs::create_dir_all(top.join("real/src")).unwrap();
        fs::write(top.join("real/src/.moai"), "").unwrap();
        std::os::unix::fs::symlink(top.join("real"), top.join("link")).unwrap();
        assert_eq!(root_of(&top.join("link/src")), top.join("real"));
    }
}
