//! The record of a restore in progress, which leads from a restore that was interrupted to all of
//! the old files or all of the new ones. A restore makes room, replaces all files at once, and then
//! sets executable bits and links: until the files are replaced it is undone, afterwards finished.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::code::change_journal::JOURNAL_FOLDER;
use crate::restore::checkpoints::{COPIES, CheckpointStore, TreeSnapshot};
use crate::restore::restore_plan::CheckpointRestore;
use moai_base::path::RelPath;
use moai_base::tree::{Checkpoint, FileKind, FileTree};
use moai_host::files;
use moai_host::files::transaction::{self, WriteReach};
use moai_host::ipc::StateDirs;
use moai_host::store::PROJECTS_FOLDER;

/// The records in a project's private folder.
const RECORDS_FOLDER: &str = "restores";

/// A record, locked while its process lives.
pub(crate) struct RestoreRecord {
    path: PathBuf,
    _lock: File,
}

impl RestoreRecord {
    /// Records a restore of `checkpoint` durably, before any file changes. `saved` is the name of the
    /// checkpoint of the present files.
    pub(crate) fn begin(
        project_folder: &Path,
        checkpoint: &Checkpoint,
        saved: &str,
        plan: &CheckpointRestore,
    ) -> io::Result<Self> {
        let folder = project_folder.join(RECORDS_FOLDER);
        let texts = |paths: &mut dyn Iterator<Item = &RelPath>| -> Vec<String> {
            paths.map(ToString::to_string).collect()
        };
        let record = json!({
            "root": checkpoint.root.to_str().ok_or(io::ErrorKind::InvalidFilename)?,
            "owner": checkpoint.owner,
            "target": checkpoint.name,
            "saved": saved,
            "paths": texts(&mut plan.actions.steps.keys()),
            "clear_first": texts(&mut plan.clear_first.iter()),
        });
        let file = files::private_temporary(&folder, record.to_string().as_bytes())?;
        file.as_file().sync_all()?;
        let path = folder.join(format!("{}-{saved}.json", checkpoint.owner));
        let lock = file.persist(&path).map_err(|error| error.error)?;
        File::open(&folder)?.sync_all()?;
        Ok(Self { path, _lock: lock })
    }

    /// The restore has ended: its files are all old or all new, or the failure was reported to the user.
    pub(crate) fn remove(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "a record of a restore stays");
        }
    }
}

/// Undoes or finishes the restores that killed processes left, in all projects. Their change sets
/// must be settled.
pub(crate) fn recover_all(dirs: &StateDirs) {
    let Ok(projects) = fs::read_dir(dirs.state.join(PROJECTS_FOLDER)) else { return };
    for project in projects.flatten() {
        let folder = project.path().join(RECORDS_FOLDER);
        let Ok(records) = fs::read_dir(&folder) else { continue };
        if let Err(error) = files::remove_abandoned(&folder) {
            tracing::warn!(%error, folder = %folder.display(), "a temporary file stays");
        }
        for record in records.flatten().map(|entry| entry.path()) {
            if record.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            if let Err(reason) = recover(&project.path(), &record) {
                let record = record.display();
                tracing::error!(%record, reason, "an interrupted restore could not be recovered");
            }
        }
    }
}

fn recover(project_folder: &Path, path: &Path) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    if file.try_lock().is_err() {
        return Ok(());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    let stored: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    // The file system may be mounted again later.
    if !PathBuf::from(text(&stored, "root")).is_dir() {
        return Ok(());
    }
    let restore = InterruptedRestore::read(project_folder, &stored)?;
    let is_finished = restore.has_replaced_files();
    restore.settle(project_folder, is_finished)?;
    if !is_finished {
        restore.store.forget(&[restore.saved])?;
    }
    tracing::warn!(root = text(&stored, "root"), is_finished, "recovered an interrupted restore");
    fs::remove_file(path).map_err(|error| error.to_string())
}

fn text<'s>(stored: &'s Value, key: &str) -> &'s str {
    stored[key].as_str().unwrap_or_default()
}

fn read_paths(stored: &Value, key: &str) -> BTreeSet<RelPath> {
    let texts = stored[key].as_array().into_iter().flatten();
    texts.filter_map(|text| RelPath::parse(text.as_str()?)).collect()
}

struct InterruptedRestore {
    store: CheckpointStore,
    saved: Checkpoint,
    paths: BTreeSet<RelPath>,
    clear_first: BTreeSet<RelPath>,
    before: FileTree,
    after: FileTree,
    disk: TreeSnapshot,
}

impl InterruptedRestore {
    fn read(project_folder: &Path, stored: &Value) -> Result<Self, String> {
        let root = PathBuf::from(text(stored, "root"));
        let store = CheckpointStore::find(root, project_folder.join(COPIES))?;
        let all = store.list()?;
        let find = |key: &str| {
            let (owner, name) = (text(stored, "owner"), text(stored, key));
            let found = all.iter().find(|it| it.owner == owner && it.name == name);
            found.ok_or_else(|| format!("{owner} has no checkpoint {name}"))
        };
        let saved = find("saved")?.clone();
        let (before, after) = (store.tree(&saved)?, store.tree(find("target")?)?);
        let paths = read_paths(stored, "paths");
        let (disk, clear_first) = (store.snapshot(&paths)?, read_paths(stored, "clear_first"));
        Ok(Self { store, saved, paths, clear_first, before, after, disk })
    }

    /// True if the files were replaced. They are replaced all at once, so checking one of them suffices; a
    /// restore that replaces none is always finished.
    fn has_replaced_files(&self) -> bool {
        let replaced: Vec<&RelPath> =
            self.paths.iter().filter(|path| self.is_replaced_file(path)).collect();
        let is_new = |path: &&RelPath| content(&self.disk.tree, path) == content(&self.after, path);
        replaced.is_empty() || replaced.iter().any(is_new)
    }

    fn is_replaced_file(&self, path: &RelPath) -> bool {
        let nodes = [&self.before, &self.after].map(|tree| tree.nodes.get(path));
        let is_link = nodes.iter().flatten().any(|node| node.kind == FileKind::Link);
        let is_changed = content(&self.before, path) != content(&self.after, path);
        is_changed && !is_link && !self.clear_first.contains(path)
    }

    /// Brings every path to its state after the restore, or before it. Later changes by other programs are
    /// kept.
    fn settle(&self, project_folder: &Path, is_finished: bool) -> Result<(), String> {
        let goal = if is_finished { &self.after } else { &self.before };
        let ours = self.paths.iter().filter(|path| self.is_as_left(path)).cloned().collect();
        let rest = CheckpointRestore::of_paths(goal.clone(), self.disk.clone(), ours);
        let changes = rest.remaining_changes(&self.store)?;
        if !changes.set.changes.is_empty() {
            let journal = project_folder.join(JOURNAL_FOLDER);
            let reach = WriteReach::AllRepositories;
            transaction::apply_change_set(&self.store.root, &journal, &changes.set, reach)
                .map_err(|error| error.to_string())?;
        }
        match changes.finish(&self.store).into_iter().next() {
            Some((path, reason)) => Err(format!("{path}: {reason}")),
            None => Ok(()),
        }
    }

    /// True if the path is as a restore may have left it; otherwise another program changed it.
    fn is_as_left(&self, path: &RelPath) -> bool {
        let now = content(&self.disk.tree, path);
        let is_cleared = now.is_none() && self.clear_first.contains(path);
        let is_known = now == content(&self.before, path) || now == content(&self.after, path);
        (is_cleared || is_known) && !self.disk.tree.omitted.contains_key(path.as_str())
    }
}

fn content<'t>(tree: &'t FileTree, path: &RelPath) -> Option<&'t str> {
    tree.nodes.get(path).map(|node| node.content.as_str())
}
