//! Deleted files whose text was moved to where no sensor looks: into a folder of packages or builds,
//! behind an ignore rule, under a name that is no program's. It must not know how files are
//! measured. It blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::project::Project;
use super::work_base::{BaseText, WorkBase};
use crate::base::evidence::SkippedFile;
use crate::base::hash::{ContentHash, TextId};
use crate::base::limits::{MOVED_SEARCH_BYTES_MAX, MOVED_SEARCH_FILES_MAX};
use crate::base::path::RelPath;
use crate::files;

/// The texts of deleted files, each with the name that it had.
type VanishedTexts = BTreeMap<TextId, RelPath>;

/// Where the texts of deleted files are searched for.
#[derive(Clone, Copy, Debug)]
pub(super) struct MoveSearch<'a> {
    pub(super) root: &'a Path,
    /// The state that the work began with, if it can be read.
    pub(super) base: Option<&'a WorkBase>,
    /// The files that are measured: a text found in one of them is not hidden.
    pub(super) measured: &'a BTreeSet<RelPath>,
    /// The folder of our own copies.
    pub(super) copies: &'a Path,
}

/// The texts of deleted files that sensors read: files of the base, and files as hooks of the
/// session saw them last.
pub(super) fn vanished_texts(
    project: &Project,
    base: Option<&WorkBase>,
    gone: &[RelPath],
    seen: BTreeMap<RelPath, TextId>,
) -> VanishedTexts {
    let mut vanished = VanishedTexts::new();
    let gone: BTreeSet<RelPath> =
        gone.iter().filter(|path| project.has_sensor(path)).cloned().collect();
    for (path, text) in base.map(|base| base.texts(&gone)).unwrap_or_default() {
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
    /// For each text found in a file that is not measured, one such file. A text that is found
    /// nowhere was deleted, which is no gap.
    pub(super) fn unmeasured(&self, vanished: &VanishedTexts) -> Vec<SkippedFile> {
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
        let (mut found, mut is_whole) =
            files::files_of_sizes(self.root, &sizes, self.copies, entries_max);
        found.sort();
        let mut places: BTreeMap<TextId, Vec<PathBuf>> = BTreeMap::new();
        let mut bytes_left = bytes_max;
        for file in found {
            let Ok(metadata) = file.symlink_metadata() else { continue };
            if metadata.len() > bytes_left {
                is_whole = false;
                break;
            }
            bytes_left -= metadata.len();
            let Ok(bytes) = fs::read(&file) else { continue };
            let text = TextId { bytes: bytes.len() as u64, hash: ContentHash::of_bytes(&bytes) };
            if vanished.contains_key(&text) {
                places.entry(text).or_default().push(file);
            }
        }
        let mut skipped = Vec::new();
        for (text, files) in &places {
            let was = &vanished[text];
            if !self.is_in_place(*text, files)
                && let Some(file) = files.iter().find(|file| self.has_arrived(file, was))
            {
                let path = file.strip_prefix(self.root).unwrap_or(file).to_string_lossy();
                let reason = format!("it holds the text of {was}, which is gone");
                skipped.push(SkippedFile { path: path.into_owned(), reason });
            }
        }
        if !is_whole {
            let reason =
                format!("too many files to tell whether {first} was deleted or moved out of sight");
            skipped.push(SkippedFile { path: ".".to_owned(), reason });
        }
        skipped
    }

    /// Whether a measured file has this text, or a file that had it at the base already.
    fn is_in_place(&self, text: TextId, files: &[PathBuf]) -> bool {
        let paths: BTreeSet<RelPath> =
            files.iter().filter_map(|file| RelPath::below(self.root, file)).collect();
        let is_measured = paths.iter().any(|path| self.measured.contains(path));
        let texts = || self.base.map(|base| base.texts(&paths)).unwrap_or_default();
        is_measured || texts().values().any(|before| before.hash() == Some(text.hash))
    }

    /// Whether a file may have come to its place since the work began, alone or with a moved folder.
    /// A move of a folder does not touch the times of its files; its old name is gone then.
    fn has_arrived(&self, file: &Path, was: &RelPath) -> bool {
        let Some(since_secs) = self.base.and_then(WorkBase::at_secs) else { return true };
        let is_since =
            |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.ctime() >= since_secs);
        let is_folder_gone = was.folders().last().is_some_and(|it| !self.root.join(it).exists());
        let mut folders = file.ancestors().skip(1).take_while(|folder| *folder != self.root);
        is_since(file) || (is_folder_gone && folders.any(is_since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is named when these files hold the text of `gone.py`.
    fn found(files: &[&str], measured: &[&str], entries_max: usize, bytes_max: u64) -> Vec<String> {
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
        skipped.into_iter().map(|one| one.path).collect()
    }

    #[test]
    fn a_text_is_named_once_unless_it_is_measured_or_our_own_copy() {
        assert_eq!(found(&["b/gone", "a/gone.txt", "state/copy"], &[], 99, 99), ["a/gone.txt"]);
        assert!(found(&["a/gone.txt", "new.py"], &["new.py"], 99, 99).is_empty());
        assert!(found(&["state/copy"], &[], 99, 99).is_empty());
    }

    #[test]
    fn beyond_a_bound_nobody_knows_where_a_text_went() {
        // The root is an entry as well.
        assert_eq!(found(&["a", "b"], &[], 3, 12), ["a"]);
        assert_eq!(found(&["a", "b"], &[], 3, 11), ["a", "."]);
        assert_eq!(found(&["a"], &[], 1, 12), ["."]);
    }
}
