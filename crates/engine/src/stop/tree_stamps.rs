//! Stamps of a measured tree, which show changes that file contents do not: a folder that was replaced while
//! the checks ran, and then put back, holds the same files, but its change time differs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use moai_base::path::RelPath;
use moai_base::tree::{FileKind, FileTree};
use moai_host::files::{self, FileStamp};

/// The stamps of the files of a tree, of the folders on their paths, and of scripts that checks run.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeStamps {
    files: BTreeMap<RelPath, FileStamp>,
    folders: BTreeMap<RelPath, FileStamp>,
    root: PathBuf,
    /// The root and the folders above it.
    above: BTreeMap<PathBuf, FileStamp>,
    /// Scripts of the exam; checks do not write them.
    pub(crate) scripts: BTreeSet<RelPath>,
}

impl TreeStamps {
    /// The present stamps. It blocks.
    pub(crate) fn take(root: &Path, tree: &FileTree, scripts: BTreeSet<RelPath>) -> Self {
        let files: BTreeSet<RelPath> = tree.nodes.keys().chain(&scripts).cloned().collect();
        let folders = files.iter().flat_map(RelPath::folders);
        let folders: BTreeSet<RelPath> = folders.filter_map(RelPath::parse).collect();
        let above = root
            .ancestors()
            .filter_map(|folder| Some((folder.to_path_buf(), files::stamp_file(folder)?)));
        let stamps = |paths: BTreeSet<RelPath>| {
            files::stamp_files(root, &paths.into_iter().collect::<Vec<RelPath>>())
        };
        let (above, folders, files) = (above.collect(), stamps(folders), stamps(files));
        Self { root: root.to_path_buf(), above, folders, files, scripts }
    }

    /// The stamp of a file.
    pub(crate) fn of_file(&self, path: &RelPath) -> Option<&FileStamp> {
        self.files.get(path)
    }

    /// The code and the folders of code that were moved between two looks and are back, and scripts that were
    /// written. A move also changes the list of the folder around it; new permissions or hard links do not.
    /// Tests leave files in any folder, where new permissions look like a move: a program never counts.
    pub(crate) fn moved_in(
        &self,
        tree: &FileTree,
        later: &Self,
        is_code: &dyn Fn(&RelPath) -> bool,
    ) -> Vec<String> {
        let is_own = |path: &RelPath| is_code(path) || self.scripts.contains(path);
        let files = self.files.iter().filter(|(path, before)| {
            let Some(now) = later.files.get(*path).filter(|now| now != before) else {
                return false;
            };
            let is_moved = now.is_moved_since(before);
            match tree.nodes.get(*path).map(|node| node.kind) {
                Some(FileKind::Link) => true,
                Some(FileKind::Program) if is_moved => false,
                _ if is_moved => is_own(path) && self.has_new_list(path.folder(), later),
                _ => self.scripts.contains(*path),
            }
        });
        let with_code: BTreeSet<&str> =
            self.files.keys().filter(|path| is_own(path)).flat_map(RelPath::folders).collect();
        let folders = self.folders.iter().filter(|(path, before)| {
            later.folders.get(*path).is_some_and(|now| now.is_moved_since(before))
                && with_code.contains(path.as_str())
                && self.has_new_list(path.folder(), later)
        });
        let folders = folders.map(|(path, _)| format!("{path}/"));
        let above = self.above.iter().filter(|(folder, before)| {
            let holder = folder.parent().unwrap_or(folder).to_path_buf();
            later.above.get(*folder).is_some_and(|now| now.is_moved_since(before))
                && is_changed(&self.above, &later.above, &holder)
        });
        let above = above.map(|(folder, _)| folder.display().to_string());
        files.map(|(path, _)| path.to_string()).chain(folders).chain(above).collect()
    }

    /// True if entries were added to a folder or removed from it.
    fn has_new_list(&self, folder: &str, later: &Self) -> bool {
        match RelPath::parse(folder) {
            Some(folder) => is_changed(&self.folders, &later.folders, &folder),
            None => is_changed(&self.above, &later.above, &self.root),
        }
    }
}

fn is_changed<P: Ord>(
    before: &BTreeMap<P, FileStamp>,
    later: &BTreeMap<P, FileStamp>,
    folder: &P,
) -> bool {
    match (before.get(folder), later.get(folder)) {
        (Some(before), Some(later)) => later.holds_others_since(before),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use moai_base::tree::FileNode;

    fn path(name: &str) -> RelPath {
        RelPath::parse(name).unwrap()
    }

    #[test]
    fn what_was_moved_away_and_back_shows_and_what_tests_leave_does_not() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        for name in ["src/deep/a.py", "t/b.py", "t/run.sh", "t/chk.sh", "c.py", "d.py", "docs/e.md"]
        {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
        symlink("c.py", root.join("link.py")).unwrap();
        let mut tree = FileTree::default();
        for (name, kind) in [
            ("src/deep/a.py", FileKind::File),
            ("t/b.py", FileKind::File),
            ("t/run.sh", FileKind::Program),
            ("t/chk.sh", FileKind::Program),
            ("c.py", FileKind::File),
            ("d.py", FileKind::File),
            ("link.py", FileKind::Link),
            ("docs/e.md", FileKind::File),
        ] {
            tree.nodes.insert(path(name), FileNode { kind, content: String::new() });
        }
        let scripts = BTreeSet::from([path("t/run.sh"), path("t/chk.sh")]);
        let look = || TreeStamps::take(root, &tree, scripts.clone());
        let away_and_back = |name: &str| {
            fs::rename(root.join(name), root.join("away")).unwrap();
            fs::rename(root.join("away"), root.join(name)).unwrap();
        };
        let before = look();
        let is_code = |path: &RelPath| path.extension().as_deref() == Some("py");
        let moved = || before.moved_in(&tree, &look(), &is_code);
        assert_eq!(moved(), Vec::<String>::new());
        fs::create_dir(root.join("src/__pycache__")).unwrap();
        fs::write(root.join("t/out.txt"), "x").unwrap();
        fs::write(root.join("d.py"), "d.py").unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(root.join("t/run.sh"), mode).unwrap();
        assert_eq!(moved(), Vec::<String>::new());
        let before = look();
        let moved = || before.moved_in(&tree, &look(), &is_code);
        fs::hard_link(root.join("src/deep/a.py"), root.join("t/copy.py")).unwrap();
        for name in ["src", "src/deep", "c.py"] {
            let mode = fs::metadata(root.join(name)).unwrap().permissions();
            fs::set_permissions(root.join(name), mode).unwrap();
        }
        assert_eq!(moved(), Vec::<String>::new());
        let before = look();
        let moved = || before.moved_in(&tree, &look(), &is_code);
        away_and_back("docs");
        assert_eq!(moved(), Vec::<String>::new());
        away_and_back("src/deep");
        away_and_back("c.py");
        assert_eq!(moved(), ["c.py", "src/deep/"]);
        fs::write(root.join("t/chk.sh"), "true").unwrap();
        fs::remove_file(root.join("link.py")).unwrap();
        symlink("c.py", root.join("link.py")).unwrap();
        assert_eq!(moved(), ["c.py", "link.py", "t/chk.sh", "src/deep/"]);
    }
}
