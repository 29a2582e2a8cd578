//! Folders that appeared or disappeared from poll to poll. Editors announce them to language servers as well, and
//! ty resolves a module to a new folder only after such a notice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use moai_base::path::RelPath;
use moai_lsp::session::DiskChange;

/// A path by which polled files are sorted, so that those in one folder are neighbors.
pub(crate) trait PolledPath: Ord {
    /// The path itself; nothing is resolved.
    fn as_path(&self) -> &Path;
}

impl PolledPath for RelPath {
    fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }
}

impl PolledPath for PathBuf {
    fn as_path(&self) -> &Path {
        self
    }
}

/// The folders of created files that had no file in the poll before, and those of deleted files that have none now.
/// Such a folder may have existed before, or exist now, with files that are not polled.
pub(crate) fn folder_changes<P: PolledPath, S>(
    before: &BTreeMap<P, S>,
    now: &BTreeMap<P, S>,
    changes: &[(P, DiskChange)],
) -> Vec<(PathBuf, DiskChange)> {
    let mut folders = Vec::new();
    for (kind, other_poll) in [(DiskChange::Created, before), (DiskChange::Deleted, now)] {
        let files = changes.iter().filter(|(_, change)| *change == kind).map(|(file, _)| file);
        let of_kind = folders_without_files(files, other_poll).into_iter();
        folders.extend(of_kind.map(|folder| (folder, kind)));
    }
    folders
}

/// The folders of these files in which a poll found no file.
fn folders_without_files<'f, P: PolledPath + 'f, S>(
    files: impl Iterator<Item = &'f P>,
    polled: &BTreeMap<P, S>,
) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    for file in files {
        let (previous, next) = (polled.range(..file).next_back(), polled.range(file..).next());
        let neighbors = [previous, next].map(|it| it.map(|(path, _)| path.as_path()));
        let is_empty =
            |folder: &&Path| !neighbors.iter().flatten().any(|it| it.starts_with(folder));
        let above = file.as_path().ancestors().skip(1).take_while(is_empty);
        let above = above.filter(|folder| !folder.as_os_str().is_empty());
        folders.extend(above.map(Path::to_path_buf));
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(files: &[&str], other: &[&str]) -> Vec<String> {
        let parse = |path: &&str| RelPath::parse(path).expect("relative");
        let files: Vec<RelPath> = files.iter().map(parse).collect();
        let other: BTreeMap<RelPath, bool> = other.iter().map(|path| (parse(path), true)).collect();
        let folders = folders_without_files(files.iter(), &other);
        folders.iter().map(|folder| folder.display().to_string()).collect()
    }

    #[test]
    fn folders_appear_with_created_files_and_disappear_with_deleted_ones() {
        let poll = |files: &[&str]| -> BTreeMap<PathBuf, bool> {
            files.iter().map(|file| (PathBuf::from(file), true)).collect()
        };
        let before = poll(&["kept/a.py", "old/a.py"]);
        let now = poll(&["kept/a.py", "kept/b.py", "new/a.py"]);
        let changes = [
            ("kept/a.py", DiskChange::Changed),
            ("kept/b.py", DiskChange::Created),
            ("new/a.py", DiskChange::Created),
            ("old/a.py", DiskChange::Deleted),
        ]
        .map(|(file, change)| (PathBuf::from(file), change));
        let expected = [("new", DiskChange::Created), ("old", DiskChange::Deleted)]
            .map(|(folder, change)| (PathBuf::from(folder), change));
        assert_eq!(folder_changes(&before, &now, &changes), expected);
    }

    #[test]
    fn a_folder_is_new_if_no_earlier_file_was_in_it() {
        assert_eq!(folders(&["a/b/c.py", "a/b/d.py", "e.py"], &[]), ["a", "a/b"]);
        assert_eq!(folders(&["a/b/c.py"], &["a/z.py"]), ["a/b"]);
        assert_eq!(folders(&["a/b/c.py"], &["a/0.py", "a-b/c.py", "b/c.py"]), ["a/b"]);
        assert_eq!(folders(&["a/b/c.py"], &["a-b.py", "a.py", "a0/c.py"]), ["a", "a/b"]);
        assert_eq!(folders(&["a/b/c.py", "f/g.py"], &["a/b/d.py", "f/a/b.py"]), [""; 0]);
    }
}
