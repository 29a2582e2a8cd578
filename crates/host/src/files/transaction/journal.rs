//! The journal of a change set in progress, with all that is needed to roll it back after the
//! process has ended. Private to the user, because it contains source text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::path_state::{FileOwner, PathContent, PathState, remove, sync_folder};
use moai_base::change::ChangeSet;
use moai_base::limits::JOURNALS_KEPT_MAX;
use moai_base::path::RelPath;

const RECORD: &str = "record.json";
/// Name prefixes of journals in use, and of those kept aside.
const IN_USE: &str = "change-";
const KEPT: &str = "kept-";

/// Progress of a change set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JournalMark {
    /// All new bytes are next to the files; from here on files are replaced.
    Staged,
    /// All files are replaced.
    Committed,
}

impl JournalMark {
    fn name(self) -> &'static str {
        match self {
            Self::Staged => "staged",
            Self::Committed => "committed",
        }
    }
}

/// The planned changes, in the order of the set.
#[derive(Debug)]
pub(super) struct JournalRecord {
    pub(super) root: PathBuf,
    pub(super) entries: Vec<JournalEntry>,
    pub(super) made_folders: Vec<RelPath>,
    /// Folders to remove if empty, each before its subfolders.
    pub(super) emptied_folders: Vec<RelPath>,
}

#[derive(Debug)]
pub(super) struct JournalEntry {
    pub(super) path: RelPath,
    pub(super) before: Option<OldFile>,
    /// Hash of the new bytes, in hex.
    pub(super) after: Option<String>,
    pub(super) after_owner: Option<FileOwner>,
    /// Temporary path of the new bytes, next to the file.
    pub(super) temporary: RelPath,
    /// Temporary path of the old bytes during a rollback. A different path, because a file at
    /// `temporary` means that the target was not replaced yet.
    pub(super) restored: RelPath,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OldFile {
    /// Hash of the old bytes, in hex.
    pub(super) hash: String,
    pub(super) owner: FileOwner,
}

/// The stored form of the record.
#[derive(Serialize, Deserialize)]
struct StoredRecord {
    root: PathBuf,
    entries: Vec<StoredEntry>,
    made_folders: Vec<String>,
    emptied: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredEntry {
    path: String,
    before: Option<OldFile>,
    after: Option<String>,
    temporary: String,
    restored: String,
}

/// The folder of one journal.
#[derive(Debug)]
pub(super) struct Journal {
    folder: PathBuf,
}

impl Journal {
    /// Writes the record and all old contents durably; the project is not touched yet.
    pub(super) fn begin(
        parent: &Path,
        root: &Path,
        set: &ChangeSet,
        spots: &[PathState],
    ) -> io::Result<(Self, JournalRecord)> {
        // Created with mode 0700.
        let folder = tempfile::Builder::new().prefix(IN_USE).tempdir_in(parent)?;
        let id = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record = record(root, set, spots, &id[IN_USE.len()..])?;
        for (number, spot) in spots.iter().enumerate() {
            if let PathContent::File { bytes, .. } = &spot.content {
                write_private(&old_name(folder.path(), number), bytes)?;
            }
        }
        let stored = serde_json::to_vec(&StoredRecord::from(&record)).map_err(io::Error::other)?;
        let new = folder.path().join("record.new");
        write_private(&new, &stored)?;
        fs::rename(&new, folder.path().join(RECORD))?;
        sync_folder(folder.path())?;
        sync_folder(parent)?;
        Ok((Self { folder: folder.keep() }, record))
    }

    /// Journals left by ended processes. An incomplete one is removed, because its change set had not
    /// started.
    pub(super) fn unfinished(parent: &Path) -> io::Result<Vec<(Self, JournalRecord)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(parent)? {
            let folder = entry?.path();
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.starts_with(IN_USE) {
                continue;
            }
            let journal = Self { folder };
            match fs::read(journal.folder.join(RECORD)) {
                Ok(bytes) => {
                    // A damaged record must not be ignored, because a file may be half done.
                    let unreadable = |reason: &str| {
                        io::Error::other(format!("{}: {reason}", journal.folder.display()))
                    };
                    let stored = serde_json::from_slice(&bytes)
                        .map_err(|error| unreadable(&error.to_string()))?;
                    let record =
                        JournalRecord::parse(stored).ok_or_else(|| unreadable("names no path"))?;
                    found.push((journal, record));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => journal.remove()?,
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn has(&self, mark: JournalMark) -> bool {
        self.folder.join(mark.name()).exists()
    }

    /// Durable when it returns.
    pub(super) fn mark(&self, mark: JournalMark) -> io::Result<()> {
        write_private(&self.folder.join(mark.name()), b"")?;
        sync_folder(&self.folder)
    }

    /// Removes a mark, if it exists; durable when it returns.
    pub(super) fn unmark(&self, mark: JournalMark) -> io::Result<()> {
        if remove(&self.folder.join(mark.name()))? { sync_folder(&self.folder) } else { Ok(()) }
    }

    pub(super) fn old_bytes(&self, number: usize) -> io::Result<Vec<u8>> {
        fs::read(old_name(&self.folder, number))
    }

    /// The record first, because without it the rest means nothing.
    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(self.folder.join(RECORD)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::remove_dir_all(&self.folder),
        }
    }

    /// Keeps the old contents for the user; the oldest such journal is deleted.
    pub(super) fn keep_aside(&self) -> io::Result<()> {
        let Some(parent) = self.folder.parent() else { return Ok(()) };
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::rename(&self.folder, parent.join(format!("{KEPT}{}", &name[IN_USE.len()..])))?;
        let mut kept = BTreeMap::new();
        for entry in fs::read_dir(parent)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(KEPT) {
                kept.insert((entry.metadata()?.modified()?, entry.path()), entry.path());
            }
        }
        let surplus = kept.len().saturating_sub(JOURNALS_KEPT_MAX);
        kept.into_values().take(surplus).try_for_each(fs::remove_dir_all)
    }
}

fn record(
    root: &Path,
    set: &ChangeSet,
    spots: &[PathState],
    id: &str,
) -> io::Result<JournalRecord> {
    let mut owners = BTreeMap::new();
    for (change, spot) in set.changes.iter().zip(spots) {
        if let PathContent::File { owner, .. } = &spot.content {
            owners.insert(change.path.clone(), owner.clone());
        }
    }
    let mut made_folders = BTreeSet::new();
    let mut entries = Vec::with_capacity(spots.len());
    for (number, (change, spot)) in set.changes.iter().zip(spots).enumerate() {
        let before = match &spot.content {
            PathContent::Nothing => None,
            PathContent::File { hash, owner, .. } => {
                Some(OldFile { hash: hash.to_string(), owner: owner.clone() })
            }
        };
        let like = change.after.as_ref().and_then(|after| after.permissions_from.as_ref());
        if change.after.is_some() {
            made_folders.extend(spot.missing_folders.iter().cloned());
        }
        entries.push(JournalEntry {
            after: change.after.as_ref().map(|it| hash(&it.bytes)),
            after_owner: owners.get(like.unwrap_or(&change.path)).cloned(),
            temporary: temporary_path(&change.path, "new", id, number)?,
            restored: temporary_path(&change.path, "old", id, number)?,
            path: change.path.clone(),
            before,
        });
    }
    let made_folders = made_folders.into_iter().collect();
    Ok(JournalRecord {
        root: root.to_owned(),
        entries,
        made_folders,
        emptied_folders: emptied(set),
    })
}

/// Folders of the change set's paths, and their subfolders that lose a file. Other subfolders may belong to
/// the user, empty or not.
fn emptied(set: &ChangeSet) -> Vec<RelPath> {
    let named: BTreeSet<RelPath> = set.emptied_folders.iter().cloned().collect();
    let mut folders = named.clone();
    for lost in set.changes.iter().filter(|change| change.after.is_none()) {
        let above = lost.path.folders().filter_map(RelPath::parse);
        folders.extend(above.skip_while(|folder| !named.contains(folder)));
    }
    folders.into_iter().collect()
}

fn hash(bytes: &[u8]) -> String {
    moai_base::hash::ContentHash::of_bytes(bytes).to_string()
}

/// A hidden name in the same folder, so that renames stay within one file system and neither walks nor
/// language servers treat the file as source. Old and new names are equally long, so that if one can be
/// written, the other can too.
fn temporary_path(path: &RelPath, side: &str, id: &str, number: usize) -> io::Result<RelPath> {
    let folder = path.as_str().rfind('/').map_or("", |at| &path.as_str()[..=at]);
    RelPath::parse(&format!("{folder}.moai-ralph-{side}-{id}-{number}"))
        .ok_or_else(|| io::Error::other("a path without a folder"))
}

impl From<&JournalRecord> for StoredRecord {
    fn from(record: &JournalRecord) -> Self {
        let entry = |entry: &JournalEntry| StoredEntry {
            path: entry.path.to_string(),
            before: entry
                .before
                .as_ref()
                .map(|it| OldFile { hash: it.hash.clone(), owner: it.owner.clone() }),
            after: entry.after.clone(),
            temporary: entry.temporary.to_string(),
            restored: entry.restored.to_string(),
        };
        let texts = |paths: &[RelPath]| paths.iter().map(ToString::to_string).collect();
        Self {
            root: record.root.clone(),
            entries: record.entries.iter().map(entry).collect(),
            made_folders: texts(&record.made_folders),
            emptied: texts(&record.emptied_folders),
        }
    }
}

impl JournalRecord {
    /// `None` if a path is not below the root.
    fn parse(stored: StoredRecord) -> Option<Self> {
        let paths = |texts: &[String]| -> Option<Vec<RelPath>> {
            texts.iter().map(|text| RelPath::parse(text)).collect()
        };
        let entry = |entry: StoredEntry| {
            Some(JournalEntry {
                path: RelPath::parse(&entry.path)?,
                before: entry.before,
                after: entry.after,
                after_owner: None,
                temporary: RelPath::parse(&entry.temporary)?,
                restored: RelPath::parse(&entry.restored)?,
            })
        };
        Some(Self {
            root: stored.root,
            entries: stored.entries.into_iter().map(entry).collect::<Option<_>>()?,
            made_folders: paths(&stored.made_folders)?,
            emptied_folders: paths(&stored.emptied)?,
        })
    }
}

fn old_name(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("{number}.old"))
}

/// Opens a file of the private folder (0600), creating it if missing.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
