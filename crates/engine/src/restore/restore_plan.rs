//! Restore of a checkpoint: plans the steps from the present files to those of the checkpoint, and
//! their changes. The present state is saved as a checkpoint first, so that nothing is lost.

pub(crate) mod obstacles;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use crate::restore::checkpoints::{CheckpointStore, TreeSnapshot};
use moai_base::change::{ChangeSet, NewContent, PathChange};
use moai_base::hash::ContentHash;
use moai_base::limits::{RESTORE_BYTES_MAX, RESTORE_DIFF_BYTES_MAX, RESTORE_FILES_MAX};
use moai_base::path::RelPath;
use moai_base::tree::{
    Checkpoint, FileKind, FileNode, FileTree, RestoreStep, RestoreSteps, restore_steps,
};
use moai_host::files::{IgnoreRules, kinds};
use moai_report::rename::ChangedFile;

/// A checkpoint, and the steps to restore it.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointRestore {
    target: FileTree,
    present: TreeSnapshot,
    pub(crate) actions: RestoreSteps,
    /// Files to remove first: those in place of folders, and those in folders in place of files.
    pub(crate) clear_first: BTreeSet<RelPath>,
}

/// Changes of files during a restore.
#[derive(Debug, Default)]
pub(crate) struct RestoreChanges {
    /// Changes of regular files. Contents come from the checkpoints; the disk is compared with them
    /// when the set is applied.
    pub(crate) set: ChangeSet,
    /// Files whose executable bit changes, with the new value.
    programs: Vec<(RelPath, bool)>,
    /// Targets of symbolic links, now and then; `None` without a link.
    links: Vec<(RelPath, [Option<PathBuf>; 2])>,
}

/// Plans the restore of a checkpoint; the error is the reason why it is impossible.
pub(crate) fn plan_restore(
    keeper: &CheckpointStore,
    all: &[Checkpoint],
    checkpoint: &Checkpoint,
) -> Result<CheckpointRestore, String> {
    let target = keeper.tree(checkpoint)?;
    let present = keeper.snapshot(&target.nodes.keys().cloned().collect())?;
    let new: BTreeSet<RelPath> = present
        .tree
        .nodes
        .keys()
        .filter(|path| !target.nodes.contains_key(*path))
        .cloned()
        .collect();
    // Numbered checkpoints only: those saved before a restore also hold files that the user added.
    let of_loop: Vec<Checkpoint> = all
        .iter()
        .filter(|other| {
            other.owner == checkpoint.owner && other.name.bytes().all(|byte| byte.is_ascii_digit())
        })
        .cloned()
        .collect();
    let made = keeper.held(&of_loop, &new)?;
    let mut steps = restore_steps(&present.tree, &target, &made);
    for (path, reason) in not_made_by_loop(keeper, checkpoint, &present.tree, &target, &made)? {
        if steps.steps.remove(path).is_some() {
            steps.untouched.insert(path.to_string(), reason.to_owned());
        }
    }
    for (path, now) in &present.tree.nodes {
        let Some(then) = target.nodes.get(path) else { continue };
        let is_link_change = (now.kind == FileKind::Link) != (then.kind == FileKind::Link);
        if is_link_change && steps.steps.remove(path).is_some() {
            let reason = "a symbolic link now or then, and a file at the other time";
            steps.untouched.insert(path.to_string(), reason.to_owned());
        }
    }
    let first = obstacles::resolve_obstacles(&keeper.root, &mut steps);
    if steps.steps.len() > RESTORE_FILES_MAX {
        return Err(format!("more than {RESTORE_FILES_MAX} files would change"));
    }
    Ok(CheckpointRestore { target, present, actions: steps, clear_first: first })
}

/// Files that a later checkpoint holds and the target does not, although the loop did not create
/// them: they existed before. With the reason.
fn not_made_by_loop<'p>(
    keeper: &CheckpointStore,
    checkpoint: &Checkpoint,
    present: &FileTree,
    target: &FileTree,
    made: &'p BTreeSet<RelPath>,
) -> Result<Vec<(&'p RelPath, &'static str)>, String> {
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let mut ignores = IgnoreRules::default();
    for (path, node) in target.nodes.iter().filter(|(path, _)| IgnoreRules::is_ignore_file(path)) {
        ignores.add_file(path, &String::from_utf8_lossy(&keeper.content(&node.content)?));
    }
    let then: BTreeSet<&str> = target.nodes.values().map(|node| node.content.as_str()).collect();
    let mut excluded = Vec::new();
    for path in made {
        // A file that moved with its folder keeps its times, but then the target has its content.
        let is_known =
            present.nodes.get(path).is_some_and(|node| then.contains(node.content.as_str()));
        let metadata = path.under(&keeper.root).symlink_metadata();
        if ignores.excludes(path) {
            excluded.push((path, "ignored at that time"));
        } else if !is_known && metadata.is_ok_and(|meta| meta.ctime() < checkpoint.at_secs) {
            excluded.push((path, "older than the checkpoint"));
        }
    }
    Ok(excluded)
}

impl CheckpointRestore {
    /// The restore of these paths alone, of which none is in the way of another.
    pub(crate) fn of_paths(
        target: FileTree,
        present: TreeSnapshot,
        paths: BTreeSet<RelPath>,
    ) -> Self {
        let mut actions = RestoreSteps::default();
        for path in paths {
            let step = match (present.tree.nodes.get(&path), target.nodes.get(&path)) {
                (now, then) if now == then => continue,
                (None, _) => RestoreStep::Added,
                (_, None) => RestoreStep::Removed,
                (Some(_), Some(_)) => RestoreStep::Changed,
            };
            actions.steps.insert(path, step);
        }
        Self { target, present, actions, clear_first: BTreeSet::new() }
    }

    /// The texts before and after of text files, up to a bound that a user can read.
    pub(crate) fn texts(&self, keeper: &CheckpointStore) -> Vec<ChangedFile> {
        let mut room = RESTORE_DIFF_BYTES_MAX;
        let mut text = |tree: &FileTree, path: &RelPath| -> Option<Option<String>> {
            let Some(node) = tree.nodes.get(path) else { return Some(None) };
            let bytes = keeper.content(&node.content).ok().filter(|bytes| bytes.len() <= room)?;
            room -= bytes.len();
            String::from_utf8(bytes).ok().map(Some)
        };
        let files = self.actions.steps.keys().filter_map(|path| {
            let before = text(&self.present.tree, path)?;
            let after = text(&self.target, path)?;
            Some(ChangedFile { path: path.to_string(), moved_from: None, before, after })
        });
        files.filter(|file| file.before != file.after).collect()
    }

    /// Saves the present state as the next checkpoint `before-N`.
    pub(crate) fn keep_present(
        &self,
        keeper: &CheckpointStore,
        all: &[Checkpoint],
        owner: &str,
    ) -> Result<String, String> {
        let taken: BTreeSet<&str> = all
            .iter()
            .filter(|checkpoint| checkpoint.owner == owner)
            .map(|checkpoint| checkpoint.name.as_str())
            .collect();
        let mut names = (1u32..).map(|number| format!("before-{number}"));
        let name = names.find(|name| !taken.contains(name.as_str())).unwrap_or_default();
        keeper.keep(&self.present, owner, &name).map(|_| name)
    }

    /// The changes that make room for the rest; mostly none.
    pub(crate) fn clearing_changes(
        &self,
        keeper: &CheckpointStore,
    ) -> Result<RestoreChanges, String> {
        let mut changes =
            RestoreChanges::between(keeper, self.clear_first.iter(), self.now(), self.then())?;
        changes.set.emptied_folders = self.emptied(|path| self.clear_first.contains(path));
        Ok(changes)
    }

    pub(crate) fn remaining_changes(
        &self,
        keeper: &CheckpointStore,
    ) -> Result<RestoreChanges, String> {
        let rest = self.actions.steps.keys().filter(|path| !self.clear_first.contains(*path));
        let mut changes = RestoreChanges::between(keeper, rest, self.now(), self.then())?;
        changes.set.emptied_folders = self.emptied(|path| !self.clear_first.contains(path));
        Ok(changes)
    }

    /// The changes that undo [`Self::clearing_changes`].
    pub(crate) fn undo_clearing(&self, keeper: &CheckpointStore) -> Result<RestoreChanges, String> {
        RestoreChanges::between(keeper, self.clear_first.iter(), &BTreeMap::new(), self.now())
    }

    fn now(&self) -> &BTreeMap<RelPath, FileNode> {
        &self.present.tree.nodes
    }

    fn then(&self) -> &BTreeMap<RelPath, FileNode> {
        &self.target.nodes
    }

    /// Folders that lose files and do not exist in the target.
    fn emptied(&self, is_selected: impl Fn(&RelPath) -> bool) -> Vec<RelPath> {
        let removed = self.actions.steps.iter().filter(|(_, step)| **step == RestoreStep::Removed);
        let known: BTreeSet<&str> = self.target.nodes.keys().flat_map(RelPath::folders).collect();
        let emptied: BTreeSet<RelPath> = removed
            .filter(|(path, _)| is_selected(path))
            .filter_map(|(path, _)| path.folders().find(|folder| !known.contains(folder)))
            .filter_map(RelPath::parse)
            .collect();
        emptied.into_iter().collect()
    }
}

impl RestoreChanges {
    /// The changes from `now` to `then`, for these paths.
    fn between<'p>(
        keeper: &CheckpointStore,
        paths: impl Iterator<Item = &'p RelPath>,
        now: &BTreeMap<RelPath, FileNode>,
        then: &BTreeMap<RelPath, FileNode>,
    ) -> Result<Self, String> {
        let mut changes = Self::default();
        let mut room = RESTORE_BYTES_MAX;
        let mut read = |node: &FileNode| -> Result<Vec<u8>, String> {
            let bytes = keeper.content(&node.content)?;
            room = room
                .checked_sub(bytes.len())
                .ok_or_else(|| format!("more than {} MiB would change", RESTORE_BYTES_MAX >> 20))?;
            Ok(bytes)
        };
        for path in paths {
            let (now, then) = (now.get(path), then.get(path));
            let is_link = now.or(then).is_some_and(|node| node.kind == FileKind::Link);
            if is_link {
                let before = now.map(&mut read).transpose()?.map(link_target);
                let after = then.map(&mut read).transpose()?.map(link_target);
                changes.links.push((path.clone(), [before, after]));
                continue;
            }
            if let Some(then) = then {
                let was_program = now.is_some_and(|now| now.kind == FileKind::Program);
                let is_program = then.kind == FileKind::Program;
                if was_program != is_program {
                    changes.programs.push((path.clone(), is_program));
                }
            }
            if now.map(|now| &now.content) == then.map(|then| &then.content) {
                continue;
            }
            let before = now.map(&mut read).transpose()?.map(|bytes| ContentHash::of_bytes(&bytes));
            let after = then.map(&mut read).transpose()?;
            let after =
                after.map(|bytes| NewContent { bytes: bytes.into(), permissions_from: None });
            changes.set.changes.push(PathChange { path: path.clone(), before, after });
        }
        Ok(changes)
    }

    /// Changes executable bits and links, after the set is applied. Returns the failures.
    pub(crate) fn finish(self, keeper: &CheckpointStore) -> BTreeMap<String, String> {
        let mut failed = BTreeMap::new();
        for (path, is_program) in self.programs {
            if let Err(error) = kinds::set_executable(&keeper.root, &path, is_program) {
                failed.insert(path.to_string(), error.to_string());
            }
        }
        for (path, [before, after]) in self.links {
            let set = kinds::set_link(&keeper.root, &path, before.as_deref(), after.as_deref());
            if let Err(error) = set {
                failed.insert(path.to_string(), error.to_string());
            }
        }
        failed
    }
}

fn link_target(content: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(content))
}
