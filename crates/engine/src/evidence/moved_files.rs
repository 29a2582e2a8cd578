//! Search for deleted files whose text was moved out of the sensors' sight: into a folder of packages
//! or builds, behind an ignore rule, or under a name without a sensor. Blocking.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::evidence::work_base::{BaseText, WorkBase};
use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::hash::{ContentHash, TextId};
use moai_base::limits::{MOVED_SEARCH_BYTES_MAX, MOVED_SEARCH_FILES_MAX};
use moai_base::path::RelPath;
use moai_host::files;

/// The texts of deleted files, with their earlier paths.
type VanishedTexts = BTreeMap<TextId, RelPath>;

/// The scope of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveSearch<'a> {
    pub(crate) root: &'a Path,
    /// The base state of the work, if it can be read.
    pub(crate) base: Option<&'a WorkBase>,
    /// The measured files; a text found in one of them is not hidden.
    pub(crate) measured: &'a BTreeSet<RelPath>,
    /// The folder of this program's own copies.
    pub(crate) copies: &'a Path,
}

/// The texts of deleted files that have a sensor: files of the base, and files as last seen by hooks
/// of the session.
pub(crate) fn vanished_texts(
    project: &Project,
    base: Option<&WorkBase>,
    deleted: &[RelPath],
    seen: BTreeMap<RelPath, TextId>,
) -> VanishedTexts {
    let mut vanished = VanishedTexts::new();
    let deleted: BTreeSet<RelPath> =
        deleted.iter().filter(|path| project.has_sensor(path)).cloned().collect();
    for (path, text) in base.map(|base| base.texts(&deleted)).unwrap_or_default() {
        if let BaseText::Text(text) = text
            && let Some(text) = TextId::of_text(&text)
        {
            vanished.insert(text, path);
        }
    }
    for (path, text) in seen {
        if path.under(&project.root).symlink_metadata().is_err() {
            vanished.insert(text, path);
        }
    }
    vanished
}

impl MoveSearch<'_> {
    /// For each text found in an unmeasured file, one such file. A text found nowhere was deleted, which is
    /// not a gap.
    pub(crate) fn unmeasured(&self, vanished: &VanishedTexts) -> Vec<SkippedFile> {
        self.within(vanished, MOVED_SEARCH_FILES_MAX, MOVED_SEARCH_BYTES_MAX)
    }

    fn within(
        &self,
        vanished: &VanishedTexts,
        entries_max: usize,
        bytes_max: u64,
    ) -> Vec<SkippedFile> {
        let Some(first) = vanished.values().next() else { return Vec::new() };
        let sizes: BTreeSet<u64> = vanished.keys().map(|text| text.bytes).collect();
        let (mut files, mut is_complete) =
            files::files_of_sizes(self.root, &sizes, self.copies, entries_max);
        files.sort();
        let mut places: BTreeMap<TextId, Vec<PathBuf>> = BTreeMap::new();
        let mut bytes_left = bytes_max;
        for file in files {
            let Ok(metadata) = file.symlink_metadata() else { continue };
            if metadata.len() > bytes_left {
                is_complete = false;
                break;
            }
            bytes_left -= metadata.len();
            let Ok(bytes) = files::read_regular(&file, bytes_max) else { continue };
            let text = TextId { bytes: bytes.len() as u64, hash: ContentHash::of_bytes(&bytes) };
            if vanished.contains_key(&text) {
                places.entry(text).or_default().push(file);
            }
        }
        let mut skipped = Vec::new();
        for (text, files) in &places {
            let old_path = &vanished[text];
            if !self.is_in_place(*text, files)
                && let Some(file) = files.iter().find(|file| self.has_arrived(file, old_path))
            {
                let path = file.strip_prefix(self.root).unwrap_or(file).to_string_lossy();
                let reason = format!("it holds the text of {old_path}, which no longer exists");
                skipped.push(SkippedFile { path: path.into_owned(), reason });
            }
        }
        if !is_complete {
            let reason =
                format!("too many files to tell whether {first} was deleted or moved out of sight");
            skipped.push(SkippedFile { path: ".".to_owned(), reason });
        }
        skipped
    }

    /// True if a measured file has this text, or a file that already had it at the base.
    fn is_in_place(&self, text: TextId, files: &[PathBuf]) -> bool {
        let paths: BTreeSet<RelPath> =
            files.iter().filter_map(|file| RelPath::below(self.root, file)).collect();
        let is_measured = paths.iter().any(|path| self.measured.contains(path));
        is_measured
            || self.base.is_some_and(|base| {
                let texts = base.texts(&paths);
                texts.values().any(|before| before.hash() == Some(text.hash))
            })
    }

    /// True if a file may have arrived at its path since the work began, alone or with a moved folder. Moving
    /// a folder does not change the times of its files, but its old path no longer exists then.
    fn has_arrived(&self, file: &Path, old_path: &RelPath) -> bool {
        let Some(since_secs) = self.base.and_then(WorkBase::at_secs) else { return true };
        if is_changed_since(file, since_secs) {
            return true;
        }
        let old_folder = old_path.folders().last();
        let is_folder_gone = old_folder.is_some_and(|folder| !self.root.join(folder).exists());
        let mut folders = file.ancestors().skip(1).take_while(|folder| *folder != self.root);
        is_folder_gone && folders.any(|folder| is_changed_since(folder, since_secs))
    }
}

fn is_changed_since(path: &Path, since_secs: i64) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.ctime() >= since_secs)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The paths reported when these files hold the text of `gone.py`.
    fn unmeasured_paths(
        files: &[&str],
        measured: &[&str],
        entries_max: usize,
        bytes_max: u64,
    ) -> Vec<String> {
        let temp = tempfile::tempdir().expect("a folder");
        let root = temp.path().canonicalize().expect("there");
        for name in files {
            let file = root.join(name);
            fs::create_dir_all(file.parent().expect("below the root")).expect("made");
            fs::write(file, "x = 1\n").expect("written");
        }
        let path = |name: &str| RelPath::parse(name).expect("a relative path");
        let measured = measured.iter().map(|name| path(name)).collect();
        let vanished =
            BTreeMap::from([(TextId::of_text("x = 1\n").expect("a text"), path("gone.py"))]);
        let copies = root.join("state");
        let search = MoveSearch { root: &root, base: None, measured: &measured, copies: &copies };
        let skipped = search.within(&vanished, entries_max, bytes_max);
        skipped.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn a_text_is_reported_once_unless_it_is_measured_or_our_own_copy() {
        assert_eq!(
            unmeasured_paths(&["b/gone", "a/gone.txt", "state/copy"], &[], 99, 99),
            ["a/gone.txt"]
        );
        assert!(unmeasured_paths(&["a/gone.txt", "new.py"], &["new.py"], 99, 99).is_empty());
        assert!(unmeasured_paths(&["state/copy"], &[], 99, 99).is_empty());
    }

    #[test]
    fn beyond_a_bound_the_root_is_reported_as_unsearched() {
        // The root is an entry as well.
        assert_eq!(unmeasured_paths(&["a", "b"], &[], 3, 12), ["a"]);
        assert_eq!(unmeasured_paths(&["a", "b"], &[], 3, 11), ["a", "."]);
        assert_eq!(unmeasured_paths(&["a"], &[], 1, 12), ["."]);
    }
}
