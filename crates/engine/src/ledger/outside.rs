//! The files that a root's language servers depend on and the walk of the root leaves out, from poll
//! to poll. Pure bookkeeping.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use moai_host::files::FileStamp;
use moai_lsp::session::DiskChange;

/// Such files, as one poll found them.
#[derive(Debug, Default)]
pub(crate) struct OutsideStamps {
    /// `None` for a file that a server reads and that does not exist.
    pub(crate) files: BTreeMap<PathBuf, Option<FileStamp>>,
    /// The files and folders that servers registered for, and the links.
    pub(crate) watched: BTreeSet<PathBuf>,
    /// Links below the root to folders outside of it.
    pub(crate) links: BTreeSet<PathBuf>,
    /// Folders `node_modules` below the root, their folders of scopes and the records of installations in them.
    pub(crate) installations: BTreeSet<PathBuf>,
    /// False if some files were not stamped.
    pub(crate) is_whole: bool,
}

impl OutsideStamps {
    /// True for a path in such a place.
    pub(crate) fn is_watched(&self, file: &Path) -> bool {
        file.ancestors().any(|place| self.watched.contains(place))
    }

    /// True for a path that leads through such a link.
    pub(crate) fn is_behind_link(&self, file: &Path) -> bool {
        file.ancestors().any(|place| self.links.contains(place))
    }
}

/// The changes from one poll to the next. A file of which no earlier stamp is known counts as
/// changed if it changed after `read_since_ns`, the time at which a server may first have read it.
pub(crate) fn outside_changes(
    before: &OutsideStamps,
    now: &OutsideStamps,
    read_since_ns: &dyn Fn(&Path) -> i128,
) -> Vec<(PathBuf, DiskChange)> {
    let changed = now.files.iter().filter_map(|(file, stamp)| {
        // A new link is a new folder with files that may be old.
        let is_watched = || before.is_watched(file) || now.is_behind_link(file);
        let change = match (before.files.get(file), stamp) {
            (Some(old), new) if old == new => return None,
            (Some(Some(_)), Some(_)) => DiskChange::Changed,
            (Some(None), Some(_)) => DiskChange::Created,
            (None, Some(_)) if is_watched() => DiskChange::Created,
            (None, Some(stamp)) if stamp.is_modified_since(read_since_ns(file)) => {
                DiskChange::Changed
            }
            (None, Some(_)) => return None,
            (_, None) => DiskChange::Deleted,
        };
        Some((file.clone(), change))
    });
    let gone = before.files.iter().filter(|(file, stamp)| {
        let is_known = stamp.is_some() && !now.files.contains_key(*file);
        now.is_whole && is_known && before.is_watched(file) && now.is_watched(file)
    });
    let deleted = gone.map(|(file, _)| (file.clone(), DiskChange::Deleted));
    changed.chain(deleted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_host::files::stamp_file;

    /// The stamps of these files in a folder, of which `lib` is registered.
    fn stamps(folder: &Path, names: &[&str]) -> OutsideStamps {
        let files = names.iter().map(|name| folder.join(name));
        let files = files.map(|file| (file.clone(), stamp_file(&file))).collect();
        let watched = BTreeSet::from([folder.join("lib")]);
        OutsideStamps { files, watched, is_whole: true, ..OutsideStamps::default() }
    }

    #[test]
    fn changes_of_read_and_of_registered_files_are_found_and_dropped_files_are_none() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = temp.path();
        std::fs::create_dir(folder.join("lib")).expect("the folder is ours");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).expect("the folder is ours");
        };
        let remove = |name: &str| std::fs::remove_file(folder.join(name)).expect("it exists");
        for name in ["same", "edited", "dropped", "deleted", "lib/deleted"] {
            write(name, "1");
        }
        let names = ["same", "edited", "dropped", "deleted", "created", "lib/deleted"];
        let before = stamps(folder, &names);
        write("edited", "22");
        write("created", "1");
        write("lib/created", "1");
        remove("deleted");
        remove("lib/deleted");
        let mut now = stamps(folder, &["same", "edited", "deleted", "created", "lib/created"]);
        let changes = outside_changes(&before, &now, &|_| i128::MAX);
        let expected = [
            ("created", DiskChange::Created),
            ("deleted", DiskChange::Deleted),
            ("edited", DiskChange::Changed),
            ("lib/created", DiskChange::Created),
            ("lib/deleted", DiskChange::Deleted),
        ];
        assert_eq!(changes, expected.map(|(name, change)| (folder.join(name), change)));
        now.is_whole = false;
        let changes = outside_changes(&before, &now, &|_| i128::MAX);
        assert!(
            changes.len() == 4 && changes.iter().all(|(file, _)| !file.ends_with("lib/deleted"))
        );
    }

    #[test]
    fn a_file_without_an_earlier_stamp_changed_if_a_server_may_have_read_it_before() {
        let temp = tempfile::tempdir().expect("a folder");
        std::fs::write(temp.path().join("a"), "1").expect("the folder is ours");
        let now = stamps(temp.path(), &["a", "none"]);
        let changes =
            |read_since_ns| outside_changes(&OutsideStamps::default(), &now, &|_| read_since_ns);
        let (read, gone) = (temp.path().join("a"), temp.path().join("none"));
        assert_eq!(changes(i128::MAX), [(gone.clone(), DiskChange::Deleted)]);
        assert_eq!(changes(0), [(read, DiskChange::Changed), (gone, DiskChange::Deleted)]);
    }
}
