//! Reads the documents below `.moai/specs` and writes them as change sets: all files or none.

use std::path::Path;
use std::sync::Arc;

use super::SpecRefusal;
use crate::code::change_journal;
use crate::engine::{Engine, panic_gap};
use crate::project::Project;
use moai_base::change::{ChangeSet, NewContent, PathChange};
use moai_base::hash::ContentHash;
use moai_base::limits::SPECS_MAX;
use moai_base::path::RelPath;
use moai_host::files;
use moai_host::files::transaction::WriteReach;
use moai_pipeline::spec::{SPECS_FOLDER, SpecId};

/// A document that was read.
pub(super) struct SpecFileText {
    pub(super) path: RelPath,
    pub(super) text: String,
    pub(super) hash: ContentHash,
}

/// A document with its new text.
pub(super) struct SpecFileWrite {
    pub(super) path: RelPath,
    /// Hash of the text that it replaces; `None` for a new file.
    pub(super) before: Option<ContentHash>,
    pub(super) text: String,
}

/// The folders of the specifications.
pub(super) struct SpecFolders {
    /// In the order of their ids.
    pub(super) ids: Vec<SpecId>,
    /// Folders whose name is not a valid id, relative to the root.
    pub(super) skipped: Vec<String>,
}

/// The path of a file below the root; ids of specifications are plain names.
pub(super) fn spec_path(id: &SpecId, file: &str) -> String {
    format!("{SPECS_FOLDER}/{id}/{file}")
}

/// Reads a file below the root; `None` if it does not exist. Blocks.
pub(super) fn read_text(root: &Path, path: &str) -> Result<Option<SpecFileText>, SpecRefusal> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match files::read_snapshot(root, Path::new(path)) {
        Ok(snapshot) => Ok(Some(SpecFileText {
            path: snapshot.path,
            text: snapshot.text.to_string(),
            hash: snapshot.hash,
        })),
        Err(skipped) => match root.join(path).symlink_metadata() {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
            _ => Err(SpecRefusal::Refused(format!("{path}: {}", skipped.reason))),
        },
    }
}

/// Finds the specifications of a project. Blocks.
pub(super) fn spec_folders(root: &Path) -> SpecFolders {
    let mut folders = SpecFolders { ids: Vec::new(), skipped: Vec::new() };
    let Ok(entries) = root.join(SPECS_FOLDER).read_dir() else { return folders };
    for entry in entries.flatten().take(SPECS_MAX) {
        if !entry.path().is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        match SpecId::parse(&name) {
            Some(id) => folders.ids.push(id),
            None => folders.skipped.push(format!("{SPECS_FOLDER}/{name}")),
        }
    }
    folders.ids.sort();
    folders.skipped.sort();
    folders
}

/// Writes all files, or none.
pub(super) async fn write_texts(
    engine: &Arc<Engine>,
    project: &Project,
    writes: Vec<SpecFileWrite>,
) -> Result<(), SpecRefusal> {
    let mut changes = Vec::with_capacity(writes.len());
    for SpecFileWrite { path, before, text } in writes {
        let after = NewContent { bytes: Arc::from(text.into_bytes()), permissions_from: None };
        changes.push(PathChange { path, before, after: Some(after) });
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    let set = ChangeSet { changes, emptied_folders: Vec::new() };
    let reach = WriteReach::OwnRepository;
    match change_journal::apply_changes(engine, project, set, reach).await {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => Err(SpecRefusal::Refused(error.to_string())),
        None => Err(SpecRefusal::Refused(panic_gap().detail)),
    }
}

/// A path of ours below the root.
pub(super) fn own_path(path: &str) -> Result<RelPath, SpecRefusal> {
    RelPath::parse(path).ok_or_else(|| SpecRefusal::Invalid(format!("invalid path: {path}")))
}
